"""Packs misaki's lexicons into the file that `runtime_min.text.lexicon` searches."""

from __future__ import annotations

import importlib.util
import json
import zlib
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from pathlib import Path

import numpy as np

from exporter.errors import ExportError
from runtime_min.text.lexicon import BLOCK, FIRST_CODE, HEADER, MAGIC, SILVER

LEXICONS = {"en-us": "us", "en-gb": "gb"}
"""misaki's names of the lexicons by language."""
ABSENT = "-"
"""Stands in a list of words for the phonemes of a dialect that needs none."""
_MOST_PHONEMES = 256 - FIRST_CODE
Value = str | Mapping[str, str | None]


class LexiconError(ExportError):
    """misaki's lexicons are not installed, or not as expected."""


def pack_lexicon(language: str, added: Mapping[str, Value] | None = None) -> bytes:
    """Returns the lexicon of `language`, the same bytes for the same version of misaki.

    Args:
        language: one of `LEXICONS`.
        added: words that come before misaki's; by default those of `data/english_words.txt`.

    Raises:
        LexiconError: misaki is not installed or its lexicons are not as expected.
    """
    gold, silver = (_read(f"{LEXICONS[language]}_{name}.json") for name in ("gold", "silver"))
    words = added_words(language) if added is None else added
    unchecked = {
        word: text[1:] for word, text in words.items() if isinstance(text, str) and text[:1] == SILVER
    }
    checked = {word: text for word, text in words.items() if word not in unchecked}
    return pack(gold | checked, unchecked | silver)


@cache
def packed_lexicon(language: str) -> bytes:
    """Returns what `pack_lexicon` does, which takes half a second the first time."""
    return pack_lexicon(language)


def added_words(language: str) -> dict[str, str]:
    """Returns the words of this project; the phonemes of those that nobody checked begin with `SILVER`."""
    column = 1 + list(LEXICONS).index(language)
    lines = (files("exporter.text") / "data" / "english_words.txt").read_text("utf-8").splitlines()
    rows = [line.split() for line in lines]
    return {row[0]: row[column] for row in rows if row[column] != ABSENT}


def pack(gold: Mapping[str, Value], silver: Mapping[str, Value]) -> bytes:
    """Returns the file of two lexicons; the entries of `gold` come before those of `silver`.

    Args:
        gold: phonemes by word, or phonemes by part of speech (None: the word is spelled).
        silver: the same, of words that were not checked by hand.

    Raises:
        LexiconError: there are more phonemes than the file can hold.
    """
    entries = {**silver, **gold}
    words = [word.encode() for word in sorted(entries)]
    texts = [("" if word in gold else SILVER) + _as_text(entries[word]) for word in sorted(entries)]
    alphabet = sorted(set("".join(texts)))
    if len(alphabet) > _MOST_PHONEMES:
        raise LexiconError(f"The lexicon should have {_MOST_PHONEMES} phonemes, found {len(alphabet)}.")
    codes = {ord(phoneme): code for code, phoneme in enumerate(alphabet, FIRST_CODE)}
    values = [text.translate(codes).encode("latin-1") for text in texts]
    starts = range(0, len(words), BLOCK)
    blocks = [_block(words[start : start + BLOCK], values[start : start + BLOCK]) for start in starts]
    ends = np.cumsum([len(block) for block in blocks], dtype="<u4")
    firsts = b"\n".join(words[start] for start in starts)
    parts = ["".join(alphabet).encode(), firsts, ends.tobytes(), b"".join(blocks)]
    return HEADER.pack(MAGIC, *map(len, parts)) + b"".join(parts)


def _block(words: list[bytes], values: list[bytes]) -> bytes:
    """Returns words and values compressed, each with a Huffman code of their own."""
    deflate = zlib.compressobj(9, zlib.DEFLATED, -zlib.MAX_WBITS, 9)
    first = deflate.compress(b"\n".join(words)) + deflate.flush(zlib.Z_BLOCK)
    return first + deflate.compress(b"\n\n" + b"\n".join(values)) + deflate.flush()


def _read(name: str) -> dict[str, Value]:
    # Importing misaki.en would import spaCy.
    found = importlib.util.find_spec("misaki")
    if found is None or found.origin is None:
        raise LexiconError("English needs misaki's lexicons: pip install misaki, or export --languages none.")
    path = Path(found.origin).parent / "data" / name
    try:
        content: dict[str, Value] = json.loads(path.read_bytes())
    except (OSError, ValueError) as error:
        raise LexiconError(f"{path} should be a lexicon of misaki ({error}): install misaki again.") from None
    return content


def _as_text(value: Value) -> str:
    """Returns the phonemes of an entry, where they depend on the part of speech as ``p|NOUN:q|VERB:r``."""
    if isinstance(value, str):
        return value
    others = [f"|{tag}:{phonemes or ''}" for tag, phonemes in sorted(value.items()) if tag != "DEFAULT"]
    return (value["DEFAULT"] or "") + "".join(others)
