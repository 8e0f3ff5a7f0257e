"""The command ``kokoro-export``.

Each command's module parses arguments, calls one function and prints its result. The function is imported
within the command: torch and TVM take seconds, and most commands need neither.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from io import TextIOWrapper

import typer

from exporter.cli import bench, bundle, doctor, inspect, shipped, targets, tune, validate
from exporter.cli.terminal import EPILOG
from runtime_min import __version__

app = typer.Typer(
    help="Compile the Kokoro text-to-speech model ahead of time into a bundle that runs on its own.",
    epilog=EPILOG,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


def version() -> None:
    """Print the version."""
    typer.echo(__version__)


_COMMANDS: tuple[Callable[..., None], ...] = (
    *(bundle.bundle, inspect.inspect),
    *(shipped.verify, shipped.sign, shipped.pack, shipped.unpack, shipped.add_voices),
    *(bench.bench, doctor.doctor, tune.tune, targets.targets, version),
)
for _command in _COMMANDS:
    app.command(epilog=EPILOG)(_command)
app.add_typer(validate.app, name="validate")


def main() -> None:
    """Runs the command."""
    for stream in (sys.stdout, sys.stderr):
        # A name or a table that the terminal cannot show must not end the command.
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    app(prog_name="kokoro-export")
