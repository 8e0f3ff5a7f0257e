"""The common parts of commands: their arguments, their help, and their errors as one line."""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

from . import __version__
from .errors import KokoroError, ResourceError, UsageError
from .output.console import print_line, tell, use_standard_streams

STANDARD = Path("-")
"""Standard input or output, as an argument."""


class Parser(argparse.ArgumentParser):
    """A parser that raises the errors of this package, and prints the help and the version with them."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(
            formatter_class=lambda prog: argparse.RawDescriptionHelpFormatter(
                prog, max_help_position=26, width=100
            ),
            allow_abbrev=False,
            add_help=False,
            **settings,
        )
        # Whoever reads the help knows the option.
        self.add_argument("-h", "--help", action=_Print, text=self.format_help, help=argparse.SUPPRESS)
        version = f"runtime_min {__version__}"
        self.add_argument("--version", action=_Print, text=lambda: version, help="show the version")

    def error(self, message: str) -> NoReturn:
        """Raises `UsageError`."""
        raise UsageError(f"{message}. See {self.prog} --help.")


class _Print(argparse.Action):
    """An option that prints a text and ends the command."""

    def __init__(self, text: Callable[[], str], **settings: Any) -> None:
        super().__init__(nargs=0, default=argparse.SUPPRESS, **settings)
        self._text = text

    def __call__(self, parser: argparse.ArgumentParser, *found: object) -> None:
        print_line(self._text().rstrip())
        parser.exit()


def is_text(options: argparse.Namespace) -> bool:
    """Returns True if the input of the command is text, and not phonemes."""
    return any(each is not None for each in (options.text, options.text_file, options.book))


def exit_code(task: Callable[[], int | None]) -> int:
    """Runs the task of a command, shows an error or warning as one line, and returns the exit code."""
    use_standard_streams()
    try:
        with warnings.catch_warnings():
            warnings.showwarning = lambda message, *_, **__: tell(f"warning: {message}")
            return task() or 0
    except KokoroError as error:
        return _shown(error)
    except MemoryError as failure:
        return _shown(ResourceError("The command", failure))


def _shown(error: KokoroError) -> int:
    for line in (f"error: {error}", *getattr(error, "__notes__", ())):
        tell(line)
    return error.exit_code
