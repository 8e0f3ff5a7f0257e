"""Text in pieces through `Bundle`: English is read as in a whole text, wrong requests are refused at once."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from runtime_min import Audio, Segment
from runtime_min.errors import (
    InputError,
    MarkupError,
    PauseError,
    SpeedError,
    SpokenTypeError,
    UnknownVoiceError,
    UsageError,
)
from tests.support.fakes.text_bundle import TextBundle

TEXT = (
    "I read it yesterday, and Dr. No lives at No. 5. He paid $4.50 (about 4 p.m. I think) and left. "
    "[Kokoro](/kˈOkəɹO/) is [pause:0.5s] here! The record is theirs.\n\nWill they record it? "
)


@pytest.fixture(scope="module")
def bundle(text_bundle: Path) -> Iterator[TextBundle]:
    bundle = TextBundle(text_bundle)
    bundle.gate.set()
    yield bundle
    bundle.close()


@pytest.mark.parametrize("size", [1, 3, 7])
def test_a_text_in_pieces_has_the_words_of_the_whole_text(bundle: TextBundle, size: int) -> None:
    pieces = [TEXT[start : start + size] for start in range(0, len(TEXT), size)]
    found, once = Audio.join(bundle.stream(pieces)), Audio.join(bundle.stream([TEXT]))
    assert found.samples.tobytes() == once.samples.tobytes() and found.words == once.words
    whole = Audio.join(bundle.stream(TEXT))
    assert found.phonemes.replace(" ", "") == whole.phonemes.replace(" ", "")
    assert [word.text for word in found.words] == [word.text for word in whole.words]
    assert found.text == whole.text and found.word_ends == whole.word_ends


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"voice": "nobody"}, UnknownVoiceError),
        ({"speed": 9}, SpeedError),
        ({"steady": True}, UsageError),
        ({"ssml": True}, UsageError),
        ({"one_pass": True}, UsageError),
        ({"flush_after": -1}, PauseError),
        ({"language": "nowhere"}, InputError),
    ],
)
def test_a_wrong_request_is_refused_before_text_is_read(
    bundle: TextBundle, options: dict[str, Any], error: type[Exception]
) -> None:
    with pytest.raises(error):
        bundle.stream(iter(lambda: pytest.fail("was read"), None), **options)


def test_what_a_piece_has_wrong_is_told_in_its_place(bundle: TextBundle) -> None:
    for wrong, error in (
        ("[pause:1h] Now", MarkupError),
        (Segment("a"), SpokenTypeError),
        (None, SpokenTypeError),
    ):
        with pytest.raises(error):
            list(bundle.stream(["It is late. ", wrong]))  # type: ignore[list-item]


def test_a_whole_text_has_no_pieces_to_wait_for(bundle: TextBundle) -> None:
    with pytest.raises(UsageError, match="flush_after"):
        bundle.stream("Hello.", flush_after=1.0)
    for wrong in (b"Hello.", 7):
        with pytest.raises(SpokenTypeError):
            bundle.stream(wrong)  # type: ignore[arg-type]
