"""The files of an EPUB, which is a ZIP archive that anybody may have made."""

from __future__ import annotations

import os
import posixpath
import zipfile
import zlib
from types import TracebackType
from urllib.parse import unquote

from .errors import BookError

MOST_FILES = 20_000
MOST_BYTES = 8 << 20
"""Of one file that is read; the longest novels have 3 MB."""
MOST_IN_ALL = 64 << 20
"""Of all files that are read: a few kilobytes in an archive could be terabytes."""


class Archive:
    """An open EPUB."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        """Opens the archive.

        Raises:
            BookError: the file cannot be read, or it is not an EPUB.
        """
        self._name = os.fspath(path)
        self._left = MOST_IN_ALL
        try:
            self._zip = zipfile.ZipFile(path)
        except OSError as error:
            raise BookError(f"{self._name} cannot be read ({error.strerror}): name an EPUB.") from None
        except (zipfile.BadZipFile, ValueError, NotImplementedError) as error:
            raise BookError(
                f"{self._name} is not an EPUB ({error}): name one without copy protection."
            ) from None
        if len(self._zip.infolist()) > MOST_FILES:
            self.close()
            raise BookError(f"{self._name} has more than {MOST_FILES:,} files: expected a book.")

    def has(self, path: str) -> bool:
        """Returns True if there is a file of this path."""
        return path in self._zip.NameToInfo

    def read(self, path: str, most: int = MOST_BYTES) -> bytes:
        """Returns a file of at most `most` bytes.

        Raises:
            BookError: it is missing, damaged, encrypted or too large.
        """
        most = min(most, self._left)
        try:
            with self._zip.open(path) as file:
                content = file.read(most + 1)
        except KeyError:
            raise BookError(f"{self._name} lacks its file {path!r:.200}: copy the book again.") from None
        except (zipfile.BadZipFile, zlib.error, EOFError, OSError, ValueError) as error:
            raise BookError(
                f"{path!r:.200} in {self._name} is damaged ({error}): copy the book again."
            ) from None
        except (RuntimeError, NotImplementedError) as error:
            raise BookError(
                f"{path!r:.200} in {self._name} cannot be read ({error}): expected no copy protection."
            ) from None
        if len(content) > most:
            raise BookError(f"{path!r:.200} in {self._name} makes more than {most:,} bytes: expected a book.")
        self._left -= len(content)
        return content

    def close(self) -> None:
        """Closes the archive."""
        self._zip.close()

    def __enter__(self) -> Archive:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def target(base: str, reference: str) -> tuple[str, str]:
    """Returns the path and the fragment to which a reference in the file `base` leads."""
    path, _, fragment = reference.partition("#")
    path = unquote(path)
    joined = posixpath.normpath(posixpath.join(posixpath.dirname(base), path)) if path else base
    return joined, unquote(fragment)
