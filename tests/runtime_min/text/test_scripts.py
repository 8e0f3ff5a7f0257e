"""Other scripts are spoken in their own language, and an app's own words in every language."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NoReturn

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runtime_min.errors import LanguageError
from runtime_min.format.bundle_files import BundleFiles
from runtime_min.format.verify import manifest_of
from runtime_min.speech.words import Word
from runtime_min.text.arriving import ArrivingText
from runtime_min.text.bundled import BundledText, _divided
from runtime_min.text.own_words import WithOwnWords
from runtime_min.text.scripts import MixedScripts


@pytest.fixture(scope="module")
def text(text_bundle: Path) -> BundledText:
    files = BundleFiles(text_bundle)
    return BundledText(manifest_of(files), files)


def cannot_speak(language: str) -> NoReturn:
    raise LanguageError(language)


@pytest.mark.parametrize(
    ("language", "written", "expected"),
    [
        ("en-us", "I met 王小明 today.", {"王小明": "wa↗ŋɕjau↓mi↗ŋ"}),
        ("en-us", "It is called とうふ there.", {"とうふ": "toːɸɯ"}),
        ("en-gb", "नमस्ते to all.", {"नमस्ते": "nəmˈʌsteː"}),
        ("es", "La palabra 世界 es china.", {"世界": "ʂɨ↘ʨje↘"}),
        ("hi", "मैं Google हूँ", {"Google": "ɡˈuɡᵊl"}),
        ("zh", "这是ひらがな。", {"ひらがな": "çiɾaɡana"}),
    ],
)
def test_other_scripts_are_spoken_in_their_language(
    text: BundledText, language: str, written: str, expected: dict[str, str]
) -> None:
    words = text.find_g2p(language)[1](written)
    assert "".join(word.text + word.whitespace for word in words) == written
    assert all(word.phonemes is not None for word in words)
    for own, phonemes in expected.items():
        found = "".join(word.phonemes or "" for word in words if word.text in own and word.text.strip())
        assert found.replace(" ", "") == phonemes.replace(" ", ""), words


def test_what_no_language_of_the_bundle_reads_is_reported() -> None:
    g2p = MixedScripts(lambda text: [Word(text, None, " ")], lambda language: None, cannot_speak)
    assert g2p("世界") == [Word("世界", None, " ")]


def test_chinese_characters_are_japanese_beside_kana() -> None:
    asked: list[str] = []
    mixed = MixedScripts(
        lambda text: [Word(each, None, " ") for each in text.split(" ")],
        lambda language: asked.append(language),
        cannot_speak,
    )
    mixed("世界")
    assert asked == ["zh", "ja"]
    asked.clear()
    mixed("世界 の")
    assert asked == ["ja", "zh", "ja"]


@pytest.mark.parametrize(
    ("language", "written", "marked", "phonemes"),
    [
        ("en-us", "She said [ bonjour ](lang:fr) to me.", "bonjour", "bɔ̃ʒˈuʁ"),
        ("en-us", "The [color](lang:en-GB), no?", "color", "kˈʌlə"),
        ("es", "La [pizza](lang:it_IT)", "pizza", "pˈiʦːa"),
        ("zh", "我说[hola](lang:es)。", "hola", "ˈola"),
    ],
)
def test_a_marked_part_is_spoken_in_its_language(
    text: BundledText, language: str, written: str, marked: str, phonemes: str
) -> None:
    words = text.find_g2p(language)[1](written)
    shown = re.sub(r"\[(.*?)\]\(lang:.*?\)", r"\1", written)
    assert "".join(word.text + word.whitespace for word in words) == shown
    assert [(word.phonemes or "").strip() for word in words if word.text == marked] == [phonemes]
    own = text.find_g2p(language)[1](shown)
    assert [word.text for word in own] == [word.text for word in words]


@given(st.text("ab. !?", min_size=1, max_size=150))
def test_no_sentence_ends_within_a_marked_part(inner: str) -> None:
    text = f"She said [{inner}](lang:fr) to me. It was late. "
    arriving = ArrivingText()
    runs = [run.text for letter in text for run in arriving.push(letter)]
    for pieces in (runs, list(_divided(text * 30))):
        assert all(piece.count("[") == piece.count("](lang:fr)") for piece in pieces)


@pytest.mark.parametrize("tag", ["xx", "q-de"])
def test_a_marked_part_that_nobody_can_speak_is_refused(text: BundledText, tag: str) -> None:
    with pytest.raises(LanguageError, match=tag):
        text.find_g2p("en-us")[1](f"This is [it](lang:{tag}).")


@pytest.mark.parametrize("language", ["en-us", "es", "it", "fr-fr", "pt-br", "hi", "zh", "ja"])
def test_an_apps_own_words_are_said_in_every_language(text: BundledText, language: str) -> None:
    g2p = text.find_g2p(language, {"gif": "ˈa", "x-y": "ˈe"})[1]
    words = {word.text: (word.phonemes or "").strip() for word in g2p("gif GIF x-y [ab](/ˈo/)")}
    assert words["gif"] == "ˈa"
    assert words["x-y"] == "ˈe"
    assert words["ab"] == "ˈo"
    if language not in ("zh", "ja"):
        assert words["GIF"] == "ˈa"


@settings(max_examples=100)
@given(st.text(alphabet="ab-[]()/ \n", max_size=30))
def test_own_words_keep_the_controls_of_a_text(written: str) -> None:
    shown: list[str] = []
    WithOwnWords(lambda text: shown.append(text) or [], {})(written)  # type: ignore[func-returns-value]
    assert shown == [written]
