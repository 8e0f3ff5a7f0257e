"""``kokoro-export doctor``: checks whether this machine can export, and advises what to do."""

from __future__ import annotations

import importlib.metadata
import shlex
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

import typer
from rich.table import Table
from rich.text import Text

from exporter import PYTHONS, directories
from exporter.cli.terminal import plain_console, reported_errors
from exporter.compiler.levels import choose_levels
from exporter.compiler.link import find_linker
from exporter.compiler.targets import FLOAT32, Target, find_target
from exporter.errors import ExportError
from exporter.native.node import require_node
from runtime_min.engine.machine import Machine, levels_that_run, this_machine

# These crash the compiler without a message (MetaSchedule's TuneContext, dlight's Metal rule).
KNOWN_BAD = {"apache-tvm-ffi": ("0.1.15.post1", "0.1.15.post2")}
_GIGABYTE = 1 << 30
# A bundle with all voices takes 0.4 GB, twice that while it is written. The command and each worker that
# compiles hold 1 GB.
_DISK_NEEDED = 2 * _GIGABYTE
_MEMORY_NEEDED = 2 * _GIGABYTE
_INSTALL = "pip install kokoro-export"


class Status(Enum):
    """The outcome of a check."""

    OK = "ok"
    WARN = "warn"
    FAIL = "fail"


_COLOURS = {Status.OK: "green", Status.WARN: "yellow", Status.FAIL: "red"}


@dataclass(frozen=True)
class Finding:
    """The result of one check."""

    name: str
    status: Status
    found: str
    advice: str = ""
    """Advice to the user; empty if the check passed."""


def doctor() -> None:
    """Check whether this machine can export: versions, linker, CPU, disk, memory."""
    with reported_errors():
        findings = examine()
        plain_console().print(_table(findings))
    if any(finding.status is Status.FAIL for finding in findings):
        raise typer.Exit(5)


def examine() -> list[Finding]:
    """Checks this machine and returns the results."""
    return [
        _python(sys.version_info[:2]),
        *_packages(),
        *_machine(this_machine()),
        _attempt("node, for the web", Status.WARN, require_node),
        _disk("free disk, cache", directories.libraries(), "set XDG_CACHE_HOME or make room"),
        _disk("free disk, here", Path.cwd(), "make room, or write elsewhere with -o"),
        _room(
            "available memory",
            _available_memory(),
            _MEMORY_NEEDED,
            "close programs, and export with --jobs 1",
        ),
    ]


def _table(findings: Iterable[Finding]) -> Table:
    table = Table("check", "", "found", "what to do")
    for finding in findings:
        status = Text(finding.status.value, style=_COLOURS[finding.status])
        table.add_row(finding.name, status, Text(finding.found), Text(finding.advice))
    return table


def check_packages(requirements: Iterable[str], installed: Callable[[str], str | None]) -> Iterator[Finding]:
    """Yields a finding for every requirement of the exporter.

    Args:
        requirements: as `importlib.metadata.requires` returns them.
        installed: the version of a distribution; None if it is not installed.
    """
    from packaging.requirements import Requirement

    wanted: dict[str, list[Requirement]] = {}
    for text in requirements:
        requirement = Requirement(text)
        if requirement.marker is None or requirement.marker.evaluate({"extra": ""}):
            wanted.setdefault(requirement.name, []).append(requirement)
    for name, parts in wanted.items():
        yield _package(name, ",".join(str(part.specifier) for part in parts), installed(name))


def _package(name: str, specifier: str, version: str | None) -> Finding:
    from packaging.specifiers import SpecifierSet

    if version is None:
        return Finding(name, Status.FAIL, "not installed", f"expected {specifier}: {_INSTALL}")
    if version in KNOWN_BAD.get(name, ()):
        return Finding(
            name, Status.FAIL, version, f"known to crash the compiler, expected {specifier}: {_INSTALL}"
        )
    if not SpecifierSet(specifier).contains(version, prereleases=True):
        return Finding(name, Status.WARN, version, f"tested with {specifier}: {_INSTALL}")
    return Finding(name, Status.OK, version)


def _packages() -> Iterator[Finding]:
    try:
        requirements = importlib.metadata.requires("kokoro-export") or []
    except importlib.metadata.PackageNotFoundError:
        advice = f"its requirements are unknown, so no version was checked: {_INSTALL}"
        yield Finding("kokoro-export", Status.WARN, "not installed", advice)
        return
    yield from check_packages(requirements, _installed)


def _python(version: tuple[int, int]) -> Finding:
    found = ".".join(map(str, version))
    if version in PYTHONS:
        return Finding("python", Status.OK, found)
    able = " or ".join(".".join(map(str, known)) for known in PYTHONS)
    return Finding("python", Status.FAIL, found, f"export with Python {able}; a bundle also runs on others")


def _machine(machine: Machine) -> Iterator[Finding]:
    try:
        target = find_target("host", machine)
    except ExportError as error:
        yield Finding("target", Status.WARN, f"{machine.system}-{machine.machine}", str(error))
        return
    yield Finding("target", Status.OK, target.name)
    yield _attempt("cpu level", Status.WARN, lambda: choose_levels(target, "host", machine)[0].name)
    yield from _arithmetic(target, machine)
    yield _attempt("linker", Status.FAIL, lambda: shlex.join(find_linker(target)))


def _arithmetic(target: Target, machine: Machine) -> Iterator[Finding]:
    levels = target.arithmetic_levels
    running = levels_that_run(levels, machine.features)
    best = {level.arithmetic: level.name for level in reversed(running)}
    able = (f"{arithmetic} on {level}" for arithmetic, level in best.items())
    yield Finding("arithmetic", Status.OK, ", ".join((FLOAT32, *able)))
    for level in levels:
        if level not in running and machine.features.issuperset(level.features):
            advice = "Linux does not let this process use AMX's tiles: another level takes its place"
            yield Finding(level.name, Status.WARN, "refused", advice)


def _attempt(name: str, otherwise: Status, find: Callable[[], str]) -> Finding:
    try:
        return Finding(name, Status.OK, find())
    except ExportError as error:
        return Finding(name, otherwise, "none", str(error))


def _room(name: str, free: int | None, needed: int, advice: str) -> Finding:
    found = "unknown" if free is None else f"{free / _GIGABYTE:.1f} GB"
    if free is None or free < needed:
        return Finding(name, Status.WARN, found, f"{needed / _GIGABYTE:.0f} GB are advisable: {advice}")
    return Finding(name, Status.OK, found)


def _disk(name: str, path: Path, advice: str) -> Finding:
    while not path.exists():
        path = path.parent
    return _room(name, shutil.disk_usage(path).free, _DISK_NEEDED, advice)


def _available_memory() -> int | None:
    """Returns the bytes of memory that are available without swapping; None without psutil."""
    try:
        import psutil
    except ModuleNotFoundError:
        return None
    available: int = psutil.virtual_memory().available
    return available


def _installed(name: str) -> str | None:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None
