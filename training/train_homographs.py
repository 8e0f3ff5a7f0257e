"""Trains the weights that tell the pronunciations of homographs apart, on labelled sentences of Wikipedia.

    python -m training.train_homographs WikipediaHomographData exporter/text/data/homographs.bin

Those of `homograph_sentences.tsv`, which were written by hand, are trained on too. Every fifth sentence by
its hash is held out and measured first; the weights are then trained on all.
"""

from __future__ import annotations

import argparse
import csv
import json
import re
from collections import defaultdict
from importlib.util import find_spec
from itertools import permutations
from pathlib import Path
from typing import NamedTuple
from zlib import crc32

import numpy as np
import numpy.typing as npt
import torch

from exporter.text.lexicon_file import added_words
from runtime_min.text.homographs import Homographs, features
from runtime_min.text.tagger import Tagger
from runtime_min.text.tokens import tokenise

from .train_letter_to_sound import distance

WEIGHTS = 1 << 18
EPOCHS = 30
RATE = 0.02
DECAY = 3e-5
SEED = 0
MOST_FEATURES = 64
_LEXICON_LETTERS = {
    "eɪ": "A", "oʊ": "O", "aɪ": "I", "aʊ": "W", "ɔɪ": "Y", "ɚ": "əɹ", "ː": "", "'": "ˈ", "0": "", "1": "",
}  # fmt: skip
_BY_HAND = Path(__file__).with_name("homograph_sentences.tsv")
_TAGGER = Path(__file__).parents[1] / "exporter/text/data/tagger.bin"


class Word(NamedTuple):
    """A homograph."""

    positive: str
    negative: str
    shared: bool


class Example(NamedTuple):
    """A homograph in a sentence."""

    word: str
    words: list[str]
    tags: list[str]
    index: int
    key: str
    held_out: bool


def keys_of(pronunciations: dict[str, str], entry: dict[str, str]) -> dict[str, str]:
    """Returns the key of an entry for each label, nearest by pronunciation; none if they do not differ."""
    keys: dict[str, str] = {}
    for key in sorted(entry, key=lambda key: (key != "DEFAULT", key)):
        if entry[key] and key != "None":
            keys.setdefault(entry[key], key)
    if len(keys) < 2 or len(pronunciations) < 2:
        return {}
    sounds = {label: in_lexicon_letters(text) for label, text in pronunciations.items()}
    best = min(
        permutations(keys, len(sounds)),
        key=lambda choice: sum(map(distance, sounds.values(), choice)),
        default=(),
    )
    return {label: keys[phonemes] for label, phonemes in zip(sounds, best, strict=False)}


def in_lexicon_letters(pronunciation: str) -> str:
    """Returns a pronunciation of the labelled sentences in the letters of the lexicon."""
    for old, new in _LEXICON_LETTERS.items():
        pronunciation = pronunciation.replace(old, new)
    # The stress stands before the vowel, not before the syllable.
    return re.sub("([ˈˌ])([^AIOWYæɑɔəɛɜɪʊʌiu]*)", r"\2\1", pronunciation)


def read(root: Path, tagger: Tagger) -> tuple[dict[str, Word], list[Example]]:
    """Returns the words that the American lexicon tells apart, and their sentences."""
    gold = _entries()
    labels: defaultdict[str, dict[str, str]] = defaultdict(dict)
    for row in rows_of(next(root.rglob("wordids.tsv"))):
        labels[row["homograph"]][row["wordid"]] = row["pronunciation"]
    words, examples = {}, []
    for word, pronunciations in sorted(labels.items()):
        keys = keys_of(pronunciations, gold.get(word) or gold.get(word.capitalize(), {}))
        if not keys:
            continue
        verbs = {
            key for label, key in keys.items() if re.search("_(vrb|past)|^(affect|isolate|transform)$", label)
        }
        positive = min(verbs) if len(verbs) == 1 else min(keys.values())
        negative = next(key for key in keys.values() if key != positive)
        words[word] = Word(positive, negative, len(verbs) == 1 and word not in {"read", "wound"})
        for row in rows_of(next(root.rglob(f"train/{word}.tsv"))):
            if row["wordid"] in keys:
                examples.append(_example(word, row, keys[row["wordid"]], tagger))
    return _with_sentences_by_hand(words, examples, gold, tagger)


def _entries() -> dict[str, dict[str, str]]:
    """Returns the words of the American lexicon with several pronunciations, by their keys."""
    spec = find_spec("misaki")
    if spec is None or spec.origin is None:
        raise SystemExit("the lexicon is misaki's: pip install --no-deps misaki==0.9.4")
    gold = json.loads((Path(spec.origin).parent / "data/us_gold.json").read_text(encoding="utf-8"))
    entries = {word: entry for word, entry in gold.items() if isinstance(entry, dict)}
    for word, text in added_words("en-us").items():
        default, *others = text.split("|")
        if others:
            pairs = (other.partition(":") for other in others)
            entries[word] = {"DEFAULT": default, **{key: phonemes for key, _, phonemes in pairs}}
    return entries


def _with_sentences_by_hand(
    words: dict[str, Word], examples: list[Example], gold: dict[str, dict[str, str]], tagger: Tagger
) -> tuple[dict[str, Word], list[Example]]:
    """Returns words and sentences with those that were written by hand."""
    for line in _BY_HAND.read_text("utf-8").splitlines():
        word, key, sentence = line.split("\t")
        known = words.setdefault(word, Word("VERB", "DEFAULT", shared=True))
        entry = gold[word]
        # Several keys may have the same phonemes.
        key = known.positive if entry[key] == entry.get(known.positive, entry["DEFAULT"]) else known.negative
        start = re.search(rf"(?i)\b{word}\b", sentence)
        assert start is not None, line
        row = {"sentence": sentence, "start": str(start.start())}
        examples.append(_example(word, row, key, tagger))
    return words, examples


def rows_of(file: Path) -> list[dict[str, str]]:
    """Returns the rows of a table."""
    with file.open(encoding="utf-8", newline="") as lines:
        return list(csv.DictReader(lines, delimiter="\t"))


def _example(word: str, row: dict[str, str], key: str, tagger: Tagger) -> Example:
    sentence = row["sentence"]
    start = len(sentence.encode()[: int(row["start"])].decode())
    tokens = tokenise(sentence.replace("’", "'"))
    words = [token.text for token in tokens]
    index = max(index for index, token in enumerate(tokens) if token.start <= start)
    return Example(word, words, tagger.tag(words), index, key, crc32(sentence.encode()) % 5 == 0)


def fit(words: dict[str, Word], examples: list[Example]) -> npt.NDArray[np.int8]:
    """Returns weights that minimise the logistic loss."""
    torch.manual_seed(SEED)
    targets = torch.tensor([float(example.key == words[example.word].positive) for example in examples])
    inputs = torch.full((len(examples), MOST_FEATURES), WEIGHTS)
    for number, example in enumerate(examples):
        found = features(example.word, example.words, example.tags, example.index, words[example.word].shared)
        hashed = [crc32(feature.encode("utf-8", "surrogatepass")) % WEIGHTS for feature in found]
        inputs[number, : len(hashed)] = torch.tensor(hashed)
    model = torch.nn.EmbeddingBag(WEIGHTS + 1, 1, mode="sum", padding_idx=WEIGHTS)
    torch.nn.init.zeros_(model.weight)
    optimiser = torch.optim.Adam(model.parameters(), lr=RATE)
    for _ in range(EPOCHS):
        for batch in torch.randperm(len(targets)).split(512):
            scores = model(inputs[batch])[:, 0]
            loss = torch.nn.functional.binary_cross_entropy_with_logits(scores, targets[batch])
            loss = loss + DECAY * (model.weight**2).sum()
            optimiser.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            optimiser.step()
    result = model.weight.detach()[:WEIGHTS, 0].numpy()
    return np.clip(np.rint(result * 127 / np.quantile(np.abs(result), 0.99999)), -127, 127).astype(np.int8)


def pack(words: dict[str, Word], weights: npt.NDArray[np.int8]) -> bytes:
    """Returns the data of `Homographs`."""
    lines = [
        f"{text} {word.positive} {word.negative} {'shared' if word.shared else 'own'}"
        for text, word in sorted(words.items())
    ]
    return "\n".join(lines).encode() + b"\n\n" + weights.tobytes()


def measure(model: Homographs, examples: list[Example]) -> None:
    """Prints the shares of sentences that are right."""
    right: defaultdict[str, list[bool]] = defaultdict(list)
    for example in examples:
        right[example.word].append(model.choose(example.words, example.tags, example.index) == example.key)
    shares = {word: sum(results) / len(results) for word, results in right.items()}
    total = sum(map(sum, right.values())) / sum(map(len, right.values()))
    average = sum(shares.values()) / len(shares)
    print(f"{total:.2%} of sentences, {average:.2%} averaged over {len(shares)} words")
    print(
        "worst:",
        ", ".join(f"{word} {shares[word]:.0%}" for word in sorted(shares, key=shares.__getitem__)[:15]),
    )


def main() -> None:
    """Measures on the held-out sentences, then trains on all and writes the weights."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("root", type=Path, help="WikipediaHomographData")
    parser.add_argument("output", type=Path)
    arguments = parser.parse_args()
    words, examples = read(arguments.root, Tagger(_TAGGER.read_bytes()))
    held_out = [example for example in examples if example.held_out]
    print(f"{len(words)} words, {len(examples)} sentences, {len(held_out)} held out", flush=True)
    training = [example for example in examples if not example.held_out]
    measure(Homographs(pack(words, fit(words, training))), held_out)
    arguments.output.write_bytes(pack(words, fit(words, examples)))


if __name__ == "__main__":
    main()
