"""Italian text to phonemes as espeak-ng writes them: by rule, and by the accents of irregular words.

"telefono" -> with its accent "telèfono" -> sounds "telˈɛfono" -> in its clause "il telˈɛfono"
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import islice

from ..errors import TextDataError
from ..speech.words import Word
from .clauses import Token, read_clauses
from .italian_numbers import ABBREVIATIONS, in_letters

_ACCENTED = "àèéìòóù"
_VOWEL = f"aeiou{_ACCENTED}"
_OPEN = str.maketrans("aeiou", "àèìòù")
_CLOSED = str.maketrans("aeiou", "àéìóù")
_PLAIN = str.maketrans("àèéìòóùż", "aeeioouz")
_ENDINGS = [
    (re.compile(f"(?:{pattern})$"), accents)
    for accents, pattern in (
        (_OPEN, r"([ae])ndo(?:l[oaie]|[smctv]i|ne|gli)|^(e)r(?:[aoi]|ano)"),
        (_CLOSED, r"([aei])r(?:[smtcv]e|glie)(?:ne|l[oaie])"),
        (_CLOSED, r"(e)vol(?:[ei]|mente)|m(e)nt[eoi]"),
        (
            _CLOSED,
            r"([aeiu])(?:vano|rono|vono)|([aeio])ssero|^[dn](e)(?:ll[aeo]|i)|^qu(e)ll[aeio]",
        ),
        (
            _OPEN,
            r"^(?:[sndhtfpv]|st)(o)|([aio])(?:tesi|lisi)|([aio])bil[ei]|(e)bbe(?:ro)?|(i)scono|(e)cnic[oa]",
        ),
        (_CLOSED, r"([aeiou])(?:(?:bbi|cci|gli|ss|ng|lg|sci)ano|scono)|^s(i)ano"),
        # -ico, -ologo, -issimo, -udine: the vowel before the ending.
        (_OPEN, r"([aeiou])(?:[tngfslrmpdb]|st|ttr)ic(?:[oai]|h[ei])|(a)ic(?:[oai]|h[ei])"),
        (_OPEN, r"([oi])(?:log|graf|metr|gen|fon|fag|fer|nim|ssid|drom)h?[oaie]|([iae])(?:ssim|sim)[oaie]"),
        (_OPEN, r"([aiou])col[oaie]|([aiuo])gin[ei]|(u)din[ei]|([aio])(?:b|v|g|mp|t)ol[oaie]|(o)rmul[oaie]"),
        (_OPEN, r"([aeiou])(?:n[gd]|rg|gg|lv|lg|mp|st)e(?:re|rs?i|rl[oaie])"),
        (_CLOSED, r"([aeiou])(?:tt|rr)e(?:re|rs?i|rl[oaie])"),
        (
            _OPEN,
            r"([iuo])(?:[dgmv]ere)|([aeiou])(?:ng|nd|gg|lg|rg|rr|ss|gli)ono|([aeiou])[^aeiou]+(?:[aiu]s|um)",
        ),
        (_OPEN, r"(?:log|raf|er|pat|m|rch|fon)(i)[ae]"),
        (_OPEN, r"(e)(?:[oaei]|n[dtzs][oaei]|(?:ll|r[bgnrstv]|st|mp|lt|[ml])[oaie])"),
        (_OPEN, r"(o)(?:rt|tt|ll|lt|lv|rd|rz|ss|pp|cc|[dbfptv])[oaie]|([oe])[rldpn]i[oae]|(o)gg?i[oa]"),
    )
]
"""Endings by which the accent of most words can be told, with the vowel that has it; the first one holds."""
_FALLING = re.compile("(?<![cgq])[iu][aeiou]$")
_NUCLEUS = re.compile("[aeo]|[iu](?![aeiou])")
_RISING = ("ie", "uo")
_VOICED_Z = re.compile(r"\bz|(?<=i)zz(?=a|er|o|i(?:a|no?$|$))")
_SOFT = "eièéì"
_HARD = "aouàòóùeèé"
_SOUNDS = [
    (re.compile(pattern), sound)
    for pattern, sound in (
        ("c'(?=[eièéì])", "ʧ"), ("gl'", "ʎ"), ("ch?'", "k"), ("d'", "d"),
        ("ph", "f"), ("sh", "ʃ"), ("th", "t"), ("ck", "k"), ("x", "ks"), ("j", "ʤ"),
        (rf"(?<=[{_VOWEL}])y(?=[{_VOWEL}])", "j"), ("y", "i"),
        (rf"gli(?=[{_VOWEL}])|(?<=[{_VOWEL}])gl(?=[iì])(?!i[cfg])", "ʎ"),
        (rf"(?<=[{_ACCENTED}])gn(?=[aeiou]$)", "ɲɲ"), ("gn", "ɲ"),
        (rf"sci(?=[{_HARD}])|sc(?=[{_SOFT}])", "ʃ"),
        ("ch", "k"), ("gh", "G"), ("cqu", "kkw"), ("qu", "kw"), ("q", "k"), (rf"gu(?=[{_VOWEL}])", "Gw"),
        (rf"cci(?=[{_HARD}])|cc(?=[{_SOFT}])", "ʧʧ"), (rf"ggi(?=[{_HARD}])|gg(?=[{_SOFT}])", "ʤʤ"),
        (rf"ci(?=[{_HARD}])|c(?=[{_SOFT}])", "ʧ"), (rf"gi(?=[{_HARD}])|g(?=[{_SOFT}])", "ʤ"),
        ("c", "k"), ("g", "G"), ("h", ""),
        (rf"(?<!s)s(?=[bdGvmnlrʤ])|(?<=[{_VOWEL}])s(?=[{_VOWEL}])", "Z"),
        ("z", "ʦ"), ("ż", "ʣ"), ("Z", "z"), ("G", "ɡ"), ("n(?=ɡ)", "ŋ"),
        ("(?<=ìss)ero$", "eɾo"), ("ss", "S"), ("rr", "rɾ"), (r"([pbtdkɡʧʤʦʣ])\1", r"\1ː"),
        ("(?<=[aà])r(?=[aà](?!i$))|(?<=[aeiou])r(?=[àò]$)", "ɾ"),
        ("(?<=r)ài$", "àːɪ"), ("([àa])i$", r"\1j"), (rf"([aà])i(?=[^{_VOWEL}'])", r"\1Y"),
        # i and u before a vowel
        (rf"\bu(?=[{_VOWEL}])", "w"), (rf"\bi(?=[{_VOWEL}])", "j"),
        ("(?<=..)i(?=èr[eaio]|ènte$)|(?<=ʦ)i(?=ó|onàl)|(?<=z)i(?=[oó])", "I"),
        (rf"(?:(?<=[lrɾou])|(?<=[nv]v))i(?=[{_VOWEL}])|(?<=[^{_VOWEL}])i(?=[oa]$)", "I"),
        ("(?<=[àèéìù])i(?=[oa])|(?<=[òó])i(?=a)", "I"),
        (rf"i(?=[{_VOWEL}])", "j"), ("I", "i"),
        (rf"(?<=[^{_VOWEL}'])i$", "ɪ"), ("u", "ʊ"), ("'", ""),
    )
]  # fmt: skip
"""Applied in order. Z is the voiced s, G the g of "gatto", I a vowel before another one, aY a diphthong."""
_STRESSED = str.maketrans(_ACCENTED, "aɛeiɔou")
_WEAKLY = str.maketrans(_ACCENTED, "aɛeiɔoʊ")
_IRREGULAR = {
    "non": "non", "gli": "ʎɪ", "dei": "dˌA", "quei": "kwˈA", "cui": "kˈuj", "sì": "sˈiː",
}  # fmt: skip
"""Phonemes of words that espeak-ng speaks alike everywhere."""
_LENGTHENED = frozenset("a e è il in o u".split())
"""Words with a long vowel where they are stressed."""
_UNSTRESSED = frozenset(
    "a ad ai al c c'è ce che chi ci col con d da dai dal de dei del di e ed fra fu gli ha hai ho i il in "
    "l la le li lo ma mai me mi ne nel non o per più quel se si su sul te ti tra tu un ve vi è".split()
)
_WEAKLY_STRESSED = frozenset(
    "abbiamo abbiate agli alcun alcuna alcune alcuni alla alle allo anche avessero avessimo avete aveva "
    "avevi avevo avrà avranno avrebbe avrei avremo avrete avrò cioè come contro dagli dalla dalle dallo "
    "degli della delle dello ebbe egli era eri ero essa esse essi esso fossero fossi fossimo furono hanno "
    "lei loro lui mentre mia mie miei mio neanche nessun nessuna nessuno noi nostra nostre nostri nostro "
    "ogni oltre perché pure quegli quella quelle questa queste questi questo sarà saranno sarebbe "
    "sarebbero sarei saremo sarete sarò sei senza sia siamo siate siete sono sua sue sugli sui sulla "
    "sulle sullo suo suoi tua tue tuo tuoi una verso vostra vostre vostri vostro vuol vuole".split()
)


def read_accents(data: bytes) -> dict[str, str]:
    """Returns the words of a bundle that the rules would misread, for `italian`.

    Args:
        data: a line for each word: the word with its accent, or ``word=how it would be spelled``.

    Raises:
        TextDataError: it is not text.
    """
    try:
        pairs = [line.partition("=")[::2] for line in data.decode().split()]
    except UnicodeDecodeError as failure:
        raise TextDataError("the accents", failure) from None
    return {word.translate(_PLAIN): respelled or word for word, respelled in pairs}


def italian(text: str, accents: Mapping[str, str] | None = None) -> list[Word]:
    """Returns the words and marks of an Italian text with their phonemes.

    Args:
        text: the text.
        accents: words that the rules would misread, each with the accent that it has in a dictionary:
            ``telèfono``, and ż where z is voiced; or how it would be spelled in Italian.
    """
    exceptions = accents or {}

    def clause(tokens: Sequence[Token]) -> Iterator[Word]:
        written = [in_letters(token.word).split() for token in tokens]
        words = [word for parts in written for word in parts]
        marks = [_mark(word) for word in words]
        # The last word of a clause is stressed, whatever it is.
        marks[-1:] = ["ˈ" for _ in marks[-1:]]
        spoken = (_spoken(word, mark, exceptions) for word, mark in zip(words, marks, strict=True))
        for token, parts in zip(tokens, written, strict=True):
            yield Word(token.word, " ".join(islice(spoken, len(parts))), token.space)

    return read_clauses(text, clause, ABBREVIATIONS)


def _mark(word: str) -> str:
    """Returns the mark of a word's stress within a clause."""
    return "" if word in _UNSTRESSED else "ˌ" if word in _WEAKLY_STRESSED else "ˈ"


def _spoken(word: str, mark: str, exceptions: Mapping[str, str]) -> str:
    phonemes = _IRREGULAR.get(word) or sounds(accented(word, exceptions), mark)
    return re.sub("(ˈ.)", r"\1ː", phonemes) if word in _LENGTHENED else phonemes


def accented(word: str, exceptions: Mapping[str, str]) -> str:
    """Returns a word in lower-case letters with its accent, and ż where z is voiced."""
    if word in exceptions:
        return exceptions[word]
    elided, apostrophe, rest = word.rpartition("'")
    if apostrophe:
        return elided + apostrophe + accented(rest, exceptions)
    return _by_rule(word)


@lru_cache(maxsize=4096)
def _by_rule(word: str) -> str:
    voiced = _VOICED_Z.sub(lambda found: "ż" * len(found[0]), word)
    place = _accent(word)
    if place is None or any(letter in _ACCENTED for letter in word):
        return voiced
    return voiced[: place[0]] + place[1] + voiced[place[0] + 1 :]


def _accent(word: str) -> tuple[int, str] | None:
    """Returns the place of a word's accent and the vowel with it: by its ending, or on the last but one."""
    for ending, accents in _ENDINGS:
        if found := ending.search(word):
            place = found.start(found.lastindex or 0)
            return place, word[place].translate(accents)
    nuclei = [found.start() for found in _NUCLEUS.finditer(word)]
    if len(nuclei) == 1 and _FALLING.search(word):
        return len(word) - 2, word[-2].translate(_OPEN)
    if not nuclei:
        return None
    place = nuclei[-2] if len(nuclei) > 1 and word[-1] in "aeiou" else nuclei[-1]
    return place, word[place].translate(_OPEN if word[: place + 1].endswith(_RISING) else _CLOSED)


@lru_cache(maxsize=4096)
def sounds(word: str, mark: str) -> str:
    """Returns the phonemes of a word with its accent.

    Args:
        word: the word.
        mark: the mark of its stress: ``ˈ``, ``ˌ``, or nothing.
    """
    if not mark:
        word = word.translate(_PLAIN)
    for pattern, sound in _SOUNDS:
        word = pattern.sub(sound, word)
    vowels = _STRESSED if mark == "ˈ" else _WEAKLY
    stressed = re.sub(f"[{_ACCENTED}]", lambda vowel: mark + vowel[0].translate(vowels), word)
    return stressed.replace("aY", "I")
