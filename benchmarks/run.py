"""One run of the comparison: the engines side by side, interleaved, in processes of their own."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from importlib.util import find_spec
from pathlib import Path
from typing import Protocol

import numpy as np

from benchmarks.competitors import Competitor
from benchmarks.competitors.onnx_export import export_onnx, quantise
from benchmarks.peak import multiply_add_rate
from benchmarks.quality import quality
from benchmarks.results import (
    KOKORO_ONNX,
    NAMES,
    ONNXRUNTIME,
    ONNXRUNTIME_INT8,
    PYTORCH,
    Comparison,
    Footprint,
    Peak,
    Quality,
    rotated,
)
from exporter.bench import run as alone
from exporter.bench.engine import BUNDLE, BundleEngine, Spoken
from exporter.bench.engine_process import EngineProcess, time_cold_start
from exporter.bench.fresh_process import call_fresh
from exporter.bench.options import Options
from exporter.bench.results import ColdStart, PeakMemory, StreamTiming, Timing
from exporter.bench.run import Step
from exporter.errors import ExportError
from runtime_min import Bundle
from runtime_min.format.signatures import SAMPLE_RATE
from runtime_min.format.verify import read_manifest

AnyEngine = BundleEngine | Competitor


class EngineMissingError(ExportError):
    """An engine's packages are not installed."""

    exit_code = 5


def check_installed() -> None:
    """Refuses to compare with engines that cannot be imported, before anything slow runs.

    Raises:
        EngineMissingError: with the packages to install.
    """
    missing = [name for name in ("kokoro_onnx", "onnx", "onnxruntime") if find_spec(name) is None]
    if missing:
        raise EngineMissingError(
            f"These packages of competitors are missing: {', '.join(missing)}. "
            "Run pip install --editable . --editable './exporter[bench]', as `make bench` does."
        )


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
    engines: Mapping[str, Speaking], warm_up: str, phonemes: str, rounds: int, idleness: Idleness
) -> dict[str, list[Spoken]]:
    """Makes every engine speak `warm_up` and then `phonemes` once in each round, in rotated order.

    Returns:
        The rounds of each engine.
    """
    for engine in engines.values():
        engine.speak(warm_up)
    spoken: dict[str, list[Spoken]] = {name: [] for name in engines}
    for order in rotated(tuple(engines), rounds):
        for name in order:
            with idleness.watch({other: engine for other, engine in engines.items() if other != name}):
                spoken[name].append(engines[name].speak(phonemes))
    return spoken


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
        export_seconds: duration of this bundle's export, if the same run measured it.

    Raises:
        EngineError: an engine failed.
    """
    busy_before, idleness = alone.busy_cores(), Idleness()
    with tempfile.TemporaryDirectory(prefix="kokoro-bench-") as directory:
        bundle = alone.bundle_engine(options)
        competitors = _competitors(options, checkpoint, config, Path(directory), step)
        client = competitors.pop(KOKORO_ONNX)
        engines: dict[str, AnyEngine] = {
            BUNDLE: bundle,
            **{each.name: each for each in map(_other_bundle, others)},
            **competitors,
        }
        clients: dict[str, AnyEngine] = {BUNDLE: replace(bundle, stream=True), KOKORO_ONNX: client}
        return Comparison(
            facts=alone.facts(options, ("apache-tvm", "torch", ONNXRUNTIME, KOKORO_ONNX, "kokoro", "numpy")),
            tokens=options.tokens,
            threads=options.threads,
            rounds=options.rounds,
            timings=tuple(_timings(options, engines, idleness, step)),
            cold_starts=tuple(_cold_starts(options, engines, Path(directory) / "speech.wav", step)),
            memory=tuple(_memory(options, engines, step)),
            sizes=alone.sizes(options),
            peaks=tuple(_peaks(options, step)),
            quality=_quality(options, engines, step),
            footprints=tuple(_footprints(options, engines, step)),
            idle_share=idleness.share,
            streams=tuple(_streams(options, clients, step)) if options.stream else (),
            profile=alone.profile_of(options, bundle, step),
            busy_before=busy_before,
            busy_after=alone.busy_cores(),
            export_seconds=export_seconds,
        )


def _competitors(
    options: Options, checkpoint: Path, config: Path, directory: Path, step: Step
) -> dict[str, Competitor]:
    """Returns the other engines, whose files are written to a directory."""
    bundle = alone.bundle_engine(options)
    voice, whole, small = (directory / name for name in ("voice.npy", "kokoro.onnx", "kokoro-int8.onnx"))
    with Bundle.load(options.bundle, verify=False) as loaded:
        np.save(voice, loaded.voice_tables[bundle.voice])
    step("kokoro's own ONNX export")
    call_fresh("kokoro's ONNX export", 1, export_onnx, checkpoint, config, whole)
    step("ONNX Runtime's dynamic quantisation")
    call_fresh("ONNX Runtime's quantisation", 1, quantise, whole, small)
    engines = {
        PYTORCH: ("pytorch", checkpoint),
        ONNXRUNTIME: ("onnxruntime", whole),
        ONNXRUNTIME_INT8: ("onnxruntime", small),
        KOKORO_ONNX: ("kokoro_onnx", whole),
    }
    return {
        name: Competitor(
            name, module, bundle.threads, bundle.voice, str(voice), str(model), str(config), SAMPLE_RATE
        )
        for name, (module, model) in engines.items()
    }


def _other_bundle(options: Options) -> BundleEngine:
    """Returns a bundle that is not the one of the goals, named after its precision."""
    name = f"{BUNDLE}-{options.manifest.precision}"
    return replace(alone.bundle_engine(options), name=name)


def _loaded(stack: ExitStack, engines: Mapping[str, AnyEngine], threads: int) -> dict[str, EngineProcess]:
    return {
        name: stack.enter_context(EngineProcess(replace(engine, threads=threads)))
        for name, engine in engines.items()
    }


def _timings(
    options: Options, engines: Mapping[str, AnyEngine], idleness: Idleness, step: Step
) -> Iterator[Timing]:
    for threads in options.threads:
        with ExitStack() as stack:
            step(f"load {', '.join(NAMES[name] for name in engines)}; threads: {threads}")
            processes = _loaded(stack, engines, threads)
            for tokens in options.tokens:
                phonemes = options.phonemes(tokens)
                found = interleave(processes, phonemes, phonemes, options.rounds, idleness)
                timings = [alone.timing(name, threads, tokens, spoken) for name, spoken in found.items()]
                rates = ", ".join(f"{NAMES[timing.engine]} {timing.rate:.3f}" for timing in timings)
                step(f"threads: {threads}, {tokens} tokens; s for a second of audio: {rates}")
                yield from timings


def _cold_starts(
    options: Options, engines: Mapping[str, AnyEngine], wav: Path, step: Step
) -> Iterator[ColdStart]:
    """Times whole processes, interleaved, after one of each that fills the system's cache of files."""
    tokens = options.headline()
    step(f"cold starts at {tokens} tokens")
    seconds: dict[str, list[float]] = {name: [] for name in engines}
    for order in rotated(tuple(engines), min(alone.MOST_COLD_STARTS, options.rounds) + 1):
        for name in order:
            seconds[name].append(time_cold_start(engines[name], options.phonemes(tokens), wav))
    for name, times in seconds.items():
        yield ColdStart(name, tokens, tuple(times[1:]))


def _memory(options: Options, engines: Mapping[str, AnyEngine], step: Step) -> list[PeakMemory]:
    found = [peak for engine in engines.values() for peak in alone.peak_memory(options, engine, step)]
    return sorted(found, key=lambda peak: peak.tokens)


def _quality(options: Options, engines: Mapping[str, AnyEngine], step: Step) -> tuple[Quality, ...]:
    utterances = [options.phonemes(tokens) for tokens in options.tokens]
    with ExitStack() as stack:
        step("quality beside PyTorch")
        return quality(_loaded(stack, engines, max(options.threads)), utterances)


def _footprints(options: Options, engines: Mapping[str, AnyEngine], step: Step) -> Iterator[Footprint]:
    phonemes = options.phonemes(options.headline())
    for name, engine in engines.items():
        step(f"a second process of {NAMES[name]}")
        with EngineProcess(engine) as first, EngineProcess(engine) as second:
            for process in (first, second):
                process.speak(phonemes)
            yield Footprint(name, _model_bytes(engine), second.private_memory())


def _model_bytes(engine: AnyEngine) -> int:
    """Returns the size of the files of an engine's model."""
    if isinstance(engine, Competitor):
        return Path(engine.model).stat().st_size
    return sum(entry.bytes for entry in read_manifest(Path(engine.bundle)).files)


def _streams(options: Options, clients: Mapping[str, AnyEngine], step: Step) -> Iterator[StreamTiming]:
    """Times a long text in pieces, on the same weights, voice and phonemes."""
    text = options.long_text()
    with ExitStack() as stack:
        step(f"a text of {len(text):,} phonemes by {', '.join(NAMES[name] for name in clients)}")
        processes = _loaded(stack, clients, max(options.threads))
        rounds = min(alone.MOST_STREAMS, options.rounds)
        found = interleave(processes, text[: alone.STREAM_WARM_UP], text, rounds, Idleness())
        for name, spoken in found.items():
            yield alone.stream_timing(name, text, spoken, processes[name].peak_memory())


def _peaks(options: Options, step: Step) -> Iterator[Peak]:
    """Yields the multiply-add peak of this machine for each number of threads."""
    for threads in options.threads:
        step(f"multiply-add peak; threads: {threads}")
        rate = call_fresh("The multiply-add loop", threads, multiply_add_rate, options.level, threads)
        yield Peak(threads, rate)
