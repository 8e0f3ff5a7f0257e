"""Decodes windows of paragraphs in PyTorch with other statistics in the decoder's instance norms.

python -m benchmarks.listening.norms bundles/demo

It prints figures of docs/decisions/streams.md: levels of words in a window against those in one pass.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import torch
import typer
from kokoro.istftnet import AdaIN1d
from numpy.typing import NDArray
from rich.progress import track

from benchmarks.listening.recogniser import VOICES
from benchmarks.listening.sound import k_weighted, level
from benchmarks.listening.streams import read_paragraphs, words_of
from exporter.model.checkpoint import load
from runtime_min import Bundle
from runtime_min.format.signatures import SAMPLES_PER_FRAME
from runtime_min.model.chain import Trace

Statistics = Mapping[str, torch.Tensor]
"""Mean and mean square of each channel, ``[2, 1, channels, 1]``, by the name of the norm."""
Words = Sequence[tuple[int, int]]
"""First frame of each word, and the frame after its last."""
Sound = NDArray[np.float64]
"""Samples, weighted as loudness is."""
_WINDOWS = 6
"""Windows of each paragraph that are decoded, its first ones."""
_OTHERS = 7
"""Paragraphs of a voice that give its statistics."""


@dataclass(frozen=True)
class Paragraph:
    """A paragraph as one pass reads and speaks it."""

    voice: str
    trace: Trace
    words: Words
    sound: Sound
    statistics: Statistics

    @property
    def frames(self) -> int:
        """The number of frames of 25 ms."""
        return int(self.trace.durations.sum())


class Decoder:
    """kokoro's decoder, whose norms record their statistics, or take others."""

    def __init__(self, decoder: Any) -> None:
        """Takes the decoder of a model, and hooks its norms."""
        self._decoder = decoder
        self._given: Statistics | None = None
        self._found: dict[str, torch.Tensor] = {}
        for name, module in decoder.named_modules():
            if isinstance(module, AdaIN1d):
                module.register_forward_hook(partial(self._after_norm, name))

    def _after_norm(self, name: str, norm: Any, inputs: tuple[Any, ...], output: Any) -> torch.Tensor | None:
        """Takes the place of a norm's output if statistics are given."""
        x, style = inputs
        self._found[name] = torch.stack([x.mean(-1, keepdim=True), (x * x).mean(-1, keepdim=True)])
        if self._given is None:
            return None
        mean, square = self._given[name]
        gamma, beta = norm.fc(style).unsqueeze(-1).chunk(2, 1)
        deviation = torch.sqrt((square - mean * mean).clamp(min=0) + norm.norm.eps)
        replaced: torch.Tensor = (1 + gamma) * ((x - mean) / deviation) + beta
        return replaced

    def decode(
        self, trace: Trace, start: int, end: int, given: Statistics | None = None
    ) -> tuple[Sound, Statistics]:
        """Returns the sound of some frames, and the statistics that the norms found in them."""
        torch.manual_seed(0)
        self._given, self._found = given, {}
        curves = (
            trace.asr[:, :, start:end],
            *(each[:, 2 * start : 2 * end] for each in (trace.f0, trace.energy)),
        )
        samples = self._decoder(*(torch.tensor(each) for each in (*curves, trace.style.decoder)))
        return k_weighted(samples.squeeze().numpy()), self._found


def read(bundle: Bundle, decoder: Decoder, text: str, voice: str) -> Paragraph:
    """Reads a paragraph with the bundle, and speaks it in one pass with kokoro's decoder."""
    phonemes = "".join(f"{word.phonemes}{word.whitespace}" for word in words_of(bundle, text, voice)).strip()
    trace = bundle.trace(phonemes, voice)
    words = find_words(phonemes, trace.durations)
    return Paragraph(voice, trace, words, *decoder.decode(trace, 0, int(trace.durations.sum())))


def find_words(phonemes: str, durations: NDArray[np.int64]) -> Words:
    """Returns the frames of each run of phonemes between marks and spaces."""
    starts = np.cumsum(durations)[:-1].tolist()
    letters = [place for place, phoneme in enumerate(phonemes) if phoneme.isalpha()]
    firsts = [place for place in letters if place - 1 not in letters]
    lasts = [place for place in letters if place + 1 not in letters]
    return [(starts[first], starts[last + 1]) for first, last in zip(firsts, lasts, strict=True)]


def windows(words: Words, size: int) -> Iterator[Words]:
    """Yields runs of words that have `size` frames or a little more."""
    group: list[tuple[int, int]] = []
    for word in words:
        group.append(word)
        if word[1] - group[0][0] >= size:
            yield group
            group = []
    if group:
        yield group


def differences(
    decoder: Decoder, paragraph: Paragraph, words: Words, beside: int, given: Statistics | None
) -> list[float]:
    """Returns by how many dB each word of a window differs from the same in one pass."""
    first, last = max(0, words[0][0] - beside), min(paragraph.frames, words[-1][1] + beside)
    sound, _ = decoder.decode(paragraph.trace, first, last, given)

    def level_of(sound: Sound, start: int, end: int) -> float:
        return level(sound[start * SAMPLES_PER_FRAME : end * SAMPLES_PER_FRAME])

    return [
        level_of(sound, start - first, end - first) - level_of(paragraph.sound, start, end)
        for start, end in words
    ]


def _of_voice(paragraphs: list[Paragraph], one: Paragraph) -> Statistics:
    """Returns the statistics of all frames of other paragraphs of the same voice."""
    others = [each for each in paragraphs if each is not one and each.voice == one.voice][:_OTHERS]
    total = sum(each.frames for each in others)
    return {
        name: torch.stack([each.statistics[name] * (each.frames / total) for each in others]).sum(0)
        for name in one.statistics
    }


_KINDS: dict[str, Callable[[list[Paragraph], Paragraph], Statistics | None]] = {
    "the window's own": lambda paragraphs, one: None,
    "the pass's": lambda paragraphs, one: one.statistics,
    "the voice's": _of_voice,
}


@torch.no_grad()
def main(
    path: Annotated[Path, typer.Argument(metavar="BUNDLE", help="A bundle of the real voice.")],
    paragraphs: Annotated[int, typer.Option(help="Number of paragraphs, of 32.", min=8, max=32)] = 32,
    frames: Annotated[list[int] | None, typer.Option(help="Frames of words in a window.")] = None,
    beside: Annotated[int, typer.Option(help="Frames beside them.", min=0)] = 8,
) -> None:
    """Print how far words in windows are from their level in one pass."""
    decoder = Decoder(load("packages").model.decoder)
    texts = read_paragraphs()[:paragraphs]
    with Bundle.load(path) as bundle:
        found = [
            read(bundle, decoder, text, VOICES[number % len(VOICES)])
            for number, text in enumerate(track(texts, "one pass of each"))
        ]
    for size in frames or [45, 15]:
        for kind, given in _KINDS.items():
            off: list[float] = []
            for one in track(found, kind, transient=True):
                statistics = given(found, one)
                for words in islice(windows(one.words, size), _WINDOWS):
                    off += differences(decoder, one, words, beside, statistics)
            values = np.abs(off)
            typer.echo(
                f"{size} frames, {kind}: {np.mean(values <= 0.5):.0%} of the words within 0.5 dB, "
                f"RMS {np.sqrt(np.mean(values**2)):.2f} dB, largest {values.max():.1f} dB"
            )


if __name__ == "__main__":
    typer.run(main)
