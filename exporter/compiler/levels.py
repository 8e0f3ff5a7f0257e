"""Chooses the CPU levels of a target that an export compiles for."""

from collections.abc import Sequence

from exporter.compiler.targets import ARITHMETICS, FLOAT32, TARGETS, CpuLevel, Target
from exporter.errors import ExportError
from runtime_min.engine.machine import Machine, levels_that_run


class UnknownCpuLevelError(ExportError):
    """A CPU level is not one of the target's, or this machine runs none of them."""

    exit_code = 3


class UnknownArithmeticError(ExportError):
    """The chosen CPU levels of a target have no such arithmetic."""

    exit_code = 3


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
        running = levels_that_run(target.levels, machine.features)
        if target.fits(machine) and running:
            return (running[0],)
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


def arithmetic_levels(target: Target, levels: Sequence[CpuLevel], arithmetic: str) -> tuple[CpuLevel, ...]:
    """Returns the levels that compute with `arithmetic` beside the chosen ones; none for ``float32``.

    Args:
        target: the row of the table.
        levels: the chosen levels, whose libraries compute the stages before the decoder.
        arithmetic: ``float32`` or one of `ARITHMETICS`.

    Raises:
        UnknownArithmeticError: the target has no level with this arithmetic, or none beside the chosen ones.
    """
    if arithmetic == FLOAT32:
        return ()
    bases = [level.name for level in levels]
    rows = [level for level in target.arithmetic_levels if level.arithmetic == arithmetic]
    if found := tuple(level for level in rows if level.base in bases):
        return found
    if rows:
        needed = f"--cpu-level {' or '.join(level.base for level in rows)}, beside which it is compiled"
    elif arithmetic in ARITHMETICS:
        having = [
            row.name for row in TARGETS if arithmetic in {each.arithmetic for each in row.arithmetic_levels}
        ]
        needed = f"--target {' or '.join(having)}"
    else:
        needed = f"one of {', '.join((FLOAT32, *ARITHMETICS))}"
    raise UnknownArithmeticError(
        f"{target.name} on the CPU levels {', '.join(bases)} has no arithmetic {arithmetic!r}: give {needed}."
    )
