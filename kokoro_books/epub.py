"""An EPUB, version 2 or 3, as chapters of plain text."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import NamedTuple
from xml.etree import ElementTree

from .archive import Archive, target
from .errors import BookError
from .markup import Page, elements, links, read_page, text_of

_CONTAINER = "META-INF/container.xml"
_ENCRYPTION = "META-INF/encryption.xml"
_PAGES = ("application/xhtml+xml", "text/html", "application/x-dtbook+xml", "text/x-oeb1-document")
_MOST_COVER = 16 << 20
_IMAGES = {b"\xff\xd8\xff": "jpeg", b"\x89PNG\r\n\x1a\n": "png"}
_MOST_CHAPTERS = 5_000
_LONGEST_TITLE = 200
"""Characters."""


@dataclass(frozen=True)
class Chapter:
    """A chapter of the table of contents."""

    title: str
    paragraphs: tuple[str, ...]


@dataclass(frozen=True)
class Book:
    """A book without its markup."""

    title: str
    authors: tuple[str, ...]
    language: str
    """A tag of BCP 47; empty if the book does not say it."""
    chapters: tuple[Chapter, ...]
    cover: bytes | None = field(default=None, repr=False)
    """A JPEG or PNG file."""
    cover_kind: str = ""
    """``jpeg`` or ``png``."""


class _Entry(NamedTuple):
    """An entry of a table of contents."""

    path: str
    fragment: str
    title: str


class _Package(NamedTuple):
    """What the book says of itself."""

    path: str
    root: ElementTree.Element
    items: dict[str, ElementTree.Element]
    """The manifest's items by their ids."""

    def path_of(self, item: ElementTree.Element) -> str:
        return target(self.path, item.get("href", ""))[0]

    def with_property(self, name: str) -> ElementTree.Element | None:
        found = (item for item in self.items.values() if name in item.get("properties", "").split())
        return next(found, None)


def read_book(path: str | os.PathLike[str], *, notes: bool = False, page_numbers: bool = False) -> Book:
    """Reads an EPUB.

    Args:
        path: the file.
        notes: keep footnotes, endnotes and the marks that lead to them.
        page_numbers: keep the numbers of a printed book's pages.

    Raises:
        BookError: it is not an EPUB, is damaged, copy protected or hostile, or has no text.
    """
    with Archive(path) as archive:
        package = _package(archive)
        paths = _spine(package)
        _refuse_encrypted(archive, paths, os.fspath(path))
        pages = [
            read_page(archive.read(each), each, notes=notes, page_numbers=page_numbers) for each in paths
        ]
        metadata = package.root.find("metadata")
        title = _all(metadata, "title")[:1] or [os.path.splitext(os.path.basename(os.fspath(path)))[0]]
        entries = _contents(archive, package)
        chapters = _chapters(title[0], paths, pages, entries)
        if not chapters:
            raise BookError(f"{os.fspath(path)} has no text: expected a book of words, not of pictures.")
        language = next(iter(_all(metadata, "language")), "")
        return Book(title[0], tuple(_all(metadata, "creator")), language, chapters, *_cover(archive, package))


def _package(archive: Archive) -> _Package:
    container = elements(archive.read(_CONTAINER), _CONTAINER)
    path = next((each.get("full-path", "") for each in container.iter("rootfile")), "")
    root = elements(archive.read(path), path)
    items = {item.get("id", ""): item for item in root.iter("item")}
    return _Package(path, root, items)


def _spine(package: _Package) -> list[str]:
    """Returns the paths of the documents in the order in which they are read, each once."""
    contents = package.with_property("nav")
    found: dict[str, None] = {}
    for reference in package.root.iter("itemref"):
        item = package.items.get(reference.get("idref", ""))
        if item is None or item is contents or reference.get("linear") == "no":
            continue
        if item.get("media-type", _PAGES[0]) in _PAGES:
            found[package.path_of(item)] = None
    return list(found)


def _refuse_encrypted(archive: Archive, paths: Sequence[str], name: str) -> None:
    """Refuses books with copy protection; fonts may be encrypted."""
    if archive.has(_ENCRYPTION):
        found = elements(archive.read(_ENCRYPTION), _ENCRYPTION).iter("CipherReference")
        if not {each.get("URI", "") for each in found}.isdisjoint(paths):
            raise BookError(f"{name} is encrypted: expected a book without copy protection.")


def _all(metadata: ElementTree.Element | None, name: str) -> list[str]:
    """Returns the texts of the elements of a name."""
    if metadata is None:
        return []
    found = (text_of(each)[:_LONGEST_TITLE] for each in metadata.iter(name))
    return [text for text in found if text]


def _contents(archive: Archive, package: _Package) -> list[_Entry]:
    """Returns the table of contents: that of EPUB 3, or else that of EPUB 2; empty without either."""
    spine = package.root.find("spine")
    older = package.items.get(spine.get("toc", "") if spine is not None else "")
    for item, read in ((package.with_property("nav"), _nav_entries), (older, _ncx_entries)):
        if item is not None and archive.has(path := package.path_of(item)):
            # Readers open a book with a damaged table of contents.
            with suppress(BookError):
                if found := list(read(elements(archive.read(path), path), path)):
                    return found
    return []


def _nav_entries(root: ElementTree.Element, path: str) -> Iterator[_Entry]:
    for place in root.iter("nav"):
        if "toc" in place.get("type", "").split():
            for href, title in links(place):
                yield _Entry(*target(path, href), title)


def _ncx_entries(root: ElementTree.Element, path: str) -> Iterator[_Entry]:
    for point in root.iter("navPoint"):
        content = point.find("content")
        if content is not None:
            yield _Entry(*target(path, content.get("src", "")), text_of(point.find("navLabel")))


def _chapters(
    book: str, paths: Sequence[str], pages: Sequence[Page], entries: Sequence[_Entry]
) -> tuple[Chapter, ...]:
    """Returns the chapters that have text; what comes before the first one is named after the book.

    Without a table of contents each document is a chapter, named after its beginning.
    """
    places = {path: number for number, path in enumerate(paths)}
    begins: dict[tuple[int, int], str] = {}
    for path, fragment, title in entries:
        if path in places and len(begins) < _MOST_CHAPTERS:
            number = places[path]
            begins.setdefault((number, pages[number].anchors.get(fragment, 0)), title[:_LONGEST_TITLE])
    if not begins:
        named = (page.paragraphs[0] if page.paragraphs else "" for page in pages[:_MOST_CHAPTERS])
        begins = {(number, 0): title[:_LONGEST_TITLE] for number, title in enumerate(named)}
    begins.setdefault((0, 0), book)
    starts = sorted(begins)
    chapters = []
    for start, end in zip(starts, [*starts[1:], (len(pages), 0)], strict=True):
        numbers = range(start[0], min(end[0] + 1, len(pages)))
        text = [each for at in numbers for each in _part(pages[at].paragraphs, at, start, end)]
        if text:
            chapters.append(Chapter(begins[start] or book, tuple(text)))
    return tuple(chapters)


def _part(
    paragraphs: Sequence[str], number: int, start: tuple[int, int], end: tuple[int, int]
) -> Sequence[str]:
    """Returns the paragraphs of a document that lie between two places."""
    return paragraphs[start[1] if number == start[0] else 0 : end[1] if number == end[0] else None]


def _cover(archive: Archive, package: _Package) -> tuple[bytes | None, str]:
    """Returns the picture of the cover and its kind; a damaged one is left out."""
    item = package.with_property("cover-image")
    if item is None:
        named = (each.get("content", "") for each in package.root.iter("meta") if each.get("name") == "cover")
        item = package.items.get(next(named, ""))
    if item is None or not archive.has(path := package.path_of(item)):
        return None, ""
    try:
        image = archive.read(path, _MOST_COVER)
    except BookError:
        return None, ""
    kind = next((kind for start, kind in _IMAGES.items() if image.startswith(start)), "")
    return (image, kind) if kind else (None, "")
