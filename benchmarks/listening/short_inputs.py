"""One and two words alone, beside the same words within a text, of every English voice.

python -m benchmarks.listening.short_inputs bundles/demo

Rows of a voice belong to numbers of phonemes. Each input is spoken with its own row and with those of longer
ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, NamedTuple

import numpy as np
import typer
from rich.progress import track

from benchmarks.listening.recogniser import Recogniser, normalised
from benchmarks.listening.sound import MARKS, cut, k_weighted, level
from runtime_min import Audio, Bundle
from runtime_min.speech.timing import Timing
from runtime_min.speech.words import Word

INPUTS = ("Yes.", "Hello there.")
CARRIER = "We waited for a while, and nobody came. {} Then the door was opened, and we went in."
ROWS = (None, 30, 100)
"""Phonemes of the row; None is the input's own number."""


class Heard(NamedTuple):
    """An input beside the same words within a text."""

    duration: float
    """Ratio of the durations of its words."""
    level: float
    """Difference of their levels, in dB."""
    understood: bool


def main(
    path: Annotated[Path, typer.Argument(metavar="BUNDLE", help="A bundle of the real voice.")],
    voices: Annotated[int, typer.Option(help="Number of voices.", min=1)] = 100,
) -> None:
    """Print a table of short inputs."""
    recogniser = Recogniser()
    found: dict[tuple[str, int | None], list[Heard]] = {}
    with Bundle.load(path) as bundle:
        english = [voice for voice in bundle.voices if (voice.language or "").startswith("en")][:voices]
        for voice in track(english, "voices"):
            g2p = bundle.find_g2p(voice.language or "")[1]
            for text in INPUTS:
                words, carrier = g2p(text), g2p(CARRIER.format(text))
                assert not isinstance(words, str) and not isinstance(carrier, str)
                whole = bundle.synthesize(phonemes=carrier, voice=voice)
                for row in ROWS:
                    style = voice if row is None else bundle.voice_tables[voice][row - 1 : row]
                    alone = bundle.synthesize(phonemes=words, voice=style)
                    found.setdefault((text, row), []).append(_heard(recogniser, text, words, alone, whole))
    typer.echo(_table(found, len(english)))


def _heard(recogniser: Recogniser, text: str, words: Sequence[Word], alone: Audio, whole: Audio) -> Heard:
    spoken = [word.text for word in words if word.text not in MARKS]
    texts = [word.text for word in whole.words]
    first = next(at for at in range(len(texts)) if texts[at : at + len(spoken)] == spoken)
    sides = []
    for audio, start in ((alone, 0), (whole, first)):
        own = audio.words[start : start + len(spoken)]
        span = Timing("", own[0].start, own[-1].end)
        sides.append((span.end - span.start, level(cut(k_weighted(audio.samples), span))))
    understood = recogniser.words(alone.samples) == normalised(text)
    return Heard(sides[0][0] / sides[1][0], sides[0][1] - sides[1][1], understood)


def _table(found: dict[tuple[str, int | None], list[Heard]], voices: int) -> str:
    lines = [
        "| input | row | duration: mean, SD | level: mean, SD | understood |",
        "| --- | ---: | ---: | ---: | ---: |",
    ]
    for (text, row), each in found.items():
        durations, levels, understood = (np.array(values) for values in zip(*each, strict=True))
        lines.append(
            f"| {text} | {row or 'own'} | {durations.mean():.2f}, {durations.std():.2f} | "
            f"{levels.mean():+.1f}, {levels.std():.1f} dB | {understood.sum()} of {voices} |"
        )
    return "\n".join(lines)


if __name__ == "__main__":
    typer.run(main)
