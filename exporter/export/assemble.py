"""The contents of a bundle: the libraries, the parameters that they take, and where all of it comes from."""

from __future__ import annotations

import importlib.metadata
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import tvm

from exporter.bundle.write import PARAMETER_FILE, BundleContents
from exporter.compiler.kernels.wasm import ENLARGED, enlarged
from exporter.compiler.kernels.winograd import taps_layout
from exporter.compiler.kernels.winograd_schemes import SCHEMES
from exporter.compiler.library import CompiledLibrary, StoredWeights, Weight
from exporter.compiler.link import minimum_os
from exporter.compiler.precision import PrecisionError
from exporter.compiler.stages import make_stage, stage_weights
from exporter.compiler.targets import RuntimeFile
from exporter.errors import ExportError
from exporter.export.bill_of_materials import materials
from exporter.export.jobs import StageError
from exporter.export.plan import Plan, positions
from exporter.model.checkpoint import Checkpoint
from exporter.model.file_format import file_format
from exporter.native.framework import framework_entry
from runtime_min import __version__
from runtime_min.format import manifest
from runtime_min.format.arithmetic import EXTENSION as ARITHMETIC
from runtime_min.format.arithmetic import FLOAT32
from runtime_min.format.transforms import Matrix
from runtime_min.format.weights_source import EXTENSION as WEIGHTS
from runtime_min.format.weights_source import WeightsSource

# The two boundary tokens take a place each in the model's context.
_BOUNDARY_TOKENS = 2


class ToolsError(ExportError):
    """The installed TVM lacks something that a bundle needs."""

    exit_code = 5


def bundle_contents(plan: Plan, libraries: Sequence[CompiledLibrary]) -> BundleContents:
    """Returns all that `exporter.bundle.write.write_bundle` needs.

    Raises:
        PrecisionError: a weight is too large for the target's kernels.
        StageError: a library takes other parameters than the bundle has.
        ToolsError: the installed TVM lacks something that a bundle needs.
    """
    tensors: list[Weight] = []
    stages: list[manifest.Stage] = []
    devices = _device_libraries(plan)
    copies = {_runtime_path(path): path for path in devices.values()}
    runtime = _runtime(plan, plan.target.runtime)
    if runtime is not None:
        copies[_runtime_path(runtime)] = runtime
    for stage in plan.stages:
        parameters = stage_parameters(plan.checkpoint, stage, plan.stored)
        own = _libraries(plan, stage, parameters, libraries)
        stages.append(_stage(plan, stage, parameters, own))
        tensors.extend(map(_for_web, parameters) if plan.target.system == "web" else parameters)
        copies |= {library_path(library): library.path for library in own}
    transforms, module = _transforms(tensors), _module(plan, libraries)
    requirements = {
        manifest.DEVICES_REQUIRED: plan.target.separate_source,
        manifest.TRANSFORMS_REQUIRED: bool(transforms),
        manifest.MODULE_REQUIRED: module is not None,
    }
    contents = manifest.Manifest(
        requires=tuple(name for name, required in requirements.items() if required),
        model=_model(plan.checkpoint),
        versions=versions(),
        materials=materials(plan.target, plan.native),
        target=_manifest_target(plan, libraries),
        audio=manifest.AudioFormat(),
        runtime_library=_runtime_path(runtime) if runtime else "",
        stages=tuple(stages),
        parameters=manifest.Parameters(PARAMETER_FILE, ()),
        vocabulary=plan.checkpoint.vocabulary,
        max_phonemes=positions(plan.checkpoint) - _BOUNDARY_TOKENS,
        voices=(),
        extensions=_extensions(plan.checkpoint) | _arithmetic(plan),
        device_libraries={device: _runtime_path(path) for device, path in devices.items()},
        transforms=transforms,
        module=module,
    )
    return BundleContents(contents, tensors, plan.voices, copies)


def stage_parameters(checkpoint: Checkpoint, stage: str, stored: StoredWeights) -> list[Weight]:
    """Returns the parameters of a stage in call order; its name before theirs keeps them apart."""
    weights = stage_weights(make_stage(stage, checkpoint.model, stored.separate_source, stored.precision))
    return [replace(weight, name=f"{stage}.{weight.name}") for weight in weights]


def _for_web(weight: Weight) -> Weight:
    """Returns a weight as a bundle for the web stores it: enlarged, and as taps if these are fewer numbers.

    Raises:
        PrecisionError: a number is too large.
    """
    plain = weight.plain or weight
    stored = enlarged(plain.values)
    if stored.dtype == np.float16 and not np.isfinite(stored).all():
        raise PrecisionError(
            f"The weights {weight.name} reach {np.abs(plain.values).max():g}: a bundle for the web stores "
            f"less than {2**16 / ENLARGED:g} in float16. Export with --precision float32."
        )
    return Weight(weight.name, stored, plain.layout)


def _transforms(tensors: Sequence[Weight]) -> dict[str, Matrix]:
    """Returns the transforms of the weights that are stored as the model has them, by their layouts."""
    known = {taps_layout(taps): scheme.matrix for taps, scheme in SCHEMES.items()}
    layouts = {tensor.layout for tensor in tensors}
    return {layout: matrix for layout, matrix in known.items() if layout in layouts}


def _module(plan: Plan, libraries: Sequence[CompiledLibrary]) -> manifest.Module | None:
    """Returns what the manifest says of a module that an app signs; a page's is compared like any file."""
    if not plan.target.one_module or plan.target.system == "web":
        return None
    return framework_entry(plan.target, libraries[0].path)


def _libraries(
    plan: Plan, stage: str, parameters: Sequence[Weight], libraries: Sequence[CompiledLibrary]
) -> list[CompiledLibrary]:
    """Returns the libraries of a stage, which must all take the parameters that the bundle has."""
    expected = tuple((weight.name, weight.layout) for weight in parameters)
    own = [library for library in libraries if library.job.stage == stage]
    for library in own:
        found = tuple((f"{stage}.{name}", layout) for name, layout in library.parameters)
        if found != expected:
            raise StageError(
                f"The library {library.job} takes other parameters than the bundle has: expected {expected}, "
                f"found {found}. This is an error of the exporter; try --no-cache."
            )
    return sorted(own, key=lambda library: (plan.levels.index(library.job.level), library.job.bucket))


def _stage(
    plan: Plan, stage: str, parameters: Sequence[Weight], libraries: Sequence[CompiledLibrary]
) -> manifest.Stage:
    return manifest.Stage(
        device=plan.device_of(stage),
        **plan.signatures[stage]._asdict(),
        parameters=tuple(weight.name for weight in parameters),
        libraries=tuple(
            manifest.Library(level.name, each.job.bucket, library_path(each), stage)
            for level in plan.levels
            for each in libraries
            if each.job.level.name == (level.name if stage == "decoder" else level.base or level.name)
        ),
    )


def library_path(library: CompiledLibrary) -> str:
    """Returns the path of a stage's library in the bundle."""
    job = library.job
    if job.target.one_module:
        return job.target.module.format(level=job.level.name)
    return f"lib/{job.level.name}/{job.stage}-{job.bucket}{library.path.suffix}"


def _runtime_path(runtime: Path) -> str:
    """Returns the path in the bundle; all are in one directory, where macOS looks for their dependencies."""
    return f"lib/{runtime.name}"


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


def _extensions(checkpoint: Checkpoint) -> dict[str, object]:
    """Returns the manifest's entry about the file of the weights, if torch did not write it."""
    read = file_format(checkpoint.path)
    if read == "torch":
        return {}
    return {WEIGHTS: WeightsSource(read, checkpoint.rounded)._asdict()}


def _arithmetic(plan: Plan) -> dict[str, object]:
    """Returns the manifest's entry about levels with another arithmetic than float32, if there are any."""
    levels = {level.name: level.arithmetic for level in plan.levels if level.arithmetic != FLOAT32}
    return {ARITHMETIC: levels} if levels else {}


def _manifest_target(plan: Plan, libraries: Sequence[CompiledLibrary]) -> manifest.Target:
    entries = {name: getattr(plan.target, name) for name in manifest.Target._fields}
    entries["minimum_os"] = minimum_os(plan.target, [library.path for library in libraries])
    entries["levels"] = tuple(manifest.CpuLevel(level.name, level.features) for level in plan.levels)
    return manifest.Target(**entries)


def _runtime(plan: Plan, file: RuntimeFile | None) -> Path | None:
    """Returns the path of a file of the target's TVM runtime, or None if there is no such file."""
    if file is None:
        return None
    return plan.runtime_libraries.get(file.name, _tvm_directory() / "lib" / file.name)


def _device_libraries(plan: Plan) -> dict[str, Path]:
    """Returns TVM's runtime of the target's device, where it has one and an app does not bring it."""
    runtime = _runtime(plan, plan.target.device_runtime)
    return {} if runtime is None else {plan.target.device: runtime}


def versions() -> manifest.Versions:
    """Returns the versions of the installed tools.

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
    """Returns the version of TVM's virtual machine, which only its C++ header has."""
    header = _tvm_directory() / "include" / "tvm" / "runtime" / "vm" / "executable.h"
    text = header.read_text(encoding="utf-8") if header.exists() else ""
    found = re.search(r'#define VM_VERSION "([^"]+)"', text)
    if found is None:
        raise ToolsError(f"{header} does not define VM_VERSION: install apache-tvm again, with its headers.")
    return found[1]


def _tvm_directory() -> Path:
    return Path(tvm.__file__).parent
