"""The report's page: one file that needs nothing else, for light and dark, desk and phone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from importlib.resources import files
from itertools import cycle

import numpy as np

from exporter.validate.report import text as words
from exporter.validate.report.detail import KINDS, detail
from exporter.validate.report.plots import Axis, Line, chart, range_axis
from exporter.validate.results import BUNDLE, EQUAL, STATIC, Plot, Report, SpokenSteps, Step, Table, share
from runtime_min.format.signatures import FRAMES_PER_SECOND
from runtime_min.model.distances import Figure

_SERIES = ("fourth", "equal", "fifth", "reference")
"""Colours of an experiment's lines that are no execution of their own."""
_WORST = ' class="worst"'
_NOTES = """\
<details class="notes"><summary>How to read this</summary>
<p><b>pt.dynamic</b> is kokoro's own <code>KModel</code>, what everything is compared with.
<b>Equal inputs</b> is a step of the bundle on pt.dynamic's inputs of that very step: it alone is judged,
because the waveform is nearly chaotic in F0, and rounding there looks like a fault everywhere after it.
<b>Chain</b> is the bundle as it speaks, each step on what the bundle's step before it gave.
<b>Static</b> is the same weights padded to a bucket: the naive port.</p>
<p>The last columns compare pt.dynamic with itself: no two programs can be expected to be closer than that.
SNR is the power of the reference over that of the difference; errors are on the valid prefix only.
A share of the limit of 1 is the limit.</p></details>"""


def page(report: Report, audio: Sequence[Mapping[str, str]]) -> str:
    """The whole page.

    Args:
        report: what validation found.
        audio: of each utterance, paths of what can be heard, by execution.
    """
    style = (files("exporter.validate.report") / "data" / "report.css").read_text(encoding="utf-8")
    spoken = zip(report.utterances, audio, strict=True)
    sections = "".join(_utterance(index, each, files_of) for index, (each, files_of) in enumerate(spoken))
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta name="color-scheme" content="light dark">'
        f"<title>{'Holds' if report.holds else 'Missed'}: {escape(words.one_line(report.bundle))}</title>"
        f"<style>{style}</style></head>\n<body><main>{_header(report)}{sections}{_NOTES}</main></body></html>\n"
    )


def _header(report: Report) -> str:
    facts = {"bundle": report.bundle, **report.facts}
    entries = "".join(
        f"<div><dt>{_text(name)}</dt><dd>{_text(value)}</dd></div>" for name, value in facts.items()
    )
    links = "".join(
        f'<li><a href="#u{index}">{_mark(spoken.holds)} '
        f'<span lang="x-ipa">{_text(words.quote(spoken.utterance.phonemes))}</span></a></li>'
        for index, spoken in enumerate(report.utterances)
    )
    contents = f'<nav aria-label="Utterances"><ol>{links}</ol></nav>' if len(report.utterances) > 1 else ""
    outcome = "Every step is within its limits" if report.holds else "A limit is missed"
    return (
        f'<header><p class="brow">kokoro-export validate steps</p>'
        f'<h1 class="{_class(report.holds)}">{_mark(report.holds)} {outcome}</h1>'
        f'<p class="verdict">{_text(words.verdict(report))}</p><dl>{entries}</dl>{contents}</header>'
    )


def _utterance(index: int, spoken: SpokenSteps, audio: Mapping[str, str]) -> str:
    sections = "".join(_step(index, number, step, spoken, audio) for number, step in enumerate(spoken.steps))
    experiments = "".join(map(_experiment, spoken.tables))
    seconds = f"{spoken.frames / FRAMES_PER_SECOND:.2f} s"
    return (
        f'<section class="utterance" id="u{index}"><h2 lang="x-ipa">{_text(spoken.utterance.phonemes)}</h2>'
        f'<p class="facts">{_text(words.speaker(spoken))} ({seconds})</p>'
        f"{_steps(index, spoken)}{_chain(spoken.chain)}"
        f"{f'<h3>Experiments</h3>{experiments}' if experiments else ''}"
        f"<h3>Step by step</h3>{sections}</section>"
    )


def _steps(index: int, spoken: SpokenSteps) -> str:
    changes = words.own_changes(spoken)
    own = (
        f'<th scope="colgroup" colspan="{len(changes)}">pt.dynamic against itself, dB</th>' if changes else ""
    )
    judged = ("", "judged", "of its limit", "SNR, dB", "max abs", "max / RMS", "correlation", "finite")
    headings = (*judged, "chain", "static", *changes)
    cells = "".join(
        f'<th scope="col"{_group_start(column)}>{_text(heading)}</th>'
        for column, heading in enumerate(headings)
    )
    rows = "".join(_row(index, number, step, spoken, changes) for number, step in enumerate(spoken.steps))
    return (
        f'<div class="scroll"><table class="steps"><thead><tr class="groups"><td></td>'
        f'<th scope="colgroup" colspan="8">bundle, each step on pt.dynamic\'s inputs</th>'
        f'<th scope="colgroup" colspan="2">all steps, dB</th>{own}</tr>'
        f'<tr><th scope="col">step</th>{cells}</tr></thead><tbody>{rows}</tbody></table></div>'
    )


def _row(index: int, number: int, step: Step, spoken: SpokenSteps, changes: Sequence[str]) -> str:
    worst = step is spoken.worst
    figure, found = words.deciding(step), step.differences.get(EQUAL)
    cells = [_step_verdict(step), words.judged(figure) if figure else words.NONE]
    cells.append(_meter(figure) if figure else words.NONE)
    if found is None:
        cells += [words.NONE] * 5
    else:
        cells += [words.decibels(found.decibels), words.small(found.maximum), words.small(found.relative)]
        cells += [words.correlation(found.correlation), "yes" if found.finite else '<b class="bad">no</b>']
    for execution in (BUNDLE, STATIC):
        other = step.differences.get(execution)
        cells.append(words.decibels(other.decibels if other else None))
    cells += [words.decibels(step.own.get(change)) for change in changes]
    row = "".join(f"<td{_group_start(column)}>{cell}</td>" for column, cell in enumerate(cells))
    tag = f'<span class="tag">{"nearest" if step.holds else "first"}</span>' if worst else ""
    name = f'<th scope="row"><a href="#u{index}s{number}">{_text(step.name)}</a>{tag}</th>'
    return f"<tr{_WORST if worst else ''}>{name}{row}</tr>"


def _group_start(column: int) -> str:
    """Columns with which a group begins: the first of all, chain, and the first of pt.dynamic's own."""
    return ' class="start"' if column in (8, 10) else ""


def _step_verdict(step: Step) -> str:
    if not step.holds:
        place = words.first_over(step)
        return f'<b class="bad">✗ missed{f", from {place}" if place else ""}</b>'
    return '<span class="good">✓ ok</span>' if step.figures else '<span class="faint">not judged</span>'


def _meter(figure: Figure) -> str:
    used = share(figure)
    width = min(used, 1.0) * 100
    bar = f'<span class="meter {_class(figure.holds)}"><i style="width:{width:.0f}%"></i></span>'
    return bar + words.share_text(used)


def _step(index: int, number: int, step: Step, spoken: SpokenSteps, audio: Mapping[str, str]) -> str:
    found, figure = step.differences.get(EQUAL), words.deciding(step)
    number_of = (
        f"{words.decibels(found.decibels)}{' dB' if np.isfinite(found.decibels) else ''}" if found else ""
    )
    opened = " open" if step is spoken.worst else ""
    mark = _mark(step.holds) if figure else '<span class="faint">·</span>'
    body = detail(step, step.name == "audio", audio)
    return (
        f"<details{opened}><summary>{mark} <b>{_text(step.name)}</b>"
        f'<span class="end">{number_of}</span></summary>'
        f'<div class="body" id="u{index}s{number}">{body}</div></details>'
    )


def _chain(figures: Sequence[Figure]) -> str:
    if not figures:
        return ""
    rows = "".join(
        f'<tr><th scope="row">{_text(figure.name)}</th><td>{words.found(figure)}</td>'
        f"<td>{words.bound(figure)}</td>"
        f"<td>{_meter(figure)}</td><td>{_mark(figure.holds)} {'ok' if figure.holds else 'missed'}</td></tr>"
        for figure in figures
    )
    head = "".join(f'<th scope="col">{name}</th>' for name in ("", "found", "limit", "of its limit", ""))
    return (
        f'<h3>The whole chain</h3><div class="scroll"><table><thead><tr>{head}</tr></thead>'
        f"<tbody>{rows}</tbody></table></div>"
    )


def _experiment(table: Table) -> str:
    head = "".join(
        f'<th scope="col" class="{_cell_class([row[column] for row in table.rows])}">{_text(name)}</th>'
        for column, name in enumerate(table.header)
    )
    rows = "".join(_experiment_row(row, index == table.marked) for index, row in enumerate(table.rows))
    return (
        f"<article><h4>{_mark(table.holds)} {_text(table.title)}</h4>"
        f'<p class="{"conclusion" if table.holds else "conclusion bad"}">{_text(table.conclusion)}</p>'
        f"{_plot(table.title, table.plot) if table.plot else ''}"
        f'<div class="scroll"><table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>'
        "</article>"
    )


def _experiment_row(row: Sequence[str | int | float], marked: bool) -> str:
    first, *others = row
    cells = "".join(f'<td class="{_cell_class([value])}">{_text(words.cell(value))}</td>' for value in others)
    tag = '<span class="tag">here</span>' if marked else ""
    name = f'<th scope="row">{_text(words.cell(first))}{tag}</th>'
    return f"<tr{_WORST if marked else ''}>{name}{cells}</tr>"


def _cell_class(values: Sequence[str | int | float]) -> str:
    return "words" if any(isinstance(value, str) for value in values) else "number"


def _plot(title: str, plot: Plot) -> str:
    others = cycle(_SERIES)
    lines = [
        Line(
            series.name,
            KINDS[series.name] if series.name in KINDS else next(others),
            np.array(series.x, float)[order := np.argsort(series.x)],
            np.array(series.y, float)[order],
        )
        for series in plot.series
    ]
    ticks = tuple(np.unique(np.concatenate([line.x for line in lines])).tolist())
    low, high = min(ticks), max(ticks)
    if low == high:
        low, high = low - 0.5, high + 0.5
    # Where lengths were chosen, they are the labels.
    few = ticks if len(ticks) <= 8 else ()
    x_axis = Axis(plot.x_label, low, high, plot.logarithmic_x and low > 0, few)
    return chart(title, lines, x_axis, range_axis(plot.y_label, lines), tall=True)


def _text(text: str) -> str:
    return escape(words.one_line(text))


def _class(holds: bool) -> str:
    return "good" if holds else "bad"


def _mark(holds: bool) -> str:
    return f'<span class="{_class(holds)}">{"✓" if holds else "✗"}</span>'
