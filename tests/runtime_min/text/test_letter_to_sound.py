import re
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime_min.errors import TextDataError
from runtime_min.text.letter_to_sound import LetterToSound
from tests.support.english_text import LETTER_TO_SOUND
from tests.support.paths import ROOT
from training.alignment import phonemes_of
from training.train_letter_to_sound import distance, held_out, lexicon

ALPHABETS = {
    "en-us": "AIOWYbdfhijklmnpstuvwzæðŋɑɔəɛɜɡɪɹɾʃʊʌʒʔʤʧˈˌθᵊᵻɐ",
    "en-gb": "AIQWYabdfhijklmnpstuvwzðŋɑɒɔəɛɜɡɪɹʃʊʌʒʤʧˈˌːθᵊɐ",
}
DATA = (ROOT / "exporter/text/data/spelling.bin").read_bytes()
languages = pytest.mark.parametrize("language", ALPHABETS)


def spelled(word: str, language: str) -> str:
    return LETTER_TO_SOUND.phonemes(word, language == "en-gb")


@languages
@given(word=st.text(min_size=1) | st.text("aeio'stréß", min_size=1, max_size=60))
def test_any_word_is_spelled_in_the_alphabet_with_at_most_one_primary_stress(
    language: str, word: str
) -> None:
    phonemes = spelled(word, language)

    assert set(phonemes) <= set(ALPHABETS[language])
    assert phonemes.count("ˈ") <= 1
    assert phonemes or not any(map(str.isalpha, word))


@languages
@pytest.mark.parametrize("word", ["б", "中", "ﬁ", "ŋ", "aaaaaaa", "tsk", "'", "x" * 5_000, "qzxxw" * 500])
def test_odd_words_do_not_fail(language: str, word: str) -> None:
    assert bool(spelled(word, language)) == (word != "'")


@languages
def test_a_word_is_spelled_alike_by_a_new_model_and_whatever_its_case(language: str) -> None:
    assert spelled("Snorflé", language) == LetterToSound(DATA).phonemes("snorfle", language == "en-gb")


def test_the_data_are_small_and_other_files_are_refused() -> None:
    assert len(DATA) <= 1_200_000
    for damaged in (b"", b"\0" * 1000, DATA[:-1], DATA[:4] + zlib.compress(b"\0" * 10)):
        with pytest.raises(TextDataError, match="spell out words"):
            LetterToSound(damaged).phonemes("snorfle", False)


@pytest.mark.parametrize(
    ("language", "word", "expected"),
    [
        ("en-us", "blorp", "blˈɔɹp"),
        ("en-us", "snarker", "snˈɑɹkəɹ"),
        ("en-us", "grimbled", "ɡɹˈɪmbᵊld"),
        ("en-gb", "blorp", "blˈɔːp"),
        ("en-gb", "snarker", "snˈɑːkə"),
    ],
)
def test_examples(language: str, word: str, expected: str) -> None:
    assert re.sub("[ˌ]", "", spelled(word, language)) == expected


@pytest.mark.parametrize(("dialect", "language", "most"), [("us", "en-us", 0.08), ("gb", "en-gb", 0.08)])
def test_held_out_words_are_mostly_spelled_as_the_lexicon_has_them(
    dialect: str, language: str, most: float
) -> None:
    words = [pair for pair in lexicon(dialect) if held_out(pair[0])][::4]
    pairs = [
        (
            phonemes_of(re.sub("[ˈˌ]", "", right)),
            phonemes_of(re.sub("[ˈˌ]", "", spelled(word, language))),
        )
        for word, right in words
    ]

    assert sum(distance(right, given) for right, given in pairs) <= most * sum(
        len(right) for right, _ in pairs
    )
