"""Rounds in which engines speak one after the other, while the others wait."""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Protocol

from benchmarks.results import rotated
from exporter.measure.engine import Spoken

TOKENS = 200
"""Tokens that an engine speaks at least in a round, by repeating short utterances."""
ENOUGH = 30.0
"""Seconds of speaking after which an engine takes part in no other round."""


class Speaking(Protocol):
    """A loaded engine."""

    def speak(self, phonemes: str) -> Spoken:
        """Speaks, and returns how long it took."""

    def cpu_seconds(self) -> float:
        """Returns the CPU time that the engine has used so far."""


@dataclass
class Idleness:
    """CPU time that engines use while another one is measured."""

    used: dict[str, float] = field(default_factory=dict)
    watched: dict[str, float] = field(default_factory=dict)

    @contextmanager
    def watch(self, others: Mapping[str, Speaking]) -> Iterator[None]:
        """Counts the CPU time of `others` within the context."""
        before = {name: other.cpu_seconds() for name, other in others.items()}
        started = time.perf_counter()
        yield
        taken = time.perf_counter() - started
        for name, other in others.items():
            self.used[name] = self.used.get(name, 0.0) + other.cpu_seconds() - before[name]
            self.watched[name] = self.watched.get(name, 0.0) + taken

    @property
    def share(self) -> float:
        """The greatest share of a core that any engine used."""
        return max((self.used[name] / self.watched[name] for name in self.used), default=0.0)


def interleave(
    engines: Mapping[str, Speaking], phonemes: str, rounds: int, idleness: Idleness, repetitions: int = 1
) -> dict[str, list[Spoken]]:
    """Makes every engine speak in each round, in rotated order, until it has spoken for `ENOUGH` seconds.

    Args:
        engines: the loaded engines by name, which have spoken before.
        phonemes: the utterance.
        rounds: the most rounds.
        idleness: takes the CPU time of the engines that wait.
        repetitions: number of times that each engine speaks in a round.

    Returns:
        Each engine's median of every round.
    """
    spoken: dict[str, list[Spoken]] = {name: [] for name in engines}
    for order in rotated(tuple(engines), rounds):
        for name in order:
            if repetitions * sum(each.seconds for each in spoken[name]) > ENOUGH:
                continue
            with idleness.watch({other: engine for other, engine in engines.items() if other != name}):
                found = [engines[name].speak(phonemes) for _ in range(repetitions)]
            first, seconds = (statistics.median(each[place] for each in found) for place in range(2))
            spoken[name].append(Spoken(first, seconds, found[0].samples))
    return spoken
