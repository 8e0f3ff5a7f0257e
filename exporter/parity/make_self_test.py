"""The self-test of a bundle: kokoro's results for an utterance, with which its machine compares its own.

Every target gets one, since only kokoro runs here; `runtime_min.model.self_test` compares.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict

import numpy as np

from exporter.bundle.write import ExtensionFiles
from exporter.export.plan import Plan
from exporter.parity import thresholds
from exporter.parity.answers import Kokoro
from exporter.parity.expected import Expected, Spread
from exporter.parity.figures import near_a_half
from exporter.progress import Progress
from exporter.reference.traces import Array
from exporter.reference.utterances import Utterance, adapted, make_request
from runtime_min.format.arithmetic import FLOAT32
from runtime_min.model.distances import relative_maximum, relative_rms
from runtime_min.model.self_test import ARITHMETIC_CHECKS, EXTENSION, STYLE, WHOLE_CHAIN, Check, SelfTest

FILE = "self_test.bin"
_UTTERANCES = (
    Utterance("həlˈO wˈɜɹld!", "af_heart"),
    Utterance("ˈOkˌA.", "af_heart"),
    Utterance("ə", "af_heart"),
)
"""Candidates of about a second and less; the first that fits the buckets without near halves is taken."""
_OWN_PHONEMES = 12
"""Length of the utterance if the vocabulary has none of the candidates' phonemes."""
_EXACT = ".exact"
"""Suffix of the names of tensors that were computed in float64."""
_FROM_TOKENS = ("hidden", "text")
"""Outputs of the stages along tokens; float64 computes them from the same inputs."""


def make_self_test(plan: Plan, progress: Progress, kokoro: Kokoro) -> ExtensionFiles | None:
    """Lets kokoro speak, and returns the bundle's files of it; None if the bundle can have no self-test.

    Args:
        plan: the plan of the export.
        progress: takes a step, and a warning where there is none.
        kokoro: answers with the checkpoint of the plan, as the bundle stores its weights.

    Raises:
        ReferenceProcessError: kokoro does not run here.
    """
    if not plan.is_whole or not plan.voices:
        return None
    progress.step("let kokoro speak what the bundle's self-test compares with")
    for utterance in _utterances(plan):
        pack = plan.voices[utterance.voice]
        expected = kokoro.expected(make_request(utterance, plan.checkpoint.vocabulary, pack))
        if _suits(plan, expected):
            return _self_test(plan, utterance, expected, kokoro)
    progress.warning("The bundle has no self-test: its buckets hold none of the built-in utterances.")
    return None


def _utterances(plan: Plan) -> Iterator[Utterance]:
    """Yields the built-in utterances in a voice and phonemes of the bundle, and then some of its own."""
    vocabulary = plan.checkpoint.vocabulary
    own = sorted(
        (key for key in vocabulary if len(key) == 1 and key.isprintable()), key=vocabulary.__getitem__
    )
    candidates = (*_UTTERANCES, Utterance("".join(own[:_OWN_PHONEMES]), "af_heart"))
    yield from adapted(candidates, sorted(plan.voices), vocabulary)


def _suits(plan: Plan, expected: Expected) -> bool:
    """Returns whether the bundle can speak it, and every sound program rounds its durations alike."""
    tokens, frames = plan.options.text_buckets[-1], plan.frame_buckets[-1]
    fits = expected.frames.size <= tokens and int(expected.frames.sum()) <= frames
    return fits and not near_a_half(expected.durations, 1.0).any()


def _self_test(plan: Plan, utterance: Utterance, expected: Expected, kokoro: Kokoro) -> ExtensionFiles:
    separate_source = plan.target.separate_source
    tensors = _tensors(expected)
    if separate_source:
        source = kokoro.reference.source(expected.f0, expected.noise)
        audio = tensors.pop("audio")
        tensors |= {"spectrum": np.concatenate([source.magnitude, source.phase], axis=1), "audio": audio}
    checks = (
        *_text_checks(expected),
        *_f0n_checks(expected),
        *(_source_checks() if separate_source else ()),
        *_audio_checks(kokoro.spread(expected), separate_source),
    )
    frames = tuple(map(int, expected.frames))
    test = SelfTest(utterance.phonemes, utterance.voice, utterance.seed, frames, FILE, tuple(tensors), checks)
    data = b"".join(values.astype("<f4").tobytes() for values in tensors.values())
    entries = {EXTENSION: asdict(test)} | _arithmetic_checks(plan, kokoro.spread(expected))
    return ExtensionFiles(entries, {FILE: data})


def _arithmetic_checks(plan: Plan, spread: Spread) -> dict[str, object]:
    """Returns the manifest's entry of the checks of levels with another arithmetic than float32."""
    if plan.options.arithmetic == FLOAT32:
        return {}
    allowed = thresholds.ALLOWANCES[plan.options.arithmetic]
    checks = _audio_checks(spread, plan.target.separate_source, allowed)
    return {ARITHMETIC_CHECKS: {plan.options.arithmetic: list(map(asdict, checks))}}


def _tensors(expected: Expected) -> dict[str, Array]:
    """Returns kokoro's inputs and outputs, from which aligned features and noise follow."""
    own = ("hidden", "encoding", "durations", "text", "f0", "energy")
    return {
        STYLE: expected.request.row,
        **{name: getattr(expected, name) for name in own},
        **{f"{name}{_EXACT}": getattr(expected.exact_text, name) for name in _FROM_TOKENS},
        f"f0{_EXACT}": expected.exact_f0,
        f"energy{_EXACT}": expected.exact_energy,
        "audio": expected.audio,
    }


def _text_checks(expected: Expected) -> Iterator[Check]:
    stages = {"hidden": "bert", "encoding": "duration", "durations": "duration", "text": "text_encoder"}
    for name, stage in stages.items():
        own = relative_maximum(getattr(expected, name), getattr(expected.exact_text, name))
        reference = name + _EXACT if name in _FROM_TOKENS else name
        yield Check((stage,), name, reference, "maximum", thresholds.text_limit(own))


def _f0n_checks(expected: Expected) -> Iterator[Check]:
    for name in ("f0", "energy"):
        own = relative_rms(getattr(expected, name), getattr(expected, f"exact_{name}"))
        allowed = thresholds.F0N_UNITS * thresholds.f0n_unit(own)
        yield Check(("f0n",), name, name + _EXACT, "decibels", -20 * float(np.log10(allowed)))


def _source_checks() -> Iterator[Check]:
    """Yields the checks of a separate source and of the results of its spectrum."""
    yield Check(("source",), "spectrum", "spectrum", "spectrum decibels", thresholds.SPECTRUM_DECIBELS)
    yield Check(("source",), "spectrum", "spectrum", "turned phases", 0)
    yield Check(("decoder",), "audio", "audio", "decibels", thresholds.GENERATOR_DECIBELS)


def _audio_checks(
    spread: Spread, separate_source: bool, allowed: thresholds.Allowance = thresholds.EXACT
) -> Iterator[Check]:
    """Yields the checks of the decoder with its source, and of the whole chain."""
    decoder = ("source", "decoder") if separate_source else ("decoder",)
    log_mel = thresholds.mel_limit(spread, allowed) * spread.other_seed
    yield Check(decoder, "audio", "audio", "decibels", thresholds.decoder_limit(spread, allowed))
    yield Check(WHOLE_CHAIN, "audio", "audio", "decibels", thresholds.chain_limit(spread, allowed))
    yield Check(WHOLE_CHAIN, "audio", "audio", "log-mel", log_mel)
