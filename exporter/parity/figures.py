"""How close a bundle is to kokoro: every threshold of the project, and the comparison that they judge.

Each stage is judged on the reference's own inputs, because the waveform is nearly chaotic in F0; only then
the whole chain, against the reference's own spread.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from exporter.parity.source_spectrum import exact_spectra
from exporter.reference.process import SPREAD_SEEDS, Array, Reference, TextTrace, perturb
from exporter.reference.process import Trace as ReferenceTrace
from runtime_min import Bundle
from runtime_min.model.chain import Trace, decode
from runtime_min.model.distances import (
    Figure,
    level_difference,
    log_mel_distance,
    relative_maximum,
    relative_rms,
    snr,
)
from runtime_min.model.noise import gaussian_noise
from runtime_min.model.voices import Style

USUAL_DISTANCE = 10 ** (-115 / 20)
"""How far float32 PyTorch's F0 and N are from float64 on a good day: 115 dB."""
NEAR_A_HALF = 1e-4
"""A reference duration this close to a half may round either way."""
DECIBELS_OF_TWO = 20 * float(np.log10(2))
NOTHING = 1e-6
"""Relative change of F0 that moves only the phase: the reference's own spread under it is the scale."""
SECOND = 24_000
"""Samples."""
HIDDEN_DECIBELS = 90.0
"""Least of the decoder before its generator, on equal inputs."""
SINES_DECIBELS = 110.0
"""Least of the harmonic source's sines, on equal F0."""
SOURCE_DECIBELS = 110.0
"""Least of the merged harmonic source, on equal F0 and noise: a sum of nine sines and a tanh."""
SPECTRUM_DECIBELS = 110.0
"""Least of the magnitudes of the source's spectrum, on an equal source: transforms of twenty points."""
GENERATOR_DECIBELS = 80.0
"""Least of the audio on equal inputs of the generator and an equal source spectrum."""
BLOCK_DECIBELS = 90.0
"""Least of any single block on equal inputs; Winograd's convolutions reach 98, all others 112."""
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
class Spread:
    """How far the reference is from itself under changes that mean nothing: the scale of the chain."""

    distance: float
    """RMS of the difference over the RMS."""
    mel: float
    """Log-mel distance."""
    level: float
    """Difference in level, dB."""
    other_seed: float
    """Log-mel distance to what it says with noise of another seed."""
    source_decibels: float
    """Ratio to what it says from a source spectrum without rounding, or with its nearest phase turned."""


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


def decibel_figure(name: str, values: Array, reference: Array, least: float) -> Figure:
    """A quantity on the reference's inputs, by its signal-to-noise ratio."""
    return Figure(f"{name}, dB", snr(values, reference), least, at_least=True)


def equality_figure(name: str, values: Array, reference: Array) -> Figure:
    """A quantity that is only moved, never computed with."""
    return Figure(f"{name}: values that differ", float((values != reference).sum()), 0)


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
    given = asked(bundle, utterance)
    style = given.style
    expected = speak_reference(reference, given, utterance, durations)
    exact = exact_f0n(precise, expected.aligned_encoding, style)
    spread = own_spread(reference, precise, expected, given, utterance.seed)
    inputs = decoder_inputs(expected, style, spoken.noise)
    figures = [
        *duration_figures(spoken.durations, expected, utterance.speed, durations is not None),
        *_text_stages(bundle, spoken, style, expected, precise.text(given.token_ids, given.row)),
        *_f0n(bundle, style, expected, exact),
        decoder_figure(_decode(bundle, inputs), expected.audio, spread),
        *chain_figures(spoken.audio, expected.audio, spread),
    ]
    return Comparison(utterance, spoken.token_ids.size, expected.audio.size // 600, tuple(figures))


@dataclass(frozen=True)
class Asked:
    """What kokoro's users would give it for an utterance; the runtime under test has no part in it."""

    token_ids: NDArray[np.int64]
    """[n], with the 0 at each end."""
    row: NDArray[np.float32]
    """[1, 256], the row of the voice's pack for that many phonemes."""

    @property
    def style(self) -> Style:
        """The halves that kokoro's decoder and its predictor take."""
        half = self.row.shape[1] // 2
        return Style(self.row[:, :half], self.row[:, half:])


def asked(bundle: Bundle, utterance: Utterance) -> Asked:
    """Looks an utterance up in the vocabulary and the voice file of a bundle that can speak it."""
    vocabulary = bundle.manifest.vocabulary
    token_ids = np.array([0, *(vocabulary[phoneme] for phoneme in utterance.phonemes), 0], np.int64)
    (voice,) = (each for each in bundle.manifest.voices if each.name == utterance.voice)
    pack = np.fromfile(bundle.directory / voice.file, "<f4").reshape(voice.rows, voice.columns)
    return Asked(token_ids, pack[len(utterance.phonemes) - 1 : len(utterance.phonemes)].astype(np.float32))


def speak_reference(
    reference: Reference,
    given: Asked,
    utterance: Utterance,
    durations: NDArray[np.int64] | None = None,
) -> ReferenceTrace:
    """What kokoro says, with the bundle's noise."""
    noise = partial(gaussian_noise, utterance.seed)
    return reference.speak(given.token_ids, given.row, utterance.speed, noise, durations)


def exact_f0n(precise: Reference, aligned_encoding: Array, style: Style) -> tuple[Array, Array]:
    """F0 and N, [1, 2m] each, of an aligned encoding, [1, 640, m], in float64."""
    return precise.f0n(aligned_encoding.astype(np.float64), style.prosody.astype(np.float64))


def decoder_inputs(trace: Trace | ReferenceTrace, style: Style, noise: Array) -> dict[str, Array]:
    """Inputs of a decoder, kokoro's or a bundle's, as an execution gave them to its own."""
    curves = {"asr": trace.asr, "f0": trace.f0, "energy": trace.energy}
    return {**curves, "decoder_style": style.decoder, "noise": noise}


def duration_figures(
    spoken: NDArray[np.int64], expected: ReferenceTrace, speed: float, forced: bool = False
) -> Iterator[Figure]:
    """Durations are equal; one whose unrounded value is near a half may differ by one, and is counted."""
    near_half = near_a_half(expected, speed)
    other_way = near_half & (np.abs(spoken - expected.frames) == 1) & (not forced)
    wrong = (spoken != expected.frames) & ~other_way
    yield Figure("durations that differ", float(wrong.sum()), 0)
    yield Figure("durations rounded the other way", float(other_way.sum()), float(near_half.sum()))


def near_a_half(expected: ReferenceTrace, speed: float) -> NDArray[np.bool_]:
    """Which of the reference's durations, [n], may be rounded either way."""
    exact = expected.durations[0] / np.float32(speed)
    near: NDArray[np.bool_] = np.abs(exact - np.floor(exact) - 0.5) < NEAR_A_HALF
    return near


def text_figure(name: str, values: Array, reference: Array, exact: Array) -> Figure:
    """An output of a stage along tokens on the reference's inputs, by greatest difference over RMS."""
    return Figure(name, relative_maximum(values, reference), text_limit(reference, exact))


def text_limit(reference: Array, exact: Array) -> float:
    """1e-5, or twice the reference's own distance from float64 where that is more.

    Two float32 programs that round equally well are that far apart.
    """
    return max(1e-5, 2 * relative_maximum(reference, exact))


def f0n_figure(name: str, values: Array, reference: Array, exact: Array) -> Figure:
    """F0 or N against float64, in units of what float32 PyTorch is off by."""
    distance = relative_rms(values, exact) / f0n_unit(reference, exact)
    return Figure(f"{name}, distance from float64 over PyTorch's", distance, 2)


def f0n_unit(reference: Array, exact: Array) -> float:
    """Relative distance from float64, twice of which is allowed.

    Rounding moves the F0 of a short utterance as a whole: PyTorch's own distance is now and then near 0.
    """
    return max(relative_rms(reference, exact), USUAL_DISTANCE)


def decoder_figure(decoded: Array, expected_audio: Array, spread: Spread) -> Figure:
    """The decoder's audio on the reference's inputs."""
    return Figure("decoder, dB", snr(decoded, expected_audio), decoder_limit(spread), at_least=True)


def decoder_limit(spread: Spread) -> float:
    """Least decibels of the decoder on equal inputs."""
    return min(55, spread.source_decibels - DECIBELS_OF_TWO)


def chain_figures(audio: Array, expected_audio: Array, spread: Spread) -> Iterator[Figure]:
    """The whole chain against the reference's own spread; nothing where the lengths differ."""
    if audio.shape != expected_audio.shape:
        return
    distance, mel = relative_rms(audio, expected_audio), log_mel_distance(audio, expected_audio)
    yield Figure("chain, dB", snr(audio, expected_audio), chain_limit(spread), at_least=True)
    yield Figure("chain, distance over own spread", distance / spread.distance, 2)
    yield Figure("chain, log-mel over another seed's", mel / spread.other_seed, mel_limit(spread))


def chain_limit(spread: Spread) -> float:
    """Least decibels of the whole chain: twice as far as the reference is from itself."""
    return -20 * float(np.log10(2 * spread.distance))


def mel_limit(spread: Spread) -> float:
    """Greatest log-mel distance of the whole chain, in units of another seed's."""
    return max(0.1, 2 * spread.mel / spread.other_seed)


def level_figure(audio: Array, expected_audio: Array, spread: Spread) -> Figure:
    """The difference in level; a tenth of a decibel is a fraction of what a listener can notice."""
    return Figure("level, dB off", level_difference(audio, expected_audio), max(0.1, 2 * spread.level))


def own_spread(
    reference: Reference, precise: Reference, expected: ReferenceTrace, given: Asked, seed: int
) -> Spread:
    """How far the reference is from itself under changes that mean nothing.

    That is the median under eight white changes of F0, by 1e-6 or by what the reference's own F0 is
    off, where that is more; in an utterance shorter than a second the greatest of the eight, because single
    phases decide there and the eight lie up to 50 dB apart. It is at least what the reference's own rounding
    does to it: that of F0 and N, and of all that they come from, is smooth in time and adds up in the phase;
    that in torch's FFT turns some phases of the first spectrum, whose signal is symmetric, from pi to -pi;
    any rounding may turn over the phase nearest to that cut.

    Args:
        reference: kokoro in float32.
        precise: kokoro in float64.
        expected: what `reference` said with the noise of `seed`.
        given: what it said it of.
        seed: of the noise.
    """
    style, noise = given.style, gaussian_noise(seed, expected.audio.size)[None]
    inputs = decoder_inputs(expected, style, noise)
    encoding = precise.text(given.token_ids, given.row).encoding
    exact = exact_f0n(precise, np.repeat(encoding, expected.frames, axis=2), style)

    def distances(audio: Array) -> tuple[float, float, float]:
        """RMS, log-mel and level distance from what the reference said."""
        said = expected.audio
        return relative_rms(audio, said), log_mel_distance(audio, said), level_difference(audio, said)

    def own(**changed: Array) -> tuple[float, float, float]:
        """How far changed inputs of the decoder take the reference from itself."""
        return distances(reference.decode(**inputs | changed).audio)

    sources = [
        reference.generate(expected.decoder_hidden, style.decoder, *spectrum)
        for spectrum in exact_spectra(expected.source)
    ]
    change = max(NOTHING, relative_rms(expected.f0, exact[0]))
    white = [own(f0=perturb(expected.f0, change, variant)) for variant in SPREAD_SEEDS]
    rounding = own(f0=exact[0].astype(np.float32), energy=exact[1].astype(np.float32))
    typical = np.max(white, axis=0) if expected.audio.size < SECOND else np.median(white, axis=0)
    own_distances = np.array([typical, rounding, *map(distances, sources)])
    distance, mel, level = own_distances.max(axis=0).tolist()
    _, other_seed, _ = own(noise=gaussian_noise(seed + OTHER_SEED, noise.size))
    source_decibels = min(snr(audio, expected.audio) for audio in sources)
    return Spread(distance, mel, level, other_seed, source_decibels)


def _text_stages(
    bundle: Bundle, spoken: Trace, style: Style, expected: ReferenceTrace, exact: TextTrace
) -> Iterator[Figure]:
    """The stages along tokens on the reference's inputs."""
    duration = bundle.stage("duration").run({"hidden": expected.hidden, "prosody_style": style.prosody})
    yield text_figure("bert", spoken.hidden, expected.hidden, exact.hidden)
    yield text_figure("duration encoding", duration["encoding"], expected.encoding, exact.encoding)
    yield text_figure("durations before rounding", duration["durations"], expected.durations, exact.durations)
    yield text_figure("text_encoder", spoken.text, expected.text, exact.text)


def _f0n(
    bundle: Bundle, style: Style, expected: ReferenceTrace, exact: tuple[Array, Array]
) -> Iterator[Figure]:
    """F0 and N on the reference's aligned encoding."""
    inputs = {"aligned_encoding": expected.aligned_encoding, "prosody_style": style.prosody}
    found = bundle.stage("f0n").run(inputs)
    yield f0n_figure("f0", found["f0"], expected.f0, exact[0])
    yield f0n_figure("energy", found["energy"], expected.energy, exact[1])


def _decode(bundle: Bundle, inputs: dict[str, Array]) -> Array:
    """Samples for the inputs of kokoro's decoder."""

    def run(name: str, **given: Array) -> list[Array]:
        return list(bundle.stage(name).run(given).values())

    curves = {name: values for name, values in inputs.items() if name != "noise"}
    audio, _ = decode(run, curves, inputs["noise"], source_apart=bundle.manifest.source_apart)
    return audio
