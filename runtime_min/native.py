"""Loading libraries from bytes that were checked, rather than from a file that may have changed since."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path

_DESCRIPTORS = "/proc/self/fd/"
_numbers = count(1)


@contextmanager
def library_file(path: str, content: Iterable[bytes]) -> Iterator[str]:
    """Yields a path under which the system's loader finds `content`, within the context.

    On Linux that is a file in memory that can no longer be written to, elsewhere (or where the system
    forbids such files) a private temporary copy.

    Args:
        path: shown in /proc/self/maps and in debuggers.
        content: a shared library in pieces; raises after the last one if they are not what they should be.

    Raises:
        OSError: there is no room for it.
    """
    handle = _memory(path)
    if handle is None:
        with tempfile.TemporaryDirectory(prefix="kokoro-", ignore_cleanup_errors=True) as directory:
            copy = Path(directory, path.replace("/", "-"))
            with copy.open("xb") as file:
                file.writelines(content)
            yield str(copy)
        return
    try:
        with os.fdopen(handle, "wb", closefd=False) as file:
            file.writelines(content)
        _seal(handle)
        yield f"{_DESCRIPTORS}{_spelling(next(_numbers))}{handle}"
    finally:
        os.close(handle)


def _memory(path: str) -> int | None:
    """Returns a descriptor of an empty file in memory; None where the system has or allows none."""
    try:
        handle = os.memfd_create(path, os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    except (AttributeError, OSError):
        return None
    # Without /proc no path leads to it.
    if os.path.exists(f"{_DESCRIPTORS}{handle}"):
        return handle
    os.close(handle)
    return None


def _seal(handle: int) -> None:
    """Lets nobody write to a file in memory any more."""
    import fcntl

    seals = fcntl.F_SEAL_WRITE | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_SEAL
    fcntl.fcntl(handle, fcntl.F_ADD_SEALS, seals)


def _spelling(number: int) -> str:
    """Returns a prefix of a path that means nothing and is another one for every number.

    The loader takes a path that it has loaded before for the same library, and descriptors are used again.
    """
    return "".join("./" if bit == "1" else "/" for bit in f"{number:b}")
