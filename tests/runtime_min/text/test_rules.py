"""Languages that are data of a bundle: what they say, and what happens to damaged data."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import Any

import msgpack
import pytest

from exporter.text.language_files import language_file
from runtime_min.errors import TextDataError
from runtime_min.text.rules import Rules
from tests.support.languages import golden, letters_of, rules
from tests.support.paths import PROVING

TRIED = 600 if PROVING else 120
"""Damaged files of each language."""
TEXT = "La casa, 1.234,5 € y XXI; l'8/3/2025 a las 15:30 -5 °C del sig. Rossi"


def test_spanish_and_italian_are_as_they_were_when_they_were_code() -> None:
    different = [
        (language, text)
        for language, text, phonemes in golden()
        if "|".join(word.phonemes or "" for word in rules(language)(text)) != phonemes
    ]
    assert different == []


def changed(value: Any, random: Random) -> Any:
    """Returns some data with one part of it replaced."""
    if random.random() < 0.12 or not isinstance(value, (list, dict)) or not value:
        others = (-1, 0, 1 << 40, "", "\0", "\ue000", "\uf000\uf000", "\uf8ff", " ", [], {}, True, ["a"] * 3)
        return random.choice(others)
    if isinstance(value, dict):
        key = random.choice(list(value))
        return {**value, key: changed(value[key], random)}
    place = random.randrange(len(value))
    return [*value[:place], changed(value[place], random), *value[place + 1 :]]


def damaged(language: str, count: int) -> Iterator[bytes]:
    """Yields files of a language with wrong parts, without its list of words, which would take long."""
    data = msgpack.unpackb(language_file(language)) | {"respelled": ["", "", []]}
    for seed in range(count):
        yield msgpack.packb(changed(data, Random(seed)))


@pytest.mark.parametrize("language", ["es", "fr-fr", "hi", "it", "pt-br"])
def test_damaged_data_are_refused_or_speak(language: str) -> None:
    refused = 0
    for data in damaged(language, TRIED):
        try:
            read = Rules(data)
        except TextDataError:
            refused += 1
            continue
        assert letters_of(read(TEXT)) == TEXT.replace(" ", "")
    assert 0 < refused < TRIED


@pytest.mark.parametrize("data", [b"", b"\xff" * 100, b"\x80", msgpack.packb([])])
def test_other_data_are_refused(data: bytes) -> None:
    with pytest.raises(TextDataError, match="the rules"):
        Rules(data)
