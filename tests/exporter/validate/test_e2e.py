"""The comparison of final waveforms, and the numbers that it puts into a manifest, on made-up signals."""

from __future__ import annotations

import json
import math
from dataclasses import asdict
from io import StringIO
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from exporter.compiler.targets import TARGETS
from exporter.errors import ReferenceProcessError, ValidationFailedError
from exporter.parity import publish as measure
from exporter.parity.figures import Spread, Utterance
from exporter.parity.publish import measure_bundle, not_validated, numbers_of
from exporter.validate import e2e
from exporter.validate.e2e import Waveform, as_json, as_tables, levels_here, validate_waveforms, verdict
from runtime_min.engine.machine import Machine
from runtime_min.errors import CpuLevelError, ModelOutputError, OutputError
from runtime_min.format.manifest import CpuLevel
from runtime_min.model.distances import Figure

SAID = Utterance("abc", "af_heart", seed=7)
SPREAD = Spread(distance=0.01, mel=0.02, level=0.001, other_seed=0.2, source_decibels=60)
FRAMES = np.array([3, 4, 3], np.int64)


def signal(seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal((1, 600 * int(FRAMES.sum())), np.float32)


def beside(distance: float) -> np.ndarray:
    """The reference's audio, off by this share of its RMS."""
    return (signal() + np.float32(distance) * signal(seed=1)).astype(np.float32)


def level(name: str, audio: np.ndarray | None, durations: np.ndarray = FRAMES) -> Any:
    """A bundle on one CPU level that says `audio`; None stands for durations that are no numbers."""

    def trace(phonemes: str, voice: str, speed: float, seed: int, durations: Any = durations) -> Any:
        if audio is None:
            raise ModelOutputError("not finite")
        said = audio[:, : 600 * int(durations.sum())]
        return SimpleNamespace(audio=said, durations=durations)

    return SimpleNamespace(level=SimpleNamespace(name=name), trace=trace)


@pytest.fixture
def spoken(monkeypatch: pytest.MonkeyPatch) -> list[Utterance]:
    """Puts a signal in the place of what kokoro says; the list has what it was asked to say."""
    asked: list[Utterance] = []

    def speak(reference: object, given: object, utterance: Utterance) -> Any:
        asked.append(utterance)
        # The second duration is next to a half.
        durations = FRAMES[None].astype(np.float32) + np.array([[0, 0.499995, 0]], np.float32)
        return SimpleNamespace(audio=signal(), frames=FRAMES, durations=durations)

    monkeypatch.setattr(e2e, "asked", lambda bundle, utterance: SimpleNamespace(style=None))
    monkeypatch.setattr(e2e, "speak_reference", speak)
    monkeypatch.setattr(e2e, "own_spread", lambda *arguments: SPREAD)
    return asked


def validate(*bundles: Any, said: tuple[Utterance, ...] = (SAID,)) -> tuple[Waveform, ...]:
    nobody: Any = None
    return validate_waveforms(bundles, nobody, nobody, said)


def missed(waveform: Waveform) -> list[str]:
    return [figure.name for figure in waveform.missed]


class TestWaveforms:
    def test_what_kokoro_says_holds(self, spoken: list[Utterance]) -> None:
        (waveform,) = validate(level("v4", signal()))
        assert waveform.holds
        assert waveform.frames == FRAMES.sum()
        assert len(waveform.figures) == 7

    @given(distance=st.floats(1e-4, 0.2))
    def test_it_holds_up_to_twice_the_own_spread(self, distance: float) -> None:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(e2e, "asked", lambda bundle, utterance: SimpleNamespace(style=None))
            expected = SimpleNamespace(audio=signal(), frames=FRAMES, durations=FRAMES[None] + 0.2)
            patch.setattr(e2e, "speak_reference", lambda *arguments: expected)
            patch.setattr(e2e, "own_spread", lambda *arguments: SPREAD)
            (waveform,) = validate(level("v4", beside(distance)))
        off = float(np.sqrt(np.square(beside(distance) - signal(), dtype=np.float64).mean()))
        off /= float(np.sqrt(np.square(signal(), dtype=np.float64).mean()))
        assert ("chain, dB" in missed(waveform)) == (off > 2 * SPREAD.distance)

    def test_a_louder_bundle_misses_the_level(self, spoken: list[Utterance]) -> None:
        (waveform,) = validate(level("v4", signal() * np.float32(10 ** (0.15 / 20))))
        assert "level, dB off" in missed(waveform)

    def test_other_durations_are_missed_and_nothing_else_is_judged(self, spoken: list[Utterance]) -> None:
        (waveform,) = validate(level("v4", beside(0), np.array([2, 4, 3])))
        assert missed(waveform) == ["durations that differ"]
        assert len(waveform.figures) == 3

    def test_a_half_that_rounds_the_other_way_is_judged_with_kokoros_durations(
        self, spoken: list[Utterance]
    ) -> None:
        longer = np.concatenate([signal(), signal()], axis=1)
        (waveform,) = validate(level("v4", longer, np.array([3, 5, 3])))
        assert waveform.holds
        assert len(waveform.figures) == 7

    def test_what_is_not_finite_is_missed_on_that_level_alone(self, spoken: list[Utterance]) -> None:
        broken_signal = signal()
        broken_signal[0, 5] = np.nan
        sound, broken, silent = validate(level("v4", signal()), level("v3", broken_signal), level("v2", None))
        assert sound.holds
        assert missed(broken) == missed(silent) == ["samples are numbers"]
        assert missed(validate(level("v4", None))[0]) == ["samples are numbers"]

    def test_kokoro_says_everything_once_for_all_levels(self, spoken: list[Utterance]) -> None:
        other = Utterance("b", "am_adam")
        waveforms = validate(level("v4", signal()), level("v3", beside(0.5)), said=(SAID, other))
        assert [(each.utterance, each.level) for each in waveforms] == [
            (SAID, "v4"),
            (SAID, "v3"),
            (other, "v4"),
            (other, "v3"),
        ]
        assert [each.holds for each in waveforms] == [True, False, True, False]
        assert spoken == [SAID, other]

    def test_progress_names_every_utterance(self, spoken: list[Utterance]) -> None:
        told: list[tuple[int, str]] = []
        nobody: Any = None
        said = (SAID, Utterance("b", "am_adam", speed=0.5))
        validate_waveforms(
            [level("v4", signal())], nobody, nobody, said, lambda done, what: told.append((done, what))
        )
        assert [done for done, _ in told] == [0, 1, 2]
        assert told[1][1] == "utterance 2 of 2: am_adam, 1 phonemes, speed 0.5"


def waveform(value: float = 40.0, name: str = "v4", said: Utterance = SAID) -> Waveform:
    figures = (
        Figure("samples are numbers", 1, 1, at_least=True),
        Figure("durations that differ", 0, 0),
        Figure("durations rounded the other way", 0, 0),
        Figure("chain, dB", value, 30, at_least=True),
        Figure("level, dB off", 0.01, 0.1),
    )
    return Waveform(said, name, 80, figures)


class TestReports:
    def test_a_good_bundle_is_one_line(self) -> None:
        line = verdict([waveform(), waveform(name="v3")], Path("demo"))
        assert line == "demo says what kokoro says: 1 utterance is within every threshold on v4, v3."

    def test_a_bad_one_names_utterance_level_figure_limit_and_what_to_do(self) -> None:
        said = Utterance("it's", "af_heart", speed=0.5, seed=3)
        line = verdict([waveform(), waveform(12.5, "v3", said)], Path("demo"))
        assert "1 of 2 waveforms miss a threshold" in line
        assert '"it\'s" (af_heart, speed 0.5, seed 3) on v3: chain, dB is 12.5, expected at least 30' in line
        quoted = "'it'\"'\"'s'"
        assert line.endswith(
            f"kokoro-export validate steps demo --phonemes {quoted} --voice af_heart --speed 0.5 --seed 3 "
            "--cpu-level v3"
        )

    @pytest.mark.parametrize("width", [80, 120])
    def test_the_table_shows_every_figure_with_its_limit(self, width: int) -> None:
        console = Console(width=width, record=True, file=StringIO())
        said = Utterance("[bold]ðə kwˈɪk bɹˈWn fˈɑks ʤˈʌmps", "am_michael", speed=0.25)
        console.print(*as_tables([waveform(12.5, said=said), waveform(name="v3")]))
        text = console.export_text()
        assert "12.5 ≥ 30.0" in text and "0.01 ≤ 0.10" in text and "none" in text
        assert "am_michael" in text and "0.25" in text and "2.00" in text and "equal" in text
        assert "v3" in text and "v4" in text
        assert "…" in text or "[bold]" in text
        assert max(map(len, text.splitlines())) <= width

    @given(value=st.floats())
    def test_json_has_numbers_or_null(self, value: float) -> None:
        (entry,) = json.loads(json.dumps(as_json([waveform(value)]), allow_nan=False))
        (figure,) = (each for each in entry["figures"] if each["name"] == "chain, dB")
        assert figure["holds"] == entry["holds"] == (value >= 30)
        assert (figure["value"] is None) == math.isnan(value)
        assert entry["phonemes"] == SAID.phonemes and entry["seconds"] == 2

    def test_a_file_that_cannot_be_written_is_named(self, tmp_path: Path) -> None:
        with pytest.raises(OutputError, match=f"{tmp_path} cannot be written"):
            e2e.write_json(tmp_path, [waveform()], Path("demo"))
        e2e.write_json(tmp_path / "found.json", [waveform()], Path("demo"))
        assert json.loads((tmp_path / "found.json").read_text())["verdict"].startswith("demo says")


class TestLevels:
    RUNS = CpuLevel("runs", ())
    LACKS = CpuLevel("lacks", ("no-such-feature",))

    def manifest(self, *levels: CpuLevel) -> Any:
        return SimpleNamespace(target=SimpleNamespace(levels=levels))

    def test_they_are_those_that_this_machine_runs(self) -> None:
        assert levels_here(self.manifest(self.LACKS, self.RUNS)) == ("runs",)
        other = CpuLevel("other", ())
        assert levels_here(self.manifest(self.RUNS, other)) == ("runs", "other")
        assert levels_here(self.manifest(self.RUNS, other), "other") == ("other",)

    @pytest.mark.parametrize("only", ["lacks", "unknown"])
    def test_one_that_it_does_not_run_is_refused(self, only: str) -> None:
        with pytest.raises(CpuLevelError):
            levels_here(self.manifest(self.RUNS, self.LACKS), only)


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
        short = Waveform(Utterance("b", "af_heart"), "v4", 0, waveform().figures[:1])
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
        return SimpleNamespace(
            options=SimpleNamespace(output=tmp_path / "demo"),
            is_whole=True,
            voices={"af_heart": None},
            target=self.TARGET,
            levels=self.TARGET.levels,
            checkpoint=SimpleNamespace(path=tmp_path / "my.pth", config_path=tmp_path / "my.json"),
        )

    @staticmethod
    def measured(monkeypatch: pytest.MonkeyPatch, *waveforms: Waveform) -> None:
        monkeypatch.setattr(measure, "_measure", lambda *arguments: waveforms)

    def test_a_good_bundle_gets_its_numbers(self, monkeypatch: pytest.MonkeyPatch, plan: Any) -> None:
        self.measured(monkeypatch, waveform())
        progress: Any = Progress()
        assert measure_bundle(plan, progress, Path("staged")) == numbers_of([waveform()])
        assert progress.warnings == []

    def test_a_bad_one_is_refused_with_the_place_that_it_would_have_had(
        self, monkeypatch: pytest.MonkeyPatch, plan: Any
    ) -> None:
        self.measured(monkeypatch, waveform(), waveform(12.5, "v3"))
        progress: Any = Progress()
        with pytest.raises(ValidationFailedError) as caught:
            measure_bundle(plan, progress, Path("staged"))
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

    @pytest.mark.parametrize(
        ("change", "why"),
        [
            (lambda plan: setattr(plan, "is_whole", False), "it has only a part of the stages"),
            (lambda plan: setattr(plan, "voices", {}), "it has no voices"),
            (lambda plan: setattr(plan, "levels", plan.levels[:1]), "cannot run it"),
            (
                lambda plan: setattr(plan, "target", SimpleNamespace(fits=lambda machine: False)),
                "cannot run it",
            ),
        ],
    )
    def test_what_cannot_be_validated_says_so(self, plan: Any, change: Any, why: str) -> None:
        change(plan)
        progress: Any = Progress()
        numbers = measure_bundle(plan, progress, Path("staged"))
        assert numbers == not_validated(str(numbers["why not"]))
        assert numbers["validated"] is False and why in str(numbers["why not"])
        assert len(progress.warnings) == 1 and why in progress.warnings[0]

    def test_a_bundle_whose_buckets_hold_nothing_says_so(
        self, monkeypatch: pytest.MonkeyPatch, plan: Any
    ) -> None:
        self.measured(monkeypatch)
        progress: Any = Progress()
        assert measure_bundle(plan, progress, Path("staged"))["validated"] is False
        assert "buckets" in progress.warnings[0]

    def test_what_the_process_prints_becomes_progress_and_waveforms(self) -> None:
        progress: Any = Progress()
        messages = [{"progress": "utterance 1 of 1"}, {"waveforms": [asdict(waveform(math.inf))]}]
        found = measure._read(map(json.dumps, messages), progress)
        assert found == (waveform(math.inf),)
        assert progress.steps == ["  utterance 1 of 1"]

    def test_a_machine_without_the_bundles_device_is_no_failure(
        self, monkeypatch: pytest.MonkeyPatch, plan: Any
    ) -> None:
        progress: Any = Progress()
        told = measure._read(['{"why not": "it was made on a machine that cannot run it"}'], progress)
        assert isinstance(told, str)
        monkeypatch.setattr(measure, "_measure", lambda *arguments: told)
        assert measure_bundle(plan, progress, Path("staged")) == not_validated(told)
        assert len(progress.warnings) == 1 and told in progress.warnings[0]

    def test_a_process_that_fails_is_an_error_with_its_last_words(self, plan: Any, tmp_path: Path) -> None:
        progress: Any = Progress()
        with pytest.raises(ReferenceProcessError, match=r"could not be compared(.|\n)*no-such-bundle"):
            measure_bundle(plan, progress, tmp_path / "no-such-bundle")
