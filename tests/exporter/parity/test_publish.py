"""The gate before publishing, and the numbers that it puts into a manifest."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporter.bundle.loudness import PHONEMES
from exporter.bundle.write import not_validated, write_voice
from exporter.compiler.library import StoredWeights
from exporter.compiler.targets import TARGETS
from exporter.errors import ReferenceProcessError, ValidationFailedError
from exporter.model.voice_packs import official_voices
from exporter.parity import publish as measure
from exporter.parity.figures import Comparison, voice_pack
from exporter.parity.publish import Gate, numbers_of
from exporter.parity.rounding import Rounding
from exporter.reference.traces import ModelInput
from exporter.reference.utterances import BUILT_IN, Utterance, adapted
from exporter.reference.voice_statistics import PASSAGES
from runtime_min.engine import machine
from runtime_min.engine.machine import Machine
from runtime_min.format.manifest import PRECISION_REQUIRED
from tests.support.fakes.kokoro_answers import SAID, request_of, waveform
from tests.support.tiny.bundle import dummy_contents


class TestManifest:
    @given(values=st.lists(st.floats(-50, 400), min_size=1))
    def test_the_worst_of_each_figure_is_kept_for_each_level(self, values: list[float]) -> None:
        said = [Utterance("a", "af_heart", seed=seed) for seed in range(len(values))]
        found = [
            waveform(value, name, each)
            for each, value in zip(said, values, strict=True)
            for name in ("v4", "v3")
        ]
        numbers = numbers_of(found)
        assert numbers["validated"] is True
        assert numbers["utterances"] == len(values)
        assert numbers["seconds"] == 2 * len(values)
        assert numbers["thresholds missed"] == 2 * sum(value < 30 for value in values)
        assert numbers["v4: chain, dB"] == numbers["v3: chain, dB"] == min(200, *values)
        assert numbers["v4: level, dB off"] == 0.01
        assert all(isinstance(value, str | int | float | bool) for value in numbers.values())

    def test_a_figure_that_one_utterance_lacks_is_the_worst_of_the_others(self) -> None:
        short = Comparison(Utterance("b", "af_heart"), 0, waveform().figures[:1], level="v4")
        assert numbers_of([short, waveform(35)])["v4: chain, dB"] == 35


class Progress:
    def __init__(self) -> None:
        self.steps: list[str] = []
        self.warnings: list[str] = []

    def step(self, text: str) -> None:
        self.steps.append(text)

    def warning(self, text: str) -> None:
        self.warnings.append(text)


class TestPublishing:
    TARGET = TARGETS[0]
    ABLE = Machine(TARGET.system, TARGET.machine, "glibc 2.36", frozenset(TARGET.levels[-1].features))

    @pytest.fixture
    def plan(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
        monkeypatch.setattr(measure, "this_machine", lambda: self.ABLE)
        monkeypatch.setattr(measure, "_requests", lambda plan: [request_of(SAID)])
        return SimpleNamespace(
            options=SimpleNamespace(output=tmp_path / "demo", answers=None, arithmetic="float32", jobs=2),
            precision="float32",
            stored=StoredWeights("float16"),
            is_whole=True,
            voices={"af_heart": None},
            target=self.TARGET,
            levels=self.TARGET.levels,
            checkpoint=SimpleNamespace(
                path=tmp_path / "my.pth",
                config_path=tmp_path / "my.json",
                vocabulary={"ə": 1},
                source="file",
            ),
        )

    @staticmethod
    def measured(monkeypatch: pytest.MonkeyPatch, *waveforms: Comparison) -> None:
        monkeypatch.setattr(measure, "_compare", lambda *arguments: waveforms)

    def test_a_good_bundle_gets_its_numbers(self, monkeypatch: pytest.MonkeyPatch, plan: Any) -> None:
        self.measured(monkeypatch, waveform())
        progress: Any = Progress()
        assert Gate().measure(plan, progress, Path("staged")) == numbers_of([waveform()])
        assert progress.warnings == []

    def test_a_bad_one_is_refused_with_the_place_that_it_would_have_had(
        self, monkeypatch: pytest.MonkeyPatch, plan: Any
    ) -> None:
        self.measured(monkeypatch, waveform(), waveform(12.5, "v3"))
        progress: Any = Progress()
        with pytest.raises(ValidationFailedError) as caught:
            Gate().measure(plan, progress, Path("staged"))
        assert caught.value.exit_code == 8
        for part in (
            "No bundle was written",
            str(plan.options.output),
            "chain, dB",
            "--no-validate",
            "'abc'",
        ):
            assert part in str(caught.value)
        assert "staged" not in str(caught.value)

    def test_an_export_has_one_kokoro_whose_answers_outlive_it_in_the_cache_alone(self, plan: Any) -> None:
        with Gate() as gate:
            kokoro = gate.kokoro(plan)
            assert gate.kokoro(plan) is kokoro and kokoro.stored == plan.stored
            assert kokoro.answers is not None and kokoro.answers.is_dir()
        assert not kokoro.answers.exists()
        plan.options.answers = plan.options.output.parent / "answers"
        with Gate() as gate:
            assert gate.kokoro(plan).answers == plan.options.answers

    @staticmethod
    def answering(
        monkeypatch: pytest.MonkeyPatch, plan: Any, rounding: Callable[[Any, ModelInput], Rounding]
    ) -> Any:
        """Has a kokoro, which it returns, answer the plan's questions about rounding by a function."""
        plan.precision = "float16"
        kokoro = SimpleNamespace(ended=threading.Event(), asked=[])
        kokoro.rounding, kokoro.close = partial(rounding, kokoro), kokoro.ended.set
        monkeypatch.setattr(measure, "Kokoro", lambda *files, **options: nullcontext(kokoro))
        monkeypatch.setattr(measure, "make_self_test", lambda *given: kokoro.asked.append("self-test"))
        return kokoro

    def test_kokoro_answers_while_others_compile_what_is_asked_later(
        self, monkeypatch: pytest.MonkeyPatch, plan: Any
    ) -> None:
        found = Rounding(np.array([1.0, 2.0]), np.zeros(2, bool), 46.0, 0.05)

        def rounding(kokoro: Any, request: ModelInput) -> Rounding:
            kokoro.asked.append(request.token_ids.tolist())
            return found

        kokoro = self.answering(monkeypatch, plan, rounding)
        with Gate() as gate:
            gate.answer_ahead(plan)
            gate.kokoro(plan)
            ahead = list(kokoro.asked)
            kokoro.asked.clear()
            self.measured(monkeypatch, waveform())
            progress: Any = Progress()
            gate.self_test(plan, progress)
            gate.measure(plan, progress, Path("staged"))
        assert kokoro.asked == ahead == ["self-test", request_of(SAID).token_ids.tolist()]
        assert kokoro.ended.is_set()

    def test_what_fails_meanwhile_fails_again_where_it_is_asked(
        self, monkeypatch: pytest.MonkeyPatch, plan: Any
    ) -> None:
        def rounding(kokoro: Any, request: ModelInput) -> Rounding:
            raise ReferenceProcessError("kokoro does not run here")

        self.answering(monkeypatch, plan, rounding)
        progress: Any = Progress()
        with Gate() as gate:
            gate.answer_ahead(plan)
            gate.self_test(plan, progress)
            with pytest.raises(ReferenceProcessError, match="does not run here"):
                gate.measure(plan, progress, Path("staged"))

    @pytest.mark.parametrize(("entry", "value"), [("is_whole", False), ("voices", {}), ("jobs", 1)])
    def test_nothing_is_answered_ahead_of_a_part_of_a_bundle_or_of_the_only_job(
        self, monkeypatch: pytest.MonkeyPatch, plan: Any, entry: str, value: Any
    ) -> None:
        monkeypatch.setattr(measure, "Kokoro", None)
        setattr(plan.options if entry == "jobs" else plan, entry, value)
        with Gate() as gate:
            gate.answer_ahead(plan)

    def test_an_export_that_is_interrupted_does_not_wait_for_answers(
        self, monkeypatch: pytest.MonkeyPatch, plan: Any
    ) -> None:
        def rounding(kokoro: Any, request: ModelInput) -> Rounding:
            kokoro.asked.append("rounding")
            assert kokoro.ended.wait(60)
            raise ReferenceProcessError("it has ended")

        kokoro = self.answering(monkeypatch, plan, rounding)
        with pytest.raises(KeyboardInterrupt), Gate() as gate:
            gate.answer_ahead(plan)
            while kokoro.asked[-1:] != ["rounding"]:
                time.sleep(0.001)
            raise KeyboardInterrupt
        assert kokoro.asked == ["self-test", "rounding"]

    @pytest.mark.parametrize("precision", ["float32", "float16"])
    def test_kokoro_is_asked_with_the_rows_of_the_bundles_voices(
        self, tmp_path: Path, precision: str
    ) -> None:
        voices = {name: official_voices()[name] for name in ("af_heart", "zm_yunxi")}
        checkpoint = SimpleNamespace(
            vocabulary={phoneme: 1 for said in BUILT_IN for phoneme in said.phonemes}
        )
        plan: Any = SimpleNamespace(checkpoint=checkpoint, precision=precision, voices=voices)
        made: Any = dummy_contents(tmp_path).manifest._replace(
            requires=(PRECISION_REQUIRED,) if precision == "float16" else (), voices=()
        )
        for name, rows in voices.items():
            made, _ = write_voice(tmp_path, made, name, rows)
        assert bool(made.voice_ranks) == (precision == "float16")
        asked = measure._requests(plan)
        assert len(asked) == len(BUILT_IN)
        for said, request in zip(adapted(BUILT_IN, [*voices], checkpoint.vocabulary), asked, strict=True):
            row = voice_pack(tmp_path, made, said.voice)[len(said.phonemes) - 1]
            np.testing.assert_array_equal(request.row[0], row)

    @staticmethod
    def rounded(monkeypatch: pytest.MonkeyPatch, plan: Any, decibels: float) -> None:
        """Has the plan round its weights, which takes the decoder so far from the original."""
        plan.precision, plan.voices = "float16", {"af_heart": np.zeros((510, 256))}
        found = Rounding(np.array([1.0, 2.0]), np.zeros(2, bool), decibels, 0.05)
        original = SimpleNamespace(rounded_layers=lambda request, stored: {"decoder.encode": 20.0})
        kokoro = SimpleNamespace(rounding=lambda request: found, original=original)
        monkeypatch.setattr(measure, "Kokoro", lambda *files, **options: nullcontext(kokoro))

    def test_rounded_weights_get_numbers_of_their_own(
        self, monkeypatch: pytest.MonkeyPatch, plan: Any
    ) -> None:
        self.measured(monkeypatch, waveform())
        self.rounded(monkeypatch, plan, 46.0)
        progress: Any = Progress()
        numbers = Gate().measure(plan, progress, Path("staged"))
        assert numbers.items() > numbers_of([waveform()]).items()
        assert numbers["rounding: decoder, dB"] == 46.0
        assert numbers["rounding: F0, median cents"] == 1.5
        plan.levels = plan.levels[:1]
        elsewhere = Gate().measure(plan, progress, Path("staged"))
        assert elsewhere["validated"] is False and elsewhere["rounding: decoder, dB"] == 46.0

    def test_weights_that_do_not_bear_the_rounding_are_refused(
        self, monkeypatch: pytest.MonkeyPatch, plan: Any
    ) -> None:
        self.measured(monkeypatch, waveform())
        self.rounded(monkeypatch, plan, 39.0)
        progress: Any = Progress()
        expected = r"float16 .* decoder, dB is 39, expected at least 40\. .* decoder\.encode .* --precision"
        with pytest.raises(ValidationFailedError, match=expected):
            Gate().measure(plan, progress, Path("staged"))

    @pytest.mark.parametrize(("decibels", "log_mel"), [(28.0, 0.5), (21.0, 0.5), (28.0, 0.7)])
    def test_an_arithmetic_that_this_machine_lacks_is_judged_by_a_model_of_it(
        self, monkeypatch: pytest.MonkeyPatch, plan: Any, decibels: float, log_mel: float
    ) -> None:
        self.measured(monkeypatch, waveform())
        models: list[StoredWeights] = []

        def model(stored: StoredWeights) -> Any:
            models.append(stored)
            return SimpleNamespace(other=model, decode=lambda inputs: SimpleNamespace(audio=(inputs, stored)))

        def kokoro(*files: Any, store: Any, stored: StoredWeights) -> Any:
            said = SimpleNamespace(decoder_inputs="inputs", audio="audio", other_seed=0.25)
            return nullcontext(SimpleNamespace(reference=model(stored), expected=lambda request: said))

        def distances(decoded: tuple[str, StoredWeights], audio: str) -> Any:
            assert (decoded, audio) == (("inputs", models[-1]), "audio")
            return SimpleNamespace(decibels=decibels, mel=0.25 * log_mel)

        monkeypatch.setattr(measure, "Kokoro", kokoro)
        monkeypatch.setattr(measure, "distances", distances)
        plan.options.arithmetic, plan.voices = "bfloat16", {"af_heart": np.zeros((510, 256))}
        plan.levels += self.TARGET.arithmetic_levels
        progress: Any = Progress()
        if (decibels, log_mel) == (28.0, 0.5):
            numbers = Gate().measure(plan, progress, Path("staged"))
            for level in self.TARGET.arithmetic_levels:
                assert numbers[f"{level.name}: bfloat16 alone, dB"] == decibels
                assert numbers[f"{level.name}: bfloat16 alone, log-mel over another seed's"] == log_mel
        else:
            with pytest.raises(ValidationFailedError, match=r"bfloat16 changes .* --arithmetic"):
                Gate().measure(plan, progress, Path("staged"))
        modelled = StoredWeights("float16", arithmetic="bfloat16")
        assert models == [plan.stored, replace(modelled, direct=True), modelled]
        monkeypatch.setattr(machine, "_tiles_are_permitted", lambda: True)
        every = frozenset(self.TARGET.arithmetic_levels[0].features)
        monkeypatch.setattr(measure, "this_machine", lambda: self.ABLE._replace(features=every))
        assert Gate().measure(plan, progress, Path("staged")).keys() == numbers_of([waveform()]).keys()

    @pytest.mark.parametrize(
        ("change", "why"),
        [
            (lambda plan: setattr(plan, "is_whole", False), "it has only a part of the stages"),
            (lambda plan: setattr(plan, "voices", {}), "it has no voices"),
            (lambda plan: setattr(plan, "levels", plan.levels[:1]), "cannot run it"),
            (
                lambda plan: setattr(
                    plan, "target", SimpleNamespace(fits=lambda machine: False, system="linux")
                ),
                "cannot run it",
            ),
        ],
    )
    def test_what_cannot_be_validated_says_so(self, plan: Any, change: Any, why: str) -> None:
        change(plan)
        progress: Any = Progress()
        numbers = Gate().measure(plan, progress, Path("staged"))
        assert numbers == not_validated(str(numbers["why not"]))
        assert numbers["validated"] is False and why in str(numbers["why not"])
        assert len(progress.warnings) == 1 and why in progress.warnings[0]

    def test_a_bundle_whose_buckets_hold_nothing_says_so(
        self, monkeypatch: pytest.MonkeyPatch, plan: Any
    ) -> None:
        self.measured(monkeypatch)
        progress: Any = Progress()
        assert Gate().measure(plan, progress, Path("staged"))["validated"] is False
        assert "buckets" in progress.warnings[0]

    def test_a_machine_without_the_bundles_device_is_no_failure(
        self, monkeypatch: pytest.MonkeyPatch, plan: Any
    ) -> None:
        monkeypatch.setattr(measure, "_compare", lambda *arguments: None)
        progress: Any = Progress()
        assert Gate().measure(plan, progress, Path("staged"))["validated"] is False
        assert "cannot run it" in progress.warnings[0]

    @pytest.mark.parametrize("here", [True, False])
    def test_voices_are_measured_with_the_bundle_or_with_kokoro_where_it_does_not_run(
        self, monkeypatch: pytest.MonkeyPatch, plan: Any, here: bool
    ) -> None:
        plan.voices = {"af_heart": np.zeros((510, 256)), "am_adam": np.ones((510, 256))}
        plan.checkpoint.vocabulary = dict.fromkeys(PHONEMES, 1)
        found = {"af_heart": -2_000} if here else None
        monkeypatch.setattr(measure, "measure_loudness", lambda *asked: found)
        monkeypatch.setattr(measure, "loudness", lambda samples: -1_000 if samples.any() else None)
        speak = SimpleNamespace(speak=lambda request: SimpleNamespace(audio=request.row))
        kokoro = SimpleNamespace(reference=speak)
        monkeypatch.setattr(measure, "Kokoro", lambda *files, **options: nullcontext(kokoro))
        progress: Any = Progress()
        # Nothing is known of a voice that is silent.
        expected = {"af_heart": -2_000} if here else {"am_adam": -1_000}
        assert Gate().loudness(plan, progress, Path("staged")) == expected
        plan.checkpoint.vocabulary = {"a": 1}
        assert Gate().loudness(plan, progress, Path("staged")) == {}

    def test_the_loudness_of_official_voices_is_known(self, plan: Any) -> None:
        plan.voices, plan.checkpoint.source, plan.options.voices = official_voices(), "packages", None
        plan.checkpoint.vocabulary = dict.fromkeys(PHONEMES, 1)
        found = Gate().loudness(plan, Any, Path("staged"))  # type: ignore[arg-type]
        assert found.keys() == plan.voices.keys()
        assert all(-3_000 < value < -1_500 for value in found.values())

    def test_the_statistics_of_official_voices_are_known_and_others_are_measured(
        self, monkeypatch: pytest.MonkeyPatch, plan: Any
    ) -> None:
        plan.checkpoint.vocabulary = dict.fromkeys("".join(PASSAGES), 1)
        plan.checkpoint.source, plan.checkpoint.synthetic, plan.options.voices = "packages", False, None
        progress: Any = Progress()
        assert Gate().statistics(plan, progress).keys() == official_voices().keys()
        plan.checkpoint.source = "file"
        kokoro = SimpleNamespace(original="kokoro")
        monkeypatch.setattr(measure, "Kokoro", lambda *files, **options: nullcontext(kokoro))
        monkeypatch.setattr(measure, "measure_statistics", lambda *asked: asked)
        assert Gate().statistics(plan, progress) == ("kokoro", plan.voices, plan.checkpoint.vocabulary)
        # Random weights have no voices.
        plan.checkpoint.synthetic = True
        assert Gate().statistics(plan, progress) == {}
        plan.checkpoint.synthetic, plan.checkpoint.vocabulary = False, {"a": 1}
        assert Gate().statistics(plan, progress) == {}

    def test_a_process_that_fails_is_an_error_with_its_last_words(self, plan: Any, tmp_path: Path) -> None:
        progress: Any = Progress()
        with pytest.raises(ReferenceProcessError, match=r"could not be compared(.|\n)*no-such-bundle"):
            Gate().measure(plan, progress, tmp_path / "no-such-bundle")
