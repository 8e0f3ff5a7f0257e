"""Experiments that separate the effects of padding from all others.

Each runs kokoro and the bundle, and returns a table whose conclusion is computed from its numbers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from exporter.reference.padded import Tail, padded, padding
from exporter.reference.traces import Array
from exporter.validate.results import BUNDLE, DYNAMIC, STATIC, Plot, Series, Table, difference
from exporter.validate.utterance_runs import PREFIX, UtteranceRuns
from runtime_min.engine.stage_runner import StageRunner
from runtime_min.engine.vm import aligned
from runtime_min.model.distances import Figure, snr

Cell = str | int | float
SWEPT_BUCKETS = (64, 128, 256, 512, 1024, 2048, 5120)
"""Frames."""
_COLLAPSE = 20.0
"""Decibels by which an error must shrink (to a tenth) to be caused by the removed padding."""


def crossed_decoders(runs: UtteranceRuns, judged: Figure) -> Table:
    """Gives each decoder the inputs of each execution: does the decoder differ, or its inputs?

    Args:
        runs: the utterance.
        judged: the figure of the bundle's decoder on pt.dynamic's inputs.
    """
    runs.executions.progress("crossed decoders")
    said = runs.dynamic.audio
    heard: dict[str, tuple[Array, Array]] = {}
    for name, trace in ((DYNAMIC, runs.dynamic), (STATIC, runs.static[0]), (BUNDLE, runs.bundle_trace)):
        inputs = runs.decoder_inputs(trace)
        ours = runs.executions.bundle.stage("decoder").run(inputs)["audio"]
        heard[name] = ours, runs.executions.kokoro.reference.decode(inputs).audio
    rows = []
    for name, pair in heard.items():
        for decoder, audio in zip(("bundle", "PyTorch"), pair, strict=True):
            found = difference(audio, said)
            numbers = decibels(found.decibels), round(found.correlation, 6), decibels(snr(*pair))
            rows.append((decoder, name, *numbers))
    verdict = (
        f"On {DYNAMIC}'s inputs the bundle's decoder is {_words(judged.value)} from PyTorch's, "
        f"at least {judged.limit:.1f} are needed"
    )
    fed, padded_fed = (_words(snr(heard[name][1], said)) for name in (BUNDLE, STATIC))
    cause = (
        "so what differs beyond that is what feeds the decoder: PyTorch's own is at "
        f"{fed} on the bundle's inputs and at {padded_fed} on {STATIC}'s"
        if judged.holds
        else "so the decoder itself differs"
    )
    return Table(
        title="Crossed decoders",
        conclusion=f"{verdict}, {cause}.",
        header=("decoder", "inputs of", f"dB against {DYNAMIC}", "correlation", "dB between the decoders"),
        rows=tuple(rows),
        marked=0,
        holds=judged.holds,
    )


def prefix_f0n(runs: UtteranceRuns) -> Table:
    """Removes the padding from F0 and N only, then from the decoder as well (experiment A)."""
    prefix = runs.prefixed
    alone = runs.executions.kokoro.reference.decode(runs.decoder_inputs(prefix)).audio
    executions = (
        (STATIC, runs.static[0], runs.static[0].audio),
        (PREFIX, prefix, prefix.audio),
        ("the same, decoder on the prefix", prefix, alone),
    )
    said = runs.dynamic
    numbers = [
        [snr(trace.f0, said.f0), snr(trace.energy, said.energy), snr(audio, said.audio)]
        for _, trace, audio in executions
    ]
    (f0, energy, audio), (prefix_f0, prefix_energy, prefix_audio), (_, _, alone_audio) = numbers
    collapses = all(
        after > before and after >= before + _COLLAPSE
        for before, after in ((f0, prefix_f0), (energy, prefix_energy))
    )
    verdict = f"their deviation {'collapses' if collapses else 'does not collapse'} without padding"
    return Table(
        title=f"Experiment A: F0 and N from {runs.frames} valid of {runs.executions.static_frames} frames",
        conclusion=(
            f"F0 goes from {_words(f0)} to {_words(prefix_f0)} and N from {_words(energy)} to "
            f"{_words(prefix_energy)}: {verdict}. The audio goes from {_words(audio)} to "
            f"{_words(prefix_audio)}, and to {_words(alone_audio)} with a decoder that is not padded."
        ),
        header=("execution", "F0, dB", "N, dB", "audio, dB"),
        rows=tuple(
            (name, *map(decibels, row)) for (name, _, _), row in zip(executions, numbers, strict=True)
        ),
    )


def tails(runs: UtteranceRuns, kinds: Sequence[Tail]) -> Table:
    """Changes only the padding after the utterance (experiment B).

    pt.static's decoder gets it as padding. The bundle has no padding: there it lies in the memory after each
    input, and a run before has filled the pooled memory with it.
    """
    runner, inputs = runs.executions.bundle.stage("decoder"), runs.decoder_inputs(runs.dynamic)
    said = runner.run(inputs)["audio"].tobytes()

    def padded_audio(tail: Tail) -> Array:
        runs.executions.progress(
            f"{STATIC}'s decoder padded with {tail} to {runs.executions.static_frames} frames"
        )
        return runs.executions.kokoro.reference.static_decode(
            inputs, runs.executions.static_frames, tail
        ).audio

    zeros = padded_audio("zeros")
    rows: list[tuple[Cell, ...]] = []
    changes, leaks = [], []
    for index, tail in enumerate(kinds):
        ratio = snr(zeros if tail == "zeros" else padded_audio(tail), zeros)
        if ratio != np.inf:
            changes.append(f"{_words(ratio)} with {tail}")
        same = _audio_beside(runner, inputs, tail).tobytes() == said
        if not same:
            leaks.append(index)
        rows.append((tail, decibels(ratio), "the same bits" if same else "other bits"))
    ours = (
        f"The bundle's audio depends on what lies past the end ({', '.join(kinds[index] for index in leaks)})"
        if leaks
        else "The bundle's audio is the same to the bit whatever lies past the end"
    )
    theirs = f"changes: against zeros it is {', '.join(changes)}" if changes else "is the same too"
    return Table(
        title=f"Experiment B: kinds of padding, {runs.frames} of {runs.executions.static_frames} frames",
        conclusion=f"{ours}. {STATIC}'s {theirs}.",
        header=("tail", f"{STATIC}'s audio against zeros, dB", "bundle's audio"),
        rows=tuple(rows),
        marked=leaks[0] if leaks else None,
        holds=not leaks,
    )


def _audio_beside(runner: StageRunner, inputs: Mapping[str, Array], tail: Tail) -> Array:
    """Returns the stage's audio with the tail in the memory after each input and in all pooled memory."""
    frames = inputs["asr"].shape[2]
    bucket = runner.choose_bucket(frames)
    length = min(bucket, 2 * frames)
    shapes = {tensor.name: tensor.concrete(length) for tensor in runner.stage.inputs}
    filled = {name: padding(array, shapes[name][-1], tail) for name, array in inputs.items()}
    runner.run(filled, bucket)
    beside = {name: _followed_by(array, tail) for name, array in inputs.items()}
    return runner.run(beside, bucket)["audio"]


def _followed_by(array: Array, tail: Tail) -> Array:
    """Returns the same values in memory that goes on, for as long again, with the tail."""
    memory = aligned(padded(array.reshape(-1), 2 * array.size, tail))
    return memory[: array.size].reshape(array.shape)


def sweep_buckets(runs: UtteranceRuns) -> Table:
    """Speaks the utterance in each bucket, the first of which has no padding (experiment C)."""
    largest = runs.executions.static_frames
    own = runs.executions.bundle.stage("decoder").buckets
    sizes = sorted(
        {runs.frames, largest} | {size for size in (*SWEPT_BUCKETS, *own) if runs.frames <= size <= largest}
    )
    said, bits = runs.dynamic, set()
    rows, lines = [], []
    for size in sizes:
        numbers = []
        for prefix in (False, True):
            naive = runs.speak_static(size, prefix)
            numbers += [snr(naive.f0, said.f0), snr(naive.audio, said.audio)]
            del naive  # 30 MB for each second of audio
        bucket, audio = _speak_in_bucket(runs, size)
        bits.add(audio.tobytes())
        lines.append((numbers[1], numbers[3], snr(audio, said.audio)))
        share = f"{1 - runs.frames / size:.0%}"
        rows.append((size, share, *map(decibels, numbers), bucket, decibels(lines[-1][2])))
    first, last = lines[0], lines[-1]
    flat = len(bits) == 1
    course = "falls" if last[0] < first[0] else "goes"
    ours = (
        f"The bundle has the same samples, bit for bit, in every bucket, {_words(first[2])} from {DYNAMIC}"
        if flat
        else f"The bundle changes with the bucket: {len(bits)} different results"
    )
    return Table(
        title=f"Experiment C: {runs.frames} frames in each bucket",
        conclusion=(
            f"{ours}. {STATIC} {course} from {_words(first[0])} without padding to "
            f"{_words(last[0])} in {largest} frames; with F0 and N of the valid frames, to "
            f"{_words(last[1])}."
        ),
        header=(
            *("frames", "padding", f"{STATIC} F0, dB", f"{STATIC} audio, dB"),
            *("prefix F0, dB", "its audio, dB", "bundle's bucket", "bundle's audio, dB"),
        ),
        rows=tuple(rows),
        plot=_falling(sizes, lines),
        holds=flat,
    )


def _speak_in_bucket(runs: UtteranceRuns, frames: int) -> tuple[int, Array]:
    """Runs the bundle's chain in its smallest bucket of at least `frames`, or in its largest."""

    def fitting(stage: str) -> int:
        buckets = runs.executions.bundle.stage(stage).buckets
        return min((bucket for bucket in buckets if bucket >= frames), default=buckets[-1])

    said = runs.utterance
    buckets = {stage: fitting(stage) for stage in ("f0n", "decoder")}
    runs.executions.progress(f"bundle in the bucket of {buckets['decoder']} frames")
    trace = runs.executions.bundle.trace(
        *(said.phonemes, said.voice, said.speed, said.seed),
        durations=runs.dynamic.frames,
        noise=runs.bundle_trace.noise,
        buckets=buckets,
    )
    return buckets["decoder"], trace.audio


def _falling(sizes: Sequence[int], lines: Sequence[tuple[float, float, float]]) -> Plot:
    """Plots decibels of the audio over the size of the bucket, where they are finite."""

    def line(name: str, values: Sequence[float]) -> Series:
        points = [(float(x), y) for x, y in zip(sizes, values, strict=True) if np.isfinite(y)]
        return Series(name, tuple(x for x, _ in points), tuple(y for _, y in points))

    names = (STATIC, PREFIX, BUNDLE)
    series = tuple(line(name, values) for name, values in zip(names, zip(*lines, strict=True), strict=True))
    return Plot("frames of the bucket", f"audio against {DYNAMIC}, dB", series, logarithmic_x=True)


def decibels(value: float) -> Cell:
    """Returns a ratio as a cell: to a tenth, or in words."""
    if np.isnan(value):
        return "not a number"
    return "equal" if value == np.inf else round(value, 1)


def _words(value: float) -> str:
    return f"{decibels(value)}{' dB' if np.isfinite(value) else ''}"
