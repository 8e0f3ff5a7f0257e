"""A recogniser understands the bundle as well as PyTorch, and hears what written forms mean."""

from __future__ import annotations

import json

import numpy as np
import pytest

from benchmarks.listening.__main__ import VOICES
from benchmarks.listening.recogniser import (
    Recogniser,
    in_order,
    normalised,
    read_forms,
    read_sentences,
    words_wrong,
)
from runtime_min import Bundle
from tests.support.paths import ROOT

pytestmark = pytest.mark.e2e

# `python -m benchmarks.listening` wrote it: by engine and voice, the words wrong of each sentence.
LISTENED = json.loads((ROOT / "docs" / "measured" / "listening.json").read_text(encoding="utf-8"))
SENTENCES = read_sentences()[: len(LISTENED["PyTorch"][VOICES[0]])]


@pytest.fixture(scope="module")
def recogniser() -> Recogniser:
    return Recogniser()


# Some sentences of each voice, other ones of each; all of them in `make prove`.
@pytest.mark.parametrize("step", [8, pytest.param(1, marks=pytest.mark.slow)])
def test_no_more_words_are_wrong_than_of_pytorch(bundle: Bundle, recogniser: Recogniser, step: int) -> None:
    wrong, words = {"bundle": 0, "PyTorch": 0}, 0
    for first, voice in enumerate(VOICES):
        for index in range(first, len(SENTENCES), step):
            text = SENTENCES[index]
            heard = recogniser.words(bundle.synthesize(text, voice=voice).samples)
            wrong["bundle"] += words_wrong(normalised(text), heard)
            wrong["PyTorch"] += LISTENED["PyTorch"][voice][index]
            words += len(normalised(text))
    print(wrong, words)
    # Of few sentences one word is more than one in a hundred.
    assert wrong["bundle"] <= wrong["PyTorch"] + max(1, words / 100)


def test_the_recogniser_hears_the_difference(bundle: Bundle, recogniser: Recogniser) -> None:
    text = SENTENCES[0]
    samples = bundle.synthesize(text).samples
    noise = np.random.default_rng(0).normal(0, 0.2, samples.shape).astype(np.float32)
    assert words_wrong(normalised(text), recogniser.words(samples + noise)) > 3


@pytest.mark.parametrize("form", read_forms()[::6], ids=lambda form: form[0])
def test_written_forms_are_spoken_as_they_are_meant(
    bundle: Bundle, recogniser: Recogniser, form: tuple[str, list[str]]
) -> None:
    text, words = form
    spoken = (bundle.synthesize(text, voice=voice).samples for voice in VOICES)
    assert any(in_order(words, recogniser.words(samples)) for samples in spoken)
