"""One run of the comparison: the engines side by side, interleaved, in processes of their own."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

from benchmarks.competitors import Competitor
from benchmarks.engines import AnyEngine, AnyProcess, prepare, started
from benchmarks.interleaved import TOKENS, Idleness, interleave
from benchmarks.native.native_program import NativeProgram
from benchmarks.peak import multiply_add_rate
from benchmarks.quality import Heard, quality
from benchmarks.results import (
    KOKORO_ONNX,
    NAMES,
    ONNXRUNTIME,
    PYTORCH,
    Comparison,
    Footprint,
    Peak,
    rotated,
)
from exporter.measure import run as alone
from exporter.measure.engine_process import EngineProcess, time_cold_start
from exporter.measure.fresh_process import call_fresh
from exporter.measure.options import LONGEST, Options
from exporter.measure.results import ColdStart, PeakMemory, StreamTiming, Timing
from exporter.measure.run import Step
from runtime_min.format.verify import read_manifest

_PACKAGES = ("apache-tvm", "torch", ONNXRUNTIME, KOKORO_ONNX, "sherpa-onnx-core", "kokoro", "numpy")


def run(
    options: Options,
    others: Sequence[Options],
    checkpoint: Path,
    config: Path,
    step: Step,
    export_seconds: float | None = None,
) -> Comparison:
    """Runs the comparison.

    Args:
        options: the bundle, which has been checked, and the figures to measure.
        others: the same for bundles of the same checkpoint in other precisions.
        checkpoint: the checkpoint that the bundles were made from.
        config: its configuration.
        step: takes a line about each step.
        export_seconds: duration of this bundle's export without a cache, if the same run measured it.

    Raises:
        EngineError: an engine failed.
    """
    busy_before, idleness, heard = alone.busy_cores(), Idleness(), list[Heard]()
    with tempfile.TemporaryDirectory(prefix="kokoro-bench-") as directory:
        engines, clients = prepare(options, others, checkpoint, config, Path(directory), step)
        timings = tuple(_timings(options, engines, idleness, heard, step))
        footprints, memory = _memory(options, engines, step)
        return Comparison(
            facts=alone.facts(options, _PACKAGES),
            precision=options.manifest.precision,
            tokens=options.tokens,
            threads=options.threads,
            rounds=options.rounds,
            timings=timings,
            cold_starts=tuple(_cold_starts(options, engines, Path(directory) / "speech.wav", step)),
            memory=memory,
            sizes=alone.sizes(options),
            peaks=tuple(_peaks(options, step)),
            quality=quality(heard),
            footprints=footprints,
            idle_share=idleness.share,
            streams=tuple(_streams(options, clients, step)) if options.stream else (),
            profile=alone.profile_of(options, alone.bundle_engine(options), step),
            busy_before=busy_before,
            busy_after=alone.busy_cores(),
            export_seconds=export_seconds,
        )


def _loaded(stack: ExitStack, engines: Mapping[str, AnyEngine], threads: int) -> dict[str, AnyProcess]:
    processes = {}
    for name, engine in engines.items():
        processes[name] = started(replace(engine, threads=threads))
        stack.enter_context(processes[name])
    return processes


def _timings(
    options: Options, engines: Mapping[str, AnyEngine], idleness: Idleness, heard: list[Heard], step: Step
) -> Iterator[Timing]:
    """Times every length on the most threads, and one length on fewer; appends the samples to `heard`."""
    for threads in options.threads:
        most = threads == max(options.threads)
        with ExitStack() as stack:
            step(f"load {'; '.join(NAMES[name] for name in engines)}; threads: {threads}")
            processes = _loaded(stack, engines, threads)
            for tokens in options.tokens if most else (options.headline(),):
                phonemes = options.phonemes(tokens)
                warm_up = _warm_up(processes, phonemes)
                if most:
                    heard.append(warm_up)
                repetitions = max(1, TOKENS // tokens) if most else 1
                found = interleave(processes, phonemes, options.rounds, idleness, repetitions)
                timings = [alone.timing(name, threads, tokens, spoken) for name, spoken in found.items()]
                rates = "; ".join(f"{NAMES[timing.engine]} {timing.rate:.3f}" for timing in timings)
                step(f"threads: {threads}, {tokens} tokens; s for a second of audio: {rates}")
                yield from timings


def _warm_up(processes: Mapping[str, AnyProcess], phonemes: str) -> Heard:
    """Makes every engine speak, PyTorch twice, and returns the samples of those in Python."""
    spoken = {}
    for name, process in processes.items():
        if isinstance(process, EngineProcess):
            spoken[name] = process.voiced(phonemes)
        else:
            process.speak(phonemes)
    reference = processes[PYTORCH]
    assert isinstance(reference, EngineProcess)
    return Heard(reference.voiced(phonemes), spoken)


def _cold_starts(
    options: Options, engines: Mapping[str, AnyEngine], wav: Path, step: Step
) -> Iterator[ColdStart]:
    """Times whole processes, interleaved, after one of each that fills the system's cache of files."""
    tokens = options.headline()
    step(f"cold starts at {tokens} tokens")
    seconds: dict[str, list[float]] = {name: [] for name in engines}
    for order in rotated(tuple(engines), min(alone.MOST_COLD_STARTS, 2 * options.rounds) + 1):
        for name in order:
            seconds[name].append(time_cold_start(engines[name], options.phonemes(tokens), wav))
    for name, times in seconds.items():
        yield ColdStart(name, tokens, tuple(times[1:]))


def _memory(
    options: Options, engines: Mapping[str, AnyEngine], step: Step
) -> tuple[tuple[Footprint, ...], tuple[PeakMemory, ...]]:
    """Returns the memory of a process that has spoken twice, alone and beside another process."""
    footprints, peaks, tokens = [], [], options.headline()
    for name, engine in engines.items():
        step(f"memory of {NAMES[name]}")
        with started(engine) as first, started(engine) as second:
            for process in (first, second, first, second):
                process.speak(options.phonemes(tokens))
            peaks.append(PeakMemory(name, tokens, first.peak_memory()))
            held = second.resident_memory(), second.private_memory()
            footprints.append(Footprint(name, *_bytes(engine), *held))
        if LONGEST in options.tokens:
            with started(engine) as process:
                for _ in range(2):
                    process.speak(options.phonemes(LONGEST))
                peaks.append(PeakMemory(name, LONGEST, process.peak_memory()))
    return tuple(footprints), tuple(sorted(peaks, key=lambda peak: peak.tokens))


def _bytes(engine: AnyEngine) -> tuple[int, int | None]:
    """Returns the sizes of the files of an engine's model and of its libraries; None for Python's."""
    if isinstance(engine, NativeProgram):
        return engine.model_bytes, engine.library_bytes
    if isinstance(engine, Competitor):
        return Path(engine.model).stat().st_size, None
    return read_manifest(Path(engine.bundle)).content_bytes, None


def _streams(options: Options, clients: Mapping[str, AnyEngine], step: Step) -> Iterator[StreamTiming]:
    """Times a long text in pieces, on the same weights, voice and phonemes."""
    text = options.long_text()
    with ExitStack() as stack:
        step(f"a text of {len(text):,} phonemes by {', '.join(NAMES[name] for name in clients)}")
        processes = _loaded(stack, clients, max(options.threads))
        for process in processes.values():
            process.speak(text[: alone.STREAM_WARM_UP])
        rounds = min(alone.MOST_STREAMS, options.rounds)
        for name, spoken in interleave(processes, text, rounds, Idleness()).items():
            yield alone.stream_timing(name, text, spoken, processes[name].peak_memory())


def _peaks(options: Options, step: Step) -> Iterator[Peak]:
    """Yields the multiply-add peak of this machine for each number of threads."""
    for threads in options.threads:
        step(f"multiply-add peak; threads: {threads}")
        rate = call_fresh("The multiply-add loop", threads, multiply_add_rate, options.level, threads)
        yield Peak(threads, rate)
