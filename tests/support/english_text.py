"""The lexicons of English, the golden rows, and text with its written forms as words."""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Sequence
from functools import cache, partial
from typing import Any

from exporter.model.config import OFFICIAL_CONFIG, read_config
from exporter.text.lexicon_file import packed_lexicon
from runtime_min.text.controls import read_controls
from runtime_min.text.english import English
from runtime_min.text.homographs import Homographs
from runtime_min.text.letter_to_sound import LetterToSound
from runtime_min.text.lexicon import Lexicon
from runtime_min.text.tagger import Tagger
from runtime_min.text.written_forms import find_written_forms
from tests.support.paths import ROOT, SHARED

LETTER_TO_SOUND = LetterToSound((ROOT / "exporter/text/data/spelling.bin").read_bytes())
GOLDEN = SHARED / "text" / "golden"


VOCABULARY = frozenset(read_config(OFFICIAL_CONFIG)["vocab"])
SILENT = "`^|~＾｀｜～ʼ"
"""Signs of mark-up and an apostrophe, which Unicode does not take for punctuation."""


@cache
def lexicon(language: str) -> Lexicon:
    return Lexicon(packed_lexicon(language))


def english(tags: Sequence[str] | None = None, language: str = "en-us") -> English:
    """Returns a G2P whose tagger knows the tags of one text; unknown words are ``?``."""
    return English(
        lexicon(language),
        language == "en-gb",
        lambda sentences: [tags or ["NN"] * len(words) for words in sentences],
        lambda words, tags, place: None,
        lambda _: "?",
    )


@cache
def whole_english(language: str = "en-us") -> English:
    """Returns the G2P that a bundle has."""
    data = ROOT / "exporter" / "text" / "data"
    return English(
        lexicon(language),
        language == "en-gb",
        Tagger((data / "tagger.bin").read_bytes()).tag_all,
        Homographs((data / "homographs.bin").read_bytes()).choose,
        partial(LETTER_TO_SOUND.phonemes, british=language == "en-gb"),
    )


def assert_spoken(text: str, g2p: English) -> None:
    """Asserts that all of a text is in its words, and is spoken in Kokoro's alphabet, silent or reported."""
    words = g2p(text)
    plain, controls = read_controls(text)
    given = [control.phonemes for control in controls if control.phonemes is not None]
    assert "".join([word.text + word.whitespace for word in words]) == plain
    assert all(word.whitespace.isspace() or not word.whitespace for word in words)
    assert set("".join([word.phonemes or "" for word in words])) <= VOCABULARY | set("".join(given))
    silent = "".join([word.text for word in words if word.phonemes == ""])
    assert given or all(unicodedata.category(letter)[0] in "PMCZ" or letter in SILENT for letter in silent)
    assert g2p(text) == words


def rows(name: str) -> list[dict[str, Any]]:
    """Returns the golden rows of a file; there are none where the folder is absent."""
    path = GOLDEN / f"{name}.jsonl"
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()] if path.exists() else []


def said(text: str, british: bool = False) -> str:
    """The text with written forms replaced by their words, apart from letters around them."""
    parts, position = [""], 0
    for form in find_written_forms(text, british):
        parts += [text[position : form.start], form.spoken]
        position = form.end
    parts.append(text[position:])
    spoken = parts[0]
    for part in parts[1:]:
        glued = spoken[-1:].isalnum() and (part[:1].isalnum() or part[:1] == "-")
        spoken += f" {part}" if part and (glued or (spoken[-1:] == "-" and part[0].isalnum())) else part
    return spoken
