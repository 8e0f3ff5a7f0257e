"""The tiny model as a bundle for the web, and scripts of JavaScript that speak with it in Node."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

from exporter.bundle.write import BundleContents
from exporter.compiler.compile_stage import module_prefix, tvm_target
from exporter.compiler.link import link_library
from exporter.compiler.targets import find_target
from exporter.native.node import find_node
from exporter.native.web_module import MODULE, link_module, scripts
from runtime_min.format.manifest import CpuLevel, Library
from runtime_min.format.signatures import stage_names
from tests.support.paths import ROOT
from tests.support.tiny.bundle import BUCKETS, contents, with_entries
from tests.support.tiny.model import _module

FILE = f"lib/simd128/{MODULE}"


def compile_libraries(directory: Path) -> None:
    """Compiles every stage for every bucket, whose functions have names of their own in the module."""
    from tvm import relax

    target = find_target("web")
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


def web_contents(place: Path) -> BundleContents:
    """The bundle's contents, whose module is linked in `place`."""
    command = [sys.executable, "-m", "tests.support.tiny.web", str(place / "libraries")]
    subprocess.run(command, check=True, cwd=ROOT)
    target, module = find_target("web"), place / MODULE
    link_module(sorted((place / "libraries").glob("*.a")), target, module)
    made = contents(dict.fromkeys(stage_names(separate_source=False), module), module)
    stages = tuple(
        stage._replace(
            libraries=tuple(Library("simd128", each.bucket, FILE, stage.name) for each in stage.libraries)
        )
        for stage in made.manifest.stages
    )
    names = ("name", "system", "machine", "minimum_os")
    facts: dict[str, Any] = {name: getattr(target, name) for name in names}
    system = made.manifest.target._replace(levels=(CpuLevel("simd128", ()),), **facts)
    made = replace(made, copies={FILE: module}, extension_files=scripts())
    return with_entries(made, target=system, stages=stages, runtime_library="")


def run_node(script: str, *arguments: object, directory: Path | None = None, **values: object) -> Any:
    """Runs a module of JavaScript in Node, and returns the value that it prints as JSON.

    Args:
        script: its text.
        arguments: what it gets as ``process.argv`` from 2 on.
        directory: where it runs, and finds its packages.
        values: constants that it finds by their names.
    """
    program = find_node()
    assert program is not None
    given = "".join(f"const {name} = {json.dumps(value)};\n" for name, value in values.items())
    command = [program, "--input-type=module", "-", *map(str, arguments)]
    done = subprocess.run(
        command, input=given + script, cwd=directory, capture_output=True, text=True, timeout=600
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


if __name__ == "__main__":
    compile_libraries(Path(sys.argv[1]))
