"""Brazilian Portuguese is spoken by the rules of a bundle, almost as espeak-ng speaks it."""

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
    "casa gato gente cidade dinheiro trabalho brasileiro coração nação também exame próximo sexo história "
    "ciência guerra água frequência queijo escola festa novo porta pessoas mulher filho banho carro rato "
    "honra azul feliz sul alto volta campo cinto último animal português irmão mãe limões céu herói ideia "
    "noite leite dia tia gente homem jovem jardim algum bom fim passo nascer descer piscina exceto trânsito"
).split()
DIFFERENT = {"último", "exceto", "trânsito"}
"""espeak-ng has exceptions for these."""


def portuguese(text: str) -> list[Word]:
    return rules("pt-br")(text)


def sounds(words: list[Word]) -> str:
    return unicodedata.normalize("NFD", said(words))


def test_words_are_those_of_espeak() -> None:
    g2p = espeak("pt-br")
    assert {word for word in WORDS if sounds(portuguese(word)) != sounds(g2p(word))} == DIFFERENT


@pytest.mark.parametrize(
    "text",
    [
        "O gato comeu os peixes.",
        "As crianças brincam na praça.",
        "Os amigos estão em casa.",
        "A população cresceu muito.",
        "Eu gostaria de um café, por favor.",
    ],
)
def test_sentences_are_those_of_espeak(text: str) -> None:
    assert sounds(portuguese(text)) == sounds(espeak("pt-br")(text))


@pytest.mark.parametrize(
    ("text", "spoken"),
    [
        ("Em 1990 custava 3,50 €.", "em mil novecentos e noventa custava três euros e cinquenta cêntimos."),
        ("R$5,50, R$20", "cinco reais e cinquenta centavos, vinte reais"),
        ("R$ 5,50, US$ 3,20", "cinco reais e cinquenta centavos, três dólares e vinte centavos"),
        ("-R$ 2.000,00, € 5", "menos dois mil reais, cinco euros"),
        ("1.201, 1.200", "mil duzentos e um, mil e duzentos"),
        ("2.000.001", "dois milhões e um"),
        ("25% −5 °C -3", "vinte e cinco por cento menos cinco graus menos três"),
        ("1/3/2025", "primeiro de março de dois mil e vinte e cinco"),
        ("15:30 15h 8h05", "quinze e trinta quinze horas oito e cinco"),
        ("1º 22ª Pedro II, século XXI", "primeiro vigésima segunda pedro segundo, século vinte e um"),
        ("o Sr. Silva e a Dra. Souza", "o senhor silva e a doutora souza"),
        ("a ONU, o DVD", "a onu, o dê vê dê"),
        ("o Facebook, um e-mail", "o feicebúque, um iméil"),
    ],
)
def test_written_forms_are_spoken_as_their_words(text: str, spoken: str) -> None:
    unstressed = str.maketrans("", "", "ˈˌ")
    assert said(portuguese(text)).translate(unstressed) == said(portuguese(spoken)).translate(unstressed)


@given(st.integers(0, 10**12 - 1))
def test_every_number_has_words_of_its_own(number: int) -> None:
    words, more = (spoken_numbers("pt-br", str(each)) for each in (number, number + 1))
    assert words != more and words.replace(" ", "").isalpha()


@given(st.text() | st.text("aeiouáéíóúâêôãõçbcdghlmnrstxz' €$%ºª°.,:/0123456789XIVh[]()"))
def test_any_text_has_kokoros_phonemes_alone(text: str) -> None:
    words = portuguese(text)
    assert set("".join(word.phonemes or "" for word in words)) <= set(read_config(OFFICIAL_CONFIG)["vocab"])
    if "](" not in text:
        assert letters_of(words) == "".join(text.split())
