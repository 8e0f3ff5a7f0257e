"""Writes an EPUB 3 that is read aloud: text, AAC of each chapter, and media overlays that join the two.

The overlays are those of https://www.w3.org/TR/epub-33/#sec-media-overlays: a reader highlights each line
while it is heard.
"""

from __future__ import annotations

import hashlib
import re
import shutil
import zipfile
from collections.abc import Iterable, Iterator, Sequence
from html import escape
from pathlib import Path
from typing import NamedTuple

from runtime_min import Cue

from .epub import Book

_CONTAINER = """<?xml version="1.0" encoding="utf-8"?>
<container xmlns="urn:oasis:names:tc:opendocument:xmlns:container" version="1.0"><rootfiles>
<rootfile full-path="EPUB/book.opf" media-type="application/oebps-package+xml"/>
</rootfiles></container>
"""
_PAGE = """<?xml version="1.0" encoding="utf-8"?>
<!DOCTYPE html>
<html xmlns="http://www.w3.org/1999/xhtml" xmlns:epub="http://www.idpf.org/2007/ops" lang="{language}" \
xml:lang="{language}">
<head><title>{title}</title><link rel="stylesheet" type="text/css" href="style.css"/></head>
<body>
{body}
</body>
</html>
"""
_OVERLAY = """<?xml version="1.0" encoding="utf-8"?>
<smil xmlns="http://www.w3.org/ns/SMIL" version="3.0"><body>
{body}
</body></smil>
"""
_PACKAGE = """<?xml version="1.0" encoding="utf-8"?>
<package xmlns="http://www.idpf.org/2007/opf" version="3.0" unique-identifier="id">
<metadata xmlns:dc="http://purl.org/dc/elements/1.1/">
<dc:identifier id="id">urn:sha256:{identifier}</dc:identifier>
<dc:title>{title}</dc:title>
<dc:language>{language}</dc:language>
{metadata}
</metadata>
<manifest>
{items}
</manifest>
<spine>
{spine}
</spine>
</package>
"""
_STYLE = ".-epub-media-overlay-active { background-color: #ffe08a; color: #000; }\n"
_MODIFIED = "2000-01-01T00:00:00Z"
"""EPUB asks for a date; that of the writing would make each file another one."""
_DATE = (1980, 1, 1, 0, 0, 0)
_UNKNOWN_LANGUAGE = "und"
_FORBIDDEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
"""Characters that no XML document may have."""


class Spoken(NamedTuple):
    """A chapter that was spoken."""

    title: str
    paragraphs: tuple[str, ...]
    cues: Sequence[Cue]
    """Its lines, in order, with their times in the chapter's audio."""
    audio: Path
    """Its AAC in MP4."""
    seconds: float


class _Line(NamedTuple):
    """A part of a paragraph, and when it is heard; None for what is between the lines."""

    text: str
    cue: Cue | None


def write_read_along(path: Path, book: Book, chapters: Sequence[Spoken]) -> None:
    """Writes the file; the same chapters give the same bytes.

    Args:
        path: the file; a half one is left if this fails.
        book: title, authors, language and cover.
        chapters: what was spoken.

    Raises:
        OSError: it cannot be written.
    """
    names = [f"chapter-{number:04}" for number in range(1, len(chapters) + 1)]
    language = _escaped(book.language) or _UNKNOWN_LANGUAGE
    with zipfile.ZipFile(path, "w") as archive:
        # Readers know an EPUB by its first file, which is not compressed.
        _add(archive, "mimetype", "application/epub+zip", zipfile.ZIP_STORED)
        _add(archive, "META-INF/container.xml", _CONTAINER)
        _add(archive, "EPUB/book.opf", _package(book, language, names, chapters))
        _add(archive, "EPUB/nav.xhtml", _contents(book, language, names, chapters))
        _add(archive, "EPUB/style.css", _STYLE)
        if book.cover:
            _add(archive, f"EPUB/cover.{book.cover_kind}", book.cover, zipfile.ZIP_STORED)
        for name, chapter in zip(names, chapters, strict=True):
            paragraphs = list(_lines(chapter.paragraphs, chapter.cues))
            _add(archive, f"EPUB/{name}.xhtml", _page(chapter.title, language, paragraphs))
            _add(archive, f"EPUB/{name}.smil", _overlay(name, paragraphs))
            information = zipfile.ZipInfo(f"EPUB/{name}.m4a", _DATE)
            information.file_size = chapter.audio.stat().st_size
            with chapter.audio.open("rb") as audio, archive.open(information, "w") as file:
                shutil.copyfileobj(audio, file)


def _escaped(text: str) -> str:
    return escape(_FORBIDDEN.sub("", text))


def _add(
    archive: zipfile.ZipFile, name: str, content: str | bytes, compression: int = zipfile.ZIP_DEFLATED
) -> None:
    archive.writestr(zipfile.ZipInfo(name, _DATE), content, compression)


def _lines(paragraphs: Iterable[str], cues: Sequence[Cue]) -> Iterator[list[_Line]]:
    """Yields the lines of each paragraph, with single spaces; together they are its text."""
    position = 0
    for paragraph in paragraphs:
        rest, lines = " ".join(paragraph.split()), list[_Line]()
        # The lines come in the order of the text, so the next one is in this paragraph or in a later one.
        while position < len(cues) and (found := rest.find(cues[position].text)) >= 0:
            cue = cues[position]
            lines += [_Line(rest[:found], None), _Line(cue.text, cue)]
            rest, position = rest[found + len(cue.text) :], position + 1
        lines.append(_Line(rest, None))
        yield [line for line in lines if line.text]


def _page(title: str, language: str, paragraphs: Sequence[Sequence[_Line]]) -> str:
    number, body = 0, []
    for paragraph in paragraphs:
        inside = []
        for line in paragraph:
            text = _escaped(line.text)
            if line.cue is not None:
                number += 1
                text = f'<span id="l{number}">{text}</span>'
            inside.append(text)
        body.append(f"<p>{''.join(inside)}</p>")
    return _PAGE.format(language=language, title=_escaped(title), body="\n".join(body))


def _overlay(name: str, paragraphs: Iterable[Iterable[_Line]]) -> str:
    cues = [line.cue for paragraph in paragraphs for line in paragraph if line.cue is not None]
    body = [
        f'<par id="p{number}"><text src="{name}.xhtml#l{number}"/>'
        f'<audio src="{name}.m4a" clipBegin="{cue.start:.3f}s" clipEnd="{cue.end:.3f}s"/></par>'
        for number, cue in enumerate(cues, 1)
    ]
    return _OVERLAY.format(body="\n".join(body))


def _contents(book: Book, language: str, names: Sequence[str], chapters: Sequence[Spoken]) -> str:
    entries = "\n".join(
        f'<li><a href="{name}.xhtml">{_escaped(chapter.title)}</a></li>'
        for name, chapter in zip(names, chapters, strict=True)
    )
    body = f'<nav epub:type="toc"><ol>\n{entries}\n</ol></nav>'
    return _PAGE.format(language=language, title=_escaped(book.title), body=body)


def _package(book: Book, language: str, names: Sequence[str], chapters: Sequence[Spoken]) -> str:
    digest = hashlib.sha256(repr((book.title, book.chapters)).encode("utf-8", "surrogatepass"))
    durations = [(f"{name}-smil", each.seconds) for name, each in zip(names, chapters, strict=True)]
    metadata = [f"<dc:creator>{_escaped(author)}</dc:creator>" for author in book.authors]
    metadata.append(f'<meta property="dcterms:modified">{_MODIFIED}</meta>')
    metadata.append('<meta property="media:active-class">-epub-media-overlay-active</meta>')
    metadata.append(f'<meta property="media:duration">{sum(each.seconds for each in chapters):.3f}s</meta>')
    metadata += [
        f'<meta property="media:duration" refines="#{name}">{seconds:.3f}s</meta>'
        for name, seconds in durations
    ]
    items = [_item("nav", "nav.xhtml", "application/xhtml+xml", ' properties="nav"')]
    items.append(_item("style", "style.css", "text/css"))
    if book.cover:
        kind = f"image/{book.cover_kind}"
        items.append(_item("cover", f"cover.{book.cover_kind}", kind, ' properties="cover-image"'))
    for name in names:
        overlay = f' media-overlay="{name}-smil"'
        items.append(_item(name, f"{name}.xhtml", "application/xhtml+xml", overlay))
        items.append(_item(f"{name}-smil", f"{name}.smil", "application/smil+xml"))
        items.append(_item(f"{name}-audio", f"{name}.m4a", "audio/mp4"))
    return _PACKAGE.format(
        identifier=digest.hexdigest(),
        title=_escaped(book.title),
        language=language,
        metadata="\n".join(metadata),
        items="\n".join(items),
        spine="\n".join(f'<itemref idref="{name}"/>' for name in names),
    )


def _item(name: str, path: str, kind: str, more: str = "") -> str:
    return f'<item id="{name}" href="{path}" media-type="{kind}"{more}/>'
