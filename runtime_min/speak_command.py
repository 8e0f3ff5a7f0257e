"""The work of ``python -m runtime_min``: read, synthesise in pieces, write each once it is computed."""

from __future__ import annotations

import argparse
import os
import re
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

from .bundle import Bundle
from .command_line import STANDARD, is_text
from .engine.machine import this_machine
from .errors import InputError, InstallationError, OutputError, TextEncodingError
from .model.voices import voice_language
from .output.audio_file import AudioFile, audio_file
from .output.console import print_line, tell
from .speech.request import END_PAUSE, SpeechOptions
from .speech.timing import Audio, Timing
from .speech.words import G2P, Segment, read_input

_NOT_TEXT = {
    b"PK\x03\x04": ("an EPUB, or another ZIP archive,", "kokoro-speak --book"),
    b"%PDF-": ("a PDF", "pdftotext"),
}
"""Kinds of files that readers of books give, by their first bytes, and programs that convert them."""
_PARAGRAPHS = re.compile(r"\n\s*\n")
# The look-behind keeps a run of spaces from being tried at every place.
_LINE_BREAK = re.compile(r"(?<!\s)\s*\n\s*")


def list_voices(options: argparse.Namespace, bundle: Bundle) -> None:
    """Prints the bundle's voices, one a line: name, language, sex, and if they speak text here."""
    for voice in bundle.voices:
        usable = voice.language is not None and bundle.speaks(voice.language)
        input_kinds = "text, phonemes" if usable else "phonemes"
        print_line("\t".join((voice, voice.language or "", voice.sex or "", input_kinds)))


def self_test(options: argparse.Namespace, bundle: Bundle) -> None:
    """Compares the bundle with kokoro's stored values, and prints a line for each figure.

    Raises:
        SelfTestFailedError: a figure misses its limit.
        KokoroError: the bundle has nothing to compare with.
    """
    from .model.self_test import SelfTestFailedError

    start, held, machine = time.perf_counter(), [], this_machine()
    figures, manifest = bundle.self_test(), bundle.manifest
    here = f"{machine.system} {machine.machine}, {machine.os_version}, {bundle.threads} threads"
    print_line(f"{manifest.model.name} for {manifest.target.name}, {bundle.level.name}, on {here}")
    for stages, figure in figures:
        held.append(figure.holds)
        relation, verdict = ">=" if figure.at_least else "<=", "ok" if figure.holds else "MISSED"
        compared = f"{figure.value:>9.3g} {relation} {figure.limit:<9.3g}"
        print_line(f"  {stages:<26}{figure.name:<34}{compared}{verdict}")
    if not all(held):
        raise SelfTestFailedError(held.count(False), len(held))
    print_line(f"This bundle matches kokoro: {len(held)} figures, {time.perf_counter() - start:.1f} s.")


def speak(options: argparse.Namespace, bundle: Bundle) -> None:
    """Synthesises the input, and writes audio and timings.

    Raises:
        KokoroError: the input cannot be spoken or written; no partial file is left.
    """
    if options.output == STANDARD and os.isatty(1):
        raise OutputError("Standard output is a terminal: send it on (| aplay), or name a file with -o.")
    given, how = _input(options), _speech_options(options)
    shown = _shown(given, options)
    progress = _Progress(options, bundle, _letters(shown))
    if is_text(options):
        progress.show(f"text to phonemes: {_find_g2p(bundle, options, how)[0]}")
    words: list[Timing] = []
    tokens: list[Timing] = []
    # The pieces come first: what cannot be spoken is refused before anything is written.
    with _pieces(bundle, given, how, options) as pieces, _audio_file(bundle, options) as file:
        for piece in pieces:
            file.write(piece.samples)
            words += piece.words
            tokens += piece.tokens
            for word in piece.unspoken:
                progress.warning(f"{word.text!r:.60} cannot be spoken: see character {word.offset}.")
            progress.piece(file.samples, piece)
    if options.timings is not None:
        # Whoever wants none need not wait for its import.
        from .speech.subtitles import write_timings

        write_timings(options.timings, shown, words, tokens)
    progress.done()


def speak_book(options: argparse.Namespace, bundle: Bundle) -> None:
    """Makes an audiobook of an EPUB; a run that was killed goes on where it stopped.

    Raises:
        KokoroError: the book cannot be read, spoken or written.
    """
    try:
        # It needs this package, and not the reverse.
        books: Any = import_module("kokoro_books")
    except ModuleNotFoundError:
        raise InstallationError(
            "Books need the package kokoro_books: pip install 'kokoro-export-runtime[books]'."
        ) from None
    book = books.read_book(options.book, notes=options.notes, page_numbers=options.notes)
    voice, how = options.voice, _speech_options(options)
    if options.voice_of_book and options.language is None:
        voice = books.voice_for(bundle, book.language)
    for name in ("trim", "end_pause", "ssml"):
        del how[name]  # type: ignore[misc]
    progress = _Progress(options, bundle, 1)
    progress.show(f"{book.title}, {len(book.chapters)} chapters, read by {voice}")
    timings = {"timings": options.timings, "progress": progress.chapter}
    books.make_audiobook(bundle, book, options.output, voice, **timings, **how)
    progress.show(str(options.output))


def print_phonemes(options: argparse.Namespace, bundle: Bundle) -> None:
    """Prints the phonemes of the text, a line for each of its lines.

    Raises:
        KokoroError: the text cannot be read, or not be turned into phonemes.
    """
    from .text.pauses import read_pauses

    _, g2p = _find_g2p(bundle, options, _speech_options(options))
    for line in _input(options).splitlines():
        parts = read_input(read_pauses(Segment(line)), g2p)
        print_line(" ".join([part.phonemes for part in parts]))


def duration(seconds: float) -> str:
    """Returns a time as people say it, such as ``2 h 05 min``."""
    minutes = round(seconds / 60)
    if minutes >= 60:
        return f"{minutes // 60} h {minutes % 60:02} min"
    return f"{minutes} min" if minutes else f"{seconds:.0f} s"


def paragraphs(text: str) -> list[str]:
    """Returns the parts between empty lines, each part on one line."""
    parts = [_LINE_BREAK.sub(" ", part.strip("\r\n")) for part in _PARAGRAPHS.split(text)]
    return [part for part in parts if part.strip()]


def written_paragraphs(text: str) -> list[str]:
    """Returns the parts between empty lines, and the empty lines: positions in the text stay the same."""
    found, start = [], 0
    for end in [*(match.end() for match in _PARAGRAPHS.finditer(text)), len(text)]:
        if text[start:end].strip():
            found.append(text[start:end])
            start = end
    return found


def _audio_file(bundle: Bundle, options: argparse.Namespace) -> AbstractContextManager[AudioFile]:
    path = None if options.output == STANDARD else options.output
    return audio_file(path, bundle.manifest.audio.sample_rate, options.format, raw=options.raw)


@contextmanager
def _pieces(
    bundle: Bundle, given: str, how: SpeechOptions, options: argparse.Namespace
) -> Iterator[Iterable[Audio]]:
    """Yields the pieces of the speech, each as soon as it is there."""
    divided = written_paragraphs if is_text(options) else paragraphs
    parts = [given] if options.ssml else divided(given)
    content = [Segment(part) for part in parts] if len(parts) > 1 else "".join(parts)
    text, phonemes = (content, None) if is_text(options) else (None, content)
    # A file is not heard before it is whole, and one utterance has no joins.
    whole = options.output != STANDARD and len(given) <= bundle.max_phonemes
    if whole:
        yield [bundle.synthesize(text, options.voice, phonemes=phonemes, **how)]
    else:
        with bundle.stream(text, options.voice, phonemes=phonemes, **how) as stream:
            yield stream


def _input(options: argparse.Namespace) -> str:
    if is_text(options):
        return _content(options.text, options.text_file)
    return _content(options.phonemes, options.phonemes_file)


def _speech_options(options: argparse.Namespace) -> SpeechOptions:
    """Returns the options of the command as those of `Bundle.synthesize`."""
    how: SpeechOptions = {
        "speed": options.speed,
        "seed": options.seed,
        "sentence_pause": options.pause,
        "clause_pause": options.pause / 2,
        # Standard output is heard at once, and a file has the silence of the model.
        "trim": options.end_pause is not None or options.output == STANDARD,
        "end_pause": END_PAUSE if options.end_pause is None else options.end_pause,
        "loudness": options.loudness,
        "stretch": not options.no_stretch,
    }
    if is_text(options):
        # Whoever gives phonemes need not wait for its import.
        from .text.lexicon import read_lexicon

        how["ssml"], how["skip_emoji"] = options.ssml, options.skip_emoji
        how["language"] = options.language
        how["lexicon"] = None if options.lexicon is None else read_lexicon(options.lexicon)
    return how


def _find_g2p(bundle: Bundle, options: argparse.Namespace, how: SpeechOptions) -> tuple[str, G2P]:
    language = options.language or voice_language(options.voice)
    return bundle.find_g2p(language, lexicon=how.get("lexicon"), skip_emoji=options.skip_emoji)


def _shown(text: str, options: argparse.Namespace) -> str:
    """Returns the text as a reader sees it: without pronunciations, pauses and the elements of SSML."""
    if not is_text(options):
        return text
    from .text.controls import read_controls
    from .text.pauses import read_pauses
    from .text.ssml import read_ssml

    segments = read_ssml(text) if options.ssml else [Segment(text)]
    parts = [str(part.content) for segment in segments for part in read_pauses(segment)]
    return read_controls(" ".join(parts))[0]


def _letters(text: str) -> int:
    """Returns the number of characters that are no white space."""
    return len("".join(text.split()))


def _content(argument: str | None, path: Path | None) -> str:
    """Returns the argument, or the text of the file or of standard input without a byte order mark."""
    if argument is not None and argument != "-":
        return argument
    name = "Standard input" if path is None or path == STANDARD else str(path)
    try:
        data = _standard_input() if path is None or path == STANDARD else path.read_bytes()
        for start, (kind, converter) in _NOT_TEXT.items():
            if data.startswith(start):
                raise InputError(
                    f"{name} is not text: it begins as {kind} does. "
                    f"Convert it to text in UTF-8, as `{converter}` can."
                )
        return data.decode("utf-8-sig")
    except OSError as error:
        raise InputError(f"{name} cannot be read: {error.strerror}. Name a file of text.") from None
    except UnicodeDecodeError as error:
        raise TextEncodingError(name, error.start) from None


def _standard_input() -> bytes:
    if sys.stdin is None:
        raise InputError("Standard input is closed: connect it to a file or a program, or name a file.")
    return sys.stdin.buffer.read()


class _Progress:
    """Lines on standard error; at a terminal one line that is written over."""

    def __init__(self, options: argparse.Namespace, bundle: Bundle, letters: int) -> None:
        """Takes the number of letters of the whole input; progress is a share of it."""
        self._quiet = options.quiet
        self._output = "standard output" if options.output == STANDARD else options.output
        self._threads = bundle.threads
        self._letters = letters
        self._heard = 0
        self._rate = bundle.manifest.audio.sample_rate
        self._start = time.perf_counter()
        self._terminal = sys.stderr is not None and sys.stderr.isatty()
        self._line = ""
        if bundle.manifest.model.synthetic:
            self.warning("THIS BUNDLE BABBLES: its weights are random (a synthetic checkpoint), not a voice.")

    def warning(self, text: str) -> None:
        tell(f"warning: {text}")

    def show(self, text: str, stays: bool = True) -> None:
        if not self._quiet:
            # Erases the rest of a longer line.
            erased = "\x1b[K" if self._terminal else ""
            end = "\n" if stays or not self._terminal else "\r"
            tell(text, f"{erased}{end}")

    def piece(self, samples: int, piece: Audio) -> None:
        self._heard += sum(_letters(timing.text) for timing in piece.words or piece.tokens)
        share = min(1.0, self._heard / self._letters)
        taken = time.perf_counter() - self._start
        self._line = f"{samples / self._rate:.2f} s of audio in {taken:.2f} s on {self._threads} threads"
        self.show(f"{share:4.0%}  {self._line}", stays=False)

    def chapter(self, found: Any) -> None:
        """Shows how far a book is."""
        left = "" if found.seconds_left is None else f", {duration(found.seconds_left)} left"
        self.show(f"{found.share:4.0%}  {found.chapter}{left}", stays=False)

    def done(self) -> None:
        self.show(f"{self._output}: {self._line}")
