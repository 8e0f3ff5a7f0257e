"""Shared parts of the commands: exit codes, arguments, progress, and errors without a traceback."""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import BarColumn, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.progress import Progress as Bar

from exporter.errors import PackageMissingError
from runtime_min.output.console import checked, tell

EPILOG = (
    "Exit codes: 0 done; 1 unexpected error, with a traceback; 2 wrong usage: an option or its value; "
    "3 input that cannot be used (checkpoint, configuration, voices, text); 4 damaged bundle; "
    "5 unsuitable machine or tools; 6 output that cannot be written; 7 a stage that does not compile; "
    "8 a bundle that differs from kokoro; 130 interrupted."
)
_INTERRUPTED = 130

BundleArgument = Annotated[Path, typer.Argument(metavar="BUNDLE", help="The bundle's directory.")]
BundleOrArchive = Annotated[
    Path, typer.Argument(metavar="BUNDLE", help="The bundle's directory, or the file that pack wrote.")
]


@contextmanager
def reported_errors(interrupted: str = "interrupted") -> Iterator[None]:
    """Turns an interruption into a message and an exit code, and a missing package into an error.

    Args:
        interrupted: printed after Ctrl-C or a termination, with the state in which files are left.
    """
    earlier = signal.signal(signal.SIGTERM, _interrupt)
    try:
        yield
    except ModuleNotFoundError as error:
        raise PackageMissingError(f"{error.name} is missing: pip install kokoro-export") from error
    except KeyboardInterrupt as error:
        tell(interrupted)
        raise typer.Exit(_INTERRUPTED) from error
    finally:
        signal.signal(signal.SIGTERM, earlier)


class CheckedOutput:
    """Standard output as rich and typer use it; every failure to print is an error of the project."""

    def __init__(self) -> None:
        """Stands in for the present standard output, which may be closed."""
        self._stream = sys.stdout

    def write(self, text: str) -> int:
        """Prints a text.

        Raises:
            OutputError: it cannot be written.
        """
        with checked(self._stream) as stream:
            return stream.write(text)

    def flush(self) -> None:
        """Prints what is held back.

        Raises:
            OutputError: it cannot be written.
        """
        with checked(self._stream) as stream:
            stream.flush()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def plain_console(**settings: Any) -> Console:
    """Returns a console that shows text as it is: a name in a bundle may look like rich's markup."""
    return Console(markup=False, emoji=False, highlight=False, **settings)


def _interrupt(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt


def comma_separated(text: str) -> list[str]:
    """Returns the items between the commas of `text`, without spaces around them."""
    return [part.strip() for part in text.split(",") if part.strip()]


def lengths(option: str, text: str | None) -> tuple[int, ...]:
    """Returns the numbers in the value of an option; an empty tuple if it is None.

    Raises:
        typer.BadParameter: `text` is anything but numbers joined by commas.
    """
    try:
        numbers = tuple(int(part) for part in comma_separated(text or ""))
    except ValueError:
        numbers = ()
    if text is not None and not numbers:
        raise typer.BadParameter(
            f"expected numbers joined by commas, such as 128,512, found {text!r}", param_hint=option
        )
    return numbers


class ConsoleProgress:
    """Prints a line for each event; within a ``with`` block a terminal also shows a bar and the time."""

    def __init__(self, console: Console | None = None) -> None:
        """Takes the console to print on; by default standard error."""
        self._console = console or plain_console(stderr=True)
        described = TextColumn("{task.description}", markup=False)
        columns = (SpinnerColumn(), described, BarColumn(), TimeElapsedColumn())
        quiet = not self._console.is_terminal
        self._bar = Bar(*columns, console=self._console, transient=True, disable=quiet)
        self._task = self._bar.add_task("start", total=None)
        self._planned = self._done = 0

    def __enter__(self) -> ConsoleProgress:
        self._bar.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._bar.stop()

    def planned(self, libraries: int) -> None:
        """Prints how many libraries there will be."""
        self._planned, self._done = libraries, 0
        self._print(f"compile {libraries} libraries")
        self._bar.reset(self._task, total=libraries)

    def started(self, library: str) -> None:
        """Prints that a library is being compiled."""
        self._print(f"  compiling  {library}")
        self._show_libraries(f"compiling {library}")

    def finished(self, library: str, seconds: float, cached: bool) -> None:
        """Prints how long a library took, and how many are left."""
        self._done += 1
        note = "from the cache" if cached else f"{seconds:.1f} s"
        self._print(f"  done       {library}, {note}, {self._planned - self._done} left")
        self._show_libraries(f"compiled {library}")

    def step(self, text: str) -> None:
        """Prints the step that begins."""
        self._print(text)
        self._bar.reset(self._task, total=None, description=text.strip())

    def doing(self, text: str) -> None:
        """Shows the present step: beside the bar, or in a line of its own if there is no bar."""
        if self._bar.disable:
            self._print(text)
        self._bar.update(self._task, description=text)

    def warning(self, text: str) -> None:
        """Prints something that must not be overlooked."""
        self._print(f"WARNING: {text}", style="bold yellow")

    def _print(self, text: str, style: str | None = None) -> None:
        self._console.print(text, style=style, soft_wrap=True)

    def _show_libraries(self, latest: str) -> None:
        description = f"{self._done} of {self._planned} libraries; {latest}"
        self._bar.update(self._task, completed=self._done, description=description)
