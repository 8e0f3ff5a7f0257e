"""A long text, spoken piece by piece: the bundle's stream beside that of kokoro-onnx.

Both run in processes of their own, on the same weights, voice and phonemes, interleaved.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace

from exporter.bench.engines import EngineProcess
from exporter.bench.results import BUNDLE, KOKORO_ONNX, NAMES, StreamTiming, rotated
from exporter.bench.speakers import Engine
from runtime_min.format.signatures import SAMPLE_RATE

LONG_TEXT = 3_000
"""Phonemes."""
_WARM_UP = 600
_MOST_ROUNDS = 3


def measure_streams(
    bundle: Engine, text: str, rounds: int, tell: Callable[[str], None]
) -> Iterator[StreamTiming]:
    """Lets both clients speak a text several times.

    Args:
        bundle: the engine of the bundle, with all that its peer needs.
        text: phonemes.
        rounds: how often, at most three times.
        tell: shows what is done.

    Raises:
        EngineError: a client failed.
    """
    names = (BUNDLE, KOKORO_ONNX)
    found: dict[str, list[tuple[float, float, int]]] = {name: [] for name in names}
    with ExitStack() as stack:
        tell(f"load the streams of {', '.join(NAMES[name] for name in names)}; threads: {bundle.threads}")
        processes = {name: stack.enter_context(_process(replace(bundle, name=name))) for name in names}
        for process in processes.values():
            process.stream(text[:_WARM_UP])
        for order in rotated(names, min(rounds, _MOST_ROUNDS)):
            for name in order:
                first, seconds, samples = processes[name].stream(text)
                found[name].append((first, seconds, samples))
                tell(
                    f"{NAMES[name]}: first audio after {first:.3f} s, {len(text)} phonemes in {seconds:.1f} s"
                )
        for name, process in processes.items():
            yield StreamTiming(
                name,
                len(text),
                found[name][0][2] / SAMPLE_RATE,
                tuple(first for first, _, _ in found[name]),
                tuple(seconds for _, seconds, _ in found[name]),
                process.memory(),
            )


def _process(engine: Engine) -> EngineProcess:
    module = ("-W", "ignore", "-m", "exporter.bench.worker")
    return EngineProcess(engine, [sys.executable, *module, engine.as_json(), "stream"])
