"""The 54 official voices that come with the exporter are those of the official packs."""

from __future__ import annotations

import numpy as np
import pytest

from exporter.bundle.voice_factors import LARGEST_ERROR
from exporter.model import voice_packs
from exporter.model.voice_packs import COLUMNS, NAMES, ROWS, load_voices, read_packs
from tests.support.paths import REAL_VOICES
from training.official_voices import official_factors


def test_all_voices_are_there_without_a_network() -> None:
    voices = load_voices("official")
    assert tuple(voices) == NAMES
    for voice in voices.values():
        assert voice.shape == (ROWS, COLUMNS) and voice.dtype == np.float32


@pytest.mark.skipif(not REAL_VOICES.exists(), reason="the recordings of the real model are not here")
def test_they_are_the_factors_of_the_official_packs() -> None:
    packs = read_packs([REAL_VOICES])
    with np.load(voice_packs._OFFICIAL) as stored:
        for name, factors in official_factors(packs).items():
            np.testing.assert_array_equal(stored[name], factors)
    for name, voice in load_voices("official").items():
        limit = LARGEST_ERROR * np.abs(packs[name]).max(axis=1, keepdims=True)
        assert (np.abs(voice - packs[name]) <= limit).all()
