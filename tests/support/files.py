"""Contents of written files, and writing that fails."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any


def bytes_of(directory: Path) -> dict[str, bytes]:
    """Contents of all files by their path within a directory."""
    return {
        str(path.relative_to(directory)): path.read_bytes() for path in directory.rglob("*") if path.is_file()
    }


def fail_with(error: BaseException) -> Callable[..., Any]:
    """A function that raises `error` for any arguments."""

    def fail(*_: Any, **__: Any) -> None:
        raise error

    return fail
