"""The gate: a bundle is compared with kokoro before it is published, and its manifest gets the figures."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import replace
from multiprocessing.connection import Connection
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from exporter import directories
from exporter.bundle.loudness import PHONEMES, loudness, measure_loudness, official_loudness
from exporter.bundle.write import ExtensionFiles, not_validated, voice_content
from exporter.compiler.library import StoredWeights
from exporter.errors import ReferenceProcessError, ValidationFailedError
from exporter.export.plan import Plan
from exporter.model.voice_packs import NormStatistics, official_statistics
from exporter.native.node import NodeMissingError, require_node
from exporter.parity.answers import Kokoro
from exporter.parity.expected import distances
from exporter.parity.figures import MOST_DECIBELS, Comparison
from exporter.parity.make_self_test import make_self_test
from exporter.parity.rounding import rounding_figures
from exporter.parity.thresholds import ALLOWANCES, DECODER_DECIBELS
from exporter.parity.waveforms import compare_waveforms, expectation, levels_here, loaded_levels, verdict
from exporter.parity.web_bundle import SYSTEM, WebBundle
from exporter.processes import Channel, Process
from exporter.progress import Progress
from exporter.reference.process import Reference
from exporter.reference.traces import ModelInput
from exporter.reference.utterances import BUILT_IN, Utterance, adapted, built_in, make_request
from exporter.reference.voice_statistics import PASSAGES, measure_statistics
from runtime_min import Bundle
from runtime_min.engine.machine import levels_that_run, this_machine
from runtime_min.errors import DeviceError
from runtime_min.format.arithmetic import FLOAT32
from runtime_min.format.manifest import ROUNDING, Voice
from runtime_min.format.signatures import FRAMES_PER_SECOND
from runtime_min.format.verify import read_manifest
from runtime_min.model.distances import Figure
from runtime_min.model.self_test import EXTENSION, read_self_test
from runtime_min.model.voices import voice_table

Numbers = dict[str, str | int | float | bool]
_OTHER_MACHINE = "it was made on a machine that cannot run it"


class Gate:
    """All that an export asks of kokoro, which runs in one process from the self-test to the comparison."""

    def __init__(self) -> None:
        """Starts nothing yet."""
        self._stack = ExitStack()
        self._kokoro: Kokoro | None = None
        self._answered: Future[None] | None = None
        # An export has temporary files elsewhere, and removes them first.
        self._place = Path(tempfile.gettempdir())

    def __enter__(self) -> Gate:
        return self

    def __exit__(self, *error: object) -> None:
        if self._kokoro is not None and self._answered is not None:
            # The thread's request fails, so it ends, and stores nothing where files are removed.
            self._kokoro.close()
            self._answered.exception()
        self._stack.close()

    def answer_ahead(self, plan: Plan) -> None:
        """Has kokoro answer what the self-test and the effect of rounding ask, while libraries are compiled.

        They find the answers stored. An error here is theirs to meet again. With one job kokoro waits for the
        libraries: that takes less memory.
        """
        if plan.is_whole and plan.voices and plan.options.jobs > 1:
            thread = ThreadPoolExecutor(1, "kokoro")
            self._answered = thread.submit(_answer, plan, self.kokoro(plan))
            thread.shutdown(wait=False)

    def kokoro(self, plan: Plan) -> Kokoro:
        """Returns kokoro with the checkpoint of the plan, which is the same in each call."""
        if self._answered is not None:
            self._answered.exception()
        if self._kokoro is None:
            files = plan.checkpoint.path, plan.checkpoint.config_path
            # The process that compares the bundle reads the answers, also in an export without a cache.
            own = directories.temporary("kokoro-answers-", self._place)
            answers = plan.options.answers or self._stack.enter_context(own)
            made = Kokoro(files, store=answers, stored=plan.stored)
            self._kokoro = self._stack.enter_context(made)
        return self._kokoro

    def self_test(self, plan: Plan, progress: Progress) -> ExtensionFiles | None:
        """Returns the files of the bundle's self-test; None if the bundle can have none.

        Args:
            plan: the plan of the export.
            progress: takes a step, and a warning if there is no self-test.

        Raises:
            ReferenceProcessError: kokoro does not run here.
        """
        return make_self_test(plan, progress, self.kokoro(plan))

    def measure(self, plan: Plan, progress: Progress, bundle: Path) -> Numbers:
        """Returns the distances of `bundle` from kokoro, or the reason why they are not known.

        Those of rounded weights from the original ones are kokoro's own, so every whole bundle gets them.

        Args:
            plan: the plan of the finished export.
            progress: takes a step for every utterance.
            bundle: the finished bundle, where it waits to be published.

        Raises:
            ValidationFailedError: the bundle misses a threshold and must not be published.
            ReferenceProcessError: the measurement itself failed.
        """
        kokoro = self.kokoro(plan)
        rounded = _rounding(plan, progress, kokoro) | _arithmetic(plan, progress, kokoro)
        why = _cannot_be_validated(plan)
        if why is None:
            compared = _compare(kokoro, progress, bundle)
            if compared:
                if not all(comparison.holds for comparison in compared):
                    raise ValidationFailedError(
                        f"No bundle was written: {verdict(compared, plan.options.output)}\n"
                        "That needs the bundle: export it with --no-validate first."
                    )
                return numbers_of(compared) | rounded
            why = _OTHER_MACHINE if compared is None else "its buckets hold none of the built-in utterances"
        progress.warning(f"The bundle is not validated: {why}.")
        return not_validated(why) | rounded

    def loudness(self, plan: Plan, progress: Progress, bundle: Path) -> Mapping[str, int]:
        """Returns the loudness of the voices in hundredths of LUFS, by name.

        That of official voices with official weights is known. Others are measured; where the bundle cannot
        run here, kokoro speaks with the same weights.

        Args:
            plan: the plan of the finished export.
            progress: takes a step.
            bundle: the finished bundle, where it waits to be published.

        Raises:
            ReferenceProcessError: the measurement itself failed.
        """
        vocabulary = plan.checkpoint.vocabulary
        if not plan.is_whole or not plan.voices or not vocabulary.keys() >= set(PHONEMES):
            return {}
        if _is_official(plan):
            return official_loudness(plan.precision)
        progress.step(f"measure the loudness of {len(plan.voices)} voices")
        if _cannot_be_validated(plan) is None and plan.target.system != SYSTEM:
            found = measure_loudness(bundle, sorted(plan.voices))
            if found is not None:
                return found
        heard = {}
        for name, pack in plan.voices.items():
            request = make_request(Utterance(PHONEMES, name), vocabulary, pack)
            heard[name] = loudness(self.kokoro(plan).reference.speak(request).audio[0])
        return {name: value for name, value in heard.items() if value is not None}

    def statistics(self, plan: Plan, progress: Progress) -> Mapping[str, NormStatistics]:
        """Returns the statistics of the voices by name, with which streams begin sooner.

        Those of official voices with official weights are known. Others are taken while kokoro speaks. Random
        weights have no voices.

        Args:
            plan: the plan of the export.
            progress: takes a step.

        Raises:
            ReferenceProcessError: kokoro could not speak.
        """
        vocabulary = plan.checkpoint.vocabulary
        if not plan.is_whole or plan.checkpoint.synthetic or not vocabulary.keys() >= set("".join(PASSAGES)):
            return {}
        if _is_official(plan):
            return official_statistics()
        progress.step(f"take the statistics of {len(plan.voices)} voices, some seconds for each")
        return measure_statistics(self.kokoro(plan).original, plan.voices, vocabulary)


def _is_official(plan: Plan) -> bool:
    """True for the official voices with the official weights."""
    return plan.checkpoint.source in ("hub", "packages") and plan.options.voices in (None, "official", "hub")


class _Unheard:
    """Takes the events of what is asked again, and told then."""

    planned = started = finished = step = warning = staticmethod(lambda *event: None)


def _answer(plan: Plan, kokoro: Kokoro) -> None:
    """Asks what `Gate.self_test` and `_rounding` ask."""
    make_self_test(plan, _Unheard(), kokoro)
    if _is_rounded(plan):
        for request in _requests(plan):
            kokoro.rounding(request)


def _is_rounded(plan: Plan) -> bool:
    return plan.precision != "float32" and plan.is_whole and bool(plan.voices)


def _rounding(plan: Plan, progress: Progress, kokoro: Kokoro) -> Numbers:
    """Returns the effect of rounding the weights as the manifest's figures; none if none are rounded.

    Raises:
        ValidationFailedError: it changes more than a limit allows.
    """
    if not _is_rounded(plan):
        return {}
    progress.step(f"compare kokoro's weights in {plan.precision} with the original ones")
    requests = _requests(plan)
    figures = rounding_figures(list(map(kokoro.rounding, requests)), plan.precision)
    if missed := [figure for figure in figures if not figure.holds]:
        worst = next(iter(kokoro.original.rounded_layers(requests[0], plan.stored)), "no layer")
        raise ValidationFailedError(
            f"No bundle was written: weights in {plan.precision} change the model too much: "
            f"{'; '.join(map(expectation, missed))}. Rounding harms {worst} most. Export the model with "
            "--precision float32."
        )
    return {f"{ROUNDING}{each.name}": min(float(each.value), MOST_DECIBELS) for each in figures}


def _requests(plan: Plan) -> list[ModelInput]:
    """Returns the built-in utterances in phonemes of the bundle, and in its voices as it stores them."""
    vocabulary, is_rounded = plan.checkpoint.vocabulary, plan.precision != "float32"

    def rows(name: str) -> NDArray[np.float32]:
        table = plan.voices[name]
        content, rank = voice_content(table, rounded=is_rounded)
        return voice_table(content, Voice(name, "", *table.shape), rank)

    said = adapted(BUILT_IN, sorted(plan.voices), vocabulary)
    return [make_request(each, vocabulary, rows(each.voice)) for each in said]


def _arithmetic(plan: Plan, progress: Progress, kokoro: Kokoro) -> Numbers:
    """Returns the effect of each level's arithmetic that this machine does not have, by a model in PyTorch.

    Raises:
        ValidationFailedError: it changes more than the arithmetic may.
    """
    arithmetic, machine = plan.options.arithmetic, this_machine()
    if arithmetic == FLOAT32 or not plan.is_whole or not plan.voices:
        return {}
    running = levels_that_run(plan.levels, machine.features) if plan.target.fits(machine) else []
    lacking = [level for level in plan.levels if level.arithmetic == arithmetic and level not in running]
    if not lacking:
        return {}
    progress.step(f"compare a model of {arithmetic} with kokoro, because this machine does not have it")
    found: dict[str, Figure] = {}
    requests = _requests(plan)
    for level in lacking:
        model = kokoro.reference.other(stored=plan.stored.on(level))
        figures = _arithmetic_alone(plan.options.arithmetic, kokoro, model, requests)
        found |= {f"{level.name}: {each.name}": each for each in figures}
    if missed := [each for each in found.values() if not each.holds]:
        raise ValidationFailedError(
            f"No bundle was written: {arithmetic} changes the model too much: "
            f"{'; '.join(map(expectation, missed))}. Export the model without --arithmetic."
        )
    return {name: float(each.value) for name, each in found.items()}


def _arithmetic_alone(
    arithmetic: str, kokoro: Kokoro, model: Reference, requests: Sequence[ModelInput]
) -> tuple[Figure, Figure]:
    """Returns by how much a model of an arithmetic changes what kokoro's decoder makes of equal inputs."""
    answers = [kokoro.expected(request) for request in requests]
    found = [distances(model.decode(each.decoder_inputs).audio, each.audio) for each in answers]
    shares = [each.mel / answer.other_seed for each, answer in zip(found, answers, strict=True)]
    allowed = ALLOWANCES[arithmetic]
    return (
        Figure(
            f"{arithmetic} alone, dB",
            min(each.decibels for each in found),
            allowed.widened(DECODER_DECIBELS),
            at_least=True,
        ),
        Figure(
            f"{arithmetic} alone, log-mel over another seed's",
            max(shares),
            allowed.log_mel_share,
        ),
    )


def _cannot_be_validated(plan: Plan) -> str | None:
    machine = this_machine()
    if not plan.is_whole:
        return "it has only a part of the stages"
    if not plan.voices:
        return "it has no voices"
    if plan.target.system == SYSTEM:
        return _why_no_node()
    if not plan.target.fits(machine) or not levels_that_run(plan.levels, machine.features):
        return _OTHER_MACHINE
    return None


def _why_no_node() -> str | None:
    try:
        require_node()
    except NodeMissingError as error:
        return str(error).removesuffix(".")
    return None


def _compare(kokoro: Kokoro, progress: Progress, bundle: Path) -> tuple[Comparison, ...] | None:
    """Returns the comparisons; None where this machine lacks the bundle's device.

    The bundle speaks in a process of its own, because this one already holds TVM's compiler.
    """
    try:
        given = bundle, kokoro.files, kokoro.answers, kokoro.stored, kokoro.channel
        with Process(_send_comparisons, *given, starts_others=True) as process:
            while isinstance(message := process.receive(), str):
                progress.step(f"  {message}")
    except ReferenceProcessError as error:
        raise ReferenceProcessError(f"The bundle could not be compared with kokoro:\n{error}") from error
    compared: tuple[Comparison, ...] | None = message
    return compared


def _send_comparisons(
    connection: Connection,
    path: Path,
    files: tuple[Path, Path],
    answers: Path | None,
    stored: StoredWeights,
    channel: Channel | None,
) -> None:
    """Sends the name of every utterance while it is compared, and then what `_compare` returns."""
    try:
        with (
            loaded_levels(path, levels_here(read_manifest(path))) as bundles,
            Kokoro(files, store=answers, stored=stored, channel=channel) as kokoro,
        ):
            said = built_in(bundles[0])
            compared = compare_waveforms(bundles, kokoro, said, connection.send)
            chains = [bundle.compare_chains(said[0]) for bundle in bundles if isinstance(bundle, WebBundle)]
            tested = [_self_test(bundle) for bundle in bundles if EXTENSION in bundle.manifest.extensions]
    except DeviceError:
        connection.send(None)
    else:
        connection.send((*compared, *chains, *tested) if compared else ())


def _self_test(bundle: Bundle) -> Comparison:
    """Returns the figures of the bundle's own self-test, by the name of each stage."""
    test = read_self_test(bundle.manifest, bundle.arithmetic)
    figures = tuple(
        replace(figure, name=f"self-test, {stages}: {figure.name}") for stages, figure in bundle.self_test()
    )
    utterance = Utterance(test.phonemes, test.voice, seed=test.seed)
    return Comparison(utterance, sum(test.frames), figures, level=bundle.level.name)


def numbers_of(comparisons: Sequence[Comparison]) -> Numbers:
    """Returns the validation as the manifest's flat map: of each figure the worst on each CPU level."""
    spoken = {each.utterance: each.frames for each in comparisons}
    numbers: Numbers = {
        "validated": True,
        "reference": "kokoro.KModel, float32, same weights and noise",
        "utterances": len(spoken),
        "seconds": sum(spoken.values()) / FRAMES_PER_SECOND,
        "thresholds missed": sum(len(each.missed) for each in comparisons),
    }
    for comparison in comparisons:
        for figure in comparison.figures:
            name = f"{comparison.level}: {figure.name}"
            worst: Callable[..., float] = min if figure.at_least else max
            value = min(float(figure.value), MOST_DECIBELS)
            numbers[name] = worst(value, numbers.get(name, value))
    return numbers
