"""The tiny model as one module with the C library: for the web, and for a system that runs here."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from exporter.bundle.write import BundleContents
from exporter.compiler.link import link_library
from exporter.compiler.targets import CpuLevel, Target, find_target
from exporter.native.framework import beside_module, framework_entry, link_module
from runtime_min.format import manifest
from runtime_min.format.signatures import stage_names
from tests.support.tiny.bundle import BUCKETS, contents, with_entries
from tests.support.tiny.compiled import compile_into
from tests.support.tiny.model import _module

_LINUX = find_target("linux-x86_64")
FRAMEWORK = find_target("ios-arm64").module
HERE = replace(_LINUX, levels=(CpuLevel("baseline", (), "x86-64", 4),), module=FRAMEWORK)
"""No target of an export: the form of the bundle for iOS, for this machine."""
_TARGETS = {"here": HERE}
Link = Callable[[Sequence[Path], Target, Path], None]


def compile_libraries(directory: Path, target: Target) -> None:
    """Compiles every stage for every bucket, whose functions have names of their own in the module."""
    from tvm import relax

    from exporter.compiler.compile_stage import module_prefix, tvm_target

    directory.mkdir(parents=True, exist_ok=True)
    for name in stage_names(separate_source=False):
        for bucket in BUCKETS["frames" if name in ("f0n", "decoder") else "tokens"]:
            module = _in_parallel(_module(name, False))
            module = module.with_attr("system_lib_prefix", module_prefix(name, bucket))
            executable = relax.build(module, target=tvm_target(target, target.levels[0]))
            link_library(executable, directory / f"{name}-{bucket}.a", target)


def _in_parallel(module: Any) -> Any:
    """Divides the elements of every output between threads, as kernels of the real model are."""
    from tvm import tirx
    from tvm.s_tir import Schedule

    schedule = Schedule(module)
    for variable, function in module.functions_items():
        if isinstance(function, tirx.PrimFunc):
            schedule.work_on(variable.name_hint)
            for block in schedule.get_child_blocks(schedule.get_sblock("root")):
                schedule.parallel(schedule.get_loops(block)[-1])
    return schedule.mod


def compiled(place: Path, name: str) -> list[Path]:
    """Compiles the libraries for a target in another process, and returns them; ``here`` is `HERE`."""
    compile_into(place / "libraries", "one_module", name, target=_target(name))
    return sorted((place / "libraries").glob("*.a"))


def _target(name: str) -> Target:
    return _TARGETS.get(name) or find_target(name)


def module_contents(place: Path, target: Target, name: str, link: Link) -> BundleContents:
    """The contents of a bundle whose module is linked in `place` from the libraries for a target's name."""
    (level,) = target.levels
    file = target.module.format(level=level.name)
    module = place / Path(file).name
    link(compiled(place, name), target, module)
    made = contents(dict.fromkeys(stage_names(separate_source=False), module), module)
    stages = tuple(
        stage._replace(
            libraries=tuple(
                manifest.Library(level.name, each.bucket, file, stage.name) for each in stage.libraries
            )
        )
        for stage in made.manifest.stages
    )
    names = ("name", "system", "machine", "minimum_os")
    facts: dict[str, Any] = {name: getattr(target, name) for name in names}
    system = made.manifest.target._replace(levels=(manifest.CpuLevel(level.name, level.features),), **facts)
    made = replace(made, copies={file: module})
    return with_entries(made, target=system, stages=stages, runtime_library="")


def framework_contents(place: Path, target: Target, name: str) -> BundleContents:
    """The contents of a bundle for iOS, or for this machine in that form."""
    made = module_contents(place, target, name, link_module)
    (module,) = made.copies.values()
    made = with_entries(made, requires=(manifest.MODULE_REQUIRED,), module=framework_entry(target, module))
    return replace(made, extension_files=beside_module(target))


if __name__ == "__main__":
    compile_libraries(Path(sys.argv[1]), _target(sys.argv[2]))
