"""The native runtime beside the Python runtime: their samples from one bundle are equal to the bit."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from ctypes import c_void_p
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

from runtime_min import Audio, Bundle
from tests.support.native.library import NativeLibrary, Spoken

VOICES = ("af_heart", "am_adam", "af_bella*0.3+am_adam*0.9", "af_heart,am_adam,af_bella")


def utterances(count: int, most: int, letters: str = "abc abcabc") -> Iterator[tuple[str, dict[str, Any]]]:
    """Yields phonemes of `letters`, at most `most`, with everything that a request may choose."""
    random = Random(count)
    for _ in range(count):
        phonemes = "".join(random.choice(letters) for _ in range(random.randint(1, most))).strip() or "a"
        yield (
            phonemes,
            {
                "voice": random.choice(VOICES),
                "speed": random.choice([0.25, 0.9, 1.0, 1.7, 4.0, random.uniform(0.25, 4)]),
                "seed": random.choice([0, 1, 2**64 - 1, random.randrange(2**64)]),
                "sentence_pause": random.choice([0.0, 0.31]),
                "clause_pause": random.choice([0.0, 0.17]),
                "trim": random.random() < 0.5,
                "end_pause": random.choice([0.0, 0.3, 0.4]),
            },
        )


def assert_equal(found: Spoken, expected: Any) -> None:
    assert found.samples.tobytes() == expected.samples.tobytes()
    assert found.durations == expected.durations.tolist()
    assert (found.phonemes, found.start) == (expected.phonemes, expected.start)
    assert found.tokens == [tuple(timing) for timing in expected.tokens]
    assert found.words == [tuple(timing) for timing in expected.words]


@dataclass(frozen=True)
class BothRuntimes:
    """One bundle, loaded by both."""

    library: NativeLibrary
    native: c_void_p
    python: Bundle

    def compare(self, **spoken: Any) -> Audio:
        """Returns an utterance of Python; fails unless it is the same from both."""
        found, expected = self.library.synthesize(self.native, **spoken), self.python.synthesize(**spoken)
        assert_equal(found, expected)
        return expected

    def compare_streams(self, **spoken: Any) -> None:
        """Fails unless a stream is the same from both."""
        found = self.library.stream(self.native, **spoken)
        for piece, expected in zip(found, self.python.stream(**spoken), strict=True):
            assert_equal(piece, expected)


@contextmanager
def both_runtimes(library: NativeLibrary, bundle: Path, level: str | None = None) -> Iterator[BothRuntimes]:
    """Loads a bundle with both, by default with its best level."""
    chosen = {"level": level.encode()} if level else {}
    with library.loaded(bundle, **chosen) as native, Bundle.load(bundle, level=level) as python:
        assert library.functions.kokoro_level(native) == python.level.name.encode()
        yield BothRuntimes(library, native, python)
