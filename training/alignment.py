"""Aligns the letters of words with their phonemes: each letter is given none to three of them."""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from itertools import pairwise

Chunk = tuple[str, ...]

LONGEST = 3
_PHONEME = re.compile("[ˈˌ]?.ː?")
# How likely a letter is to have no, one, two or three phonemes before anything is known.
_LENGTHS = (0.25, 0.6, 0.1, 0.05)


def phonemes_of(pronunciation: str) -> list[str]:
    """Returns the phonemes of a pronunciation, a vowel with its stress mark and its length."""
    return _PHONEME.findall(pronunciation)


def align(words: Sequence[tuple[str, str]], rounds: int = 4, sample: int = 20_000) -> list[list[str] | None]:
    """Returns for each pair of word and pronunciation the phonemes of each letter, None where none fit.

    The likelihood of a letter's phonemes is estimated by Viterbi training on a sample, and stress is ignored.
    """
    pairs = [(word, phonemes_of(pronunciation)) for word, pronunciation in words]
    plain = [(word, [phoneme.lstrip("ˈˌ") for phoneme in phonemes]) for word, phonemes in pairs]
    step = max(1, len(plain) // sample)
    costs = _first_costs(plain[::step])
    for _ in range(rounds):
        costs = _costs((word, path) for word, path in _paths(plain[::step], costs) if path)
    result: list[list[str] | None] = []
    for (_, phonemes), (_, path) in zip(pairs, _paths(plain, costs), strict=True):
        ends = [0]
        for chunk in path:
            ends.append(ends[-1] + len(chunk))
        result.append(["".join(phonemes[a:b]) for a, b in pairwise(ends)] if path else None)
    return result


class _Costs:
    """The negative logarithms of the likelihoods of chunks, by letter."""

    def __init__(self, known: dict[tuple[str, Chunk], float]) -> None:
        self.known = known

    def of(self, letter: str, chunk: Chunk) -> float:
        cost = self.known.get((letter, chunk))
        return 12.0 + 2 * len(chunk) if cost is None else cost


def _first_costs(words: Sequence[tuple[str, list[str]]]) -> _Costs:
    """Returns costs from how often a letter and a phoneme are in the same word at about the same place."""
    together: Counter[tuple[str, str]] = Counter()
    for word, phonemes in words:
        for index, letter in enumerate(word):
            place = index * len(phonemes) // len(word)
            together.update((letter, phoneme) for phoneme in phonemes[max(0, place - 1) : place + 2])
    letters: Counter[str] = Counter()
    sounds: Counter[str] = Counter()
    for (letter, phoneme), count in together.items():
        letters[letter] += count
        sounds[phoneme] += count
    known = {(letter, ()): -math.log(_LENGTHS[0]) for letter in letters}
    total = letters.total()
    association = {
        pair: math.log(count * total / letters[pair[0]] / sounds[pair[1]]) for pair, count in together.items()
    }
    for (letter, phoneme), value in association.items():
        known[letter, (phoneme,)] = 2 - _clip(value) - math.log(_LENGTHS[1])
    costs = _Costs(known)
    costs.of = lambda letter, chunk: (  # type: ignore[method-assign]
        known[letter, ()]
        if not chunk
        else sum(2 - _clip(association.get((letter, phoneme), -3)) for phoneme in chunk)
        - math.log(_LENGTHS[len(chunk)])
    )
    return costs


def _clip(value: float) -> float:
    return max(-3.0, min(3.0, value))


def _costs(paths: Iterable[tuple[str, list[Chunk]]]) -> _Costs:
    counts: defaultdict[str, Counter[Chunk]] = defaultdict(Counter)
    for word, path in paths:
        for letter, chunk in zip(word, path, strict=True):
            counts[letter][chunk] += 1
    return _Costs(
        {
            (letter, chunk): -math.log(count / chunks.total())
            for letter, chunks in counts.items()
            for chunk, count in chunks.items()
        }
    )


def _paths(words: Sequence[tuple[str, list[str]]], costs: _Costs) -> Iterable[tuple[str, list[Chunk]]]:
    """Yields each word with the cheapest chunks of its letters, none where there are too many phonemes."""
    for word, phonemes in words:
        count = len(phonemes)
        best = [(0.0, ())] + [(math.inf, ())] * count  # cost, and chunks as linked tuples
        for letter in word:
            row = []
            for end in range(count + 1):
                row.append(
                    min(
                        (
                            (cost + costs.of(letter, tuple(phonemes[start:end])), (before, start, end))
                            for start in range(max(0, end - LONGEST), end + 1)
                            for cost, before in (best[start],)
                            if cost < math.inf
                        ),
                        key=lambda entry: entry[0],
                        default=(math.inf, ()),
                    )
                )
            best = row
        path: list[Chunk] = []
        link = best[count][1]
        while link:
            link, start, end = link
            path.insert(0, tuple(phonemes[start:end]))
        yield word, path
