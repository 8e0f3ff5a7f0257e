"""Long input is split where it may be, nowhere else, and all of it is kept."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime_min.speech.split import FIRST_CLAUSE, FIRST_WORDS, Break, find_breaks, first_words, split

WORDS = st.text("aˈʊnðɹ", min_size=1, max_size=9)
GAPS = st.sampled_from([" ", " ", " ", ", ", "; ", ". ", "! ", "?” ", "… ", "—", "。", "，", "। ", ") "])
TEXTS = st.lists(st.tuples(WORDS, GAPS), min_size=1, max_size=60).map(
    lambda pairs: "".join(word + gap for word, gap in pairs)
)
SIZES = st.integers(1, 40)


def pieces(text: str, limit: int, size: int, growing: bool = False) -> list[str]:
    ends = split(text, find_breaks(text), limit=limit, size=size, before=0 if growing else size)
    return [text[start:end] for start, end in zip([0, *ends[:-1]], ends, strict=True)]


@given(TEXTS, SIZES, st.integers(0, 40), st.booleans())
def test_the_pieces_are_the_input_and_none_is_too_long(
    text: str, size: int, more: int, growing: bool
) -> None:
    found = pieces(text, size + more, size, growing)
    assert "".join(found) == text
    assert all(0 < len(piece) <= size + more for piece in found)


@given(TEXTS, SIZES, st.integers(0, 40), st.booleans())
def test_a_word_is_cut_only_if_it_alone_is_too_long(text: str, size: int, more: int, growing: bool) -> None:
    limit, end = size + more, 0
    for piece in pieces(text, limit, size, growing):
        end += len(piece)
        if text[end - 1 : end + 1].isalpha() and end < len(text):
            assert len(piece) == limit and piece.isalpha()


@given(TEXTS, SIZES)
def test_a_sentence_is_preferred_to_a_clause_and_that_to_a_word(text: str, size: int) -> None:
    breaks, start = find_breaks(text), 0
    for piece in pieces(text, 1_000, size):
        end = start + len(piece)
        within = [at for at in range(start + 1, start + size + 1) if at in breaks]
        if within and len(text) - start > size:
            best = max(breaks[at] for at in within)
            assert end == max(at for at in within if breaks[at] == best)
        start = end


@given(TEXTS, st.integers(40, 250), st.integers(1, 300))
def test_after_a_short_section_pieces_are_at_most_twice_as_long(text: str, size: int, before: int) -> None:
    ends = split(text, find_breaks(text), limit=510, size=size, before=before)
    lengths = [before, *np.diff([0, *ends])]
    assert ends[-1] == len(text)
    if 2 * before < size:
        for earlier, length in pairwise(lengths):
            assert length <= max(2 * earlier, FIRST_CLAUSE)
    else:
        assert ends == split(text, find_breaks(text), limit=510, size=size, before=size)


@given(TEXTS, st.integers(40, 250))
def test_a_stream_begins_small_and_at_most_doubles(text: str, size: int) -> None:
    found = pieces(text, 510, size, growing=True)
    assert len(found[0]) <= FIRST_CLAUSE
    for before, piece in pairwise(found):
        assert len(piece) <= max(2 * len(before), FIRST_CLAUSE)


def test_a_streams_first_piece_is_the_first_clause_or_a_few_words() -> None:
    rest = "and then it goes on for a very long while without any mark. " * 3
    assert pieces(f"A first clause, {rest}", 510, 250, growing=True)[0] == "A first clause, "
    words = pieces(rest, 510, 250, growing=True)[0]
    assert words == "and then it goes on "
    assert len(words) <= FIRST_WORDS
    # Too short to play while the next is computed.
    assert pieces(f"Yes, {rest}", 510, 250, growing=True)[0] != "Yes, "


@given(TEXTS)
def test_the_first_words_of_a_piece_are_few_and_so_are_not_the_rest(text: str) -> None:
    breaks = find_breaks(text)
    for end in breaks:
        places = [at for at in breaks if 6 <= at <= end - 6]
        assert first_words(breaks, end) == sorted(places)[:1]


@pytest.mark.parametrize("run", ["koɴniʨiwasekai", "ni↓xau↓wo→", "b", "ˈaˈa"])
def test_a_stream_of_phonemes_without_spaces_begins_small_too(run: str) -> None:
    found = pieces(run * 100, 510, 250, growing=True)
    assert "".join(found) == run * 100
    assert FIRST_WORDS // 2 <= len(found[0]) <= FIRST_WORDS
    for before, piece in pairwise(found):
        assert len(piece) <= max(2 * len(before), FIRST_CLAUSE)
    # A long word is none of these.
    assert pieces("a" * 30 + " b", 510, 250, growing=True) == ["a" * 30 + " ", "b"]


def test_a_run_without_spaces_is_cut_between_syllables() -> None:
    assert pieces("koɴniʨiwasekaikyou" * 9, 510, 250, growing=True)[0] == "koɴniʨiwasekaikyou"
    assert pieces("ni↓xau↓ʂɨ↘" * 40, 510, 250, growing=True)[0] == "ni↓xau↓ʂɨ↘" * 2


MARKS = {
    "English": ("wˈʌn. tˈu! θɹˈi? fˈɔɹ", "sss"),
    "quoted": ("“wˈʌn!” (tˈu.) «θɹˈi?» fˈɔɹ", "sss"),
    "clauses": ("wˈʌn, tˈu; θɹˈi: fˈɔɹ", "ccc"),
    "dashes without spaces": ("wˈʌn—tˈu–θɹˈi", "cc"),
    "ellipsis": ("wˈʌn… tˈu…θɹˈi... fˈɔɹ", "scs"),
    "brackets": ("wˈʌn (tˈu) θɹˈi", "wc"),
    "Spanish": ("¿kˈe? ¡nˈo! sˈi", "ss"),
    "French": ("« wˈi ! » nˈɔ̃ ; wˈi", "wsc"),
    "Japanese and Chinese": ("ni xˈau。 xˈau，xˈau！xˈau？「xˈau。」xˈau、xˈau；xˈau：xˈau", "wscsssccc"),
    "Hindi": ("nəmˈʌsteː। kˈɛse॥ həˈi", "ss"),
    "words": ("wˈʌn  tˈu\nθɹˈi", "ww"),
    "within a word": ("wˈʌn.tˈu,θɹˈi'z fˈɔɹ", "w"),
}


@pytest.mark.parametrize("name", MARKS)
def test_the_marks_of_all_languages_are_known(name: str) -> None:
    text, kinds = MARKS[name]
    letters = {Break.WORD: "w", Break.CLAUSE: "c", Break.SENTENCE: "s"}
    found = find_breaks(text)
    assert "".join(letters[found[at]] for at in sorted(found) if at < len(text)) == kinds


def test_opening_marks_stay_with_what_they_open() -> None:
    assert pieces("ˈola. ¿kˈe? “sˈi.” (nˈo) xa", 510, 7) == ["ˈola. ", "¿kˈe? ", "“sˈi.” ", "(nˈo) ", "xa"]


@pytest.mark.parametrize("run", [".", ",", ")", " ", "»", ".)", "—", "a", ". "])
def test_a_long_run_of_marks_takes_no_long_time(run: str) -> None:
    assert "".join(pieces(run * 100_000 + "a", 510, 250)) == run * 100_000 + "a"
