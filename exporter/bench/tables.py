"""The tables of a benchmark; a terminal and Markdown show the same ones."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby

from exporter.bench.engine import BUNDLE
from exporter.bench.figure_table import FigureTable
from exporter.bench.results import Benchmark, KernelTime, Profile, Timing
from exporter.bench.work import EFFECTIVE

_NAMES = {BUNDLE: BUNDLE}
_SMALLEST_SHARE = 0.003
"""Kernels that take less of the utterance are shown together."""


def tables(benchmark: Benchmark) -> tuple[FigureTable, ...]:
    """Returns every table of a benchmark of one bundle."""
    return (
        timings_table(benchmark),
        *fresh_process_tables(benchmark),
        *_streams(benchmark),
        *size_and_peak_tables(benchmark),
        *profile_tables(benchmark),
    )


def by_length(benchmark: Benchmark) -> list[Timing]:
    """Returns the timings in the order of lengths and numbers of threads."""
    return sorted(benchmark.timings, key=lambda timing: (timing.tokens, timing.threads))


def timings_table(benchmark: Benchmark, names: Mapping[str, str] = _NAMES) -> FigureTable:
    """Returns the table of warm utterances, a row for each of `by_length`.

    Args:
        benchmark: the figures.
        names: names of the engines for the reader.
    """
    return FigureTable(
        "Seconds of computing",
        ("tokens", "threads", "engine", "audio", "median", "least", "a second of audio"),
        tuple(
            (
                str(each.tokens), str(each.threads), names[each.engine], in_seconds(each.audio_seconds),
                in_seconds(each.median), in_seconds(min(each.seconds)), f"{each.rate:.4f}",
            )
            for each in by_length(benchmark)
        ),
        labels=3,
        note="Warm, from phonemes to samples. Medians; the seconds of audio are each engine's own.",
    )  # fmt: skip


def fresh_process_tables(benchmark: Benchmark, names: Mapping[str, str] = _NAMES) -> Iterator[FigureTable]:
    """Yields the tables of cold starts and of peak memory."""
    yield FigureTable(
        "Cold start",
        ("engine", "tokens", "median", "least", "greatest"),
        tuple(
            (names[each.engine], str(each.tokens), *map(in_seconds, (each.median, min(each.seconds),
             max(each.seconds))))
            for each in benchmark.cold_starts
        ),
        note="From process start to a written WAV file, with files in the system's cache; the bundle "
        "verifies all of its files.",
    )  # fmt: skip
    peaks = ((names[each.engine], str(each.tokens), mebibytes(each.bytes)) for each in benchmark.memory)
    yield FigureTable(
        "Peak memory",
        ("engine", "tokens", "peak"),
        tuple(peaks),
        note="VmHWM of a fresh process that spoke twice, mapped pages included.",
    )


def _streams(benchmark: Benchmark) -> Iterator[FigureTable]:
    for stream in benchmark.streams:
        yield FigureTable(
            f"A text of {stream.characters:,} phonemes, piece by piece",
            ("audio", "first audio, warm", "whole text", "peak memory"),
            ((
                in_seconds(stream.audio_seconds), in_seconds(statistics.median(stream.first)),
                in_seconds(statistics.median(stream.seconds)), mebibytes(stream.bytes),
            ),),
            labels=0,
            note=f"{plural(benchmark.most_threads, 'thread')}; medians of {len(stream.first)} rounds.",
        )  # fmt: skip


def size_and_peak_tables(benchmark: Benchmark) -> Iterator[FigureTable]:
    """Yields the tables of the sizes of files and of the machine's multiply-add peak."""
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


def profile_tables(benchmark: Benchmark) -> Iterator[FigureTable]:
    """Yields the stages, the families of kernels and the kernels; nothing without a profile."""
    profile = benchmark.profile
    if profile is None:
        return
    peak = benchmark.peak(profile.threads)
    whole = profile.seconds
    hooked = sum(stage.hooked_seconds for stage in profile.stages)
    plain = sum(stage.seconds for stage in profile.stages)
    timing = benchmark.timing(BUNDLE, profile.tokens, profile.threads)
    warm = f", {_ms(timing.median)} ms among the timings above" if timing else ""
    yield FigureTable(
        f"Stages at {profile.tokens} tokens, {plural(profile.threads, 'thread')}",
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


def in_seconds(value: float) -> str:
    """Returns seconds as text."""
    return f"{value:.3f} s"


def mebibytes(value: float) -> str:
    """Returns a number of bytes as text."""
    return f"{value / (1 << 20):,.0f} MiB"


def _ms(seconds: float) -> str:
    return f"{1000 * seconds:.2f}"


def plural(number: int, what: str) -> str:
    """Returns a number and its noun."""
    return f"{number} {what}{'' if number == 1 else 's'}"
