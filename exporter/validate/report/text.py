"""Texts of a report, the same in a terminal, on the page and in the JSON."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator

import numpy as np

from exporter.validate.results import EQUAL, Report, SpokenSteps, Step, share
from runtime_min.model.distances import Figure

NONE = "–"
"""Written in place of a missing value."""
_LONGEST_QUOTE = 32
_OPPOSITES = str.maketrans("≥≤", "<>")


def decibels(value: float | None) -> str:
    """Returns a signal-to-noise ratio, to a tenth of a decibel."""
    if value is None:
        return NONE
    return "equal" if value == np.inf else f"{value:.1f}"


def decibels_with_unit(value: float) -> str:
    """Returns a signal-to-noise ratio with its unit, where it has one."""
    return f"{decibels(value)} dB" if np.isfinite(value) else decibels(value)


def small(value: float) -> str:
    """Returns an error with two digits, however small it is."""
    return "0" if value == 0 else f"{value:.1e}"


def correlation(value: float) -> str:
    """Returns six digits, cut and not rounded, so that only 1 is written as 1."""
    return "1" if value == 1 else f"{np.trunc(value * 1e6) / 1e6:.6f}"


def cell(value: str | int | float) -> str:
    """Returns the text of a cell of an experiment's table."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:.4g}" if isinstance(value, float) else one_line(str(value))


def one_line(text: str) -> str:
    """Returns a text without line breaks and control characters, which a terminal would obey."""
    return "".join("�" if unicodedata.category(char) == "Cc" else char for char in " ".join(text.split()))


def quote(phonemes: str) -> str:
    """Returns the phonemes, or their beginning, in quotes."""
    line = one_line(phonemes)
    return f"'{line}'" if len(line) <= _LONGEST_QUOTE else f"'{line[: _LONGEST_QUOTE - 1]}…'"


def speaker(spoken: SpokenSteps) -> str:
    """Returns the voice, speed, seed and length of an utterance."""
    said = spoken.utterance
    return (
        f"{one_line(said.voice)}, speed {said.speed:g}, seed {said.seed}: "
        f"{spoken.tokens} tokens, {spoken.frames} frames"
    )


def bound(figure: Figure) -> str:
    """Returns the limit of a number, with its relation."""
    return f"≥ {figure.limit:.1f}" if figure.at_least else f"≤ {figure.limit:.2g}"


def found(figure: Figure) -> str:
    """Returns a judged number."""
    return decibels(figure.value) if figure.at_least else f"{figure.value:.2g}"


def judged(figure: Figure) -> str:
    """Returns a number and its true relation to its limit."""
    if figure.holds or np.isnan(figure.value):
        return f"{found(figure)}{',' if np.isnan(figure.value) else ''} {bound(figure)}"
    return f"{found(figure)} {bound(figure).translate(_OPPOSITES)}"


def share_text(used: float) -> str:
    """Returns a share of a limit, to a hundredth of it."""
    return f"{used:.2f}" if used < 10 else f"{used:.2g}"


def deciding(step: Step) -> Figure | None:
    """Returns the number of a step that misses its limit, or is nearest to it."""
    return max(step.figures, key=lambda figure: (not figure.holds, share(figure)), default=None)


def is_finite(step: Step) -> bool:
    """Returns whether all values of the step itself, on equal inputs, are finite."""
    return EQUAL not in step.differences or step.differences[EQUAL].finite


def first_over(step: Step) -> str:
    """Returns the place at which a step first misses its limit, or an empty text."""
    first = step.differences[EQUAL].first_over if EQUAL in step.differences else None
    return "" if step.holds or first is None else f"{step.axis[:-1]} {first}"


def own_changes(spoken: SpokenSteps) -> tuple[str, ...]:
    """Returns the changes by which pt.dynamic was compared with itself, in order of appearance."""
    return tuple(dict.fromkeys(name for step in spoken.steps for name in step.own))


def verdict(report: Report) -> str:
    """Returns one line: the first limit that is missed, or the step that is nearest to its limit."""
    missed = [line for spoken in report.utterances for line in _missed(spoken)]
    if missed:
        more = f" (and {len(missed) - 1} more)" if len(missed) > 1 else ""
        return f"MISSED: {missed[0]}{more}"
    counts = {len(spoken.steps) for spoken in report.utterances}
    steps = counts.pop() if len(counts) == 1 else sum(len(spoken.steps) for spoken in report.utterances)
    spoken_count = _count(len(report.utterances), "utterance")
    line = f"all {_count(steps, 'step')} of {spoken_count} match kokoro within their limits"
    judgements = [(deciding(step), step) for spoken in report.utterances for step in spoken.steps]
    shares = [(share(figure), step.name) for figure, step in judgements if figure is not None]
    if shares:
        used, name = max(shares)
        line += f"; {name} is nearest to its limit ({share_text(used)} of it)"
    return line


def _missed(spoken: SpokenSteps) -> Iterator[str]:
    """Yields every limit that an utterance misses: of its steps in order, of the chain, of experiments."""
    said = f"of {quote(spoken.utterance.phonemes)} ({one_line(spoken.utterance.voice)})"
    for step in spoken.steps:
        figure = deciding(step)
        if figure is not None and not figure.holds:
            place = first_over(step)
            nan = "" if is_finite(step) else "; not finite"
            yield f"'{step.name}' {said}: {_expected(figure)}{f'; first at {place}' if place else ''}{nan}"
    for figure in spoken.chain:
        if not figure.holds:
            yield f"the chain {said}: {figure.name}: {_expected(figure)}"
    for table in spoken.tables:
        if not table.holds:
            yield f"'{one_line(table.title)}' {said}: {one_line(table.conclusion)}"


def _expected(figure: Figure) -> str:
    if figure.at_least:
        return f"expected at least {figure.limit:.1f} dB, found {found(figure)}"
    return f"expected at most {figure.limit:.2g}, found {found(figure)}"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
