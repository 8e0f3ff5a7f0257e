"""`validate steps` passes a good bundle and names the step and the block of a seeded defect."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from numpy.typing import NDArray

from exporter import directories
from exporter.compiler.targets import find_target
from exporter.export.library_cache import compiler_facts
from exporter.model.config import OFFICIAL_CONFIG
from exporter.parity.answers import Kokoro
from exporter.reference.utterances import Utterance
from exporter.validate import kernel_order
from exporter.validate.experiments import prefix_f0n
from exporter.validate.kernel_order import StageCalls
from exporter.validate.probe import probe
from exporter.validate.quantities import STEPS, BundleSteps, of_kokoro
from exporter.validate.results import STATIC, SpokenSteps
from exporter.validate.steps import Extras, judged, trace_steps
from exporter.validate.utterance_runs import Executions, UtteranceRuns, run_utterance
from runtime_min import Bundle
from runtime_min.format.signatures import STAGE_NAMES
from runtime_min.format.verify import sha256_of
from runtime_min.model import alignment
from runtime_min.model import chain as pipeline
from runtime_min.model.voices import Style, style_row
from runtime_min.speech import request
from tests.e2e.conftest import PRECISION, ROOT, run_python
from tests.support.paths import PROVING
from tests.support.shared import filled_once
from tests.support.utterances import phonemes_of

pytestmark = pytest.mark.e2e

GENERATORS_WEIGHT = "decoder.generator.blocks.4.convs2.1.weight"
SHORT = Utterance("həlˈO.", "af_heart", 2.0)
MakeExecutions = Callable[[Bundle], Executions]
align = alignment.align


@pytest.fixture(scope="module")
def calls() -> dict[str, StageCalls]:
    """The kernels of every stage, stored under all that decides them."""
    facts = [compiler_facts(find_target("host")), PRECISION]
    facts += [sha256_of(Path(path)) for path in (kernel_order.__file__, OFFICIAL_CONFIG)]
    key = hashlib.sha256(json.dumps(facts).encode()).hexdigest()
    path = directories.cache() / "test-answers" / f"{key}.json"
    content = None if PROVING else directories.read_stored(path)
    if content is None:
        found = kernel_order.stage_calls(OFFICIAL_CONFIG, PRECISION)
        directories.store(path, json.dumps({stage: vars(each) for stage, each in found.items()}).encode())
        return found
    return {
        stage: StageCalls(tuple(each["kernels"]), {block: tuple(n) for block, n in each["outputs"].items()})
        for stage, each in json.loads(content).items()
    }


@pytest.fixture(scope="module")
def make_executions(calls: dict[str, StageCalls], kokoro: Kokoro) -> MakeExecutions:
    """Executions with a small bucket for pt.static, which otherwise takes a minute."""
    return lambda bundle: Executions(bundle, kokoro, calls, static_tokens=32, static_frames=32)


# A good bundle.


@pytest.fixture(scope="module")
def good(bundle: Bundle, make_executions: MakeExecutions) -> SpokenSteps:
    extras = Extras(True, True, ("zeros", "repeat", "noise", "nan"), True, STAGE_NAMES)
    return trace_steps(make_executions(bundle), SHORT, extras)


def test_every_step_of_a_good_bundle_is_within_its_threshold(good: SpokenSteps) -> None:
    assert [step.name for step in good.steps] == [step.name for step in STEPS]
    assert all(step.figures for step in good.steps)
    assert [step.name for step in good.steps if not step.holds] == []
    assert [str(figure) for figure in good.chain if not figure.holds] == []
    assert good.holds


def test_every_block_and_every_experiment_of_a_good_bundle_holds(good: SpokenSteps) -> None:
    assert len(good.tables) == len(STAGE_NAMES) + 4
    for table in good.tables:
        assert table.holds, table.conclusion
    blocks = [row for table in good.tables[: len(STAGE_NAMES)] for row in table.rows]
    assert len(blocks) > 50


def test_the_references_own_spread_stands_beside_every_step(good: SpokenSteps) -> None:
    for step in good.steps:
        assert {"1 thread", "float64"} <= step.own.keys()
    audio = good.steps[-1].own
    # Longer speech has 20, 41 and 50 dB: its phase adds up what changes in F0.
    assert 15 < audio["other seed"] < min(audio["F0 1e-06"], audio["F0 1e-07"]) < 80


def test_padding_is_what_pt_static_suffers_from(
    good: SpokenSteps, make_executions: MakeExecutions, bundle: Bundle
) -> None:
    by_name = {step.name: step.differences[STATIC].decibels for step in good.steps}
    assert by_name["bert"] > 100
    assert by_name["F0"] < 20
    assert by_name["audio"] < 10
    table = prefix_f0n(run_utterance(make_executions(bundle), SHORT))
    assert "collapses" in table.conclusion


# Seeded defects.


TOGETHER = (("lstm", "instance_norm", "slope"), ("phase",))
"""Defects whose libraries are compiled in one process; the last one takes a minute."""


def defective_library(level: str, defect: str) -> Path:
    """A library with a defect, from the user's cache if it is there."""
    (names,) = (names for names in TOGETHER if defect in names)
    script = ROOT / "tests" / "support" / "programs" / "defective_libraries.py"
    facts = compiler_facts(find_target("host"))
    recipe = f"{facts}{level}{PRECISION}{names}{script.read_text(encoding='utf-8')}"
    libraries = directories.cache() / "defective" / hashlib.sha256(recipe.encode()).hexdigest()

    def compile_them(place: Path) -> None:
        arguments = (OFFICIAL_CONFIG, level, PRECISION, place, *names)
        done = run_python("-m", "tests.support.programs.defective_libraries", *arguments)
        assert done.returncode == 0, done.stderr

    (library,) = filled_once(libraries, compile_them).glob(f"{defect}.*")
    return library


@contextmanager
def with_library(directory: Path, stage: str, library: Path) -> Iterator[Bundle]:
    """The bundle with another library of a stage."""
    with Bundle.load(directory) as bundle:
        files = SimpleNamespace(
            directory=directory, read=lambda _: library.read_bytes(), check_unchanged=lambda: None
        )
        runner = bundle.stage(stage)
        runner._files = files
        runner._functions = {bucket: runner._worker.call(runner._load, bucket) for bucket in runner.buckets}
        yield bundle


def wrong_steps(runs: UtteranceRuns) -> list[str]:
    """The steps that miss a limit on equal inputs."""
    expected = runs.executions.kokoro.expected(runs.request)
    spread = runs.executions.kokoro.spread(expected)
    steps = BundleSteps(runs.executions.bundle, runs.executions.calls, runs.logits.shape[2])
    found = steps.on_equal_inputs(runs.bundle_trace, runs.request, runs.dynamic, runs.utterance.speed)
    of_dynamic = of_kokoro(runs.request, runs.dynamic, runs.logits)
    verdicts = judged(runs, found, of_dynamic, expected, spread)
    return [name for name, verdict in verdicts.items() if not all(each.holds for each in verdict.figures)]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("defect", "stage", "step", "block"),
    [
        ("lstm", "duration", "duration encoding", "predictor.text_encoder.lstms.0"),
        ("instance_norm", "f0n", "F0", "predictor.F0.0.conv1"),
        ("slope", "f0n", "F0", "predictor.F0.0.conv1"),
        ("phase", "decoder", "phase", None),
    ],
)
def test_a_defective_library_is_found_at_its_step_and_its_block(
    directory: Path,
    bundle: Bundle,
    make_executions: MakeExecutions,
    defect: str,
    stage: str,
    step: str,
    block: str | None,
) -> None:
    library = defective_library(bundle.level.name, defect)
    with with_library(directory, stage, library) as defective:
        runs = run_utterance(make_executions(defective), SHORT)
        assert wrong_steps(runs)[0] == step
        table = probe(runs, stage)
        named = None if table.marked is None else table.rows[table.marked][0]
        assert named == block
        assert block is None or block in table.conclusion


@pytest.mark.parametrize(
    ("parameter", "step", "block", "change"),
    [
        ("bert.feed_in.weight", "bert", "layer 0", 0.5),
        pytest.param(
            *("text_encoder.convs.1.weight", "text_encoder", "text_encoder.cnn.1.0", 0.5),
            marks=pytest.mark.slow,
        ),
        ("decoder.body.decode.1.conv1.weight", "decoder hidden", "decoder.decode.1.conv1", 0.5),
        ("decoder.source.weight", "source", None, 0.5),
        pytest.param(
            *(GENERATORS_WEIGHT, "generator", "decoder.generator.resblocks.4.convs2.1", 0.5),
            marks=pytest.mark.slow,
        ),
        (GENERATORS_WEIGHT, "generator", "decoder.generator.resblocks.4.convs2.1", np.nan),
    ],
)
def test_one_changed_weight_is_found_at_its_step_and_its_block(
    directory: Path,
    make_executions: MakeExecutions,
    parameter: str,
    step: str,
    block: str | None,
    change: float,
) -> None:
    stage = parameter.partition(".")[0]
    with Bundle.load(directory) as bundle:
        runner = bundle.stage(stage)
        # The map of the parameters is copied when it is written to: the file stays as it is.
        weights = np.from_dlpack(runner._parameters[runner.stage.parameters.index(parameter)])
        weights.reshape(-1)[weights.size // 2] += weights.dtype.type(change)
        runs = run_utterance(make_executions(bundle), SHORT)
        assert wrong_steps(runs)[0] == step
        table = probe(runs, stage)
        assert block is None or table.rows[table.marked or 0][0] == block
        assert np.isfinite(change) or block is None or "not finite" in table.conclusion


def swapped_halves(voices: dict[str, NDArray[np.float32]], name: str, phonemes: int) -> Style:
    style = style_row(voices, name, phonemes)
    return Style(style.prosody, style.decoder)


def one_frame_late(values: NDArray[np.float32], durations: NDArray[np.int64]) -> NDArray[np.float32]:
    return np.roll(align(values, durations), 1, axis=2)


def test_swapped_halves_of_the_style_are_found(
    bundle: Bundle, make_executions: MakeExecutions, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(request, "style_row", swapped_halves)
    assert wrong_steps(run_utterance(make_executions(bundle), SHORT))[0] == "style"


def test_an_alignment_that_is_one_frame_off_is_found(
    bundle: Bundle, make_executions: MakeExecutions, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pipeline, "align", one_frame_late)
    monkeypatch.setattr(alignment, "align", one_frame_late)
    wrong = wrong_steps(run_utterance(make_executions(bundle), SHORT))
    assert wrong == ["aligned encoding", "aligned asr"]


@pytest.mark.slow
def test_a_defective_bundle_is_not_published(bundle: Bundle, tmp_path: Path) -> None:
    library = defective_library(bundle.level.name, "slope")
    variables = {"DEFECTIVE_LIBRARY": str(library), "DEFECTIVE_STAGE": "f0n"}
    output = tmp_path / "bundles" / "bundle"
    done = run_python("-m", "tests.support.programs.defective_export", output, **variables)
    assert done.returncode == 8, done.stderr
    assert "chain, dB" in done.stderr
    assert "--no-validate" in done.stderr
    assert not list(tmp_path.glob("bundles/*"))


# The naive port at the lengths that its author used.


@pytest.mark.slow
def test_pt_static_is_right_in_its_text_and_wrong_in_its_audio(
    bundle: Bundle, calls: dict[str, StageCalls], kokoro: Kokoro
) -> None:
    executions = Executions(bundle, kokoro, calls)
    said = Utterance(phonemes_of(12), "af_heart")
    found = trace_steps(executions, said, Extras(prefix_f0n=True, sweep_buckets=True))
    experiment, sweep = found.tables
    assert "collapses" in experiment.conclusion
    assert sweep.plot is not None
    static, _, ours = sweep.plot.series
    assert static.y[0] > 30 > 5 > static.y[-1]
    assert max(ours.y) - min(ours.y) == 0
    assert found.holds
