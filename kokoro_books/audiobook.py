"""Speaks a book unit by unit into a folder beside the audiobook, and makes the audiobook of that folder."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from runtime_min import Bundle, Segment, Timing, __version__, cues, write_timings
from runtime_min.errors import EmptyInputError, LanguageError, OutputError, UsageError
from runtime_min.text import language_code

from .epub import Book
from .errors import BookError
from .m4b import Mark, require_av, write_m4a, write_m4b
from .read_along import Spoken, write_read_along
from .units import Unit, units

if TYPE_CHECKING:
    from typing import Unpack

    from runtime_min import SpeechOptions

_PAUSE, _CHAPTER_PAUSE = 0.6, 1.5
"""Seconds of silence behind a unit, and behind a chapter."""
_BEST = "af_heart"
"""The voice that kokoro's makers grade best."""
_SUFFIXES = (".m4b", ".epub")
_REQUEST = "request.json"
_BLOCK = 1 << 16
"""Samples that are read at once."""


class Progress(NamedTuple):
    """How far a book is."""

    chapter: str
    share: float
    """Of its characters, from 0 to 1."""
    seconds_left: float | None
    """At the speed of this run; None as long as nothing was spoken in it."""


def make_audiobook(
    bundle: Bundle,
    book: Book,
    path: str | os.PathLike[str],
    voice: str = "af_heart",
    *,
    timings: str | os.PathLike[str] | None = None,
    progress: Callable[[Progress], object] = lambda found: None,
    **options: Unpack[SpeechOptions],
) -> None:
    """Speaks a book into an audiobook, or into an EPUB 3 whose readers highlight what is heard.

    What was spoken lies in a folder beside the file until that is whole: 3 MB a minute. If the program is
    killed, the same call goes on where it stopped, and the file is the same. Memory does not grow with the
    book.

    Args:
        bundle: the bundle that speaks.
        book: the book.
        path: the file, which ends with ``.m4b``, or with ``.epub`` for a book with media overlays.
        voice: a name or a blend.
        timings: a path with the name of subtitles, such as ``book.srt``, ``.vtt`` or ``.json``: each chapter
            has a file of its own, ``book-01.srt`` and so on, whose times begin with the chapter.
        progress: called after each unit.
        options: those of `Bundle.synthesize` for a text, but for `trim`, `end_pause` and `ssml`.

    Raises:
        UsageError: an argument is wrong, or another process makes the same file.
        InputError: the text cannot be spoken.
        InstallationError: the package av is missing.
        OutputError: the file cannot be written.
    """
    target = Path(path)
    suffix = target.suffix.lower()
    if suffix not in _SUFFIXES:
        raise UsageError(f"An audiobook is a file that ends with {' or '.join(_SUFFIXES)}, found {target}.")
    for name in ("trim", "end_pause", "ssml"):
        if name in options:
            raise UsageError(f"The option {name} is set for books: leave it out.")
    require_av()
    with _reported(target), _Work(target, _request(bundle, book, voice, options)) as work:
        _speak(work, bundle, book, voice, options, progress)
        rate, made = bundle.manifest.audio.sample_rate, work.folder / target.name
        if suffix == ".epub":
            write_read_along(made, book, list(_chapters(work, book, rate)))
        else:
            numbers = range(len(list(units(book))))
            write_m4b(made, rate, work.samples(numbers), book, _marks(work, book))
        if timings is not None:
            _write_timings(work, book, Path(timings), rate)
        os.replace(made, target)
        work.remove()


def voice_for(bundle: Bundle, language: str) -> str:
    """Returns a voice of the bundle for the language of a book; that of no language is English.

    Raises:
        BookError: no voice speaks it.
    """
    try:
        wanted = language_code(language) if language else "en-us"
    except LanguageError:
        wanted = language
    known = [voice for voice in bundle.voices if voice.language and language_code(voice.language) == wanted]
    if known and bundle.speaks(wanted):
        return next((voice for voice in known if voice == _BEST), known[0])
    raise BookError(
        f"The book is in the language {language!r:.50}, and no voice of this bundle speaks it: name a voice, "
        "and the language with which it reads."
    )


def _request(bundle: Bundle, book: Book, voice: str, options: Any) -> str:
    """Returns all that decides the samples, as text."""
    digest = hashlib.sha256(repr((book.chapters, book.title)).encode("utf-8", "surrogatepass")).hexdigest()
    files = {entry.path: entry.sha256 for entry in bundle.manifest.files}
    given = {name: repr(value) for name, value in sorted(options.items())}
    facts = {"version": __version__, "book": digest, "bundle": files, "level": bundle.level.name}
    return json.dumps({**facts, "voice": voice, "options": given}, sort_keys=True, indent=1)


def _speak(
    work: _Work,
    bundle: Bundle,
    book: Book,
    voice: str,
    options: Any,
    progress: Callable[[Progress], object],
) -> None:
    """Speaks the units that are not there."""
    todo = list(units(book))
    whole, done, spoken = sum(unit.characters for unit in todo), 0, 0
    begun = time.monotonic()
    for number, unit in enumerate(todo):
        if not work.has(number):
            work.speak(number, unit, bundle, voice, options)
            spoken += unit.characters
        done += unit.characters
        left = (time.monotonic() - begun) / spoken * (whole - done) if spoken else None
        progress(Progress(book.chapters[unit.chapter].title, done / whole, left))
    if not work.any_samples(len(todo)):
        raise EmptyInputError(book.title)


def _marks(work: _Work, book: Book) -> list[Mark]:
    """Returns where the chapters lie; one in which nothing could be spoken has no mark."""
    marks, end = [], 0
    ends = [0] * len(book.chapters)
    for number, unit in enumerate(units(book)):
        ends[unit.chapter] += work.length(number)
    for chapter, length in zip(book.chapters, ends, strict=True):
        if length:
            marks.append(Mark(chapter.title, end, end + length))
        end += length
    return marks


def _chapters(work: _Work, book: Book, rate: int) -> Iterator[Spoken]:
    """Yields the chapters in which something was spoken, each after its audio is written."""
    for chapter, (numbers, text, words) in enumerate(_spoken(work, book, rate)):
        length = sum(map(work.length, numbers))
        if length:
            audio = work.folder / f"{chapter:04}.m4a"
            write_m4a(audio, rate, work.samples(numbers))
            title, paragraphs = book.chapters[chapter].title, book.chapters[chapter].paragraphs
            yield Spoken(title, paragraphs, cues(text, words), audio, length / rate)


def _write_timings(work: _Work, book: Book, path: Path, rate: int) -> None:
    """Writes the subtitles of each chapter."""
    digits = max(2, len(str(len(book.chapters))))
    for chapter, (_, text, words) in enumerate(_spoken(work, book, rate), 1):
        write_timings(path.with_name(f"{path.stem}-{chapter:0{digits}}{path.suffix}"), text, words, ())


def _spoken(work: _Work, book: Book, rate: int) -> Iterator[tuple[list[int], str, list[Timing]]]:
    """Yields of each chapter the numbers of its units, its text, and the times of its words."""
    numbers, text, words, start = list[int](), "", list[Timing](), 0.0
    for number, unit in enumerate(units(book)):
        numbers.append(number)
        text += "".join(f"{paragraph}\n\n" for paragraph in unit.paragraphs)
        words += [Timing(word, start + begin, start + end) for word, begin, end in work.timings(number)]
        start += work.length(number) / rate
        if unit.ends_chapter:
            yield numbers, text.strip(), words
            numbers, text, words, start = [], "", [], 0.0


class _Work:
    """The folder with what was spoken. Samples of a unit appear whole, and after its timings."""

    def __init__(self, target: Path, request: str) -> None:
        self.folder = target.with_name(f".{target.name}.work")
        self._request = request
        self._lock: int | None = None

    def __enter__(self) -> _Work:
        self.folder.mkdir(exist_ok=True)
        self._lock = os.open(self.folder / "lock", os.O_RDWR | os.O_CREAT)
        if not _locked(self._lock):
            os.close(self._lock)
            raise UsageError(
                f"Another process makes the audiobook in {self.folder}: wait until it has ended."
            )
        request = self.folder / _REQUEST
        if not request.is_file() or request.read_text(encoding="utf-8") != self._request:
            for path in self.folder.iterdir():
                if path.name != "lock":
                    path.unlink()
            _write(request, self._request.encode())
        return self

    def __exit__(self, *exception: object) -> None:
        if self._lock is not None:
            os.close(self._lock)

    def has(self, number: int) -> bool:
        return self._samples(number).is_file()

    def length(self, number: int) -> int:
        """Returns the samples of a unit."""
        return self._samples(number).stat().st_size // 2

    def any_samples(self, count: int) -> bool:
        return any(self.length(number) for number in range(count))

    def timings(self, number: int) -> Any:
        return json.loads(self._timings(number).read_text(encoding="utf-8"))

    def samples(self, numbers: Iterable[int]) -> Iterator[NDArray[np.int16]]:
        """Yields the samples of these units."""
        for number in numbers:
            with self._samples(number).open("rb") as file:
                while data := file.read(2 * _BLOCK):
                    yield np.frombuffer(data, "<i2")

    def speak(self, number: int, unit: Unit, bundle: Bundle, voice: str, options: Any) -> None:
        """Speaks a unit; one in which nothing can be spoken, such as a row of stars, is empty."""
        part = self._samples(number).with_suffix(".part")
        end_pause = _CHAPTER_PAUSE if unit.ends_chapter else _PAUSE
        words: list[Sequence[Any]] = []
        with part.open("wb") as file:
            try:
                segments = [Segment(each) for each in unit.paragraphs]
                with bundle.stream(segments, voice, trim=True, end_pause=end_pause, **options) as stream:
                    for piece in stream:
                        file.write(piece.pcm16())
                        words += piece.words
            except EmptyInputError:
                file.truncate(0)
            file.flush()
            os.fsync(file.fileno())
        _write(self._timings(number), json.dumps(words).encode())
        os.replace(part, self._samples(number))

    def _samples(self, number: int) -> Path:
        return self.folder / f"{number:06}.pcm"

    def _timings(self, number: int) -> Path:
        return self.folder / f"{number:06}.json"

    def remove(self) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)


def _write(path: Path, data: bytes) -> None:
    """Writes a small file that appears whole."""
    part = path.with_name(f"{path.name}.part")
    part.write_bytes(data)
    os.replace(part, path)


def _locked(descriptor: int) -> bool:
    """Locks a file until the process ends; returns False if another process has locked it."""
    try:
        import fcntl
    except ImportError:
        # Windows refuses to replace files that another process has open.
        return True
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


@contextmanager
def _reported(target: Path) -> Iterator[None]:
    """Turns errors of the system into a typed one."""
    try:
        yield
    except OSError as failure:
        raise OutputError(
            f"{target} cannot be written: {failure.strerror or failure}. What was spoken is kept: correct "
            "that, and start again."
        ) from failure
