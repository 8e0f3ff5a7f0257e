"""Plots of the report's page: a step's error, values and spectrograms, and the outcome of an experiment."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from exporter.plotting import BLUE, GREEN, GREY, INK, ORANGE, PINK, YELLOW, as_svg, data_uri
from exporter.reference.traces import Array
from exporter.validate.report.text import deciding, one_line
from exporter.validate.results import BUNDLE, DYNAMIC, EQUAL, STATIC, Plot, Step
from runtime_min.format.signatures import FRAMES_PER_SECOND, SAMPLE_RATE

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_LINES: Mapping[str, dict[str, Any]] = {
    STATIC: {"color": ORANGE, "linestyle": ":"},
    DYNAMIC: {"color": GREY, "linewidth": 3, "alpha": 0.6},
    BUNDLE: {"color": GREEN, "linestyle": "--"},
    EQUAL: {"color": BLUE},
}
"""Styles of the executions, in the order in which they are drawn."""
_OTHER_COLOURS = (PINK, BLUE, YELLOW, GREY)
_DOTTED = 64
"""Up to this many points are also drawn as dots."""
_COLUMNS = 480
"""A longer line is drawn as the range of its values in each of so many columns."""
_DECADES = 12
_WIDTH = 10.0
_WINDOW, _FLOOR = 1024, 100.0
"""Samples of a spectrogram's window, and dB below the loudest that are drawn black."""


def step_plot(step: Step) -> str:
    """Returns the address of an image: error by time, values laid over each other, and their differences."""
    reference, values, place = _channel(step)
    differences = {
        name: array - reference
        for name, array in values.items()
        if name in (EQUAL, BUNDLE) and array.shape == reference.shape
    }

    def draw(figure: Figure) -> None:
        rows = figure.subplots(3 if differences else 2, 1, sharex=True)
        _draw_error_by_time(rows[0], step)
        rows[1].set_title(f"Values{place}")
        _draw_executions(rows[1], step, {DYNAMIC: reference, **values})
        if differences:
            rows[2].set_title(f"Difference from pt.dynamic{place}")
            _draw_executions(rows[2], step, differences)
        _label_time(rows[-1], step)
        _legend(figure)

    return data_uri(as_svg(_WIDTH, 7.5 if differences else 5.0, draw))


def spectrogram_plot(step: Step) -> str:
    """Returns the address of an image: spectrograms of the reference, the bundle and their difference.

    All three show decibels below the loudest of the reference.
    """
    name = BUNDLE if BUNDLE in step.values else EQUAL
    audio = {DYNAMIC: step.reference.astype(np.float64)}
    if name in step.values:
        audio[name] = step.values[name].astype(np.float64)
        if audio[name].shape == step.reference.shape:
            audio[f"difference ({name})"] = audio[name] - audio[DYNAMIC]

    def draw(figure: Figure) -> None:
        rows = figure.subplots(len(audio), 1, sharex=True, squeeze=False)[:, 0]
        loudest = 0.0
        for axes, (title, samples) in zip(rows, audio.items(), strict=True):
            power = _power(samples)
            loudest = loudest or float(power.max()) or 1.0
            levels = 10 * np.log10(np.maximum(power / loudest, 1e-30))
            extent = (0.0, float(_length(step)), 0.0, SAMPLE_RATE / 2000)
            picture = axes.imshow(
                levels, cmap="magma", vmin=-_FLOOR, vmax=0, origin="lower", aspect="auto", extent=extent
            )
            axes.grid(visible=False)
            axes.set_title(f"Spectrogram, {title}")
            axes.set_ylabel("kHz")
        figure.colorbar(picture, ax=list(rows), label="dB", aspect=40, pad=0.01)
        _label_time(rows[-1], step)

    return data_uri(as_svg(_WIDTH, 2.5 * len(audio), draw))


def experiment_plot(plot: Plot) -> str:
    """Returns the address of an image of the lines of an experiment."""

    def draw(figure: Figure) -> None:
        axes = figure.subplots()
        if plot.logarithmic_x and min(min(series.x) for series in plot.series) > 0:
            axes.set_xscale("log")
        others = iter(_OTHER_COLOURS * len(plot.series))
        for series in plot.series:
            order = np.argsort(series.x)
            x, y = np.array(series.x, float)[order], np.array(series.y, float)[order]
            _draw_line(axes, series.name, x, y, _LINES.get(series.name) or {"color": next(others)})
        lengths = sorted({x for series in plot.series for x in series.x})
        if len(lengths) <= 8:  # lengths that were chosen
            axes.set_xticks(lengths, [f"{length:g}" for length in lengths])
            axes.minorticks_off()
        axes.set_xlabel(plot.x_label)
        axes.set_ylabel(plot.y_label)
        _legend(figure)

    return data_uri(as_svg(_WIDTH, 4.5, draw))


def drawn_limit(step: Step) -> float | None:
    """Returns a step's limit as an error over the RMS; None if its judged number is of another kind."""
    figure, found = deciding(step), step.differences.get(EQUAL)
    if figure is None or found is None:
        return None
    if figure.at_least:
        return float(10 ** (-figure.limit / 20))
    return figure.limit if np.isclose(figure.value, found.relative, rtol=1e-3) else None


def busiest_channel(step: Step) -> int:
    """Returns the channel in which the bundle's error is greatest, or is first no number."""
    for execution in (EQUAL, BUNDLE, STATIC):
        values = step.values.get(execution)
        if values is not None and values.shape == step.reference.shape:
            error = _rows(values).astype(np.float64) - _rows(step.reference)
            return int(np.nan_to_num(np.square(error).sum(axis=1), nan=np.inf).argmax())
    return 0


def envelope(x: Array, y: Array) -> tuple[Array, Array, Array]:
    """Returns the first index of each column of a long line, and its least and greatest value."""
    starts = np.linspace(0, x.size, _COLUMNS, endpoint=False).astype(int)
    return x[starts], np.fmin.reduceat(y, starts), np.fmax.reduceat(y, starts)


def _channel(step: Step) -> tuple[Array, dict[str, Array], str]:
    """Returns pt.dynamic's values in the busiest channel, those of the others, and the channel's name."""
    channel, channels = busiest_channel(step), len(_rows(step.reference))
    place = f", channel {channel} of {channels}, where the error is greatest" if channels > 1 else ""
    reference = _rows(step.reference)[channel].astype(np.float64)
    return reference, {name: _rows(a)[channel].astype(np.float64) for name, a in step.values.items()}, place


def _draw_error_by_time(axes: Axes, step: Step) -> None:
    limit, equal = drawn_limit(step), step.differences.get(EQUAL)
    axes.set_title(f"Error by {step.axis.removesuffix('s')}, over the RMS of the whole")
    for name, style in _LINES.items():
        if (found := step.differences.get(name)) is not None:
            _draw_line(axes, name, np.arange(found.by_time.size) + 0.5, found.by_time, style)
    errors = np.concatenate([found.by_time for found in step.differences.values()] + [[limit or np.nan]])
    errors = errors[np.isfinite(errors) & (errors > 0)]
    greatest = float(errors.max()) if errors.size else 1e-6
    least = max(float(errors.min()), greatest / 10**_DECADES) if errors.size else 1e-9
    axes.set_ylim(least / 2, greatest * 2)
    axes.set_yscale("log")
    axes.yaxis.set_major_formatter("{x:g}")
    axes.minorticks_off()
    if limit:
        axes.axhline(limit, color=INK, linestyle="--", linewidth=1, label="limit")
    if equal is not None and equal.first_over is not None and not step.holds:
        axes.axvline(equal.first_over + 0.5, color=ORANGE, linewidth=1.2, label="first over the limit")


def _draw_executions(axes: Axes, step: Step, values: Mapping[str, Array]) -> None:
    axes.yaxis.set_major_formatter("{x:g}")
    for name, style in _LINES.items():
        if name in values:
            time = (np.arange(values[name].size) + 0.5) / step.per_length
            _draw_line(axes, name, time, values[name], style)


def _draw_line(axes: Axes, name: str, x: Array, y: Array, style: Mapping[str, Any]) -> None:
    """Draws a line where its values are numbers, and bands where they are not."""
    finite, label = np.isfinite(y), one_line(name)
    shown = np.where(finite, y, np.nan)
    if x.size > 2 * _COLUMNS:
        band = envelope(x, shown)
        axes.fill_between(*band, color=style["color"], alpha=0.6, linewidth=0.8, label=label)
    else:
        marker: dict[str, Any] = {"marker": ".", "markersize": 6} if x.size <= _DOTTED else {}
        axes.plot(x, shown, label=label, **style, **marker)
    if not finite.all():
        # As narrow as a point, but wide enough to be seen.
        width = max(float(np.ptp(x)) / min(200, x.size), 0.01)
        bands = [(start, width) for start in np.unique(np.floor(x[~finite] / width)) * width]
        whole = axes.get_xaxis_transform()
        axes.broken_barh(bands, (0, 1), transform=whole, color=ORANGE, alpha=0.25, label="not finite")


def _legend(figure: Figure) -> None:
    """Names every line once, above all plots."""
    named: dict[str, Artist] = {}
    for axes in figure.axes:
        handles, labels = axes.get_legend_handles_labels()
        named |= dict(zip(map(str, labels), handles, strict=True))
    figure.legend(list(named.values()), list(named), loc="outside upper right", ncols=len(named))


def _label_time(axes: Axes, step: Step) -> None:
    rate = f", {FRAMES_PER_SECOND} a second" if step.axis == "frames" else ""
    axes.set_xlabel(f"{step.axis}{rate}")
    axes.set_xlim(0, _length(step))


def _length(step: Step) -> int:
    """Returns the number of tokens or frames, at least 1."""
    return max(int(step.reference.shape[-1]) // step.per_length, 1)


def _power(samples: Array) -> NDArray[np.float64]:
    """Returns a power spectrogram of 24 kHz samples, ``[513, windows]``; not a number counts as silence."""
    from matplotlib.mlab import specgram

    found = np.nan_to_num(samples.reshape(-1), nan=0.0, posinf=0.0, neginf=0.0)
    padded = np.pad(found, (0, max(0, 2 * _WINDOW - found.size)))
    return np.asarray(specgram(padded, _WINDOW, SAMPLE_RATE, noverlap=_WINDOW * 3 // 4)[0])


def _rows(array: Array) -> Array:
    """Returns an array as ``[channels, time]``."""
    return array.reshape(-1, array.shape[-1])
