"""Packs UniDic's words for `runtime_min.text.japanese_dictionary`, and the words that misaki joins.

pip install unidic-lite==1.0.8 fugashi==1.5.2
python -m training.japanese_dictionary SENTENCES.txt ja_words.txt exporter/text/data/ja.dictionary.bin
"""

from __future__ import annotations

import argparse
import re
import unicodedata
import zlib
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from runtime_min.text import kana
from runtime_min.text.hashing import MULTIPLIER
from runtime_min.text.japanese_dictionary import (
    COST_BASE,
    COST_STEP,
    HEADER,
    MAGIC,
    MOST_ENTRIES,
    TABLE_BASE,
    TABLE_STEP,
)
from runtime_min.text.word_table import LONGEST
from training.unidic import Entry, read_entries, read_matrix

_LETTERS = re.compile("[ぁ-ゖァ-ヺーゝゞヽヾ一-鿿々〆〇]+")
_MARKS = "、。「」『』（）！？・…"
_NUMBER, _FOREIGN = "0", "A"
"""Characters that stand for a number and for a word of another language."""
_CLASSES = 768
_UNKNOWN_COST = 10_980
"""UniDic's cost of a katakana word."""
_DROPPED = {("本当", "ホント")}
"""Readings that would win because costs are rounded."""
_Costs = NDArray[np.float64]


class _Word(NamedTuple):
    """An entry with classes in place of UniDic's."""

    left: int
    right: int
    reading: str
    cost: int


def main() -> None:
    """Writes the dictionary."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument(
        "sentences", type=Path, help="some text, a sentence a line, whose connections count most"
    )
    parser.add_argument("joined", type=Path, help="misaki's ja_words.txt")
    parser.add_argument("output", type=Path)
    parser.add_argument("--classes", type=int, default=_CLASSES)
    options = parser.parse_args()
    folder = Path(import_module("unidic_lite").DICDIR)
    entries = _chosen(read_entries(folder / "sys.dic"), folder)
    matrix = read_matrix(folder / "matrix.bin").astype(np.float32)
    sentences = options.sentences.read_text("utf-8").splitlines()
    used = _used(sentences, entries)
    lefts, rights, table = _clustered(matrix, entries, used, options.classes)
    words = _merged(entries, lefts, rights, table)
    joined = [word for word in options.joined.read_text("utf-8").split() if 1 < len(word) <= LONGEST]
    edges = (int(rights[0]), int(lefts[0]))
    joined = [word for word in joined if _LETTERS.fullmatch(word)]
    options.output.write_bytes(_pack(words, table, edges, joined))
    print(f"{options.output.stat().st_size:,} bytes")


def _chosen(entries: Iterable[Entry], folder: Path) -> list[Entry]:
    """Returns the entries of letters and marks, and those of what stands for numbers and foreign words."""
    chosen = [
        each
        for each in entries
        if len(each.surface) <= LONGEST
        and (each.surface in _MARKS or (_LETTERS.fullmatch(each.surface) and _is_word(each)))
    ]
    unknown = {each.surface: each for each in read_entries(folder / "unk.dic")}
    counters = [each.right for each in chosen if "助数詞可能" in each.features]
    number = unknown["NUMERIC"]
    chosen += [
        Entry(_NUMBER, number.left, max(counters, key=counters.count), 0, ()),
        unknown["ALPHA"]._replace(surface=_FOREIGN, features=()),
    ]
    return chosen


def _is_word(entry: Entry) -> bool:
    """Returns True for what can be read, if need be letter by letter."""
    if (entry.surface, entry.reading) in _DROPPED:
        return False
    if entry.reading:
        return all(letter in kana.SOUNDS or letter == "ン" for letter in entry.reading)
    return len(entry.surface) == 1 and kana.phonemes(entry.surface) is not None


def _used(sentences: Sequence[str], entries: Sequence[Entry]) -> tuple[_Costs, _Costs]:
    """Returns how often MeCab takes each class of UniDic on the left and on the right."""
    tagger = import_module("fugashi").Tagger()
    known = defaultdict(list)
    for each in entries:
        known[each.surface, each.features[:2], each.reading].append(each)
    counts = np.zeros(6_000), np.zeros(6_000)
    for sentence in sentences:
        for word in tagger(unicodedata.normalize("NFKC", sentence)):
            parts = (word.feature.pos1, word.feature.pos2)
            same = known[word.surface, parts, word.feature.pron or ""]
            for each in same:
                counts[0][each.left] += 1 / len(same)
                counts[1][each.right] += 1 / len(same)
    return counts


def _clustered(
    matrix: NDArray[np.float32], entries: Sequence[Entry], used: tuple[_Costs, _Costs], classes: int
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Returns the class of each of UniDic's classes on the left and on the right, and the table of costs."""
    weights = []
    for counts, own in zip(
        used, ([each.left for each in entries], [each.right for each in entries]), strict=True
    ):
        weights.append(counts[: len(matrix)] + 0.002 * np.bincount(own, minlength=len(matrix)) + 0.01)
    left, right = weights
    lefts = _clusters(matrix, left, right, classes)
    rights = _clusters(matrix.T, right, left, classes)
    sums = np.zeros((classes, len(matrix)))
    np.add.at(sums, lefts, matrix * left[:, None])
    sums /= np.maximum(np.bincount(lefts, left, classes), 1e-9)[:, None]
    table = np.zeros((classes, classes))
    np.add.at(table, rights, (sums * right).T)
    table /= np.maximum(np.bincount(rights, right, classes), 1e-9)[:, None]
    return lefts, rights, np.round(table.T / TABLE_STEP).astype(np.int64)


def _clusters(rows: NDArray[np.float32], weights: _Costs, columns: _Costs, count: int) -> NDArray[np.int64]:
    """Returns the cluster of each row (k-means, of rows and columns by their weights)."""
    random = np.random.default_rng(0)
    scale = np.sqrt(np.minimum(columns, np.percentile(columns, 99.5))).astype(np.float32)
    projection = random.standard_normal((rows.shape[1], 256)).astype(np.float32) / 16
    points = (rows * scale) @ projection
    roots = np.sqrt(weights) / np.sqrt(weights).sum()
    centres = points[random.choice(len(points), count, False, roots)]
    for _ in range(14):
        clusters = ((centres**2).sum(1) - 2 * points @ centres.T).argmin(1)
        sums = np.zeros_like(centres)
        np.add.at(sums, clusters, points * weights[:, None].astype(np.float32))
        sizes = np.bincount(clusters, weights, count)
        centres = np.where(sizes[:, None] > 0, sums / np.maximum(sizes, 1e-9)[:, None], 0).astype(np.float32)
        empty = np.flatnonzero(sizes == 0)
        centres[empty] = points[random.choice(len(points), len(empty), True, roots)]
    return ((centres**2).sum(1) - 2 * points @ centres.T).argmin(1)


def _merged(
    entries: Sequence[Entry], lefts: NDArray[np.int64], rights: NDArray[np.int64], table: NDArray[np.int64]
) -> dict[str, list[_Word]]:
    """Returns the entries of each word without those that never win against another."""
    found: dict[str, dict[tuple[int, int, str], int]] = defaultdict(dict)
    for each in entries:
        own = "" if each.surface in _MARKS else each.reading
        reading = "" if own == each.surface.translate(kana._KATAKANA) else own
        key = int(lefts[each.left]), int(rights[each.right]), reading
        cost = max(0, min(255, round(each.cost / COST_STEP) + COST_BASE))
        found[each.surface][key] = min(cost, found[each.surface].get(key, 255))
    costs = table.astype(np.int32)
    before = np.array([(costs[each] - costs).max(1) for each in range(len(costs))], np.int32)
    after = np.array([(costs.T[each] - costs.T).max(1) for each in range(len(costs))], np.int32)
    steps = COST_STEP // TABLE_STEP
    words = {}
    for surface, own in found.items():
        rows = sorted((_Word(*key, cost) for key, cost in own.items()), key=lambda word: (word.cost, word))
        kept: list[_Word] = []
        for row in rows:
            if not any(
                before[other.left, row.left] + after[other.right, row.right]
                <= steps * (row.cost - other.cost)
                for other in kept
            ):
                kept.append(row)
        words[surface] = kept[:MOST_ENTRIES]
    return words


def _pack(
    words: Mapping[str, Sequence[_Word]],
    table: NDArray[np.int64],
    edges: tuple[int, int],
    joined: Iterable[str],
) -> bytes:
    """Returns the file's content."""
    hashes = {_hash(word): word for word in words}
    if len(hashes) < len(words):
        raise ValueError("Two words have one hash: change the multiplier.")
    keys = sorted(hashes)
    rows = [row for key in keys for row in words[hashes[key]]]
    uses = defaultdict(int)
    for row in rows:
        uses[row[:2]] += 1
    pairs = sorted(uses, key=lambda pair: (-uses[pair], pair))
    numbers = {pair: number for number, pair in enumerate(pairs)}
    readings = [kana.encoded(row.reading) for row in rows]
    stored = np.clip(table + TABLE_BASE, 0, 0xFFFF)
    joined_keys = sorted(map(_hash, set(joined)))
    content = [
        _gaps(keys), bytes(len(words[hashes[key]]) for key in keys),
        _planes([numbers[row[:2]] for row in rows], 2), bytes(row.cost for row in rows),
        bytes(map(len, readings)), b"".join(readings),
        _planes([left for left, _ in pairs], 2), _planes([right for _, right in pairs], 2),
        _planes(stored.ravel(), 2), _gaps(joined_keys),
    ]  # fmt: skip
    packer = zlib.compressobj(9, wbits=-zlib.MAX_WBITS)
    # Parts of one kind each get a Huffman code of their own.
    packed = [packer.compress(part) + packer.flush(zlib.Z_FULL_FLUSH) for part in content]
    print(*map(len, packed))
    unknown = numbers[words[_FOREIGN][0][:2]]
    header = HEADER.pack(
        MAGIC, len(keys), len(rows), sum(map(len, readings)), len(pairs), *table.shape, len(joined_keys),
        *edges, unknown, _UNKNOWN_COST,
    )  # fmt: skip
    return header + b"".join(packed) + packer.flush()


def _hash(word: str) -> int:
    state = 0
    for letter in word:
        state = (state + ord(letter)) * MULTIPLIER & (1 << 64) - 1
    return state >> 24


def _gaps(keys: Sequence[int]) -> bytes:
    numbers = np.array(keys, np.int64)
    return _planes(numbers - np.concatenate([[0], numbers[:-1]]), 4)


def _planes(numbers: NDArray[np.int64] | Sequence[int], count: int) -> bytes:
    """Returns the lowest bytes of all numbers, then the next ones."""
    own = np.asarray(numbers, np.int64)
    assert not (own >> 8 * count).any()
    return b"".join((own >> 8 * place & 255).astype("u1").tobytes() for place in range(count))


if __name__ == "__main__":
    main()
