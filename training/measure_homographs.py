"""Measures the homographs of labelled sentences through the whole American front end.

    python -m training.measure_homographs WikipediaHomographData/data --part eval

A word is right if its label is the one whose pronunciation is the nearest to what the front end says, or one
of the nearest.
"""

from __future__ import annotations

import argparse
from collections import Counter, defaultdict
from pathlib import Path

from runtime_min.text.english import English
from tests.support.english_text import whole_english
from training.train_homographs import in_lexicon_letters, rows_of
from training.train_letter_to_sound import distance


def main() -> None:
    """Prints the shares."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("root", type=Path, help="the folder with wordids.tsv")
    parser.add_argument("--part", choices=("eval", "train"), default="eval")
    parser.add_argument("--words", nargs="+", help="only these, with each sentence that is wrong")
    options = parser.parse_args()
    sounds: defaultdict[str, dict[str, str]] = defaultdict(dict)
    for row in rows_of(options.root / "wordids.tsv"):
        sounds[row["homograph"]][row["wordid"]] = in_lexicon_letters(row["pronunciation"])
    right: defaultdict[str, list[bool]] = defaultdict(list)
    english = whole_english()
    for file in sorted((options.root / options.part).glob("*.tsv")):
        if options.words and file.stem not in options.words:
            continue
        for row in rows_of(file):
            said = said_at(english, row["sentence"], int(row["start"]))
            labels = nearest(said, sounds[row["homograph"]])
            right[row["homograph"]].append(row["wordid"] in labels)
            if options.words and row["wordid"] not in labels:
                print(row["wordid"], said, row["sentence"], sep="\t")
    shares = {word: sum(found) / len(found) for word, found in right.items()}
    sentences, total = sum(map(len, right.values())), sum(map(sum, right.values()))
    average = sum(shares.values()) / len(shares)
    print(f"{total:,} of {sentences:,} sentences, {total / sentences:.2%} right")
    print(f"averaged over {len(shares)} words: {average:.2%}")
    worst = Counter({word: len(found) - sum(found) for word, found in right.items()})
    print("most wrong:", ", ".join(f"{word} {count}" for word, count in worst.most_common(40)))


def said_at(english: English, sentence: str, start: int) -> str:
    """Returns the phonemes of the word at a place, which is counted in bytes."""
    place = len(sentence.encode()[:start].decode())
    position, said = 0, ""
    for word in english(sentence):
        if position <= place:
            said = word.phonemes or ""
        position += len(word.text) + len(word.whitespace)
    return said


def nearest(said: str, sounds: dict[str, str]) -> list[str]:
    """Returns the labels with the pronunciation that is the nearest to what was said."""
    distances = {label: distance(said, sound) for label, sound in sounds.items()}
    least = min(distances.values())
    return [label for label, found in distances.items() if found == least]


if __name__ == "__main__":
    main()
