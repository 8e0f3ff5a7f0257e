"""The error of this package."""

from __future__ import annotations

from runtime_min.errors import InputError


class BookError(InputError):
    """The file is not an EPUB that can be read."""
