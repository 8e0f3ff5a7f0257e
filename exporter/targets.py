"""The table of targets: every system that a bundle can be exported for, and the CPU levels it carries.

A new target is a new row of `TARGETS`; nothing else in the exporter names a system.
"""

from __future__ import annotations

from dataclasses import dataclass
from difflib import get_close_matches

from exporter.errors import ExportError
from runtime_min.platform import Machine, this_machine

# The x86-64 microarchitecture levels (x86-64 psABI, table 3.1), in the names of Linux's /proc/cpuinfo.
# pni is SSE3 and abm is LZCNT; the operating system's own part, OSXSAVE, shows in avx being listed at all.
_X86_64_V3 = (
    *("cx16", "lahf_lm", "popcnt", "pni", "sse4_1", "sse4_2", "ssse3"),
    *("abm", "avx", "avx2", "bmi1", "bmi2", "f16c", "fma", "movbe", "xsave"),
)
_X86_64_V4 = (*_X86_64_V3, "avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl")
# Linux on aarch64 promises NEON, so there is nothing to ask for. Dot products are of bytes, and the kernels
# compute in float32; SVE would need vectors of unknown length, which TVM does not make of them.
_ARMV8_A: tuple[str, ...] = ()


class UnknownTargetError(ExportError):
    """No row of the table has this name, or none fits this machine."""

    exit_code = 3


class UnknownCpuLevelError(ExportError):
    """A CPU level is not one of the target's, or this machine runs none of them."""

    exit_code = 3


@dataclass(frozen=True)
class CpuLevel:
    """One set of instructions that libraries are compiled for."""

    name: str
    """Name in the manifest and directory under ``lib``."""
    features: tuple[str, ...]
    """What the processor must offer, in the names of /proc/cpuinfo."""
    mcpu: str
    """LLVM's name of the level."""
    lanes: int
    """Float32 numbers in one vector register."""


@dataclass(frozen=True)
class Target:
    """One system that a bundle can be exported for."""

    name: str
    triple: str
    """LLVM's name of the system."""
    system: str
    """As `runtime_min.platform` names it."""
    machine: str
    """As `runtime_min.platform` names it."""
    minimum_libc: tuple[int, int]
    """Oldest glibc on which the wheels of apache-tvm-ffi and numpy and the runtime library load."""
    wheel_platform: str
    """Platform tag of the wheels."""
    device: str
    """Where the libraries compute."""
    levels: tuple[CpuLevel, ...]
    """Best first: the runtime takes the first that the machine has."""
    runtime_library: str
    """File name of TVM's runtime, in the tvm wheel and in the bundle."""
    runtime_sha256: str
    """SHA-256 of that file in the wheel of the apache-tvm release that the exporter needs."""
    library_suffix: str
    zig_target: str
    """The system in the words of ``zig cc -target``."""
    verified: str
    """What has been run or checked, and how."""

    def fits(self, machine: Machine) -> bool:
        """Tells whether `machine` is such a system."""
        return (self.system, self.machine) == (machine.system, machine.machine)


TARGETS: tuple[Target, ...] = (
    Target(
        name="linux-x86_64",
        triple="x86_64-linux-gnu",
        system="linux",
        machine="x86_64",
        minimum_libc=(2, 28),
        wheel_platform="manylinux_2_28_x86_64",
        device="cpu",
        levels=(
            CpuLevel("x86-64-v4", _X86_64_V4, mcpu="x86-64-v4", lanes=16),
            CpuLevel("x86-64-v3", _X86_64_V3, mcpu="x86-64-v3", lanes=8),
        ),
        runtime_library="libtvm_runtime.so",
        runtime_sha256="43544bbeaea3cd3ffa919f7eac77244753aff28d1440c42f1ba8df03fa6e3948",
        library_suffix=".so",
        zig_target="x86_64-linux-gnu.2.28",
        verified="run: every CPU level speaks within the thresholds of kokoro",
    ),
    Target(
        name="linux-aarch64",
        triple="aarch64-linux-gnu",
        system="linux",
        machine="aarch64",
        minimum_libc=(2, 28),
        wheel_platform="manylinux_2_28_aarch64",
        device="cpu",
        levels=(CpuLevel("armv8-a", _ARMV8_A, mcpu="generic", lanes=4),),
        runtime_library="libtvm_runtime.so",
        runtime_sha256="ba06950fac134b8d71549111fad2c6605cd6f738061fe0482f217c37ccbdff05",
        library_suffix=".so",
        zig_target="aarch64-linux-gnu.2.28",
        verified="run: exported on x86-64, speaks under qemu-user within the thresholds of kokoro",
    ),
)


def find_target(name: str, machine: Machine | None = None) -> Target:
    """Returns the row called `name`; ``host`` stands for the row that fits `machine`, by default this one.

    Raises:
        UnknownTargetError: no row has this name, or none is for this machine.
    """
    names = [target.name for target in TARGETS]
    if name == "host":
        machine = machine or this_machine()
        for target in TARGETS:
            if target.fits(machine):
                return target
        raise UnknownTargetError(
            f"This machine is {machine.system}-{machine.machine}, and there is no target for it: "
            f"name one of {', '.join(names)} with --target."
        )
    for target in TARGETS:
        if target.name == name:
            return target
    near = get_close_matches(name, names, n=1, cutoff=0.4)
    hint = f" Did you mean {near[0]}?" if near else ""
    raise UnknownTargetError(
        f"Unknown target {name!r}.{hint} There are {', '.join(names)}, and 'host' for this machine."
    )


def choose_levels(target: Target, selection: str, machine: Machine) -> tuple[CpuLevel, ...]:
    """Returns the levels of `target` to compile for, best first.

    Args:
        target: the row of the table.
        selection: ``all``, ``host`` for the best level that `machine` runs, or names joined by commas.
        machine: what ``host`` stands for.

    Raises:
        UnknownCpuLevelError: a name is not one of the target's levels, or ``host`` fits none of them.
    """
    if selection == "all":
        return target.levels
    known = ", ".join(level.name for level in target.levels)
    if selection == "host":
        for level in target.levels:
            if target.fits(machine) and machine.features.issuperset(level.features):
                return (level,)
        raise UnknownCpuLevelError(
            f"This machine runs no CPU level of {target.name} ({known}): name some of them with --cpu-level."
        )
    wanted = {name.strip() for name in selection.split(",")}
    unknown = sorted(wanted - {level.name for level in target.levels})
    if unknown:
        raise UnknownCpuLevelError(
            f"{target.name} has no CPU level {', '.join(map(repr, unknown))}: "
            f"give 'all', 'host', or some of {known}, joined by commas."
        )
    return tuple(level for level in target.levels if level.name in wanted)
