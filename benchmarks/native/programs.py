"""The programs of a bundle in libkokoro and of kokoro in sherpa-onnx, with the same weights and voice."""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from benchmarks.competitors.onnx_export import take_float_speed
from benchmarks.native.native_program import NativeProgram, compile_program
from exporter.compiler.targets import find_target
from exporter.measure.engine import BundleEngine
from exporter.measure.fresh_process import call_fresh
from exporter.native.build import HEADER, LIBRARY, build_library
from runtime_min.format.verify import read_manifest


def libkokoro(name: str, bundle: BundleEngine, directory: Path) -> NativeProgram:
    """Returns the program of a bundle in libkokoro, which is built in a directory."""
    library, program = directory / LIBRARY, directory / name
    build_library(find_target("host"), library)
    compile_program("kokoro.c", [HEADER.parent], library, program)
    arguments = (bundle.bundle, bundle.level, bundle.voice)
    sizes = read_manifest(Path(bundle.bundle)).content_bytes, library.stat().st_size
    return NativeProgram(name, str(program), arguments, bundle.threads, *sizes)


def sherpa(
    name: str, bundle: BundleEngine, onnx: Path, voice: Path, vocabulary: Mapping[str, int], directory: Path
) -> NativeProgram:
    """Returns the program of kokoro in sherpa-onnx, whose files are written to a directory.

    Args:
        name: name of the engine.
        bundle: the bundle that it is compared with.
        onnx: kokoro's own ONNX export.
        voice: the voice's rows, a .npy file.
        vocabulary: the number of each phoneme.
        directory: takes the program and the files of the model.
    """
    found = importlib.util.find_spec("sherpa_onnx")
    assert found is not None and found.submodule_search_locations is not None
    package = Path(found.submodule_search_locations[0])
    program, model, voices, tokens = (
        directory / each for each in (name, "model.onnx", "voices.bin", "tokens.txt")
    )
    libraries = [package / "lib" / f"lib{each}.so" for each in ("sherpa-onnx-c-api", "onnxruntime")]
    compile_program("sherpa.c", [package / "include"], libraries[0], program)
    rows = np.load(voice)
    call_fresh("sherpa-onnx's model", 1, write_model, onnx, rows.shape, model)
    # n phonemes take row n here, and row n - 1 in kokoro.
    np.roll(rows, 1, axis=0).astype("<f4").tofile(voices)
    tokens.write_text("".join(f"{phoneme} {number}\n" for phoneme, number in vocabulary.items()), "utf-8")
    files = (model, voices, tokens)
    sizes = (sum(each.stat().st_size for each in group) for group in (files, libraries))
    return NativeProgram(name, str(program), tuple(map(str, files)), bundle.threads, *sizes)


def write_model(onnx: Path, voice: tuple[int, int], output: Path) -> None:
    """Writes an ONNX file with the metadata that sherpa-onnx requires, and with a speed of float32."""
    facts = {
        **{"model_type": "kokoro", "language": "English", "voice": "en-us", "has_espeak": 1, "version": 2},
        **{"sample_rate": 24_000, "n_speakers": 1, "style_dim": f"{voice[0]},1,{voice[1]}"},
    }
    take_float_speed(onnx, output, facts)
