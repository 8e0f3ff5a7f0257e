"""Names and blends of voices as clients write them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kokoro_server.requests import default_voice
from kokoro_server.voices import OPENAI_VOICES, known_voice
from runtime_min.model.voices import parse_blend

NAMES = st.sampled_from(["af_heart", "am_adam", *OPENAI_VOICES])
WEIGHTS = st.one_of(st.none(), st.integers(1, 9).map(str), st.floats(0.1, 9).map(str))
SPACES = st.sampled_from(["", " "])


@given(st.lists(st.tuples(NAMES, WEIGHTS, SPACES, SPACES), min_size=1, max_size=5))
def test_both_spellings_of_a_blend_are_one(terms: list[tuple[str, str | None, str, str]]) -> None:
    theirs = "+".join(f"{a}{name}{b}({weight})" if weight else a + name for name, weight, a, b in terms)
    ours = "+".join(f"{name}*{weight}" if weight else name for name, weight, _, _ in terms)
    assert parse_blend(known_voice(theirs, ())) == parse_blend(known_voice(ours, ()))
    expected = {OPENAI_VOICES.get(name, name) for name, *_ in terms}
    assert set(parse_blend(known_voice(theirs, ()))) == expected


def test_a_voice_of_the_bundle_keeps_its_name() -> None:
    assert known_voice("alloy+nova,echo", ["alloy"]) == "alloy+af_nova,am_echo"


@pytest.mark.parametrize(
    ("voices", "expected"),
    [(["am_adam", "af_heart"], "af_heart"), (["am_adam", "b"], "am_adam"), ([], "af_heart")],
    ids=str,
)
def test_a_request_without_a_voice_has_one(voices: list[str], expected: str) -> None:
    assert default_voice(voices) == expected
