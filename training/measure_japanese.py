"""Compares Japanese words and phonemes with those of misaki's default path, and prints the shares that agree.

python -m training.measure_japanese SENTENCES.txt
"""

from __future__ import annotations

import argparse
import re
import time
from collections.abc import Sequence
from difflib import SequenceMatcher
from importlib import import_module
from importlib.resources import files
from pathlib import Path

from runtime_min.text.japanese import Japanese
from runtime_min.text.japanese_dictionary import JapaneseDictionary

_ONLY_JAPANESE = re.compile("[ぁ-ゖァ-ヺーゝゞヽヾ一-鿿々〆〇、。「」『』（）！？・…]+")
_MARKS = re.compile(r"[!\",.:;?—…“”()«»\[\]]+")


def main() -> None:
    """Prints the figures, and some differences."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument(
        "sentences", type=Path, help="one a line; those with digits or Latin letters are left out"
    )
    lines = parser.parse_args().sentences.read_text("utf-8").splitlines()
    sentences = [line for line in lines if _ONLY_JAPANESE.fullmatch(line)]
    oracle = import_module("misaki.cutlet").Cutlet()
    data = (files("exporter.text") / "data" / "ja.dictionary.bin").read_bytes()
    japanese = Japanese(JapaneseDictionary(data), lambda words: None)
    start = time.process_time()
    ours = [
        _words("".join((word.phonemes or "") + word.whitespace for word in japanese(one)))
        for one in sentences
    ]
    seconds = time.process_time() - start
    expected = [_words(oracle(sentence)[0]) for sentence in sentences]
    words, same = sum(map(len, expected)), sum(map(_same, expected, ours))
    whole = sum(one == other for one, other in zip(expected, ours, strict=True))
    print(f"{same:,} of {words:,} words ({same / words:.3%}), {whole:,} of {len(sentences):,} sentences")
    print(f"{sum(map(len, sentences)) / seconds:,.0f} characters a second")
    for sentence, one, other in zip(sentences, expected, ours, strict=True):
        if one != other:
            print(sentence, " ".join(one), " ".join(other), sep="\n  ")


def _words(phonemes: str) -> list[str]:
    return _MARKS.sub(" ", phonemes).split()


def _same(expected: Sequence[str], found: Sequence[str]) -> int:
    return sum(match.size for match in SequenceMatcher(None, expected, found, False).get_matching_blocks())


if __name__ == "__main__":
    main()
