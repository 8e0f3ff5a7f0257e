"""Describes this machine, and checks that a bundle was made for it."""

from __future__ import annotations

import ctypes
import importlib
import mmap
import os
import platform
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple, Protocol, TypeVar

from ..errors import CpuLevelError, PlatformError, UnknownProcessorError, UsageError
from ..format.manifest import CpuLevel, Target

_NUMPY_NAMES = {
    **{"SSE3": "pni", "SSE41": "sse4_1", "SSE42": "sse4_2", "FMA3": "fma"},
    **{"LAHF": "lahf_lm", "LZCNT": "abm", "BMI": "bmi1"},
}
"""Features that /proc/cpuinfo spells in another way than numpy in small letters."""
_LIBRARIES = 64 << 20
"""Bytes of address space that TVM and numpy take at most, without parameters."""
_STACK = 8 << 20
"""Bytes of a thread's stack, as most systems have it."""
_TILES = "amx_tile"
"""A feature with registers of 8 KiB, which Linux gives only to a process that has asked for them."""
_ARCH_PRCTL, _ASK_FOR_STATE, _TILE_DATA = 158, 0x1023, 18
"""Linux's numbers on x86-64: the system call, its operation, and the tiles among a thread's registers."""
_WITH_AVX2_AND_FMA = frozenset({"abm", "bmi1", "bmi2", "cx16", "lahf_lm", "movbe", "xsave"})
"""Features of every processor with AVX2 and FMA; not every numpy lists them."""


class _WithFeatures(Protocol):
    @property
    def features(self) -> tuple[str, ...]: ...


Level = TypeVar("Level", bound=_WithFeatures)


class Machine(NamedTuple):
    """The facts about a machine that decide whether a bundle runs on it."""

    system: str
    """``linux``, ``macos`` or ``windows``."""
    machine: str
    """Processor family as the system calls it: ``x86_64``, ``aarch64``, ``arm64``."""
    os_version: str
    """Version of the system, such as ``glibc 2.36`` or ``macos 14.1``."""
    features: frozenset[str]
    """Processor features as Linux's /proc/cpuinfo spells them, on macOS as ``sysctl hw.optional`` does."""


def this_machine() -> Machine:
    """Describes the machine that runs this process.

    Raises:
        UnknownProcessorError: Linux has no /proc.
    """
    system = platform.system().lower().replace("darwin", "macos")
    machine = platform.machine().lower().replace("amd64", "x86_64")
    return Machine(system, machine, _os_version(system), _cpu_features(system))


def check_memory(parameters: int, threads: int) -> None:
    """Makes sure that this process may map a bundle's memory: libraries end the process if it may not.

    Args:
        parameters: bytes of the bundle's parameters.
        threads: number of threads to start.

    Raises:
        OSError: it may not.
    """
    if os.name != "nt":
        size = parameters + threads * _STACK + _LIBRARIES
        mmap.mmap(-1, size, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, mmap.PROT_READ).close()


def check_target(target: Target, machine: Machine) -> None:
    """Refuses a bundle that was made for another system, processor family or a newer system.

    Raises:
        PlatformError: with the platform of the bundle and that of this machine.
    """
    if (target.system, target.machine) != (machine.system, machine.machine):
        raise PlatformError(
            f"This bundle is for {target.name} ({target.system} on {target.machine}) and this machine is "
            f"{machine.system} on {machine.machine}: export a bundle with a --target for this machine."
        )
    if not _at_least(machine.os_version, target.minimum_os):
        raise PlatformError(
            f"This bundle is for {target.name} with {target.minimum_os} or newer and this machine has "
            f"{machine.os_version or 'another C library'}: use a newer system or export for this one."
        )


def levels_that_run(levels: Sequence[Level], features: frozenset[str]) -> list[Level]:
    """Returns the levels that the processor has and Linux lets this process use, in their order."""
    return [level for level in levels if not _lacking(level, features)]


def _lacking(level: _WithFeatures, features: frozenset[str]) -> list[str]:
    """Returns the features that a level needs and this processor lacks, or what the system refuses."""
    lacking = sorted(set(level.features) - features)
    if lacking or _TILES not in level.features or _tiles_are_permitted():
        return lacking
    return [f"{_TILES}, which Linux refuses this process"]


@cache
def _tiles_are_permitted() -> bool:
    """Asks Linux for AMX's tiles, and returns whether it grants them; one before 5.16 does not know them.

    Only whoever needs them should ask: from then on each signal handler's own stack needs 8 KiB for them.
    """
    if platform.system() != "Linux":
        return False
    call = ctypes.CDLL(None).syscall
    return bool(call(*map(ctypes.c_long, (_ARCH_PRCTL, _ASK_FOR_STATE, _TILE_DATA))) == 0)


def choose_level(levels: Sequence[CpuLevel], features: frozenset[str], forced: str | None = None) -> CpuLevel:
    """Returns the best level whose features the processor has.

    Args:
        levels: levels of the bundle, best first.
        features: features of the processor.
        forced: name of the only level to consider.

    Raises:
        CpuLevelError: the processor lacks features of every level.
        UsageError: the bundle has no level called `forced`.
    """
    candidates = [level for level in levels if forced is None or level.name == forced]
    if not candidates:
        names = ", ".join(level.name for level in levels)
        raise UsageError(f"The bundle has no CPU level {forced!r}: it has {names}.")
    if running := levels_that_run(candidates, features):
        return running[0]
    lacking = "; ".join(f"{level.name} needs {', '.join(_lacking(level, features))}" for level in candidates)
    runs = levels_that_run(levels, features)
    advice = (
        f"Ask for {runs[0].name}, or leave the choice to the runtime."
        if runs
        else "Export with a lower --cpu-level where the target has one, or speak on a newer processor."
    )
    raise CpuLevelError(f"This processor lacks features that the bundle's libraries use: {lacking}. {advice}")


def _at_least(found: str, required: str) -> bool:
    """Compares two versions such as ``glibc 2.36``; another name is never enough."""
    found_name, _, found_version = found.partition(" ")
    name, _, version = required.partition(" ")
    return found_name == name and _numbers(found_version) >= _numbers(version)


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split(".") if part.isdecimal())


def processor_name() -> str:
    """Returns the processor's name, or its family where the system does not give its name."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.machine())


def _os_version(system: str) -> str:
    if system == "linux":
        try:
            return os.confstr("CS_GNU_LIBC_VERSION") or ""
        except (ValueError, OSError):
            # Another C library, such as musl, does not know this name.
            return ""
    if system == "macos":
        return f"macos {platform.mac_ver()[0]}"
    return f"{system} {platform.version()}"


def _cpu_features(system: str) -> frozenset[str]:
    if system == "linux":
        try:
            return _parse_cpuinfo(Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace"))
        except OSError as failure:
            raise UnknownProcessorError(
                f"The processor's features cannot be read from /proc/cpuinfo ({failure.strerror}): "
                "mount /proc, which containers and chroots may lack."
            ) from failure
    if system == "macos":
        import subprocess  # imported here, so that other systems do not wait for it

        listed = subprocess.run(
            ["/usr/sbin/sysctl", "hw.optional"], capture_output=True, text=True, check=False
        )
        return _parse_sysctl(listed.stdout)
    # Windows reports AVX2, but no other feature of its level; numpy reads them from the processor.
    found = importlib.import_module("numpy._core._multiarray_umath").__cpu_features__
    return _parse_numpy(found)


def _parse_cpuinfo(text: str) -> frozenset[str]:
    """Returns the features that every core has: big and little cores may differ."""
    cores = [
        frozenset(line.partition(":")[2].split())
        for line in text.splitlines()
        if line.partition(":")[0].strip() in ("flags", "Features")
    ]
    return frozenset.intersection(*cores) if cores else frozenset()


def _parse_sysctl(text: str) -> frozenset[str]:
    """Returns the last part of every name that ``sysctl hw.optional`` gives the value 1."""
    lines = (line.partition(": ") for line in text.splitlines())
    return frozenset(name.rsplit(".", 1)[-1] for name, _, value in lines if value.strip() == "1")


def _parse_numpy(found: Mapping[str, bool]) -> frozenset[str]:
    """Returns numpy's features of an x86-64 processor as /proc/cpuinfo spells them."""
    features = frozenset(_NUMPY_NAMES.get(name, name.lower()) for name, has in found.items() if has)
    return features | _WITH_AVX2_AND_FMA if features >= {"avx2", "fma"} else features
