"""How a report says its numbers and its verdict, the same in the terminal, on the page and in the JSON."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator

import numpy as np

from exporter.validate.results import EQUAL, Report, SpokenSteps, Step, share
from runtime_min.model.distances import Figure

NONE = "–"
"""Stands where there is nothing to say."""
_LONGEST_QUOTE = 32
_OPPOSITES = str.maketrans("≥≤", "<>")


def decibels(value: float | None) -> str:
    """A signal-to-noise ratio to a tenth of a decibel."""
    if value is None:
        return NONE
    return "equal" if value == np.inf else f"{value:.1f}"


def decibels_with_unit(value: float) -> str:
    """Returns a signal-to-noise ratio with its unit, where it has one."""
    return f"{decibels(value)} dB" if np.isfinite(value) else decibels(value)


def small(value: float) -> str:
    """An error: two digits, however small."""
    return "0" if value == 0 else f"{value:.1e}"


def correlation(value: float) -> str:
    """Six digits, cut and not rounded: 1 is written only where it is 1."""
    return "1" if value == 1 else f"{np.trunc(value * 1e6) / 1e6:.6f}"


def cell(value: str | int | float) -> str:
    """A cell of an experiment's table."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:.4g}" if isinstance(value, float) else one_line(str(value))


def one_line(text: str) -> str:
    """Without line breaks and control characters, which a terminal would obey."""
    return "".join("�" if unicodedata.category(char) == "Cc" else char for char in " ".join(text.split()))


def quote(phonemes: str) -> str:
    """The phonemes, or their beginning, in quotes."""
    line = one_line(phonemes)
    return f"'{line}'" if len(line) <= _LONGEST_QUOTE else f"'{line[: _LONGEST_QUOTE - 1]}…'"


def speaker(spoken: SpokenSteps) -> str:
    """Who says an utterance, how, and how long it is."""
    said = spoken.utterance
    return (
        f"{one_line(said.voice)}, speed {said.speed:g}, seed {said.seed}: "
        f"{spoken.tokens} tokens, {spoken.frames} frames"
    )


def bound(figure: Figure) -> str:
    """What a number had to be."""
    return f"≥ {figure.limit:.1f}" if figure.at_least else f"≤ {figure.limit:.2g}"


def found(figure: Figure) -> str:
    """A judged number."""
    return decibels(figure.value) if figure.at_least else f"{figure.value:.2g}"


def judged(figure: Figure) -> str:
    """A number and how it stands to what it had to be."""
    if figure.holds or np.isnan(figure.value):
        return f"{found(figure)}{',' if np.isnan(figure.value) else ''} {bound(figure)}"
    # The relation that is true.
    return f"{found(figure)} {bound(figure).translate(_OPPOSITES)}"


def share_text(used: float) -> str:
    """A share of a limit, to a hundredth of it."""
    return f"{used:.2f}" if used < 10 else f"{used:.2g}"


def deciding(step: Step) -> Figure | None:
    """The number of a step that misses its limit, or is nearest to it."""
    return max(step.figures, key=lambda figure: (not figure.holds, share(figure)), default=None)


def is_finite(step: Step) -> bool:
    """Whether the step itself, on equal inputs, gave numbers only."""
    return EQUAL not in step.differences or step.differences[EQUAL].finite


def first_over(step: Step) -> str:
    """Where a step that misses its limit first does so; empty otherwise."""
    first = step.differences[EQUAL].first_over if EQUAL in step.differences else None
    return "" if step.holds or first is None else f"{step.axis[:-1]} {first}"


def own_changes(spoken: SpokenSteps) -> tuple[str, ...]:
    """What was changed to compare pt.dynamic with itself, in the order of its first appearance."""
    return tuple(dict.fromkeys(name for step in spoken.steps for name in step.own))


def verdict(report: Report) -> str:
    """One line: that all is within its limits, and what is nearest to one; or what was missed first."""
    missed = [line for spoken in report.utterances for line in _missed(spoken)]
    if missed:
        more = f" (and {len(missed) - 1} more)" if len(missed) > 1 else ""
        return f"MISSED: {missed[0]}{more}"
    counts = {len(spoken.steps) for spoken in report.utterances}
    steps = counts.pop() if len(counts) == 1 else sum(len(spoken.steps) for spoken in report.utterances)
    spoken_count = _count(len(report.utterances), "utterance")
    line = f"all {_count(steps, 'step')} of {spoken_count} are within their limits"
    judgements = [(deciding(step), step) for spoken in report.utterances for step in spoken.steps]
    shares = [(share(figure), step.name) for figure, step in judgements if figure is not None]
    if shares:
        used, name = max(shares)
        line += f"; nearest to its limit: {name} ({share_text(used)} of it)"
    return line


def _missed(spoken: SpokenSteps) -> Iterator[str]:
    """Everything that an utterance missed: steps first, in their order, then the chain, then experiments."""
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
        return f"{found(figure)} dB, at least {figure.limit:.1f} expected"
    return f"{found(figure)}, at most {figure.limit:.2g} expected"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
