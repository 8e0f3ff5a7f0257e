"""What a bundle is compared with on the machine that it is for: kokoro speaks an utterance, which is kept.

It is done for every target, since only kokoro runs; `runtime_min.model.self_test` compares.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from exporter.export.plan import Plan
from exporter.parity.figures import (
    GENERATOR_DECIBELS,
    SPECTRUM_DECIBELS,
    Asked,
    Spread,
    Utterance,
    chain_limit,
    decoder_limit,
    exact_f0n,
    f0n_unit,
    mel_limit,
    near_a_half,
    own_spread,
    speak_reference,
    text_limit,
)
from exporter.progress import Progress
from exporter.reference.process import Array, Reference, TextTrace, Trace
from exporter.reference.utterances import adapted, references
from runtime_min.model.self_test import EXTENSION, STYLE, WHOLE_CHAIN, Check, SelfTest

FILE = "self_test.bin"
_UTTERANCES = (
    Utterance("həlˈO wˈɜɹld!", "af_heart"),
    Utterance("ˈOkˌA.", "af_heart"),
    Utterance("ə", "af_heart"),
)
"""The first that fits the buckets and none of whose durations is near a half: about a second, then less."""
_OWN_PHONEMES = 12
"""Of a vocabulary that has none of those."""
_EXACT = ".exact"
"""After the name of what was computed in float64."""


@dataclass(frozen=True)
class SelfTestFiles:
    """What goes into a bundle."""

    extensions: dict[str, Any]
    files: dict[str, bytes]


def make_self_test(plan: Plan, progress: Progress) -> SelfTestFiles | None:
    """Lets kokoro speak, and returns what the bundle gets of it; None where the bundle cannot have it.

    Args:
        plan: what is exported.
        progress: told about it.

    Raises:
        ReferenceProcessError: kokoro does not run here.
    """
    if not plan.is_whole or not plan.voices:
        return None
    progress.step("let kokoro speak what the bundle's self-test compares with")
    with references((plan.checkpoint.path, plan.checkpoint.config_path)) as (reference, precise):
        for utterance in _utterances(plan):
            given = _asked(plan, utterance)
            expected = speak_reference(reference, given, utterance)
            if _suits(plan, given, expected):
                return _self_test(plan, utterance, given, expected, reference, precise)
    progress.warning("The bundle has no self-test: its buckets hold none of the built-in utterances.")
    return None


def _utterances(plan: Plan) -> Iterator[Utterance]:
    """The built-in utterances in a voice and the phonemes that the bundle has, and some of its own."""
    vocabulary = plan.checkpoint.vocabulary
    own = sorted(
        (key for key in vocabulary if len(key) == 1 and key.isprintable()), key=vocabulary.__getitem__
    )
    candidates = (*_UTTERANCES, Utterance("".join(own[:_OWN_PHONEMES]), "af_heart"))
    yield from adapted(candidates, sorted(plan.voices), vocabulary)


def _asked(plan: Plan, utterance: Utterance) -> Asked:
    vocabulary, length = plan.checkpoint.vocabulary, len(utterance.phonemes)
    token_ids = np.array([0, *(vocabulary[phoneme] for phoneme in utterance.phonemes), 0], np.int64)
    return Asked(token_ids, plan.voices[utterance.voice][length - 1 : length])


def _suits(plan: Plan, given: Asked, expected: Trace) -> bool:
    """Whether the bundle can speak it, and every sound program rounds its durations alike."""
    tokens, frames = plan.options.text_buckets[-1], plan.frame_buckets[-1]
    fits = given.token_ids.size <= tokens and int(expected.frames.sum()) <= frames
    return fits and not near_a_half(expected, 1.0).any()


def _self_test(
    plan: Plan,
    utterance: Utterance,
    given: Asked,
    expected: Trace,
    reference: Reference,
    precise: Reference,
) -> SelfTestFiles:
    exact = exact_f0n(precise, expected.aligned_encoding, given.style)
    spread = own_spread(reference, precise, expected, given, utterance.seed)
    tensors = _tensors(given, expected, exact, plan.target.source_apart)
    checks = (
        *_text_checks(expected, precise.text(given.token_ids, given.row)),
        *_f0n_checks(expected, exact),
        *(_source_checks() if plan.target.source_apart else ()),
        *_audio_checks(spread, plan.target.source_apart),
    )
    test = SelfTest(
        utterance.phonemes,
        utterance.voice,
        utterance.seed,
        tuple(map(int, expected.frames)),
        FILE,
        tuple(tensors),
        checks,
    )
    data = b"".join(values.astype("<f4").tobytes() for values in tensors.values())
    return SelfTestFiles({EXTENSION: asdict(test)}, {FILE: data})


def _tensors(
    given: Asked, expected: Trace, exact: tuple[Array, Array], source_apart: bool
) -> dict[str, Array]:
    """What kokoro took and gave; aligned features and noise follow from it."""
    tensors = {
        STYLE: given.row,
        "hidden": expected.hidden,
        "encoding": expected.encoding,
        "durations": expected.durations,
        "text": expected.text,
        "f0": expected.f0,
        "energy": expected.energy,
        f"f0{_EXACT}": exact[0],
        f"energy{_EXACT}": exact[1],
    }
    if source_apart:
        tensors["spectrum"] = np.concatenate([expected.magnitude, expected.phase], axis=1)
    return {**tensors, "audio": expected.audio}


def _text_checks(expected: Trace, exact: TextTrace) -> Iterator[Check]:
    stages = {"hidden": "bert", "encoding": "duration", "durations": "duration", "text": "text_encoder"}
    for name, stage in stages.items():
        limit = text_limit(getattr(expected, name), getattr(exact, name))
        yield Check((stage,), name, name, "maximum", limit)


def _f0n_checks(expected: Trace, exact: tuple[Array, Array]) -> Iterator[Check]:
    for name, values in zip(("f0", "energy"), exact, strict=True):
        allowed = 2 * f0n_unit(getattr(expected, name), values)
        yield Check(("f0n",), name, name + _EXACT, "decibels", -20 * float(np.log10(allowed)))


def _source_checks() -> Iterator[Check]:
    """A source of its own, and what follows from its spectrum."""
    yield Check(("source",), "spectrum", "spectrum", "spectrum decibels", SPECTRUM_DECIBELS)
    yield Check(("source",), "spectrum", "spectrum", "turned phases", 0)
    yield Check(("decoder",), "audio", "audio", "decibels", GENERATOR_DECIBELS)


def _audio_checks(spread: Spread, source_apart: bool) -> Iterator[Check]:
    """The decoder with its source, and the whole chain."""
    decoder = ("source", "decoder") if source_apart else ("decoder",)
    yield Check(decoder, "audio", "audio", "decibels", decoder_limit(spread))
    yield Check(WHOLE_CHAIN, "audio", "audio", "decibels", chain_limit(spread))
    yield Check(WHOLE_CHAIN, "audio", "audio", "log-mel", mel_limit(spread) * spread.other_seed)
