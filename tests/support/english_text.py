"""The lexicons of English, and the golden rows."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cache
from typing import Any

from exporter.text.lexicon_file import pack_lexicon
from runtime_min.text.english import English
from runtime_min.text.homographs import Homographs
from runtime_min.text.letter_to_sound import LetterToSound
from runtime_min.text.lexicon import Lexicon
from runtime_min.text.tagger import Tagger
from tests.support.paths import ROOT, SHARED

GOLDEN = SHARED / "text" / "golden"


packed = cache(pack_lexicon)


@cache
def lexicon(language: str) -> Lexicon:
    return Lexicon(packed(language))


def english(tags: Sequence[str] | None = None, language: str = "en-us") -> English:
    """Returns a G2P whose tagger knows the tags of one text; unknown words are ``?``."""
    return English(
        lexicon(language),
        language == "en-gb",
        lambda words: tags or ["NN"] * len(words),
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
        Tagger((data / "tagger.bin").read_bytes()).tag,
        Homographs((data / "homographs.bin").read_bytes()).choose,
        LetterToSound((data / f"{language}.spelling.bin").read_bytes()).phonemes,
    )


def rows(name: str) -> list[dict[str, Any]]:
    """Returns the golden rows of a file; there are none where the folder is absent."""
    path = GOLDEN / f"{name}.jsonl"
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()] if path.exists() else []
