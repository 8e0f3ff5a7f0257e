"""Trains the tagger's weights by gradient descent on the cross entropy, and writes them in 4 bits each.

    python -m training.train_tagger --ewt EWT --gum GUM --output exporter/text/data/tagger.bin

Features are dropped at random, so that a word that is not in the treebanks is tagged by the others. The tags
that the second pass sees in training come from models that were trained without that sentence.
"""

from __future__ import annotations

import argparse
from itertools import chain, product
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import torch

from runtime_min.text import tagger
from runtime_min.text.tagger import OUTSIDE, REACH, TAG_OUTSIDE, Tagger

from . import treebanks
from .treebanks import Sentence

ROWS = 60_000
EPOCHS = 6
FOLDS = 4
DROPPED = 0.3
RATE = 0.03
BATCH = 4_096
SEED = 0
MOST_STEPS = 15
LARGEST_STEP = 17  # 15 of them are a byte.

Array = npt.NDArray[np.int64]


class Examples(NamedTuple):
    """Words of sentences one after the other, with REACH words outside between two sentences."""

    lower: npt.NDArray[np.uint64]
    words: Array
    """The positions of the sentences' words in `lower`."""
    sentences: Array
    """The sentence of each word."""
    rows: Array
    """The rows of the features of the first pass, of shape (words, features)."""
    labels: Array
    """The tags' numbers, -1 for a word without."""


def examples(sentences: list[Sentence], tags: list[str]) -> Examples:
    """Returns the features and labels of sentences."""
    outside = [(OUTSIDE, "")] * REACH
    words = [*chain.from_iterable([*outside, *sentence] for sentence in sentences), *outside]
    types: dict[str, int] = {}
    type_of = np.array([types.setdefault(word, len(types)) for word, _ in words])
    hashes = tagger.word_hashes(list(types))
    lower = hashes[:, 1][type_of]
    where = np.nonzero(type_of != types[OUTSIDE])[0]
    columns = [
        tagger.word_rows(hashes, distance, ROWS)[type_of[where + distance]]
        for distance in range(-REACH, REACH + 1)
    ]
    columns.append(tagger.pair_rows(lower, ROWS).T[where - REACH])
    number = {tag: index for index, tag in enumerate(tags)}
    labels = np.array([number.get(words[index][1], -1) for index in where])
    lengths = [len(sentence) for sentence in sentences]
    return Examples(
        lower, where, np.repeat(np.arange(len(lengths)), lengths), np.concatenate(columns, 1), labels
    )


def context(data: Examples, tags: Array) -> Array:
    """Returns the rows of the features of the second pass, of shape (words, features)."""
    around = np.full(len(data.lower), TAG_OUTSIDE, np.uint8)
    around[data.words] = tags
    return tagger.context_rows(data.lower, around, ROWS).T[data.words - REACH]


def fit(rows: Array, labels: Array, tags: int, epochs: int) -> npt.NDArray[np.float32]:
    """Returns weights of shape (ROWS, tags) that minimise the cross entropy."""
    generator = torch.Generator().manual_seed(SEED)
    model = torch.nn.EmbeddingBag(ROWS + 1, tags, mode="sum", padding_idx=ROWS)
    torch.nn.init.zeros_(model.weight)
    optimiser = torch.optim.Adam(model.parameters(), lr=RATE, betas=(0.9, 0.99))
    inputs, targets = torch.from_numpy(rows), torch.from_numpy(labels)
    labelled = torch.nonzero(targets >= 0)[:, 0]
    steps = epochs * -(-len(labelled) // BATCH)
    schedule = torch.optim.lr_scheduler.LinearLR(optimiser, 1.0, 0.0, steps)
    for _ in range(epochs):
        for batch in labelled[torch.randperm(len(labelled), generator=generator)].split(BATCH):
            features = inputs[batch]
            dropped = torch.rand(features.shape, generator=generator) < DROPPED
            loss = torch.nn.functional.cross_entropy(
                model(features.masked_fill(dropped, ROWS)), targets[batch]
            )
            optimiser.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            optimiser.step()
            schedule.step()
    return model.weight.detach()[:ROWS].numpy()


def scores(weights: npt.NDArray[np.float32], rows: Array) -> npt.NDArray[np.float32]:
    """Returns the scores of the tags, of shape (words, tags)."""
    return torch.nn.functional.embedding_bag(
        torch.from_numpy(rows), torch.from_numpy(weights), mode="sum"
    ).numpy()


def train(sentences: list[Sentence], tags: list[str]) -> npt.NDArray[np.float32]:
    """Returns the weights of both passes."""
    data = examples(sentences, tags)
    fold = data.sentences // 50 % FOLDS
    first = np.zeros(len(data.labels), np.int64)
    for held_out in range(FOLDS):
        others, here = fold != held_out, fold == held_out
        weights = fit(data.rows[others], data.labels[others], len(tags), EPOCHS // 2)
        first[here] = scores(weights, data.rows[here]).argmax(1)
    return fit(np.concatenate([data.rows, context(data, first)], 1), data.labels, len(tags), EPOCHS)


def pack(weights: npt.NDArray[np.float32], tags: list[str]) -> bytes:
    """Returns the tagger's data; the number of tags is even. The largest of 10,000 weights are clipped."""
    scale = 127 / np.quantile(np.abs(weights).max(1), 0.9995)
    sizes, steps = in_steps(np.clip(np.rint(weights * scale), -127, 127))
    names = np.array([tag.encode() for tag in tags], "S8")
    upper, lower = np.split(steps, 2, 1)
    counts = np.array(weights.shape, "<u4")
    return b"".join(part.tobytes() for part in (counts, names, sizes, upper << 4 | lower))


def in_steps(weights: npt.NDArray[np.float32]) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.uint8]]:
    """Returns the size of each row's steps and its weights in 0 to 15 of them, with the least square error.

    The steps begin anywhere, because what all weights of a row have in common decides for no tag.
    """
    lowest, highest = weights.min(1), weights.max(1)
    least = np.full(len(weights), np.inf)
    sizes, steps = np.zeros(len(weights), np.uint8), np.zeros(weights.shape, np.uint8)
    for size, place in product(range(1, LARGEST_STEP + 1), np.linspace(0, 1, 9)):
        origin = np.rint(lowest + (highest - lowest - MOST_STEPS * size) * place)[:, None]
        tried = np.clip(np.rint((weights - origin) / size), 0, MOST_STEPS)
        errors = ((tried * size + origin - weights) ** 2).sum(1)
        better = errors < least
        least[better], sizes[better], steps[better] = errors[better], size, tried[better]
    return sizes, steps


def accuracy(model: Tagger, sentences: list[Sentence]) -> float:
    """Returns the share of tagged words that the model gives their tag."""
    pairs = [
        (tag, given)
        for sentence in sentences
        for (_, tag), given in zip(sentence, model.tag([word for word, _ in sentence]), strict=True)
        if tag
    ]
    return sum(tag == given for tag, given in pairs) / len(pairs)


def main() -> None:
    """Trains, writes the weights and prints the accuracy on EWT's development and test parts."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--ewt", type=Path, required=True, help="UD_English-EWT")
    parser.add_argument("--gum", type=Path, help="UD_English-GUM")
    parser.add_argument("--masc", type=Path, help="masc_tagged, unpacked")
    parser.add_argument("--without-ewt", action="store_true", help="use EWT only to measure")
    parser.add_argument("--output", type=Path, required=True)
    arguments = parser.parse_args()
    sentences = [] if arguments.without_ewt else treebanks.ewt(arguments.ewt, "train")
    sentences += treebanks.gum(arguments.gum) if arguments.gum else []
    sentences += treebanks.masc(arguments.masc) if arguments.masc else []
    tags = sorted({tag for sentence in sentences for _, tag in sentence} - {""})
    print(f"{len(sentences)} sentences, {sum(map(len, sentences))} words, {len(tags)} tags", flush=True)
    arguments.output.write_bytes(pack(train(sentences, tags), tags))
    model = Tagger(arguments.output.read_bytes())
    for part in ("dev", "test"):
        print(f"{part}: {accuracy(model, treebanks.ewt(arguments.ewt, part)):.2%}")


if __name__ == "__main__":
    main()
