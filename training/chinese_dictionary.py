"""Packs jieba's words, pypinyin's readings and g2pM's network for `runtime_min.text.chinese_dictionary`.

pip install g2pM==0.1.2.5 jieba==0.42.1 pypinyin==0.55.0
python -m training.chinese_dictionary exporter/text/data/zh.dictionary.bin
"""

from __future__ import annotations

import argparse
import math
import re
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from runtime_min.text.chinese_dictionary import (
    ABSENT,
    FIRST,
    HAN,
    HEADER,
    MAGIC,
    STATES,
)
from runtime_min.text.word_table import LONGEST, hashes_of
from training import polyphones
from training.pinyin import phonemes

_WORD_STEPS, _STATE_STEPS = 18, 3_000
"""Steps of the logarithms of probabilities in a unit; they fill a byte or two."""
_ONLY_HAN = re.compile(f"[{FIRST}-{chr(ord(FIRST) + HAN - 1)}]+")
Readings = Mapping[str, Sequence[str]]


def main() -> None:
    """Writes the dictionary."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("output", type=Path)
    data = pack()
    parser.parse_args().output.write_bytes(data)
    print(f"{len(data):,} bytes")


def pack() -> bytes:
    """Returns the file's content, the same for the same versions of the packages."""
    characters, (words, base) = _characters(), _words()
    needed = _needed(_phrases(), characters, words)
    syllables = sorted({*characters.values(), *(each for word in needed.values() for each in word)})
    numbers = {syllable: number for number, syllable in enumerate(syllables, 1)}
    keys, values = _sorted(words)
    phrase_keys, own = _sorted(needed)
    spoken = np.array([numbers[each] for readings in own for each in readings])
    single = np.zeros(HAN, np.int64)
    for character, syllable in characters.items():
        single[ord(character) - ord(FIRST)] = numbers[syllable]
    states, emissions = _states()
    content = [
        _gaps(keys), np.array(values, "u1").tobytes(),
        _gaps(phrase_keys), bytes(map(len, own)), _planes(spoken, 2),
        _planes(single, 2), *(_planes(row, 2) for row in emissions),
        "\n".join(map(phonemes, syllables)).encode(),
    ]  # fmt: skip
    packer = zlib.compressobj(9, wbits=-zlib.MAX_WBITS)
    # Parts of one kind each get a Huffman code of their own.
    packed = b"".join(packer.compress(part) + packer.flush(zlib.Z_FULL_FLUSH) for part in content)
    packed += packer.flush()
    header = HEADER.pack(MAGIC, len(keys), len(phrase_keys), len(spoken), base, len(packed), *states)
    return header + packed + polyphones.pack()


def _words() -> tuple[dict[str, int], int]:
    """Returns a score of each of jieba's words, and what each word of a text costs."""
    jieba: Any = import_module("jieba")
    jieba.initialize()
    counts = {word: count for word, count in jieba.dt.FREQ.items() if count and _ONLY_HAN.fullmatch(word)}
    scores = {word: round(math.log(count) * _WORD_STEPS) for word, count in counts.items()}
    assert max(map(len, scores)) <= LONGEST
    return scores, round(math.log(jieba.dt.total) * _WORD_STEPS)


def _states() -> tuple[list[int], list[NDArray[np.int64]]]:
    """Returns the costs of jieba's Markov model: of its first states and steps, and of its characters."""
    model: Any = import_module("jieba.finalseg")

    def cost(logarithm: float) -> int:
        return min(ABSENT, round(-logarithm * _STATE_STEPS))

    steps = [cost(model.start_P[state]) for state in STATES]
    for before in STATES:
        steps += [cost(model.trans_P[before].get(state, -1e9)) for state in STATES]
    letters = [chr(ord(FIRST) + place) for place in range(HAN)]
    emissions = [[cost(model.emit_P[state].get(letter, -1e9)) for letter in letters] for state in STATES]
    return steps, [np.array(row) for row in emissions]


def _characters() -> dict[str, str]:
    known: Mapping[int, str] = import_module("pypinyin.constants").PINYIN_DICT
    first = {chr(code): readings.split(",")[0] for code, readings in known.items()}
    return {each: _numbered(own) for each, own in first.items() if _ONLY_HAN.fullmatch(each)}


def _phrases() -> dict[str, list[str]]:
    known: Mapping[str, list[list[str]]] = import_module("pypinyin.constants").PHRASES_DICT
    return {
        phrase: [_numbered(each[0]) for each in readings]
        for phrase, readings in known.items()
        if _ONLY_HAN.fullmatch(phrase)
    }


def _numbered(pinyin: str) -> str:
    convert = import_module("pypinyin.contrib.tone_convert")
    found: str = convert.to_tone3(pinyin, neutral_tone_with_five=True)
    return found


def _needed(phrases: Readings, characters: Mapping[str, str], words: Iterable[str]) -> Readings:
    """Returns the phrases without which a phrase or a word would be read otherwise, or by the network."""
    needed: dict[str, Sequence[str]] = {}
    several = polyphones.characters()
    for phrase in sorted(phrases, key=lambda phrase: (len(phrase), phrase)):
        decided = "".join(part for part in _longest(phrase, needed) if len(part) > 1)
        is_open = not several.isdisjoint(set(phrase) - set(decided))
        if is_open or _read(phrase, needed, characters) != phrases[phrase]:
            needed[phrase] = phrases[phrase]
    for word in words:
        if _read(word, needed, characters) != _read(word, phrases, characters):
            needed |= {part: phrases[part] for part in _longest(word, phrases) if len(part) > 1}
    return needed


def _read(word: str, phrases: Readings, characters: Mapping[str, str]) -> list[str]:
    """Returns the syllables of a word."""
    parts = _longest(word, phrases)
    return [each for part in parts for each in phrases.get(part, [characters.get(part, "")])]


def _longest(word: str, phrases: Readings) -> Iterator[str]:
    """Yields the longest phrases from the left, and the characters between them."""
    start = 0
    while start < len(word):
        ends = range(len(word), start + 1, -1)
        end = next((each for each in ends if word[start:each] in phrases), start + 1)
        yield word[start:end]
        start = end


def _sorted(values: Mapping[str, Any]) -> tuple[NDArray[np.uint64], list[Any]]:
    """Returns the hashes of words in order, and the words' values.

    Raises:
        ValueError: two words have one hash.
    """
    own = {int(hashes_of(word)[len(word) - 1][0]): value for word, value in values.items()}
    if len(own) < len(values):
        raise ValueError("Two words have one hash: change the multiplier.")
    keys = sorted(own)
    return np.array(keys, np.uint64), [own[key] for key in keys]


def _gaps(keys: NDArray[np.uint64]) -> bytes:
    numbers = keys.astype(np.int64)
    return _planes(numbers - np.concatenate([[0], numbers[:-1]]), 4)


def _planes(numbers: NDArray[np.int64], count: int) -> bytes:
    """Returns the lowest bytes of all numbers, then the next ones."""
    assert not (numbers >> 8 * count).any()
    return b"".join((numbers >> 8 * place & 255).astype("u1").tobytes() for place in range(count))


if __name__ == "__main__":
    main()
