"""Chinese is divided into words and read as misaki reads it; numbers are read as people read them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exporter.model.config import OFFICIAL_CONFIG, read_config
from runtime_min.errors import TextDataError
from runtime_min.speech.words import Word, read_input
from runtime_min.text import chinese_forms
from runtime_min.text.chinese import PLAIN, Chinese
from runtime_min.text.chinese_dictionary import HAN, ChineseDictionary
from runtime_min.text.chinese_forms import number
from runtime_min.text.polyphones import PIECE, Polyphones
from tests.support.fuzzing.dictionaries import DAMAGED, DATA, NETWORK, hostile
from tests.support.fuzzing.texts import UNITS, WORDS

READ = {
    # misaki 0.9.4 says the same.
    "我在银行工作。": "wo↓ ʦai↘ i↗nxa↗ŋ kʊ→ŋʦwo↘.",
    "长大了，重庆很重要": "ꭧa↓ŋta↘ lɤ, ꭧʰʊ↗ŋʨʰi↘ŋ xə↓n ꭧʊ↘ŋjau↘",
    "他来到了网易杭研大厦": "tʰa→ lai↗tau↘ lɤ wa↓ŋi↘ xa↗ŋjɛ↗n ta↘ʂa↘",
    "女儿花儿哪儿": "ny↓ɚ↗ xwa→ɚ↗ na↓ɚ↗",
    "歡樂製造機": "xwa→n lɤ↘ ꭧɨ↘ ʦau↘ ʨi→",
    "他说：“好！”《红楼梦》（一）": "tʰa→ ʂwo→: “xau↓!” “xʊ↗ŋlou↗mə↘ŋ” (i→)",
}  # fmt: skip
CHOSEN = {
    "她被选为馆长": "tʰa→ pei↘ɕɥɛ↓nwei↗ kwa↓nꭧa↓ŋ",
    "该片改名为另一个名字": "kai→pʰjɛ↘n kai↓mi↗ŋ wei↗ li↘ŋ i↗kɤ↘ mi↗ŋʦɨ↘",
    "为了你": "wei↘lɤ ni↓",  # A phrase decides.
    "买了一只鸡": "mai↓ lɤ i→ꭧɨ→ ʨi→",
}
FORMS = (Path(__file__).parent / "data" / "chinese_forms.txt").read_text(encoding="utf-8").splitlines()[1:]


@pytest.fixture(scope="module")
def dictionary() -> ChineseDictionary:
    return ChineseDictionary(DATA)


@pytest.fixture(scope="module")
def chinese(dictionary: ChineseDictionary) -> Chinese:
    return Chinese(dictionary, lambda words: None)


def with_english(dictionary: ChineseDictionary) -> Chinese:
    return Chinese(dictionary, lambda own: lambda text: [Word(text, str(own.get(text, text.lower())))])


def said(words: list[Word]) -> str:
    (passage,) = read_input(words, None)
    return passage.phonemes


def test_words_are_read_as_misaki_reads_them(chinese: Chinese) -> None:
    assert {text: said(chinese(text)) for text in READ} == READ


def test_the_words_around_a_character_choose_its_reading_where_no_phrase_does(chinese: Chinese) -> None:
    assert {text: said(chinese(text)) for text in CHOSEN} == CHOSEN


def test_a_long_run_is_read_in_pieces(dictionary: ChineseDictionary) -> None:
    run = "她被选为馆长三天" * 40
    whole = [each for _, word in dictionary.readings(run) for each in word]
    assert len(whole) == len(run)
    pieces = [run[start : start + PIECE] for start in range(0, len(run), PIECE)]
    network = Polyphones(NETWORK)
    for place, piece in enumerate(pieces):
        alone = network.phonemes(piece, range(len(piece)))
        found = network.phonemes(run, range(len(run)))
        assert {place * PIECE + own: each for own, each in alone.items()}.items() <= found.items()


def test_a_space_is_between_the_words_and_in_none_of_them(chinese: Chinese) -> None:
    (passage,) = read_input(chinese("我在银行，你好"), None)
    assert passage.phonemes == "wo↓ ʦai↘ i↗nxa↗ŋ, ni↓xau↓"
    spans = [(word.text, passage.phonemes[word.first : word.end], word.spaced) for word in passage.words]
    assert spans == [
        ("我", "wo↓", True), ("在", "ʦai↘", True), ("银行", "i↗nxa↗ŋ", False), ("，", ",", True),
        ("你好", "ni↓xau↓", False),
    ]  # fmt: skip


@pytest.mark.parametrize("row", FORMS)
def test_written_forms_are_read_as_people_read_them(chinese: Chinese, row: str) -> None:
    shown, spoken = row.split("\t")
    written = shown.translate(PLAIN)
    read, start = "", 0
    while start < len(written):
        form = chinese_forms.FORMS.find(written, start, len(written))
        start, part = form or (start + 1, written[start])
        read += part
    assert read == spoken
    assert all(word.phonemes for word in chinese(written) if not word.text.isascii() or word.text.isdigit())


@given(st.integers(1, 10**16 - 1))
def test_a_cardinal_has_the_value_of_its_characters(value: int) -> None:
    assert _value(number(f"{value:,}")) == value


def _value(spoken: str) -> int:
    """Returns the value of a number in Chinese characters."""
    for scale, size in (("亿", 10**8), ("万", 10**4), ("千", 1_000), ("百", 100), ("十", 10)):
        high, found, low = spoken.rpartition(scale) if size == 10**8 else spoken.partition(scale)
        if found:
            return (_value(high) if high else 1) * size + (_value(low.lstrip("零")) if low else 0)
    return "零一二三四五六七八九".index(spoken.replace("两", "二"))


def test_a_number_begins_a_word(chinese: Chinese) -> None:
    assert [word.text for word in chinese("他2025年第2个")] == ["他", "2025年", "第2个"]


def test_english_within_chinese_is_read_in_english(dictionary: ChineseDictionary) -> None:
    assert said(with_english(dictionary)("用GPT-4写")) == "jʊ↘ŋ gpt sɨ↘ɕje↓"
    alone = Chinese(dictionary, lambda words: None)("用GPT写")
    assert [word.phonemes for word in alone] == ["jʊ↘ŋ ", None, "ɕje↓"]


def test_an_apps_own_words_come_first(dictionary: ChineseDictionary) -> None:
    own = with_english(dictionary).adapted({"银行": "ˈa", "GPT": "ˈe"}, skip_emoji=True)
    assert said(own("在银行用GPT😀和[银行](/ˈo/)")) == "ʦai↘ ˈa jʊ↘ŋ ˈe xɤ↗ ˈo"


@settings(deadline=None, max_examples=200)
@given(st.lists(st.sampled_from((*UNITS, *WORDS)) | st.text(max_size=4), max_size=12).map("".join))
def test_any_text_is_spoken_in_kokoros_alphabet_or_reported(text: str) -> None:
    vocabulary = read_config(OFFICIAL_CONFIG)["vocab"]
    g2p = Chinese(_DICTIONARY, lambda words: None)
    plain = text.replace("[", "").replace("]", "")
    words = g2p(plain)
    assert "".join(word.text + word.whitespace for word in words) == plain
    assert all(phoneme in vocabulary for word in words for phoneme in word.phonemes or "")
    assert all(word.text for word in words[1:])


_DICTIONARY = ChineseDictionary(DATA)


@pytest.mark.parametrize("unit", ["的", "中国人", "馬厩", "一", "1", "1-", "〇", "¼", "GPT-4", "a ", "2个"])
def test_the_work_is_linear(chinese: Chinese, calls: Callable[..., int], unit: str) -> None:
    few, many = (calls(lambda n=length: chinese(unit * (n // len(unit)))) for length in (1_000, 4_000))
    assert many < 6 * few


@pytest.mark.parametrize("name", DAMAGED)
def test_damaged_data_are_a_typed_error(name: str) -> None:
    with pytest.raises(TextDataError, match="Chinese dictionary"):
        ChineseDictionary(DAMAGED[name]())


@pytest.mark.parametrize("seed", range(8))
def test_hostile_numbers_are_refused_or_read_somehow(seed: int) -> None:
    try:
        made = ChineseDictionary(hostile(seed))
    except TextDataError:
        return
    ends = [end for end, _ in made.words("我们在银行工作歡樂製造機" * 30)]
    assert ends == sorted(set(ends))
    assert ends[-1] == 12 * 30


def test_every_character_of_the_data_has_a_reading_or_none(dictionary: ChineseDictionary) -> None:
    every = "".join(map(chr, range(0x4E00, 0x4E00 + HAN)))
    unknown = [phonemes for _, phonemes in dictionary.words(every) if phonemes is None]
    assert len(unknown) < 100
