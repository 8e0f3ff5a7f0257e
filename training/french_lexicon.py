"""Lists the French words that the rules would misread, with their sounds in Lexique, or else in Wiktionary.

    python -m training.french_lexicon Lexique383.txt fra_latn_broad.tsv FREQUENT.txt OUTPUT.txt

Words that Lexique lacks, most of them names, are listed if they are frequent. The three write some sounds in
different ways; only words that differ beyond that are listed, in the sounds that the rules use.
"""

from __future__ import annotations

import argparse
import csv
import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path

import msgpack

from exporter.text.language_files import language_file
from runtime_min.text.rules import Rules

_TITLE = """\
; Words that the rules would misread, and their sounds; README.md has their origin.
[respelled words]"""
_SOUNDS = str.maketrans("OE°29@§51SZN8RGg", "ɔɛəøœÃÕẼŨʃʒɲyʁŋɡ")
"""The letters of Lexique that are others here; its ɥ is a y, as in espeak-ng."""
_WIKTIONARY = (
    (" ", ""), ("‿", ""), (".", ""), ("ː", ""), ("ˈ", ""), ("͡", ""), ("ɑ̃", "Ã"), ("ɛ̃", "Ẽ"), ("ɔ̃", "Õ"),
    ("œ̃", "Ũ"), ("ɑ", "a"), ("ɥ", "y"), ("r", "ʁ"), ("g", "ɡ"),
)  # fmt: skip
"""Sounds of Wiktionary that are others here."""
_FREQUENT = 60_000
"""Rank of the last word that is taken from Wiktionary."""
_CONSONANTS = "bdfklmnpʁstvzʃɡʒɲŋ"
_VOWELS = "aɛeioɔuyøœəÃẼÕŨ"
_LATENT = "ZTNPRSKV"
_ALIKE = (
    ("[ɛœɔː]", lambda found: {"ɛ": "e", "œ": "ø", "ɔ": "o"}.get(found[0], "")),
    ("ə", ""), ("ij", "i"), ("ɲ", "nj"), ("nji", "ni"), ("p(?=[st])", "b"), ("zm", "sm"), ("w", "u"),
    ("(.)\\1", "\\1"),
)  # fmt: skip
"""Sounds that Lexique and espeak-ng write in different ways."""


def main() -> None:
    """Writes the list."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    for name in ("lexique", "wikipron", "frequent", "output"):
        parser.add_argument(name, type=Path)
    options = parser.parse_args()
    spoken = {
        word: own for word, own in pronunciations(options.lexique).items() if word.isalpha() and len(word) > 1
    }
    frequent = {*options.frequent.read_text("utf-8").split()[:_FREQUENT]}
    data = msgpack.unpackb(language_file("fr-fr"))
    rules = Rules(msgpack.packb(data | {"respelled": ["", "", []]}))
    # Lexique has oe for œ.
    spoken |= {word.replace("oe", "œ"): own for word, own in spoken.items() if re.search("oe[uit]", word)}
    listed = {word: sounds for word, own in spoken.items() for sounds in misread(word, *own, rules)}
    for word, found in wiktionary(options.wikipron).items():
        every = [[*misread(word, sounds, False, rules)] for sounds in found]
        if word in frequent and word not in spoken and all(every):
            listed[word] = every[0][0]
    lines = [f"{word}={listed[word]}" for word in sorted(listed)]
    options.output.write_text("\n".join([_TITLE, *lines]) + "\n", "utf-8")
    print(f"{len(lines):,} of {len(spoken):,} words")


def pronunciations(path: Path) -> dict[str, tuple[str, bool]]:
    """Returns the most frequent pronunciation of each word in Lexique, and whether it is that of a verb."""
    counts: dict[str, Counter[tuple[str, bool]]] = defaultdict(Counter)
    with path.open(encoding="latin-1", newline="") as file:
        for row in csv.DictReader(file, delimiter="\t"):
            frequency = sum(float(row[key].replace(",", ".")) for key in ("9_freqfilms2", "10_freqlivres"))
            is_verb = row["4_cgram"] in ("VER", "AUX")
            word, sounds = row["1_ortho"], row["2_phon"].translate(_SOUNDS)
            if not re.search("eu|œ|eû|oe", word):
                sounds = sounds.replace("ø", "ə")
            if {*sounds} <= {*_VOWELS, *_CONSONANTS, *"jw"}:
                counts[word][sounds, is_verb] += frequency + 0.001
    return {word: own.most_common(1)[0][0] for word, own in counts.items()}


def wiktionary(path: Path) -> dict[str, list[str]]:
    """Returns the pronunciations of each word of three letters or more in WikiPron, in lower case."""
    spoken: dict[str, list[str]] = defaultdict(list)
    for line in path.read_text("utf-8").splitlines():
        written, sounds = unicodedata.normalize("NFD", line).split("\t")
        word = unicodedata.normalize("NFC", written.lower())
        for old, new in _WIKTIONARY:
            sounds = sounds.replace(old, new)
        if word.isalpha() and len(word) > 2 and {*sounds} <= {*_VOWELS, *_CONSONANTS, *"jw"}:
            spoken[word].append(sounds)
    return spoken


def misread(word: str, sounds: str, is_verb: bool, rules: Rules) -> Iterator[str]:
    """Yields the sounds of a word, with a consonant of liaison, if the rules say others."""
    ours = rules.respelled(word)
    if alike(ours.strip(_LATENT + "H")) != alike(sounds):
        yield ("H" if ours.startswith("H") else "") + as_espeak(sounds) + _liaison(word, sounds, is_verb)


def alike(sounds: str) -> str:
    """Returns sounds without what Lexique and espeak-ng write in different ways."""
    for pattern, by in _ALIKE:
        sounds = re.sub(pattern, by, sounds)
    return sounds


def as_espeak(sounds: str) -> str:
    """Returns the sounds of Lexique as espeak-ng writes them."""
    mute = f"(?<=[{_VOWELS}][{_CONSONANTS}])ə(?=[{_CONSONANTS}][{_VOWELS}jw])"
    sounds = re.sub(mute, "", sounds)
    sounds = re.sub("(?<=[bdfkptvɡ][ʁl]i)j", "", sounds)
    sounds = re.sub("ɲ(?!i|ə|$)", "nj", sounds)
    return sounds.replace("zm", "sm")


def _liaison(word: str, sounds: str, is_verb: bool) -> str:
    if word[-1] in "sxz" and sounds[-1] not in "sz":
        return "Z"
    return "T" if word.endswith("ent") and is_verb and sounds[-1] != "t" else ""


if __name__ == "__main__":
    main()
