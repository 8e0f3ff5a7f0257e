"""Lists the Portuguese words whose stressed e or o is open although the spelling does not show it.

    python -m training.portuguese_lexicon BRAZIL.tsv PORTUGAL.tsv OUTPUT.txt

A word is listed if most of its pronunciations in Wiktionary agree: those of Brazil, or those of Portugal
where there is none. Portugal's differ before m and n alone. Plurals that Wiktionary lacks are as their
singular.
"""

from __future__ import annotations

import argparse
import re
from collections import defaultdict
from pathlib import Path

import msgpack

from exporter.text.language_files import language_file
from runtime_min.text.rules import Rules

_TITLE = """\
; Words with an open e or o that the spelling does not show; README.md has their origin.
[respelled words: éó -> eo]"""
_OPEN = {"e": "ɛ", "o": "ɔ"}
_MARKED = {"e": "é", "o": "ó"}


def main() -> None:
    """Writes the list."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    for name in ("brazil", "portugal", "output"):
        parser.add_argument(name, type=Path)
    options = parser.parse_args()
    brazil, portugal = pronunciations(options.brazil), pronunciations(options.portugal)
    alike = {word: all_of for word, all_of in portugal.items() if not re.search("[eo][mn]", word)}
    singular = {**alike, **brazil}
    plural = {f"{word}s": own for word, own in singular.items() if word.endswith(("a", "e", "o"))}
    spoken = {**plural, **singular}
    data = msgpack.unpackb(language_file("pt-br"))
    rules = Rules(msgpack.packb(data | {"respelled": ["", "", []]}))
    lines = [
        marked if marked.translate(str.maketrans("éó", "eo")) == word else f"{word}={marked}"
        for word in sorted(spoken)
        if word.islower() and (marked := with_open_vowel(word, spoken[word], rules))
    ]
    options.output.write_text("\n".join([_TITLE, *lines]) + "\n", "utf-8")
    print(f"{len(lines):,} of {len(spoken):,} words")


def pronunciations(path: Path) -> dict[str, list[str]]:
    """Returns the pronunciations of words in a file of WikiPron."""
    spoken: dict[str, list[str]] = defaultdict(list)
    for line in path.read_text("utf-8").splitlines():
        word, phonemes = line.split("\t")
        spoken[word].append(phonemes)
    return spoken


def with_open_vowel(word: str, spoken: list[str], rules: Rules) -> str | None:
    """Returns a word with an accent on its stressed vowel if that is open and the rules say a closed one."""
    respelled = rules.respelled(word)
    ours = rules.sounds(respelled)
    found = re.search("ˈ([eo])", ours)
    if not found:
        return None
    vowel = found[1]
    votes = sum(re.findall("[ɛɔ]", each) == [_OPEN[vowel]] for each in spoken)
    if 2 * votes <= len(spoken):
        return None
    wanted = ours.replace(f"ˈ{vowel}", f"ˈ{_OPEN[vowel]}")
    for place, letter in enumerate(respelled):
        if letter == vowel:
            marked = respelled[:place] + _MARKED[vowel] + respelled[place + 1 :]
            if rules.sounds(marked) == wanted:
                return marked
    return None


if __name__ == "__main__":
    main()
