"""Packs misaki's lexicons into the file that `runtime_min.text.lexicon` searches."""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from exporter.errors import ExportError
from runtime_min.text.lexicon import BLOCK, HEADER, MAGIC, SILVER, VALUE_CODES, shared_letters

LEXICONS = {"en-us": "us", "en-gb": "gb"}
"""misaki's names of the lexicons by language."""
_AT_ONCE = 8
"""Pairs that are replaced before pairs are counted again."""
Value = str | Mapping[str, str | None]


class LexiconError(ExportError):
    """misaki's lexicons are not installed, or not as expected."""


def pack_lexicon(language: str) -> bytes:
    """Returns the lexicon of `language`, the same bytes for the same version of misaki.

    Raises:
        LexiconError: misaki is not installed or its lexicons are not as expected.
    """
    gold, silver = (_read(f"{LEXICONS[language]}_{name}.json") for name in ("gold", "silver"))
    return pack(gold, silver)


def pack(gold: Mapping[str, Value], silver: Mapping[str, Value]) -> bytes:
    """Returns the file of two lexicons; the entries of `gold` come before those of `silver`.

    Args:
        gold: phonemes by word, or phonemes by part of speech (None: the word is spelled).
        silver: the same, of words that were not checked by hand.

    Raises:
        LexiconError: a word or the phonemes have characters that the file cannot hold.
    """
    entries = {**silver, **gold}
    try:
        words = {word.encode("ascii"): word for word in sorted(entries)}
    except UnicodeEncodeError as error:
        raise LexiconError(f"The lexicon's words should be ASCII, found {error.object!r}.") from None
    codes, values = _compress([_as_text(entries[word]) for word in words.values()])
    firsts: list[bytes] = []
    blocks: list[bytes] = []
    for number, (key, value) in enumerate(zip(words, values, strict=True)):
        if number % BLOCK == 0:
            firsts.append(key)
            blocks.append(b"")
        shared = shared_letters(firsts[-1], key)
        marker = shared if words[key] in gold else shared | SILVER
        blocks[-1] += bytes([marker]) + key[shared:] + value
    ends = np.cumsum([len(block) for block in blocks], dtype="<u4")
    parts = ["\n".join(codes).encode(), b"\n".join(firsts), ends.tobytes(), b"".join(blocks)]
    return HEADER.pack(MAGIC, *map(len, parts)) + b"".join(parts)


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


def _compress(texts: list[str]) -> tuple[list[str], list[bytes]]:
    """Returns the meaning of each code, and the texts as codes; a frequent pair has a code of its own."""
    meanings = sorted(set("".join(texts)))
    if len(meanings) > len(VALUE_CODES):
        raise LexiconError(f"The lexicon should have {len(VALUE_CODES)} phonemes, found {len(meanings)}.")
    numbers = dict(zip(meanings, VALUE_CODES, strict=False))
    data = b"\0".join(bytes(numbers[letter] for letter in text) for text in texts)
    while pairs := _frequent_pairs(data)[: len(VALUE_CODES) - len(meanings)]:
        for pair in pairs:
            data = data.replace(pair, bytes([VALUE_CODES[len(meanings)]]))
            meanings.append("".join(meanings[VALUE_CODES.index(each)] for each in pair))
    return meanings, data.split(b"\0")


def _frequent_pairs(data: bytes) -> list[bytes]:
    """Returns the most frequent pairs of codes, of equally frequent ones the lowest first."""
    codes = np.frombuffer(data, np.uint8)
    left, right = codes[:-1].astype(np.int64), codes[1:]
    counts = np.bincount((left * 256 + right)[(left != 0) & (right != 0)], minlength=_AT_ONCE)
    best = np.argsort(-counts, kind="stable")[:_AT_ONCE]
    return [int(pair).to_bytes(2, "big") for pair in best if counts[pair] > 1]
