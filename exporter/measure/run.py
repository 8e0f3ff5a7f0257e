"""One run of the benchmark: time, memory and sizes of a bundle on this machine."""

from __future__ import annotations

import importlib.metadata
import platform
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from datetime import datetime, timezone
from pathlib import Path

import psutil

from exporter.measure.engine import BundleEngine, Engine, Spoken
from exporter.measure.engine_process import EngineProcess, time_cold_start
from exporter.measure.fresh_process import call_fresh
from exporter.measure.options import HEADLINE, LONGEST, Options
from exporter.measure.profile import profile
from exporter.measure.results import (
    LIBRARIES,
    Benchmark,
    ColdStart,
    PeakMemory,
    Profile,
    StreamTiming,
    Timing,
)
from exporter.reference.utterances import default_voice
from runtime_min.engine.machine import processor_name
from runtime_min.format.signatures import SAMPLE_RATE
from runtime_min.threads import usable_cores

Step = Callable[[str], None]
"""Takes a line about a step that begins."""
MOST_COLD_STARTS = 6
"""Cold starts that count: two for each round, since one takes up to a tenth more than the next."""
MOST_STREAMS = 3
STREAM_WARM_UP = 600
"""Phonemes of the long text that are spoken before it is timed."""
_LOOK_SECONDS = 2.0
"""Duration of each measurement of the machine's load."""


def run(options: Options, step: Step) -> Benchmark:
    """Runs the benchmark.

    Args:
        options: the bundle, which has been checked, and the figures to measure.
        step: takes a line about each step.

    Raises:
        EngineError: a process of the bundle failed.
    """
    engine, busy_before = bundle_engine(options), busy_cores()
    return Benchmark(
        facts=facts(options, ("apache-tvm", "numpy")),
        tokens=options.tokens,
        threads=options.threads,
        rounds=options.rounds,
        timings=tuple(_timings(options, engine, step)),
        cold_starts=(_cold_starts(options, engine, step),),
        memory=tuple(peak_memory(options, engine, step)),
        sizes=sizes(options),
        streams=tuple(_streams(options, engine, step)),
        profile=profile_of(options, engine, step),
        busy_before=busy_before,
        busy_after=busy_cores(),
    )


def bundle_engine(options: Options) -> BundleEngine:
    """Returns the bundle on the most threads, with its default voice."""
    voice = default_voice([known.name for known in options.manifest.voices])
    return BundleEngine(str(options.bundle.absolute()), options.level, voice, max(options.threads))


def _timings(options: Options, engine: BundleEngine, step: Step) -> Iterator[Timing]:
    for threads in options.threads:
        step(f"load the bundle; threads: {threads}")
        with EngineProcess(replace(engine, threads=threads)) as process:
            for tokens in options.tokens:
                phonemes = options.phonemes(tokens)
                process.speak(phonemes)  # warms up
                spoken = [process.speak(phonemes) for _ in range(options.rounds)]
                found = timing(engine.name, threads, tokens, spoken)
                step(f"threads: {threads}, {tokens} tokens: {found.rate:.3f} s for a second of audio")
                yield found


def timing(engine: str, threads: int, tokens: int, spoken: Sequence[Spoken]) -> Timing:
    """Returns the figures of an engine that has spoken an utterance several times."""
    audio = spoken[0].samples / SAMPLE_RATE
    return Timing(engine, threads, tokens, audio, tuple(each.seconds for each in spoken))


def _cold_starts(options: Options, engine: BundleEngine, step: Step) -> ColdStart:
    """Times whole processes, after one that fills the system's cache of files."""
    tokens = options.headline()
    step(f"cold starts at {tokens} tokens")
    with tempfile.TemporaryDirectory(prefix="kokoro-bench-") as directory:
        wav = Path(directory) / "speech.wav"
        count = min(MOST_COLD_STARTS, 2 * options.rounds) + 1
        seconds = [time_cold_start(engine, options.phonemes(tokens), wav) for _ in range(count)]
    return ColdStart(engine.name, tokens, tuple(seconds[1:]))


def peak_memory(options: Options, engine: Engine, step: Step) -> Iterator[PeakMemory]:
    """Yields the peak memory of a process that speaks twice, at the lengths of the goals."""
    lengths = [tokens for tokens in (HEADLINE, LONGEST) if tokens in options.tokens]
    for tokens in lengths or options.tokens[:1]:
        step(f"peak memory of {engine.name} at {tokens} tokens")
        with EngineProcess(engine) as process:
            for _ in range(2):
                process.speak(options.phonemes(tokens))
            yield PeakMemory(engine.name, tokens, process.peak_memory())


def _streams(options: Options, engine: BundleEngine, step: Step) -> Iterator[StreamTiming]:
    if options.stream:
        text = options.long_text()
        step(f"a text of {len(text):,} phonemes, piece by piece")
        with EngineProcess(replace(engine, stream=True)) as process:
            process.speak(text[:STREAM_WARM_UP])
            spoken = [process.speak(text) for _ in range(min(MOST_STREAMS, options.rounds))]
            yield stream_timing(engine.name, text, spoken, process.peak_memory())


def stream_timing(engine: str, text: str, spoken: Sequence[Spoken], peak: int) -> StreamTiming:
    """Returns the figures of an engine that has spoken a text several times."""
    first, seconds = tuple(each.first for each in spoken), tuple(each.seconds for each in spoken)
    return StreamTiming(engine, len(text), spoken[0].samples / SAMPLE_RATE, first, seconds, peak)


def profile_of(options: Options, engine: BundleEngine, step: Step) -> Profile | None:
    """Returns the profile of an utterance; None if the options leave it out."""
    if not options.profile:
        return None
    tokens = options.headline()
    step(f"profile of the bundle at {tokens} tokens")
    return call_fresh(
        "The profile", engine.threads, profile, engine, options.phonemes(tokens), options.rounds
    )


def sizes(options: Options) -> dict[str, int]:
    """Returns the bytes of the files of the bundle, by kind."""
    manifest = options.manifest
    listed = {entry.path: entry.bytes for entry in manifest.files}
    libraries = (
        library.file for stage in manifest.stages for library in stage.buckets(options.level).values()
    )
    return {
        LIBRARIES: sum(listed[file] for file in libraries),
        "runtime library": listed[manifest.runtime_library],
        "parameters": listed[manifest.parameters.file],
        "bundle": sum(listed.values()),
    }


def facts(options: Options, packages: Sequence[str]) -> dict[str, str]:
    """Returns the machine, the model and the versions of packages, as lines of a report."""
    manifest = options.manifest
    weights = "synthetic weights of the full architecture" if manifest.model.synthetic else "trained weights"
    memory = psutil.virtual_memory().total / (1 << 30)
    versions = [f"{package} {importlib.metadata.version(package)}" for package in packages]
    return {
        "date": datetime.now(timezone.utc).strftime("%Y-%m-%d %H:%M UTC"),
        "machine": f"{processor_name()}, {len(usable_cores())} cores, {memory:.0f} GiB, {platform.system()}",
        "CPU level": options.level,
        "model": f"{manifest.model.name}, {weights}, SHA-256 {manifest.model.sha256[:16]}",
        "versions": ", ".join([*versions, f"Python {sys.version.split()[0]}"]),
    }


def busy_cores() -> float:
    """Returns the number of cores that compute while the benchmark does nothing."""
    return float(psutil.cpu_percent(interval=_LOOK_SECONDS)) / 100 * float(psutil.cpu_count())
