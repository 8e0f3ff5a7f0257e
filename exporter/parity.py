"""How close a bundle is to kokoro: every threshold of the project, and the comparison that they judge.

Each stage is judged on the reference's own inputs, because the waveform is nearly chaotic in F0; only then
the whole chain, against the reference's own spread.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from exporter.reference import SPREAD_SEEDS, Array, Reference, TextTrace, perturb, relative_rms
from exporter.reference import Trace as ReferenceTrace
from runtime_min import Bundle
from runtime_min.noise import gaussian_noise
from runtime_min.pipeline import Trace

USUAL_DISTANCE = 10 ** (-115 / 20)
"""How far float32 PyTorch's F0 and N are from float64 on a good day: 115 dB."""
NEAR_A_HALF = 1e-4
"""A reference duration this close to a half may round either way."""
DECIBELS_OF_TWO = 20 * float(np.log10(2))
NOTHING = 1e-6
"""Relative change of F0 that moves only the phase: the reference's own spread under it is the scale."""
SECOND = 24_000
"""Samples."""
OTHER_SEED = 1
"""Added to the seed of the noise for the signal that says how large a log-mel distance is nothing."""


@dataclass(frozen=True)
class Utterance:
    """Something to say."""

    phonemes: str
    voice: str
    speed: float = 1.0
    seed: int = 0


@dataclass(frozen=True)
class Figure:
    """One measured number and what it must be."""

    name: str
    value: float
    limit: float
    at_least: bool = False
    """Whether `limit` is the least allowed value, and not the greatest."""

    @property
    def holds(self) -> bool:
        """Whether the number is finite and within its limit."""
        within = self.value >= self.limit if self.at_least else self.value <= self.limit
        return bool(within) and (np.isfinite(self.value) or self.at_least)

    def __str__(self) -> str:
        relation = ">=" if self.at_least else "<="
        verdict = "" if self.holds else "  MISSED"
        return f"{self.name}: {self.value:.4g} ({relation} {self.limit:.4g}){verdict}"


@dataclass(frozen=True)
class Comparison:
    """All figures of one utterance."""

    utterance: Utterance
    tokens: int
    frames: int
    figures: tuple[Figure, ...]

    @property
    def missed(self) -> tuple[Figure, ...]:
        """The figures that are beyond their limits."""
        return tuple(figure for figure in self.figures if not figure.holds)

    def __getitem__(self, name: str) -> float:
        """The value of the figure `name`."""
        return next(figure.value for figure in self.figures if figure.name == name)


def snr(values: Array, reference: Array) -> float:
    """Signal-to-noise ratio in dB; infinite where both are equal."""
    distance = relative_rms(values, reference)
    return float("inf") if distance == 0 else -20 * float(np.log10(distance))


def relative_maximum(values: Array, reference: Array) -> float:
    """The greatest difference over the RMS of the reference."""
    wide = reference.astype(np.float64)
    return float(np.abs(values - wide).max() / np.sqrt(np.square(wide).mean()))


def log_mel(audio: Array, bands: int = 80) -> NDArray[np.float64]:
    """Natural logarithm of the mel spectrum of 24 kHz samples: 1024-point Hann windows every 256 samples."""
    size, step, rate = 1024, 256, 24_000
    padded = np.pad(audio.reshape(-1).astype(np.float64), size // 2)
    windows = np.lib.stride_tricks.sliding_window_view(padded, size)[::step] * np.hanning(size + 1)[:-1]
    power = np.square(np.abs(np.fft.rfft(windows)))
    mel = np.linspace(0, 2595 * np.log10(1 + rate / 2 / 700), bands + 2)
    edges = 700 * (10 ** (mel / 2595) - 1)
    frequency = np.fft.rfftfreq(size, 1 / rate)
    rising = (frequency - edges[:-2, None]) / (edges[1:-1] - edges[:-2])[:, None]
    falling = (edges[2:, None] - frequency) / (edges[2:] - edges[1:-1])[:, None]
    spectrum: NDArray[np.float64] = np.log(power @ np.clip(np.minimum(rising, falling), 0, None).T + 1e-8)
    return spectrum


def log_mel_distance(one: Array, other: Array) -> float:
    """RMS difference of the log-mel spectra of two signals of one length."""
    return float(np.sqrt(np.square(log_mel(one) - log_mel(other)).mean()))


Spectrum = tuple[NDArray[np.float32], NDArray[np.float32]]
"""Magnitude and phase of the harmonic source, [1, 11, 120m + 1] each."""


def exact_spectra(source: Array) -> tuple[Spectrum, Spectrum]:
    """What torch.stft would give if its FFT did not round, and the same with one phase turned over.

    The phase is the one nearest to the cut at pi (in the first and the last bin: to changing between 0 and
    pi). Rounding decides on which side it falls; what that costs is the least that two programs differ by.

    Args:
        source: [1, 600m], the merged harmonic source in float32.
    """
    import torch

    window = torch.hann_window(20).double()  # rounded to float32, as TorchSTFT has it
    signal = torch.from_numpy(source).double()
    spectrum = torch.stft(signal, 20, 5, 20, window, return_complex=True).numpy()
    magnitude, phase = np.abs(spectrum), np.angle(spectrum)
    margin = np.where(spectrum.real < 0, np.abs(spectrum.imag), np.inf)
    margin[:, [0, -1]] = np.abs(spectrum.real[:, [0, -1]])
    nearest = np.unravel_index(np.argmin(margin), margin.shape)
    turned = phase.copy()
    turned[nearest] = -phase[nearest] if 0 < nearest[1] < phase.shape[1] - 1 else np.pi - phase[nearest]
    size = magnitude.astype(np.float32)
    return (size, phase.astype(np.float32)), (size, turned.astype(np.float32))


def compare(
    bundle: Bundle,
    reference: Reference,
    precise: Reference,
    utterance: Utterance,
    durations: NDArray[np.int64] | None = None,
) -> Comparison:
    """Speaks an utterance with both and measures every stage and the whole.

    Args:
        bundle: a bundle with all stages.
        reference: kokoro in float32.
        precise: kokoro in float64, the judge of F0 and N.
        utterance: what to say.
        durations: frames of each token, instead of the predicted ones.
    """
    spoken = bundle.trace(
        utterance.phonemes, utterance.voice, utterance.speed, utterance.seed, durations=durations
    )
    style = np.concatenate([spoken.style.decoder, spoken.style.prosody], axis=1)
    noise = partial(gaussian_noise, utterance.seed)
    expected = reference.speak(spoken.token_ids[0], style, utterance.speed, noise, durations)
    exact_text = precise.text(spoken.token_ids[0], style)
    exact_f0n = precise.f0n(
        expected.aligned_encoding.astype(np.float64), spoken.style.prosody.astype(np.float64)
    )
    figures = [
        *_durations(spoken.durations, expected, utterance.speed, durations is not None),
        *_text_stages(bundle, spoken, expected, exact_text),
        *_f0n(bundle, spoken, expected, exact_f0n),
        *_decoder(bundle, reference, spoken, expected, exact_f0n, utterance.seed),
    ]
    return Comparison(utterance, spoken.token_ids.size, expected.audio.size // 600, tuple(figures))


def _durations(
    spoken: NDArray[np.int64], expected: ReferenceTrace, speed: float, forced: bool
) -> Iterator[Figure]:
    """Durations are equal; one whose unrounded value is near a half may differ by one, and is counted."""
    exact = expected.durations[0] / np.float32(speed)
    near_half = np.abs(exact - np.floor(exact) - 0.5) < NEAR_A_HALF
    other_way = near_half & (np.abs(spoken - expected.frames) == 1) & (not forced)
    wrong = (spoken != expected.frames) & ~other_way
    yield Figure("durations that differ", float(wrong.sum()), 0)
    yield Figure("durations rounded the other way", float(other_way.sum()), float(near_half.sum()))


def _text_stages(
    bundle: Bundle, spoken: Trace, expected: ReferenceTrace, exact: TextTrace
) -> Iterator[Figure]:
    """The stages along tokens on the reference's inputs, by greatest difference over RMS.

    The limit is 1e-5, or twice the reference's own distance from float64 where that is more: two float32
    programs that round equally well are that far apart.
    """
    duration = bundle.stage("duration").run(
        {"hidden": expected.hidden, "prosody_style": spoken.style.prosody}
    )
    for name, value, reference, truth in (
        ("bert", spoken.hidden, expected.hidden, exact.hidden),
        ("duration encoding", duration["encoding"], expected.encoding, exact.encoding),
        ("durations before rounding", duration["durations"], expected.durations, exact.durations),
        ("text_encoder", spoken.text, expected.text, exact.text),
    ):
        limit = max(1e-5, 2 * relative_maximum(reference, truth))
        yield Figure(name, relative_maximum(value, reference), limit)


def _f0n(
    bundle: Bundle, spoken: Trace, expected: ReferenceTrace, exact: tuple[Array, Array]
) -> Iterator[Figure]:
    """F0 and N against float64, in units of what float32 PyTorch is off by, or usually is where that is more.

    Rounding moves the F0 of a short utterance as a whole: PyTorch's own distance is now and then near 0.
    """
    inputs = {"aligned_encoding": expected.aligned_encoding, "prosody_style": spoken.style.prosody}
    found = bundle.stage("f0n").run(inputs)
    own = (expected.f0, expected.energy)
    for name, values, torch_values, truth in zip(("f0", "energy"), found.values(), own, exact, strict=True):
        unit = max(relative_rms(torch_values, truth), USUAL_DISTANCE)
        yield Figure(f"{name}, distance from float64 over PyTorch's", relative_rms(values, truth) / unit, 2)


def _decoder(
    bundle: Bundle,
    reference: Reference,
    spoken: Trace,
    expected: ReferenceTrace,
    exact: tuple[Array, Array],
    seed: int,
) -> Iterator[Figure]:
    """The decoder on the reference's inputs, and the whole chain against the reference's own spread.

    That spread is the median under eight white changes of F0, by 1e-6 or by what the reference's own F0 is
    off, where that is more; in an utterance shorter than a second the greatest of the eight, because single
    phases decide there and the eight lie up to 50 dB apart. It is at least what the reference's own rounding
    does to it: that of F0 and N is smooth in time and adds up in the phase; that in torch's FFT turns some
    phases of the first spectrum, whose signal is symmetric, from pi to -pi; any rounding may turn over the
    phase nearest to that cut.
    """
    noise = gaussian_noise(seed, expected.audio.size)[None]
    inputs = {
        "asr": expected.asr,
        "f0": expected.f0,
        "energy": expected.energy,
        "decoder_style": spoken.style.decoder,
        "noise": noise,
    }
    (decoded,) = bundle.stage("decoder").run(inputs).values()
    exact_source, turned_source = (
        reference.generate(expected.decoder_hidden, spoken.style.decoder, *spectrum)
        for spectrum in exact_spectra(expected.source)
    )
    own_source = min(snr(exact_source, expected.audio), snr(turned_source, expected.audio))
    limit = min(55, own_source - DECIBELS_OF_TWO)
    yield Figure("decoder, dB", snr(decoded, expected.audio), limit, at_least=True)
    if spoken.audio.shape != expected.audio.shape:
        return

    def distances(audio: Array) -> tuple[float, float]:
        """RMS and log-mel distance from the reference."""
        return relative_rms(audio, expected.audio), log_mel_distance(audio, expected.audio)

    def own(**changed: Array) -> tuple[float, float]:
        """How far changed inputs of the decoder take the reference from itself."""
        return distances(reference.decode(**inputs | changed).audio)

    change = max(NOTHING, relative_rms(expected.f0, exact[0]))
    white = [own(f0=perturb(expected.f0, change, variant)) for variant in SPREAD_SEEDS]
    rounding = own(f0=exact[0].astype(np.float32), energy=exact[1].astype(np.float32))
    short = expected.audio.size < SECOND
    typical = np.max(white, axis=0) if short else np.median(white, axis=0)
    own_distances = np.array([typical, rounding, distances(exact_source), distances(turned_source)])
    spread, mel_spread = own_distances.max(axis=0)
    _, other_seed = own(noise=gaussian_noise(seed + OTHER_SEED, noise.size))
    distance, mel = distances(spoken.audio)
    yield Figure("chain, dB", snr(spoken.audio, expected.audio), -20 * float(np.log10(2 * spread)), True)
    yield Figure("chain, distance over own spread", distance / float(spread), 2)
    limit = max(0.1, 2 * float(mel_spread) / other_seed)
    yield Figure("chain, log-mel over another seed's", mel / other_seed, limit)
