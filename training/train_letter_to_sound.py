"""Trains the network that spells words out, on misaki's lexicon, and writes it as 8-bit integers.

    python -m training.train_letter_to_sound us exporter/text/data/en-us.spelling.bin

A twentieth of the stems is held out, with all words of a stem, and measured at the end by the runtime's code.
"""

from __future__ import annotations

import argparse
import json
import re
import zlib
from collections import Counter
from collections.abc import Sequence
from importlib.util import find_spec
from itertools import chain
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import torch

from runtime_min.text.letter_to_sound import BEFORE, HISTORY, SPELLING, STRESSED, LetterToSound, letter_values

from .alignment import align, phonemes_of

FEATURES, WIDTH, HIDDEN = 40_000, 32, 128
EPOCHS = 8
DROPPED = 0.1
RATE, RATE_OF_LAYERS = 0.01, 0.003
BATCH = 2_048
RAREST = 20
SEED = 0
_ENDING = re.compile("(ing|edly|ed|ers|er|est|es|s|ly|ness|able|ment|ation|ion|or|al|ity|y|e)$")
_KEPT_BITS = 12

Words = list[tuple[str, str]]


class Network(torch.nn.Module):
    """What `LetterToSound` computes, in floating point."""

    def __init__(self, classes: int) -> None:
        super().__init__()
        self.embeddings = torch.nn.EmbeddingBag(FEATURES + 1, WIDTH, mode="sum", padding_idx=FEATURES)
        torch.nn.init.normal_(self.embeddings.weight, std=0.1)
        self.embeddings.weight.data[FEATURES] = 0
        self.layers = torch.nn.ModuleList([torch.nn.Linear(WIDTH, HIDDEN), torch.nn.Linear(HIDDEN, classes)])

    def forward(self, features: torch.Tensor) -> torch.Tensor:
        """Returns the scores of the classes, from the indices of the features."""
        hidden = self.layers[0](torch.relu(self.embeddings(features)))
        scores: torch.Tensor = self.layers[1](torch.relu(hidden))
        return scores


class Examples(NamedTuple):
    """The letters of words."""

    features: npt.NDArray[np.uint32]
    """Hashes, of shape (features, letters)."""
    labels: npt.NDArray[np.int64]


def lexicon(dialect: str) -> Words:
    """Returns the words of misaki's gold lexicon in lower case, with the pronunciation without a tag."""
    spec = find_spec("misaki")
    if spec is None or spec.origin is None:
        raise SystemExit("the lexicons are misaki's: pip install --no-deps misaki==0.9.4")
    file = Path(spec.origin).parent / "data" / f"{dialect}_gold.json"
    entries = json.loads(file.read_text(encoding="utf-8"))
    words = set()
    for word, entry in entries.items():
        phonemes = entry["DEFAULT"] if isinstance(entry, dict) else entry
        if phonemes and re.fullmatch("[A-Z]?[a-z]+('[a-z]+)?", word):
            words.add((word.lower(), phonemes))
    return sorted(words)


def stem(word: str) -> str:
    """Returns a word without up to two endings, of inflection or derivation."""
    word = word.partition("'")[0]
    for _ in range(2):
        shorter = _ENDING.sub("", word)
        word = shorter if len(shorter) >= 3 else word
    return re.sub(r"(.)\1$", r"\1", word)


def held_out(word: str) -> bool:
    """Returns whether a word is of the held-out twentieth."""
    return zlib.crc32(stem(word).encode()) % 20 == 0


def examples(words: Sequence[str], chunks: Sequence[list[str]], number: dict[str, int]) -> Examples:
    """Returns the features and the labels of the letters of words."""
    columns = []
    for word, spoken in zip(words, chunks, strict=True):
        values = letter_values(word)
        before = np.array([0, 0, 0, *(number[chunk] + 1 for chunk in spoken)], np.uint64)
        values[BEFORE] = [before[2:-1], before[1:-2], before[:-3]]
        stress = next((index for index, chunk in enumerate(spoken) if "ˈ" in chunk), len(spoken))
        values[STRESSED, stress + 1 :] = 1
        columns.append(values)
    values = np.concatenate(columns, 1)
    hashes = np.concatenate(
        [((part @ values) >> np.uint64(32)).astype(np.uint32) for part in (SPELLING, HISTORY)]
    )
    return Examples(hashes, np.array([number[chunk] for chunk in chain.from_iterable(chunks)]))


def known_features(hashes: npt.NDArray[np.uint32]) -> npt.NDArray[np.uint32]:
    """Returns the hashes of the most frequent features, ascending."""
    found, counts = np.unique(hashes, return_counts=True)
    return np.sort(found[np.argsort(-counts, kind="stable")[:FEATURES]])


def fit(features: npt.NDArray[np.int32], labels: npt.NDArray[np.int64], classes: int) -> Network:
    """Returns a network that minimises the cross entropy."""
    torch.manual_seed(SEED)
    network = Network(classes)
    optimiser = torch.optim.Adam(
        [
            {"params": network.embeddings.parameters(), "lr": RATE},
            {"params": network.layers.parameters(), "lr": RATE_OF_LAYERS},
        ],
        betas=(0.9, 0.99),
    )
    inputs, targets = torch.from_numpy(features), torch.from_numpy(labels)
    schedule = torch.optim.lr_scheduler.LinearLR(optimiser, 1.0, 0.0, EPOCHS * -(-len(targets) // BATCH))
    for epoch in range(EPOCHS):
        total = 0.0
        for batch in torch.randperm(len(targets)).split(BATCH):
            seen = inputs[batch]
            seen = seen.masked_fill(torch.rand(seen.shape) < DROPPED, FEATURES)
            loss = torch.nn.functional.cross_entropy(network(seen), targets[batch])
            optimiser.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            optimiser.step()
            schedule.step()
            total += loss.item() * len(batch)
        print(f"epoch {epoch + 1}: {total / len(targets):.4f}", flush=True)
    return network


def pack(network: Network, known: npt.NDArray[np.uint32], classes: Sequence[str]) -> bytes:
    """Returns the data of `LetterToSound`."""
    embeddings = network.embeddings.weight.detach().numpy()
    layers = [(layer.weight.detach().numpy().T, layer.bias.detach().numpy()) for layer in network.layers]
    steps = [_integers(weights) for weights in (embeddings, *(weights for weights, _ in layers))]
    scale = steps[0][1] * steps[1][1]
    biases = [np.rint(layers[0][1] * scale)]
    # A hidden unit of 1 keeps 12 bits.
    shift = max(0, int(np.log2(scale)) - _KEPT_BITS)
    units = scale / 2**shift * steps[2][1]
    biases.append(np.rint(layers[1][1] * units))
    counts = np.array([len(known), WIDTH, HIDDEN, len(classes), shift, round(units)], "<u4")
    names = np.array([name.encode() for name in classes], "S16")
    parts = [
        counts,
        names,
        known.astype("<u4"),
        *(bias.astype("<i4") for bias in biases),
        *(part for part, _ in steps),
    ]
    return b"".join(part.tobytes() for part in parts)


def _integers(weights: npt.NDArray[np.float32]) -> tuple[npt.NDArray[np.int8], float]:
    """Returns weights as integers and their scale; the largest of 100,000 are clipped."""
    scale = 127 / float(np.quantile(np.abs(weights), 0.99999))
    return np.clip(np.rint(weights * scale), -127, 127).astype(np.int8), scale


def distance(first: Sequence[str], second: Sequence[str]) -> int:
    """Returns the edit distance of two sequences."""
    row = list(range(len(second) + 1))
    for index, left in enumerate(first, 1):
        previous, row[0] = row[0], index
        for place, right in enumerate(second, 1):
            previous, row[place] = (
                row[place],
                min(row[place] + 1, row[place - 1] + 1, previous + (left != right)),
            )
    return row[-1]


def measure(model: LetterToSound, words: Words) -> None:
    """Prints the phoneme error rates and the share of words that are right."""
    plain = str.maketrans("", "", "ˈˌ")
    for name, table in (("without stress", plain), ("with stress", {})):
        pairs = [
            (phonemes_of(right.translate(table)), phonemes_of(model.phonemes(word).translate(table)))
            for word, right in words
        ]
        errors = sum(distance(right, given) for right, given in pairs) / sum(len(right) for right, _ in pairs)
        words_right = sum(right == given for right, given in pairs) / len(pairs)
        print(f"{name}: {errors:.2%} of phonemes wrong, {words_right:.1%} of words right")


def main() -> None:
    """Trains one dialect's network, writes it and prints its figures."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("dialect", choices=("us", "gb"))
    parser.add_argument("output", type=Path)
    arguments = parser.parse_args()
    words = lexicon(arguments.dialect)
    aligned = [(word, chunks) for (word, _), chunks in zip(words, align(words), strict=True) if chunks]
    counts = Counter(chain.from_iterable(chunks for _, chunks in aligned))
    classes = sorted(chunk for chunk, count in counts.items() if count >= RAREST)
    training = [
        (word, chunks) for word, chunks in aligned if not held_out(word) and set(classes).issuperset(chunks)
    ]
    test = [(word, phonemes) for word, phonemes in words if held_out(word)]
    print(f"{len(training)} words, {len(test)} held out, {len(classes)} classes", flush=True)
    number = {chunk: index for index, chunk in enumerate(classes)}
    data = examples([word for word, _ in training], [chunks for _, chunks in training], number)
    known = known_features(data.features)
    rows = np.minimum(np.searchsorted(known, data.features), len(known) - 1)
    features = np.where(known[rows] == data.features, rows, FEATURES).astype(np.int32).T.copy()
    arguments.output.write_bytes(pack(fit(features, data.labels, len(classes)), known, classes))
    measure(LetterToSound(arguments.output.read_bytes()), test)


if __name__ == "__main__":
    main()
