"""One run of the benchmark: the engines side by side, interleaved, in processes of their own."""

from __future__ import annotations

import os
import platform
import subprocess
import tempfile
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime, timezone
from pathlib import Path
from typing import Protocol

from exporter.bench.engines import (
    EngineError,
    EngineProcess,
    cold_command,
    environment,
    export_onnx,
    versions,
)
from exporter.bench.peak import measure_peak
from exporter.bench.profile import measure_profile
from exporter.bench.results import (
    BUNDLE,
    KOKORO_ONNX,
    LIBRARIES,
    NAMES,
    ONNXRUNTIME,
    PYTORCH,
    ColdStart,
    Peak,
    PeakMemory,
    Report,
    StreamTiming,
    Timing,
    rotated,
)
from exporter.bench.speakers import Engine
from exporter.bench.streams import LONG_TEXT, measure_streams
from exporter.bench.utterances import phonemes_of, text_of
from exporter.reference.utterances import default_voice, reference_files
from runtime_min.engine.vm import usable_cores
from runtime_min.format.manifest import Manifest
from runtime_min.format.signatures import SAMPLE_RATE

Told = Callable[[str], None]
HEADLINE, LONGEST = 62, 450
"""The lengths that the goals for memory, cold start and growth are about."""
_MOST_COLD_STARTS = 5
_LOOK_SECONDS = 2.0
"""How long to look what else the machine does."""


@dataclass(frozen=True)
class Options:
    """What to measure."""

    bundle: Path
    manifest: Manifest
    level: str
    tokens: tuple[int, ...]
    threads: tuple[int, ...]
    rounds: int
    engines: tuple[str, ...]
    profile: bool = False
    checkpoint: str | None = None
    config: Path | None = None
    onnx: Path | None = None
    """kokoro's ONNX export, written there if there is none; None exports it and keeps nothing."""
    stream: bool = False
    """Measure a long text beside kokoro-onnx, too."""

    def phonemes(self, tokens: int) -> str:
        """What every engine says at this length."""
        return phonemes_of(tokens, self.manifest.vocabulary)

    def headline(self) -> int:
        """The length for what is measured at one length only."""
        return HEADLINE if HEADLINE in self.tokens else self.tokens[0]


class Speaking(Protocol):
    """What is measured: an `EngineProcess`."""

    def speak(self, phonemes: str) -> tuple[float, int]:
        """Seconds, and samples."""

    def cpu_seconds(self) -> float:
        """CPU time so far."""


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
        """The most of any engine."""
        return max((self.used[name] / self.watched[name] for name in self.used), default=0.0)


def interleave(
    engines: Mapping[str, Speaking], phonemes: str, rounds: int, idleness: Idleness
) -> dict[str, tuple[tuple[float, ...], int]]:
    """Lets every engine speak once to warm up and then once in each round, in rotated order.

    Returns:
        Seconds of each round, and the number of samples, by engine.
    """
    samples = {name: engine.speak(phonemes)[1] for name, engine in engines.items()}
    seconds: dict[str, list[float]] = {name: [] for name in engines}
    for order in rotated(tuple(engines), rounds):
        for name in order:
            with idleness.watch({other: engine for other, engine in engines.items() if other != name}):
                seconds[name].append(engines[name].speak(phonemes)[0])
    return {name: (tuple(seconds[name]), samples[name]) for name in engines}


def measure(options: Options, tell: Told, export_seconds: float | None = None) -> Report:
    """Runs the benchmark.

    Args:
        options: what to measure; engines and bundle have been checked.
        tell: shows what is done next.
        export_seconds: how long the export of this bundle took, where that was measured in the same run.

    Raises:
        EngineError: an engine failed.
        CheckpointError: the bundle's checkpoint cannot be had.
    """
    facts, busy_before = _facts(options), _busy_cores()
    with tempfile.TemporaryDirectory(prefix="kokoro-bench-") as directory:
        engines = make_engines(options, Path(directory), tell)
        sizes = _sizes(options, engines)
        idleness = Idleness()
        timings = tuple(_timings(options, engines, idleness, tell))
        cold_starts = tuple(_cold_starts(options, engines, Path(directory), tell))
        memory = tuple(_memory(options, engines, tell))
        peaks = tuple(_peaks(options, tell))
        streams: tuple[StreamTiming, ...] = ()
        if options.stream:
            text = text_of(LONG_TEXT, options.manifest.vocabulary)
            streams = tuple(measure_streams(engines[BUNDLE], text, options.rounds, tell))
        profile = None
        if options.profile:
            tell(f"profile of the bundle at {options.headline()} tokens")
            engine = replace(engines[BUNDLE], threads=max(options.threads))
            profile = measure_profile(engine, options.phonemes(options.headline()), options.rounds)
    return Report(
        facts, options.tokens, options.threads, options.rounds, timings, cold_starts, memory, sizes, peaks,
        idleness.share, busy_before, _busy_cores(), export_seconds, profile, streams,
    )  # fmt: skip


def make_engines(options: Options, directory: Path, tell: Told) -> dict[str, Engine]:
    """Describes the engines by name, having made what they load; `directory` is for temporary files."""
    manifest = options.manifest
    voice = default_voice([known.name for known in manifest.voices])
    table = next(known for known in manifest.voices if known.name == voice)
    checkpoint, config, onnx = Path(), Path(), Path()
    if options.stream or set(options.engines) & {PYTORCH, ONNXRUNTIME}:
        checkpoint, config = reference_files(manifest, options.checkpoint, options.config)
    if options.stream or ONNXRUNTIME in options.engines:
        onnx = (options.onnx or directory / "kokoro.onnx").absolute()
        if not onnx.exists():
            tell("kokoro's own ONNX export")
            export_onnx(checkpoint, config, onnx)
    engine = Engine(
        BUNDLE, max(options.threads), str(options.bundle.absolute()), options.level, voice, table.file,
        table.columns, str(checkpoint), str(config), str(onnx),
    )  # fmt: skip
    return {name: replace(engine, name=name) for name in options.engines}


def _timings(
    options: Options, engines: Mapping[str, Engine], idleness: Idleness, tell: Told
) -> Iterator[Timing]:
    for threads in options.threads:
        with ExitStack() as stack:
            tell(f"load {', '.join(NAMES[name] for name in engines)}; threads: {threads}")
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
                tell(f"threads: {threads}, {tokens} tokens; s for a second of audio: {rates}")
                yield from timings


def _cold_starts(
    options: Options, engines: Mapping[str, Engine], directory: Path, tell: Told
) -> Iterator[ColdStart]:
    """Whole processes, interleaved, after one of each that brings the files into the system's cache."""
    tokens = options.headline()
    tell(f"cold starts at {tokens} tokens")
    seconds: dict[str, list[float]] = {name: [] for name in engines}
    for order in rotated(tuple(engines), min(_MOST_COLD_STARTS, options.rounds) + 1):
        for name in order:
            seconds[name].append(_cold_start(engines[name], options.phonemes(tokens), directory))
    for name, times in seconds.items():
        yield ColdStart(name, tokens, tuple(times[1:]))


def _cold_start(engine: Engine, phonemes: str, directory: Path) -> float:
    wav = directory / "speech.wav"
    wav.unlink(missing_ok=True)
    command = cold_command(engine, phonemes, wav)
    started = time.perf_counter()
    done = subprocess.run(command, capture_output=True, text=True, env=environment(engine.threads))
    taken = time.perf_counter() - started
    if done.returncode != 0 or not wav.exists():
        raise EngineError(f"{NAMES[engine.name]} did not write a WAV file:\n{done.stderr.strip()}")
    return taken


def _memory(options: Options, engines: Mapping[str, Engine], tell: Told) -> Iterator[PeakMemory]:
    lengths: Collection[int] = [tokens for tokens in (HEADLINE, LONGEST) if tokens in options.tokens]
    for tokens in lengths or options.tokens[:1]:
        tell(f"peak memory at {tokens} tokens")
        for name, engine in engines.items():
            with EngineProcess(engine) as process:
                for _ in range(2):
                    process.speak(options.phonemes(tokens))
                yield PeakMemory(name, tokens, process.memory())


def _peaks(options: Options, tell: Told) -> Iterator[Peak]:
    for threads in options.threads:
        tell(f"multiply-add peak; threads: {threads}")
        yield Peak(threads, measure_peak(options.level, threads))


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
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / (1 << 30)
    return {
        "date": datetime.now(timezone.utc).strftime("%Y-%m-%d %H:%M UTC"),
        "machine": f"{_cpu_model()}, {len(usable_cores())} cores, {memory:.0f} GiB, {platform.system()}",
        "CPU level": options.level,
        "model": f"{manifest.model.name}, {weights}, SHA-256 {manifest.model.sha256[:16]}",
        "versions": versions([*options.engines, *([KOKORO_ONNX] if options.stream else [])]),
    }


def _cpu_model() -> str:
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        names: Sequence[str] = [
            line.partition(":")[2].strip() for line in file if line.startswith("model name")
        ]
    return names[0] if names else platform.machine()


def _busy_cores() -> float:
    """Cores that compute while the benchmark does nothing."""
    before, started = _busy_ticks(), time.perf_counter()
    time.sleep(_LOOK_SECONDS)
    ticks, seconds = _busy_ticks() - before, time.perf_counter() - started
    return ticks / os.sysconf("SC_CLK_TCK") / seconds


def _busy_ticks() -> int:
    """Clock ticks of all cores that were neither idle nor waiting for a disk."""
    with open("/proc/stat", encoding="ascii") as file:
        user, nice, system, _, _, *interrupts = map(int, file.readline().split()[1:9])
    return user + nice + system + sum(interrupts)
