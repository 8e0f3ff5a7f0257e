"""Compares what the rules of a language say with espeak-ng, and prints the shares of words that are alike.

    python -m training.measure_rules LANGUAGE WORDS.txt [--ends 2000 8000 14000]

The file has one word a line, the most frequent first. The last line is for words in random order, eight at a
time, which shows how words change each other.
"""

from __future__ import annotations

import argparse
import re
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from difflib import SequenceMatcher
from itertools import pairwise
from pathlib import Path
from random import Random

import msgpack

from exporter.text.language_files import language_file, languages
from runtime_min.speech.words import Word
from runtime_min.text import espeak
from runtime_min.text.rules import Rules

_OPEN = {"ɛ": "e", "ɔ": "o"}
_FREE = {"it": _OPEN, "pt-br": _OPEN, "fr-fr": _OPEN | {"œ": "ə"}}
"""Sounds of a language that count as others in the third share."""
_STRESS = re.compile("[ˈˌ]")
_IN_A_ROW, _AT_ONCE = 2_400, 8


def main() -> None:
    """Prints the shares."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("language", choices=languages())
    parser.add_argument("words", type=Path, help="one a line")
    parser.add_argument("--ends", type=int, nargs="+", default=[2_000, 8_000, 14_000], help="ends of parts")
    options = parser.parse_args()
    data = language_file(options.language)
    letters = {*msgpack.unpackb(data)["written"]["letters"], *msgpack.unpackb(data)["written"]["accented"]}
    every = options.words.read_text("utf-8").split()
    words = [word for word in every if len(word) > 1 and {*word} <= letters][: max(options.ends)]
    readers = Rules(data), espeak(options.language)
    free = str.maketrans(_FREE.get(options.language, {}))
    print("identical; but for stress; but for stress and sounds that count as others; sounds")
    for start, end in pairwise([0, *options.ends]):
        report(f"words {start + 1:,} to {min(end, len(words)):,}", words[start:end], readers, free)
    chosen = Random(0).sample(words, min(_IN_A_ROW, len(words)))
    rows = [" ".join(chosen[start : start + _AT_ONCE]) for start in range(0, len(chosen), _AT_ONCE)]
    report("words in a row", rows, readers, free)


def report(
    name: str, texts: Sequence[str], readers: Iterable[Callable[[str], list[Word]]], free: dict[int, str]
) -> None:
    """Prints the shares of texts that two readers say alike."""
    ours, theirs = ([said(text, read) for text in texts] for read in readers)
    shares: list[float] = []
    for change in (str, plain, lambda phonemes: plain(phonemes).translate(free)):
        pairs = [*zip(map(change, ours), map(change, theirs), strict=True)]
        shares.append(share(pairs))
    sounds = [(plain(one), plain(other)) for one, other in zip(ours, theirs, strict=True)]
    same = sum(alike(one, other) for one, other in sounds)
    shares.append(2 * same / sum(len(one) + len(other) for one, other in sounds))
    print(f"{name}:", "; ".join(f"{each:.1%}" for each in shares))


def said(text: str, read: Callable[[str], list[Word]]) -> str:
    """Returns the phonemes of words with spaces between them; those of a single word have none."""
    phonemes = unicodedata.normalize("NFD", " ".join(word.phonemes or "?" for word in read(text)))
    return phonemes if " " in text else phonemes.replace(" ", "")


def plain(phonemes: str) -> str:
    """Returns phonemes without stress."""
    return _STRESS.sub("", phonemes)


def share(pairs: Iterable[tuple[str, str]]) -> float:
    """Returns the share of words that are equal in both texts of a pair; a text may have several."""
    same = total = 0
    for one, other in pairs:
        ours, theirs = one.split(" "), other.split(" ")
        matches = SequenceMatcher(None, ours, theirs, autojunk=False).get_matching_blocks()
        same += sum(match.size for match in matches)
        total += max(len(ours), len(theirs))
    return same / total


def alike(one: str, other: str) -> int:
    """Returns how many sounds two texts share, in the same order."""
    return sum(
        match.size for match in SequenceMatcher(None, one, other, autojunk=False).get_matching_blocks()
    )


if __name__ == "__main__":
    main()
