"""An EPUB with media overlays has the text of its book, and each line's place in the audio."""

from __future__ import annotations

import re
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import av
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kokoro_books import Book, make_audiobook, read_book
from kokoro_books.read_along import _lines, _page
from runtime_min import Bundle, Cue
from tests.support import books

RATE = 24_000
SPACE = {"smil": "http://www.w3.org/ns/SMIL", "html": "http://www.w3.org/1999/xhtml"}


@pytest.fixture(scope="module")
def bundle(reading_bundle: Path) -> Iterator[Bundle]:
    with Bundle.load(reading_bundle) as loaded:
        yield loaded


@pytest.fixture(scope="module")
def english(tmp_path_factory: pytest.TempPathFactory) -> Book:
    return read_book(books.write(tmp_path_factory.mktemp("book") / "book.epub", books.english_files()))


@pytest.fixture(scope="module")
def made(bundle: Bundle, english: Book, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("made") / "read.epub"
    make_audiobook(bundle, english, path)
    assert [each.name for each in path.parent.iterdir()] == ["read.epub"]
    return path


def seconds(archive: zipfile.ZipFile, name: str) -> float:
    with archive.open(name) as file, av.open(file) as container:
        return sum(frame.samples for frame in container.decode(audio=0)) / RATE


def clock(value: str | None) -> float:
    assert value is not None and re.fullmatch(r"\d+\.\d{3}s", value)
    return float(value[:-1])


def test_it_is_an_epub_with_the_chapters_of_the_book(made: Path, english: Book) -> None:
    with zipfile.ZipFile(made) as archive:
        first = archive.infolist()[0]
        assert (first.filename, first.compress_type) == ("mimetype", zipfile.ZIP_STORED)
        assert archive.read(first) == b"application/epub+zip"
        assert archive.testzip() is None
    again = read_book(made)
    assert (again.title, again.authors, again.language) == (english.title, english.authors, english.language)
    assert again.chapters == english.chapters
    assert (again.cover, again.cover_kind) == (english.cover, english.cover_kind)


def test_every_line_is_in_the_text_and_in_the_audio(made: Path, english: Book) -> None:
    with zipfile.ZipFile(made) as archive:
        package = ElementTree.fromstring(archive.read("EPUB/book.opf"))
        listed = {item.get("href") for item in package.iterfind(".//{*}item")}
        assert listed == {name[5:] for name in archive.namelist() if name.startswith("EPUB/")} - {"book.opf"}
        durations = {each.get("refines"): clock(each.text) for each in package.iterfind(".//{*}meta")
                     if each.get("property") == "media:duration"}  # fmt: skip
        assert durations.pop(None) == pytest.approx(sum(durations.values()), abs=0.01)
        for number, chapter in enumerate(english.chapters, 1):
            name = f"chapter-{number:04}"
            page = ElementTree.fromstring(archive.read(f"EPUB/{name}.xhtml"))
            spans = {span.get("id"): span.text for span in page.iterfind(".//html:span", SPACE)}
            pars = list(
                ElementTree.fromstring(archive.read(f"EPUB/{name}.smil")).iterfind(".//smil:par", SPACE)
            )
            places = [(each.find("smil:text", SPACE), each.find("smil:audio", SPACE)) for each in pars]
            sources = [text.get("src") for text, _ in places if text is not None]
            assert sources == [f"{name}.xhtml#{key}" for key in spans]
            times = [clock(audio.get(key)) for _, audio in places if audio is not None
                     for key in ("clipBegin", "clipEnd")]  # fmt: skip
            length = seconds(archive, f"EPUB/{name}.m4a")
            assert times == sorted(times) and times[0] >= 0 and times[-1] <= length
            # AAC has a whole number of frames.
            assert durations[f"#{name}-smil"] == pytest.approx(length, abs=0.1)
            assert "".join(spans.values()) == "".join(chapter.paragraphs)  # type: ignore[arg-type]


def test_the_same_book_gives_the_same_bytes(
    bundle: Bundle, english: Book, made: Path, tmp_path: Path
) -> None:
    make_audiobook(bundle, english, tmp_path / "other.epub")
    assert (tmp_path / "other.epub").read_bytes() == made.read_bytes()


words = st.lists(st.sampled_from(["a", "b.", "<i>", "&", "ß", "“c”", "\x01", "\ud800"]), max_size=6).map(
    "  ".join
)


@given(st.lists(words, max_size=4), st.lists(words.filter(bool), max_size=8))
def test_whatever_the_lines_are_the_text_is_whole(paragraphs: list[str], lines: list[str]) -> None:
    cues = [Cue(number, number + 1, " ".join(line.split())) for number, line in enumerate(lines)]
    found: list[Any] = list(_lines(paragraphs, cues))
    assert ["".join(line.text for line in each) for each in found] == [
        " ".join(each.split()) for each in paragraphs
    ]
    shown = [line.cue for each in found for line in each if line.cue is not None]
    assert shown == cues[: len(shown)]
    page = ElementTree.fromstring(_page('a "title"\x00', "en", found).encode())
    assert len(page.findall(".//html:span", SPACE)) == len(shown)
