"""What ``kokoro-export targets`` shows: the rows of the table of targets, for people."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Group
from rich.table import Table
from rich.text import Text

from exporter.targets import TARGETS, Target
from runtime_min.platform import Machine


def as_tables(machine: Machine) -> Group:
    """Returns a table for each target, with what `machine` exports it with."""
    return Group(*(_table(target, target.fits(machine)) for target in TARGETS))


def _table(target: Target, is_host: bool) -> Table:
    table = Table(title=target.name, title_justify="left", show_header=False, width=80)
    table.add_column(no_wrap=True)
    table.add_column(ratio=1)
    for name, value in _rows(target, is_host):
        table.add_row(name, Text(value))
    return table


def _rows(target: Target, is_host: bool) -> Iterator[tuple[str, str]]:
    libc = ".".join(map(str, target.minimum_libc))
    yield "runs on", f"{target.system} on {target.machine}, glibc {libc} or newer"
    yield "triple", target.triple
    yield "CPU levels", ", ".join(level.name for level in target.levels)
    yield "device", target.device
    yield "libraries", f"*{target.library_suffix}"
    yield "linked with", "a C compiler, or zig" if is_host else f"zig for {target.zig_target}"
    source = "this machine's TVM" if is_host else f"the wheel of apache-tvm for {target.wheel_platform}"
    yield "runtime", f"{target.runtime_library} of {source}"
    yield "verified", target.verified
