"""A long text in pieces: the bundle's stream beside that of kokoro-onnx.

Both run in processes of their own, on the same weights, voice and phonemes, interleaved.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace

from exporter.bench.engine import Engine, Spoken
from exporter.bench.engines import EngineProcess
from exporter.bench.results import BUNDLE, KOKORO_ONNX, NAMES, StreamTiming, rotated

LONG_TEXT = 3_000
"""Phonemes."""
_WARM_UP = 600
_MOST_ROUNDS = 3


def time_streams(
    bundle: Engine, text: str, rounds: int, step: Callable[[str], None]
) -> Iterator[StreamTiming]:
    """Makes both clients speak a text several times.

    Args:
        bundle: the engine of the bundle, with all that its competitor needs.
        text: phonemes.
        rounds: how often, at most three times.
        step: takes a line about each step.

    Raises:
        EngineError: a client failed.
    """
    names = (BUNDLE, KOKORO_ONNX)
    found: dict[str, list[Spoken]] = {name: [] for name in names}
    with ExitStack() as stack:
        step(f"load the streams of {', '.join(NAMES[name] for name in names)}; threads: {bundle.threads}")
        processes = {
            name: stack.enter_context(EngineProcess(replace(bundle, name=name), stream=True))
            for name in names
        }
        for process in processes.values():
            process.speak(text[:_WARM_UP])
        for order in rotated(names, min(rounds, _MOST_ROUNDS)):
            for name in order:
                spoken = processes[name].speak(text)
                found[name].append(spoken)
                step(f"{NAMES[name]}: first audio after {spoken.first:.3f} s, all in {spoken.seconds:.1f} s")
        for name, process in processes.items():
            yield StreamTiming(
                name,
                len(text),
                found[name][0].samples / bundle.sample_rate,
                tuple(spoken.first for spoken in found[name]),
                tuple(spoken.seconds for spoken in found[name]),
                process.peak_memory(),
            )
