"""A report as validation makes it, of made-up signals: two utterances, fifteen steps, two experiments."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from exporter.reference.utterances import Utterance
from exporter.validate.results import (
    BUNDLE,
    EQUAL,
    STATIC,
    Plot,
    Report,
    Series,
    SpokenSteps,
    Step,
    Table,
    difference,
)
from runtime_min.model.distances import Figure, relative_maximum, snr

CHANNELS = 6
STEPS = (
    # name, stage, axis, elements a token or frame, channels, limit, whether it is in decibels
    ("bert", "bert", "tokens", 1, CHANNELS, 1e-5, False),
    ("duration encoding", "duration", "tokens", 1, CHANNELS, 1e-5, False),
    ("duration logits", "duration", "tokens", 1, CHANNELS, 1e-5, False),
    ("predicted durations", "duration", "tokens", 1, 0, 1e-5, False),
    ("text_encoder", "text_encoder", "tokens", 1, CHANNELS, 1e-5, False),
    ("aligned asr", "decoder", "frames", 1, CHANNELS, 1e-5, False),
    ("F0", "f0n", "frames", 2, 0, 100, True),
    ("N", "f0n", "frames", 2, 0, 100, True),
    ("decoder hidden", "decoder", "frames", 2, CHANNELS, 90, True),
    ("sines", "decoder", "frames", 600, 3, 90, True),
    ("source", "decoder", "frames", 600, 0, 90, True),
    ("magnitude", "decoder", "frames", 120, 3, 80, True),
    ("phase", "decoder", "frames", 120, 3, 60, True),
    ("generator", "decoder", "frames", 600, 0, 80, True),
    ("audio", "decoder", "frames", 600, 0, 55, True),
)
OWN = ("2 threads", "float64", "F0 1e-07", "F0 1e-06", "other seed")


def report(broken: str | None = None, seconds: float = 0.4, hostile: str = "") -> Report:
    """A whole report.

    Args:
        broken: the step of the second utterance that is wrong from its middle on.
        seconds: of the second utterance.
        hostile: goes wherever a user's text goes.
    """
    frames = max(4, round(40 * seconds))
    spoken = (
        _spoken(Utterance(f"həlˈO{hostile}", f"af_heart{hostile}"), 7, 12, None),
        _spoken(
            Utterance("ðə kwˈɪk bɹˈWn fˈɑks ʤˈʌmps ˌOvəɹ ðə lˈAzi dˈɔɡ.", "bm_george", 0.9, 3),
            *(max(4, frames // 3), frames, broken),
        ),
    )
    facts = {
        "model": "synthetic checkpoint, seed 0",
        "CPU level": "x86-64-v4",
        "static": "512 tokens, 5120 frames",
    }
    return Report(f"bundles/demo{hostile}", {**facts, f"kokoro{hostile}": f"0.9.4{hostile}"}, spoken)


def step(
    name: str, values: Mapping[str, NDArray[np.float32]], reference: NDArray[np.float32], figure: Figure
) -> Step:
    """A step along frames with one element a frame."""
    limit = 10 ** (-figure.limit / 20) if figure.at_least else figure.limit
    differences = {key: difference(value, reference, 1, limit) for key, value in values.items()}
    return Step(name, "decoder", "frames", 1, reference, values, differences, {}, (figure,))


def _spoken(utterance: Utterance, tokens: int, frames: int, broken: str | None) -> SpokenSteps:
    random = np.random.default_rng(utterance.seed)
    steps = tuple(
        _made_up(random, {"tokens": tokens, "frames": frames}, name == broken, *(name, *others))
        for name, *others in STEPS
    )
    chain = (
        Figure("durations that differ", 0.0, 0.0),
        Figure("chain, dB", 38.2, 31.7, True),
        Figure("chain, log-mel over another seed's", 0.013, 0.1),
    )
    return SpokenSteps(utterance, tokens, frames, steps, chain, (_sweep(), _tails()))


def _made_up(
    random: np.random.Generator,
    lengths: Mapping[str, int],
    broken: bool,
    name: str,
    stage: str,
    axis: str,
    per_length: int,
    channels: int,
    limit: float,
    in_decibels: bool,
) -> Step:
    size = lengths[axis] * per_length
    reference = _signal(random, (1, channels, size) if channels else (1, size), per_length, name)
    least = limit if in_decibels else 120.0
    values = {
        EQUAL: _noisy(random, reference, least + 8),
        BUNDLE: _noisy(random, reference, least - 14),
        STATIC: _noisy(random, reference, 104.0 if axis == "tokens" else 9.0),
    }
    if broken:
        half = size // 2
        values[EQUAL][..., half:] = _noisy(random, reference, 20.0)[..., half:]
    if in_decibels:
        figure = Figure(f"{name}, dB", snr(values[EQUAL], reference), limit, True)
    else:
        figure = Figure(name, relative_maximum(values[EQUAL], reference), limit)
    over = 10 ** (-limit / 20) if in_decibels else limit
    differences = {key: difference(value, reference, per_length, over) for key, value in values.items()}
    own = {
        change: least + 12.0 - 9 * place for place, change in enumerate(OWN) if axis == "frames" or place < 2
    }
    return Step(name, stage, axis, per_length, reference, values, differences, own, (figure,))


def _signal(
    random: np.random.Generator, shape: tuple[int, ...], per_length: int, name: str
) -> NDArray[np.float32]:
    size = shape[-1]
    if per_length < 600:
        walk = random.standard_normal(shape).cumsum(axis=-1)
        return (walk / (1 + np.abs(walk).max()) + (180 if name == "F0" else 0)).astype(np.float32)
    seconds = np.arange(size) / 24_000
    loudness = np.sin(np.pi * seconds * 2.7) ** 2 * np.exp(-0.1 * seconds)
    voice = sum(np.sin(2 * np.pi * (150 * seconds + 3 * np.sin(4 * seconds)) * k) / k for k in range(1, 25))
    return np.broadcast_to(0.3 * loudness * voice, shape).astype(np.float32)


def _noisy(
    random: np.random.Generator, reference: NDArray[np.float32], decibels: float
) -> NDArray[np.float32]:
    scale = np.sqrt(np.square(reference, dtype=np.float64).mean()) * 10 ** (-decibels / 20)
    return (reference + scale * random.standard_normal(reference.shape)).astype(np.float32)


def _sweep() -> Table:
    frames = (256.0, 512.0, 1024.0, 2560.0, 5120.0)
    static, prefix, bundle = (31.0, 22.5, 16.0, 9.1, 5.2), (41.0, 40.2, 38.8, 37.0, 36.5), (38.2,) * 5
    rows = tuple((int(m), *others) for m, *others in zip(frames, static, prefix, bundle, strict=True))
    series = (
        Series(STATIC, frames, static),
        Series("pt.static, F0 and N of the prefix", frames, prefix),
        Series(BUNDLE, frames, bundle),
    )
    plot = Plot("frames of the bucket", "audio against pt.dynamic, dB", series, logarithmic_x=True)
    conclusion = "The bundle is the same in every bucket; pt.static loses 26 dB from 256 to 5120 frames."
    return Table(
        "Experiment C: every bucket", conclusion, ("frames", *(each.name for each in series)), rows, 4, plot
    )


def _tails() -> Table:
    rows = (
        ("zeros", float("inf"), "equal bits"),
        ("noise", 44.1, "equal bits"),
        ("nan", float("nan"), "equal bits"),
    )
    conclusion = "The bundle's audio does not depend on what lies behind it."
    return Table("Experiment B: tails", conclusion, ("tail", "pt.static, dB", "bundle"), rows)
