"""Damaged dictionaries are refused, and any other is read somehow."""

from __future__ import annotations

import pytest

from runtime_min.errors import TextDataError
from tests.support.fuzzing.segmented import DICTIONARIES, FuzzedDictionary

each_dictionary = pytest.mark.parametrize("dictionary", DICTIONARIES, ids=lambda each: each.language)


@each_dictionary
def test_damaged_data_are_a_typed_error(dictionary: FuzzedDictionary) -> None:
    for name, data in dictionary.damaged().items():
        with pytest.raises(TextDataError, match=r"(Chinese|Japanese) dictionary"):
            dictionary.reader(data)
            pytest.fail(name)


@each_dictionary
@pytest.mark.parametrize("seed", range(6))
def test_hostile_numbers_are_refused_or_read_somehow(dictionary: FuzzedDictionary, seed: int) -> None:
    try:
        made = dictionary.reader(dictionary.hostile(seed))
    except TextDataError:
        return
    ends = [end for end, _ in made.words(dictionary.text * 20)]
    assert ends == sorted(set(ends))
    assert ends[-1] == 20 * len(dictionary.text)
