"""Compares Chinese words and phonemes with those of misaki's legacy path, and prints the shares that agree.

python -m training.measure_chinese SENTENCES.txt --cpp CPP

CPP is the directory with the benchmark's test.sent and test.lb, which have a character with several readings
in each sentence, and its reading.
"""

from __future__ import annotations

import argparse
import re
import time
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from importlib import import_module
from importlib.resources import files
from pathlib import Path
from typing import Any

from runtime_min.text.chinese_dictionary import ChineseDictionary
from training.polyphones import spoken

_HAN = re.compile("[\u4e00-\u9fff]+")


def main() -> None:
    """Prints the figures, and some differences."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("sentences", type=Path, help="one a line")
    parser.add_argument("--cpp", type=Path, help="directory of the CPP benchmark's test part")
    options = parser.parse_args()
    sentences = options.sentences.read_text("utf-8").splitlines()
    oracle: Any = import_module("misaki.zh").ZHG2P
    dictionary = ChineseDictionary((files("exporter.text") / "data" / "zh.dictionary.bin").read_bytes())
    words = same = whole = 0
    shown: list[str] = []
    start = time.process_time()
    ours = [[_read(dictionary, run) for run in _HAN.findall(sentence)] for sentence in sentences]
    seconds = time.process_time() - start
    for sentence, found in zip(sentences, ours, strict=True):
        expected = [oracle.legacy_call(run).split(" ") for run in _HAN.findall(sentence)]
        words += sum(map(len, expected))
        same += sum(map(_same, expected, found))
        whole += expected == found
        shown += [f"{sentence}: {difference}" for difference in _differences(expected, found)]
    characters = sum(len(run) for sentence in sentences for run in _HAN.findall(sentence))
    print(f"{same:,} of {words:,} words ({same / words:.3%}), {whole:,} of {len(sentences):,} sentences")
    print(f"{characters / seconds:,.0f} characters a second", *shown[:20], sep="\n")
    if options.cpp:
        _measure_readings(dictionary, options.cpp)


def _measure_readings(dictionary: ChineseDictionary, directory: Path) -> None:
    sentences = (directory / "test.sent").read_text("utf-8").splitlines()
    labels = (directory / "test.lb").read_text("utf-8").split()
    right = 0
    for sentence, label in zip(sentences, labels, strict=True):
        place, text = sentence.index("▁"), sentence.replace("▁", "")
        start, end = next(run.span() for run in _HAN.finditer(text) if run.start() <= place < run.end())
        readings = [each for _, word in dictionary.readings(text[start:end]) for each in word]
        right += readings[place - start] == spoken(label)
    print(f"{right:,} of {len(labels):,} readings of CPP ({right / len(labels):.2%})")


def _read(dictionary: ChineseDictionary, run: str) -> list[str]:
    return [phonemes or "" for _, phonemes in dictionary.words(run)]


def _same(expected: Sequence[str], found: Sequence[str]) -> int:
    return sum(match.size for match in SequenceMatcher(None, expected, found, False).get_matching_blocks())


def _differences(expected: Sequence[Sequence[str]], found: Sequence[Sequence[str]]) -> Iterator[str]:
    for one, other in zip(expected, found, strict=True):
        for kind, start, end, first, last in SequenceMatcher(None, one, other, False).get_opcodes():
            if kind != "equal":
                yield f"{' '.join(one[start:end])} / {' '.join(other[first:last])}"


if __name__ == "__main__":
    main()
