"""A recogniser understands the bundle as well as PyTorch, and hears what written forms mean."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from functools import cache
from importlib.metadata import version
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from benchmarks.listening import recogniser as recognition
from benchmarks.listening.recogniser import (
    VOICES,
    Recogniser,
    in_order,
    normalised,
    read_forms,
    read_sentences,
    words_wrong,
)
from exporter.reference.process import Reference
from exporter.reference.utterances import Utterance, make_request
from runtime_min import Audio, Bundle
from runtime_min.format.verify import sha256_of
from tests.support.paths import PROVING
from tests.support.stored_reference import kept_answers

pytestmark = pytest.mark.e2e

SENTENCES = read_sentences()


@pytest.fixture(scope="module")
def recogniser() -> Recogniser:
    return Recogniser()


@pytest.fixture(scope="module")
def heard(recogniser: Recogniser) -> Callable[[NDArray[np.float32]], list[str]]:
    """Words that the recogniser hears in PyTorch's speech, stored under all that decides them."""
    facts = [version("pocketsphinx"), version("av"), sha256_of(Path(recognition.__file__))]
    store = kept_answers()

    def words(samples: NDArray[np.float32]) -> list[str]:
        key = hashlib.sha256(json.dumps(facts).encode() + samples.tobytes()).hexdigest()
        found = None if PROVING else store.load(key)
        if found is None:
            found = {"words": np.array(recogniser.words(samples), str)}
            store.save(key, found)
        return list(map(str, found["words"]))

    return words


@pytest.fixture(scope="module")
def said(bundle: Bundle) -> Callable[[str, str], Audio]:
    """Sentences by text and voice, spoken once."""
    return cache(bundle.synthesize)


# A sentence of each voice, another one of each; all of them in `make prove`.
@pytest.mark.parametrize("step", [100, pytest.param(1, marks=pytest.mark.slow)])
def test_no_more_words_are_wrong_than_of_pytorch(
    bundle: Bundle,
    said: Callable[[str, str], Audio],
    reference: Reference,
    recogniser: Recogniser,
    heard: Callable[[NDArray[np.float32]], list[str]],
    step: int,
) -> None:
    ours, pytorch, words = 0, 0, 0
    for first, voice in enumerate(VOICES):
        for text in SENTENCES[first::step]:
            spoken = said(text, voice)
            request = make_request(
                Utterance(spoken.phonemes, voice), bundle.manifest.vocabulary, bundle.voice_tables[voice]
            )
            expected = normalised(text)
            ours += words_wrong(expected, recogniser.words(spoken.samples))
            pytorch += words_wrong(expected, heard(reference.speak(request).audio[0]))
            words += len(expected)
    print(f"{words} words, wrong: {ours} of the bundle, {pytorch} of PyTorch")
    # Of few sentences one word is more than one in a hundred.
    assert ours <= pytorch + max(1, words / 100)


def test_the_recogniser_hears_the_difference(
    said: Callable[[str, str], Audio], recogniser: Recogniser
) -> None:
    text = SENTENCES[0]
    samples = said(text, VOICES[0]).samples
    noise = np.random.default_rng(0).normal(0, 0.2, samples.shape).astype(np.float32)
    assert words_wrong(normalised(text), recogniser.words(samples + noise)) > 3


@pytest.mark.parametrize("form", read_forms()[2:52:25], ids=lambda form: form[0])
def test_written_forms_are_spoken_as_they_are_meant(
    bundle: Bundle, recogniser: Recogniser, form: tuple[str, list[str]]
) -> None:
    text, words = form
    spoken = (bundle.synthesize(text, voice).samples for voice in VOICES)
    assert any(in_order(words, recogniser.words(samples)) for samples in spoken)
