"""The work of stages and kernels beside the multiply-add peak of the machine."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from benchmarks.results import Comparison
from benchmarks.work import EFFECTIVE, Work, work_of
from exporter.measure.figure_table import FigureTable
from exporter.measure.results import KernelTime, Profile
from exporter.measure.tables import Rows, families, kernels, profile_tables

_RATE_COLUMNS = ("GFLOP", "GFLOP/s", "of peak")
_WORK_COLUMNS = (*_RATE_COLUMNS, "real Gmul", "GB", "GB/s")


def work_of_calls(group: Sequence[KernelTime]) -> Work:
    """Returns the work of all calls of several kernels; its `flop` is None if one of them is not counted."""
    works = [work_of(kernel.kernel, call) for kernel in group for call in kernel.calls]
    flops = [work.flop for work in works if work.flop is not None]
    return Work(
        sum(flops) if len(flops) == len(works) else None,
        sum(work.real_multiplications for work in works),
        sum(work.bytes for work in works),
    )


def work_content(kernel: KernelTime) -> dict[str, float | None]:
    """Returns the work of a kernel as JSON holds it, in 1e9."""
    work = work_of_calls([kernel])
    gflop = None if work.flop is None else work.flop / 1e9
    return {"gflop": gflop, "real_gmul": work.real_multiplications / 1e9, "gb": work.bytes / 1e9}


def roofline_tables(comparison: Comparison) -> Iterator[FigureTable]:
    """Yields the machine's peak, and the tables of the profile with the work of their rows."""
    yield FigureTable(
        "Multiply-add peak of the machine",
        ("threads", "GFLOP/s"),
        tuple((str(each.threads), f"{each.gflops:,.0f}") for each in comparison.peaks),
        note="Loops of fused multiply-adds on registers, compiled by TVM, measured in the same run.",
    )
    profile = comparison.profile
    if profile is None:
        return
    peak = comparison.peak(profile.threads)
    of_stages, of_families, of_kernels = profile_tables(comparison)
    yield replace(
        of_stages,
        head=(*of_stages.head, *_RATE_COLUMNS),
        rows=tuple((*row, *_stage_cells(profile, index, peak)) for index, row in enumerate(of_stages.rows)),
        note=f"{of_stages.note} The peak is the machine's multiply-add peak.",
    )
    marked: Rows = {(_family(*label),): group for label, group in families(profile).items()}
    yield replace(_with_work(of_families, marked, peak), details=(1, 4, 7, 8), note=_counting_note(profile))
    yield replace(_with_work(of_kernels, kernels(profile), peak), details=(2, 5, 8, 9))


def _with_work(table: FigureTable, groups: Rows, peak: float | None) -> FigureTable:
    rows = tuple(
        (*labels, *row[table.labels :], *_work_cells(group, peak))
        for row, (labels, group) in zip(table.rows, groups.items(), strict=True)
    )
    return replace(table, head=(*table.head, *_WORK_COLUMNS), rows=rows)


def _family(family: str) -> str:
    """Returns the name of a family, marked if its operations are counted as in a direct convolution."""
    return f"{family}, effective" if family in EFFECTIVE else family


def _counting_note(profile: Profile) -> str:
    uncounted = sorted({each.family for each in profile.kernels if work_of_calls([each]).flop is None})
    unknown = f" **Not counted: {', '.join(uncounted)}.**" if uncounted else ""
    return (
        "GFLOP is what a direct computation takes, two for a multiply-add, as PyTorch computes it; where a "
        "kernel saves some it is effective, and real Gmul are the multiplications that are made. GB counts "
        f"each argument of a call once.{unknown}"
    )


def _stage_cells(profile: Profile, index: int, peak: float | None) -> tuple[str, ...]:
    stage = profile.stages[index]
    works = (work_of_calls([kernel]) for kernel in profile.kernels if kernel.stage == stage.stage)
    gflop = sum(work.flop or 0.0 for work in works) / 1e9
    rate = gflop / stage.seconds
    return (f"{gflop:.2f}", f"{rate:.0f}", _of(rate, peak))


def _work_cells(group: Sequence[KernelTime], peak: float | None) -> tuple[str, ...]:
    seconds = sum(kernel.seconds for kernel in group)
    work = work_of_calls(group)
    counted = ("not counted", "–", "–", "–")
    if work.flop is not None:
        rate = work.flop / 1e9 / seconds
        multiplications = f"{work.real_multiplications / 1e9:.3f}"
        counted = (f"{work.flop / 1e9:.3f}", f"{rate:.0f}", _of(rate, peak), multiplications)
    return (*counted, f"{work.bytes / 1e9:.3f}", f"{work.bytes / 1e9 / seconds:.1f}")


def _of(rate: float, peak: float | None) -> str:
    return "–" if peak is None else f"{rate / peak:.0%}"
