"""The one judge: the figures of a bundle beside kokoro's answer, each with its limit.

Export's gate, ``validate`` and the tests judge by these functions; a self-test stores the same limits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from exporter.parity import thresholds
from exporter.parity.answers import Kokoro
from exporter.parity.decoder import Decoded, allowance, decoded
from exporter.parity.expected import (
    Distances,
    Expected,
    Spread,
    distances,
)
from exporter.parity.thresholds import Allowance
from exporter.reference.traces import Array, ModelInput
from exporter.reference.utterances import Utterance, make_request
from runtime_min import Bundle
from runtime_min.errors import ModelOutputError
from runtime_min.format.manifest import Manifest
from runtime_min.format.signatures import SAMPLES_PER_FRAME
from runtime_min.model.chain import Trace, decode
from runtime_min.model.distances import Figure, relative_maximum, relative_rms, snr
from runtime_min.model.voices import voice_table

_SHOWN_PHONEMES = 28
MOST_DECIBELS = 200.0
"""Written for equal signals, which have no finite number of decibels."""


@dataclass(frozen=True)
class Comparison:
    """All figures of one utterance."""

    utterance: Utterance
    frames: int
    """40 a second; 0 where the bundle does not speak."""
    figures: tuple[Figure, ...]
    changes: int = 0
    """Number of changes in kokoro's spread, among `exporter.parity.expected.CHANGES`."""
    level: str = ""
    """Name of the CPU level whose libraries spoke."""

    @property
    def missed(self) -> tuple[Figure, ...]:
        """The figures that are beyond their limits."""
        return tuple(figure for figure in self.figures if not figure.holds)

    @property
    def holds(self) -> bool:
        """True if every figure is within its limit."""
        return not self.missed

    def __str__(self) -> str:
        said = self.utterance
        phonemes = said.phonemes
        if len(phonemes) > _SHOWN_PHONEMES:
            phonemes = phonemes[: _SHOWN_PHONEMES - 1] + "…"
        return f"{phonemes!r} ({said.voice}, speed {said.speed:g}, seed {said.seed}) on {self.level}"


def compare(
    bundle: Bundle,
    kokoro: Kokoro,
    utterance: Utterance,
    durations: NDArray[np.int64] | None = None,
    *,
    stages: bool = True,
) -> Comparison:
    """Compares a bundle's results for an utterance with kokoro's answer.

    The comparison stops as soon as every figure is within the limits of the changes that have been made,
    because more of them only widen the limits.

    Args:
        bundle: a bundle with all stages.
        kokoro: answers for the bundle's checkpoint.
        utterance: one that the bundle can speak.
        durations: frames of each token, [tokens], in place of the predicted ones.
        stages: judge each stage on kokoro's inputs too, and not only the final waveform.

    Raises:
        ReferenceProcessError: kokoro does not run here.
    """
    said = (utterance.phonemes, utterance.voice, utterance.speed, utterance.seed)
    try:
        found = bundle.trace(*said, durations=durations)
    except ModelOutputError:
        return Comparison(utterance, 0, (finite_figure(np.full(1, np.nan)),))
    expected = kokoro.expected(request_for(bundle, utterance, durations))
    figures = [*duration_figures(found.durations, expected, durations is not None)]
    audio = found.audio
    if audio.shape != expected.audio.shape and all(figure.holds for figure in figures):
        # A half was rounded the other way, as it may be: only with equal durations can the rest be judged.
        audio = bundle.trace(*said, durations=expected.frames).audio
    figures.insert(0, finite_figure(found.audio))
    decoder = None
    if stages:
        figures += [*_text_figures(bundle, found, expected), *_f0n_figures(bundle, expected)]
        decoder = decoded(bundle, kokoro, expected, _decode(bundle, expected.decoder_inputs))
    comparable = audio.shape == expected.audio.shape and bool(np.isfinite(audio).all())
    chain = distances(audio, expected.audio) if comparable else None
    allowed = allowance(bundle)
    judged, changes = judge(
        kokoro.spreads(expected), lambda spread: spread_figures(decoder, chain, spread, allowed)
    )
    frames = expected.audio.size // SAMPLES_PER_FRAME
    return Comparison(utterance, frames, (*figures, *judged), changes)


def judge(
    spreads: Iterator[Spread], figures: Callable[[Spread], Iterable[Figure]]
) -> tuple[tuple[Figure, ...], int]:
    """Judges by the shortest spread that decides, or by the whole one.

    Limits only widen from one spread to the next, so figures that hold by one hold by all that follow.

    Args:
        spreads: spreads of one answer, the whole one last, as `Kokoro.spreads` makes them.
        figures: the figures with their limits by a spread.

    Returns:
        The figures, and how many changes their spread is of.
    """
    found: tuple[Figure, ...] = ()
    made = 0
    with closing(spreads):  # type: ignore[type-var]
        for spread in spreads:
            found, made = tuple(figures(spread)), len(spread.changes)
            if all(figure.holds for figure in found):
                break
    return found, made


def request_for(
    bundle: Bundle, utterance: Utterance, durations: NDArray[np.int64] | None = None
) -> ModelInput:
    """Looks an utterance up in the vocabulary and the voice file of a bundle that can speak it."""
    pack = voice_pack(bundle.directory, bundle.manifest, utterance.voice)
    return make_request(utterance, bundle.manifest.vocabulary, pack, durations)


def voice_pack(directory: Path, manifest: Manifest, name: str) -> NDArray[np.float32]:
    """Returns the table of a voice, [rows, columns], from the files of a bundle."""
    (voice,) = (each for each in manifest.voices if each.name == name)
    rank = manifest.voice_ranks.get(name, 0)
    return voice_table((directory / voice.file).read_bytes(), voice, rank)


def finite_figure(audio: Array) -> Figure:
    """Judges that all samples are numbers."""
    return Figure("samples are numbers", float(np.isfinite(audio).mean()), 1, at_least=True)


def duration_figures(
    found: NDArray[np.int64], expected: Expected, forced: bool = False
) -> tuple[Figure, Figure]:
    """Judges that durations are equal; those near a half may be rounded either way, and are counted."""
    near_half = near_a_half(expected.durations, expected.request.speed)
    other_way = near_half & (np.abs(found - expected.frames) == 1) & (not forced)
    wrong = (found != expected.frames) & ~other_way
    return (
        Figure("durations that differ", float(wrong.sum()), 0),
        Figure("durations rounded the other way", float(other_way.sum()), float(near_half.sum())),
    )


def near_a_half(durations: Array, speed: float) -> NDArray[np.bool_]:
    """Returns [tokens], True for unrounded durations [1, tokens] that may be rounded either way."""
    exact = durations[0] / np.float32(speed)
    near: NDArray[np.bool_] = np.abs(exact - np.floor(exact) - 0.5) < thresholds.NEAR_A_HALF
    return near


def decibel_figure(name: str, values: Array, reference: Array, least: float) -> Figure:
    """Judges a quantity on kokoro's inputs by its signal-to-noise ratio."""
    return Figure(f"{name}, dB", snr(values, reference), least, at_least=True)


def equality_figure(name: str, values: Array, reference: Array) -> Figure:
    """Judges a quantity that is only moved, never computed with."""
    return Figure(f"{name}: values that differ", float((values != reference).sum()), 0)


def text_figure(name: str, values: Array, reference: Array, exact: Array) -> Figure:
    """Judges a stage that computes on the tokens, by its greatest difference from float64 over the RMS."""
    limit = thresholds.text_limit(relative_maximum(reference, exact))
    return Figure(name, relative_maximum(values, exact), limit)


def duration_figure(name: str, values: Array, reference: Array, exact: Array) -> Figure:
    """Judges an output of the duration stage on kokoro's inputs, by greatest difference over RMS.

    It is compared with kokoro and not with float64, which differs in the inputs already.
    """
    limit = thresholds.text_limit(relative_maximum(reference, exact))
    return Figure(name, relative_maximum(values, reference), limit)


def f0n_figure(name: str, values: Array, reference: Array, exact: Array) -> Figure:
    """Judges F0 or N against float64, in units of the distance of float32 PyTorch."""
    distance = relative_rms(values, exact) / thresholds.f0n_unit(relative_rms(reference, exact))
    return Figure(f"{name}, distance from float64 over PyTorch's", distance, thresholds.F0N_UNITS)


def chain_figures(
    chain: Distances, spread: Spread, allowed: Allowance = thresholds.EXACT
) -> tuple[Figure, ...]:
    """Judges the audio of the whole chain against kokoro's own spread, and what an arithmetic may add."""
    nothing = chain.rms == 0 or spread.rms == 0
    spreads = (0.0 if chain.rms == 0 else np.inf) if nothing else chain.rms / spread.rms
    log_mel = chain.mel / spread.other_seed
    most = thresholds.CHAIN_SPREADS + (allowed.rms / spread.rms if allowed.rms and spread.rms else 0.0)
    return (
        Figure("chain, dB", chain.decibels, thresholds.chain_limit(spread, allowed), at_least=True),
        Figure("chain, distance over own spread", spreads, most),
        Figure("chain, log-mel over another seed's", log_mel, thresholds.mel_limit(spread, allowed)),
        Figure("level, dB off", chain.level, thresholds.level_limit(spread, allowed)),
    )


def spread_figures(
    decoder: Decoded | None,
    chain: Distances | None,
    spread: Spread,
    allowed: Allowance = thresholds.EXACT,
) -> Iterator[Figure]:
    """Judges the decoder's audio and the chain, where there are any, by kokoro's spread."""
    if decoder is not None:
        yield decoder.figure(spread)
    if chain is not None:
        yield from chain_figures(chain, spread, allowed)


def _text_figures(bundle: Bundle, found: Trace, expected: Expected) -> Iterator[Figure]:
    """Judges the stages along tokens."""
    exact = expected.exact_text
    inputs = {"hidden": expected.hidden, "prosody_style": expected.request.style.prosody}
    duration = bundle.stage("duration").run(inputs)
    encoding, durations = duration["encoding"], duration["durations"]
    yield text_figure("bert", found.hidden, expected.hidden, exact.hidden)
    yield duration_figure("duration encoding", encoding, expected.encoding, exact.encoding)
    yield duration_figure("durations before rounding", durations, expected.durations, exact.durations)
    yield text_figure("text_encoder", found.text, expected.text, exact.text)


def _f0n_figures(bundle: Bundle, expected: Expected) -> Iterator[Figure]:
    """Judges F0 and N on kokoro's aligned encoding."""
    style = expected.request.style.prosody
    inputs = {"aligned_encoding": expected.aligned_encoding, "prosody_style": style}
    found = bundle.stage("f0n").run(inputs)
    yield f0n_figure("f0", found["f0"], expected.f0, expected.exact_f0)
    yield f0n_figure("energy", found["energy"], expected.energy, expected.exact_energy)


def _decode(bundle: Bundle, inputs: dict[str, Array]) -> Array:
    """Returns the bundle's samples for the inputs of kokoro's decoder."""

    def run(name: str, **given: Array) -> list[Array]:
        return list(bundle.stage(name).run(given).values())

    curves = {name: values for name, values in inputs.items() if name != "noise"}
    audio, _ = decode(run, curves, inputs["noise"], separate_source=bundle.manifest.separate_source)
    return audio
