"""Spanish text to phonemes by rule: sounds, stress and allophones as espeak-ng writes them.

"guerra" -> letters to sounds "geRa" -> stress "gˈeRa" -> in its clause "la ɣˈera"
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import islice

from ..speech.words import Word
from .clauses import Token, read_clauses
from .spanish_numbers import ABBREVIATIONS, in_letters

_ACUTE = "áéíóú"
_VOWEL = "aeiouáéíóú"
_PLAIN = str.maketrans(_ACUTE, "aeiou")
_SOUNDS = [
    (re.compile(pattern), sound)
    for pattern, sound in (
        ("ch", "ʧ"), ("^sh", "ʃ"), ("sh", "s"), ("ph", "f"), (rf"(?<![{_VOWEL}])h|h(?![{_VOWEL}])", ""),
        (r"^ps", "s"), (r"^x", "s"), ("(?<=m[eé])x(?=ic)", "j"), ("x", "ks"), ("ck", "k"), ("ll", "ʎ"),
        (r"rr|^r|(?<=[nls])r", "R"), ("zz", "ʦ"), (rf"([^{_VOWEL}lrR])\1$", r"\1"),
        ("qu(?=[eiéí])", "k"), ("q", "k"),
        ("g(?=[eiéí])", "x"), ("gu(?=[eiéí])", "g"), ("gü", "gU"), ("ü", "u"),
        ("c(?=[eiéí])|z", "θ"), ("c", "k"), ("j", "x"), ("v", "b"), ("ñ", "ɲ"),
        (rf"y(?=[{_VOWEL}])", "ʝ"), (rf"(?<=[{_VOWEL}])y$", "Y"), ("y", "i"),
    )
]  # fmt: skip
"""Applied in order. R is the trill, U the vowel of gü, Y that of a final y; h separates two vowels."""
_NUCLEUS = re.compile(
    r"(?P<glide>U|[iu](?=[aeoáéóíú]|(?<=i)u|(?<=u)i))?"
    r"(?P<vowel>[aeiouáéíóú])(?P<off>(?<=[aeoáéó])[iu](?![aeoáéóíú])|Y)?"
)
_DIPHTHONGS = {
    "ai": "I", "au": "W", "ei": "A", "eu": "eʊ", "oi": "oɪ", "ou": "ow", "ui": "uj", "iu": "iw", "ii": "ij",
}  # fmt: skip
_GLIDES = str.maketrans("iuU", "jwu")
# After these the first of two vowels is one of its own.
_OPEN_END = re.compile(r"[aeiou][ns]?$")
_SYLLABIC = re.compile(r"(?:[^aeiouáéíóúh][lr]|R)[iu]$|[lrʎ]u$|U$")
_CLOSED_BY_N = re.compile(rf"n[^{_VOWEL}]")
_UNHEARD = str.maketrans("U", "u", "h")
_ALLOPHONES = [
    (re.compile(pattern), sound)
    for pattern, sound in (
        ("n(?= ?[bp]| ?f[lr])", "m"), ("ng(?= |$)", "ŋ"), ("n(?= ?[gx])", "ŋ"),
        ("(?<=[aeiouɪʊ])pt", "pːt"),
        ("(?<![mn])(?<![mn] )(?<!^)b(?![tnbd]| [^aeiouˈˌ]|$)", "β"),
        ("(?<!n)(?<!n )(?<!^)d(?![mks]| [^aeiouˈˌ]|$)", "ð"),
        ("(?<![nŋ])(?<![nŋ] )(?<!^)g(?![mnd]| [^aeiouˈˌ]|$)", "ɣ"),
        ("g", "ɡ"), ("r", "ɾ"), ("R", "r"),
    )
]  # fmt: skip
_UNSTRESSED = frozenset(
    "a al con de del e el en la las le les lo los me mi mis nos o os por que quien se si sin su sus te tras "
    "tu tus u y".split()
)
_WEAKLY_STRESSED = frozenset(
    "aunque como cuando desde donde entre hacia hasta mientras nuestra nuestro para pero porque quienes "
    "según sobre".split()
)


def spanish(text: str) -> list[Word]:
    """Returns the words and marks of a Spanish text with their phonemes."""
    return read_clauses(text, _clause, ABBREVIATIONS)


def _clause(tokens: Sequence[Token]) -> Iterator[Word]:
    """Yields the words of a clause with their phonemes."""
    written = [in_letters(token.word).split() for token in tokens]
    words = [word for parts in written for word in parts]
    # The last word of a clause is stressed, whatever it is.
    clause = " ".join([*map(_in_clause, words[:-1]), *map(_stressed_word, words[-1:])])
    for pattern, sound in _ALLOPHONES:
        clause = pattern.sub(sound, clause)
    spoken = iter(clause.split(" "))
    for token, parts in zip(tokens, written, strict=True):
        yield Word(token.word, " ".join(islice(spoken, len(parts))), token.space)


@lru_cache(maxsize=4096)
def _in_clause(word: str) -> str:
    """Returns a word's syllables; within a clause some words have no stress."""
    if word in _UNSTRESSED:
        return _syllables(word, "", "")
    if word in _WEAKLY_STRESSED:
        return _syllables(word, "ˌ", "")
    return _stressed_word(word)


@lru_cache(maxsize=4096)
def _stressed_word(word: str) -> str:
    return _syllables(word, "ˈ", "ˌ") if word != "y" else "i"


def _syllables(word: str, primary: str, secondary: str) -> str:
    """Returns the sounds of a word with these marks before the vowels of stressed syllables."""
    if len(word) > 6 and word.endswith("mente"):
        return _syllables(word[:-5], primary, secondary) + "mˈente"
    sounds = word
    for pattern, sound in _SOUNDS:
        sounds = pattern.sub(sound, sounds)
    nuclei = list(_NUCLEUS.finditer(sounds))
    if not nuclei:
        return sounds
    stressed = _stressed(sounds, nuclei)
    # Every second syllable from the first on has secondary stress, but not the last one before the primary.
    last_secondary = stressed + _is_syllabic(sounds, nuclei[stressed]) - 2
    parts: list[str] = []
    end = 0
    for index, nucleus in enumerate(nuclei):
        vowel, off = nucleus["vowel"], (nucleus["off"] or "").replace("Y", "i")
        glide = nucleus["glide"] or ""
        if not _is_syllabic(sounds, nucleus):
            glide = glide.translate(_GLIDES)
        mark = ""
        if index == stressed or (index <= last_secondary and index % 2 == 0):
            mark = primary if index == stressed else secondary
        if vowel == "e" and mark == "ˈ" and not off and _CLOSED_BY_N.match(sounds, nucleus.end()):
            vowel = "ɛ"
        rhyme = _DIPHTHONGS.get(vowel + off, vowel.translate(_PLAIN) + off)
        parts += sounds[end : nucleus.start()], glide, mark, rhyme
        end = nucleus.end()
    return "".join([*parts, sounds[end:]]).translate(_UNHEARD)


def _is_syllabic(sounds: str, nucleus: re.Match[str]) -> bool:
    end = nucleus.end("glide")
    # A space stands for the beginning of the word.
    return end > 0 and bool(_SYLLABIC.search(" " * (end < 3) + sounds[max(0, end - 3) : end]))


def _stressed(sounds: str, nuclei: Sequence[re.Match[str]]) -> int:
    """Returns the index of the vowel with an accent, or else of the one that the word's end decides."""
    for index, nucleus in enumerate(nuclei):
        if nucleus["vowel"] in _ACUTE:
            return index
    last = len(nuclei) - 1
    return max(0, last - 1) if _OPEN_END.search(sounds) else last
