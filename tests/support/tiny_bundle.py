"""Bundles for tests: a model of a few lines, with dummy libraries or compiled by TVM."""

from __future__ import annotations

import importlib.metadata
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np

from exporter.bundle.write import BundleContents, StageSource
from exporter.compiler import targets
from exporter.compiler.library import CompiledLibrary, Job, Weight
from exporter.compiler.targets import find_target
from runtime_min.engine.machine import this_machine
from runtime_min.format.manifest import CpuLevel, Materials, ModelInfo, Target, Versions
from runtime_min.format.signatures import STAGE_NAMES, StageSignature, signatures, stage_names

HIDDEN = 4
STYLE = 2
MAX_PHONEMES = 20
VOCABULARY = {"a": 1, "b": 2, "c": 3, " ": 4}
BUCKETS = {"tokens": (8, 22), "frames": (40, 100)}
PARAMETERS = {
    "bert": ("table",),
    "duration": ("table", "lengths"),
    "text_encoder": ("table",),
    "f0n": ("gain",),
    "source": ("gain",),
    "decoder": ("gain",),
}


def tensors() -> dict[str, np.ndarray]:
    """The parameters of the tiny model; their sizes leave gaps that alignment must fill."""
    random = np.random.default_rng(1)
    return {
        "table": random.standard_normal((5, HIDDEN)).astype(np.float32),
        "lengths": np.array([1.5, 0.2, 2.5, 3.5, 60.0], np.float32),
        "gain": np.array([0.25], np.float32),
    }


def voices() -> dict[str, np.ndarray]:
    random = np.random.default_rng(2)
    names = ("af_heart", "af_bella", "am_adam")
    return {name: random.standard_normal((MAX_PHONEMES, 2 * STYLE)).astype(np.float32) for name in names}


def this_target(levels: tuple[CpuLevel, ...] = (CpuLevel("baseline", ()),)) -> Target:
    machine = this_machine()
    return Target("here", "triple", machine.system, machine.machine, machine.os_version, levels)


def versions() -> Versions:
    """What a bundle that is compiled here is made with; only TVM's decide about anything."""
    tvm, tvm_ffi = (importlib.metadata.version(name) for name in ("apache-tvm", "apache-tvm-ffi"))
    return Versions("0.1.0", tvm, tvm_ffi, "0.14")


def materials() -> Materials:
    return Materials({"torch": "2.13.0", "kokoro": "0.9.4"}, {"linker": "cc 12"}, "2" * 64, "")


def job(signature: StageSignature, bucket: int, level: str, device: str = "cpu") -> Job:
    """A job of no configuration for a CPU level of no special instructions."""
    return Job("{}", signature, bucket, find_target("host"), targets.CpuLevel(level, (), "", 4), device)


def dummy_libraries(directory: Path, stages: tuple[str, ...] = STAGE_NAMES) -> dict[str, Path]:
    """Files that no loader would take: whoever verifies first never finds out."""
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
    sources = []
    for name, signature in signatures(HIDDEN, STYLE, device_libraries is not None).items():
        if name in libraries:
            device = devices.get(name, "cpu")
            found = (
                CompiledLibrary(job(signature, bucket, "baseline", device), libraries[name])
                for bucket in BUCKETS[signature.axis]
            )
            sources.append(StageSource(signature, PARAMETERS[name], tuple(found), device))
    return BundleContents(
        model=ModelInfo("tiny", "synthetic", "0" * 64, "1" * 64, True, HIDDEN, STYLE),
        versions=versions(),
        materials=materials(),
        target=this_target(),
        stages=tuple(sources),
        tensors=tuple(Weight(name, values) for name, values in tensors().items()),
        voices=voices(),
        vocabulary=VOCABULARY,
        runtime_library=runtime_library,
        device_libraries=device_libraries,
        max_phonemes=MAX_PHONEMES,
        parity={"decoder.db": 101.5, "utterances": 3, "reference": "pt.dynamic"},
    )


def dummy_contents(directory: Path, stages: tuple[str, ...] = STAGE_NAMES) -> BundleContents:
    """A bundle that passes every check and that nothing can load."""
    runtime = directory / "libtvm_runtime.so"
    libraries = dummy_libraries(directory / "libraries", stages)
    runtime.write_bytes(b"not the runtime")
    return contents(libraries, runtime)


def dummy_contents_on(device: str, directory: Path) -> BundleContents:
    """The same with its decoder on `device`."""
    runtimes = [directory / "libtvm_runtime.so", directory / f"libtvm_runtime_{device}.so"]
    libraries = dummy_libraries(directory / "libraries", stage_names(source_apart=True))
    for runtime in runtimes:
        runtime.write_bytes(f"not the runtime: {runtime.name}".encode())
    return contents(libraries, runtimes[0], {device: runtimes[1]}, {"decoder": device})


def with_levels(made: BundleContents, levels: tuple[CpuLevel, ...]) -> BundleContents:
    """The same bundle with its libraries once for each of `levels`."""
    stages = tuple(
        replace(
            stage,
            libraries=tuple(
                replace(library, job=job(stage.signature, library.job.bucket, level.name, stage.device))
                for level in levels
                for library in stage.libraries
            ),
        )
        for stage in made.stages
    )
    return replace(made, target=replace(made.target, levels=levels), stages=stages)
