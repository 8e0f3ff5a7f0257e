"""The command ``kokoro-export``.

Each command's module parses arguments, calls one function and prints its result. The function is imported
within the command: torch and TVM take seconds, and most commands need neither.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import redirect_stdout
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from exporter.cli import bundle, doctor, finished_bundles, inspect, measure, targets, tune, validate
from exporter.cli.terminal import EPILOG, CheckedOutput
from exporter.compiler.levels import UnknownCpuLevelError
from exporter.compiler.targets import UnknownTargetError
from runtime_min import __version__
from runtime_min.command_line import exit_code
from runtime_min.errors import UsageError
from runtime_min.output.console import print_line

# Typer has its own copy of click, or uses the installed one, and names neither.
_ClickError: Any = next(base for base in typer.BadParameter.__mro__ if base.__name__ == "ClickException")


class Commands(TyperGroup):
    """Commands that show every error as the runtime's commands do: as one line, with the same exit codes."""

    def main(self, *arguments: Any, standalone_mode: bool = True, **settings: Any) -> int:
        """Runs a command, and returns the exit code or, in standalone mode, ends with it."""
        code = exit_code(lambda: self._run(*arguments, **settings))
        if standalone_mode:
            sys.exit(code)
        return code

    def _run(self, *arguments: Any, **settings: Any) -> int:
        try:
            with redirect_stdout(CheckedOutput()):
                code: int | None = super().main(*arguments, **{**settings, "standalone_mode": False})
                return code or 0
        except _ClickError as error:
            context = getattr(error, "ctx", None)
            command = context.command_path if context else "kokoro-export"
            raise UsageError(f"{error.format_message().rstrip('.')}. See {command} --help.") from None
        except (UnknownTargetError, UnknownCpuLevelError) as error:
            raise UsageError(str(error)) from None


app = typer.Typer(
    cls=Commands,
    help="Compile the Kokoro text-to-speech model ahead of time into a bundle that runs on its own.",
    epilog=EPILOG,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def version() -> None:
    """Print the version."""
    print_line(__version__)


def _version_option(asked: bool) -> None:
    if asked:
        version()
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_version_option, is_eager=True, help="Print the version."),
    ] = False,
) -> None:
    """Takes the options before the command."""


_COMMANDS: tuple[Callable[..., None], ...] = (
    *(bundle.bundle, inspect.inspect),
    *(
        finished_bundles.verify,
        finished_bundles.sign,
        finished_bundles.pack,
        finished_bundles.unpack,
        finished_bundles.wheel,
        finished_bundles.add_voices,
    ),
    *(measure.measure, doctor.doctor, tune.tune, targets.targets, version),
)
for _command in _COMMANDS:
    app.command(epilog=EPILOG)(_command)
app.add_typer(validate.app, name="validate")


def run() -> int:
    """Runs the command and returns the exit code."""
    code: int = app(prog_name="kokoro-export", standalone_mode=False)
    return code
