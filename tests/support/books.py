"""EPUBs that the tests make: an English one of version 3 and a Spanish one of version 2."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping
from pathlib import Path

CONTAINER = (
    '<container xmlns="urn:oasis:names:tc:opendocument:xmlns:container" version="1.0"><rootfiles>'
    '<rootfile full-path="OPS/book.opf" media-type="application/oebps-package+xml"/></rootfiles></container>'
)
ENGLISH_TEXT = {
    "The Sea": ["The Sea", "Dr. Smith went down to the sea at 5 p.m.", "“It is calm,” he said."],
    "The Hill": ["The Hill", "On 3 May he climbed the hill.", "Nobody was there."],
    "An End": ["An End", "That was all."],
}
SPANISH_TEXT = {
    "Capítulo 1": ["El mar", "¿Cuántos niños llegaron? Llegaron 21."],
    "Capítulo 2": ["La sierra", "El guía pagó 4,50 €."],
}


def jpeg() -> bytes:
    """A small picture."""
    from PIL import Image

    output = io.BytesIO()
    Image.new("RGB", (32, 48), "navy").save(output, "JPEG")
    return output.getvalue()


def packed(files: Mapping[str, bytes | str]) -> bytes:
    """The archive of an EPUB's files, always with the same bytes."""
    output = io.BytesIO()
    with zipfile.ZipFile(output, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, content in {"mimetype": "application/epub+zip", **files}.items():
            archive.writestr(zipfile.ZipInfo(path), content)
    return output.getvalue()


def page(body: str) -> str:
    return (
        '<?xml version="1.0" encoding="utf-8"?>\n<!DOCTYPE html>\n<html xmlns="http://www.w3.org/1999/xhtml" '
        f'xmlns:epub="http://www.idpf.org/2007/ops"><head><title>x</title></head><body>{body}</body></html>'
    )


def package(metadata: str, items: str, spine: str) -> str:
    return (
        '<package xmlns="http://www.idpf.org/2007/opf" version="3.0"><metadata '
        f'xmlns:dc="http://purl.org/dc/elements/1.1/">{metadata}</metadata><manifest>{items}</manifest>'
        f"{spine}</package>"
    )


def english_files() -> dict[str, bytes | str]:
    """Two documents with three chapters, a title page, notes, page numbers and a picture."""
    metadata = (
        "<dc:title>A Small Book</dc:title>"
        "<dc:creator>Ann Author</dc:creator><dc:creator>Bob &amp; Co</dc:creator>"
        "<dc:language>en-GB</dc:language>"
    )
    items = (
        '<item id="nav" href="nav.xhtml" media-type="application/xhtml+xml" properties="nav"/>'
        '<item id="pic" href="c%20over.jpg" media-type="image/jpeg" properties="cover-image"/>'
        '<item id="t" href="text/title.xhtml" media-type="application/xhtml+xml"/>'
        '<item id="a" href="text/a.xhtml" media-type="application/xhtml+xml"/>'
        '<item id="b" href="text/b.xhtml" media-type="application/xhtml+xml"/>'
        '<item id="n" href="text/notes.xhtml" media-type="application/xhtml+xml"/>'
    )
    spine = (
        '<spine><itemref idref="t"/><itemref idref="nav"/><itemref idref="a"/><itemref idref="b"/>'
        '<itemref idref="n" linear="no"/></spine>'
    )
    contents = "".join(
        f'<li><a href="text/{path}">{title}</a></li>'
        for path, title in (("a.xhtml", "The Sea"), ("a.xhtml#hill", "The Hill"), ("b.xhtml", "An End"))
    )
    sea = (
        '<h1>The Sea</h1><p>Dr. Smith<a href="notes.xhtml#n1"><sup>1</sup></a> went down to the sea '
        '<span epub:type="pagebreak" title="7">7</span>at 5&nbsp;p.m.</p>\n'
        "<p>“It is\n calm,” <i>he</i> said.</p>"
        '<aside epub:type="footnote"><p>A doctor of physics.</p></aside>'
    )
    hill = (
        '<section id="hill"><h1>The Hill</h1><p>On 3 May he climbed the hill.<br/></p>'
        "<p>Nobody was there.</p></section>"
    )
    return {
        "META-INF/container.xml": CONTAINER,
        "OPS/book.opf": package(metadata, items, spine),
        "OPS/nav.xhtml": page(f'<nav epub:type="toc"><ol>{contents}</ol></nav><nav epub:type="landmarks"/>'),
        "OPS/c over.jpg": jpeg(),
        "OPS/text/title.xhtml": page("<p>A Small Book</p>"),
        "OPS/text/a.xhtml": page(sea + hill),
        "OPS/text/b.xhtml": page("<h1>An End</h1><p>That was all.</p>"),
        "OPS/text/notes.xhtml": page('<p id="n1">1. Not a physician.</p>'),
    }


def spanish_files(repeated: int = 1) -> dict[str, bytes | str]:
    """Version 2: a table of contents in NCX, a declared document type, and no cover."""
    metadata = "<dc:title>Un libro</dc:title><dc:creator>Autora</dc:creator><dc:language>es</dc:language>"
    kind = "application/xhtml+xml"
    items = (
        '<item id="ncx" href="toc.ncx" media-type="application/x-dtbncx+xml"/>'
        f'<item id="a" href="a.html" media-type="{kind}"/><item id="b" href="b.html" media-type="{kind}"/>'
    )
    points = "".join(
        f'<navPoint id="p{n}"><navLabel><text>Capítulo {n}</text></navLabel>'
        f'<content src="{path}"/></navPoint>'
        for n, path in ((1, "a.html"), (2, "b.html"))
    )
    ncx = (
        '<!DOCTYPE ncx PUBLIC "-//NISO//DTD ncx 2005-1//EN" "http://www.daisy.org/z3986/2005/ncx-2005-1.dtd">'
        f'<ncx xmlns="http://www.daisy.org/z3986/2005/ncx/" version="2005-1"><navMap>{points}</navMap></ncx>'
    )
    first = "<h2>El mar</h2>" + "<p>&iquest;Cu&aacute;ntos ni&ntilde;os llegaron? Llegaron 21.</p>" * repeated
    return {
        "META-INF/container.xml": CONTAINER,
        "OPS/book.opf": package(
            metadata, items, '<spine toc="ncx"><itemref idref="a"/><itemref idref="b"/></spine>'
        ),
        "OPS/toc.ncx": ncx,
        "OPS/a.html": page(first),
        "OPS/b.html": page("<h2>La sierra</h2><p>El guía pagó 4,50 €.</p>"),
    }


def write(path: Path, files: Mapping[str, bytes | str]) -> Path:
    """Writes an EPUB, and returns its path."""
    path.write_bytes(packed(files))
    return path
