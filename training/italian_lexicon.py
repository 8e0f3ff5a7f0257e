"""Lists the Italian words whose accents the rules misread, from Wiktionary.

    python -m training.italian_lexicon WIKIPRON.tsv PAGES FREQUENCIES.txt OUTPUT.txt

A word is listed if it is in the frequency list or in WikiPron, or the third person plural of a verb, and
Wiktionary has its accent or its lemma's.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Collection, Iterator, Mapping
from functools import cache
from pathlib import Path

import msgpack

from exporter.text.language_files import language_file
from runtime_min.text.rules import Rules

from .wiktionary_italian import (
    ACCENTED,
    PLAIN,
    WORD,
    nominal_forms,
    phonemes,
    reduced,
    respellings,
    verb_forms,
    verbs,
    voiced_as,
)

_NOUNS, _ADJECTIVES = {"a": "e", "o": "i", "e": "i"}, {"a": "io", "o": "ae"}
"""Endings of forms by that of the lemma; those of adjectives come after those of nouns."""
_FUNCTION_WORDS = frozenset("era eri ero nei nella nelle nello".split())
"""Wiktionary has the sound of other words that are spelled like them."""
_MISREAD = frozenset(("venticinque",))
"""WikiPron has a rare pronunciation of these alone (vinticinque)."""
_TITLE = """\
; Words that the rules would misread, in a spelling that they follow; README.md has their origin.
[respelled words: àèéìòóùż -> aeeioouz]"""
_ACCENTS = {"a": "à", "e": "èé", "i": "ì", "o": "òó", "u": "ù"}


@cache
def rules_alone() -> Rules:
    """Returns the Italian rules without the list."""
    data = msgpack.unpackb(language_file("it"))
    return Rules(msgpack.packb(data | {"respelled": ["", "", []]}))


def main() -> None:
    """Writes the list."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    for name in ("wikipron", "pages", "frequencies", "output"):
        parser.add_argument(name, type=Path)
    options = parser.parse_args()
    spoken = phonemes(options.wikipron)
    lines = options.frequencies.read_text(encoding="utf-8").splitlines()
    wanted = {word for line in lines if WORD.fullmatch(word := line.split()[0])} | spoken.keys()
    templates = verbs(options.pages)
    forms = (plain(form) for verb in templates.items() for form in verb_forms(*verb))
    # The rules take all others for adjectives in -ano.
    wanted |= {form for form in forms if form.endswith(("ano", "ono"))}
    known = with_forms(respellings(options.pages), templates, wanted)
    for word in wanted & spoken.keys() - known.keys():
        if marked := from_phonemes(word, spoken[word]):
            known[word] = marked
    # Many speakers voice every z at the beginning, and the rules do.
    voiced = {word: re.sub("^z", "ż", marked) for word, marked in sorted(known.items())}
    misread = {
        word: marked
        for word, marked in voiced.items()
        if word in wanted
        and word not in _FUNCTION_WORDS | _MISREAD
        and rules_alone().sounds(rules_alone().respelled(word)) != rules_alone().sounds(marked)
    }
    text = "\n".join(
        marked if plain(marked) == word else f"{word}={marked}" for word, marked in misread.items()
    )
    options.output.write_text(f"{_TITLE}\n{text}\n", encoding="utf-8")
    print(f"{len(known):,} words of Wiktionary, of which the rules misread {len(misread):,}")


def plain(marked: str) -> str:
    """Returns a word without its accent and dots."""
    return marked.translate(PLAIN).replace("ż", "z")


def with_forms(
    lemmas: Mapping[str, str], verbs: Mapping[str, str], wanted: Collection[str]
) -> dict[str, str]:
    """Returns accented words and the forms that follow from them; those of Wiktionary itself come first."""
    known = dict(lemmas)
    for endings in _NOUNS, _ADJECTIVES:
        for word, marked in lemmas.items():
            if plain(marked) == word:
                for form, accented_form in nominal_forms(word, marked, endings):
                    if form in wanted:
                        known.setdefault(form, accented_form)
    for verb, template in verbs.items():
        for form in verb_forms(verb, template):
            if plain(form) in wanted:
                known.setdefault(plain(form), voiced_as(form, lemmas, verb))
    return known


def from_phonemes(word: str, spoken: Collection[str]) -> str | None:
    """Returns a word with the only accent that fits its phonemes, or one where the rules have it."""
    possible = [marked for marked in _markings(word) if reduced(rules_alone().sounds(marked)) in spoken]
    by_rule = rules_alone().respelled(word)
    if by_rule in possible:
        return by_rule
    if len(possible) == 1:
        return possible[0]
    return next((marked for marked in possible if _place(marked) == _place(by_rule)), None)


def _markings(word: str) -> Iterator[str]:
    """Yields a word with every accent, and with z and ż."""
    for place, letter in enumerate(word):
        for accent in _ACCENTS.get(letter, ""):
            marked = word[:place] + accent + word[place + 1 :]
            yield marked
            if "z" in word:
                yield marked.replace("z", "ż")
                yield re.sub("^z", "ż", marked)


def _place(marked: str) -> int:
    return next((place for place, letter in enumerate(marked) if letter in ACCENTED), -1)


if __name__ == "__main__":
    main()
