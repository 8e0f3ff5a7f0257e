"""The tables of a benchmark; a terminal and Markdown show the same ones."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Mapping, Sequence

from exporter.measure.engine import BUNDLE
from exporter.measure.figure_table import FigureTable
from exporter.measure.results import Benchmark, KernelTime, Profile, Timing

Rows = dict[tuple[str, ...], list[KernelTime]]
"""The kernels of each row of a table, by the words that the row begins with."""
_NAMES = {BUNDLE: BUNDLE}
_SMALLEST_SHARE = 0.003
"""Kernels that take less of the utterance are shown together."""


def tables(benchmark: Benchmark) -> tuple[FigureTable, ...]:
    """Returns every table of a benchmark of one bundle."""
    return (
        timings_table(benchmark),
        *fresh_process_tables(benchmark),
        *_streams(benchmark),
        sizes_table(benchmark),
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


def sizes_table(benchmark: Benchmark) -> FigureTable:
    """Returns the table of the sizes of files."""
    rows = ((what, f"{size / 1e6:,.1f}") for what, size in benchmark.sizes.items())
    return FigureTable("Sizes", ("what", "MB"), tuple(rows))


def profile_tables(benchmark: Benchmark) -> Iterator[FigureTable]:
    """Yields the stages, the families of kernels and the kernels; nothing without a profile."""
    profile = benchmark.profile
    if profile is None:
        return
    hooked = sum(stage.hooked_seconds for stage in profile.stages)
    plain = sum(stage.seconds for stage in profile.stages)
    timing = benchmark.timing(BUNDLE, profile.tokens, profile.threads)
    warm = f", {_ms(timing.median)} ms among the timings above" if timing else ""
    yield FigureTable(
        f"Stages at {profile.tokens} tokens, {plural(profile.threads, 'thread')}",
        ("stage", "ms", "share", "ms hooked", "ms in kernels"),
        tuple(
            (
                each.stage, _ms(each.seconds), f"{each.seconds / profile.seconds:.1%}",
                _ms(each.hooked_seconds), _ms(each.kernel_seconds),
            )
            for each in profile.stages
        ),
        note=f"The utterance, {profile.audio_seconds:.2f} s of audio, took {_ms(profile.seconds)} ms{warm}; "
        f"its stages {_ms(plain)} ms, and {_ms(hooked)} ms with the hook between their kernels. Nothing was "
        f"subtracted. Medians of {profile.rounds} runs.",
    )  # fmt: skip
    columns = ("calls", "ms", "share")
    yield FigureTable("Families of kernels", ("family", *columns), _rows(families(profile), profile))
    yield FigureTable("Kernels", ("stage", "kernel", *columns), _rows(kernels(profile), profile), labels=2)


def families(profile: Profile) -> Rows:
    """Returns the kernels of each family, the slowest family first."""
    found: Rows = {}
    for kernel in profile.kernels:
        found.setdefault((kernel.family,), []).append(kernel)
    return dict(sorted(found.items(), key=lambda row: -sum(kernel.seconds for kernel in row[1])))


def kernels(profile: Profile) -> Rows:
    """Returns each slow kernel, the slowest first, and then all others together."""
    ordered = sorted(profile.kernels, key=lambda kernel: -kernel.seconds)
    shown = [kernel for kernel in ordered if kernel.seconds >= _SMALLEST_SHARE * profile.seconds]
    rest = ordered[len(shown) :]
    found: Rows = {(kernel.stage, kernel.kernel): [kernel] for kernel in shown}
    return found | ({("all", f"{len(rest)} more"): rest} if rest else {})


def _rows(rows: Rows, profile: Profile) -> tuple[tuple[str, ...], ...]:
    return tuple((*labels, *_time_cells(group, profile.seconds)) for labels, group in rows.items())


def _time_cells(group: Sequence[KernelTime], whole: float) -> tuple[str, ...]:
    seconds = sum(kernel.seconds for kernel in group)
    return (str(sum(len(kernel.calls) for kernel in group)), _ms(seconds), f"{seconds / whole:.1%}")


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
