"""Decodes pieces of passages alone, and compares the level of each word with that in one pass.

python -m benchmarks.listening.windows bundles/demo

It prints figures of docs/decisions/streams.md, for windows with the statistics of the voice and without them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Annotated, NamedTuple

import numpy as np
import typer
from numpy.typing import NDArray
from rich.progress import track

from benchmarks.listening.recogniser import VOICES
from benchmarks.listening.sound import k_weighted, level
from benchmarks.listening.streams import read_paragraphs, words_of
from runtime_min import Bundle
from runtime_min.format.signatures import SAMPLES_PER_FRAME, STAGE_NAMES
from runtime_min.model.statistics import voice_statistics
from runtime_min.model.synthesiser import Prepared, Synthesiser, Utterance
from runtime_min.model.voices import style_row
from runtime_min.speech import passes

Words = Sequence[tuple[int, int]]
"""Offsets of the first phoneme of each word, and of the one after its last."""
_LONGEST = 505
"""Phonemes of a passage, of about as many frames for each of `_FRAMES`."""
_FRAMES = 400
_KINDS = ("statistics of the voice", "energy and gain")


class Passage(NamedTuple):
    """A passage as one pass reads and speaks it."""

    prepared: Prepared
    read: passes.Pass
    words: Words
    sound: NDArray[np.float64]
    """Samples, weighted as loudness is."""


class Found(NamedTuple):
    """What one window is like."""

    frames: int
    off: list[float]
    """By how many dB each word differs from the same in one pass."""


def read_passage(bundle: Bundle, synthesiser: Synthesiser, phonemes: str, voice: str) -> Passage:
    """Reads a passage, and speaks it in one pass."""
    style = style_row(bundle.voice_tables, voice, len(phonemes))
    prepared = synthesiser.prepare(Utterance(phonemes, style, 1.0, 0))
    sound = k_weighted(synthesiser.decode(prepared, 0, int(prepared.starts[-1])))
    statistics = voice_statistics(bundle.statistics, bundle.voice_tables, voice)
    read = passes.Pass(0, len(phonemes), ((0, len(phonemes)),), style)
    return Passage(prepared._replace(statistics=statistics), read, find_words(phonemes), sound)


def passages(bundle: Bundle, voice: str) -> Iterator[str]:
    """Yields the phonemes of paragraphs, joined as long as one pass holds them."""
    joined = ""
    for text in read_paragraphs():
        phonemes = "".join(f"{word.phonemes}{word.whitespace}" for word in words_of(bundle, text, voice))
        if joined and len(joined) + len(phonemes) > _LONGEST:
            yield joined.strip()
            joined = ""
        joined += phonemes.strip() + " "
    yield joined.strip()


def find_words(phonemes: str) -> Words:
    """Returns each run of phonemes between marks and spaces."""
    letters = [place for place, phoneme in enumerate(phonemes) if phoneme.isalpha()]
    firsts = [place for place in letters if place - 1 not in letters]
    ends = [place + 1 for place in letters if place + 1 not in letters]
    return list(zip(firsts, ends, strict=True))


def pieces(passage: Passage, size: int) -> Iterator[Words]:
    """Yields runs of words that have `size` frames or a little more."""
    starts, group = passage.prepared.starts, list[tuple[int, int]]()
    for word in passage.words:
        group.append(word)
        if starts[word[1] + 1] - starts[group[0][0] + 1] >= size:
            yield group
            group = []


def decode(synthesiser: Synthesiser, passage: Passage, words: Words, kind: str) -> Found:
    """Decodes a piece alone."""
    prepared, starts = passage.prepared, passage.prepared.starts
    if kind != _KINDS[0]:
        prepared = prepared._replace(statistics=None)
    window = passes.find_window(prepared, passage.read, words[0][0], words[-1][1])
    first, last = int(starts[window.first]), int(starts[window.last])
    sound = k_weighted(window.gain * synthesiser.decode(prepared, first, last))

    def level_of(sound: NDArray[np.float64], word: tuple[int, int], first: int) -> float:
        begin, end = (SAMPLES_PER_FRAME * (int(starts[at + 1]) - first) for at in word)
        return level(sound[begin:end])

    return Found(
        last - first, [level_of(sound, word, first) - level_of(passage.sound, word, 0) for word in words]
    )


def main(
    path: Annotated[Path, typer.Argument(metavar="BUNDLE", help="A bundle of the real voice.")],
    most: Annotated[int, typer.Option(help="Passages of each voice.", min=1)] = 3,
    sizes: Annotated[list[int] | None, typer.Option(help="Frames of words in a piece.")] = None,
) -> None:
    """Print how far words of pieces that are decoded alone are from their level in one pass."""
    # Also where the runtime would not use them.
    passes.LARGE_PIECE = 1 << 30
    with Bundle.load(path) as bundle:
        synthesiser = Synthesiser(
            {name: bundle.stage(name) for name in STAGE_NAMES}, bundle.manifest.vocabulary
        )
        found = [
            read_passage(bundle, synthesiser, phonemes, voice)
            for voice in track(VOICES, "one pass of each")
            for phonemes in islice(passages(bundle, voice), most)
        ]
        for size in sizes or [15, 45, 100, 200, 400]:
            for kind in _KINDS:
                results = [
                    decode(synthesiser, passage, words, kind)
                    for passage in track(found, f"{size} frames, {kind}", transient=True)
                    for words in islice(pieces(passage, size), max(1, _FRAMES // size))
                ]
                values = np.abs([off for each in results for off in each.off])
                typer.echo(
                    f"{size} frames, {kind}: {np.mean(values <= 0.5):.0%} of {len(values)} words to 0.5 dB, "
                    f"RMS {np.sqrt(np.mean(values**2)):.2f} dB, largest {values.max():.1f} dB, "
                    f"{np.mean([each.frames for each in results]):.0f} frames"
                )


if __name__ == "__main__":
    typer.run(main)
