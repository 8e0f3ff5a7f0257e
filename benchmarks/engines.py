"""The engines of a comparison, all with the same weights and voice."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from benchmarks.competitors import Competitor
from benchmarks.competitors.onnx_export import export_onnx, quantise
from benchmarks.native.native_program import NativeProcess, NativeProgram
from benchmarks.native.programs import libkokoro, sherpa
from benchmarks.results import (
    KOKORO_ONNX,
    LIBKOKORO,
    NAMES,
    ONNXRUNTIME,
    ONNXRUNTIME_INT8,
    PYTORCH,
    PYTORCH_BFLOAT16,
    SHERPA,
)
from benchmarks.torch_checkpoint import write_torch_checkpoint
from exporter.errors import ExportError
from exporter.measure import run as alone
from exporter.measure.engine import BUNDLE, BundleEngine
from exporter.measure.engine_process import EngineProcess
from exporter.measure.fresh_process import call_fresh
from exporter.measure.options import Options
from exporter.measure.run import Step
from exporter.model.file_format import file_format
from runtime_min import Bundle
from runtime_min.format.arithmetic import FLOAT32, arithmetic_of
from runtime_min.format.signatures import SAMPLE_RATE

AnyEngine = BundleEngine | Competitor | NativeProgram
AnyProcess = EngineProcess | NativeProcess


class EngineMissingError(ExportError):
    """An engine's packages are not installed."""

    exit_code = 5


def check_installed() -> None:
    """Refuses to compare with engines that cannot be imported, before anything slow runs.

    Raises:
        EngineMissingError: with the packages to install.
    """
    packages = ("kokoro_onnx", "onnx", "onnxruntime", "sherpa_onnx", "ziglang")
    missing = [name for name in packages if find_spec(name) is None]
    if missing:
        raise EngineMissingError(
            f"These packages of competitors are missing: {', '.join(missing)}. "
            "Run pip install --editable . --editable './exporter[bench]', as `make bench` does."
        )


def prepare(
    options: Options, others: Sequence[Options], checkpoint: Path, config: Path, directory: Path, step: Step
) -> tuple[dict[str, AnyEngine], dict[str, AnyEngine]]:
    """Writes the engines' files to a directory.

    Args:
        options: the bundle.
        others: bundles of the same checkpoint in other precisions, and with another arithmetic.
        checkpoint: the checkpoint that the bundles were made from.
        config: its configuration.
        directory: takes the files.
        step: takes a line about each step.

    Returns:
        The engines that speak utterances, and the clients that stream a long text.
    """
    bundle = alone.bundle_engine(options)
    voice, whole, small = (directory / name for name in ("voice.npy", "kokoro.onnx", "kokoro-int8.onnx"))
    with Bundle.load(options.bundle, verify=False) as loaded:
        np.save(voice, loaded.voice_tables[bundle.voice])
    if file_format(checkpoint) != "torch":
        step("a checkpoint that kokoro loads")
        readable = directory / "kokoro.pth"
        call_fresh("writing the checkpoint", 1, write_torch_checkpoint, checkpoint, config, readable)
        checkpoint = readable
    step("kokoro's own ONNX export")
    call_fresh("kokoro's ONNX export", 1, export_onnx, checkpoint, config, whole)
    step("ONNX Runtime's dynamic quantisation")
    call_fresh("ONNX Runtime's quantisation", 1, quantise, whole, small)
    competitors = {
        name: Competitor(
            name, module, bundle.threads, bundle.voice, str(voice), str(model), str(config), SAMPLE_RATE
        )
        for name, module, model in (
            (ONNXRUNTIME, "onnxruntime", whole),
            (ONNXRUNTIME_INT8, "onnxruntime", small),
            (PYTORCH, "pytorch", checkpoint),
            (PYTORCH_BFLOAT16, "pytorch_bfloat16", checkpoint),
            (KOKORO_ONNX, "kokoro_onnx", whole),
        )
    }
    clients: dict[str, AnyEngine] = {
        BUNDLE: replace(bundle, stream=True),
        KOKORO_ONNX: competitors.pop(KOKORO_ONNX),
    }
    step(f"programs of {NAMES[LIBKOKORO]} and {NAMES[SHERPA]}")
    engines: dict[str, AnyEngine] = {
        BUNDLE: bundle,
        **{each.name: each for each in map(_other_bundle, others)},
        **competitors,
        LIBKOKORO: libkokoro(LIBKOKORO, bundle, directory),
        SHERPA: sherpa(SHERPA, bundle, whole, voice, options.manifest.vocabulary, directory),
    }
    return engines, clients


def started(engine: AnyEngine) -> AnyProcess:
    """Starts a process that has loaded an engine.

    Raises:
        EngineError: it could not be loaded.
    """
    return NativeProcess(engine) if isinstance(engine, NativeProgram) else EngineProcess(engine)


def _other_bundle(options: Options) -> BundleEngine:
    """Returns a bundle that is not the one of the goals, named after its arithmetic or its precision."""
    arithmetic = arithmetic_of(options.manifest)[options.level]
    kind = options.manifest.precision if arithmetic == FLOAT32 else arithmetic
    return replace(alone.bundle_engine(options), name=f"{BUNDLE}-{kind}")
