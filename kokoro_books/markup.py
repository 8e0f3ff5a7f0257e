"""Reads the markup of a book: strictly where it describes the book, leniently where it is the text."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple
from xml.etree import ElementTree
from xml.parsers import expat

from .errors import BookError
from .tags import Tag, tokens

_DEEPEST = 300
"""Elements within each other."""
_VOID = frozenset("area base br col embed hr img input link meta param source track wbr".split())
_BLOCKS = frozenset(
    "address article aside blockquote body caption center dd details div dl dt fieldset figcaption figure "
    "footer form h1 h2 h3 h4 h5 h6 header hr html li main nav ol p pre section summary table tbody td tfoot "
    "th thead title tr ul".split()
)
_SILENT = frozenset(
    "audio button canvas head iframe math object rp rt script select style svg template video".split()
)
"""Elements whose content nobody reads aloud; `rt` repeats what it stands above."""
_NOTES = frozenset(
    "annotation bibliography biblioref endnote endnotes footnote footnotes note noteref rearnote rearnotes "
    "doc-biblioref doc-endnote doc-endnotes doc-footnote doc-noteref".split()
)
_PAGES = frozenset("pagebreak page-list doc-pagebreak doc-pagelist".split())
_LISTS = frozenset("toc landmarks loi lot doc-toc".split())
_MARK = re.compile(r"\s*[\[(]?(?:\d{1,4}|[ivxlc]{1,5}|[a-z]|[*†‡§¶]{1,3})[\])]?\.?\s*", re.IGNORECASE)
"""The text of a link to a note."""
_SPACE = re.compile(r"\s+")


def elements(data: bytes, name: str) -> ElementTree.Element:
    """Returns the root of a document of XML.

    Raises:
        BookError: it is not well-formed, defines entities, or is nested too deeply.
    """
    builder = ElementTree.TreeBuilder()
    depth = 0

    def start(tag: str, attributes: dict[str, str]) -> None:
        nonlocal depth
        depth += 1
        if depth > _DEEPEST:
            raise BookError(f"{name!r:.200} has more than {_DEEPEST} elements within each other.")
        builder.start(local(tag), {local(key): value for key, value in attributes.items()})

    def end(tag: str) -> None:
        nonlocal depth
        depth -= 1
        builder.end(local(tag))

    def refuse(*_: object) -> None:
        # With entities of its own, a short document can become an endless text.
        raise BookError(f"{name!r:.200} defines entities: expected a document without any.")

    parser = expat.ParserCreate(namespace_separator="}")
    parser.buffer_text = True
    parser.StartElementHandler, parser.EndElementHandler = start, end
    parser.CharacterDataHandler, parser.EntityDeclHandler = builder.data, refuse
    try:
        parser.Parse(data, True)
    except (expat.ExpatError, ValueError, LookupError) as error:
        raise BookError(f"{name!r:.200} is not well-formed XML ({error}): copy the book again.") from None
    return builder.close()


def local(name: str) -> str:
    """Returns a name without its namespace."""
    return name.rpartition("}")[2]


def text_of(element: ElementTree.Element | None) -> str:
    """Returns the text of an element in one line."""
    return "" if element is None else _SPACE.sub(" ", "".join(element.itertext())).strip()


class Page(NamedTuple):
    """The text of one document."""

    paragraphs: list[str]
    anchors: Mapping[str, int]
    """The paragraph at which each element with an `id` begins."""


def read_page(data: bytes, name: str, *, notes: bool, page_numbers: bool) -> Page:
    """Returns the text of a document of XHTML, however badly it is written.

    Args:
        data: the document.
        name: its path, for messages.
        notes: read footnotes, endnotes and the marks that lead to them.
        page_numbers: read the numbers of a printed book's pages.

    Raises:
        BookError: its elements are nested too deeply.
    """
    left_out = _LISTS | (frozenset() if notes else _NOTES) | (frozenset() if page_numbers else _PAGES)
    reader = _Reader(name, left_out, notes=notes)
    for token in tokens(_decoded(data)):
        if isinstance(token, str):
            reader.text(token)
        elif token.ends:
            reader.end(token.name)
        else:
            reader.begin(token)
    return reader.page()


def _decoded(data: bytes) -> str:
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return data.decode("utf-16", "replace")
    return data.decode("utf-8-sig", "replace")


class _Reader:
    """Gathers paragraphs."""

    def __init__(self, name: str, left_out: frozenset[str], *, notes: bool) -> None:
        self._name = name
        self._left_out = left_out
        self._notes = notes
        self._paragraphs: list[str] = []
        self._anchors: dict[str, int] = {}
        self._words: list[str] = []
        """The text of the paragraph that is read."""
        self._open: list[str] = []
        """Elements that have begun."""
        self._silent_from: int | None = None
        """The number of elements around the one that is left out."""
        self._link: int | None = None
        """Where the text of a link to another place begins, in `_words`."""
        self._raised = False
        """The link has raised text, or is raised."""

    def begin(self, found: Tag) -> None:
        """Takes the beginning of an element."""
        tag, values = found.name, found.attributes
        if tag in _BLOCKS:
            self._end_paragraph()
        if identity := values.get("id") or (values.get("name") if tag == "a" else None):
            self._anchors.setdefault(identity, len(self._paragraphs))
        if tag in ("br", "wbr"):
            self._words.append(" ")
        if tag in _VOID or found.alone:
            return
        self._open.append(tag)
        if len(self._open) > _DEEPEST:
            raise BookError(f"{self._name!r:.200} has more than {_DEEPEST} elements within each other.")
        if self._silent_from is None and self._is_silent(tag, values):
            self._silent_from = len(self._open) - 1
        if tag == "a" and "#" in values.get("href", ""):
            self._link, self._raised = len(self._words), "sup" in self._open
        elif tag == "sup":
            self._raised = True

    def _is_silent(self, tag: str, values: Mapping[str, str]) -> bool:
        kinds = f"{values.get('epub:type', '')} {values.get('role', '')}".lower().split()
        return tag in _SILENT or "hidden" in values or not self._left_out.isdisjoint(kinds)

    def end(self, tag: str) -> None:
        """Takes the end of an element, or of those within it, too."""
        if tag == "a" and self._link is not None:
            if self._raised and not self._notes and _MARK.fullmatch("".join(self._words[self._link :])):
                del self._words[self._link :]
            self._link = None
        if tag in _BLOCKS:
            self._end_paragraph()
        if tag in self._open:
            while self._open.pop() != tag:
                pass
        if self._silent_from is not None and len(self._open) <= self._silent_from:
            self._silent_from = None

    def text(self, text: str) -> None:
        """Takes text."""
        if self._silent_from is None:
            self._words.append(text)

    def _end_paragraph(self) -> None:
        text = _SPACE.sub(" ", "".join(self._words)).strip()
        self._words.clear()
        self._link = None
        if text:
            self._paragraphs.append(text)

    def page(self) -> Page:
        """Returns what was read."""
        self._end_paragraph()
        return Page(self._paragraphs, self._anchors)


def links(element: ElementTree.Element) -> Iterator[tuple[str, str]]:
    """Yields the reference and the text of each link below an element."""
    for each in element.iter("a"):
        if href := each.get("href"):
            yield href, text_of(each)
