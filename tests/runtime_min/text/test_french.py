"""French is spoken by rules and a list of irregular words, almost as espeak-ng speaks it."""

from __future__ import annotations

import re
import unicodedata
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporter.model.config import OFFICIAL_CONFIG, read_config
from runtime_min.speech.words import Word
from runtime_min.text import espeak
from tests.support.fakes.text_bundle import TextBundle
from tests.support.languages import letters_of, rules, said, spoken_numbers

WORDS = (
    "maison femme homme monsieur enfant président vraiment souvent parlent étaient travail famille ville "
    "oiseau château grâce rôle sûr nuit puis yeux œuvre cœur gagner montagne campagne question nation "
    "chrétien technique exemple deuxième guerre fatigue village bouteille accueil voyage moyen bien examen "
    "appartement développement également petit temps longtemps corps doigt vingt août second automne "
    "aujourd'hui parfum album ennui emmener intelligemment oublier février client ouest jouer huile"
).split()
UNITED = str.maketrans("ɛɔœ", "eoə", " ")


def french(text: str) -> list[Word]:
    return rules("fr-fr")(text)


def sounds(words: list[Word]) -> str:
    """Returns the phonemes without spaces, and without what Lexique and espeak-ng write in different ways."""
    return unicodedata.normalize("NFD", said(words)).translate(UNITED)


def test_words_are_those_of_espeak() -> None:
    g2p = espeak("fr-fr")
    assert {word for word in WORDS if sounds(french(word)) != sounds(g2p(word))} == set()


@pytest.mark.parametrize(
    "text",
    [
        "Les amis sont arrivés chez eux à trois heures.",
        "Nous avons vu les hommes et les héros.",
        "Il est allé dans une école très intéressante.",
        "L'homme qu'il a vu hier n'est pas là.",
        "Deux ans, trois ans, six ans, dix hommes, neuf heures.",
        "Quand il arrive, tout est prêt.",
        "Un grand arbre, un bon ami, mon premier amour, en un an.",
        "On a beaucoup aimé ce film, il est vraiment bien écrit.",
    ],
)
def test_sentences_have_the_liaisons_and_the_stress_of_espeak(text: str) -> None:
    assert sounds(french(text)) == sounds(espeak("fr-fr")(text))


@pytest.mark.parametrize(
    ("text", "spoken"),
    [
        ("71 ans, 80 ans, 81, 99, 200", "soixante et onze ans, quatre-vingts ans, quatre-vingt-un, "
         "quatrevingt dixneuf, deux cents"),
        ("En 1990, 3 000 000 d'euros", "en mille neuf cen quatrevingt dix, trois millions d'euros"),
        ("5,50 € 1 234,50 € 12,5 € $20", "cinq euros cinquante mille deux cen trente quatre euros cinquante "
         "douze virgule cinq euros vingt dollars"),
        ("15 h 30, 8h05, 21 h, 12:30", "quinze heures trente, huit heures cinq, vingt et une heures, "
         "douze heures trente"),
        ("le 1er mai, la 2e, la 1re, le 21e", "le premier mai, la deuxième, la première, le vingt et unième"),
        ("12/05/2024 1/3/2025", "douze mai deux mille vingte quatre premier mars deux mille vingte cinq"),
        ("Louis XIV, François Ier, XXIe siècle", "louis quatorze, françois premier, vingt et unième siècle"),
        ("M. et Mme Durand, le Dr Roy, n° 5, etc.",
         "monsieur et madame durand, le docteur roy, numéro cinq, étcétéra."),
        ("06 12 34 56 78", "zéro six douze trente quatre cinquante six soixante dixhuit"),
        ("-5 °C, 20 m², 120 km/h, 25 %, 3/4",
         "moins cinq degrés, vingt mètres carrés, cen vingt kilomètres heure, "
         "vingte cinq pour cent, trois quarts"),
        ("44 av. J.-C. environ", "quarante quatre avant jésus christ environ"),
        ("le TGV, l'ONU", "le té gé vé, l'onu"),
        ("A-t-il vu ? Pense-t-elle ?", "a til vu ? pense telle ?"),
        ("l’œil", "l'œil"),
        ("un e-mail, la start-up", "un email, la startup"),
    ],
)  # fmt: skip
def test_written_forms_are_spoken_as_their_words(text: str, spoken: str) -> None:
    unstressed = str.maketrans("", "", "ˈˌ")
    assert said(french(text)).translate(unstressed) == said(french(spoken)).translate(unstressed)


def test_what_is_written_with_spaces_is_one_word_with_its_text() -> None:
    words = french("À 15 h 30, il paie 1\u202f234,50 €.")
    assert [word.text for word in words] == ["À", "15 h 30", ",", "il", "paie", "1\u202f234,50 €", "."]


@given(st.integers(0, 10**12 - 1))
def test_every_number_has_words_of_its_own(number: int) -> None:
    words, more = (spoken_numbers("fr-fr", str(each)) for each in (number, number + 1))
    assert words != more and words.replace(" ", "").isalpha()


@given(st.integers(1000, 10**12 - 1))
def test_groups_between_spaces_are_one_number(number: int) -> None:
    (word,) = french(f"{number:,}".replace(",", " "))
    assert said([word]) == said(french(str(number)))


@given(
    st.lists(st.sampled_from(["les", "petit", "grand", "héros", "amis", "ont", "l'eau", "et", "six", "un"]))
)
def test_words_are_as_many_as_those_written(words: list[str]) -> None:
    read = french(" ".join(words))
    assert [word.text for word in read] == words
    # A consonant that joins two words belongs to the first, and none of those that are not heard remains.
    assert not re.search("[A-Z'·]", said(read))


@given(st.text() | st.text("aeiouyàâçéèêëîïôùûœbcdghlmnrstxz' €$%°ª.,:/-0123456789XIVh[]()"))
def test_any_text_has_kokoros_phonemes_alone(text: str) -> None:
    words = french(text)
    assert set("".join(word.phonemes or "" for word in words)) <= set(read_config(OFFICIAL_CONFIG)["vocab"])
    if "](" not in text:
        assert letters_of(words) == "".join(text.split())


def test_a_bundle_speaks_french(text_bundle: Path) -> None:
    bundle = TextBundle(text_bundle)
    audio = bundle.synthesize("Les amis. [pause:0.5s] Deux mots.", voice="af_heart", language="fr")
    assert audio.phonemes == "lez amˈi.dˈø mˈo."
    bundle.close()
