"""One run of the benchmark: the engines side by side, interleaved, in processes of their own."""

from __future__ import annotations

import platform
import tempfile
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime, timezone
from pathlib import Path
from typing import Protocol

import psutil

from exporter.bench.competitors.onnx_export import export_onnx
from exporter.bench.engine import Engine, Spoken
from exporter.bench.engines import EngineProcess, time_cold_start, versions
from exporter.bench.fresh_process import call_fresh
from exporter.bench.options import HEADLINE, LONGEST, Options
from exporter.bench.peak import multiply_add_rate
from exporter.bench.profile import profile
from exporter.bench.results import (
    BUNDLE,
    KOKORO_ONNX,
    LIBRARIES,
    NAMES,
    ONNXRUNTIME,
    PYTORCH,
    Benchmark,
    ColdStart,
    Peak,
    PeakMemory,
    Profile,
    StreamTiming,
    Timing,
    rotated,
)
from exporter.bench.streams import LONG_TEXT, time_streams
from exporter.bench.utterances import text_of
from exporter.reference.files import reference_files
from exporter.reference.utterances import default_voice
from runtime_min.engine.vm import usable_cores
from runtime_min.format.signatures import SAMPLE_RATE

Step = Callable[[str], None]
"""Takes a line about a step that begins."""
_MOST_COLD_STARTS = 5
_LOOK_SECONDS = 2.0
"""How long to observe the load of the machine."""


class Speaking(Protocol):
    """A loaded engine: an `EngineProcess`."""

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
    engines: Mapping[str, Speaking], phonemes: str, rounds: int, idleness: Idleness
) -> dict[str, tuple[tuple[float, ...], int]]:
    """Makes every engine speak once to warm up and then once in each round, in rotated order.

    Returns:
        Seconds of each round, and the number of samples, by engine.
    """
    samples = {name: engine.speak(phonemes).samples for name, engine in engines.items()}
    seconds: dict[str, list[float]] = {name: [] for name in engines}
    for order in rotated(tuple(engines), rounds):
        for name in order:
            with idleness.watch({other: engine for other, engine in engines.items() if other != name}):
                seconds[name].append(engines[name].speak(phonemes).seconds)
    return {name: (tuple(seconds[name]), samples[name]) for name in engines}


def run(options: Options, step: Step, export_seconds: float | None = None) -> Benchmark:
    """Runs the benchmark.

    Args:
        options: what to measure; engines and bundle have been checked.
        step: takes a line about each step.
        export_seconds: how long the export of this bundle took, where that was measured in the same run.

    Raises:
        EngineError: an engine failed.
        CheckpointError: the bundle's checkpoint cannot be had.
    """
    facts, busy_before = _facts(options), _busy_cores()
    with tempfile.TemporaryDirectory(prefix="kokoro-bench-") as directory:
        engines = make_engines(options, Path(directory), step)
        idleness = Idleness()
        return Benchmark(
            facts=facts,
            tokens=options.tokens,
            threads=options.threads,
            rounds=options.rounds,
            timings=tuple(_timings(options, engines, idleness, step)),
            cold_starts=tuple(_cold_starts(options, engines, Path(directory), step)),
            memory=tuple(_memory(options, engines, step)),
            sizes=_sizes(options, engines),
            peaks=tuple(_peaks(options, step)),
            idle_share=idleness.share,
            streams=_streams(options, engines[BUNDLE], step),
            profile=_profile(options, engines[BUNDLE], step),
            busy_before=busy_before,
            busy_after=_busy_cores(),
            export_seconds=export_seconds,
        )


def make_engines(options: Options, directory: Path, step: Step) -> dict[str, Engine]:
    """Returns the engines by name, with an ONNX export in `directory` if one of them needs it."""
    manifest = options.manifest
    voice = default_voice([known.name for known in manifest.voices])
    table = next(known for known in manifest.voices if known.name == voice)
    checkpoint, config, onnx = Path(), Path(), Path()
    if options.stream or set(options.engines) & {PYTORCH, ONNXRUNTIME}:
        checkpoint, config = reference_files(manifest, options.checkpoint, options.config)
    if options.stream or ONNXRUNTIME in options.engines:
        onnx = (options.onnx or directory / "kokoro.onnx").absolute()
        if not onnx.exists():
            step("kokoro's own ONNX export")
            call_fresh("kokoro's ONNX export", 1, export_onnx, checkpoint, config, onnx)
    engine = Engine(
        BUNDLE, max(options.threads), str(options.bundle.absolute()), options.level, voice, table.file,
        table.columns, str(checkpoint), str(config), str(onnx), SAMPLE_RATE,
    )  # fmt: skip
    return {name: replace(engine, name=name) for name in options.engines}


def _timings(
    options: Options, engines: Mapping[str, Engine], idleness: Idleness, step: Step
) -> Iterator[Timing]:
    for threads in options.threads:
        with ExitStack() as stack:
            step(f"load {', '.join(NAMES[name] for name in engines)}; threads: {threads}")
            processes = {
                name: stack.enter_context(EngineProcess(replace(engine, threads=threads)))
                for name, engine in engines.items()
            }
            for tokens in options.tokens:
                found = interleave(processes, options.phonemes(tokens), options.rounds, idleness)
                timings = [
                    Timing(name, threads, tokens, samples / SAMPLE_RATE, seconds)
                    for name, (seconds, samples) in found.items()
                ]
                rates = ", ".join(f"{NAMES[timing.engine]} {timing.rate:.3f}" for timing in timings)
                step(f"threads: {threads}, {tokens} tokens; s for a second of audio: {rates}")
                yield from timings


def _cold_starts(
    options: Options, engines: Mapping[str, Engine], directory: Path, step: Step
) -> Iterator[ColdStart]:
    """Times whole processes, interleaved, after one of each that fills the system's cache of files."""
    tokens = options.headline()
    step(f"cold starts at {tokens} tokens")
    seconds: dict[str, list[float]] = {name: [] for name in engines}
    for order in rotated(tuple(engines), min(_MOST_COLD_STARTS, options.rounds) + 1):
        for name in order:
            wav = directory / "speech.wav"
            seconds[name].append(time_cold_start(engines[name], options.phonemes(tokens), wav))
    for name, times in seconds.items():
        yield ColdStart(name, tokens, tuple(times[1:]))


def _memory(options: Options, engines: Mapping[str, Engine], step: Step) -> Iterator[PeakMemory]:
    lengths: Collection[int] = [tokens for tokens in (HEADLINE, LONGEST) if tokens in options.tokens]
    for tokens in lengths or options.tokens[:1]:
        step(f"peak memory at {tokens} tokens")
        for name, engine in engines.items():
            with EngineProcess(engine) as process:
                for _ in range(2):
                    process.speak(options.phonemes(tokens))
                yield PeakMemory(name, tokens, process.peak_memory())


def _peaks(options: Options, step: Step) -> Iterator[Peak]:
    for threads in options.threads:
        step(f"multiply-add peak; threads: {threads}")
        rate = call_fresh("The multiply-add loop", threads, multiply_add_rate, options.level, threads)
        yield Peak(threads, rate)


def _streams(options: Options, bundle: Engine, step: Step) -> tuple[StreamTiming, ...]:
    if not options.stream:
        return ()
    text = text_of(LONG_TEXT, options.manifest.vocabulary)
    return tuple(time_streams(bundle, text, options.rounds, step))


def _profile(options: Options, bundle: Engine, step: Step) -> Profile | None:
    if not options.profile:
        return None
    tokens = options.headline()
    step(f"profile of the bundle at {tokens} tokens")
    return call_fresh(
        "The profile", bundle.threads, profile, bundle, options.phonemes(tokens), options.rounds
    )


def _sizes(options: Options, engines: Mapping[str, Engine]) -> dict[str, int]:
    manifest = options.manifest
    listed = {entry.path: entry.bytes for entry in manifest.files}
    sizes = {
        LIBRARIES: sum(
            listed[library.file]
            for stage in manifest.stages
            for library in stage.buckets(options.level).values()
        ),
        "runtime library": listed[manifest.runtime_library],
        "parameters": listed[manifest.parameters.file],
        "bundle": sum(entry.bytes for entry in manifest.files),
    }
    if PYTORCH in engines:
        sizes["PyTorch's checkpoint"] = Path(engines[PYTORCH].checkpoint).stat().st_size
    if ONNXRUNTIME in engines:
        sizes["ONNX file"] = Path(engines[ONNXRUNTIME].onnx).stat().st_size
    return sizes


def _facts(options: Options) -> dict[str, str]:
    manifest = options.manifest
    weights = "synthetic weights of the full architecture" if manifest.model.synthetic else "trained weights"
    memory = psutil.virtual_memory().total / (1 << 30)
    return {
        "date": datetime.now(timezone.utc).strftime("%Y-%m-%d %H:%M UTC"),
        "machine": f"{_cpu_model()}, {len(usable_cores())} cores, {memory:.0f} GiB, {platform.system()}",
        "CPU level": options.level,
        "model": f"{manifest.model.name}, {weights}, SHA-256 {manifest.model.sha256[:16]}",
        "versions": versions([*options.engines, *([KOKORO_ONNX] if options.stream else [])]),
    }


def _cpu_model() -> str:
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        names = (line.partition(":")[2].strip() for line in file if line.startswith("model name"))
        return next(names, platform.machine())


def _busy_cores() -> float:
    """Returns how many cores compute while the benchmark does nothing."""
    return float(psutil.cpu_percent(interval=_LOOK_SECONDS)) / 100 * float(psutil.cpu_count())
