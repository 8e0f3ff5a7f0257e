"""An audiobook has the chapters, tags, cover and subtitles of its book; a killed run goes on."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import av
import numpy as np
import pytest
from mutagen.mp4 import MP4

from kokoro_books import Book, BookError, Chapter, Progress, make_audiobook, read_book, units, voice_for
from runtime_min import Bundle
from runtime_min.errors import EmptyInputError, OutputError, UsageError
from tests.support import books
from tests.support.paths import ROOT

RATE = 24_000


@pytest.fixture(scope="module")
def bundle(reading_bundle: Path) -> Any:
    with Bundle.load(reading_bundle) as loaded:
        yield loaded


@pytest.fixture(scope="module")
def english(tmp_path_factory: pytest.TempPathFactory) -> Book:
    return read_book(books.write(tmp_path_factory.mktemp("book") / "book.epub", books.english_files()))


def seconds(path: Path) -> float:
    with av.open(str(path)) as container:
        return sum(frame.samples for frame in container.decode(audio=0)) / RATE


def test_an_english_book(bundle: Bundle, english: Book, tmp_path: Path) -> None:
    seen: list[Progress] = []
    make_audiobook(
        bundle, english, tmp_path / "b.m4b", timings=tmp_path / "b.srt", progress=seen.append, speed=1.5
    )
    made = MP4(tmp_path / "b.m4b")
    assert made.tags is not None and made.chapters is not None
    assert made.tags["\xa9nam"] == ["A Small Book"] and made.tags["\xa9ART"] == ["Ann Author, Bob & Co"]
    assert made.tags["covr"] == [books.jpeg()]
    titles = [chapter.title for chapter in english.chapters]
    assert [chapter.title for chapter in made.chapters] == titles
    starts = [chapter.start for chapter in made.chapters]
    assert starts[0] == 0 and starts == sorted(set(starts))
    with av.open(str(tmp_path / "b.m4b")) as container:
        ends = [float(each["end"] * each["time_base"]) for each in container.chapters()]
        assert [each["metadata"]["title"] for each in container.chapters()] == titles
    np.testing.assert_allclose(ends, [*starts[1:], seconds(tmp_path / "b.m4b")], atol=0.1)
    assert [(each.chapter, each.share) for each in seen][-1] == ("An End", 1.0)
    assert [each.share for each in seen] == sorted(each.share for each in seen)
    assert all(each.seconds_left is not None and each.seconds_left >= 0 for each in seen)
    # A hidden folder of work is gone.
    subtitles = [f"b-{number:02}.srt" for number in range(1, 5)]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["b-01.srt", *subtitles[1:], "b.m4b"]
    text = (tmp_path / "b-02.srt").read_text(encoding="utf-8")
    assert "00:00:00," in text and "Dr. Smith went down to the sea" in text and "calm" in text


def test_a_spanish_book_is_read_by_a_spanish_voice(bundle: Bundle, tmp_path: Path) -> None:
    book = read_book(books.write(tmp_path / "l.epub", books.spanish_files()))
    voice = voice_for(bundle, book.language)
    assert voice == "ef_dora"
    make_audiobook(bundle, book, tmp_path / "l.m4b", voice)
    made = MP4(tmp_path / "l.m4b")
    assert made.chapters is not None and made.tags is not None
    assert [chapter.title for chapter in made.chapters] == ["Capítulo 1", "Capítulo 2"]
    assert "covr" not in made.tags


@pytest.mark.parametrize(("language", "voice"), [("", "af_heart"), ("en", "af_heart"), ("it-IT", "if_sara")])
def test_the_voice_is_of_the_book_s_language(bundle: Bundle, language: str, voice: str) -> None:
    assert voice_for(bundle, language) == voice


@pytest.mark.parametrize("language", ["fi", "no language", "zh"])
def test_a_language_without_a_voice_is_refused(bundle: Bundle, language: str) -> None:
    with pytest.raises(BookError, match="name a voice"):
        voice_for(bundle, language)


PROGRAM = """
import sys
from kokoro_books import make_audiobook, read_book, units
from runtime_min import Bundle
units._CHARACTERS = int(sys.argv[4])
bundle = Bundle.load(sys.argv[1])
book = read_book(sys.argv[2])
show = lambda found: print(found.share, flush=True)
make_audiobook(bundle, book, sys.argv[3], 'ef_dora', timings=sys.argv[3] + '.json', progress=show)
"""


def started(
    bundle: Path, book: Path, target: Path, characters: int = units._CHARACTERS
) -> subprocess.Popen[str]:
    """Starts to make an audiobook, whose units have at most so many characters."""
    command = [sys.executable, "-c", PROGRAM, *map(str, (bundle, book, target, characters))]
    return subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)


def finished(process: subprocess.Popen[str]) -> int:
    """Returns how many units a run that goes on to its end had in its output."""
    lines = process.communicate(timeout=300)[0].splitlines()
    assert process.returncode == 0
    return len(lines)


def test_a_killed_run_goes_on_and_the_file_is_the_same(
    reading_bundle: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    book = books.write(tmp_path / "l.epub", books.spanish_files(repeated=30))
    monkeypatch.setattr(units, "_CHARACTERS", 400)
    count = len(list(units.units(read_book(book))))
    assert count > 3
    assert finished(started(reading_bundle, book, tmp_path / "whole.m4b", 400)) == count
    target, work = tmp_path / "killed.m4b", tmp_path / ".killed.m4b.work"
    for killed_after in (1, 1):
        process = started(reading_bundle, book, target, 400)
        assert process.stdout is not None
        kept = {path: path.stat().st_mtime_ns for path in work.glob("*.pcm")}
        for _ in range(len(kept) + killed_after):
            process.stdout.readline()
        process.send_signal(signal.SIGKILL)
        process.wait()
        # What was spoken is not spoken again.
        assert kept.items() <= {path: path.stat().st_mtime_ns for path in work.glob("*.pcm")}.items()
        assert not target.exists()
    assert finished(started(reading_bundle, book, target, 400)) == count
    assert target.read_bytes() == (tmp_path / "whole.m4b").read_bytes()
    for number in (1, 2):
        name = f"m4b-0{number}.json"
        assert (tmp_path / f"killed.{name}").read_bytes() == (tmp_path / f"whole.{name}").read_bytes()
    assert not work.exists()


def test_another_request_begins_again(bundle: Bundle, english: Book, tmp_path: Path) -> None:
    class Stop(Exception):
        pass

    def stop(found: Progress) -> None:
        raise Stop

    work = tmp_path / ".b.m4b.work"
    for speed, kept in ((1.0, 1), (1.0, 2), (2.0, 1)):
        with pytest.raises(Stop):
            make_audiobook(
                bundle, english, tmp_path / "b.m4b", speed=speed, progress=Stopper(stop, work, kept)
            )
        assert len(list(work.glob("*.pcm"))) == kept


class Stopper:
    """Stops when there are so many units."""

    def __init__(self, stop: Any, work: Path, count: int) -> None:
        self._stop, self._work, self._count = stop, work, count

    def __call__(self, found: Progress) -> None:
        if len(list(self._work.glob("*.pcm"))) >= self._count:
            self._stop(found)


def test_two_runs_do_not_disturb_each_other(bundle: Bundle, english: Book, tmp_path: Path) -> None:
    def again(found: Progress) -> None:
        with pytest.raises(UsageError, match="Another process"):
            make_audiobook(bundle, english, tmp_path / "b.m4b")

    make_audiobook(bundle, english, tmp_path / "b.m4b", progress=again)
    assert seconds(tmp_path / "b.m4b") > 1


def test_what_cannot_be_made_is_refused(bundle: Bundle, english: Book, tmp_path: Path) -> None:
    for path, options in ((tmp_path / "b.mp3", {}), (tmp_path / "b.m4b", {"trim": True})):
        with pytest.raises(UsageError):
            make_audiobook(bundle, english, path, **options)
    with pytest.raises(OutputError):
        make_audiobook(bundle, english, tmp_path / "none" / "b.m4b")
    silent = Book("x", (), "", (Chapter("x", ("* * *",)),))
    with pytest.raises(EmptyInputError):
        make_audiobook(bundle, silent, tmp_path / "b.m4b")


def test_a_row_of_stars_is_left_out(bundle: Bundle, tmp_path: Path) -> None:
    chapters = (
        Chapter("One", ("Hello.", "* * *", "World.")),
        Chapter("Stars", ("* * *",)),
        Chapter("Two", ("End.",)),
    )
    make_audiobook(bundle, Book("x", (), "", chapters), tmp_path / "b.m4b")
    made = MP4(tmp_path / "b.m4b")
    assert made.chapters is not None and [chapter.title for chapter in made.chapters] == ["One", "Two"]


def peak(bundle: Path, book: Path, target: Path) -> int:
    """Returns the most memory of a run, in kilobytes."""
    process = started(bundle, book, target)
    assert process.stdout is not None
    process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0
    return usage.ru_maxrss


@pytest.mark.machines
def test_memory_does_not_grow_with_the_book(reading_bundle: Path, tmp_path: Path) -> None:
    short = books.write(tmp_path / "s.epub", books.spanish_files(repeated=130))
    long = books.write(tmp_path / "l.epub", books.spanish_files(repeated=1_500))
    characters = sum(unit.characters for unit in units.units(read_book(long)))
    assert characters > 50_000
    small, large = (peak(reading_bundle, book, tmp_path / f"{book.stem}.m4b") for book in (short, long))
    print(f"{characters:,} characters: {small >> 10} and {large >> 10} MiB")
    assert large - small < 16 << 10


def test_the_command_speaks_a_book(reading_bundle: Path, tmp_path: Path) -> None:
    book = books.write(tmp_path / "libro.epub", books.spanish_files())
    command = [sys.executable, "-m", "runtime_min", str(reading_bundle), "--book", str(book)]
    done = subprocess.run([*command, "-o", tmp_path / "l.m4b"], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0 and (tmp_path / "l.m4b").is_file(), done.stderr
    assert "Un libro, 2 chapters, read by ef_dora" in done.stderr and "100%  Capítulo 2" in done.stderr
    for arguments, code in ((["-o", "l.mp3"], 2), (["-o", "l.m4b", "--ssml"], 2), ([], 2)):
        refused = subprocess.run([*command, *arguments], cwd=ROOT, capture_output=True, text=True)
        assert refused.returncode == code and refused.stderr.count("\n") == 1, refused.stderr
    command[-1] = str(tmp_path / "l.m4b")
    refused = subprocess.run([*command, "-o", tmp_path / "x.m4b"], cwd=ROOT, capture_output=True, text=True)
    assert refused.returncode == 3 and "not an EPUB" in refused.stderr
