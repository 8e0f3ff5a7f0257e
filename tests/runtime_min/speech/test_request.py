"""Input that cannot be spoken is refused before anything is computed; all other input is planned."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime_min.errors import (
    EmptyInputError,
    PauseError,
    SeedError,
    SpeedError,
    TooManyPhonemesError,
    UnknownPhonemesError,
    UsageError,
)
from runtime_min.speech.plan import SpeechPlan, piece_seed, plan_portions, plan_speech
from runtime_min.speech.request import (
    Capabilities,
    Request,
    SpeechOptions,
    check_pause,
    check_phonemes,
    check_seed,
    check_speed,
    check_utterance,
    read_request,
)
from runtime_min.speech.split import Break
from runtime_min.speech.words import PhonemeInput, Portion, Segment, Unspoken, Word, read_input

VOCABULARY = {phoneme: 1 + index for index, phoneme in enumerate("abcˈʊᵻ ,.")}
CAPABILITIES = Capabilities({"af_heart": np.zeros((510, 4), np.float32)}, VOCABULARY, 510)


def plan(phonemes: PhonemeInput = "abc", **options: Any) -> SpeechPlan:
    """Plans an input to be spoken whole."""
    request = Request(phonemes=phonemes, **options)
    return plan_speech(CAPABILITIES, request, request.whole, whole=True)


WRONG_NUMBERS: list[Any] = [float("nan"), float("inf"), -1, "1", None, True, 1j, 10**400]


@pytest.mark.parametrize("speed", [*WRONG_NUMBERS, 0, 0.2499, 4.01], ids=repr)
def test_a_speed_out_of_range_is_refused(speed: Any) -> None:
    with pytest.raises(SpeedError, match=r"from 0\.25 to 4"):
        check_speed(speed)
    with pytest.raises(SpeedError):
        plan(speed=speed)
    if speed is not None:
        with pytest.raises(SpeedError):
            plan([Segment("a", None, speed)])


@pytest.mark.parametrize("pause", [*WRONG_NUMBERS, -0.1, 61], ids=repr)
def test_a_pause_out_of_range_is_refused(pause: Any) -> None:
    for name in ("sentence_pause", "clause_pause", "end_pause"):
        with pytest.raises(PauseError, match="from 0 to 60, found"):
            plan(**{name: pause})


@pytest.mark.parametrize("seed", [*WRONG_NUMBERS, 1 << 64, 1.0], ids=repr)
def test_a_seed_out_of_range_is_refused(seed: Any) -> None:
    with pytest.raises(SeedError, match="from 0 to"):
        plan(seed=seed)


@pytest.mark.parametrize("number", [0.25, 1, 4, np.float32(1.5), np.int64(2)])
def test_every_number_in_the_range_is_taken(number: Any) -> None:
    assert check_speed(number) == check_pause(number) == float(number)


@pytest.mark.parametrize("seed", [0, 7, (1 << 64) - 1, np.int64(5), np.uint64(1 << 63)])
def test_every_integer_in_the_range_is_a_seed(seed: Any) -> None:
    assert check_seed(seed) == int(seed)


@given(st.text(min_size=1, max_size=60))
def test_unknown_phonemes_are_named_with_all_their_positions(phonemes: str) -> None:
    expected = {
        phoneme: tuple(i for i, found in enumerate(phonemes) if found == phoneme)
        for phoneme in phonemes
        if phoneme not in VOCABULARY
    }
    if not expected:
        check_phonemes(phonemes, VOCABULARY)
        return
    with pytest.raises(UnknownPhonemesError) as refusal:
        check_phonemes(phonemes, VOCABULARY)
    assert refusal.value.positions == expected


def test_the_message_names_phonemes_positions_and_words() -> None:
    with pytest.raises(UnknownPhonemesError) as refusal:
        check_phonemes("aXbXg", VOCABULARY)
    assert "'X' (U+0058) at 1, 3; 'g' (U+0067) at 4" in str(refusal.value)
    (passage,) = read_input([Word("Go", "ab", " "), Word("naïve", "a❓"), Word("!", "!")], None)
    with pytest.raises(
        UnknownPhonemesError, match=r"'❓' \(U\+2753\) at 4.* words 'naïve' at 3\b"
    ) as refusal:
        check_phonemes(passage.phonemes, dict.fromkeys("ab !", 1), passage.words)
    assert refusal.value.positions == {"❓": (4,)}


@given(st.integers(1, 100), st.integers(0, 100))
def test_the_limit_of_an_utterance_is_exact_and_nothing_is_cut_off(limit: int, more: int) -> None:
    capabilities = replace(CAPABILITIES, max_phonemes=limit)
    assert check_utterance(capabilities, "a" * limit, "af_heart", 1.0, 0).phonemes == "a" * limit
    with pytest.raises(TooManyPhonemesError, match=rf"{limit}\b.*split") as refusal:
        check_utterance(capabilities, "a" * (limit + 1 + more), "af_heart", 1.0, 0)
    assert (refusal.value.found, refusal.value.limit) == (limit + 1 + more, limit)
    with pytest.raises(EmptyInputError, match="at least one phoneme"):
        check_utterance(capabilities, "", "af_heart", 1.0, 0)


@given(st.integers(0, 2**64 - 1), st.integers(0, 10**6), st.integers(0, 10**6))
def test_pieces_have_different_seeds(seed: int, one: int, two: int) -> None:
    assert piece_seed(seed, 0) == seed
    assert (piece_seed(seed, one) == piece_seed(seed, two)) == (one == two)
    assert piece_seed(piece_seed(seed, one), two) == piece_seed(seed, one + two)


def written(text: str, gap: str = " ") -> list[Word]:
    """Words whose phonemes are their ASCII letters in lower case, and their marks."""
    return [
        Word(word, "".join("b" if part.isalpha() else part for part in word if part != '"'), gap)
        for word in text.split()
    ]


SENTENCES = {
    "e.g., and Mr.": ("He saw e.g. Mr. Bo. Then he", 5),
    "No. and p.m.": ("At No. b by p.m. today. It is", 6),
    "a quotation": ('"So it. Is." he said.', 2),
}


@pytest.mark.parametrize("name", SENTENCES)
def test_sentences_are_those_of_the_written_text(name: str) -> None:
    text, words_before = SENTENCES[name]
    (section,) = plan(written(text), sentence_pause=1.0).sections
    length = len(section.passage.phonemes)
    expected = (
        section.passage.words[words_before].first if words_before < len(section.passage.words) else None
    )
    within = [at for at, kind in section.breaks.items() if kind is Break.SENTENCE and at < length]
    assert within == [expected]


def test_headings_and_paragraphs_without_punctuation_are_sentences() -> None:
    words = [*written("Title", "\n"), *written("It is so")]
    (section,) = plan(words).sections
    assert section.breaks[section.passage.words[1].first] is Break.SENTENCE
    # The first part of a long text.
    (section,) = plan(words[:1]).sections
    assert section.breaks[len(section.passage.phonemes)] is Break.SENTENCE
    segments = [*(Segment(part) for part in ("ab", "ab,", "ab.")), Segment("ab", pause=0.1), Segment("ab")]
    sections = plan(segments).sections
    kinds = [section.breaks[len(section.passage.phonemes)] for section in sections]
    assert kinds == [Break.SENTENCE, Break.CLAUSE, Break.SENTENCE, Break.WORD, Break.WORD]


def test_a_word_that_ends_one_sentence_and_begins_another_is_not_divided() -> None:
    words = [Word("So.", "b.", " "), Word("It is. They are", "bb", " "), Word("here", "b")]
    (section,) = plan(words).sections
    assert [at for at, kind in section.breaks.items() if kind is Break.SENTENCE] == [3]


def test_parts_are_planned_when_they_are_taken_and_follow_each_other() -> None:
    taken: list[int] = []

    def portions() -> Iterator[Portion]:
        silent, parts = [Word("世", None)], [[Word("ab", "ab", " "), Word("界", None)], [Word("c", "c")]]
        for number, words in enumerate([silent, *parts]):
            taken.append(number)
            yield Portion(words)

    plans = plan_portions(CAPABILITIES, Request(text="", seed=7), portions(), whole=False)
    first = next(plans)
    assert taken == [0, 1] and first.phonemes == "ab"
    (second,) = plans
    assert [section.passage.unspoken for section in first.sections] == [
        (Unspoken("世", 0),),
        (Unspoken("界", 4),),
    ]
    assert [plan.sections[0].seed for plan in (first, second)] == [piece_seed(7, 0), piece_seed(7, 2)]


def test_parts_without_any_phonemes_are_refused() -> None:
    with pytest.raises(EmptyInputError):
        silent = [Portion([Word("世", None)])] * 2
        list(plan_portions(CAPABILITIES, Request(text="世世"), silent, whole=True))


def test_a_request_has_either_text_or_phonemes_and_options_that_are_known() -> None:
    for text, phonemes in ((None, None), ("Yes.", "jˈɛs.")):
        with pytest.raises(UsageError, match="either text or phonemes"):
            read_request(text, phonemes, "af_heart", {})
    for option in ({"ssml": True}, {"g2p": str}):
        with pytest.raises(UsageError, match=f"{next(iter(option))} is for text"):
            read_request(None, "abc", "af_heart", option)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"no option sped: expected .*speed"):
        read_request("Yes.", None, "af_heart", {"sped": 1})  # type: ignore[typeddict-unknown-key]


def test_every_option_is_a_field_of_the_request() -> None:
    names = {field.name for field in fields(Request)}
    assert names == {"text", "phonemes", "voice", *SpeechOptions.__annotations__}
