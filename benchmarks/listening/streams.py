"""Compares streams with one pass: durations and loudness of words, pitch, pauses, and the words understood.

python -m benchmarks.listening.streams bundles/demo --results streams.jsonl

Each paragraph is spoken by one of four voices at one of three speeds, in turn; `--all` speaks each by all.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise, product
from pathlib import Path
from typing import Annotated, NamedTuple

import numpy as np
import typer
from rich.progress import track

from benchmarks.listening.recogniser import VOICES, Recogniser, normalised, words_wrong
from benchmarks.listening.sound import LEAD, MARKS, cut, k_weighted, level, phrase_end
from exporter.bundle.loudness import loudness
from runtime_min import Audio, Bundle
from runtime_min.speech.timing import Timing
from runtime_min.speech.words import Word

PARAGRAPHS = Path(__file__).with_name("paragraphs.txt")
"""Paragraphs and dialogue, one a line, whose words pocketsphinx knows."""
SPEEDS = (1.0, 0.8, 1.2)


class Case(NamedTuple):
    """A paragraph as one voice speaks it at one speed."""

    text: str
    voice: str
    speed: float
    words: Sequence[Word]
    whole: Audio


class Comparison(NamedTuple):
    """A stream beside one pass of the same words; differences are the stream's minus those of one pass."""

    length: float
    """Ratio of the lengths."""
    first_length: float
    """Ratio of the lengths of the first piece's words."""
    durations: list[float]
    """Ratio of the durations of each word."""
    levels: list[float]
    """Difference of the levels of each word, in dB."""
    pieces: list[float]
    """Difference of the loudness of each piece, in LU."""
    pauses: list[float]
    """Difference of the pauses at joins, in seconds."""
    pitches: list[tuple[float, float]]
    """Difference of the pitch at ends of phrases, in semitones, and of its slope, in semitones a second."""
    wrong: int
    """Words that the recogniser gets wrong,"""
    wrong_in_one_pass: int
    words: int
    """and the number of all words."""
    worst: str
    """The word whose level differs most."""


def main(
    path: Annotated[Path, typer.Argument(metavar="BUNDLE", help="A bundle of the real voice.")],
    results: Annotated[Path, typer.Option(help="Figures of each paragraph; those that it has are kept.")],
    paragraphs: Annotated[int, typer.Option(help="Number of paragraphs, of 32.", min=1, max=32)] = 32,
    everything: Annotated[bool, typer.Option("--all", help="Every voice and speed for each.")] = False,
    threads: Annotated[int, typer.Option(help="Threads that compute.")] = 1,
) -> None:
    """Print a table of streams beside one pass."""
    recogniser = Recogniser()
    done = read_results(results)
    with Bundle.load(path, threads=threads) as bundle:
        total = paragraphs * (len(VOICES) * len(SPEEDS) if everything else 1)
        for number, text, voice, speed in track(_cases(paragraphs, everything), "speaking", total):
            if (number, voice, speed) in done:
                continue
            words = words_of(bundle, text, voice)
            whole = bundle.synthesize(phonemes=words, voice=voice, speed=speed)
            pieces = [*bundle.pieces(phonemes=words, voice=voice, speed=speed, trim=False)]
            found = compare(Case(text, voice, speed, words, whole), pieces, recogniser)
            done[number, voice, speed] = found
            with results.open("a", encoding="utf-8") as file:
                file.write(json.dumps([number, voice, speed, *found]) + "\n")
        typer.echo(table([*done.values()]))
        largest = sorted((max(map(abs, one.levels)), one.worst, key) for key, one in done.items())[-5:]
        for difference, word, key in largest:
            typer.echo(f"{difference:.1f} dB: {word!r} of {key}")
        for one_pass in (False, True):
            seconds = _first_audio(bundle, one_pass)
            typer.echo(f"one_pass={one_pass}: {seconds:.3f} s of processor time before the first audio")


def read_results(path: Path) -> dict[tuple[int, str, float], Comparison]:
    """Returns the figures of a file by paragraph, voice and speed; none if it is not there."""
    lines = path.read_text("utf-8").splitlines() if path.exists() else []
    return {
        (number, voice, speed): Comparison(*found) for number, voice, speed, *found in map(json.loads, lines)
    }


def read_paragraphs() -> list[str]:
    """Returns the paragraphs."""
    return [line for line in PARAGRAPHS.read_text("utf-8").splitlines() if not line.startswith("#")]


def words_of(bundle: Bundle, text: str, voice: str) -> Sequence[Word]:
    """Returns the words of a text, as the voice's kind of English says them."""
    words = bundle.find_g2p("en-gb" if voice.startswith("b") else "en-us")[1](text)
    assert not isinstance(words, str)
    return words


def _cases(paragraphs: int, everything: bool) -> Iterator[tuple[int, str, str, float]]:
    """Yields paragraphs, each with its number, voice and speed."""
    for number, text in enumerate(read_paragraphs()[:paragraphs]):
        turn = [(VOICES[number % 4], SPEEDS[number // 4 % 3])]
        for voice, speed in product(VOICES, SPEEDS) if everything else turn:
            yield number, text, voice, speed


def compare(case: Case, pieces: Sequence[Audio], recogniser: Recogniser) -> Comparison:
    """Returns the figures of a stream's pieces beside one pass."""
    joined, whole = Audio.join(pieces), case.whole
    sounds = k_weighted(joined.samples), k_weighted(whole.samples)
    spans = [pair for pair in zip(joined.words, whole.words, strict=True) if pair[0].text not in MARKS]
    durations = [(one.end - one.start) / (other.end - other.start) for one, other in spans]
    levels = [level(cut(sounds[0], one)) - level(cut(sounds[1], other)) for one, other in spans]
    louder, firsts, pauses, place = [], [], [], 0
    for piece in pieces:
        tokens = slice(place, place := place + len(piece.phonemes))
        one, other = (
            Timing("", side.tokens[tokens][0].start, side.tokens[tokens][-1].end) for side in (joined, whole)
        )
        firsts.append((one.end - one.start) / (other.end - other.start))
        measured = [loudness(cut(side.samples, span)) for side, span in ((joined, one), (whole, other))]
        if None not in measured:
            louder.append((measured[0] - measured[1]) / 100)  # type: ignore[operator]
        if place < len(whole.tokens):
            pauses.append(_pause(joined.tokens, place) - _pause(whole.tokens, place))
    ends = [
        (phrase_end(joined.samples, one.end + LEAD), phrase_end(whole.samples, other.end + LEAD))
        for (one, other), (mark, _) in pairwise(spans)
        if whole.tokens and _marked(whole, other, mark)
    ]
    pitches = [(one[0] - other[0], one[1] - other[1]) for one, other in ends if one and other]
    wrong = [words_wrong(normalised(case.text), recogniser.words(each.samples)) for each in (joined, whole)]
    length = len(joined.samples) / len(whole.samples)
    worst = spans[int(np.argmax(np.abs(levels)))][0].text
    figures = (durations, levels, louder, pauses, pitches)
    return Comparison(length, firsts[0], *figures, wrong[0], wrong[1], len(normalised(case.text)), worst)


def _marked(audio: Audio, word: Timing, following: Timing) -> bool:
    """Returns whether a mark comes between two words."""
    between = (token for token in audio.tokens if word.end - 0.01 <= token.start < following.end)
    return any(token.text in MARKS for token in between)


def _pause(tokens: Sequence[Timing], place: int) -> float:
    """Returns the seconds of marks and spaces around the border before a token."""
    first = last = place
    while first > 0 and not tokens[first - 1].text.isalpha():
        first -= 1
    while last < len(tokens) and not tokens[last].text.isalpha():
        last += 1
    return tokens[min(last, len(tokens) - 1)].start - tokens[first].start


def _first_audio(bundle: Bundle, one_pass: bool) -> float:
    """Returns the processor time before the first piece of a paragraph, the least of five."""
    words = words_of(bundle, read_paragraphs()[0], VOICES[0])
    found = []
    for _ in range(5):
        start = time.process_time()
        next(bundle.pieces(phonemes=words, voice=VOICES[0], one_pass=one_pass))
        found.append(time.process_time() - start)
    return min(found)


def table(found: list[Comparison]) -> str:
    """Returns the figures of all paragraphs as a table."""
    rows: dict[str, Callable[[list[Comparison]], str]] = {
        "length: mean; largest difference": lambda each: _ratio([one.length for one in each]),
        "length of the first piece": lambda each: _ratio([one.first_length for one in each]),
        "words within 12 % of their duration": lambda each: _share(
            each, "durations", lambda x: abs(x - 1) <= 0.12
        ),
        "words within 0.5 dB of their level": lambda each: _share(each, "levels", lambda x: abs(x) <= 0.5),
        "levels of words: RMS; largest": lambda each: _spread([x for one in each for x in one.levels], "dB"),
        "pieces: RMS; largest": lambda each: _spread([x for one in each for x in one.pieces], "LU"),
        "first pieces: mean": lambda each: (
            f"{np.mean([one.pieces[0] for one in each if one.pieces]):+.2f} LU"
        ),
        "pauses at joins: RMS; largest": lambda each: _spread([x for one in each for x in one.pauses], "s"),
        "pitch at ends of phrases": lambda each: _spread(
            [x for one in each for x, _ in one.pitches], "semitones"
        ),
        "its slope": lambda each: _spread([x for one in each for _, x in one.pitches], "semitones/s"),
        "words wrong": lambda each: _wrong(each, [one.wrong for one in each]),
        "words wrong in one pass": lambda each: _wrong(each, [one.wrong_in_one_pass for one in each]),
    }
    lines = ["| | stream |", "| --- | ---: |", *(f"| {name} | {row(found)} |" for name, row in rows.items())]
    return "\n".join([*lines, "", f"paragraphs: {len(found)}"])


def _wrong(each: list[Comparison], wrong: Sequence[int]) -> str:
    return f"{100 * sum(wrong) / sum(one.words for one in each):.1f} %"


def _ratio(values: Sequence[float]) -> str:
    return f"{100 * np.mean(values) - 100:+.1f} %; {100 * np.max(np.abs(np.array(values) - 1)):.1f} %"


def _share(each: list[Comparison], name: str, holds: Callable[[float], bool]) -> str:
    values = [holds(value) for one in each for value in getattr(one, name)]
    return f"{100 * np.mean(values):.0f} %"


def _spread(values: Sequence[float], unit: str) -> str:
    if not values:
        return ""
    array = np.array(values)
    return f"{np.sqrt(np.mean(array**2)):.2f}; {np.abs(array).max():.2f} {unit}"


if __name__ == "__main__":
    typer.run(main)
