"""Bundles of format 1 as they were first written, in tests/golden/format-1, and how to write them again.

They pin the format: a reader must accept these very bytes for as long as it reads version 1, and the writer
must write them for as long as it writes version 1. They hold no code that could be loaded.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import exporter.bundle.write
from exporter.bundle.write import BundleContents, write_bundle
from exporter.compiler.library import Weight
from runtime_min.format.manifest import CpuLevel, Materials, Module, Target, Versions
from tests.support.tiny.bundle import (
    MAX_PHONEMES,
    NORM,
    STYLE,
    dummy_contents,
    dummy_contents_on,
    tensors,
    with_entries,
    with_levels,
)

GOLDEN = Path(__file__).parents[1] / "golden" / "format-1"
LEVELS = (CpuLevel("x86-64-v4", ("avx2", "avx512f")), CpuLevel("x86-64-v3", ("avx2",)))


def write(name: str, place: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Writes the bundle that is called `name` in `GOLDEN`."""
    work = place / "work"
    work.mkdir()
    # Texts and the runtime's own archive change with every release; the format does not.
    monkeypatch.setattr(exporter.bundle.write, "_write_archive", lambda path: path.write_bytes(b"PK"))
    monkeypatch.setattr(
        exporter.bundle.write,
        "_write_texts",
        lambda staging, manifest: (staging / "LICENSE").write_bytes(b"none"),
    )
    made = {
        "whole": whole,
        "part": part,
        "devices": devices,
        "devices-of-app": devices_of_app,
        "rounded": rounded,
        "scaled": scaled,
        "transformed": transformed,
        "module": module,
    }[name]
    if made is rounded:
        # Small enough for several blocks.
        monkeypatch.setattr(exporter.bundle.write, "BLOCK", 100)
    return write_bundle(place / name, made(work))


def whole(work: Path) -> BundleContents:
    """All five stages, one CPU level, three voices, numbers of every kind in the parity."""
    return _fixed(dummy_contents(work))


def _fixed(made: BundleContents) -> BundleContents:
    """The contents with values that depend neither on this machine nor on installed packages."""
    voices = {
        name: np.arange(MAX_PHONEMES * 2 * STYLE, dtype=np.float32).reshape(MAX_PHONEMES, -1) / 8 + first
        for first, name in enumerate(("af_heart", "am_adam", "zf_xiaobei"))
    }
    parameters = tuple(
        Weight(name, np.arange(values.size, dtype=np.float32).reshape(values.shape) / 4)
        for name, values in tensors().items()
        if name != NORM
    )
    # They are older than the statistics of voices.
    stages = tuple(
        stage._replace(parameters=tuple(name for name in stage.parameters if name != NORM))
        for stage in made.manifest.stages
    )
    return with_entries(
        replace(
            with_levels(with_entries(made, stages=stages), LEVELS[1:]), tensors=parameters, voices=voices
        ),
        versions=Versions("0.1.0", "0.27.0", "0.1.14", "0.14"),
        materials=Materials({"numpy": "2.4.6", "torch": "2.13.0"}, {"linker": "cc 12"}, "2" * 64, "3" * 40),
        target=Target("linux-x86_64", "x86_64-linux-gnu", "linux", "x86_64", "glibc 2.28", LEVELS[1:]),
        parity={"validated": True, "utterances": 6, "seconds": 19.5, "reference": "ə", "worst": -1},
    )


def part(work: Path) -> BundleContents:
    """Two stages for two CPU levels, and no voices."""
    made = whole(work)
    stages = tuple(stage for stage in made.manifest.stages if stage.name in ("bert", "decoder"))
    two = with_levels(with_entries(made, stages=stages), LEVELS)
    materials = made.manifest.materials._replace(commit="")
    return with_entries(replace(two, voices={}), parity={}, materials=materials)


def devices(work: Path) -> BundleContents:
    """The source as a stage of its own, the decoder and the encoders on a GPU."""
    made = _fixed(dummy_contents_on("cuda", work))
    moved = ("duration", "text_encoder", "decoder")
    stages = tuple(
        stage._replace(device="cuda" if stage.name in moved else "cpu") for stage in made.manifest.stages
    )
    return with_entries(made, stages=stages, target=made.manifest.target._replace(name="cuda-linux"))


def devices_of_app(work: Path) -> BundleContents:
    """Libraries for an app that brings TVM's runtimes itself."""
    made = _fixed(dummy_contents_on("metal", work))
    copies = {path: file for path, file in made.copies.items() if path.count("/") == 2}
    levels = made.manifest.target.levels
    target = Target("metal-ios", "arm64-apple-ios15.0", "ios", "arm64", "ios 15.0", levels)
    return with_entries(replace(made, copies=copies), target=target, runtime_library="", device_libraries={})


def rounded(work: Path) -> BundleContents:
    """Parameters of small types, voices as factors but for one of full rank, files of several blocks."""
    made = whole(work)
    full = np.random.RandomState(1).randint(-8, 8, (MAX_PHONEMES, 2 * STYLE)).astype(np.float32)
    small = (
        Weight("half", np.arange(7, dtype=np.float16) / 8),
        Weight("bytes", np.arange(-70, 70, dtype=np.int8)),
    )
    return replace(made, tensors=(*made.tensors, *small), voices={**made.voices, "zm_yunxi": full})


def scaled(work: Path) -> BundleContents:
    """A convolution's weight of int8 for 20 input channels in two groups, and its scales."""
    made, layout = whole(work), "conv[out/32,in,taps,32]"
    numbers = (np.arange(20 * 3 * 32) % 255 - 127).astype(np.int8).reshape(1, 20, 3, 32)
    scales = np.arange(1, 65, dtype=np.float16).reshape(1, 2, 32) / 64
    small = Weight("weight", numbers, layout), Weight("weight_scales", scales, f"{layout} scales")
    return replace(made, tensors=(*made.tensors, *small))


def module(work: Path) -> BundleContents:
    """Stages in the folder of a framework, whose library an app loads."""
    made, folder = whole(work), "native/Kokoro.framework"
    file = f"{folder}/Kokoro"
    stages = tuple(
        stage._replace(libraries=tuple(each._replace(file=file) for each in stage.libraries))
        for stage in made.manifest.stages
    )
    library = next(path for name, path in made.copies.items() if name.count("/") == 2)
    target = made.manifest.target._replace(
        name="ios-arm64", triple="arm64-apple-ios15.0", system="ios", machine="arm64", minimum_os="ios 15.0"
    )
    made = replace(made, copies={file: library}, extension_files={f"{folder}/Info.plist": b"not a plist"})
    entries = {"stages": stages, "target": target, "runtime_library": ""}
    return with_entries(made, requires=("module",), module=Module(folder, "3" * 64), **entries)


def transformed(work: Path) -> BundleContents:
    """A convolution's weight of two taps, which its reader transforms to three products."""
    made, layout = whole(work), "taps[out/32,taps,in,32]"
    taps = np.arange(2 * 4 * 32, dtype=np.float16).reshape(1, 2, 4, 32) / 16
    made = replace(made, tensors=(*made.tensors, Weight("weight", taps, layout)))
    matrix = ((1.0, 0.0), (0.5, -0.25), (0.0, 1.0))
    return with_entries(made, requires=("transforms",), transforms={layout: matrix})
