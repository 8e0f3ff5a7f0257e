"""What the commands of ``kokoro-export`` share: exit codes, arguments, and errors without a traceback."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Annotated

import typer

from runtime_min.errors import KokoroError

EPILOG = (
    "Exit codes: 0 done; 1 unexpected error, with a traceback; 2 wrong usage; 3 input that cannot be used "
    "(checkpoint, configuration, voices, target, text); 4 damaged bundle; 5 unsuitable machine or tools; "
    "6 output that cannot be written; 7 a stage that does not compile; 8 a bundle that does not say what "
    "kokoro says; 130 interrupted."
)
_INTERRUPTED = 130

BundleArgument = Annotated[Path, typer.Argument(metavar="BUNDLE", help="The bundle's directory.")]


@contextmanager
def reported_errors(interrupted: str = "interrupted") -> Iterator[None]:
    """Turns the project's own errors, and an interruption, into a message and an exit code."""
    earlier = signal.signal(signal.SIGTERM, _interrupt)
    try:
        yield
    except KokoroError as error:
        for line in (f"error: {error}", *getattr(error, "__notes__", ())):
            typer.echo(line, err=True)
        raise typer.Exit(error.exit_code) from error
    except ModuleNotFoundError as error:
        typer.echo(f"error: {error.name} is missing: pip install 'kokoro-export[export]'", err=True)
        raise typer.Exit(5) from error
    except KeyboardInterrupt as error:
        typer.echo(interrupted, err=True)
        raise typer.Exit(_INTERRUPTED) from error
    finally:
        signal.signal(signal.SIGTERM, earlier)


def _interrupt(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt


def parts(text: str) -> list[str]:
    """Returns what stands between the commas."""
    return [part.strip() for part in text.split(",") if part.strip()]


def lengths(option: str, text: str | None) -> tuple[int, ...]:
    """Returns the numbers in `text`; none where it is None."""
    try:
        numbers = tuple(int(part) for part in parts(text or ""))
    except ValueError:
        numbers = ()
    if text is not None and not numbers:
        raise typer.BadParameter(
            f"expected numbers joined by commas, such as 128,512, found {text!r}", param_hint=option
        )
    return numbers
