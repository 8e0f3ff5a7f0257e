"""A model without weights: each letter is a tone of its own pitch, gaps are nearly silent."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from runtime_min.errors import UtteranceTooLongError
from runtime_min.format.signatures import SAMPLES_PER_FRAME
from runtime_min.model.voices import Style
from runtime_min.speech.speak import Manner, Samples, Section, check_pauses, piece_seed, plan_ends
from runtime_min.speech.split import find_breaks
from runtime_min.speech.words import Passage, read_spoken

STYLE = Style(np.zeros((1, 2), np.float32), np.zeros((1, 2), np.float32))
LETTERS = "abcdefgh"
BOUNDARY_FRAMES = 6


def frequency(letter: str) -> float:
    return 400.0 + 200.0 * LETTERS.index(letter)


class Fake:
    """What speaks a piece; remembers what it was asked for."""

    def __init__(self, capacity: int = 10**9) -> None:
        self.capacity = capacity
        """Most frames of a piece."""
        self.asked: list[tuple[str, int]] = []

    def __call__(self, phonemes: str, style: Style, speed: float, seed: int) -> tuple[Samples, np.ndarray]:
        self.asked.append((phonemes, seed))
        lengths = [5 if phoneme in LETTERS else 4 for phoneme in phonemes]
        frames = np.array([BOUNDARY_FRAMES, *lengths, BOUNDARY_FRAMES]) / speed
        durations = np.maximum(np.rint(frames), 1).astype(np.int64)
        if durations.sum() > self.capacity:
            raise UtteranceTooLongError(int(durations.sum()), self.capacity, 40)
        random = np.random.default_rng(seed)
        sounds = []
        for phoneme, count in zip(f" {phonemes} ", durations, strict=True):
            times = np.arange(SAMPLES_PER_FRAME * count) / 24_000
            phase = random.uniform(0, 2 * np.pi)
            tone = 0.3 * np.sin(2 * np.pi * frequency(phoneme) * times + phase) if phoneme in LETTERS else 0
            sounds.append(tone + 1e-5 * random.standard_normal(len(times)))
        return np.concatenate(sounds).astype(np.float32), durations


def sections(
    spoken: str | Sequence[object],
    *,
    limit: int = 60,
    whole: bool = False,
    speed: float = 1.0,
    seed: int = 0,
) -> list[Section]:
    """What `Bundle.stream` and `Bundle.synthesize` plan."""
    found: list[Section] = []
    given = 0
    for passage in read_spoken(spoken, None):  # type: ignore[arg-type]
        found.append(_section(passage, limit, whole, not found, speed, piece_seed(seed, given)))
        given += len(passage.phonemes)
    return found


def _section(passage: Passage, limit: int, whole: bool, growing: bool, speed: float, seed: int) -> Section:
    breaks = find_breaks(passage.phonemes)
    ends = plan_ends(passage.phonemes, breaks, limit, whole=whole, growing=growing)
    return Section(passage, breaks, ends, STYLE, passage.speed or speed, seed)


def manner(sentence: float = 0.0, clause: float = 0.0, *, limit: int = 60, trim: bool = False) -> Manner:
    return Manner(limit, check_pauses(sentence, clause), trim)
