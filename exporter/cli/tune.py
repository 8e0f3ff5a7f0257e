"""``kokoro-export tune``: measures the sizes of kernels' jobs and register tiles."""

from __future__ import annotations

from typing import Annotated

import typer

from exporter.cli.terminal import ConsoleProgress, plain_console, reported_errors
from exporter.compiler.targets import find_target
from runtime_min.engine.machine import this_machine
from runtime_min.output.console import print_line


def tune(
    cpu_level: Annotated[
        str, typer.Option(help="CPU levels: all that this machine runs, host (the best), or names.")
    ] = "all",
    write: Annotated[
        bool, typer.Option("--write", help="Write the table that exports use, not only show it.")
    ] = False,
) -> None:
    """Measure the sizes of kernels' jobs and register tiles on this machine; takes minutes."""
    with reported_errors("interrupted: the table is unchanged"):
        from exporter.compiler.kernels.tiles import TABLE, read_table
        from exporter.tune import as_tables, measurable_levels, tune, write_table

        levels = measurable_levels(find_target("host"), cpu_level, this_machine())
        with ConsoleProgress() as progress:
            choices = tune(levels, progress.step)
        plain_console().print(as_tables(choices))
        if write:
            write_table(TABLE, read_table(), choices)
            print_line(TABLE)
