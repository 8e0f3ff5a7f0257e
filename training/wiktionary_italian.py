"""Reads the accents of Italian words from Wiktionary: phonemes without stress, respellings, and verbs."""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path

ACCENTED = "àèéìòóù"
PLAIN = str.maketrans(ACCENTED, "aeeioou")
WORD = re.compile("[a-z]+")
_RESPELLING = re.compile(r"^#*Page \d+ ([^:\n]+): <respelling> (?:(?:all|top|\d+): )?([^<\n]*)", re.M)
_MENTIONED = re.compile(r"^#*Page \d+ ([^:\n]+): .*?\{\{it-(?:IPA|pr)\|([^<\n|}]*)", re.M)
_PAGE = re.compile(r"^#?Page \d+ ([^:\n]+): -------- begin")
_TEMPLATE = re.compile(r"\{\{it-(?:IPA|pr)\|([^}|<]*)")
_VERB = re.compile(r"\{\{it-verb\|([^}|]*)")
_Z = (("tts", "z"), ("ddz", "ż"), ("ts", "z"), ("dz", "ż"), ("zz", "z"), ("z", "z"), ("s", "z"))
_IPA = {
    "t͡ʃ": "ʧ",
    "d͡ʒ": "ʤ",
    "t͡s": "ʦ",
    "d͡z": "ʣ",
    "i̯": "i",
    "u̯": "u",
    "j": "i",
    "w": "u",
    "ŋ": "n",
    "ɱ": "m",
}


def phonemes(wikipron: Path) -> dict[str, list[str]]:
    """Returns the pronunciations of each word in lower-case letters, reduced as by `reduced`."""
    found: dict[str, list[str]] = defaultdict(list)
    for line in wikipron.read_text(encoding="utf-8").splitlines():
        word, _, spoken = line.partition("\t")
        if WORD.fullmatch(word):
            for letter, plain in _IPA.items():
                spoken = spoken.replace(letter, plain)
            found[word].append(reduced(spoken.replace(" ", "").replace("tʧ", "ʧʧ").replace("dʤ", "ʤʤ")))
    return found


def reduced(spoken: str) -> str:
    """Removes what the spelling already determines: stress, glides, doubled ts and dz, voiced s."""
    spoken = re.sub(r"(.)ː", r"\1\1", spoken.replace("ˈ", "").replace("S", "ss"))
    spoken = spoken.translate(str.maketrans("ʊɪɾjwŋz", "uiriuns"))
    return re.sub(r"t(?=ʦ)|d(?=ʣ)|([ʦʣɲʃʎ])(?=\1)", "", spoken)


def pages(folder: Path) -> Iterator[str]:
    """Yields the text of each file of extracts from Wiktionary's pages, the lists of whole words first."""
    for path in sorted(
        folder.rglob("*"), key=lambda path: ("snarf" not in path.name, "participle" in path.name, path)
    ):
        if path.is_file():
            yield path.read_text(encoding="utf-8", errors="replace")


def respellings(folder: Path) -> dict[str, str]:
    """Returns the first respelling of each word, with the accent of its primary stress."""
    found: dict[str, str] = {}
    for pattern in (_RESPELLING, _MENTIONED):
        for text in pages(folder):
            for match in pattern.finditer(text):
                _add(found, match[1], match[2])
    for text in pages(folder):
        page = ""
        for line in text.splitlines():
            page = match[1] if (match := _PAGE.match(line)) else page
            for template in _TEMPLATE.findall(line):
                _add(found, page, template)
    return found


def verbs(folder: Path) -> dict[str, str]:
    """Returns the argument of each verb's template: its auxiliary and principal parts."""
    found: dict[str, str] = {}
    for text in pages(folder):
        page = ""
        for line in text.splitlines():
            page = match[1] if (match := _PAGE.match(line)) else page
            if page and (match := _VERB.search(line)) and WORD.fullmatch(page):
                found[page] = match[1]
    return found


def _add(found: dict[str, str], word: str, respelling: str) -> None:
    if word not in found and WORD.fullmatch(word) and (marked := _primary(respelling)):
        part = marked.translate(PLAIN)
        # Some pages give the accented part of the word alone.
        whole = word.replace(part, marked) if word.count(part) == 1 else marked
        found[word] = aligned(word, whole) or whole


def _primary(respelling: str) -> str | None:
    """Returns a respelling with the last of its accents alone, which is the primary one."""
    first = re.split(r"[ ,<#]", respelling.strip())[0]
    # Dots below or above mark secondary stress.
    letters = re.sub("[\u0307\u0323\u0331.*_\\[\\]-]", "", unicodedata.normalize("NFD", first))
    marked = unicodedata.normalize("NFC", letters).replace("í", "ì").replace("ú", "ù")
    places = [place for place, letter in enumerate(marked) if letter in ACCENTED]
    if not places or not re.fullmatch(f"[a-z{ACCENTED}]+", marked):
        return None
    return marked[: places[-1]].translate(PLAIN) + marked[places[-1] :]


def aligned(word: str, respelling: str) -> str | None:
    """Returns a word with the accent of its respelling, and ż for dz; None if it has other letters.

    >>> aligned("zanzara", "dzandzàra")
    'żanżàra'
    """
    marked, place = "", 0
    while len(marked) < len(word):
        letter = word[len(marked)]
        if letter == "z":
            width = 2 if word[len(marked) :].startswith("zz") else 1
            found = next((pair for pair in _Z if respelling.startswith(pair[0], place)), None)
            if found is None:
                return None
            marked, place = marked + found[1] * width, place + len(found[0])
        elif respelling[place : place + 1].translate(PLAIN) == letter:
            marked, place = marked + respelling[place], place + 1
        else:
            return None
    return marked if place == len(respelling) else None


def with_vowel(stem: str, vowel: str) -> str | None:
    """Returns a verb's stem with its accent, given as in Wiktionary's template: ``ò``, ``è+`` or ``ì-``.

    The vowel is one of the last two; + and - tell the last from the one before it where both are alike.
    """
    places = [place for place, letter in enumerate(stem) if letter in "aeiou"][-2:]
    places = [place for place in places if stem[place] == vowel[0].translate(PLAIN)]
    if not places:
        return None
    place = places[0] if vowel.endswith("-") else places[-1]
    return stem[:place] + vowel[0] + stem[place + 1 :]


def verb_forms(verb: str, template: str) -> Iterator[str]:
    """Yields the forms of a verb whose accent its spelling does not tell, with it; participles first."""
    infinitive = verb[:-2] + "e" if verb.endswith("rsi") else verb
    if not re.fullmatch("[a-z]+[aei]re", infinitive):
        return
    conjugation, stem = infinitive[-3], infinitive[:-3]
    principal = template.split(".")[0]
    separator = re.search(r"[/\\]", principal)
    rest = principal[separator.end() :] if separator else principal
    parts = [re.split(r"[:\[<^#!]", part)[0] for part in re.split(r"[,\\]", rest)]
    for participle in [stem + {"a": "àt", "e": "ùt", "i": "ìt"}[conjugation], *_participles(parts)]:
        yield from (participle + ending for ending in "oaie")
    if len(parts) > 1 and re.fullmatch(f"[a-z]+[{ACCENTED}][a-z]*i", parts[1]):
        yield from (parts[1][:-1] + ending for ending in ("i", "e", "ero"))
    if parts[0] == "+isc":
        yield from (stem + ending for ending in ("ìsco", "ìsci", "ìsce", "ìscono", "ìsca", "ìscano"))
    elif re.fullmatch(f"[{ACCENTED}][+-]*", parts[0]) and (marked := with_vowel(stem, parts[0])):
        yield from _present(marked, conjugation)
        if separator and separator[0] == "\\":
            yield marked + "ere"
            yield from (
                f"{marked}er{clitic}"
                for clitic in ("lo", "la", "li", "le", "si", "ci", "mi", "ti", "vi", "ne")
            )


def _participles(parts: list[str]) -> Iterator[str]:
    if len(parts) > 2 and re.fullmatch(f"[a-z]+[{ACCENTED}][a-z]*o", parts[2]):
        yield parts[2][:-1]


def _present(stem: str, conjugation: str) -> Iterator[str]:
    if conjugation != "a":
        yield from (stem + ending for ending in ("o", "i", "e", "ono", "a", "ano"))
        return
    yield from (stem + ending for ending in ("o", "a", "ano", "ami", "alo", "aci"))
    before_i = stem + "h" if stem[-1] in "cg" else stem.removesuffix("i")
    yield from (before_i + ending for ending in ("i", "ino"))


def nominal_forms(word: str, marked: str, endings: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Yields other forms of a noun or adjective, which keep its accent.

    Args:
        word: the word.
        marked: the word with its accent.
        endings: the endings of its forms by its own ending.
    """
    if marked[-1] in ACCENTED or word[-1] not in endings:
        return
    stem, accented = word[:-1], marked[:-1]
    stems = [(stem, accented)]
    if stem[-1:] in ("c", "g"):
        stems.append((stem + "h", accented + "h"))
    if stem.endswith("i") and accented.endswith("i"):
        stems.append((stem[:-1], accented[:-1]))
    for each, stressed in stems:
        yield from ((each + ending, stressed + ending) for ending in endings[word[-1]])
    if word.endswith("e"):
        yield stem, accented


def voiced_as(form: str, lemma: Mapping[str, str], word: str) -> str:
    """Returns a verb's form with ż where its infinitive has it."""
    letters = iter(letter for letter in lemma.get(word, "") if letter in "zż")
    return re.sub("z", lambda _: next(letters, "z"), form)
