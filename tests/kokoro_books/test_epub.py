"""An EPUB becomes chapters of text; what is damaged or hostile is a typed error, in bounded time."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kokoro_books import BookError, read_book
from kokoro_books.archive import MOST_BYTES, target
from kokoro_books.markup import read_page
from tests.support import books
from tests.support.fuzzing.bundles import quick


def chapters_of(path: Path, **options: Any) -> dict[str, list[str]]:
    return {each.title: list(each.paragraphs) for each in read_book(path, **options).chapters}


def test_an_english_book_of_version_3(tmp_path: Path) -> None:
    book = read_book(books.write(tmp_path / "book.epub", books.english_files()))
    assert (book.title, book.authors, book.language) == ("A Small Book", ("Ann Author", "Bob & Co"), "en-GB")
    assert (book.cover, book.cover_kind) == (books.jpeg(), "jpeg")
    found = {each.title: list(each.paragraphs) for each in book.chapters}
    assert found == {"A Small Book": ["A Small Book"], **books.ENGLISH_TEXT}


def test_notes_and_page_numbers_are_read_when_asked_for(tmp_path: Path) -> None:
    path = books.write(tmp_path / "book.epub", books.english_files())
    with_both = " ".join(chapters_of(path, notes=True, page_numbers=True)["The Sea"])
    assert "Smith1 went" in with_both and "sea 7at" in with_both and "A doctor of physics." in with_both
    assert "7at" not in " ".join(chapters_of(path, notes=True)["The Sea"])
    assert "Smith went" in " ".join(chapters_of(path, page_numbers=True)["The Sea"])


def test_a_spanish_book_of_version_2(tmp_path: Path) -> None:
    book = read_book(books.write(tmp_path / "libro.epub", books.spanish_files()))
    assert (book.title, book.language, book.cover) == ("Un libro", "es", None)
    assert {each.title: list(each.paragraphs) for each in book.chapters} == books.SPANISH_TEXT


def test_without_a_table_of_contents_each_document_is_a_chapter(tmp_path: Path) -> None:
    for damage in ("", "<ncx><navMap>", "<ncx/>"):
        files = books.spanish_files() | {"OPS/toc.ncx": damage}
        titles = list(chapters_of(books.write(tmp_path / "x.epub", files)))
        assert titles == ["El mar", "La sierra"]


def test_a_reference_leads_from_its_file() -> None:
    assert target("OPS/nav.xhtml", "text/a%20b.xhtml#x") == ("OPS/text/a b.xhtml", "x")
    assert target("OPS/text/a.xhtml", "../b.xhtml") == ("OPS/b.xhtml", "")
    assert target("OPS/text/a.xhtml", "#x") == ("OPS/text/a.xhtml", "x")


WORDS = st.text(st.characters(categories=["L", "N", "P"]), min_size=1, max_size=8).filter(
    lambda word: not set(word) & set("<>&")
)
TAGS = st.sampled_from("p div span i blockquote h2 li section".split())


@given(st.lists(st.tuples(TAGS, WORDS, st.booleans()), max_size=20), st.booleans())
def test_every_word_is_kept_once_and_in_order(parts: list[tuple[str, str, bool]], closed: bool) -> None:
    html = "".join(f"<{tag}> {word} " + f"</{tag}>" * (closed or ends) for tag, word, ends in parts)
    paragraphs, _ = read_page(html.encode(), "x", notes=False, page_numbers=False)
    assert " ".join(paragraphs).split() == [word for _, word, _ in parts]


@given(st.binary(max_size=300))
def test_any_bytes_are_a_page(data: bytes) -> None:
    read_page(data, "x", notes=False, page_numbers=False)


@pytest.mark.parametrize(
    "unit",
    [
        "<p>",
        "<p",
        "</p>",
        "<!--",
        "&amp",
        "&#",
        "<a href='#x'>1",
        "<sup>",
        "<![CDATA[",
        "<script>",
        '<a b="',
        "<",
        "\0",
    ],
)
def test_repetitions_are_read_in_time_or_refused(unit: str) -> None:
    data = (unit * (200_000 // len(unit))).encode()
    with quick(unit):
        try:
            read_page(data, "x", notes=False, page_numbers=False)
        except BookError as error:
            assert "elements within each other" in str(error)


def zip_bomb() -> bytes:
    output = io.BytesIO()
    with zipfile.ZipFile(output, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, content in books.english_files().items():
            archive.writestr(path, content if path != "OPS/text/a.xhtml" else b"x" * (MOST_BYTES + 1))
    return output.getvalue()


def changed(**files: str | bytes | None) -> bytes:
    """The English book with other files; their names have __ for / and _ for the dot."""
    given = {name.replace("__", "/").replace("_", "."): content for name, content in files.items()}
    made = {**books.english_files(), **given}
    return books.packed({path: content for path, content in made.items() if content is not None})


def many_bombs() -> bytes:
    """Many documents, each within the limit, and together beyond it."""
    names = [f"d{number}" for number in range(12)]
    items = "".join(f'<item id="{name}" href="{name}" media-type="text/html"/>' for name in names)
    spine = "<spine>" + "".join(f'<itemref idref="{name}"/>' for name in names) + "</spine>"
    documents = {f"OPS/{name}": b"<p>" + b" " * (MOST_BYTES - 3) for name in names}
    return books.packed(
        {
            "META-INF/container.xml": books.CONTAINER,
            "OPS/book.opf": books.package("", items, spine),
            **documents,
        }
    )


LAUGHS = (
    '<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa">' + "".join(
        f'<!ENTITY {chr(98 + n)} "{f"&{chr(97 + n)};" * 10}">' for n in range(9)
    ) + "]><container>&j;</container>"
)  # fmt: skip
HOSTILE: dict[str, tuple[bytes | Callable[[], bytes], str]] = {
    "nothing": (b"", "not an EPUB"),
    "text": (b"Hello", "not an EPUB"),
    "an empty archive": (books.packed({}), "lacks"),
    "a ZIP bomb": (zip_bomb, "more than"),
    "many bombs": (many_bombs, "more than"),
    "a billion laughs": (changed(**{"META-INF__container_xml": LAUGHS}), "entities"),
    "laughs in UTF-16": (changed(**{"META-INF__container_xml": LAUGHS.encode("utf-16")}), "entities"),
    "no XML": (changed(OPS__book_opf="<package"), "well-formed"),
    "deep XML": (changed(OPS__book_opf="<a>" * 10_000), "within each other"),
    "a path that escapes": (
        changed(**{"META-INF__container_xml": books.CONTAINER.replace("OPS/book.opf", "../../etc/passwd")}),
        "lacks",
    ),
    "a missing document": (changed(OPS__text__b_xhtml=None), "lacks"),
    "no text": (changed(OPS__text__a_xhtml="", OPS__text__b_xhtml="", OPS__text__title_xhtml=""), "no text"),
    "copy protection": (
        changed(**{
            "META-INF__encryption_xml": '<encryption><CipherReference URI="OPS/text/a.xhtml"/></encryption>'
        }),
        "copy protection",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE)
def test_what_is_no_sound_book_is_refused(tmp_path: Path, name: str) -> None:
    content, expected = HOSTILE[name]
    (tmp_path / "book.epub").write_bytes(content() if callable(content) else content)
    with quick(name), pytest.raises(BookError, match=expected):
        read_book(tmp_path / "book.epub")


def test_a_missing_file_and_a_folder_are_refused(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "none.epub"):
        with pytest.raises(BookError, match="cannot be read"):
            read_book(path)


@pytest.mark.parametrize("cover", [b"", b"GIF89a", b"\xff\xd8\xff"])
def test_a_cover_that_is_no_picture_is_left_out(tmp_path: Path, cover: bytes) -> None:
    files = {**books.english_files(), "OPS/c over.jpg": cover}
    assert read_book(books.write(tmp_path / "x.epub", files)).cover in (None, cover)
