"""Lines on standard output and standard error, which may be closed, full, or read by nobody any more."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TextIO

from .writer import opened, reported


def print_line(line: object) -> None:
    """Prints a line on standard output at once, with escapes for characters that a terminal would obey.

    Raises:
        OutputError: it cannot be written; `ClosedPipeError` if nobody reads any more.
    """
    with checked(sys.stdout) as stream:
        print(printable(str(line)), file=stream, flush=True)


@contextmanager
def checked(stream: TextIO | None) -> Iterator[TextIO]:
    """Yields standard output, which is None if it is closed, and turns its failures into errors.

    Raises:
        OutputError: it cannot be written; `ClosedPipeError` if nobody reads any more.
    """
    output = opened(stream)
    with reported("Standard output"):
        try:
            yield output
        except OSError:
            _discard(output)
            raise


def tell(text: str, end: str = "\n") -> None:
    """Prints a message on standard error, if it can be written.

    Args:
        text: the message; what a terminal would obey is escaped.
        end: printed after it, as it is.
    """
    if sys.stderr is not None:
        try:
            print(printable(text), end=end, file=sys.stderr, flush=True)
        except OSError:
            _discard(sys.stderr)


def printable(text: str) -> str:
    """Returns `text` with escapes in place of characters that a terminal would obey or cannot show."""
    return "".join(each if each.isprintable() or each in "\n\t" else ascii(each)[1:-1] for each in text)


def use_standard_streams() -> None:
    """Has escapes printed for the characters that an encoding lacks, and keeps closed streams closed.

    Without it the next file to be opened would become a closed standard output.
    """
    for stream in (sys.stdout, sys.stderr):
        if reconfigure := getattr(stream, "reconfigure", None):
            reconfigure(errors="backslashreplace")
    while (descriptor := os.open(os.devnull, os.O_RDWR)) <= 2:
        pass
    os.close(descriptor)


def _discard(stream: TextIO) -> None:
    """Drops the buffer of `stream`: the interpreter would try to write it again when it ends."""
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, stream.fileno())
    os.close(null)
