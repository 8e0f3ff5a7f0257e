"""Splits long input: at ends of sentences, else of clauses, else between words.

>>> split("Yes. No, never", find_breaks("Yes. No, never"), limit=8, size=8, before=100)
[5, 9, 14]
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from enum import IntEnum


class Break(IntEnum):
    """The kind of a place where input may be split; the greater is the better place."""

    WORD = 1
    CLAUSE = 2
    SENTENCE = 3


FIRST_CLAUSE = 40
"""A stream's first piece is its first clause if that is no longer than this,"""
FIRST_WORDS = 20
"""and else as many words as fit into this."""
_VOWELS = "AIOQWYaeiouyæɐɑɒɔəɛɜɚɪɨɯɵøœɤʊʌᵊᵻː→↗↓↘\u0303"
"""Kokoro's, with the signs that follow them."""
_SYLLABLE = re.compile(rf"(?<=[{_VOWELS}])(?=[ˈˌ]|[^{_VOWELS}\sˈˌ]j?[{_VOWELS}])")
"""A place within a run without spaces, between a vowel and a consonant."""
_SHORTEST_CLAUSE = 10
"""Below this a piece would be over before the next is computed."""

_FEWEST_FIRST = 6
"""Phonemes of the first words that are decoded alone, and of those that follow: half a second of speech."""

_MARKS = r".!?…‥"
_CLOSE = r"”’)\]}」』）】》〉｣"
# French puts a space before some marks. The look-behinds keep runs of marks from being tried at every place.
_CLOSING = rf"(?:[\"'{_CLOSE}]|\s?[»›])*"
_SENTENCE = rf"(?<![{_MARKS}])[{_MARKS}]+{_CLOSING}(?:\s+|$)|[。！？｡।॥]+{_CLOSING}\s*"
_CLAUSE = (
    rf"(?<![,;:])[,;:]+{_CLOSING}(?:\s+|$)|[、，；：､—–…‥]+{_CLOSING}\s*"
    rf"|(?<![{_CLOSE}»›])[{_CLOSE}»›]+\s+"
)
_WORD = rf"(?<!\s)\s+(?![\s{_MARKS}。！？｡।॥,;:、，；：､—–{_CLOSE}»›])"
_PATTERNS = {
    Break.WORD: re.compile(_WORD),
    Break.CLAUSE: re.compile(_CLAUSE),
    Break.SENTENCE: re.compile(_SENTENCE),
}


def find_breaks(phonemes: str, sentences: Collection[int] | None = None) -> dict[int, Break]:
    """Returns every offset before which the input may be split, with the best reason.

    Punctuation, closing quotes and brackets and the spaces behind them stay with what they end. The marks
    are those of all of Kokoro's languages; ASCII ones count where a space or the end follows, the others
    everywhere. The end of the input is always there.

    Args:
        phonemes: the phonemes to split.
        sentences: where sentences begin after others, if the written text is known: then no mark within the
            input ends another.
    """
    breaks = {len(phonemes): Break.WORD}
    for kind, pattern in _PATTERNS.items():
        for found in pattern.finditer(phonemes):
            within = sentences is not None and kind is Break.SENTENCE and found.end() < len(phonemes)
            breaks[found.end()] = _within_sentence(found[0]) if within else kind
    breaks.update(dict.fromkeys(sentences or (), Break.SENTENCE))
    return breaks


def _within_sentence(mark: str) -> Break:
    return Break.WORD if mark.strip() == "." else Break.CLAUSE


def split(phonemes: str, breaks: Mapping[int, Break], *, limit: int, size: int, before: int) -> list[int]:
    """Returns the offsets at which the pieces of `phonemes` end, the last of them its length.

    A piece ends at the last end of a sentence within `size`, else of a clause, else of a word. A word that
    goes on beyond `size` is kept whole up to `limit`, and cut there; while the pieces grow, a run that is
    longer than words are is cut between syllables.

    A speech begins with a short piece, to be heard at once, and its pieces double until they have `size`.
    What follows on a short section, such as a heading, is computed while that is heard, and so begins with a
    piece of twice its length.

    Args:
        phonemes: the phonemes to split.
        breaks: from `find_breaks`.
        limit: most phonemes of a piece.
        size: wanted length of a piece, at most `limit`.
        before: phonemes of the speech before these.
    """
    ends: list[int] = []
    growing = 2 * before < size
    start, wanted = 0, grown(before, size) if before else min(size, FIRST_WORDS)
    while start < len(phonemes):
        if not before and not ends:
            end = _first_end(breaks, size)
        elif len(phonemes) - start <= wanted:
            end = len(phonemes)
        else:
            end = best_end(breaks, start, wanted)
        longest = min(limit, max(wanted, FIRST_CLAUSE)) if growing else limit
        end = end or _word_end(breaks, start, longest)
        if not end:
            end = _syllable_end(phonemes, start, wanted) if longest < limit else start + limit
        ends.append(end)
        if growing:
            wanted = grown(end - start, size)
        start = end
    return ends


def grown(before: int, size: int) -> int:
    """Returns the wanted length of a piece after `before` phonemes, at most `size`."""
    return min(size, max(2 * before, FIRST_CLAUSE))


def best_end(breaks: Mapping[int, Break], start: int, size: int) -> int | None:
    """Returns the best end of a piece of at most `size` from `start` on, or None if all are within a word."""
    found = [end for end in range(start + 1, start + size + 1) if end in breaks]
    return max(found, key=lambda end: (breaks[end], end), default=None)


def _first_end(breaks: Mapping[int, Break], size: int) -> int | None:
    clauses = range(_SHORTEST_CLAUSE, min(size, FIRST_CLAUSE) + 1)
    words = range(min(size, FIRST_WORDS), 0, -1)
    first = next((end for end in clauses if breaks.get(end, Break.WORD) > Break.WORD), None)
    return first or next((end for end in words if end in breaks), None)


def first_words(breaks: Mapping[int, Break], end: int) -> list[int]:
    """Returns where the first words end that are decoded alone, of a first piece; none if all are needed.

    Args:
        breaks: from `find_breaks`.
        end: the end of the first piece.
    """
    ends = range(_FEWEST_FIRST, end - _FEWEST_FIRST + 1)
    return [at for at in ends if at in breaks][:1]


def _word_end(breaks: Mapping[int, Break], start: int, longest: int) -> int | None:
    return next((end for end in range(start + 1, start + longest + 1) if end in breaks), None)


def _syllable_end(phonemes: str, start: int, size: int) -> int:
    run = phonemes[start : start + size + 3]
    ends = [found.start() for found in _SYLLABLE.finditer(run) if size // 2 <= found.start() <= size]
    return start + max(ends, default=size)
