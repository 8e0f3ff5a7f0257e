"""The tables of a comparison; a terminal and Markdown show the same ones."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from benchmarks.goals import Goal, goals, stream_goals
from benchmarks.results import ENGINES, KOKORO_ONNX, LIBKOKORO, NAMES, ONNXRUNTIME, SHERPA, Comparison, ratio
from benchmarks.roofline import roofline_tables
from exporter.measure.engine import BUNDLE
from exporter.measure.figure_table import FigureTable
from exporter.measure.options import HEADLINE, LONGEST
from exporter.measure.tables import (
    by_length,
    fresh_process_tables,
    mebibytes,
    plural,
    sizes_table,
    timings_table,
)

_NOTE = (
    "Model: a bundle with its runtime and voices, the checkpoint or the ONNX file. Start: from the start of "
    "a process to a written WAV file. Time: seconds of computing for a second of audio. Memory: mapped files "
    "included. Second process: the memory that it does not share with the first. Durations moved: the share "
    "of the tokens whose duration is not PyTorch's. Log-mel distance: that to PyTorch over that of PyTorch "
    "to itself with other noise, in the frames that both have."
)
_IN_C = "In C, without Python"
_NOTE_IN_C = (
    f"{NAMES[LIBKOKORO]} speaks from the bundle beside it, whose runtime is in Python. {NAMES[SHERPA]} "
    "speaks through its C API from kokoro's own ONNX export with the same weights. Each is linked into a "
    "small program. Library: what the program needs besides those of the system."
)


def tables(comparison: Comparison) -> tuple[FigureTable, ...]:
    """Returns every table of a comparison that has rows."""
    made = (
        _goals(comparison),
        *_side_by_side(comparison),
        _timings(comparison),
        *fresh_process_tables(comparison, comparison.names),
        *_streams(comparison),
        sizes_table(comparison),
        *roofline_tables(comparison),
    )
    return tuple(table for table in made if table.rows)


def _goals(comparison: Comparison) -> FigureTable:
    return FigureTable(
        "Goals",
        ("figure", *(comparison.names[name] for name in ENGINES), "ratio", "at least", "goal", "reached"),
        tuple(map(_goal_row, goals(comparison))),
        note="Times are seconds of computing for a second of audio, on "
        f"{plural(comparison.most_threads, 'thread')}, medians of {comparison.rounds} interleaved rounds. "
        f"A ratio is the bundle's figure over {NAMES[ONNXRUNTIME]}'s, unless the row names PyTorch.",
    )


def _goal_row(goal: Goal) -> tuple[str, ...]:
    values = (goal.written(goal.values[name]) if name in goal.values else "–" for name in ENGINES)
    limit = goal.written if goal.peer is None else "{:.2f}".format
    limits = (limit(goal.at_least), limit(goal.goal))
    return (goal.figure, *values, _ratio(goal.ratio), *limits, goal.reached or "–")


def _side_by_side(comparison: Comparison) -> Iterator[FigureTable]:
    """Yields a table of size, time, memory and quality by engine, and one for the engines in C."""
    in_c = [each.engine for each in comparison.footprints if each.library_bytes is not None]
    others = [each.engine for each in comparison.footprints if each.library_bytes is None]
    for title, engines, note in (("Side by side", others, _NOTE), (_IN_C, [BUNDLE, *in_c], _NOTE_IN_C)):
        rows = (
            (figure, *(values.get(name, "–") for name in engines))
            for figure, values in _figures(comparison)
            # Engines in Python have no library of their own, and programs in C give no durations.
            if engines[-1] in values
        )
        head = ("figure", *(comparison.names[name] for name in engines))
        yield FigureTable(title, head, tuple(rows), note=note)


def _figures(comparison: Comparison) -> Iterator[tuple[str, dict[str, str]]]:
    """Yields the name of each figure and its values by engine."""
    files, heard = comparison.footprints, comparison.quality
    libraries = ((each.engine, each.library_bytes) for each in files)
    yield "library", {name: f"{size / 1e6:,.1f} MB" for name, size in libraries if size is not None}
    yield "model", {each.engine: f"{each.bytes / 1e6:,.0f} MB" for each in files}
    starts = {each.engine: f"{each.median:.2f} s" for each in comparison.cold_starts}
    yield f"start to WAV at {HEADLINE} tokens", starts
    for tokens in comparison.tokens:
        found = (comparison.timing(each.engine, tokens) for each in files)
        yield f"time at {tokens} tokens", {each.engine: f"{each.rate:.3f}" for each in found if each}
    yield f"resident after {HEADLINE} tokens", {each.engine: mebibytes(each.resident) for each in files}
    for tokens in (HEADLINE, LONGEST):
        peaks = {each.engine: mebibytes(each.bytes) for each in comparison.memory if each.tokens == tokens}
        yield f"peak memory at {tokens} tokens", peaks
    yield "second process", {each.engine: mebibytes(each.second_process) for each in files}
    yield "durations moved", {each.engine: f"{each.moved:.1%}" for each in heard}
    yield "log-mel distance", {each.engine: f"{each.log_mel:.2f}" for each in heard}


def _timings(comparison: Comparison) -> FigureTable:
    table, ratios = timings_table(comparison, comparison.names), []
    for timing in by_length(comparison):
        peer = comparison.timing(ONNXRUNTIME, timing.tokens, timing.threads)
        ratios.append(_ratio(ratio(timing.rate, peer.rate if peer else None)))
    rows = tuple((*row, found) for row, found in zip(table.rows, ratios, strict=True))
    return replace(table, head=(*table.head, f"÷ {NAMES[ONNXRUNTIME]}"), rows=rows)


def _streams(comparison: Comparison) -> Iterator[FigureTable]:
    found = {each.engine: each for each in comparison.streams}
    if not found:
        return
    ours, theirs = found[BUNDLE], found[KOKORO_ONNX]
    yield FigureTable(
        f"A text of {ours.characters:,} phonemes, piece by piece",
        ("figure", comparison.names[BUNDLE], NAMES[KOKORO_ONNX], "ratio", "at most", "reached"),
        tuple(
            (
                goal.figure, *(goal.written(goal.values[name]) for name in (BUNDLE, KOKORO_ONNX)),
                _ratio(goal.ratio), f"{goal.at_least:g}", "no" if goal.reached == "no" else "yes",
            )
            for goal in stream_goals(comparison)
        ),
        note=f"Both clients stream, on {plural(comparison.most_threads, 'thread')}, the same weights, voice "
        f"and phonemes; medians of {len(ours.first)} and {len(theirs.first)} interleaved rounds. Audio: "
        f"{ours.audio_seconds:.1f} and {theirs.audio_seconds:.1f} s (kokoro-onnx trims silence).",
    )  # fmt: skip


def _ratio(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}"
