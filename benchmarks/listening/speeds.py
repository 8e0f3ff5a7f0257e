"""Counts the words that a recogniser gets wrong at each speed, of the model and of stretched speech.

python -m benchmarks.listening.speeds bundles/kokoro
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

import typer
from rich.progress import track

from benchmarks.listening.recogniser import VOICES, Recogniser, normalised, read_sentences, words_wrong
from exporter.measure.figure_table import FigureTable
from runtime_min import Bundle
from runtime_min.engine.machine import processor_name

SPEEDS = (0.5, 0.6, 0.75, 1.0, 1.1, 1.25, 1.5, 2.0, 3.0, 4.0)
HEAD = ("speed", "a bundle's own choice", "the model alone", "length, a bundle's", "length, the model's")


def main(
    path: Annotated[Path, typer.Argument(metavar="BUNDLE")],
    sentences: Annotated[int, typer.Option(help="Number of sentences, of 100.", min=1, max=100)] = 20,
    output: Annotated[Path, typer.Option(help="Page to write.")] = Path("docs/measured/speeds.md"),
) -> None:
    """Compare how well a recogniser understands fast and slow speech."""
    recogniser, texts = Recogniser(), read_sentences()[:sentences]
    count = len(VOICES) * sum(len(normalised(text)) for text in texts)
    rows = []
    with Bundle.load(path) as bundle:
        plain = {(voice, text): bundle.synthesize(text, voice).duration for voice in VOICES for text in texts}
        for speed in track(SPEEDS):
            wrong, lengths = [0, 0], [0.0, 0.0]
            for (voice, text), seconds in plain.items():
                for place, stretch in enumerate((True, False)):
                    audio = bundle.synthesize(text, voice, speed=speed, stretch=stretch)
                    wrong[place] += words_wrong(normalised(text), recogniser.words(audio.samples))
                    lengths[place] += audio.duration * speed / seconds / len(plain)
            shares = [f"{100 * each / count:.1f} %" for each in wrong]
            rows.append((f"{speed:g}", *shares, *(f"{each:.2f}" for each in lengths)))
    table = FigureTable("Words wrong by speed", HEAD, tuple(rows)).markdown()
    output.write_text(
        f"""# Fast and slow speech, heard by a recogniser

`python -m benchmarks.listening.speeds` wrote this page on {time.strftime("%Y-%m-%d")}, {processor_name()}:
{len(texts)} sentences of {", ".join(VOICES)}, {bundle.manifest.precision}. A bundle's own choice is a stretch
in time below 0.6 and above 1.1. Lengths are the means of single sentences: 1 is the length at speed 1 divided
by the speed. pocketsphinx misses words of people too, so compare the figures with each other only.

{table}
""",
        encoding="utf-8",
    )
    typer.echo(f"saved {output}")


if __name__ == "__main__":
    typer.run(main)
