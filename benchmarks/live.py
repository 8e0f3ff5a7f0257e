"""Measures how soon a bundle speaks text that a language model is still writing.

    python -m benchmarks.live bundles/kokoro

Each text arrives in pieces of four characters, 30 a second. The first audio is timed from the moment at which
the last character of the first clause was there, so waiting for the word after it counts.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from benchmarks.listening.streams import read_paragraphs
from exporter.measure.figure_table import FigureTable
from runtime_min import Bundle
from runtime_min.engine.machine import processor_name
from runtime_min.text.arriving import ArrivingText

REPORT = Path("docs/measured/live.md")
CHARACTERS = 4
"""Of a token, which is about the mean of English text."""
TOKENS_A_SECOND = 30
TEXTS = 20
HEAD = (
    "voice",
    "after the clause, median",
    "slowest",
    "after the word behind it, median",
    "computing alone, median",
)


class FirstAudio(NamedTuple):
    """How soon a text was heard, in seconds."""

    after_clause: float
    """From the moment at which its first clause was complete."""
    after_certain: float
    """From the moment at which the word behind the clause showed that it was."""
    computing: float
    """That of the same phonemes, given at once."""


class Writer:
    """Writes a text as a language model does, and remembers when each character was there."""

    def __init__(self, text: str) -> None:
        self._text = text
        self.times: list[float] = []

    def __iter__(self) -> Iterator[str]:
        begun = time.perf_counter()
        for number, start in enumerate(range(0, len(self._text), CHARACTERS)):
            time.sleep(max(0.0, begun + number / TOKENS_A_SECOND - time.perf_counter()))
            piece = self._text[start : start + CHARACTERS]
            self.times += [time.perf_counter()] * len(piece)
            yield piece


def first_clause(text: str) -> tuple[int, int]:
    """Returns where the first clause or sentence that is spoken alone ends, and where that is certain."""
    arriving = ArrivingText()
    for certain, character in enumerate(text, 1):
        for run in arriving.push(character):
            return len(run.text.rstrip()), certain
    return len(text), len(text)


def first_audio(bundle: Bundle, text: str, voice: str) -> FirstAudio:
    """Speaks a text that arrives bit by bit up to its first piece, and that piece again at once."""
    writer = Writer(text)
    with bundle.stream(writer, voice) as stream:
        piece = next(iter(stream))
        heard = time.perf_counter()
    complete, certain = first_clause(text)
    begun = time.perf_counter()
    bundle.synthesize(phonemes=piece.phonemes, voice=voice, trim=True)
    computing = time.perf_counter() - begun
    return FirstAudio(heard - writer.times[complete - 1], heard - writer.times[certain - 1], computing)


def main() -> None:
    """Times the first audio of each voice, and writes the report."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("bundle", type=Path)
    parser.add_argument("--arithmetic", help="arithmetic of the decoder (default: float32)")
    parser.add_argument("--output", type=Path, default=REPORT)
    options = parser.parse_args()
    texts = read_paragraphs()
    rows = []
    with Bundle.load(options.bundle, arithmetic=options.arithmetic) as bundle:
        for voice in ("af_heart", "bm_george"):
            # The first text warms everything up.
            found = [first_audio(bundle, text, voice) for text in texts[: TEXTS + 1]][1:]
            after = [each.after_clause for each in found]
            shown = (
                statistics.median(after),
                max(after),
                statistics.median(each.after_certain for each in found),
                statistics.median(each.computing for each in found),
            )
            rows.append((voice, *(f"{1000 * seconds:.0f} ms" for seconds in shown)))
    table = FigureTable("First audio", HEAD, tuple(rows)).markdown()
    options.output.write_text(
        f"""# First audio of text that arrives bit by bit

`python -m benchmarks.live` wrote this page on {time.strftime("%Y-%m-%d")}: {processor_name()}, two cores.
{TEXTS} paragraphs arrive in pieces of {CHARACTERS} characters, {TOKENS_A_SECOND} a second. The times are
from the moment at which the first clause, or sentence, is there to its samples, and from the moment at which
the word behind it shows that it is complete: it is read with that word. The goal is 250 ms.

{table}
""",
        encoding="utf-8",
    )


if __name__ == "__main__":
    main()
