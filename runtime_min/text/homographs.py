"""Chooses the pronunciation of a homograph: a linear model over the words and tags around it, in integers.

The words whose meaning, not only whose tag, decides are few, so each has weights of its own; verbs against
nouns and adjectives share some. The data: a line for each word (the word, what a positive and what a
negative score means, and "shared" or "own"), an empty line, then the weights, int8, as many as a power of
two. `training/train_homographs.py` writes it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from zlib import crc32

_AROUND = 8
_OUTSIDE = ""
_SUBJECTS = frozenset(("i", "he", "she", "we", "they"))
_VERBS = ("VERB", "VBD")


def features(word: str, words: Sequence[str], tags: Sequence[str], index: int, shared: bool) -> Iterator[str]:
    """Yields the features of a homograph at a place in a sentence.

    Args:
        word: The homograph in lower case.
        words: The sentence's words.
        tags: Their tags.
        index: The homograph's place.
        shared: True if what tells a verb from a noun or an adjective tells its pronunciations apart.
    """
    first = max(0, index - _AROUND)
    near = [text.lower() for text in words[first : index + _AROUND + 1]]
    here = index - first

    def at(values: Sequence[str], place: int) -> str:
        return values[place] if 0 <= place < len(values) else _OUTSIDE

    w = {distance: at(near, here + distance) for distance in range(-3, 4)}
    t = {distance: at(tags, index + distance) for distance in range(-3, 4)}
    case = "A" if words[index].isupper() else "a" if words[index].islower() else "Aa"
    local = [
        f"t0 {t[0]}", f"t-1 {t[-1]}", f"t1 {t[1]}", f"t-10 {t[-1]} {t[0]}", f"t01 {t[0]} {t[1]}",
        f"t-11 {t[-1]} {t[1]}", f"t-2 {t[-2]} {t[-1]}", f"t2 {t[1]} {t[2]}", f"w-1 {w[-1]}", f"w1 {w[1]}",
        f"w-2 {w[-2]}", f"w2 {w[2]}", f"w-2-1 {w[-2]} {w[-1]}", f"w12 {w[1]} {w[2]}", f"wt {w[-1]} {t[1]}",
        f"tw {t[-1]} {w[1]}", f"wt0 {w[-1]} {t[0]}", f"t0w {t[0]} {w[1]}", f"t-3 {t[-3]} {t[-2]} {t[-1]}",
        f"s-1 {w[-1][-3:]}", f"s1 {w[1][-3:]}", f"c {case} {index == 0}",
    ]  # fmt: skip
    if shared:
        yield from local
    yield word
    for feature in local:
        yield f"{word} {feature}"
    for text in sorted(set(near)):
        yield f"{word} near {text}"


class Homographs:
    """Chooses among the pronunciations of a homograph.

    Args:
        data: The weights of both dialects, for example a memory map; it is not copied.
    """

    def __init__(self, data: bytes | memoryview) -> None:
        head, _, _ = bytes(data[:16_384]).partition(b"\n\n")
        self._words = {
            word: (positive, negative, kind == "shared")
            for word, positive, negative, kind in (line.split(" ") for line in head.decode().splitlines())
        }
        self._weights = memoryview(data)[len(head) + 2 :].cast("b")

    def choose(self, words: Sequence[str], tags: Sequence[str], index: int) -> str | None:
        """Returns which pronunciation of a word is meant.

        Args:
            words: The words of a sentence.
            tags: Their tags, as the tagger gives them.
            index: The word's place.

        Returns:
            The key of the word's entry in the lexicon, such as "VERB" or "DEFAULT"; phonemes, where the
            lexicon lacks the pronunciation; None for any other word.
        """
        word = words[index].lower()
        if word not in self._words:
            return None
        positive, negative, shared = self._words[word]
        if index and words[index - 1].lower() in _SUBJECTS and tags[index].startswith("VB"):
            # A verb for certain, also in a sentence as short as "He wound."
            for key in (positive, negative):
                if key in _VERBS:
                    return key
        return positive if self._score(features(word, words, tags, index, shared)) > 0 else negative

    def _score(self, found: Iterator[str]) -> int:
        mask = len(self._weights) - 1
        return sum(self._weights[crc32(feature.encode("utf-8", "surrogatepass")) & mask] for feature in found)
