"""The native runtime reads text as the Python runtime does, character for character."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from exporter.native import text_tables, unicode_tables
from runtime_min.errors import MarkupError
from runtime_min.format.bundle_files import BundleFiles
from runtime_min.format.verify import manifest_of
from runtime_min.speech.request import Request
from runtime_min.speech.words import Segment, Word
from runtime_min.text.bundled import BundledText, accent_files, english_files
from tests.support.english_text import rows
from tests.support.hostile_text import UNITS
from tests.support.native_probe import Probe, field

VOICES = ("af_heart", "bf_emma", "ef_dora", "if_sara")
MARKUP_ERROR = 305
WORDS = (
    *(
        "The",
        "U.S.",
        "read",
        "wound",
        "live",
        "résumés",
        "iPhone",
        "mother-in-law",
        "R2-D2",
        "Kokoro's",
        "xyzzy",
        "O'Qux",
    ),
    *(
        "$4.50",
        "1905",
        "3/4",
        "½",
        "5 km",
        "12:30pm",
        "May 5,",
        "1/2/2020",
        "2013/14",
        "No. 5",
        "x@y.org",
        "C++",
        "H₂O",
    ),
    *(
        "10^6",
        "1–3",
        "Henry VIII",
        "24/7",
        "+1 555-123-4567",
        "v1.2.3",
        "€1.2m",
        "(1)",
        "#1",
        "😀",
        "🇺🇸",
        "①",
        "αβ",
        "한글",
    ),
    *(
        "[of](+1)",
        "[105](#a#)",
        "[Kokoro](/kˈOkəɹO/)",
        "[pause:1s]",
        "世界",
        "Σίσυφος",
        "É",
        "ﬁ",
        "‘tis",
        "“No!”",
        "\n\n",
    ),
    *(
        "perché",
        "città",
        "l'amico",
        "sig. Rossi",
        "10:30",
        "1.234,5 €",
        "XIV",
        "gnocchi",
        "pingüino",
        "guerra",
        "México",
    ),
)
MARKUP = (
    *(
        "<speak>",
        "</speak>",
        "<p>",
        "</p>",
        "<s>",
        "</s>",
        '<break time="1s"/>',
        "<break/>",
        "a &amp; b",
        "&#65;",
        "<",
    ),
    *(
        '<voice name="bf_emma">',
        "</voice>",
        '<prosody rate="80%">',
        "</prosody>",
        '<sub alias="b">a</sub>',
        "<!-- a -->",
    ),
    *(
        '<say-as interpret-as="characters">UN</say-as>',
        '<phoneme ph="a">b</phoneme>',
        "<![CDATA[<]]>",
        "Two words.",
        "&",
    ),
)
TEXT = st.lists(st.sampled_from(WORDS) | st.sampled_from(UNITS) | st.text(max_size=6), max_size=12).map(
    " ".join
)
SSML = st.lists(st.sampled_from(MARKUP), max_size=8).map(
    lambda parts: "<speak>" + "".join(parts) + "</speak>"
)


class Question(NamedTuple):
    text: str
    voice: str = "af_heart"
    ssml: bool = False
    skip_emoji: bool = False


class Texts:
    """Both runtimes' readers of the text of one bundle."""

    def __init__(self, directory: Path, folder: Path) -> None:
        files = BundleFiles(directory)
        manifest = manifest_of(files)
        self._python = BundledText(manifest, files)
        self._probe = Probe("text_probe", folder)
        english = english_files(manifest)
        paths = [path for language in ("en-us", "en-gb") for path in vars(english[language]).values()]
        self._arguments = [str(directory), *paths, accent_files(manifest)["it"]]

    def compare(self, questions: Iterable[Question]) -> None:
        """Asserts that both read every text alike; Python's may have surrogates, which UTF-8 has not."""
        asked = [
            each for each in questions if not any("\ud800" <= letter <= "\udfff" for letter in each.text)
        ]
        for question, answer in zip(asked, self.answers(asked), strict=True):
            assert answer == self._answer(question), question

    def answers(self, asked: Iterable[Question], timeout: float | None = None) -> list[str]:
        """Returns what the native runtime makes of texts."""
        lines = [f"{voice} {int(ssml)} {int(skip)} - {field(text)}" for text, voice, ssml, skip in asked]
        return self._probe.ask(lines, self._arguments, timeout)

    def _answer(self, question: Question) -> str:
        request = Request(
            question.text, question.voice, 1.0, 0, None, 0.0, 0.0, False,
            ssml=question.ssml, skip_emoji=question.skip_emoji,
        )  # fmt: skip
        try:
            parts = list(self._python.parts(request, dict.fromkeys(VOICES, np.zeros((1, 2), np.float32))))
        except MarkupError:
            return f"error {MARKUP_ERROR}"
        return "".join(_shown(part) for part in parts)


def _shown(part: Request) -> str:
    (segment,) = part.phonemes
    assert isinstance(segment, Segment)
    assert not isinstance(segment.phonemes, str)
    words = "".join(f" {_shown_word(word)}" for word in segment.phonemes)
    speed = 1.0 if segment.speed is None else segment.speed
    return f"{segment.voice or '-'} {speed:.17g} {segment.pause:.17g} {int(part.ends_segment)}{words};"


def _shown_word(word: Word) -> str:
    phonemes = "-" if word.phonemes is None else word.phonemes.encode().hex()
    return f"{word.text.encode().hex()},{phonemes},{word.whitespace.encode().hex()}"


@pytest.fixture(scope="module")
def texts(tmp_path_factory: pytest.TempPathFactory, text_bundle: Path) -> Texts:
    return Texts(text_bundle, tmp_path_factory.mktemp("probe"))


def test_words_of_all_kinds(texts: Texts) -> None:
    for voice in VOICES:
        texts.compare(Question(word, voice) for word in (*WORDS, *UNITS))
    texts.compare(Question(f"I {word} you.", skip_emoji=True) for word in WORDS)


@pytest.mark.parametrize(("name", "voice"), [("misakid_us", "af_heart"), ("folio", "bf_emma")])
def test_recorded_sentences(texts: Texts, name: str, voice: str) -> None:
    texts.compare(Question(row["text"], voice) for row in rows(name))


@settings(deadline=None, max_examples=8, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(TEXT, max_size=12), st.sampled_from(VOICES))
def test_any_text(texts: Texts, written: list[str], voice: str) -> None:
    texts.compare(Question(text, voice) for text in written)


@settings(deadline=None, max_examples=10, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(SSML, max_size=12))
def test_any_ssml(texts: Texts, written: list[str]) -> None:
    texts.compare(Question(text, ssml=True) for text in written)


def test_a_long_text_comes_in_the_same_parts(texts: Texts) -> None:
    text = " ".join(WORDS) + ". She read on. "
    texts.compare([Question(text * 12), Question("a " * 2_000 + "[b c](/d e/) " + "a" * 4_000)])


def test_hostile_text_is_read_in_linear_time(texts: Texts) -> None:
    units = [unit for unit in UNITS if unit.isprintable()]
    # In quadratic time these take minutes.
    texts.answers([Question(unit * (8_000 // len(unit))) for unit in units], timeout=60)


def test_patterns_and_words_are_those_of_python() -> None:
    assert text_tables.FILE.read_text("utf-8") == text_tables.header()
    assert text_tables.FORMS.read_text("utf-8") == text_tables.forms()


@pytest.mark.slow
@pytest.mark.skipif(
    unicodedata.unidata_version != "14.0.0", reason="the tables have another version of Unicode"
)
def test_letters_are_those_of_python() -> None:
    for name, content in unicode_tables.tables().items():
        assert (unicode_tables.FOLDER / name).read_bytes() == content
