"""Trains the network that spells words out, on misaki's lexicons, and writes it as 8-bit integers.

    python -m training.train_letter_to_sound exporter/text/data/spelling.bin

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
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import torch

from runtime_min.text.letter_to_sound import (
    AROUND,
    BEFORE,
    HISTORY,
    MAGIC,
    NAME_BYTES,
    SPELLING,
    STRESSED,
    WORD_DIVISOR,
    LetterToSound,
    letter_values,
    neighbours,
)

from .alignment import align, phonemes_of

FEATURES, WIDTH, HIDDEN = 40_000, 32, 256
EPOCHS = 6
DROPPED, DROPPED_HIDDEN = 0.25, 0.2
RATE, RATE_OF_LAYERS = 0.01, 0.003
BATCH = 256
RAREST = 20
LARGEST, LARGEST_OF_EMBEDDINGS = 127, 40
SEED = 0
DIALECTS = ("us", "gb")
_ENDING = re.compile("(ing|edly|ed|ers|er|est|es|s|ly|ness|able|ment|ation|ion|or|al|ity|y|e)$")
_KEPT_BITS = 12
_UNUSED = -(2**30)

Words = list[tuple[str, str]]


class AlignedWord(NamedTuple):
    """A word of a lexicon."""

    letters: str
    chunks: list[str]
    """The phonemes of each letter."""
    british: bool


class Examples(NamedTuple):
    """The letters of words, one word after the other."""

    features: torch.Tensor
    """Indices of the features, of shape (letters, features)."""
    labels: torch.Tensor
    lengths: torch.Tensor
    """The number of letters of each word."""


class Network(torch.nn.Module):
    """The network of `LetterToSound` in floating point."""

    def __init__(self, classes: int) -> None:
        super().__init__()
        self.embeddings = torch.nn.EmbeddingBag(FEATURES + 1, WIDTH, mode="sum", padding_idx=FEATURES)
        torch.nn.init.normal_(self.embeddings.weight, std=0.1)
        self.embeddings.weight.data[FEATURES] = 0
        self.layers = torch.nn.ModuleList(
            [
                torch.nn.Linear((len(AROUND) + 2) * WIDTH, HIDDEN),
                torch.nn.Linear(HIDDEN, classes),
            ]
        )

    def forward(self, features: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
        """Returns the scores of the classes for the letters of words."""
        spelling = self.embeddings(features[:, : len(SPELLING)])
        here = torch.relu(spelling + self.embeddings(features[:, len(SPELLING) :]))
        padded = torch.nn.functional.pad(torch.relu(spelling), (0, 0, 0, 1))
        around = padded[torch.from_numpy(neighbours(lengths.numpy()))].flatten(1)
        numbers = torch.arange(len(lengths)).repeat_interleave(lengths)
        words = torch.zeros(len(lengths), WIDTH).index_add(0, numbers, padded[:-1]) / WORD_DIVISOR
        hidden = self.layers[0](torch.cat([here, around, words[numbers]], 1))
        kept = torch.nn.functional.dropout(torch.relu(hidden), DROPPED_HIDDEN, self.training)
        scores: torch.Tensor = self.layers[1](kept)
        return scores


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


def aligned_words(dialect: str) -> list[AlignedWord]:
    """Returns the words of a dialect that are not held out."""
    words = lexicon(dialect)
    return [
        AlignedWord(word, spoken, dialect == "gb")
        for (word, _), spoken in zip(words, align(words), strict=True)
        if spoken and not held_out(word)
    ]


def hashes_of(word: AlignedWord, number: dict[str, int]) -> npt.NDArray[np.uint32]:
    """Returns the hashes of a word's features, of shape (features, letters)."""
    values = letter_values(word.letters, word.british)
    before = np.array([0, 0, 0, *(number[chunk] + 1 for chunk in word.chunks)], np.uint64)
    values[BEFORE] = [before[2:-1], before[1:-2], before[:-3]]
    stress = next((index for index, chunk in enumerate(word.chunks) if "ˈ" in chunk), len(word.chunks))
    values[STRESSED, stress + 1 :] = 1
    return np.concatenate([part @ values >> np.uint64(32) for part in (SPELLING, HISTORY)]).astype(np.uint32)


def known_features(hashes: npt.NDArray[np.uint32]) -> npt.NDArray[np.uint32]:
    """Returns the hashes of the most frequent features, ascending."""
    found, counts = zip(*(np.unique(row, return_counts=True) for row in hashes), strict=True)
    frequent = np.argsort(-np.concatenate(counts), kind="stable")[:FEATURES]
    return np.sort(np.concatenate(found)[frequent])


def examples(words: Sequence[AlignedWord], number: dict[str, int]) -> tuple[Examples, npt.NDArray[np.uint32]]:
    """Returns the examples, and the hashes of the features that are kept."""
    hashes = np.concatenate([hashes_of(word, number) for word in words], 1)
    lengths = [len(word.letters) for word in words]
    known = known_features(hashes)
    for row in hashes:
        places = np.minimum(np.searchsorted(known, row), FEATURES - 1)
        row[:] = np.where(known[places] == row, places, FEATURES)
    labels = [number[chunk] for word in words for chunk in word.chunks]
    features = torch.from_numpy(hashes.view(np.int32).T.copy())
    return Examples(features, torch.tensor(labels), torch.tensor(lengths)), known


def fit(data: Examples, classes: int) -> Network:
    """Returns a network that minimises the cross entropy."""
    torch.manual_seed(SEED)
    network = Network(classes)
    optimiser = torch.optim.Adam(
        [
            {"params": network.embeddings.parameters(), "lr": RATE},
            {"params": network.layers.parameters(), "lr": RATE_OF_LAYERS},
        ],
        betas=(0.9, 0.99),
        fused=True,
    )
    steps = EPOCHS * -(-len(data.lengths) // BATCH)
    schedule = torch.optim.lr_scheduler.LinearLR(optimiser, 1.0, 0.0, steps)
    firsts = data.lengths.cumsum(0) - data.lengths
    for epoch in range(EPOCHS):
        total = 0.0
        for batch in torch.randperm(len(data.lengths)).split(BATCH):
            lengths = data.lengths[batch]
            starts = firsts[batch] - (lengths.cumsum(0) - lengths)
            rows = starts.repeat_interleave(lengths) + torch.arange(int(lengths.sum()))
            seen = data.features[rows]
            seen = seen.masked_fill(torch.rand(seen.shape) < DROPPED, FEATURES)
            loss = torch.nn.functional.cross_entropy(network(seen, lengths), data.labels[rows])
            optimiser.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            optimiser.step()
            schedule.step()
            total += loss.item() * len(rows)
        print(f"epoch {epoch + 1}: {total / len(data.labels):.4f}", flush=True)
    return network


def pack(
    network: Network, known: npt.NDArray[np.uint32], classes: Sequence[str], used: npt.NDArray[np.bool_]
) -> bytes:
    """Returns the data of `LetterToSound`; `used` tells which dialect has which class."""
    embeddings = network.embeddings.weight.detach().numpy()
    layers = [(layer.weight.detach().numpy().T, layer.bias.detach().numpy()) for layer in network.layers]
    steps = [
        _integers(embeddings, LARGEST_OF_EMBEDDINGS),
        *(_integers(weights, LARGEST) for weights, _ in layers),
    ]
    scale = steps[0][1] * steps[1][1]
    # A hidden unit of 1 keeps 12 bits.
    shift = max(0, int(np.log2(scale)) - _KEPT_BITS)
    units = scale / 2**shift * steps[2][1]
    parts = [
        np.array([len(known), WIDTH, HIDDEN, len(classes), shift, round(units)], "<u4"),
        np.array([name.encode() for name in classes], f"S{NAME_BYTES}"),
        np.diff(known, prepend=np.uint32(0)).astype("<u4"),
        np.rint(layers[0][1] * scale).astype("<i4"),
        np.where(used, np.rint(layers[1][1] * units), _UNUSED).astype("<i4"),
        *(part for part, _ in steps),
    ]
    return MAGIC + zlib.compress(b"".join(part.tobytes() for part in parts), 9)


def _integers(weights: npt.NDArray[np.float32], largest: int) -> tuple[npt.NDArray[np.int8], float]:
    """Returns weights as integers up to `largest`, and their scale; the largest of 100,000 are clipped."""
    scale = largest / float(np.quantile(np.abs(weights), 0.99999))
    return np.clip(np.rint(weights * scale), -largest, largest).astype(np.int8), scale


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


def measure(model: LetterToSound, words: Words, british: bool) -> None:
    """Prints the phoneme error rates and the share of words that are right."""
    plain = str.maketrans("", "", "ˈˌ")
    for name, table in (("without stress", plain), ("with stress", {})):
        pairs = [
            (phonemes_of(right.translate(table)), phonemes_of(model.phonemes(word, british).translate(table)))
            for word, right in words
        ]
        errors = sum(distance(right, given) for right, given in pairs) / sum(len(right) for right, _ in pairs)
        words_right = sum(right == given for right, given in pairs) / len(pairs)
        print(f"{name}: {errors:.2%} of phonemes wrong, {words_right:.1%} of words right")


def main() -> None:
    """Trains the network, writes it and prints its figures."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("output", type=Path)
    arguments = parser.parse_args()
    aligned = [word for dialect in DIALECTS for word in aligned_words(dialect)]
    counts = Counter((word.british, chunk) for word in aligned for chunk in word.chunks)
    frequent = {key for key, count in counts.items() if count >= RAREST}
    classes = sorted({chunk for _, chunk in frequent})
    used = np.array([[(british, name) in frequent for name in classes] for british in (False, True)])
    words = [word for word in aligned if all((word.british, chunk) in frequent for chunk in word.chunks)]
    print(f"{len(words)} words, {len(classes)} classes", flush=True)
    data, known = examples(words, {chunk: index for index, chunk in enumerate(classes)})
    arguments.output.write_bytes(pack(fit(data, len(classes)), known, classes, used))
    model = LetterToSound(arguments.output.read_bytes())
    for dialect in DIALECTS:
        test = [(word, phonemes) for word, phonemes in lexicon(dialect) if held_out(word)]
        print(f"{dialect}: {len(test)} held-out words")
        measure(model, test, dialect == "gb")


if __name__ == "__main__":
    main()
