"""Readings of Chinese characters that have several, by a small network in integers.

The network is g2pM's (Kyubyong Park and Seanie Lee, 2020): a bidirectional LSTM over the characters, and two
layers for the character to be read. Its weights have 8 bits, its states are integers, and sigmoid and tanh
are tables: sums and products are exact, so that all machines find the same readings.
`bundles/FORMAT.md` describes the file.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import TextDataError

Exact = NDArray[np.float64]
"""Integers in float64, whose products and sums are exact."""

MAGIC = b"KPY1"
HEADER = struct.Struct("<4s5I")
"""`MAGIC`; the numbers of characters, of their readings together and of phonemes; half the length of the
tables of the gates; the bits that the hidden units are shifted by."""
WIDTH, STATES, HIDDEN = 64, 32, 32
"""Numbers of an embedding, of a state in each direction and of the hidden units."""
GATES = 4 * STATES
UNKNOWN, BEGIN, END = range(3)
"""Rows of the embeddings before those of the characters."""
MARKERS = 3
UNIT = 12
"""Bits of the unit of gates and cells."""
INPUT_SHIFT, STATE_SHIFT, CELL_SHIFT = 5, 6, 6
"""Bits by which the inputs of gates, the products of states and the cells are shifted."""
CELLS = 512
"""Half the length of the tables of the cells' tanh."""
PIECE = 64
"""Characters of a long text that the network sees together."""
_MOST = 1 << 16
_TABLES = (0, 0, 1, 0)
"""Tables of the gates: sigmoid (0) of input, forget and output, tanh (1) of what comes in."""


class Polyphones:
    """The characters with several readings, and the network that decides between them."""

    def __init__(self, data: bytes) -> None:
        """Takes the file's content.

        Raises:
            TextDataError: it is not such a file.
        """
        try:
            magic, characters, readings, phonemes, self._half, self._shift = HEADER.unpack_from(data)
            if magic != MAGIC or max(characters, readings, phonemes, self._half) > _MOST:
                raise ValueError("its header is not as expected")
            if not characters or not readings or not phonemes or not self._half or self._shift > 31:
                raise ValueError("its header is not as expected")
            content = _Content(data[HEADER.size :])
            gaps = content.take("<u2", characters).astype(np.int64)
            codes = np.cumsum(gaps)
            counts = content.take("u1", characters).astype(np.int64)
            own = content.take("<u2", readings).astype(np.int64)
            self._embeddings = content.exact("i1", MARKERS + characters, WIDTH)
            self._input = content.exact("i1", 2, GATES, WIDTH).transpose(0, 2, 1)
            recurrent = content.exact("i1", 2, GATES, STATES).transpose(0, 2, 1)
            bias = content.exact("<i4", 2 * GATES)
            # The tables of a direction: sigmoid and tanh of the gates, tanh of the cells.
            gates = content.exact("<i2", 2, 2, 2 * self._half)
            self._cells = content.exact("<i2", 2 * 2 * CELLS)
            self._hidden = content.exact("i1", HIDDEN, 2 * STATES), content.exact("<i4", HIDDEN)
            self._scores = content.exact("i1", readings, HIDDEN), content.exact("<i4", readings)
            self._phonemes = content.names(phonemes)
            if not gaps.all() or codes[-1] >= _MOST:
                raise ValueError("its characters are not in order")
            if counts.sum() != readings or own.max() >= phonemes or np.abs(gates).max() > 1 << UNIT:
                raise ValueError("its parts do not fit")
        except (struct.error, zlib.error, ValueError) as failure:
            raise TextDataError("the network of the Chinese dictionary", failure) from None
        self._rows = {chr(code): row for row, code in enumerate(codes.tolist(), MARKERS)}
        starts = (np.cumsum(counts) - counts).tolist()
        self._readings = {
            character: (start, own[start : start + count].tolist())
            for character, start, count in zip(self._rows, starts, counts.tolist(), strict=True)
            if count
        }
        scale = 1 << STATE_SHIFT
        self._input, self._bias = self._input * scale, bias * scale
        self._recurrent = np.zeros((2 * STATES, 2 * GATES))
        for side in range(2):
            own_gates = slice(GATES * side, GATES * (side + 1))
            self._recurrent[STATES * side : STATES * (side + 1), own_gates] = recurrent[side]
        self._gates = gates[:, _TABLES].reshape(-1)
        self._gate_starts = np.repeat(np.arange(8), STATES) * 2.0 * self._half + self._half
        self._cell_starts = np.arange(2)[:, None] * 2.0 * CELLS + CELLS

    def phonemes(self, text: str, places: Sequence[int]) -> Mapping[int, str]:
        """Returns the phonemes of characters that have several readings.

        Args:
            text: a run of Chinese characters.
            places: places of characters in it; those of characters with one reading are left out.
        """
        wanted = [place for place in places if text[place] in self._readings]
        if not wanted:
            return {}
        whole = len(text) // PIECE * PIECE
        states = [
            self._states(np.array([self._row(each) for each in part]).reshape(-1, size))
            for part, size in ((text[:whole], PIECE), (text[whole:], len(text) - whole))
            if part
        ]
        seen = np.concatenate(states)[wanted]
        hidden = np.maximum(seen @ self._hidden[0].T + self._hidden[1], 0)
        hidden = np.floor(hidden * 0.5**self._shift)
        return {
            place: self._phonemes[self._likeliest(text[place], hidden[row])]
            for row, place in enumerate(wanted)
        }

    def _row(self, character: str) -> int:
        return self._rows.get(character, UNKNOWN)

    def _likeliest(self, character: str, hidden: Exact) -> int:
        start, own = self._readings[character]
        end = start + len(own)
        scores = self._scores[0][start:end] @ hidden + self._scores[1][start:end]
        number: int = own[int(scores.argmax())]
        return number

    def _states(self, rows: NDArray[np.int64]) -> Exact:
        """Returns the states in both directions of the characters of pieces, [characters, 2 * STATES]."""
        count, length = rows.shape
        begin, end = np.full((count, 1), BEGIN), np.full((count, 1), END)
        forward = np.concatenate([begin, rows, end], 1).T
        sides = [
            self._embeddings[each] @ own
            for each, own in zip((forward, forward[::-1]), self._input, strict=True)
        ]
        # [step, piece, direction and gate]
        inputs = np.concatenate(sides, 2) + self._bias
        state = np.zeros((count, 2 * STATES))
        cell = np.zeros((count, 2, STATES))
        found = np.empty((length + 2, count, 2 * STATES))
        for step, own in enumerate(inputs):
            # One division and one rounding down for both shifts give the same, because inputs are integers.
            summed = np.floor((own + state @ self._recurrent) * 0.5 ** (INPUT_SHIFT + STATE_SHIFT))
            np.minimum(np.maximum(summed, -self._half, out=summed), self._half - 1, out=summed)
            places = (summed + self._gate_starts).astype(np.intp)
            taken, kept, fresh, out = self._gates[places].reshape(count, 2, 4, STATES).transpose(2, 0, 1, 3)
            cell = np.floor((kept * cell + taken * fresh) * 0.5**UNIT)
            summed = np.floor(cell * 0.5**CELL_SHIFT)
            np.minimum(np.maximum(summed, -CELLS, out=summed), CELLS - 1, out=summed)
            bent = self._cells[(summed + self._cell_starts).astype(np.intp)]
            state = np.floor(out * bent * 0.5**UNIT).reshape(count, 2 * STATES)
            found[step] = state
        seen = np.concatenate([found[1:-1, :, :STATES], found[-2:0:-1, :, STATES:]], 2)
        return seen.transpose(1, 0, 2).reshape(count * length, 2 * STATES)


class _Content:
    """The parts of a file, which is compressed (raw DEFLATE, RFC 1951), one after the other."""

    def __init__(self, packed: bytes) -> None:
        unpacker = zlib.decompressobj(-zlib.MAX_WBITS)
        self._content = unpacker.decompress(packed, 1 << 24)
        if not unpacker.eof or unpacker.unused_data:
            raise ValueError("its parts do not fit")
        self._start = 0

    def take(self, kind: str, count: int) -> NDArray[Any]:
        """Returns the next numbers."""
        numbers = np.frombuffer(self._content, kind, count, self._start)
        self._start += numbers.nbytes
        return numbers

    def exact(self, kind: str, *shape: int) -> Exact:
        """Returns the next numbers, of a shape, in float64."""
        return self.take(kind, int(np.prod(shape))).reshape(shape).astype(np.float64)

    def names(self, count: int) -> list[str]:
        """Returns all that is left, which is as many lines."""
        names = str(self._content[self._start :], "utf-8").split("\n")
        if len(names) != count:
            raise ValueError("its parts do not fit")
        return names
