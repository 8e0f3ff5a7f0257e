"""Compares every stage of a bundle with kokoro, on the machine that the bundle is for.

The exporter runs kokoro on an utterance and stores the inputs and outputs of its stages, with the limits for
a bundle's distance from them, as the extension `EXTENSION` (`bundles/FORMAT.md`). Every stage is judged on
kokoro's own inputs, then the whole chain: the waveform is as good as chaotic in F0.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Annotated, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..engine.stage_runner import StageRunner
from ..errors import InputError, KokoroError, ManifestError, ModelOutputError, UtteranceTooLongError
from ..format.arithmetic import FLOAT32
from ..format.bundle_files import BundleFiles
from ..format.manifest import Manifest
from ..format.schema import Length, Node, RelativePath, Text, array, integer, one_of, reader_of
from ..format.signatures import SAMPLES_PER_FRAME
from .alignment import align
from .chain import Choices, run_chain
from .distances import Figure, log_mel_distance, relative_maximum, snr, spectrum_snr, turned_phases
from .noise import gaussian_noise
from .tokens import BOUNDARIES, tokenise
from .voices import Style

EXTENSION = "self_test"
ARITHMETIC_CHECKS = "self_test_arithmetic"
"""Another extension: by the name of an arithmetic, checks in place of the decoder's and the whole chain's."""
STYLE = "style"
"""Name of the stored row of a voice, float32 ``[1, 2 * style]``."""
WHOLE_CHAIN: tuple[str, ...] = ()
"""Stands for all stages, with rounding and alignment between them, from phonemes to samples."""
_DERIVED = ("token_ids", "decoder_style", "prosody_style", "aligned_encoding", "asr", "noise")
_ALWAYS = (STYLE, "encoding", "text", "audio")
"""Tensors from which the derived inputs are made, and the one that the chain is compared with."""


class NoSelfTestError(InputError):
    """The bundle has nothing to compare itself with."""

    def __init__(self) -> None:
        super().__init__(
            "This bundle has no self-test: expected kokoro's results in its extension 'self_test', found no "
            "such extension. Bundles exported with --no-validate or by an earlier version have none: export "
            "it again without that option."
        )


class SelfTestFailedError(KokoroError):
    """A bundle does not compute here what kokoro computes."""

    exit_code = 8

    def __init__(self, missed: int, figures: int) -> None:
        """Takes how many figures are beyond their limits, and how many there are."""
        super().__init__(
            f"{missed} of {figures} figures miss their limits: this bundle does not compute here what kokoro "
            "does. Do not use it here; report the table, with the processor, the system and their versions."
        )


class Measure(NamedTuple):
    """A way to compare two tensors of one shape."""

    title: str
    distance: Callable[[NDArray[Any], NDArray[Any]], float]
    at_least: bool
    """True if more is better."""


MEASURES: Mapping[str, Measure] = {
    "maximum": Measure("max over RMS", relative_maximum, at_least=False),
    "decibels": Measure("dB", snr, at_least=True),
    "log-mel": Measure("log-mel distance", log_mel_distance, at_least=False),
    "spectrum decibels": Measure("dB", spectrum_snr, at_least=True),
    "turned phases": Measure("phases beyond the cut", turned_phases, at_least=False),
}


def _number(node: Node) -> float:
    if isinstance(node.value, bool) or not isinstance(node.value, (int, float)):
        raise node.error("a number")
    return float(node.value)


@dataclass(frozen=True)
class Check:
    """One comparison; the field names are the keys of the manifest."""

    stages: Annotated[tuple[Text, ...], array(0, 2)]
    """Run one after the other, the first on kokoro's values; `WHOLE_CHAIN` is not a stage."""
    output: Text
    """Name of an output of the last stage."""
    reference: Text
    """The stored tensor that it is compared with."""
    measure: Annotated[str, one_of(MEASURES)]
    limit: Annotated[float, _number]


@dataclass(frozen=True)
class SelfTest:
    """Kokoro's results and their limits; the field names are the keys of the manifest."""

    phonemes: Text
    voice: Text
    """The voice's name, for people: the row that kokoro used is stored."""
    seed: Annotated[int, integer(0, (1 << 64) - 1)]
    frames: Annotated[tuple[Length, ...], array(1, 65_536)]
    """Frames of each token, the boundary tokens among them."""
    file: RelativePath
    """Holds the tensors, float32, one after the other."""
    tensors: Annotated[tuple[Text, ...], array(1, 64)]
    """Names of stages' tensors, whose shapes they have; ``f0.exact`` is another value of ``f0``."""
    checks: Annotated[tuple[Check, ...], array(1, 64)]


class StageFigure(NamedTuple):
    """One figure of a self-test."""

    stages: str
    """The stages that computed, and on which device if it is not the CPU."""
    figure: Figure


_read_checks = reader_of(Annotated[tuple[Check, ...], array(1, 64)])


def read_self_test(manifest: Manifest, arithmetic: str = FLOAT32) -> SelfTest:
    """Returns the self-test of a bundle with all stages, checked.

    Args:
        manifest: the bundle's.
        arithmetic: that of the loaded decoder.

    Raises:
        NoSelfTestError: there is none.
        ManifestError: it breaks its schema, or does not fit the bundle.
    """
    if EXTENSION not in manifest.extensions:
        raise NoSelfTestError
    node = Node(manifest.extensions[EXTENSION], f"extensions.{EXTENSION}")
    test: SelfTest = reader_of(SelfTest)(node)
    known = set(test.phonemes) <= manifest.vocabulary.keys()
    if not known or len(test.phonemes) > manifest.max_phonemes:
        raise node.child("phonemes").error(f"at most {manifest.max_phonemes} phonemes of the vocabulary")
    tokens = len(test.phonemes) + BOUNDARIES
    node.child("frames").elements(tokens, tokens)
    _check_lengths(manifest, test, node)
    _check_tensors(manifest, test, node)
    _check_checks(manifest, test, node.child("checks"))
    if arithmetic == FLOAT32:
        return test
    node = Node(manifest.extensions.get(ARITHMETIC_CHECKS, {}), f"extensions.{ARITHMETIC_CHECKS}")
    own = replace(test, checks=_read_checks(node.child(arithmetic)))
    _check_checks(manifest, own, node.child(arithmetic))
    kept = [check for check in test.checks if check.stages and check.stages[-1] != "decoder"]
    return replace(test, checks=(*kept, *own.checks))


def _check_lengths(manifest: Manifest, test: SelfTest, node: Node) -> None:
    lengths = {"tokens": len(test.frames), "frames": sum(test.frames)}
    for stage in manifest.stages:
        largest = stage.libraries[-1].bucket
        if not stage.minimum <= lengths[stage.axis] <= largest:
            expected = f"{stage.minimum} to {largest} {stage.axis}, which {stage.name} takes"
            raise ManifestError(f"{node.path}.frames", expected, lengths[stage.axis])


def _check_tensors(manifest: Manifest, test: SelfTest, node: Node) -> None:
    """Checks that all inputs are stored, and that the file is as large as its tensors."""
    shapes, sizes = _shapes(manifest, test), {entry.path: entry.bytes for entry in manifest.files}
    given = {tensor.name for stage in manifest.stages for tensor in stage.inputs}
    wanted = {*_ALWAYS, *given} - {*_DERIVED}
    names = test.tensors
    if len(set(names)) < len(names) or not wanted <= set(names) or any(_base(n) not in shapes for n in names):
        raise ManifestError(f"{node.path}.tensors", f"{', '.join(sorted(wanted))}, each once", names)
    size = sum(4 * math.prod(shapes[_base(name)]) for name in names)
    if sizes.get(test.file) != size:
        found = sizes.get(test.file, "no such file")
        raise ManifestError(f"{node.path}.file", f"a listed file of {size} bytes", found)


def _check_checks(manifest: Manifest, test: SelfTest, node: Node) -> None:
    """Checks that every check compares an output with stored values of it."""
    stages = {stage.name: stage for stage in manifest.stages}
    for check, place in zip(test.checks, node.elements(), strict=True):
        if unknown := [name for name in check.stages if name not in stages]:
            raise ManifestError(f"{place.path}.stages", f"some of {', '.join(stages)}", unknown)
        outputs = [tensor.name for tensor in stages[(check.stages or ("decoder",))[-1]].outputs]
        if check.output not in outputs:
            raise ManifestError(f"{place.path}.output", f"one of {', '.join(outputs)}", check.output)
        if check.reference not in test.tensors or _base(check.reference) != check.output:
            raise ManifestError(f"{place.path}.reference", f"a tensor {check.output}", check.reference)
        halves = MEASURES[check.measure].distance in (spectrum_snr, turned_phases)
        if halves and check.output != "spectrum":
            raise ManifestError(f"{place.path}.measure", "a measure of any tensor", check.measure)


def _shapes(manifest: Manifest, test: SelfTest) -> dict[str, tuple[int, ...]]:
    """Returns the shape of every float32 input and output of a stage, by name."""
    lengths = {"tokens": len(test.frames), "frames": sum(test.frames)}
    shapes: dict[str, tuple[int, ...]] = {STYLE: (1, 2 * manifest.model.style)}
    for stage in manifest.stages:
        for tensor in (*stage.inputs, *stage.outputs):
            if tensor.dtype == "float32":
                shapes[tensor.name] = tensor.concrete(lengths[stage.axis])
    return shapes


def _base(name: str) -> str:
    return name.partition(".")[0]


def run_self_test(
    manifest: Manifest, files: BundleFiles, stages: Mapping[str, StageRunner], arithmetic: str = FLOAT32
) -> Iterator[StageFigure]:
    """Yields every figure as soon as it is measured.

    Args:
        manifest: manifest of a bundle with all stages.
        files: files of that bundle.
        stages: a runner for every stage.
        arithmetic: that of the decoder's runner.

    Raises:
        NoSelfTestError: the bundle has none.
        BundleError: it is damaged.
        ExecutionError: a library failed, while the figures are measured.
    """
    test = read_self_test(manifest, arithmetic)
    return _measure(test, stages, _values(manifest, files, test))


def _values(manifest: Manifest, files: BundleFiles, test: SelfTest) -> dict[str, NDArray[Any]]:
    """Returns kokoro's inputs and outputs by name."""
    shapes, data = _shapes(manifest, test), np.frombuffer(files.read(test.file), "<f4")
    values: dict[str, NDArray[Any]] = {}
    for name in test.tensors:
        shape = shapes[_base(name)]
        values[name], data = data[: math.prod(shape)].reshape(shape), data[math.prod(shape) :]
    frames = np.array(test.frames, np.int64)
    values["token_ids"] = tokenise(test.phonemes, manifest.vocabulary)
    values["decoder_style"], values["prosody_style"] = np.split(values[STYLE], 2, axis=1)
    values["aligned_encoding"] = align(values["encoding"], frames)
    values["asr"] = align(values["text"], frames)
    values["noise"] = gaussian_noise(test.seed, SAMPLES_PER_FRAME * int(frames.sum()))[None]
    return values


def _measure(
    test: SelfTest, stages: Mapping[str, StageRunner], values: Mapping[str, NDArray[Any]]
) -> Iterator[StageFigure]:
    for names, checks in groupby(test.checks, key=lambda check: check.stages):
        place = ", ".join(map(_place, map(stages.__getitem__, names))) or "whole chain"
        if names == WHOLE_CHAIN:
            durations, found = _speak(test, stages, values)
            wrong = float((durations != test.frames).sum())
            yield StageFigure(place, Figure("durations that differ", wrong, 0))
        else:
            found = _run(names, stages, values)
        for check in checks:
            yield StageFigure(place, _figure(check, found[check.output], values[check.reference]))


def _place(runner: StageRunner) -> str:
    stage = runner.stage
    return stage.name if stage.device == "cpu" else f"{stage.name} on {stage.device}"


def _run(
    names: tuple[str, ...], stages: Mapping[str, StageRunner], values: Mapping[str, NDArray[Any]]
) -> Mapping[str, NDArray[Any]]:
    """Returns the values and the outputs of the stages, each stage run on the outputs before it."""
    found = dict(values)
    for name in names:
        inputs = stages[name].stage.inputs
        found |= stages[name].run({tensor.name: found[tensor.name] for tensor in inputs})
    return found


def _speak(
    test: SelfTest, stages: Mapping[str, StageRunner], values: Mapping[str, NDArray[Any]]
) -> tuple[NDArray[Any], Mapping[str, NDArray[Any]]]:
    """Returns durations and samples of the whole chain; samples that are NaN where it fails."""
    nothing = np.full_like(values["audio"], np.nan)
    style = Style(values["decoder_style"], values["prosody_style"])
    try:
        trace = run_chain(stages, values["token_ids"], style, 1.0, test.seed, Choices())
    except (ModelOutputError, UtteranceTooLongError):
        return np.zeros(len(test.frames), np.int64), {"audio": nothing}
    comparable = trace.audio.shape == nothing.shape
    return trace.durations, {"audio": trace.audio if comparable else nothing}


def _figure(check: Check, values: NDArray[Any], reference: NDArray[Any]) -> Figure:
    measure = MEASURES[check.measure]
    # Damaged values and references of zeros are missed limits, not warnings.
    with np.errstate(all="ignore"):
        value = measure.distance(values, reference)
    return Figure(f"{check.output}, {measure.title}", value, check.limit, measure.at_least)
