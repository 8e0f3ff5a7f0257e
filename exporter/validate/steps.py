"""Every step of an utterance, from tokens to audio, in pt.dynamic, pt.static and the bundle.

The waveform is nearly chaotic in F0, so each step of the bundle is first judged on pt.dynamic's inputs of
that very step: a step that misses its limit there is at fault itself. Only then the chain.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace

from exporter.parity import figures, thresholds
from exporter.parity.decoder import allowance, decoded
from exporter.parity.expected import OTHER_SEED, Expected, Spread, distances
from exporter.parity.source_spectrum import phase_figure
from exporter.reference.padded import Tail
from exporter.reference.process import Reference, perturb
from exporter.reference.traces import Array
from exporter.reference.utterances import Utterance
from exporter.validate import experiments
from exporter.validate.probe import probe
from exporter.validate.quantities import STEPS, BundleSteps, Values, of_decoder, of_kokoro
from exporter.validate.results import BUNDLE, EQUAL, STATIC, Quantity, SpokenSteps, Step, Table, difference
from exporter.validate.rounding_table import rounding_tables
from exporter.validate.utterance_runs import LOGITS_TAP, Executions, UtteranceRuns, run_utterance
from runtime_min.model.distances import Figure, relative_rms
from runtime_min.model.noise import gaussian_noise

_TURNED = 0.1
"""A frame with a phase on the other side of the cut is more than this off, as a share of the RMS."""


@dataclass(frozen=True)
class Extras:
    """The experiments and probes that are run besides the steps."""

    cross: bool = False
    """Both decoders on each execution's inputs."""
    prefix_f0n: bool = False
    """Experiment A."""
    tails: tuple[Tail, ...] = ()
    """Experiment B, with these."""
    sweep_buckets: bool = False
    """Experiment C."""
    probes: tuple[str, ...] = ()
    """Stages, block by block."""
    rounding: bool = False
    """The layers that suffer most from rounded weights, and from the arithmetic."""


def trace_steps(executions: Executions, utterance: Utterance, extras: Extras) -> SpokenSteps:
    """Compares an utterance step by step, and runs the requested experiments.

    Raises:
        InputError: the bundle cannot speak it.
        UnknownKernelsError: the bundle was made by another exporter.
    """
    runs = run_utterance(executions, utterance)
    executions.progress("kokoro's answer and its spread")
    expected = executions.kokoro.expected(runs.request)
    spread = executions.kokoro.spread(expected)
    steps = spoken_steps(runs, expected, spread)
    (decoder,) = steps.steps[-1].figures
    return replace(steps, tables=tuple(_tables(runs, decoder, extras)))


def _tables(runs: UtteranceRuns, decoder: Figure, extras: Extras) -> Iterator[Table]:
    for stage in extras.probes:
        runs.executions.progress(f"the blocks of {stage}")
        yield probe(runs, stage)
    if extras.rounding:
        yield from rounding_tables(runs)
    if extras.cross:
        yield experiments.crossed_decoders(runs, decoder)
    if extras.prefix_f0n:
        yield experiments.prefix_f0n(runs)
    if extras.tails:
        yield experiments.tails(runs, extras.tails)
    if extras.sweep_buckets:
        yield experiments.sweep_buckets(runs)


def spoken_steps(runs: UtteranceRuns, expected: Expected, spread: Spread) -> SpokenSteps:
    """Measures and judges every step of an utterance.

    Args:
        runs: the utterance.
        expected: kokoro's answer.
        spread: the whole spread of the answer.
    """
    runs.executions.progress("the bundle, step by step")
    trace, utterance = runs.dynamic, runs.utterance
    values = of_kokoro(runs.request, trace, runs.logits)
    taken = BundleSteps(runs.executions.bundle, runs.executions.calls, bins=runs.logits.shape[2])
    executions = {
        EQUAL: taken.on_equal_inputs(runs.bundle_trace, runs.request, trace, utterance.speed),
        BUNDLE: taken.chain(runs.bundle_trace, utterance.speed),
        STATIC: of_kokoro(runs.request, *runs.static),
    }
    own = own_changes(runs, values)
    verdicts = judged(runs, executions[EQUAL], values, expected, spread)
    steps = tuple(
        _step(name, values[name.name], executions, own[name.name], verdicts[name.name]) for name in STEPS
    )
    chain = (
        *figures.duration_figures(runs.predicted, expected),
        *figures.chain_figures(
            distances(runs.bundle_trace.audio, expected.audio), spread, allowance(runs.executions.bundle)
        ),
    )
    return SpokenSteps(utterance, trace.frames.size, runs.frames, steps, chain)


def _step(
    name: Quantity,
    reference: Array,
    executions: Mapping[str, Values],
    own: Mapping[str, float],
    verdict: Verdict,
) -> Step:
    values = {execution: found[name.name] for execution, found in executions.items()}
    differences = {
        execution: difference(array, reference, name.per_length, verdict.share)
        for execution, array in values.items()
    }
    return Step(
        **vars(name),
        reference=reference,
        values=values,
        differences=differences,
        own=own,
        figures=verdict.figures,
    )


def own_changes(runs: UtteranceRuns, expected: Values) -> dict[str, dict[str, float]]:
    """Returns pt.dynamic against itself in dB, by step and by change."""
    own: dict[str, dict[str, float]] = {name.name: {} for name in STEPS}
    for change, values in _changed(runs):
        for name, array in values.items():
            own[name][change] = difference(array, expected[name]).decibels
    return own


def _changed(runs: UtteranceRuns) -> Iterator[tuple[str, Values]]:
    """Yields pt.dynamic's quantities after changes that mean nothing, from the change on."""
    runs.executions.progress("pt.dynamic against itself")
    reference, trace, inputs = (
        runs.executions.kokoro.reference,
        runs.dynamic,
        runs.decoder_inputs(runs.dynamic),
    )
    forced = replace(runs.request, durations=trace.frames)

    def speak(by: Reference) -> Values:
        with by.tap([LOGITS_TAP]) as tapped:
            changed = by.speak(forced)
            return of_kokoro(runs.request, changed, tapped[LOGITS_TAP][0])

    other = 2 if reference.thread_count == 1 else 1
    before = reference.thread_count
    reference.thread_count = other
    try:
        yield f"{other} thread{'s' * (other > 1)}", speak(reference)
    finally:
        reference.thread_count = before
    yield "float64", speak(runs.executions.kokoro.precise)
    for relative in (1e-7, 1e-6):
        f0 = perturb(trace.f0, relative, 0)
        yield f"F0 {relative:.0e}", of_decoder(reference.decode(inputs | {"f0": f0}), f0)
    another = gaussian_noise(runs.utterance.seed + OTHER_SEED, trace.audio.size)
    yield "other seed", of_decoder(reference.decode(inputs | {"noise": another}), trace.f0)


Judge = Callable[[str, Array, Array, Array], Figure]
"""Takes a name, the found, kokoro's and float64's values."""


@dataclass(frozen=True)
class Verdict:
    """The numbers of a step on equal inputs, with their limits."""

    figures: tuple[Figure, ...]
    share: float
    """The limit as a share of the RMS, to tell from which token or frame on an array is over it."""


def judged(
    runs: UtteranceRuns, found: Values, expected: Values, answer: Expected, spread: Spread
) -> dict[str, Verdict]:
    """Judges each step by name, on equal inputs; `expected` are pt.dynamic's quantities."""
    with runs.executions.kokoro.precise.tap([LOGITS_TAP]) as tapped:
        text = runs.executions.kokoro.precise.text(runs.request)
        logits = tapped[LOGITS_TAP][0].swapaxes(1, 2)
    exact = {
        "bert": text.hidden, "duration encoding": text.encoding, "duration logits": logits,
        "durations": text.durations, "text_encoder": text.text,
        "F0": answer.exact_f0, "N": answer.exact_energy,
    }  # fmt: skip

    def by_maximum(name: str, judge: Judge) -> Verdict:
        figure = judge(name, found[name], expected[name], exact[name])
        return Verdict((figure,), figure.limit)

    def by_precision(name: str) -> Verdict:
        own = thresholds.f0n_unit(relative_rms(expected[name], exact[name]))
        figure = figures.f0n_figure(name, found[name], expected[name], exact[name])
        return Verdict((figure,), (1 + figure.limit) * own)

    def by_equality(name: str) -> Verdict:
        return Verdict((figures.equality_figure(name, found[name], expected[name]),), 0.0)

    def by_decibels(figure: Figure) -> Verdict:
        return Verdict((figure,), float(10 ** (-figure.limit / 20)))

    def at_least(name: str, decibels: float) -> Verdict:
        return by_decibels(figures.decibel_figure(name, found[name], expected[name], decibels))

    predicted, allowed = found["predicted frames"][0], allowance(runs.executions.bundle)
    decoder = decoded(runs.executions.bundle, runs.executions.kokoro, answer, found["audio"])
    return {
        "tokens": by_equality("tokens"),
        "style": by_equality("style"),
        "bert": by_maximum("bert", figures.text_figure),
        "duration encoding": by_maximum("duration encoding", figures.duration_figure),
        "duration logits": by_maximum("duration logits", figures.duration_figure),
        "durations": by_maximum("durations", figures.duration_figure),
        "predicted frames": Verdict(tuple(figures.duration_figures(predicted, answer)), 0.0),
        "text_encoder": by_maximum("text_encoder", figures.text_figure),
        "aligned encoding": by_equality("aligned encoding"),
        "aligned asr": by_equality("aligned asr"),
        "F0": by_precision("F0"),
        "N": by_precision("N"),
        "decoder hidden": at_least("decoder hidden", thresholds.HIDDEN_DECIBELS),
        "sines": at_least("sines", thresholds.SINES_DECIBELS),
        "source": at_least("source", thresholds.SOURCE_DECIBELS),
        "magnitude": at_least("magnitude", thresholds.SPECTRUM_DECIBELS),
        "phase": Verdict((phase_figure(found["phase"], runs.dynamic.source),), _TURNED),
        "generator": at_least("generator", allowed.widened(thresholds.GENERATOR_DECIBELS)),
        "audio": by_decibels(decoder.figure(spread)),
    }
