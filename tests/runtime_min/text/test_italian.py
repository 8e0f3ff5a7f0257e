"""Italian is spoken by rules and a list of irregular words, almost as espeak-ng speaks it."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporter.model.config import OFFICIAL_CONFIG, read_config
from runtime_min import speak_arguments
from runtime_min.speech.words import Word
from runtime_min.text import espeak
from tests.support.fakes.text_bundle import TextBundle
from tests.support.languages import letters_of, rules, said, spoken_numbers
from training.italian_lexicon import plain, rules_alone
from training.wiktionary_italian import aligned, nominal_forms, verb_forms, with_vowel

WORDS = [
    line.split("\t")
    for line in (Path(__file__).parent / "data" / "italian_words.txt").read_text("utf-8").splitlines()[1:]
]
"""A word, its phonemes, and those of espeak-ng where they are others."""
SENTENCES = [
    "L'acqua dell'uomo c'è un'amica nell'albergo.",
    "Il gatto e la gatta sono sul tavolo con gli amici della zia.",
    "Non lo so che cosa fanno i bambini quando sono a scuola.",
    "C'era una volta un pezzo di legno; non era un legno di lusso, ma un semplice pezzo da catasta.",
    "Nel mezzo del cammin di nostra vita mi ritrovai per una selva oscura.",
    "Gli esseri umani nascono liberi ed eguali in dignità e diritti. Essi sono dotati di coscienza!",
]


def italian(text: str) -> list[Word]:
    return rules("it")(text)


def without_openness(phonemes: str) -> str:
    return phonemes.replace("ɛ", "e").replace("ɔ", "o")


def test_words_are_said_as_the_list_has_them() -> None:
    assert len(WORDS) == 2000
    assert {word: said(italian(word)) for word, *_ in WORDS} == {word: ours for word, ours, *_ in WORDS}


def test_words_are_those_of_espeak() -> None:
    g2p = espeak("it")
    assert {word: said(g2p(word)) for word, *_ in WORDS} == {word: both[-1] for word, *both in WORDS}
    different = [both for _, *both in WORDS if len(both) > 1]
    assert len(different) == 105
    assert len([both for both in different if len(set(map(without_openness, both))) > 1]) == 30


def test_a_numeral_has_the_letters_that_it_is_written_with() -> None:
    words = {
        word
        for number in range(1_100)
        for written in (f"{number}", f"{number}º")
        for word in spoken_numbers("it", written).split()
    }
    assert {word for word in words if plain(rules("it").respelled(word)) != plain(word)} == set()


def test_rules_alone_say_most_words_alike() -> None:
    assert sum(said(rules_alone()(word)) == both[-1] for word, *both in WORDS) >= 1650


@pytest.mark.parametrize("text", SENTENCES)
def test_sentences_are_those_of_espeak(text: str) -> None:
    assert italian(text) == espeak("it")(text)


def test_a_bundle_speaks_italian(
    text_bundle: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    bundle = TextBundle(text_bundle)
    text = "L'8 maggio c'è il sole. [pause:0.5s] E tu?"
    for options in ({"voice": "if_sara"}, {"voice": "af_heart", "language": "it"}):
        audio = bundle.synthesize(text, **options)  # type: ignore[arg-type]
        assert audio.phonemes == "lˈɔtːo mˈaʤːo ʧe il sˈole.e tˈu?"
        assert [word.text for word in audio.words][:3] == ["L'8", "maggio", "c'è"]
    monkeypatch.setattr(speak_arguments, "load_bundle", lambda *_, **__: bundle)
    assert speak_arguments.run(["bundle", "--text", "Ciao!", "--voice", "if_sara", "--print-phonemes"]) == 0
    assert capsys.readouterr().out == "ʧˈao!\n"
    bundle.close()


@pytest.mark.parametrize(
    ("text", "spoken"),
    [
        ("Nel 1990 costava 3,50 €.", "nel mille novecento novanta costava tre euro e cinquanta."),
        ("21.000 gatti", "ventuno mila gatti"),
        ("€3,50 $5", "tre euro e cinquanta cinque dollari"),
        ("il 25%", "il venticinque per cento"),
        ("1.000.001", "un milione uno"),
        ("007", "zero zero sette"),
        ("R2-D2", "erre due di due"),
        ("la DC", "la di ci"),
        ("5 km", "cinque chilometri"),
        ("5°C", "cinque gradi"),
        ("-5 °C, −5, -€3,50", "meno cinque gradi, meno cinque, meno tre euro e cinquanta"),
        ("20 m², 3 km³, x²", "venti metri quadrati, tre chilometri cubi, ics quadrato"),
        ("3/5/2025 2025-12-01", "tre maggio due mila venticinque primo dicembre due mila venticinque"),
        ("alle 15:45", "alle quindici e quarantacinque"),
        ("1º 2ª 23° 1000º", "primo seconda ventitreesimo millesimo"),
        ("Luigi XIV", "luigi quattordicesimo"),
        ("il dott. Rossi ecc. ecc.", "il dottor rossi eccetera. eccetera."),
        ("44 a.C. circa", "quarantaquattro avanti cristo circa"),
        ("l’8 marzo", "l'otto marzo"),
        ("a@b.com", "a chiocciola bi punto com"),
        ("il feedback di MacBook, una e-mail", "il fìdbek di mèkbuk, una iméil"),
    ],
)
def test_written_forms_are_spoken_as_their_words(text: str, spoken: str) -> None:
    unstressed = str.maketrans("", "", "ˈˌ")
    assert said(italian(text)).translate(unstressed) == said(italian(spoken)).translate(unstressed)


@pytest.mark.parametrize(
    ("word", "marked"),
    [
        ("parlare", "parlàre"), ("abile", "àbile"), ("fortissimo", "fortìssimo"), ("psicologo", "psicòlogo"),
        ("parlavano", "parlàvano"), ("zia", "żìa"), ("organizzare", "organiżżàre"), ("buono", "buòno"),
        ("gloria", "glòria"), ("città", "città"), ("dell'arte", "dell'àrte"), ("tv", "tv"),
    ],
)  # fmt: skip
def test_endings_decide_accents(word: str, marked: str) -> None:
    assert rules_alone().respelled(word) == marked


def test_a_word_of_other_letters_is_spelled_in_italian() -> None:
    assert rules("it").respelled("designer") == "desàiner" and rules("it").respelled("popolo") == "pòpolo"
    assert said(italian("designer popolo")) == "dezˈIner pˈɔpolo"


@pytest.mark.parametrize("language", ["it", "es"])
def test_a_text_may_give_phonemes(language: str) -> None:
    words = rules(language)("la [Kokoro](/kˈOkəɹO/) casa, [no](+1)")
    assert [(word.text, word.whitespace) for word in words] == [
        ("la", " "), ("Kokoro", " "), ("casa", ""), (",", " "), ("no", ""),
    ]  # fmt: skip
    assert words[1].phonemes == "kˈOkəɹO"


def test_an_abbreviation_ends_no_clause() -> None:
    assert [word.text for word in italian("Il sig. Rossi.")] == ["Il", "sig.", "Rossi", "."]
    assert [word.text for word in rules("es")("El Sr. Ruiz y la Sra.")] == [
        "El",
        "Sr.",
        "Ruiz",
        "y",
        "la",
        "Sra",
        ".",
    ]


@given(st.integers(0, 10**12 - 1))
def test_every_number_has_words_of_its_own(number: int) -> None:
    for end in "", "º":
        words, more = (spoken_numbers("it", f"{each}{end}") for each in (number, number + 1))
        assert words != more and words.replace(" ", "").isalpha()


@given(st.text() | st.text("aeiouàèéìòóùbcdglmnrsz'’ €%°.,:/0123456789XIV[]()"))
def test_any_text_keeps_its_words_and_has_kokoros_phonemes_alone(text: str) -> None:
    words = italian(text)
    assert set("".join(word.phonemes or "" for word in words)) <= set(read_config(OFFICIAL_CONFIG)["vocab"])
    if "](" not in text:
        assert letters_of(words) == "".join(text.split())


def test_accents_are_read_from_wiktionary() -> None:
    assert aligned("zanzara", "dzandzàra") == "żanżàra"
    assert aligned("pizza", "pìttsa") == "pìzza"
    assert aligned("design", "desàin") is None
    assert with_vowel("detest", "è+") == "detèst" and with_vowel("abit", "à") == "àbit"
    assert {"àbitano", "abitàto"} <= {*verb_forms("abitare", "a/à")}
    assert {"scrìvono", "scrìssero", "scrìtto"} <= {*verb_forms("scrivere", "a\\ì,scrìssi,scrìtto")}
    assert "finìscono" in verb_forms("finire", "a[transitive]:e[intransitive]/+isc")
    assert ("amiche", "amìche") in nominal_forms("amica", "amìca", {"a": "e"})
