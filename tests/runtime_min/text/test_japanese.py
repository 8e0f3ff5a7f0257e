"""Japanese is divided into words and read as misaki reads it; numbers and counters are read by rule."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exporter.model.config import OFFICIAL_CONFIG, read_config
from runtime_min.speech.words import Word, read_input
from runtime_min.text import japanese_forms, kana
from runtime_min.text.japanese import PLAIN, Japanese
from runtime_min.text.japanese_dictionary import JapaneseDictionary
from tests.support.fuzzing.segmented import JAPANESE
from tests.support.fuzzing.texts import UNITS, WORDS

READ = {
    # misaki 0.9.4 says the same.
    "今日は天気がいいですね。": "kʲoː βa teŋkʲi ɡa iː desɨ ne.",
    "東京都に住んでいる人々": "toːkʲoːto ɲi sɨnde iɾɯ çitobʲito",
    "会社へ行った。": "kaiɕa e iʔta.",
    "コンピューターを使っています": "kompʲɨːtaː o ʦɨkaʔte imasɨ",
    "「はい」と言った": "“hai” to iʔta",
}
FORMS = (Path(__file__).parent / "data" / "japanese_forms.txt").read_text(encoding="utf-8").splitlines()[1:]
_DICTIONARY = JapaneseDictionary(JAPANESE.data)


@pytest.fixture(scope="module")
def japanese() -> Japanese:
    return Japanese(_DICTIONARY, lambda words: None)


def said(words: list[Word]) -> str:
    (passage,) = read_input(words, None)
    return passage.phonemes


def test_words_are_read_as_misaki_reads_them(japanese: Japanese) -> None:
    assert {text: said(japanese(text)) for text in READ} == READ


@pytest.mark.parametrize("row", FORMS)
def test_written_forms_are_read_as_people_read_them(japanese: Japanese, row: str) -> None:
    shown, spoken = row.split("\t")
    written = shown.translate(PLAIN)
    read, start = "", 0
    while start < len(written):
        form = japanese_forms.FORMS.find(written, start, len(written))
        start, part = form or (start + 1, written[start])
        read += f"{part} " if form else part
    assert " ".join(read.split()) == spoken
    assert all(word.phonemes for word in japanese(written) if word.text not in "()")


@pytest.mark.parametrize(
    ("written", "sounds"),
    [
        ("さんぽ", "sampo"), ("ニャン", "ɲaɴ"), ("フォーク", "ɸoːkɯ"), ("キャッチ", "kʲaʔʨi"), ("あぁ", "a"),
        ("亜", None), ("ツァイ", "ʦai"), ("ぁ", ""), ("ゴャ", "ɡja"), ("コンガ", "koŋɡa"), ("ンジ", "ɲʥi"),
    ],
)  # fmt: skip
def test_kana_have_misakis_phonemes(written: str, sounds: str | None) -> None:
    assert kana.phonemes(written) == sounds


@given(st.integers(0, 10**16 - 1))
def test_a_number_is_the_words_of_its_powers(value: int) -> None:
    spoken = japanese_forms.number(f"{value:,}")
    assert japanese_forms.number(str(value)) == spoken
    assert kana.phonemes(spoken.replace(" ", ""))
    scales = sum(bool(value // 10_000**place % 10_000) for place in range(4))
    assert len(spoken.split()) == max(scales, 1)


def test_characters_of_half_width_and_marks_apart_are_read(japanese: Japanese) -> None:
    usual = said(japanese("ガパーティー"))
    assert said(japanese("ｶﾞﾊﾟｰﾃｨｰ")) == usual
    assert said(japanese("か\u3099は\u309aーてぃー")) == said(japanese("がぱーてぃー"))
    assert [word.text for word in japanese("ｶﾞ１２個")] == ["ｶﾞ", "１２個"]


def test_english_within_japanese_is_read_in_english() -> None:
    english = Japanese(_DICTIONARY, lambda own: lambda text: [Word(text, str(own.get(text, text.lower())))])
    assert said(english("私はGoogleを使う")) == "βatakɯɕi βa google o ʦɨkaɯ"
    own = english.adapted({"使う": "ˈa", "Google": "ˈe"}, skip_emoji=True)
    assert said(own("私はGoogleを使う😀と[私](/ˈo/)")) == "βatakɯɕi βa ˈe o ˈa to ˈo"
    alone = Japanese(_DICTIONARY, lambda words: None)("Googleを")
    assert [word.phonemes for word in alone] == [None, "o"]


@settings(deadline=None, max_examples=200)
@given(st.lists(st.sampled_from((*UNITS, *WORDS)) | st.text(max_size=4), max_size=12).map("".join))
def test_any_text_is_spoken_in_kokoros_alphabet_or_reported(text: str) -> None:
    vocabulary = read_config(OFFICIAL_CONFIG)["vocab"]
    plain = text.replace("[", "").replace("]", "")
    words = Japanese(_DICTIONARY, lambda words: None)(plain)
    assert "".join(word.text + word.whitespace for word in words) == plain
    assert all(phoneme in vocabulary for word in words for phoneme in word.phonemes or "")
    assert all(word.text for word in words[1:])


@pytest.mark.parametrize(
    "unit", ["の", "東京都", "すもも", "龥", "ゝ", "1", "1-", "〇", "3本", "GPT-4", "ｶﾞ", "。", "1万"]
)
def test_the_work_is_linear(japanese: Japanese, calls: Callable[..., int], unit: str) -> None:
    few, many = (calls(lambda n=length: japanese(unit * (n // len(unit)))) for length in (500, 2_000))
    assert many < 6 * few


def test_every_letter_has_a_reading_or_none(japanese: Japanese) -> None:
    kana_letters = "".join(map(chr, (*range(0x3042, 0x3095), *range(0x30A2, 0x30F5))))
    assert all(word.phonemes is not None for word in japanese(kana_letters))
    kanji = "".join(map(chr, range(0x4E00, 0x9FA6)))
    assert sum(word.phonemes is None for word in japanese(kanji)) < 17_000
