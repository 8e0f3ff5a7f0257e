"""Phonemes become tokens one by one."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from runtime_min.model.tokens import tokenise

VOCABULARY = {phoneme: 1 + index for index, phoneme in enumerate("abcˈʊᵻ ,.")}


@given(st.text(st.sampled_from(list(VOCABULARY)), min_size=1, max_size=510))
def test_every_phoneme_is_one_token_between_two_boundaries(phonemes: str) -> None:
    tokens = tokenise(phonemes, VOCABULARY)
    assert tokens.dtype == np.int64
    assert tokens.tolist() == [[0, *(VOCABULARY[phoneme] for phoneme in phonemes), 0]]
