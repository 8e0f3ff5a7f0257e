"""Text becomes phonemes by the G2P that is installed, word by word, or an error says what to install."""

from __future__ import annotations

import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exporter.model.config import OFFICIAL_CONFIG, read_config
from runtime_min.errors import ArgumentTypeError, G2PMissingError, LanguageError, TextEncodingError
from runtime_min.model.voices import VoiceName
from runtime_min.speech.words import Word
from runtime_min.text import LANGUAGES, espeak, find_g2p, language_code, misaki
from tests.support.language_tags import LANGUAGE_TAGS

SENTENCES = {
    "es": "¡Hola! ¿Qué tal? El niño corrió hacia la montaña; guerra, jamón, vergüenza y 1984.",
    "fr-fr": "Bonjour, un bon vin blanc. « Quelle heure est-il ? » L'œuvre, aujourd'hui, 42.",
    "hi": "नमस्ते दुनिया, क्या आप ठीक हैं? फ़िल्म, हिन्दी",
    "it": "Ciao, come stai? Gli gnocchi sono buonissimi; perché no? Zucchero, pizza, scienza.",
    "pt-br": "Olá, não são. Você está bem? Coração, irmã, manhã, carro, hoje, gente.",
}
ENGLISH = [
    "the", "of", "a", "button", "little", "nature", "here", "bird", "better", "water", "choir", "joy", "now",
    "go", "year", "fire", "hour", "computer", "university", "beautiful", "girl", "world", "schedule",
    "tomato", "really", "idea", "loch", "chaos", "onion", "nation", "measure", "church", "judge", "mother",
    "thought", "rhythm", "bottle", "mountain", "theatre", "fearful", "poor", "flower", "genre",
    "vision", "exam",
]  # fmt: skip


def said(words: list[Word]) -> str:
    return "".join(f"{word.phonemes}{word.whitespace}" for word in words).strip()


@pytest.fixture(scope="module")
def vocabulary() -> frozenset[str]:
    return frozenset(read_config(OFFICIAL_CONFIG)["vocab"])


@pytest.mark.parametrize("language", SENTENCES)
def test_espeak_says_what_misaki_says_and_kokoro_knows_all_of_it(
    language: str, vocabulary: frozenset[str]
) -> None:
    words = espeak(language)(SENTENCES[language])
    assert said(words) == misaki(language)(SENTENCES[language])
    assert set(said(words)) <= vocabulary
    assert "".join(word.text + word.whitespace for word in words) == SENTENCES[language]


@pytest.mark.parametrize("language", ["en-us", "en-gb"])
def test_espeaks_english_is_that_of_misakis_fallback(language: str, vocabulary: frozenset[str]) -> None:
    from misaki.espeak import EspeakFallback

    fallback, g2p = EspeakFallback(british=language == "en-gb"), espeak(language)
    ours = {word: said(g2p(word)) for word in ENGLISH}
    # misaki does not tell a diphthong that espeak-ng ties from the same two vowels.
    theirs = {word: fallback(SimpleNamespace(text=word))[0] for word in ENGLISH}
    assert {word: (ours[word], theirs[word]) for word in ENGLISH if ours[word] != theirs[word]} == {}
    assert set("".join(ours.values())) <= vocabulary


def test_numbers_times_and_contractions_are_words_and_marks_are_not() -> None:
    words = espeak("en")("I'm 42 at 10:30 — “don't”... (3.14)!")
    assert [word.text for word in words] == [
        "I'm", "42", "at", "10:30", "—", "“", "don't", "”", "...", "(", "3.14", ")", "!"
    ]  # fmt: skip
    assert {word.text: word.phonemes for word in words} | {"...": "…", "—": "—", "“": "“"} == {
        word.text: word.phonemes for word in words
    }


def test_words_that_espeak_joins_are_one() -> None:
    (word, end) = espeak("en")("out of the blue.")
    assert (word.text, end.text) == ("out of the blue", ".")
    assert word.phonemes


@settings(max_examples=40, deadline=None)
@given(st.text(st.sampled_from("abc é1,.!?…-—\"'()«»¿ \n\t👩的"), max_size=40))
def test_every_character_but_whitespace_is_in_a_word(text: str) -> None:
    words = espeak("es")(text)
    assert "".join("".join(word.text for word in words).split()) == "".join(text.split())
    assert not "".join(word.whitespace for word in words).strip()


def test_no_text_crashes_or_is_cut_off() -> None:
    assert said(espeak("es")("hola\0mundo")) == said(espeak("es")("hola mundo"))
    for g2p in (espeak("es"), misaki("es")):
        with pytest.raises(TextEncodingError, match="see its byte 3"):
            g2p("ñ \ud800")


def test_many_threads_may_share_a_g2p() -> None:
    g2p = espeak("es")
    alone = [said(g2p(f"uno dos {number}")) for number in range(20)]
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(lambda number: said(g2p(f"uno dos {number}")), range(20)))
    assert alone == together


def test_misakis_english_gives_its_tokens(monkeypatch: pytest.MonkeyPatch) -> None:
    import spacy

    # The model that misaki wants finds parts of speech; a blank one will do for words.
    monkeypatch.setattr(spacy.util, "is_package", lambda name: True)
    monkeypatch.setattr(spacy, "load", lambda name, **options: spacy.blank("en"))
    words = misaki("en-us")("Hello world!")
    assert "".join(word.text + word.whitespace for word in words) == "Hello world!"
    assert said(words) == "həlˈO wˈɜɹld!"
    assert find_g2p("a")[0] == "misaki (en-us)"


def test_without_spacys_model_nothing_is_fetched_and_espeak_stands_in(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    import spacy

    def fetch(name: str) -> None:
        raise AssertionError(f"{name} would be fetched")

    monkeypatch.setattr(spacy.util, "is_package", lambda name: False)
    monkeypatch.setattr(spacy.cli, "download", fetch)
    with pytest.raises(G2PMissingError, match="spacy download en_core_web_sm"):
        misaki("en-gb")
    assert find_g2p("en-GB")[0] == "espeak-ng (en-gb)"


@pytest.mark.parametrize(
    ("make", "language", "module", "advice"),
    [
        (misaki, "es", "misaki.espeak", r"pip install 'misaki\[en\]'"),
        (misaki, "zh", "misaki.zh", r"pip install 'misaki\[zh\]'"),
        (misaki, "ja", "pyopenjtalk", r"pip install 'misaki\[ja\]'"),
        (misaki, "a", "spacy", r"pip install 'misaki\[en\]'"),
        (espeak, "es", "phonemizer.backend", "pip install phonemizer espeakng-loader"),
        (espeak, "es", "espeakng_loader", "pip install phonemizer espeakng-loader"),
    ],
)
def test_what_is_not_installed_is_named(
    monkeypatch: pytest.MonkeyPatch, make: Callable[[str], object], language: str, module: str, advice: str
) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(G2PMissingError, match=advice) as missing:
        make(language)
    assert missing.value.exit_code == 5


def test_open_jtalks_dictionary_is_not_fetched(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(
        sys.modules, "pyopenjtalk", SimpleNamespace(OPEN_JTALK_DICT_DIR=b"/no/such/dictionary")
    )
    with pytest.raises(G2PMissingError, match="/no/such/dictionary does not exist"):
        misaki("j")


def test_a_language_that_there_is_not_is_refused() -> None:
    with pytest.raises(LanguageError, match=r"'tlh'.*en-us"):
        misaki("tlh")
    with pytest.raises(LanguageError, match=r"'xx'.*expected one of"):
        espeak("xx")


def test_languages_have_many_names() -> None:
    assert LANGUAGE_TAGS.keys() == {*LANGUAGES.values(), None}
    for code, tags in LANGUAGE_TAGS.items():
        for tag in tags.split():
            for spelling in (tag, tag.upper(), tag.replace("-", "_")):
                assert language_code(spelling) == (code or tag.lower()), spelling


@pytest.mark.parametrize("language", [5, b"es", ["es"]])
def test_a_language_is_a_str(language: object) -> None:
    with pytest.raises(ArgumentTypeError, match=r"language.*a tag such as es-MX"):
        language_code(language)  # type: ignore[arg-type]


@pytest.mark.parametrize(("letter", "code"), LANGUAGES.items())
def test_every_language_is_named_by_its_letter_itself_and_its_voices(letter: str, code: str) -> None:
    voice = VoiceName(f"{letter}f_any").language
    assert voice is not None
    assert [language_code(name) for name in (letter, code, voice)] == [code] * 3
