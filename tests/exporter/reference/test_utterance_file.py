"""Utterances from files, and the mistakes in them that are named."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporter.reference.utterance_file import UtterancesError, parse_utterances, read_utterances
from exporter.reference.utterances import Utterance

words = st.text(st.characters(exclude_categories=("Cs",)), min_size=1)
utterances = st.builds(Utterance, words, words, speed=st.floats(0.25, 4), seed=st.integers(0, 2**64 - 1))


@given(said=st.lists(utterances, min_size=1))
def test_what_is_written_as_json_is_read_back(said: list[Utterance]) -> None:
    assert parse_utterances(json.dumps([vars(each) for each in said]), "file") == tuple(said)


def test_speed_and_seed_may_be_left_out() -> None:
    text = '[{"phonemes": "a", "voice": "b"}]'
    assert parse_utterances(text, "file") == (Utterance("a", "b", 1.0, 0),)


@given(
    content=st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
        lambda inner: (
            st.lists(inner)
            | st.dictionaries(st.sampled_from(["phonemes", "voice", "speed", "seed", "x"]), inner)
        ),
    )
)
def test_whatever_else_stands_there_is_refused_with_the_name_of_the_file(content: Any) -> None:
    try:
        parsed = parse_utterances(json.dumps(content), "my.json")
    except UtterancesError as error:
        assert str(error).startswith("my.json")
        assert "found" in str(error)
    else:
        assert len(parsed) == len(content)


@given(text=st.text())
def test_what_is_no_json_is_refused(text: str) -> None:
    with pytest.raises(UtterancesError, match=r"^my\.json"):
        parse_utterances(f"[{text}", "my.json")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("[]", ": List should have at least 1 item"),
        ("null", ": Input should be a valid list, found None"),
        ('{"phonemes": "a", "voice": "b"}', ": Input should be a valid list"),
        ('["a"]', ", [0]: Input should be a valid dictionary"),
        ('[{"voice": "b"}]', ", [0].phonemes: Field required, found {'voice': 'b'}"),
        (
            '[{"phonemes": "a", "voice": "b"}, {"phonemes": 3, "voice": "b"}]',
            ", [1].phonemes: Input should be a valid string, found 3",
        ),
        (
            '[{"phonemes": "a", "voice": ""}]',
            ", [0].voice: String should have at least 1 character, found ''",
        ),
        ('[{"phonemes": "a", "voice": "b", "speed": "fast"}]', ", [0].speed: Input should be a valid number"),
        (
            '[{"phonemes": "a", "voice": "b", "speed": 9}]',
            ", [0].speed: Input should be less than or equal to 4",
        ),
        ('[{"phonemes": "a", "voice": "b", "speed": NaN}]', ", [0].speed: "),
        ('[{"phonemes": "a", "voice": "b", "speed": true}]', ", [0].speed: "),
        (f'[{{"phonemes": "a", "voice": "b", "speed": 1{"0" * 400}}}]', ", [0].speed: "),
        ('[{"phonemes": "a", "voice": "b", "seed": 1.5}]', ", [0].seed: Input should be a valid integer"),
        ('[{"phonemes": "a", "voice": "b", "seed": -1}]', ", [0].seed: "),
        ('[{"phonemes": "a", "voice": "b", "pitch": 1}]', ", [0].pitch: Extra inputs are not permitted"),
        ('[{"phonemes": "a", "voice": "b", "voice": "c"}]', "two entries with one key"),
        ("[" * 100_000, "expected JSON"),
        (f"[1{'0' * 5000}]", "expected JSON"),
    ],
)
def test_a_mistake_is_named_by_place_and_key(content: str, message: str) -> None:
    with pytest.raises(UtterancesError) as caught:
        parse_utterances(content, "my.json")
    assert str(caught.value).startswith("my.json") and message in str(caught.value)


@pytest.mark.parametrize("content", [None, b"\xff\xfe"])
def test_a_file_that_cannot_be_read_is_named(tmp_path: Path, content: bytes | None) -> None:
    file = tmp_path / "my.json"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(UtterancesError, match=r"my\.json: expected a JSON file in UTF-8"):
        read_utterances(file)
