"""Hindi is spoken by the rules of a bundle, almost as espeak-ng speaks it."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporter.model.config import OFFICIAL_CONFIG, read_config
from runtime_min.speech.words import Word
from runtime_min.text import espeak
from tests.support.languages import letters_of, rules, said, spoken_numbers

WORDS = (
    "घर पानी लड़का लड़की किताब भारत दिल्ली समझना कमरे बदलाव राजनीति हिन्दी संख्या मंदिर अंग्रेजी नमस्ते "
    "सुंदर मित्र साहित्य ज़्यादा पढ़ना कहाँ दिमाग सामान्य अनुमति विदेश पश्चिम चक्कर डॉलर प्रत्येक आजकल "
    "कर्मचारी जाँच माँग सप्ताह अपील परिवार महाभारत"
).split()
DIFFERENT = {"महाभारत"}
"""espeak-ng has an exception for it."""


def hindi(text: str) -> list[Word]:
    return rules("hi")(text)


def sounds(words: list[Word]) -> str:
    return unicodedata.normalize("NFD", said(words))


def test_words_are_those_of_espeak() -> None:
    g2p = espeak("hi")
    assert {word for word in WORDS if sounds(hindi(word)) != sounds(g2p(word))} == DIFFERENT


@pytest.mark.parametrize("text", ["यह मेरा घर है।", "भारत एक बड़ा देश है।", "आप कहाँ रहते हैं?"])
def test_sentences_are_those_of_espeak(text: str) -> None:
    assert sounds(hindi(text)) == sounds(espeak("hi")(text))


@pytest.mark.parametrize(
    ("text", "spoken"),
    [
        ("1947 में", "उन्नीस सौ सैंतालीस में"),
        ("2500000, ४२", "पच्चीस लाख, बयालीस"),
        ("1,00,000, ₹ 12,34,567", "एक लाख, बारह लाख चौंतीस हज़ार पाँच सौ सड़सठ रुपये"),
        ("1,234 123,456", "एक हज़ार दो सौ चौंतीस एक लाख तेईस हज़ार चार सौ छप्पन"),
        ("3.05%", "तीन दशमलव शून्य पाँच प्रतिशत"),
        ("₹500 5 किमी -5 °C", "पाँच सौ रुपये पाँच किलोमीटर माइनस पाँच डिग्री"),
        ("15/8/1947 10:30", "पंद्रह अगस्त उन्नीस सौ सैंतालीस दस बजकर तीस मिनट"),
    ],
)
def test_written_forms_are_spoken_as_their_words(text: str, spoken: str) -> None:
    unstressed = str.maketrans("", "", "ˈˌ")
    assert said(hindi(text)).translate(unstressed) == said(hindi(spoken)).translate(unstressed)


@given(st.integers(0, 10**12 - 1))
def test_every_number_has_words_of_its_own(number: int) -> None:
    assert spoken_numbers("hi", str(number)) != spoken_numbers("hi", str(number + 1))


@given(st.text() | st.text("कखगजडढनतमयरलवशसह़ािीुूेोौंँ्अआइएऋ ₹€%.,:/0123456789०१२।"))
def test_any_text_has_kokoros_phonemes_alone(text: str) -> None:
    words = hindi(text)
    assert set("".join(word.phonemes or "" for word in words)) <= set(read_config(OFFICIAL_CONFIG)["vocab"])
    if "](" not in text:
        assert letters_of(words) == "".join(text.split())
