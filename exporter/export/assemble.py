"""What goes into a bundle: the libraries, the parameters that they take, and where all of it comes from."""

from __future__ import annotations

import importlib.metadata
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

import tvm

from exporter import __version__
from exporter.bundle.write import BundleContents, LibrarySource, StageSource, TensorSource
from exporter.compiler.compile_stage import stage_parameters
from exporter.compiler.link import minimum_os
from exporter.compiler.targets import RuntimeFile
from exporter.errors import ExportError
from exporter.export.bill_of_materials import materials
from exporter.export.jobs import Job, StageError
from exporter.export.library_cache import CompiledLibrary
from exporter.export.plan import Plan
from exporter.model.checkpoint import Checkpoint
from runtime_min.format import manifest
from runtime_min.format.signatures import signatures

# The two boundary tokens take a place each in the model's context.
_BOUNDARY_TOKENS = 2


class ToolsError(ExportError):
    """The installed TVM lacks something that a bundle needs."""

    exit_code = 5


def bundle_contents(plan: Plan, libraries: Mapping[Job, CompiledLibrary]) -> BundleContents:
    """Returns all that `exporter.bundle.write.write_bundle` needs.

    Raises:
        StageError: a library takes other parameters than the bundle has.
        ToolsError: the installed TVM lacks something that a bundle needs.
    """
    tensors: list[TensorSource] = []
    stages: list[StageSource] = []
    for stage in plan.stages:
        parameters = _parameters(plan, stage)
        stages.append(_stage(plan, stage, parameters, libraries))
        tensors.extend(parameters)
    return BundleContents(
        model=_model(plan.checkpoint),
        versions=versions(),
        materials=materials(plan.target),
        target=_manifest_target(plan, libraries),
        stages=stages,
        tensors=tensors,
        voices=plan.voices,
        vocabulary=plan.checkpoint.vocabulary,
        runtime_library=_runtime(plan, plan.target.runtime),
        device_libraries=_device_libraries(plan),
        max_phonemes=plan.positions - _BOUNDARY_TOKENS,
    )


def _parameters(plan: Plan, stage: str) -> list[TensorSource]:
    """Returns the parameters of a stage in call order; its name before theirs keeps them apart."""
    weights = stage_parameters(plan.checkpoint, stage, plan.target.source_apart)
    return [TensorSource(f"{stage}.{weight.name}", weight.value, weight.layout) for weight in weights]


def _stage(
    plan: Plan, stage: str, parameters: Sequence[TensorSource], libraries: Mapping[Job, CompiledLibrary]
) -> StageSource:
    """Returns a stage for the bundle; its libraries must all take the parameters that the bundle has."""
    expected = tuple((tensor.name, tensor.layout) for tensor in parameters)
    sources = []
    for job in sorted(libraries, key=lambda job: (plan.levels.index(job.level), job.bucket)):
        if job.stage != stage:
            continue
        library = libraries[job]
        found = tuple((f"{stage}.{name}", layout) for name, layout in library.parameters)
        if found != expected:
            raise StageError(
                f"The library {job} takes other parameters than the bundle has: expected {expected}, "
                f"found {found}. This is an error of the exporter; try --no-cache."
            )
        sources.append(LibrarySource(job.level.name, job.bucket, library.library, library.function))
    config = plan.checkpoint.config
    signature = signatures(config["hidden_dim"], config["style_dim"], plan.target.source_apart)[stage]
    return StageSource(signature, tuple(name for name, _ in expected), tuple(sources), plan.device_of(stage))


def _model(checkpoint: Checkpoint) -> manifest.ModelInfo:
    return manifest.ModelInfo(
        name=checkpoint.name,
        source=checkpoint.source,
        sha256=checkpoint.sha256,
        config_sha256=checkpoint.config_sha256,
        synthetic=checkpoint.synthetic,
        hidden=checkpoint.config["hidden_dim"],
        style=checkpoint.config["style_dim"],
    )


def _manifest_target(plan: Plan, libraries: Mapping[Job, CompiledLibrary]) -> manifest.Target:
    target = plan.target
    return manifest.Target(
        name=target.name,
        triple=target.triple,
        system=target.system,
        machine=target.machine,
        minimum_os=minimum_os(target, [library.library for library in libraries.values()]),
        levels=tuple(manifest.CpuLevel(level.name, level.features) for level in plan.levels),
    )


def _runtime(plan: Plan, file: RuntimeFile | None) -> Path | None:
    """Returns where a file of the target's TVM runtime is; None where there is no such file."""
    if file is None:
        return None
    return plan.runtime_libraries.get(file.name, _tvm_directory() / "lib" / file.name)


def _device_libraries(plan: Plan) -> dict[str, Path] | None:
    """Returns TVM's runtime of the target's device; None where the target has but its CPU."""
    if not plan.target.source_apart:
        return None
    runtime = _runtime(plan, plan.target.device_runtime)
    return {} if runtime is None else {plan.target.device: runtime}


def versions() -> manifest.Versions:
    """Returns what a bundle that is made now is made with.

    Raises:
        ToolsError: TVM's headers are not as expected.
    """
    return manifest.Versions(
        kokoro_export=__version__,
        tvm=importlib.metadata.version("apache-tvm"),
        tvm_ffi=importlib.metadata.version("apache-tvm-ffi"),
        vm=_vm_version(),
    )


def _vm_version() -> str:
    """Returns the version of TVM's virtual machine, which only its C++ header tells."""
    header = _tvm_directory() / "include" / "tvm" / "runtime" / "vm" / "executable.h"
    text = header.read_text(encoding="utf-8") if header.exists() else ""
    found = re.search(r'#define VM_VERSION "([^"]+)"', text)
    if found is None:
        raise ToolsError(f"{header} does not define VM_VERSION: install apache-tvm again, with its headers.")
    return found[1]


def _tvm_directory() -> Path:
    return Path(tvm.__file__).parent
