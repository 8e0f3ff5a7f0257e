"""The exporter's directories: in the user's cache, for results that can be used again, and temporary ones."""

from __future__ import annotations

import os
import secrets
import shutil
import stat
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from filelock import FileLock, Timeout

from exporter.errors import CacheError
from exporter.processes import uninterrupted
from runtime_min.errors import OutputError
from runtime_min.output.writer import write_file


def cache() -> Path:
    """Returns the exporter's directory in the user's cache, such as ``~/.cache/kokoro-export`` on Linux."""
    # The XDG specification says that a relative path is to be ignored.
    chosen = os.environ.get("XDG_CACHE_HOME", "")
    return (Path(chosen) if os.path.isabs(chosen) else _system_cache()) / "kokoro-export"


def libraries() -> Path:
    """Returns the directory of compiled libraries."""
    return cache() / "libraries"


def runtimes() -> Path:
    """Returns the directory of TVM's runtime libraries for other machines."""
    return cache() / "runtimes"


def answers() -> Path:
    """Returns the directory of kokoro's stored answers."""
    return cache() / "answers"


def refuse_shared(directory: Path) -> None:
    """Refuses a directory whose files another user may have written; one that does not exist is sound.

    Raises:
        CacheError: it belongs to another user than this one and root, or every user may write to it.
    """
    # Windows keeps a user's cache from others, and has neither owners nor modes of this kind.
    if not hasattr(os, "geteuid"):
        return
    try:
        found = directory.stat()
    except OSError:
        return  # It does not exist, or its reader will notice.
    if found.st_uid not in (0, os.geteuid()) or found.st_mode & stat.S_IWOTH:
        raise CacheError(
            f"{directory} belongs to user {found.st_uid} and has mode {stat.S_IMODE(found.st_mode):o}: "
            f"expected user {os.geteuid()}, and no right for others to write, because its files go into "
            "bundles. Delete it, or choose another with --cache-dir or XDG_CACHE_HOME."
        )


def make_private(directory: Path) -> None:
    """Makes a directory, and those above it, for this user alone, or refuses the one that is there.

    Raises:
        CacheError: it is another user's, or open to all.
        OSError: it cannot be made.
    """
    # Path.mkdir(parents=True) would give those above it whatever mode is usual.
    if not directory.parent.exists():
        make_private(directory.parent)
    directory.mkdir(mode=0o700, exist_ok=True)
    refuse_shared(directory)


def read_stored(path: Path) -> bytes | None:
    """Returns the content of a stored file; None if there is none, or something other than a file."""
    try:
        return path.read_bytes() if path.is_file() else None
    except OSError:
        return None


def store(path: Path, content: bytes) -> None:
    """Writes a file, in place of an earlier one, in a directory of this user alone.

    Raises:
        CacheError: the directory is another user's.
        OSError, OutputError: the file cannot be written.
    """
    make_private(path.parent)
    if path.exists() and not path.is_file():
        raise OutputError(f"{path} is not a file: expected one, or nothing. Remove it.")
    write_file(path, content)


@contextmanager
def temporary(prefix: str, parent: Path | None = None) -> Iterator[Path]:
    """Yields a new directory that is removed with the context, as are those of processes that were killed.

    Args:
        prefix: beginning of the directory's name; a lock beside it shows that its process lives.
        parent: place of the directory; by default that of temporary files.
    """
    parent = parent or Path(tempfile.gettempdir())
    for lock in parent.glob(f"{prefix}*.lock"):
        # Directories of a living process or of another user stay.
        with suppress(Timeout, OSError), FileLock(lock, blocking=False):
            _remove_with_lock(lock.with_suffix(""))
    directory = parent / f"{prefix}{secrets.token_hex(8)}"
    try:
        with FileLock(f"{directory}.lock"):
            directory.mkdir(mode=0o700)
            yield directory
    finally:
        with uninterrupted():
            _remove_with_lock(directory)


def _remove_with_lock(directory: Path) -> None:
    shutil.rmtree(directory, ignore_errors=True)
    # Windows deletes no open file.
    with suppress(OSError):
        os.unlink(f"{directory}.lock")


def _system_cache() -> Path:
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    return Path.home() / ("Library/Caches" if sys.platform == "darwin" else ".cache")
