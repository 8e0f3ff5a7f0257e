"""What the report's page shows of one step: its errors, its values laid over each other, its spectrograms."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from html import escape

import numpy as np

from exporter.reference.process import Array
from exporter.validate.report import text as words
from exporter.validate.report.plots import Axis, Line, Values, chart, decade_axis, framed, range_axis
from exporter.validate.report.spectrogram import FLOOR, image, power
from exporter.validate.results import BUNDLE, DYNAMIC, EQUAL, STATIC, Step
from runtime_min.format.signatures import FRAMES_PER_SECOND, SAMPLE_RATE

KINDS = {DYNAMIC: "reference", EQUAL: "equal", BUNDLE: "bundle", STATIC: "static"}
"""Classes of the style sheet."""
_DRAWN = (EQUAL, BUNDLE, DYNAMIC, STATIC)
"""From the top to the bottom."""


def detail(step: Step, spectrograms: bool, audio: Mapping[str, str]) -> str:
    """The body of a step's section.

    Args:
        step: what to show.
        spectrograms: whether the step is audio.
        audio: paths of what can be heard, by execution.
    """
    parts = [_numbers(step), _listen(audio) if spectrograms else "", _error_by_time(step), *_values(step)]
    if spectrograms:
        parts += _spectrograms(step)
    return "".join(parts)


def drawn_limit(step: Step) -> float | None:
    """A step's limit as an error over the RMS, where its judged number is of that kind."""
    figure, found = words.deciding(step), step.differences.get(EQUAL)
    if figure is None or found is None:
        return None
    if figure.at_least:
        return float(10 ** (-figure.limit / 20))
    return figure.limit if np.isclose(figure.value, found.relative, rtol=1e-3) else None


def busiest_channel(step: Step) -> int:
    """The channel in which the bundle's error is greatest, or is first no number."""
    for execution in (EQUAL, BUNDLE, STATIC):
        values = step.values.get(execution)
        if values is not None and values.shape == step.reference.shape:
            error = _channels(values).astype(np.float64) - _channels(step.reference)
            power_of = np.nan_to_num(np.square(error).sum(axis=1), nan=np.inf)
            return int(power_of.argmax())
    return 0


def _numbers(step: Step) -> str:
    rows = []
    for execution, found in step.differences.items():
        first = words.NONE if found.first_over is None else str(found.first_over)
        cells = (
            *(words.decibels(found.decibels), words.small(found.maximum), words.small(found.relative)),
            *(words.correlation(found.correlation), first, "yes" if found.finite else "no"),
        )
        numbers = "".join(f"<td>{value}</td>" for value in cells)
        key = f'<span class="key {KINDS.get(execution, "")}">{escape(execution)}</span>'
        rows.append(f'<tr><th scope="row">{key}</th>{numbers}</tr>')
    headings = ("SNR, dB", "max abs", "max / RMS", "correlation", f"first {_unit(step)} over", "finite")
    head = "".join(f'<th scope="col">{heading}</th>' for heading in headings)
    judged = "".join(
        f'<li class="{"good" if figure.holds else "bad"}">{escape(figure.name)}: {words.judged(figure)}</li>'
        for figure in step.figures
    )
    shape = " × ".join(map(str, step.reference.shape))
    return (
        f'<p class="facts">computed by <b>{escape(step.stage)}</b>, {shape}, {step.axis} last</p>'
        f'<ul class="judged">{judged}</ul>'
        f'<div class="scroll"><table><thead><tr><th scope="col">against pt.dynamic</th>{head}</tr></thead>'
        f"<tbody>{''.join(rows)}</tbody></table></div>"
    )


def _listen(audio: Mapping[str, str]) -> str:
    links = ", ".join(f'<a href="{escape(file)}">{escape(name)}</a>' for name, file in audio.items())
    return f'<p class="facts">Listen (files beside this page): {links}</p>' if links else ""


def _error_by_time(step: Step) -> str:
    lines = [
        Line(
            name,
            KINDS[name],
            np.arange(found.by_time.size, dtype=np.float64) + 0.5,
            found.by_time.astype(np.float64),
        )
        for name in _DRAWN
        if (found := step.differences.get(name)) is not None
    ]
    limit, found = drawn_limit(step), step.differences.get(EQUAL)
    y_axis = decade_axis("RMS of the difference over RMS of the whole", lines, *([limit] if limit else []))
    first = None if found is None or step.holds else found.first_over
    title = f"Error by {_unit(step)}"
    return chart(title, lines, _x_axis(step), y_axis, limit, None if first is None else first + 0.5)


def _values(step: Step) -> Iterator[str]:
    """The values laid over each other and their differences, of one channel where there are several."""
    channel, channels = busiest_channel(step), len(_channels(step.reference))
    place = f", channel {channel} of {channels}, where the error is greatest" if channels > 1 else ""
    reference = _channels(step.reference)[channel].astype(np.float64)
    values = {name: _channels(array)[channel].astype(np.float64) for name, array in step.values.items()}
    lines = [
        _line(step, name, {DYNAMIC: reference, **values}[name])
        for name in _DRAWN
        if name in {DYNAMIC, *values}
    ]
    yield chart(f"Values{place}", lines, _x_axis(step), range_axis("", lines), tall=True)
    differences = [
        _line(step, name, values[name] - reference)
        for name in (EQUAL, BUNDLE)
        if name in values and values[name].shape == reference.shape
    ]
    if differences:
        y_axis = range_axis("", differences)
        yield chart(f"Difference from pt.dynamic{place}", differences, _x_axis(step), y_axis)


def _spectrograms(step: Step) -> Iterator[str]:
    """Of the reference, the bundle and their difference, all in decibels below the reference's loudest."""
    name = BUNDLE if BUNDLE in step.values else EQUAL
    pictures = {DYNAMIC: step.reference}
    if name in step.values:
        pictures[name] = step.values[name]
        if step.values[name].shape == step.reference.shape:
            pictures[f"difference ({name})"] = step.values[name].astype(np.float64) - step.reference
    reference = power(step.reference)
    loudest = float(reference.max())
    y_axis = Axis("kHz", 0, SAMPLE_RATE / 2000)
    key = f'<span class="ramp">{FLOOR:.0f} dB<span></span>0 dB</span>'
    for title, array in pictures.items():
        picture = f'<img alt="Spectrogram of {escape(title)}" src="{image(power(array), loudest)}">'
        yield framed(f"Spectrogram, {title}", picture, _x_axis(step), y_axis, key)


def _line(step: Step, name: str, values: Values) -> Line:
    return Line(name, KINDS[name], (np.arange(values.size, dtype=np.float64) + 0.5) / step.per_length, values)


def _x_axis(step: Step) -> Axis:
    length = step.reference.shape[-1] // step.per_length
    rate = f", {FRAMES_PER_SECOND} a second" if step.axis == "frames" else ""
    return Axis(f"{step.axis}{rate}", 0, max(length, 1))


def _unit(step: Step) -> str:
    return step.axis.removesuffix("s")


def _channels(array: Array) -> Array:
    return array.reshape(-1, array.shape[-1])
