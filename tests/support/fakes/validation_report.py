"""A report as validation makes it, of made-up signals: two utterances, four steps, two experiments."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from exporter.parity.figures import Utterance
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

STEPS = (
    # name, stage, axis, elements a token or frame, channels, limit, whether it is in decibels
    ("bert", "bert", "tokens", 1, 6, 1e-5, False),
    ("F0", "f0n", "frames", 2, 0, 100, True),
    ("decoder hidden", "decoder", "frames", 2, 6, 90, True),
    ("audio", "decoder", "frames", 600, 0, 55, True),
)
OWN = {"2 threads": 12.0, "float64": 3.0, "F0 1e-07": -6.0, "other seed": -15.0}
"""pt.dynamic against itself, in dB above the limit."""
_DRAWN: dict[bytes, str] = {}


def report(broken: str | None = None, hostile: str = "") -> Report:
    """A whole report.

    Args:
        broken: the step of the second utterance that is wrong from its middle on.
        hostile: goes wherever a user's text goes.
    """
    short = Utterance(f"həlˈO{hostile}", f"af_heart{hostile}")
    long = Utterance("ðə kwˈɪk bɹˈWn fˈɑks ʤˈʌmps ˌOvəɹ ðə lˈAzi dˈɔɡ.", "bm_george", 0.9, 3)
    facts = {"model": "synthetic checkpoint, seed 0", f"kokoro{hostile}": f"0.9.4{hostile}"}
    utterances = (_spoken(short, 7, 12, None), _spoken(long, 5, 16, broken))
    return Report(f"bundles/demo{hostile}", facts, utterances)


def step(
    name: str, values: Mapping[str, NDArray[np.float32]], reference: NDArray[np.float32], figure: Figure
) -> Step:
    """A step along frames with one element a frame."""
    limit = 10 ** (-figure.limit / 20) if figure.at_least else figure.limit
    differences = {key: difference(value, reference, 1, limit) for key, value in values.items()}
    return Step(
        name,
        "decoder",
        "frames",
        reference=reference,
        values=values,
        differences=differences,
        figures=(figure,),
    )


def drawn_once(plot: Callable[[Any], str], drawn: Any) -> str:
    """Returns the image of a plot, drawn once for equal values: reports share most, and drawing is slow."""
    key = plot.__name__.encode() + pickle.dumps(drawn)
    if key not in _DRAWN:
        _DRAWN[key] = plot(drawn)
    return _DRAWN[key]


def _spoken(utterance: Utterance, tokens: int, frames: int, broken: str | None) -> SpokenSteps:
    random = np.random.default_rng(utterance.seed)
    steps = []
    for name, stage, axis, per_length, channels, limit, in_decibels in STEPS:
        size = {"tokens": tokens, "frames": frames}[axis] * per_length
        reference = random.standard_normal((1, channels, size) if channels else (1, size), np.float32)
        least = limit if in_decibels else 120.0
        equal = _noisy(random, reference, least + 8)
        if name == broken:
            equal[..., size // 2 :] = _noisy(random, reference, 20.0)[..., size // 2 :]
        values = {
            EQUAL: equal,
            BUNDLE: _noisy(random, reference, least - 14),
            STATIC: _noisy(random, reference, 9.0),
        }
        over = 10 ** (-limit / 20) if in_decibels else limit
        found = {key: difference(value, reference, per_length, over) for key, value in values.items()}
        judge = snr if in_decibels else relative_maximum
        figure = Figure(name, judge(equal, reference), limit, in_decibels)
        own = {change: least + more for change, more in OWN.items()}
        steps.append(
            Step(
                name,
                stage,
                axis,
                per_length,
                reference=reference,
                values=values,
                differences=found,
                own=own,
                figures=(figure,),
            )
        )
    chain = (Figure("durations that differ", 0.0, 0.0), Figure("chain, dB", 38.2, 31.7, True))
    return SpokenSteps(utterance, tokens, frames, tuple(steps), chain, (_sweep(), _tails()))


def _noisy(
    random: np.random.Generator, reference: NDArray[np.float32], decibels: float
) -> NDArray[np.float32]:
    return reference + 10 ** (-decibels / 20) * random.standard_normal(reference.shape, np.float32)


def _sweep() -> Table:
    frames, static, bundle = (256.0, 512.0, 5120.0), (31.0, 22.5, 5.2), (38.2, 38.2, 38.2)
    plot = Plot(
        "frames of the bucket",
        "audio against pt.dynamic, dB",
        (Series(STATIC, frames, static), Series("another", frames, bundle), Series(BUNDLE, frames, bundle)),
        logarithmic_x=True,
    )
    rows = tuple(zip(map(int, frames), static, bundle, strict=True))
    conclusion = "The bundle is the same in every bucket; pt.static loses 26 dB from 256 to 5120 frames."
    return Table("Experiment C: every bucket", conclusion, ("frames", STATIC, BUNDLE), rows, 2, plot)


def _tails() -> Table:
    rows = (
        ("zeros", float("inf"), "equal bits"),
        ("noise", 44.1, "equal bits"),
        ("nan", float("nan"), "equal bits"),
    )
    conclusion = "The bundle's audio does not depend on what lies behind it."
    return Table("Experiment B: tails", conclusion, ("tail", "pt.static, dB", "bundle"), rows)
