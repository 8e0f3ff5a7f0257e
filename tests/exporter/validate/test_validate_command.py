"""``kokoro-export validate``: what it refuses before anything runs, what it runs, and how it ends."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from typer.testing import CliRunner

import runtime_min
from exporter.cli.main import app
from exporter.errors import CheckpointError
from exporter.parity import answers
from exporter.parity.figures import Comparison
from exporter.reference.utterances import Utterance
from exporter.validate import run as validation
from exporter.validate.report import save as report
from exporter.validate.results import SpokenSteps
from exporter.validate.steps import Extras
from runtime_min.errors import UnknownPhonemesError
from runtime_min.format.verify import read_manifest
from runtime_min.model.distances import Figure

UTTERANCES = '[{"phonemes": "cab", "voice": "am_adam", "speed": 2.0, "seed": 9}]'


def run(*arguments: object) -> Any:
    return CliRunner().invoke(app, ["validate", *map(str, arguments)])


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "utterances.json"
    path.write_text(UTTERANCES)
    return path


@pytest.fixture
def nothing_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Loading a bundle or kokoro would be too late to say what is wrong."""

    def refuse(*arguments: object, **options: object) -> None:
        raise AssertionError("something slow runs")

    monkeypatch.setattr(runtime_min.Bundle, "load", refuse)
    monkeypatch.setattr(answers, "Reference", refuse)


@pytest.mark.usefixtures("nothing_runs")
class TestRefused:
    @pytest.mark.parametrize(
        ("arguments", "shown"),
        [
            (["steps"], "BUNDLE"),
            (["steps", "BUNDLE", "--tails", "zeros,ones"], "zeros, repeat, noise, nan"),
            (["steps", "BUNDLE", "--tails", ""], "zeros, repeat, noise, nan"),
            (["steps", "BUNDLE", "--probe", "vocoder"], "text_encoder"),
            (["steps", "BUNDLE", "--static-frames", "2"], "--static-frames"),
            (["steps", "BUNDLE", "--static-text-len", "0"], "--static-text-len"),
            (["steps", "BUNDLE", "--threads", "0"], "--threads"),
            (["steps", "BUNDLE", "--utterances", "FILE", "--speed", "2"], "--speed"),
            (["steps", "BUNDLE", "--save-dir", "no/such/place"], "--save-dir"),
            (["e2e", "BUNDLE", "--json", "no/such/place.json"], "--json"),
            (["e2e", "BUNDLE", "--voice", "af_heart"], "--voice"),
        ],
    )
    def test_wrong_usage_ends_with_2(self, sound: Path, file: Path, arguments: list[str], shown: str) -> None:
        places = {"BUNDLE": sound, "FILE": file}
        result = run(*(places.get(each, each) for each in arguments))
        assert result.exit_code == 2
        assert shown in result.output and "Traceback" not in result.output

    @pytest.mark.parametrize("command", ["steps", "e2e"])
    def test_no_bundle_and_a_damaged_one_end_with_4(self, tmp_path: Path, command: str) -> None:
        result = run(command, tmp_path)
        assert result.exit_code == 4
        assert str(tmp_path) in result.stderr
        (tmp_path / "manifest.msgpack").write_bytes(b"")
        assert run(command, tmp_path).exit_code == 4

    @pytest.mark.parametrize("command", ["steps", "e2e"])
    def test_a_file_of_another_form_ends_with_3(self, sound: Path, file: Path, command: str) -> None:
        file.write_text('[{"phonemes": "a"}]')
        result = run(command, sound, "--utterances", file)
        assert result.exit_code == 3
        assert "[0].voice" in result.stderr


class Fake:
    """A bundle and kokoro that only note what they are asked."""

    def __init__(self, patch: pytest.MonkeyPatch, sound: Path) -> None:
        self.loaded: list[dict[str, Any]] = []
        self.checked: list[Utterance] = []
        self.files: list[tuple[object, ...]] = []
        self.patch = patch
        patch.setattr(runtime_min.Bundle, "load", self.load)
        patch.setattr(validation, "check_utterances", self.check)
        patch.setattr(validation, "reference_files", self.reference_files)
        patch.setattr(validation, "stage_calls", lambda *files: {})

    def load(self, path: Path, **options: Any) -> Any:
        self.loaded.append(options)
        manifest = read_manifest(path)

        class Loaded(SimpleNamespace):
            arithmetic = "float32"

            def __enter__(self) -> Loaded:
                return self

            def __exit__(self, *error: object) -> None:
                pass

        voices = tuple(voice.name for voice in manifest.voices)
        level = manifest.target.levels[0]
        return Loaded(
            directory=path, manifest=manifest, level=level, threads=1, voices=voices, max_phonemes=20
        )

    def check(self, bundle: Any, said: tuple[Utterance, ...]) -> tuple[int, ...]:
        if any("x" in utterance.phonemes for utterance in said):
            error = UnknownPhonemesError({"x": [0]})
            error.add_note("This was utterance 1.")
            raise error
        self.checked.extend(said)
        return tuple(30 for _ in said)

    def reference_files(self, manifest: object, *named: object) -> tuple[Path, Path]:
        self.files.append(named)
        return Path("my.pth"), Path("my.json")


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch, sound: Path) -> Fake:
    return Fake(monkeypatch, sound)


class TestEndToEnd:
    @staticmethod
    def found(fake: Fake, decibels: float) -> None:
        def validate(
            bundles: Any, kokoro: object, said: tuple[Utterance, ...], progress: Any
        ) -> tuple[Comparison, ...]:
            progress("[utterance] 1")
            figures = (
                Figure("samples are numbers", 1, 1, at_least=True),
                Figure("durations that differ", 0, 0),
                Figure("durations rounded the other way", 0, 0),
                Figure("chain, dB", decibels, 30, at_least=True),
            )
            return tuple(Comparison(each, 30, figures, level="baseline") for each in said)

        fake.patch.setattr(validation, "compare_waveforms", validate)

    def test_a_good_bundle_ends_with_0_and_one_line_that_says_so(
        self, fake: Fake, sound: Path, file: Path
    ) -> None:
        self.found(fake, 40)
        result = run("e2e", sound, "--utterances", file, "--threads", 3)
        assert result.exit_code == 0
        assert result.stdout.splitlines()[-1].startswith(f"{sound} matches kokoro: 1 utterance")
        assert "[utterance] 1" in result.stderr
        assert fake.checked == [Utterance("cab", "am_adam", 2.0, 9)]
        assert fake.loaded == [{"level": "baseline", "threads": 3, "verify": True}]

    def test_a_bad_one_ends_with_8_and_keeps_the_figures(
        self, fake: Fake, sound: Path, file: Path, tmp_path: Path
    ) -> None:
        self.found(fake, 12)
        result = run("e2e", sound, "--utterances", file, "--json", tmp_path / "found.json")
        assert result.exit_code == 8
        assert "chain, dB is 12, expected at least 30" in result.stdout
        assert '"holds": false' in (tmp_path / "found.json").read_text()

    def test_without_a_file_the_built_in_set_is_spoken(self, fake: Fake, sound: Path) -> None:
        self.found(fake, 40)
        fake.patch.setattr(validation, "built_in", lambda bundle: (Utterance("b", "af_bella"),))
        assert run("e2e", sound).exit_code == 0
        assert fake.checked == [Utterance("b", "af_bella")]

    def test_a_bundle_that_holds_nothing_of_it_asks_for_a_file(self, fake: Fake, sound: Path) -> None:
        fake.patch.setattr(validation, "built_in", lambda bundle: ())
        result = run("e2e", sound)
        assert result.exit_code == 3
        assert "--utterances FILE" in result.stderr

    def test_an_unknown_level_is_wrong_usage(self, fake: Fake, sound: Path) -> None:
        result = run("e2e", sound, "--cpu-level", "x87")
        assert result.exit_code == 2
        assert "'x87'" in result.stderr and fake.loaded == []


class TestSteps:
    @pytest.fixture(autouse=True)
    def traced(self, fake: Fake) -> list[tuple[Any, Utterance, Extras]]:
        asked: list[tuple[Any, Utterance, Extras]] = []

        def trace(executions: Any, utterance: Utterance, extras: Extras) -> SpokenSteps:
            executions.progress("a step")
            asked.append((executions, utterance, extras))
            chain = (Figure("chain, dB", 12 if utterance.voice == "am_adam" else 40, 30, at_least=True),)
            return SpokenSteps(utterance, 5, 30, (), chain)

        fake.patch.setattr(validation, "trace_steps", trace)
        fake.patch.setattr("exporter.validate.report.terminal.show", lambda found, console: None)
        return asked

    def test_a_short_utterance_is_the_default(
        self, traced: list[tuple[Any, Utterance, Extras]], sound: Path
    ) -> None:
        result = run("steps", sound, "--phonemes", "ab", "--static-text-len", 22)
        assert result.exit_code == 0
        ((executions, utterance, extras),) = traced
        assert utterance == Utterance("ab", "af_heart", 1.0, 0)
        assert (executions.static_tokens, executions.static_frames) == (22, 5120)
        assert extras == Extras()
        assert "utterance 1 of 1: a step" in result.stderr

    def test_weights_that_are_not_rounded_have_no_table_of_rounding(
        self, traced: list[tuple[Any, Utterance, Extras]], sound: Path
    ) -> None:
        result = run("steps", sound, "--phonemes", "ab", "--rounding")
        assert result.exit_code == 2 and "--rounding: expected rounded weights or" in result.stderr
        assert traced == []

    def test_every_option_arrives(
        self, fake: Fake, traced: list[tuple[Any, Utterance, Extras]], sound: Path, file: Path
    ) -> None:
        fake.patch.setattr(validation, "phonemes_of_text", lambda text, voice: (f"{text[0]}", "c"))
        result = run(
            *("steps", sound, "--phonemes", "ab", "--phonemes", "ba", "--text", "a text"),
            *("--utterances", file, "--voice", "af_bella", "--speed", 0.5, "--seed", 3),
            *("--static-text-len", 10, "--static-frames", 30, "--cross", "--prefix-f0n"),
            *("--tails", "nan, zeros", "--sweep-buckets", "--probe", "decoder", "--probe", "f0n"),
            *("--cpu-level", "baseline", "--checkpoint", "c.pth", "--config", "c.json", "--threads", 2),
        )
        assert result.exit_code == 8  # what the file asks for misses a limit
        named = [Utterance(phonemes, "af_bella", 0.5, 3) for phonemes in ("ab", "ba", "a", "c")]
        assert [utterance for _, utterance, _ in traced] == [*named, Utterance("cab", "am_adam", 2.0, 9)]
        assert traced[0][2] == Extras(True, True, ("zeros", "nan"), True, ("decoder", "f0n"))
        assert fake.loaded == [{"level": "baseline", "threads": 2}]
        assert fake.files == [("c.pth", Path("c.json"))]

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            (["--static-frames", 29], "--static-frames: expected 30 or more"),
            (["--static-text-len", 3], "--static-text-len: expected 4 to 22"),
            (["--static-text-len", 23], "--static-text-len: expected 4 to 22"),
        ],
    )
    def test_pt_static_must_hold_every_utterance(
        self, traced: list[object], sound: Path, arguments: list[object], message: str
    ) -> None:
        result = run("steps", sound, "--phonemes", "ab", "--static-text-len", 22, *arguments)
        assert result.exit_code == 2
        assert message in result.stderr
        assert traced == []

    def test_an_unknown_phoneme_ends_with_3_and_names_the_utterance(
        self, traced: list[object], sound: Path
    ) -> None:
        result = run("steps", sound, "--phonemes", "x")
        assert result.exit_code == 3
        assert "'x' (U+0078)" in result.stderr and "This was utterance 1." in result.stderr
        assert traced == []

    def test_another_checkpoint_than_the_bundles_ends_with_3(
        self, fake: Fake, traced: list[object], sound: Path
    ) -> None:
        def refuse(*arguments: object) -> None:
            raise CheckpointError("what to do")

        fake.patch.setattr(validation, "reference_files", refuse)
        result = run("steps", sound, "--phonemes", "a", "--static-text-len", 22)
        assert (result.exit_code, result.stderr) == (3, "error: what to do\n")
        assert traced == []

    def test_a_report_is_kept_where_it_is_asked_for(self, fake: Fake, sound: Path, tmp_path: Path) -> None:
        kept: list[tuple[Any, Path]] = []
        fake.patch.setattr(report, "save", lambda found, directory: kept.append((found, directory)))
        result = run(
            *("steps", sound, "--phonemes", "ab", "--static-text-len", 22, "--save-dir", tmp_path / "kept")
        )
        assert result.exit_code == 0
        ((found, directory),) = kept
        assert directory == tmp_path / "kept"
        assert found.facts["pt.static"] == "22 tokens, 5120 frames"
        assert str(directory / "report.html") in result.stdout


@pytest.mark.parametrize("arguments", [["--help"], ["steps", "--help"], ["e2e", "--help"]])
def test_help_imports_nothing_heavy_and_names_the_exit_codes(arguments: list[str]) -> None:
    program = (
        "import sys; from exporter.cli.main import app; app(sys.argv[1:], standalone_mode=False); "
        "print(*{'torch', 'tvm', 'tvm_ffi', 'kokoro'} & set(sys.modules), file=sys.stderr)"
    )
    command = [sys.executable, "-c", program, "validate", *arguments]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.stderr.strip() == ""
    assert "8 a bundle" in " ".join(done.stdout.split())
