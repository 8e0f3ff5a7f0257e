"""Divides a book into units, each of which is spoken once and kept."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from .epub import Book

_CHARACTERS = 2_000
"""Of a unit: about two minutes of speech, which is lost if the program is killed."""


class Unit(NamedTuple):
    """Some paragraphs of a chapter."""

    chapter: int
    paragraphs: tuple[str, ...]
    ends_chapter: bool

    @property
    def characters(self) -> int:
        """Characters of its text."""
        return sum(map(len, self.paragraphs))


def units(book: Book) -> Iterator[Unit]:
    """Yields the units of a book in order; none has paragraphs of two chapters."""
    for number, chapter in enumerate(book.chapters):
        begun: list[str] = []
        length = 0
        for paragraph in chapter.paragraphs:
            if begun and length + len(paragraph) > _CHARACTERS:
                yield Unit(number, tuple(begun), False)
                begun, length = [], 0
            begun.append(paragraph)
            length += len(paragraph)
        yield Unit(number, tuple(begun), True)
