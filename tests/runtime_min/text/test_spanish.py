"""Spanish is spoken by the rules of a bundle as espeak-ng speaks it, without espeak-ng."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporter.model.config import OFFICIAL_CONFIG, read_config
from runtime_min.speech.words import Word
from runtime_min.text import espeak
from tests.support.languages import letters_of, rules, said, spoken_numbers

WORDS = (Path(__file__).parent / "data" / "spanish_words.txt").read_text(encoding="utf-8").splitlines()[1:]
DIFFERENT = {
    "ser": "sˈeɾ",  # espeak-ng has the trill of r here alone.
    "km": "kilˈometɾos",  # espeak-ng names the letters.
    "camping": "kampˈiŋ",  # An English word.
}
SENTENCES = [
    "¡Hola! ¿Qué tal? El niño corrió hacia la montaña; guerra, jamón, vergüenza y casa.",
    "El perro de la casa no quiere que lo vean, y los niños están en el jardín con su madre.",
    "Había también un inmenso búho gris, aunque nadie lo vio mientras dormían.",
]


def spanish(text: str) -> list[Word]:
    return rules("es")(text)


def test_words_are_those_of_espeak() -> None:
    assert len(WORDS) == 2000
    g2p = espeak("es")
    different = {word: said(spanish(word)) for word in WORDS if said(spanish(word)) != said(g2p(word))}
    assert different == DIFFERENT


@pytest.mark.parametrize("text", SENTENCES)
def test_sentences_are_those_of_espeak(text: str) -> None:
    assert spanish(text) == espeak("es")(text)


@pytest.mark.parametrize(
    ("text", "spoken"),
    [
        ("En 1990 costaba 3,50 €.", "en mil novecientos noventa costaba tres euros con cincuenta."),
        ("21.000 gatos", "veintiún mil gatos"),
        ("el 25%", "el veinticinco por ciento"),
        ("1.000.001", "un millón uno"),
        ("007", "cero cero siete"),
        ("R2-D2", "erre dos de dos"),
        ("la ONU", "la onu"),
        ("el DVD", "el de uve de"),
        ("5 km", "cinco kilómetros"),
        ("-5 °C, −5, -€3", "menos cinco grados, menos cinco, menos tres euros"),
        ("20 m², 3 km³, x²", "veinte metros cuadrados, tres kilómetros cúbicos, equis al cuadrado"),
        ("cre\u0301dito e\u0301", "crédito é"),
        ("90 km/h, 5 m/s", "noventa kilómetros por hora, cinco metros por segundo"),
        ("el siglo XXI, Felipe VI, Alfonso XIII", "el siglo veintiuno, felipe sexto, alfonso trece"),
        ("la 3ª vez, el 2.º piso, n.º 5, 1.er", "la tercera vez, el segundo piso, número cinco, primer"),
        ("EE. UU. y EE.UU. son; en EE. UU.", "estados unidos y estados unidos son; en estados unidos."),
        ("el Facebook, un e-mail, wi-fi", "el féisbuc, un iméil, uífi"),
        ("Ud. y Dña. Ana, Av. Mayor, etc.", "usted y doña ana, avenida mayor, etcétera."),
        ("12/05/2024 2024-05-12", "doce de mayo de dos mil veinticuatro " * 2),
        ("a la 1:00, a las 15:30 h", "a la una, a las quince y treinta horas"),
        ("1/2, 3/4, 20 USD, $20", "un medio, tres cuartos, veinte dólares, veinte dólares"),
        ("US$ 3,20, $ 1, 21 €", "tres dólares con veinte, un dólar, veintiún euros"),
        ("p. ej. 5 m, 44 a.C. aquí", "por ejemplo cinco metros, cuarenta y cuatro antes de cristo aquí"),
    ],
)
def test_numbers_and_signs_are_spoken_as_their_words(text: str, spoken: str) -> None:
    assert said(spanish(text)).translate(str.maketrans("", "", "ˈˌ")) == said(spanish(spoken)).translate(
        str.maketrans("", "", "ˈˌ")
    )


@given(st.integers(0, 10**12 - 1))
def test_every_number_has_words_of_its_own(number: int) -> None:
    words, more = (spoken_numbers("es", str(each)) for each in (number, number + 1))
    assert words != more and words.replace(" ", "").isalpha()


@given(st.text())
def test_any_text_keeps_its_words_and_has_kokoros_phonemes_alone(text: str) -> None:
    words = spanish(text)
    assert letters_of(words) == "".join(text.split())
    assert set("".join(word.phonemes or "" for word in words)) <= set(read_config(OFFICIAL_CONFIG)["vocab"])
