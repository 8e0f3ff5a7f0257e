"""Bundles for tests: a model of a few lines, with dummy libraries or compiled by TVM."""

from __future__ import annotations

import importlib.metadata
import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from exporter.bundle.write import PARAMETER_FILE, BundleContents
from exporter.compiler import targets
from exporter.compiler.library import Job, Weight
from exporter.compiler.targets import find_target
from exporter.model.config import OFFICIAL_CONFIG
from exporter.text.files import LANGUAGES, text_files
from runtime_min.engine.machine import this_machine
from runtime_min.format.manifest import (
    DEVICES_REQUIRED,
    AudioFormat,
    CpuLevel,
    Library,
    Manifest,
    Materials,
    ModelInfo,
    Parameters,
    Stage,
    Target,
    Versions,
)
from runtime_min.format.signatures import STAGE_NAMES, StageSignature, signatures, stage_names

HIDDEN = 4
STYLE = 2
NORM = "norm.statistics"
"""The decoder's parameter that the statistics of a voice take the place of."""
MAX_PHONEMES = 20
VOCABULARY = {"a": 1, "b": 2, "c": 3, " ": 4}
BUCKETS = {"tokens": (8, 22), "frames": (40, 100)}
PARAMETERS = {
    "bert": ("table",),
    "duration": ("table", "lengths"),
    "text_encoder": ("table",),
    "f0n": ("gain",),
    "source": ("gain",),
    "decoder": ("gain", NORM),
}


def tensors() -> dict[str, np.ndarray]:
    """The parameters of the tiny model; their sizes leave gaps that alignment must fill."""
    random = np.random.default_rng(1)
    return {
        "table": random.standard_normal((5, HIDDEN)).astype(np.float32),
        "lengths": np.array([1.5, 0.2, 2.5, 3.5, 60.0], np.float32),
        "gain": np.array([0.25], np.float32),
        NORM: np.array([[0], [-1]], np.float32),
    }


def voices() -> dict[str, np.ndarray]:
    random = np.random.default_rng(2)
    names = ("af_heart", "af_bella", "am_adam")
    return {name: random.standard_normal((MAX_PHONEMES, 2 * STYLE)).astype(np.float32) for name in names}


def this_target(levels: tuple[CpuLevel, ...] = (CpuLevel("baseline", ()),)) -> Target:
    machine = this_machine()
    return Target("here", "triple", machine.system, machine.machine, machine.os_version, levels)


def versions() -> Versions:
    """Versions of a bundle that is compiled here; only TVM's decide about anything."""
    tvm, tvm_ffi = (importlib.metadata.version(name) for name in ("apache-tvm", "apache-tvm-ffi"))
    return Versions("0.1.0", tvm, tvm_ffi, "0.14")


def materials() -> Materials:
    return Materials({"torch": "2.13.0", "kokoro": "0.9.4"}, {"linker": "cc 12"}, "2" * 64, "")


def job(signature: StageSignature, bucket: int, level: str, device: str = "cpu") -> Job:
    """A job of no configuration for a CPU level of no special instructions."""
    return Job("{}", signature, bucket, find_target("host"), targets.CpuLevel(level, (), "", 4), device)


def dummy_libraries(directory: Path, stages: tuple[str, ...] = STAGE_NAMES) -> dict[str, Path]:
    """Files that no loader would take; a reader that verifies first never loads them."""
    directory.mkdir(parents=True, exist_ok=True)
    paths = {name: directory / f"{name}.so" for name in stages}
    for name, path in paths.items():
        path.write_bytes(f"not a library: {name}".encode())
    return paths


def contents(
    libraries: Mapping[str, Path],
    runtime_library: Path,
    device_libraries: Mapping[str, Path] | None = None,
    devices: Mapping[str, str] = {},
) -> BundleContents:
    """A bundle of the tiny model; every bucket of a stage has the same library.

    With `device_libraries` the source is apart, and `devices` names the stages that compute on them.
    """
    stages, copies = [], {}
    for name, signature in signatures(HIDDEN, STYLE, device_libraries is not None).items():
        if name in libraries:
            files = {bucket: f"lib/baseline/{name}-{bucket}.so" for bucket in BUCKETS[signature.axis]}
            found = tuple(Library("baseline", bucket, file, name) for bucket, file in files.items())
            copies |= dict.fromkeys(files.values(), libraries[name])
            stages.append(
                Stage(
                    device=devices.get(name, "cpu"),
                    **signature._asdict(),
                    parameters=PARAMETERS[name],
                    libraries=found,
                )
            )
    runtimes = {path: f"lib/{path.name}" for path in (runtime_library, *(device_libraries or {}).values())}
    manifest = Manifest(
        requires=() if device_libraries is None else (DEVICES_REQUIRED,),
        model=ModelInfo("tiny", "synthetic", "0" * 64, "1" * 64, True, HIDDEN, STYLE),
        versions=versions(),
        materials=materials(),
        target=this_target(),
        audio=AudioFormat(),
        runtime_library=runtimes[runtime_library],
        stages=tuple(stages),
        parameters=Parameters(PARAMETER_FILE, ()),
        vocabulary=VOCABULARY,
        max_phonemes=MAX_PHONEMES,
        voices=(),
        parity={"decoder.db": 101.5, "utterances": 3, "reference": "pt.dynamic"},
        device_libraries={name: runtimes[path] for name, path in (device_libraries or {}).items()},
    )
    weights = tuple(Weight(name, values) for name, values in tensors().items())
    copies |= {file: path for path, file in runtimes.items()}
    return BundleContents(manifest, weights, voices(), copies)


def with_entries(made: BundleContents, **changes: Any) -> BundleContents:
    """The bundle with other entries of the manifest."""
    return replace(made, manifest=made.manifest._replace(**changes))


def reading(made: BundleContents) -> BundleContents:
    """The bundle with kokoro's phonemes and the data for text; several phonemes are one token."""
    rows = voices() | dict(zip(("bf_emma", "ef_dora", "if_sara"), voices().values(), strict=True))
    vocabulary = json.loads(OFFICIAL_CONFIG.read_text(encoding="utf-8"))["vocab"]
    tokens = {phoneme: 1 + number % 4 for number, phoneme in enumerate(vocabulary)}
    made = with_entries(replace(made, voices=rows), vocabulary=tokens)
    return made.extended(text_files(LANGUAGES))


def dummy_contents(directory: Path, stages: tuple[str, ...] = STAGE_NAMES) -> BundleContents:
    """A bundle that passes every check and that nothing can load."""
    runtime = directory / "libtvm_runtime.so"
    libraries = dummy_libraries(directory / "libraries", stages)
    runtime.write_bytes(b"not the runtime")
    return contents(libraries, runtime)


def dummy_contents_on(device: str, directory: Path) -> BundleContents:
    """The contents of `dummy_contents` with the decoder on `device`."""
    runtimes = [directory / "libtvm_runtime.so", directory / f"libtvm_runtime_{device}.so"]
    libraries = dummy_libraries(directory / "libraries", stage_names(separate_source=True))
    for runtime in runtimes:
        runtime.write_bytes(f"not the runtime: {runtime.name}".encode())
    return contents(libraries, runtimes[0], {device: runtimes[1]}, {"decoder": device})


def with_levels(made: BundleContents, levels: tuple[CpuLevel, ...]) -> BundleContents:
    """The bundle with its libraries once for each of `levels`."""
    stages, copies = [], {path: file for path, file in made.copies.items() if path.count("/") == 1}
    for stage in made.manifest.stages:
        libraries = []
        for library in stage.libraries:
            for level in levels:
                file = f"lib/{level.name}/{stage.name}-{library.bucket}.so"
                libraries.append(library._replace(level=level.name, file=file))
                copies[file] = made.copies[library.file]
        libraries.sort(key=lambda each: [level.name for level in levels].index(each.level))
        stages.append(stage._replace(libraries=tuple(libraries)))
    target = made.manifest.target._replace(levels=levels)
    return with_entries(replace(made, copies=copies), target=target, stages=tuple(stages))
