"""``kokoro-export targets``: shows the targets of an export."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Group
from rich.table import Table
from rich.text import Text

from exporter.cli.terminal import plain_console
from exporter.compiler.targets import FLOAT32, TARGETS, Target
from exporter.native.build import TARGETS as NATIVE_TARGETS
from runtime_min.engine.machine import Machine, this_machine
from runtime_min.format.signatures import stage_names


def targets() -> None:
    """Show the targets that bundles can be exported for, and what has been verified of each."""
    plain_console().print(as_tables(this_machine()))


def as_tables(machine: Machine) -> Group:
    """Returns a table for each target, with the tools that `machine` needs to export for it."""
    return Group(*(_table(target, target.fits(machine)) for target in TARGETS))


def _table(target: Target, is_host: bool) -> Table:
    table = Table(title=target.name, title_justify="left", show_header=False, width=80)
    table.add_column(no_wrap=True)
    table.add_column(ratio=1)
    for name, value in _rows(target, is_host):
        table.add_row(name, Text(value))
    return table


def _rows(target: Target, is_host: bool) -> Iterator[tuple[str, str]]:
    yield "runs on", f"{target.system} on {target.machine}, {target.minimum_os} or newer"
    yield "triple", target.triple
    yield "CPU levels", ", ".join(level.name for level in target.levels)
    if target.arithmetic_levels:
        others = (f"{level.arithmetic} on {level.name}" for level in target.arithmetic_levels)
        yield "arithmetic", ", ".join((FLOAT32, *others))
    yield "devices", _devices(target)
    module = target.module.format(level=target.levels[0].name)
    yield "libraries", f"{module}, with the C library" if module else f"*{target.library_suffix}"
    yield "linked with", "a C compiler, or zig" if is_host else f"zig for {target.zig_target}"
    source = "this machine's TVM" if is_host else f"the wheel of apache-tvm for {target.wheel_platform}"
    names = " and ".join(file.name for file in target.runtime_files)
    yield "runtime", f"{names} of {source}" if target.runs else "none: no wheel has one"
    yield "C library", "yes, linked with zig" if target.name in NATIVE_TARGETS else "none"
    if target.needs:
        yield "needs", target.needs
    yield "verified", target.verified


def _devices(target: Target) -> str:
    """Returns the device of each stage, such as ``decoder on metal, the others on the cpu``."""
    stages = stage_names(target.separate_source)
    moved = [stage for stage in stages if target.device_of(stage) != "cpu"]
    if not moved:
        return "every stage on the cpu"
    others = ", ".join(stage for stage in stages if stage not in moved)
    able = [stage for stage in stages if target.device_of(stage, target.device) != "cpu"]
    asked = " and ".join(stage for stage in able if stage not in moved)
    return (
        f"{', '.join(moved)} on {target.device}; {others} on the cpu; "
        f"{asked} on {target.device} with --lstm-device {target.device}"
    )
