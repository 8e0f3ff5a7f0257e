"""The native runtime reads text as the Python runtime does, character for character."""

from __future__ import annotations

import os
import resource
import time
import unicodedata
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from random import Random
from typing import NamedTuple

import numpy as np
import pytest

from exporter.bundle.write import ExtensionFiles, write_bundle
from exporter.native import text_tables, unicode_tables
from exporter.text.files import text_files
from runtime_min.errors import MarkupError, TextDataError
from runtime_min.format.bundle_files import BundleFiles
from runtime_min.format.extensions import extension_files
from runtime_min.format.verify import manifest_of
from runtime_min.speech.request import Request
from runtime_min.speech.words import Portion, Segment, Word
from runtime_min.text.bundled import RULES, SEGMENTED, BundledText, english_files
from tests.support.english_text import rows
from tests.support.fuzzing.segmented import DICTIONARIES, FuzzedDictionary
from tests.support.fuzzing.texts import UNITS, VOICES, WORDS, document, shapes, text
from tests.support.languages import TINY_SPOKEN, golden, tiny_language
from tests.support.native.probe import Probe, field
from tests.support.tiny.bundle import dummy_contents

MARKUP_ERROR, TEXT_DATA_ERROR = 305, 412
SECONDS = float(os.environ.get("KOKORO_EXPORT_TEXT_SECONDS", "600"))
"""Time of the long comparison."""
SIZES = (16_000, 64_000)
GENERATED = 800
"""Number of generated texts."""


class Question(NamedTuple):
    text: str
    voice: str = "af_heart"
    ssml: bool = False
    skip_emoji: bool = False
    language: str | None = None


class Texts:
    """Both runtimes' readers of the text of one bundle."""

    def __init__(self, directory: Path, folder: Path) -> None:
        files = BundleFiles(directory)
        manifest = manifest_of(files)
        self._python = BundledText(manifest, files)
        self._probe = Probe("text_probe", folder)
        english = english_files(manifest)
        paths = [path for language in ("en-us", "en-gb") for path in vars(english[language]).values()]
        dictionaries = extension_files(manifest, SEGMENTED)
        paths += [dictionaries.get(language, "none") for language in ("zh", "ja")]
        rules = [part for pair in extension_files(manifest, RULES).items() for part in pair]
        self._arguments = [str(directory), *paths, *rules]

    def compare(self, questions: Iterable[Question]) -> Counter[str]:
        """Asserts that both read every text alike, and counts them; Python alone reads surrogates."""
        asked, read = [], Counter[str]()
        for question in questions:
            if any("\ud800" <= letter <= "\udfff" for letter in question.text):
                self._read(question)
                read["by Python alone, with surrogates"] += 1
            else:
                asked.append(question)
                read["documents" if question.ssml else "texts"] += 1
        for question, answer in zip(asked, self.answers(asked), strict=True):
            assert answer == self._answer(question), question
        return read

    def answers(self, asked: Iterable[Question], timeout: float | None = None) -> list[str]:
        """Returns what the native runtime makes of texts."""
        lines = [
            f"{each.voice} {int(each.ssml)} {int(each.skip_emoji)} {each.language or '-'} {field(each.text)}"
            for each in asked
        ]
        return self._probe.ask(lines, self._arguments, timeout)

    def with_dictionary(self, language: str, data: bytes, folder: Path, written: str) -> str:
        """Returns what the native runtime makes of a text with another dictionary alone."""
        (folder / "made.bin").write_bytes(data)
        line = f"af_heart 0 0 {language} {field(written)}"
        paths = ["made.bin" if own == language else "none" for own in ("zh", "ja")]
        (answer,) = self._probe.ask([line], [f"{folder}", *["none"] * 8, *paths])
        return answer

    def seconds(self, question: Question) -> float:
        """Returns the processor time that the native runtime takes, from the start of its process on."""
        before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
        self.answers([question])
        return resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before

    def _read(self, question: Question) -> list[Portion] | None:
        """Returns what Python makes of a text, None if it refuses its markup."""
        request = Request(**question._asdict())
        try:
            return list(self._python.portions(request, dict.fromkeys(VOICES, np.zeros((1, 2), np.float32))))
        except MarkupError:
            return None

    def _answer(self, question: Question) -> str:
        portions = self._read(question)
        return f"error {MARKUP_ERROR}" if portions is None else "".join(map(_shown, portions))


def _shown(portion: Portion) -> str:
    (segment,) = portion.content
    assert isinstance(segment, Segment)
    assert not isinstance(segment.content, str)
    words = "".join(f" {_shown_word(word)}" for word in segment.content)
    speed = 1.0 if segment.speed is None else segment.speed
    return f"{segment.voice or '-'} {speed:.17g} {segment.pause:.17g} {int(portion.followed)}{words};"


def _shown_word(word: Word) -> str:
    phonemes = "-" if word.phonemes is None else word.phonemes.encode().hex()
    return f"{word.text.encode().hex()},{phonemes},{word.whitespace.encode().hex()}"


@pytest.fixture(scope="module")
def texts(tmp_path_factory: pytest.TempPathFactory, text_bundle: Path) -> Texts:
    return Texts(text_bundle, tmp_path_factory.mktemp("probe"))


def test_words_of_all_kinds(texts: Texts) -> None:
    alone = [Question(word, voice) for voice in VOICES for word in (*WORDS, *UNITS)]
    texts.compare([*alone, *(Question(f"I {word} you.", skip_emoji=True) for word in WORDS)])


@pytest.mark.parametrize(("name", "voice"), [("misakid_us", "af_heart"), ("folio", "bf_emma")])
def test_recorded_sentences(texts: Texts, name: str, voice: str) -> None:
    texts.compare(Question(row["text"], voice) for row in rows(name))


def test_languages_of_rules(texts: Texts) -> None:
    texts.compare(Question(text, language=language) for language, text, _ in golden())


def test_documents_in_several_languages(texts: Texts) -> None:
    documents = (
        "He said <lang xml:lang='fr'> bonjour [ami] </lang> to <emphasis>the</emphasis> man.",
        "<p xml:lang='es'>Hola, <lang xml:lang='it'>ciao <s>bello</s></lang></p> and bye.",
        "<voice name='bf_emma' xml:lang='pt_BR'>Bom dia.</voice> <s xml:lang='zh'>你好。</s>",
        "<emphasis level='reduced'>so</emphasis> <lang lang='ja'>今日は</lang>",
    )
    asked = [Question(f"<speak xml:lang='hi'>{each}</speak>", ssml=True) for each in documents]
    texts.compare(asked)
    assert not any(answer.startswith("error") for answer in texts.answers(asked))
    refused = ("<lang>a</lang>", "<p xml:lang='e s'>a</p>", "<emphasis level='x'>a</emphasis>")
    asked = [Question(f"<speak>{each}</speak>", ssml=True) for each in refused]
    assert texts.answers(asked) == [f"error {MARKUP_ERROR}"] * len(refused)


def test_a_language_that_no_bundle_has_needs_no_code(tmp_path: Path) -> None:
    added = text_files(("en-us", "en-gb"))
    made = ExtensionFiles(
        added.extensions | {"rules": {"eo": "text/eo.rules.bin"}},
        added.files | {"text/eo.rules.bin": tiny_language()},
    )
    bundle = write_bundle(tmp_path / "bundle", dummy_contents(tmp_path).extended(made))
    read = Texts(bundle, tmp_path)
    made_up = (generated(seed) for seed in range(100))
    asked = [*map(Question, (*TINY_SPOKEN, *WORDS, *UNITS)), *(each for each in made_up if not each.ssml)]
    # Python has installed packages for the languages that this bundle lacks.
    own = (question for question in asked if "](lang:" not in question.text)
    read.compare(question._replace(language="eo") for question in own)


def generated(seed: int) -> Question:
    random = Random(seed)
    ssml = random.random() < 0.3
    make = document if ssml else text
    return Question(make(random), random.choice(VOICES), ssml, random.random() < 0.1)


def test_generated_texts_and_documents(texts: Texts) -> None:
    texts.compare(map(generated, range(GENERATED)))


@pytest.mark.slow
def test_many_generated_texts_and_documents(texts: Texts) -> None:
    start, first, compared = time.monotonic(), GENERATED, Counter[str]()
    while time.monotonic() - start < SECONDS:
        compared += texts.compare(map(generated, range(first, first + 1_000)))
        first += 1_000
    print(f"{dict(compared)} alike in {time.monotonic() - start:.0f} s")


@pytest.mark.parametrize("dictionary", DICTIONARIES, ids=lambda each: each.language)
def test_damaged_and_hostile_dictionaries(texts: Texts, tmp_path: Path, dictionary: FuzzedDictionary) -> None:
    written = dictionary.text * 5
    for data in (*dictionary.damaged().values(), *map(dictionary.hostile, range(6))):
        answer = texts.with_dictionary(dictionary.language, data, tmp_path, written)
        try:
            words = dictionary.g2p(dictionary.reader(data), lambda own: None)(written)
        except TextDataError:
            assert answer == f"error {TEXT_DATA_ERROR}"
        else:
            assert answer.partition(" 0 0 ")[2] == " ".join(map(_shown_word, words)) + ";"


def test_a_long_text_comes_in_the_same_parts(texts: Texts) -> None:
    written = " ".join(WORDS) + ". She read on. "
    texts.compare([Question(written * 12), Question("a " * 2_000 + "[b c](/d e/) " + "a" * 4_000)])


def test_hostile_text_is_read_in_linear_time(texts: Texts) -> None:
    units = [unit for unit in UNITS if unit.isprintable()]
    # In quadratic time these take minutes.
    texts.answers([Question(unit * (8_000 // len(unit))) for unit in units], timeout=60)


@pytest.mark.slow
def test_shapes_of_text_take_time_in_proportion_to_their_length(texts: Texts) -> None:
    longest = 0.0
    for number, shape in enumerate(shapes(235)):
        voice = VOICES[number % len(VOICES)]
        short, long = (texts.seconds(Question(shape * (size // len(shape)), voice)) for size in SIZES)
        # In quadratic time the long one takes 16 times as long.
        assert long < 8 * short + 0.2, (shape, voice, short, long)
        longest = max(longest, long)
    print(f"235 shapes; the longest took {longest:.1f} s of {SIZES[1]:,} characters")


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
