"""Phonemes become tokens one by one, or an error says why not."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime_min.errors import EmptyInputError, TooManyPhonemesError, UnknownPhonemesError
from runtime_min.model.tokens import tokenise

VOCABULARY = {phoneme: 1 + index for index, phoneme in enumerate("abcˈʊᵻ ,.")}
LIMIT = 510
KNOWN = st.text(st.sampled_from(list(VOCABULARY)), min_size=1, max_size=LIMIT)


@given(KNOWN)
def test_every_phoneme_is_one_token_between_two_boundaries(phonemes: str) -> None:
    tokens = tokenise(phonemes, VOCABULARY, LIMIT)
    assert tokens.dtype == np.int64
    assert tokens.tolist() == [[0, *(VOCABULARY[phoneme] for phoneme in phonemes), 0]]


@given(st.text(min_size=1, max_size=60))
def test_unknown_phonemes_are_named_with_all_their_positions(phonemes: str) -> None:
    expected = {
        phoneme: tuple(i for i, found in enumerate(phonemes) if found == phoneme)
        for phoneme in phonemes
        if phoneme not in VOCABULARY
    }
    if not expected:
        assert tokenise(phonemes, VOCABULARY, LIMIT).shape == (1, len(phonemes) + 2)
        return
    with pytest.raises(UnknownPhonemesError) as refusal:
        tokenise(phonemes, VOCABULARY, LIMIT)
    assert refusal.value.positions == expected


def test_the_message_names_phonemes_and_positions() -> None:
    with pytest.raises(UnknownPhonemesError) as refusal:
        tokenise("aXbXg", VOCABULARY, LIMIT)
    assert "'X' (U+0058) at 1, 3; 'g' (U+0067) at 4" in str(refusal.value)


def test_no_phonemes_are_an_error() -> None:
    with pytest.raises(EmptyInputError, match="at least one phoneme"):
        tokenise("", VOCABULARY, LIMIT)


@given(st.integers(1, 100), st.integers(0, 100))
def test_the_limit_is_exact_and_nothing_is_cut_off(limit: int, more: int) -> None:
    assert tokenise("a" * limit, VOCABULARY, limit).shape == (1, limit + 2)
    with pytest.raises(TooManyPhonemesError) as refusal:
        tokenise("a" * (limit + 1 + more), VOCABULARY, limit)
    assert (refusal.value.found, refusal.value.limit) == (limit + 1 + more, limit)
    assert str(limit) in str(refusal.value)
    assert "split" in str(refusal.value)
