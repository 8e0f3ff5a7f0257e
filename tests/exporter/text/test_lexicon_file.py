from __future__ import annotations

import zlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exporter.text import lexicon_file
from exporter.text.lexicon_file import LexiconError, _block, pack, packed_lexicon
from runtime_min.errors import TextDataError
from runtime_min.text.lexicon import BLOCK, HEADER, Entry, Lexicon
from tests.support.english_text import lexicon

WORDS = st.text("abcAB'-.éŁ", min_size=1, max_size=30)
PHONEMES = st.text("ˈˌabɹʤæ", min_size=1, max_size=12)
VALUES = st.one_of(
    PHONEMES,
    st.dictionaries(st.sampled_from(["NOUN", "VERB", "None"]), st.none() | PHONEMES, min_size=1).map(
        lambda tags: {"DEFAULT": "ˈa", **tags}
    ),
)


def entry(value: lexicon_file.Value, gold: bool) -> Entry:
    if isinstance(value, str):
        return Entry(gold, value, {})
    others = {tag: phonemes or "" for tag, phonemes in value.items() if tag != "DEFAULT"}
    return Entry(gold, value["DEFAULT"] or "", others)


@settings(deadline=None)
@given(st.dictionaries(WORDS, VALUES, min_size=1), st.dictionaries(WORDS, PHONEMES), st.lists(WORDS))
def test_every_word_is_found_and_no_other(
    gold: dict[str, lexicon_file.Value], silver: dict[str, lexicon_file.Value], others: list[str]
) -> None:
    found = Lexicon(pack(gold, silver))
    for word in {*gold, *silver, *others}:
        assert found.find(word) == (
            entry(gold[word], True)
            if word in gold
            else entry(silver[word], False)
            if word in silver
            else None
        )


def test_words_of_many_blocks_are_found() -> None:
    words = {f"{number}": "a" if number % 3 else "b" for number in range(3 * BLOCK + 1)}
    found = Lexicon(pack(words, {}))
    assert {word: entry.phonemes for word in words if (entry := found.find(word))} == words
    assert found.find("0a") is found.find("") is found.find(f"{3 * BLOCK + 1}") is None


@pytest.mark.parametrize("word", ["", "\0", "a\n", "é", "a b", "\x01a", "~"])
def test_what_is_no_word_is_not_found(word: str) -> None:
    assert Lexicon(pack({"a": "A", "ab": "Ab"}, {})).find(word) is None


def test_a_damaged_file_is_refused() -> None:
    data = pack({"a": "A"}, {})
    for damaged in (
        b"",
        data[:10],
        data[:-1],
        data + b"x",
        b"KLX1" + data[4:],
        data.replace(b"A", b"\xff", 1),
    ):
        with pytest.raises(TextDataError, match="lexicon"):
            Lexicon(damaged)


def test_damaged_words_are_refused_when_they_are_needed() -> None:
    start = HEADER.size + sum(HEADER.unpack_from(data := pack({"a": "A"}, {}))[1:4])
    for block in (b"", b"\xff", _block([b"a", b"b"], [b"A"]), zlib.compress(b"a")):
        header = HEADER.pack(*HEADER.unpack_from(data)[:4], len(block))
        ends = len(block).to_bytes(4, "little")
        damaged = Lexicon(header + data[HEADER.size : start - 4] + ends + block)
        with pytest.raises(TextDataError, match="lexicon"):
            damaged.find("a")


@pytest.mark.parametrize(("language", "phonemes"), [("en-us", "təmˈATO"), ("en-gb", "təmˈɑːtQ")])
def test_the_lexicons_of_misaki(language: str, phonemes: str) -> None:
    found = lexicon(language).find("tomato")
    assert found is not None and found.gold and found.phonemes.replace("ɾ", "T") == phonemes
    assert lexicon(language).find("qzxxw") is None
    desert = lexicon(language).find("desert")
    assert desert is not None and desert.others["VERB"] != desert.phonemes
    assert len(packed_lexicon(language)) < 1_400_000


def test_a_lexicon_that_the_file_cannot_hold_is_refused() -> None:
    with pytest.raises(LexiconError, match="phonemes"):
        pack({"a": "".join(map(chr, range(0x3000, 0x30E1)))}, {})


def test_without_misaki_the_error_names_the_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lexicon_file.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(LexiconError, match="pip install misaki"):
        lexicon_file.pack_lexicon("en-us")
