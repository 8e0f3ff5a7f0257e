"""Decodes windows of paragraphs in PyTorch with other statistics in the decoder's instance norms.

python -m benchmarks.listening.norms bundles/demo

It prints figures of docs/decisions/streams.md: levels of words in a window against those in one pass.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
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
from benchmarks.listening.streams import PARAGRAPHS
from exporter.model.checkpoint import load
from exporter.model.voice_packs import official_voices
from runtime_min import Bundle
from runtime_min.format.signatures import SAMPLES_PER_FRAME

Statistics = Mapping[str, tuple[torch.Tensor, torch.Tensor]]
"""Mean and mean square of each channel, ``[1, channels, 1]``, by the name of the norm."""
_MARKS = frozenset(' ,.!?;:—…"“”()')
_WINDOWS = 6
"""Windows of each paragraph that are decoded, its first ones."""


@dataclass
class Paragraph:
    """A paragraph as one pass reads and speaks it."""

    voice: str
    inputs: tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]
    """asr ``[1, 512, m]``, F0 and N ``[1, 2 * m]``, the decoder's half of the style ``[1, 128]``."""
    words: list[tuple[int, int]]
    """First frame of each word, and the frame after its last."""
    statistics: dict[str, tuple[torch.Tensor, torch.Tensor]] = field(default_factory=dict)
    sound: NDArray[np.float64] = field(default_factory=lambda: np.zeros(0))
    """Its samples, weighted as loudness is."""

    @property
    def frames(self) -> int:
        """The number of frames of 25 ms."""
        return int(self.inputs[0].shape[2])


class Decoder:
    """kokoro's decoder, whose norms record their statistics, or take others."""

    def __init__(self, model: Any) -> None:
        """Takes a model, and replaces the function of its class of norms."""
        self._decoder = model.decoder
        self._names = {module: name for name, module in self._norms()}
        self._given: Statistics | None = None
        self._found: dict[str, tuple[torch.Tensor, torch.Tensor]] = {}

    def _norms(self) -> Iterator[tuple[str, Any]]:
        for name, module in self._decoder.named_modules():
            if isinstance(module, AdaIN1d):
                yield name, module

    @contextmanager
    def installed(self) -> Iterator[None]:
        """Has the norms of all models ask this object while the context lasts."""
        original = AdaIN1d.forward
        AdaIN1d.forward = lambda norm, x, style: self._normalise(norm, x, style)
        try:
            yield
        finally:
            AdaIN1d.forward = original

    def _normalise(self, norm: Any, x: torch.Tensor, style: torch.Tensor) -> torch.Tensor:
        gamma, beta = norm.fc(style).unsqueeze(-1).chunk(2, 1)
        mean, square = x.mean(-1, keepdim=True), (x * x).mean(-1, keepdim=True)
        name = self._names.get(norm)
        if name is not None:
            self._found[name] = mean, square
            if self._given is not None:
                mean, square = self._given[name]
        deviation = torch.sqrt((square - mean * mean).clamp(min=0) + norm.norm.eps)
        result: torch.Tensor = (1 + gamma) * ((x - mean) / deviation) + beta
        return result

    def decode(
        self, paragraph: Paragraph, start: int, end: int, given: Statistics | None = None
    ) -> tuple[NDArray[np.float64], dict[str, tuple[torch.Tensor, torch.Tensor]]]:
        """Returns the weighted sound of some frames, and the statistics that the norms found in them."""
        asr, f0, energy, style = paragraph.inputs
        torch.manual_seed(0)
        self._given, self._found = given, {}
        curves = (each[:, 2 * start : 2 * end] for each in (f0, energy))
        samples = self._decoder(asr[:, :, start:end], *curves, style).squeeze().numpy()
        self._given = None
        return k_weighted(samples), self._found


def read(model: Any, ids: torch.Tensor, row: torch.Tensor) -> tuple[tuple[torch.Tensor, ...], list[int]]:
    """Returns the decoder's inputs of a passage, and the frames of each token; as kokoro's `KModel` does.

    Args:
        model: kokoro's.
        ids: int64 ``[1, tokens]`` with the boundary tokens.
        row: the voice's row of this length, ``[1, 256]``.
    """
    lengths, mask = torch.tensor([ids.shape[1]]), torch.zeros(ids.shape, dtype=torch.bool)
    hidden = model.bert_encoder(model.bert(ids, attention_mask=(~mask).int())).transpose(-1, -2)
    prosody = row[:, 128:]
    encoding = model.predictor.text_encoder(hidden, prosody, lengths, mask)
    steps = torch.sigmoid(model.predictor.duration_proj(model.predictor.lstm(encoding)[0])).sum(-1)
    durations = steps.round().clamp(min=1).long()[0]
    places = torch.repeat_interleave(torch.arange(ids.shape[1]), durations)
    f0, energy = model.predictor.F0Ntrain(encoding.transpose(-1, -2)[:, :, places], prosody)
    asr = model.text_encoder(ids, lengths, mask)[:, :, places]
    return (asr, f0, energy, row[:, :128]), durations.tolist()


def find_words(phonemes: str, durations: list[int]) -> list[tuple[int, int]]:
    """Returns the frames of each run of phonemes between marks and spaces."""
    found: list[tuple[int, int]] = []
    at, inside = durations[0], False
    for phoneme, frames in zip(phonemes, durations[1:], strict=False):
        if phoneme not in _MARKS:
            found = [*found[:-1], (found[-1][0], at + frames)] if inside else [*found, (at, at + frames)]
        inside = phoneme not in _MARKS
        at += frames
    return found


def read_paragraphs(
    bundle: Bundle, count: int, decoder: Decoder, model: Any, vocabulary: Mapping[str, int]
) -> list[Paragraph]:
    """Returns paragraphs, each as one of four voices speaks it in one pass."""
    texts = [line for line in PARAGRAPHS.read_text("utf-8").splitlines() if not line.startswith("#")][:count]
    packs, made = official_voices(), []
    for number, text in enumerate(track(texts, "one pass of each")):
        voice = VOICES[number % 4]
        words = bundle.find_g2p("en-gb" if voice.startswith("b") else "en-us")[1](text)
        assert not isinstance(words, str)
        said = "".join(f"{word.phonemes}{word.whitespace}" for word in words).strip()
        said = "".join(phoneme for phoneme in said if phoneme in vocabulary)
        ids = torch.tensor([[0, *(vocabulary[phoneme] for phoneme in said), 0]])
        row = torch.tensor(packs[voice][len(said) - 1]).reshape(1, 256).float()
        inputs, durations = read(model, ids, row)
        paragraph = Paragraph(voice, inputs, find_words(said, durations))  # type: ignore[arg-type]
        paragraph.sound, paragraph.statistics = decoder.decode(paragraph, 0, paragraph.frames)
        made.append(paragraph)
    return made


def mean_statistics(paragraphs: list[Paragraph]) -> Statistics:
    """Returns the statistics of all frames of some paragraphs."""
    total = sum(each.frames for each in paragraphs)
    shares = [each.frames / total for each in paragraphs]

    def mean(name: str, which: int) -> torch.Tensor:
        parts = (share * each.statistics[name][which] for share, each in zip(shares, paragraphs, strict=True))
        result: torch.Tensor = sum(parts, start=torch.zeros(1))
        return result

    return {name: (mean(name, 0), mean(name, 1)) for name in paragraphs[0].statistics}


def windows(paragraph: Paragraph, size: int) -> Iterator[list[tuple[int, int]]]:
    """Yields runs of words that have `size` frames or a little more."""
    group: list[tuple[int, int]] = []
    for word in paragraph.words:
        group.append(word)
        if word[1] - group[0][0] >= size:
            yield group
            group = []
    if group:
        yield group


def differences(
    decoder: Decoder,
    paragraph: Paragraph,
    group: list[tuple[int, int]],
    beside: int,
    given: Statistics | None,
) -> list[float]:
    """Returns by how many dB each word of a window differs from the same in one pass."""
    start, end = max(0, group[0][0] - beside), min(paragraph.frames, group[-1][1] + beside)
    sound, _ = decoder.decode(paragraph, start, end, given)

    def part(samples: NDArray[np.float64], word: tuple[int, int], first: int) -> NDArray[np.float64]:
        return samples[(word[0] - first) * SAMPLES_PER_FRAME : (word[1] - first) * SAMPLES_PER_FRAME]

    return [level(part(sound, word, start)) - level(part(paragraph.sound, word, 0)) for word in group]


Given = Callable[[list[Paragraph], Paragraph], Statistics | None]


def _of_voice(count: int) -> Given:
    """Returns the statistics of other paragraphs of the same voice."""

    def found(paragraphs: list[Paragraph], one: Paragraph) -> Statistics:
        others = (each for each in paragraphs if each is not one and each.voice == one.voice)
        return mean_statistics([*islice(others, count)])

    return found


_KINDS: dict[str, Given] = {
    "the window's own": lambda paragraphs, one: None,
    "the pass's": lambda paragraphs, one: one.statistics,
    "the voice's": _of_voice(7),
}


@torch.no_grad()
def main(
    path: Annotated[Path, typer.Argument(metavar="BUNDLE", help="A bundle, for its phonemes.")],
    paragraphs: Annotated[int, typer.Option(help="Number of paragraphs, of 32.", min=8, max=32)] = 32,
    frames: Annotated[list[int] | None, typer.Option(help="Frames of words in a window.")] = None,
    beside: Annotated[int, typer.Option(help="Frames beside them.", min=0)] = 8,
) -> None:
    """Print how far words in windows are from their level in one pass."""
    checkpoint = load("packages")
    decoder = Decoder(checkpoint.model)
    with Bundle.load(path) as bundle, decoder.installed():
        found = read_paragraphs(bundle, paragraphs, decoder, checkpoint.model, checkpoint.vocabulary)
        for size in frames or [45, 15]:
            for kind, given in _KINDS.items():
                off: list[float] = []
                for one in track(found, kind, transient=True):
                    statistics = given(found, one)
                    for group in islice(windows(one, size), _WINDOWS):
                        off += differences(decoder, one, group, beside, statistics)
                values = np.abs(off)
                typer.echo(
                    f"{size} frames, {kind}: {np.mean(values <= 0.5):.0%} of the words within 0.5 dB, "
                    f"RMS {np.sqrt(np.mean(values**2)):.2f} dB, largest {values.max():.1f} dB"
                )


if __name__ == "__main__":
    typer.run(main)
