"""The tables of a benchmark; a terminal and Markdown show the same ones."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

from exporter.bench.figure_table import FigureTable
from exporter.bench.goals import Goal, goals, mebibytes, stream_goals
from exporter.bench.results import (
    BUNDLE,
    ENGINES,
    KOKORO_ONNX,
    NAMES,
    ONNXRUNTIME,
    Benchmark,
    KernelTime,
    Profile,
    ratio,
)
from exporter.bench.work import EFFECTIVE

GOALS_HEAD = ("figure", *(NAMES[name] for name in ENGINES), "ratio", "at least", "goal", "reached")
_SMALLEST_SHARE = 0.003
"""Kernels that take less of the utterance are shown together."""


def tables(benchmark: Benchmark) -> tuple[FigureTable, ...]:
    """Returns every table of a benchmark that has rows."""
    made = (goals_table(benchmark), *_measurements(benchmark), *_profile(benchmark))
    return tuple(table for table in made if table.rows)


def goals_table(benchmark: Benchmark) -> FigureTable:
    """Returns the table of the goals."""
    threads = _count(benchmark.most_threads, "thread")
    return FigureTable(
        "Goals",
        GOALS_HEAD,
        tuple(map(_goal_row, goals(benchmark))),
        note=f"Times are seconds of computing for a second of audio, on {threads}, medians of "
        f"{benchmark.rounds} interleaved rounds. A ratio is the bundle's figure over {NAMES[ONNXRUNTIME]}'s, "
        "unless the row names PyTorch.",
    )


def _measurements(benchmark: Benchmark) -> Iterator[FigureTable]:
    yield FigureTable(
        "Seconds of computing",
        ("tokens", "threads", "engine", "audio", "median", "least", "a second of audio", "÷ ONNX Runtime"),
        tuple(
            _timing_row(benchmark, tokens, threads, engine)
            for tokens in benchmark.tokens
            for threads in benchmark.threads
            for engine in ENGINES
            if benchmark.timing(engine, tokens, threads) is not None
        ),
        labels=3,
        note="Warm, from phonemes to samples. Medians; the seconds of audio are each engine's own.",
    )
    yield FigureTable(
        "Cold start",
        ("engine", "tokens", "median", "least", "greatest"),
        tuple(
            (NAMES[each.engine], str(each.tokens), *(_s(value) for value in (each.median, min(each.seconds),
             max(each.seconds))))
            for each in benchmark.cold_starts
        ),
        note="From process start to a written WAV file, with files in the system's cache; the bundle "
        "verifies all of its files.",
    )  # fmt: skip
    peaks = ((NAMES[each.engine], str(each.tokens), mebibytes(each.bytes)) for each in benchmark.memory)
    yield FigureTable(
        "Peak memory",
        ("engine", "tokens", "peak"),
        tuple(peaks),
        note="VmHWM of a fresh process that spoke twice, mapped pages included.",
    )
    yield from _streams(benchmark)
    yield FigureTable(
        "Sizes",
        ("what", "MB"),
        tuple((what, f"{size / 1e6:,.1f}") for what, size in benchmark.sizes.items()),
    )
    yield FigureTable(
        "Multiply-add peak of the machine",
        ("threads", "GFLOP/s"),
        tuple((str(each.threads), f"{each.gflops:,.0f}") for each in benchmark.peaks),
        note="Loops of fused multiply-adds on registers, compiled by TVM, measured in the same run.",
    )


def _goal_row(goal: Goal) -> tuple[str, ...]:
    values = (goal.written(goal.values[name]) if name in goal.values else "–" for name in ENGINES)
    limit = goal.written if goal.peer is None else "{:.2f}".format
    limits = (limit(goal.at_least), limit(goal.goal))
    return (goal.figure, *values, _ratio(goal.ratio), *limits, goal.reached or "–")


def _streams(benchmark: Benchmark) -> Iterator[FigureTable]:
    found = {each.engine: each for each in benchmark.streams}
    if not found:
        return
    ours, theirs = found[BUNDLE], found[KOKORO_ONNX]
    yield FigureTable(
        f"A text of {ours.characters:,} phonemes, piece by piece",
        ("figure", NAMES[BUNDLE], NAMES[KOKORO_ONNX], "ratio", "at most", "reached"),
        tuple(
            (
                goal.figure, *(goal.written(goal.values[name]) for name in (BUNDLE, KOKORO_ONNX)),
                _ratio(goal.ratio), f"{goal.at_least:g}", "no" if goal.reached == "no" else "yes",
            )
            for goal in stream_goals(benchmark)
        ),
        note=f"Both clients stream, on {_count(benchmark.most_threads, 'thread')}, the same weights, voice "
        f"and phonemes; medians of {len(ours.first)} interleaved rounds. Audio: {ours.audio_seconds:.1f} and "
        f"{theirs.audio_seconds:.1f} s (kokoro-onnx trims silence).",
    )  # fmt: skip


def _timing_row(benchmark: Benchmark, tokens: int, threads: int, engine: str) -> tuple[str, ...]:
    timing = benchmark.timing(engine, tokens, threads)
    assert timing is not None
    peer = benchmark.timing(ONNXRUNTIME, tokens, threads)
    return (
        str(tokens), str(threads), NAMES[engine], _s(timing.audio_seconds), _s(timing.median),
        _s(min(timing.seconds)), f"{timing.rate:.4f}",
        _ratio(ratio(timing.rate, peer.rate if peer else None)),
    )  # fmt: skip


def _profile(benchmark: Benchmark) -> Iterator[FigureTable]:
    profile = benchmark.profile
    if profile is None:
        return
    peak = benchmark.peak(profile.threads)
    whole = profile.seconds
    hooked = sum(stage.hooked_seconds for stage in profile.stages)
    plain = sum(stage.seconds for stage in profile.stages)
    timing = benchmark.timing(BUNDLE, profile.tokens, profile.threads)
    warm = f", {_ms(timing.median)} ms between its peers" if timing else ""
    yield FigureTable(
        f"Stages at {profile.tokens} tokens, {_count(profile.threads, 'thread')}",
        ("stage", "ms", "share", "ms hooked", "ms in kernels", "GFLOP", "GFLOP/s", "of peak"),
        tuple(_stage_row(profile, index, peak) for index in range(len(profile.stages))),
        note=f"The utterance, {profile.audio_seconds:.2f} s of audio, took {_ms(whole)} ms{warm}; its stages "
        f"{_ms(plain)} ms, and {_ms(hooked)} ms with the hook between their kernels. Nothing was subtracted. "
        f"Medians of {profile.rounds} runs. The peak is the machine's multiply-add peak.",
    )
    columns = ("calls", "ms", "share", "GFLOP", "GFLOP/s", "of peak", "real Gmul", "GB", "GB/s")
    by_family = sorted(profile.kernels, key=lambda kernel: kernel.family)
    families = [list(group) for _, group in groupby(by_family, key=lambda kernel: kernel.family)]
    families.sort(key=lambda group: -sum(kernel.seconds for kernel in group))
    yield FigureTable(
        "Families of kernels",
        ("family", *columns),
        tuple((_family(group), *_work_cells(group, whole, peak)) for group in families),
        details=(1, 4, 7, 8),
        note=_counting_note(profile),
    )
    shown = [kernel for kernel in profile.kernels if kernel.seconds >= _SMALLEST_SHARE * whole]
    rest = [kernel for kernel in profile.kernels if kernel.seconds < _SMALLEST_SHARE * whole]
    shown.sort(key=lambda kernel: -kernel.seconds)
    rows = [(kernel.stage, kernel.kernel, *_work_cells([kernel], whole, peak)) for kernel in shown]
    if rest:
        rows.append(("all", f"{len(rest)} more", *_work_cells(rest, whole, peak)))
    yield FigureTable("Kernels", ("stage", "kernel", *columns), tuple(rows), labels=2, details=(2, 5, 8, 9))


def _family(kernels: Sequence[KernelTime]) -> str:
    """Returns the name of a family, marked if its operations are not those that are made."""
    family = kernels[0].family
    return f"{family}, effective" if family in EFFECTIVE else family


def _counting_note(profile: Profile) -> str:
    uncounted = sorted({kernel.family for kernel in profile.kernels if kernel.gflop is None})
    unknown = f" **Not counted: {', '.join(uncounted)}.**" if uncounted else ""
    return (
        "GFLOP is what a direct computation takes, two for a multiply-add, as PyTorch computes it; where a "
        "kernel saves some it is effective, and real Gmul are the multiplications that are made. GB counts "
        f"each argument of a call once.{unknown}"
    )


def _stage_row(profile: Profile, index: int, peak: float | None) -> tuple[str, ...]:
    stage = profile.stages[index]
    gflop = sum(kernel.gflop or 0.0 for kernel in profile.kernels if kernel.stage == stage.stage)
    rate = gflop / stage.seconds
    return (
        stage.stage, _ms(stage.seconds), f"{stage.seconds / profile.seconds:.1%}", _ms(stage.hooked_seconds),
        _ms(stage.kernel_seconds), f"{gflop:.2f}", f"{rate:.0f}", _of(rate, peak),
    )  # fmt: skip


def _work_cells(kernels: Sequence[KernelTime], whole: float, peak: float | None) -> tuple[str, ...]:
    seconds = sum(kernel.seconds for kernel in kernels)
    counted = [kernel.gflop for kernel in kernels if kernel.gflop is not None]
    gflop = sum(counted) if len(counted) == len(kernels) else None
    gb = sum(kernel.gb for kernel in kernels)
    real = sum(kernel.real_gmul for kernel in kernels)
    work = ("not counted", "–", "–", "–")
    if gflop is not None:
        work = (f"{gflop:.3f}", f"{gflop / seconds:.0f}", _of(gflop / seconds, peak), f"{real:.3f}")
    calls = sum(kernel.calls for kernel in kernels)
    return (str(calls), _ms(seconds), f"{seconds / whole:.1%}", *work, f"{gb:.3f}", f"{gb / seconds:.1f}")


def _of(rate: float, peak: float | None) -> str:
    return "–" if peak is None else f"{rate / peak:.0%}"


def _ratio(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}"


def _s(seconds: float) -> str:
    return f"{seconds:.3f} s"


def _ms(seconds: float) -> str:
    return f"{1000 * seconds:.2f}"


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"
