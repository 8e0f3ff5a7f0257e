"""Phonemes of single English words: the lexicon, words that depend on their place, inflections, letters.

The rules are those of misaki, which made the phonemes that Kokoro was trained with.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from enum import Enum
from functools import lru_cache
from typing import NamedTuple

from .lexicon import Entry, Lexicon
from .stress import PRIMARY, SECONDARY, restressed

SYMBOLS = {"%": "percent", "&": "and", "+": "plus", "@": "at"}
"""Symbols that are spoken as a word."""
_ALPHABETIC = re.compile(r"[A-Za-z]+\Z")
_INITIALS = re.compile(r"(?:[^\W\d_]{1,2}\.)*[^\W\d_]{1,2}\.?\Z")
_VERSUS = re.compile(r"(?i)vs\.?\Z")
_BEFORE_FLAP = "AIOWYiuæɑəɛɪɹʊʌ"
_PARENTS = {"VB": "VERB", "NN": "NOUN", "RB": "ADV", "JJ": "ADJ"}
"""Parts of speech in the lexicon by the first letters of tags."""


class _Suffix(Enum):
    S = "s"
    ED = "ed"
    ING = "ing"


_STEMS = [
    (re.compile(pattern), ending, suffix)
    for pattern, ending, suffix in (
        (r"(.+[^s])s", "", _Suffix.S),
        (r"(.+)'s", "", _Suffix.S),
        (r"(..+[^i])es", "", _Suffix.S),
        (r"(..+)ies", "y", _Suffix.S),
        (r"(..+[^d])d", "", _Suffix.ED),
        (r"(..+[^e])ed", "", _Suffix.ED),
        (r"(...+)ing", "", _Suffix.ING),
        (r"(..+)ing", "e", _Suffix.ING),
        (r"(.+([bcdgklmnprstvxz]))\2ing", "", _Suffix.ING),
        (r"(.+c)king", "", _Suffix.ING),
    )
]
"""Inflected words, the end of their stems and the suffix."""


class Context(NamedTuple):
    """The beginning of the sounds that follow a word."""

    vowel: bool | None = None
    """True if a vowel follows, False if a consonant; None if nothing follows before a pause."""
    to: bool = False
    """The next word is *to*."""


class Pronunciation:
    """Words of one dialect to phonemes."""

    def __init__(self, lexicon: Lexicon, british: bool) -> None:
        self._lexicon = lexicon
        self._british = british
        # The vowel of the British -s and -ed after a sibilant and after t and d.
        self._weak = "ɪ" if british else "ᵻ"
        # Bounded, for texts of ever new words.
        self.word = lru_cache(4_096)(self._word)
        """Returns what `_word` does, from a cache."""

    def _word(self, word: str, tag: str, context: Context) -> str | None:
        """Returns the phonemes of a word, or None if neither the lexicon nor a rule knows it.

        Args:
            word: the word as it is written, with straight apostrophes.
            tag: its part of speech, in the Penn Treebank's tags.
            context: what follows.
        """
        own = self._lexicon.own(word) or self._lexicon.own(word.lower())
        if own is not None:
            return _chosen(own, tag, context)
        stress = None if word == word.lower() else 2 if word == word.upper() else 0.5
        special = self._special(word, tag, stress, context)
        if special is not None:
            return special
        if self._is_capitalised(word, tag, context):
            word = word.lower()
        if self.is_known(word):
            return self._look_up(word, tag, stress, context)
        if word.endswith("s'") and self.is_known(word[:-2] + "'s"):
            return self._look_up(word[:-2] + "'s", tag, stress, context)
        if word.endswith("'") and self.is_known(word[:-1]):
            return self._look_up(word[:-1], tag, stress, context)
        return self._inflected(word, tag, stress, context)

    def is_known(self, word: str) -> bool:
        """Returns True if the lexicon has the word or it is spelled."""
        if self._gold(word) or self._silver(word) or word in SYMBOLS:
            return True
        if not _ALPHABETIC.match(word):
            return False
        capitals = word == word.upper() and self._gold(word.lower()) is not None
        return len(word) == 1 or capitals or word[1:] == word[1:].upper()

    def spelled(self, word: str) -> str | None:
        """Returns the names of the word's letters, the last one stressed; None unless all have one."""
        names = [self._gold(letter.upper()) for letter in word if letter.isalpha()]
        if not names or not all(names):
            return None
        phonemes = restressed("".join(name.phonemes for name in names if name), 0)
        return PRIMARY.join(phonemes.rsplit(SECONDARY, 1))

    def _gold(self, word: str) -> Entry | None:
        return self._find(word, gold=True)

    def _silver(self, word: str) -> Entry | None:
        return self._find(word, gold=False)

    def _find(self, word: str, gold: bool) -> Entry | None:
        """Returns the entry of a word, or that of the same word with or without a capital."""
        for written in (word, _other_case(word)):
            entry = self._lexicon.find(written) if written else None
            if entry and entry.gold == gold:
                return entry
        return None

    def _special(self, word: str, tag: str, stress: float | None, context: Context) -> str | None:
        """Returns the phonemes of a word that depends on what follows, and of symbols and initials."""
        if word in SYMBOLS:
            return self._look_up(SYMBOLS[word], tag, None, context)
        if "." in word.strip(".") and _INITIALS.match(word):
            return self.spelled(word)
        if tag == "IN" and _VERSUS.match(word):
            return self._look_up("versus", tag, None, context)
        rule = _FUNCTION_WORDS.get(word.lower())
        return rule(self, word, tag, context) if rule else None

    def _am(self, word: str, tag: str, context: Context) -> str | None:
        if tag.startswith("NN") and word.isupper():
            return self.spelled(word)
        return "ɐm" if context.vowel is not None and word == "am" else self._default("am")

    def _an(self, word: str, tag: str, context: Context) -> str | None:
        return self.spelled(word) if tag.startswith("NN") and word.isupper() else "ɐn"

    def _to(self, word: str, tag: str, context: Context) -> str | None:
        if word.isupper() and tag not in ("TO", "IN"):
            return None
        return self._default("to") if context.vowel is None else "tʊ" if context.vowel else "tə"

    def _in(self, word: str, tag: str, context: Context) -> str | None:
        if word.isupper() and tag == "NNP":
            return None
        return "ˈɪn" if context.vowel is None or tag != "IN" else "ɪn"

    def _the(self, word: str, tag: str, context: Context) -> str | None:
        if word.isupper() and tag != "DT":
            return None
        return "ði" if context.vowel else "ðə"

    def _used(self, word: str, tag: str, context: Context) -> str | None:
        used, habit = self._gold("used"), tag in ("VBD", "JJ") and context.to
        return used and (used.others.get("VBD") if habit else used.phonemes)

    def _default(self, word: str) -> str | None:
        entry = self._gold(word)
        return entry and entry.phonemes

    def _is_capitalised(self, word: str, tag: str, context: Context) -> bool:
        """Returns True if the word's capitals come from its place, and it is known without them."""
        lower = word.lower()
        if word == lower or len(word) < 2 or (tag == "NNP" and len(word) <= 7):
            return False
        if word[1:] not in (word[1:].lower(), word[1:].upper()) or not word.replace("'", "").isalpha():
            return False
        if self._gold(word) or self._silver(word):
            return False
        known = self._gold(lower) or self._silver(lower)
        return known is not None or self._inflected(lower, tag, None, context) is not None

    def _look_up(self, word: str, tag: str, stress: float | None, context: Context) -> str | None:
        entry, name = self._gold(word), False
        if entry is None and word == word.upper():
            word, name = word.lower(), tag == "NNP"
            entry = self._gold(word)
        if entry is None and not name:
            entry = self._silver(word)
        phonemes = entry and _chosen(entry, tag, context)
        if not phonemes or (name and PRIMARY not in phonemes):
            spelled = self.spelled(word)
            if spelled is not None:
                return spelled
        return restressed(phonemes, stress) if phonemes else None

    def _inflected(self, word: str, tag: str, stress: float | None, context: Context) -> str | None:
        """Returns the phonemes of a known stem with -s, -ed or -ing."""
        for pattern, ending, suffix in _STEMS:
            found = pattern.fullmatch(word)
            stem = found and found[1] + ending
            if not stem or not self.is_known(stem):
                continue
            # The verb of a capitalised -ing form is stressed as well.
            given = 0.5 if suffix is _Suffix.ING and stress is None else stress
            phonemes = self._look_up(stem, tag, given, context)
            if phonemes:
                return self._with_suffix(phonemes, suffix, stem)
        return None

    def possessive(self, phonemes: str) -> str:
        """Returns the phonemes of a word with 's after it."""
        return self._with_suffix(phonemes, _Suffix.S, "")

    def _with_suffix(self, phonemes: str, suffix: _Suffix, stem: str) -> str:
        last = phonemes[-1]
        if suffix is _Suffix.S:
            return phonemes + ("s" if last in "ptkfθ" else f"{self._weak}z" if last in "szʃʒʧʤ" else "z")
        flapped = not self._british and last == "t" and phonemes[-2:-1] in tuple(_BEFORE_FLAP)
        if suffix is _Suffix.ED and last not in "td":
            return phonemes + ("t" if last in "pkfθʃsʧ" else "d")
        if suffix is _Suffix.ING and self._british and stem.endswith(("r", "re")):
            phonemes += "ɹ"
        ending = f"{self._weak}d" if suffix is _Suffix.ED else "ɪŋ"
        return (phonemes[:-1] + "ɾ" if flapped else phonemes) + ending


_FUNCTION_WORDS: Mapping[str, Callable[[Pronunciation, str, str, Context], str | None]] = {
    "a": lambda _, word, tag, context: "ɐ" if tag == "DT" else "ˈA",
    "am": Pronunciation._am,
    "an": Pronunciation._an,
    "by": lambda _, word, tag, context: "bˈI" if _parent(tag) == "ADV" else None,
    "i": lambda _, word, tag, context: f"{SECONDARY}I" if word == "I" and tag == "PRP" else None,
    "in": Pronunciation._in,
    "the": Pronunciation._the,
    "to": Pronunciation._to,
    "used": Pronunciation._used,
}
"""Words whose phonemes depend on their tag and on what follows; None leaves one to the lexicon."""


def _other_case(word: str) -> str:
    """Returns the word with a capital if it has none, or without its capital if it has one alone."""
    lower = word.lower()
    if len(word) < 2 or word[1:] != lower[1:]:
        return ""
    return word.capitalize() if word == lower else lower


def _chosen(entry: Entry, tag: str, context: Context) -> str:
    """Returns the phonemes of an entry for a part of speech."""
    others = entry.others
    if not others:
        return entry.phonemes
    if context.vowel is None and "None" in others:
        return others["None"]
    return others.get(tag, others.get(_parent(tag), entry.phonemes))


def _parent(tag: str) -> str:
    return _PARENTS.get(tag[:2], tag)
