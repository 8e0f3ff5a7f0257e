"""The command line: what it parses, what it prints, and with which code it ends."""

from __future__ import annotations

import io
import json
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from exporter.bundle.write import write_bundle
from exporter.cli import doctor
from exporter.cli.main import app
from exporter.cli.terminal import ConsoleProgress, plain_console
from exporter.compiler.link import LinkerMissingError
from exporter.compiler.targets import UnknownTargetError
from exporter.errors import CheckpointUnreachableError, ValidationFailedError, VoiceError
from exporter.export import run as export
from exporter.export.jobs import StageError
from exporter.export.plan import ExportOptions, OptionError
from runtime_min.errors import DiskFullError
from runtime_min.format.signatures import STAGE_NAMES
from tests.support.files import bytes_of
from tests.support.paths import ROOT
from tests.support.tiny.bundle import dummy_contents, voices, with_entries

COMMANDS = ("bundle", "inspect", "verify", "sign", "pack", "unpack", "validate", "doctor", "version")


INTERRUPTED = "interrupted: no bundle was written; compiled libraries are kept"


def run(*arguments):
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


@pytest.fixture
def exported(monkeypatch):
    """Replaces the export; what it was asked for is in the list, as options and the ways to measure."""
    asked = []

    def record(options, progress, measure, self_test, loudness, statistics, planned):
        asked.append((options, measure, self_test, loudness, statistics, planned))
        return options.output

    monkeypatch.setattr(export, "export_bundle", record)
    return asked


def test_the_help_names_every_command_and_exit_code():
    shown = " ".join(run("--help").output.split())
    assert all(command in shown for command in COMMANDS)
    codes = "0 done, 1 unexpected, 2 wrong, 3 input, 4 damaged, 5 unsuitable, 6 output, 7 a stage"
    for code in (*codes.split(", "), "8 a bundle that differs from kokoro", "130 interrupted"):
        assert code in shown
    for command in COMMANDS:
        assert "Exit codes" in run(command, "--help").output


class TestBundle:
    def test_the_defaults_are_the_official_weights_for_this_machine(self, exported, tmp_path):
        assert run("bundle", "-o", tmp_path / "demo").exit_code == 0
        ((options, *ways),) = exported
        expected = ExportOptions(
            tmp_path / "demo", jobs=options.jobs, cache=options.cache, answers=options.answers
        )
        assert options == expected and options.cache is not None
        assert len(ways) == 5 and None not in ways

    def test_without_validation_and_cache_nothing_is_measured_or_kept(self, exported, tmp_path):
        nothing = ("--no-validate", "--no-loudness", "--no-statistics", "--no-cache")
        run("bundle", "-o", tmp_path / "demo", *nothing, "--cache-dir", "kept")
        ((options, *validation),) = exported
        assert [options.cache, options.answers, *validation] == [None] * 7

    def test_every_option_reaches_the_export(self, exported, tmp_path):
        options = (
            "--checkpoint my.pth --config my.json --voices packs --target linux-x86_64 --cpu-level host "
            "--stages bert,decoder --text-buckets 32,128 --frame-buckets 64,256 --jobs 3 --cache-dir kept "
            "--dump-ir ir --runtime-library tvm.whl --no-native"
        )
        result = run("bundle", "--output", tmp_path / "demo", *options.split())
        assert (result.exit_code, result.stdout.strip()) == (0, str(tmp_path / "demo"))
        ((found, *_),) = exported
        assert found == ExportOptions(
            output=tmp_path / "demo",
            checkpoint="my.pth",
            config=Path("my.json"),
            voices="packs",
            target="linux-x86_64",
            cpu_level="host",
            stages=("bert", "decoder"),
            text_buckets=(32, 128),
            frame_buckets=(64, 256),
            native=False,
            runtime_library=Path("tvm.whl"),
            jobs=3,
            cache=Path("kept"),
            answers=found.answers,
            dump_ir=Path("ir"),
        )

    @pytest.mark.parametrize(
        "arguments",
        [
            ["bundle"],
            ["bundle", "-o", "demo", "--text-buckets", "32;128"],
            ["bundle", "-o", "demo", "--frame-buckets", ""],
            ["bundle", "-o", "demo", "--jobs", "0"],
            ["bundle", "-o", "demo", "--stages", "vocoder"],
            ["bundle", "-o", "demo", "--text-buckets", "128,32"],
            ["bundle", "-o", "demo", "--target", "moon"],
            ["bundle", "-o", "demo", "--cpu-level", "moon"],
            ["no-such-command"],
            ["validate"],
            [],
        ],
    )
    def test_wrong_usage_ends_with_2(self, arguments):
        result = run(*arguments)
        assert result.exit_code == 2
        assert re.fullmatch(r"error: [^\n]*\.\n", result.stderr)
        assert result.stdout == ""

    @pytest.mark.parametrize(
        ("error", "code"),
        [
            (OptionError("what to do"), 2),
            (CheckpointUnreachableError("what to do"), 3),
            (VoiceError("what to do"), 3),
            (UnknownTargetError("what to do"), 2),
            (LinkerMissingError("what to do"), 5),
            (DiskFullError("demo", 10, 5), 6),
            (StageError("what to do"), 7),
            (ValidationFailedError("what to do"), 8),
            (KeyboardInterrupt(), 130),
            (signal.SIGTERM, 130),
        ],
    )
    def test_every_family_of_errors_has_its_code_and_no_traceback(self, monkeypatch, tmp_path, error, code):
        def fail(options, progress, **ways):
            if isinstance(error, signal.Signals):
                signal.raise_signal(error)
            raise error

        before = signal.getsignal(signal.SIGTERM)
        monkeypatch.setattr(export, "export_bundle", fail)
        result = run("bundle", "-o", tmp_path / "demo")
        said = f"error: {error}" if code != 130 else INTERRUPTED
        assert (result.exit_code, result.stderr, result.stdout) == (code, f"{said}\n", "")
        assert signal.getsignal(signal.SIGTERM) == before

    def test_progress_has_a_line_for_each_event(self, capsys):
        with ConsoleProgress(plain_console(width=100)) as progress:
            progress.planned(1)
            progress.started("decoder 5120 x86-64-v4")
            progress.finished("decoder 5120 x86-64-v4", 21.25, False)
            progress.warning("[it] babbles")
        assert capsys.readouterr().out.splitlines() == [
            "compile 1 libraries",
            "  compiling  decoder 5120 x86-64-v4",
            "  done       decoder 5120 x86-64-v4, 21.2 s, 0 left",
            "WARNING: [it] babbles",
        ]

    def test_a_terminal_shows_a_bar_with_the_libraries_that_are_done(self):
        console = plain_console(width=100, force_terminal=True, file=io.StringIO())
        with ConsoleProgress(console) as progress:
            progress.planned(3)
            progress.finished("bert 512 x86-64-v4", 2, True)
            progress.started("decoder 5120 x86-64-v4")
        assert "1 of 3 libraries; compiling decoder 5120 x86-64-v4" in console.file.getvalue()

    def test_a_package_that_is_not_installed_is_named(self, monkeypatch, tmp_path):
        monkeypatch.setitem(sys.modules, "torch", None)
        monkeypatch.delitem(sys.modules, "exporter.model.checkpoint", raising=False)
        result = run("bundle", "-o", tmp_path / "demo", "--target", "linux-x86_64")
        assert result.exit_code == 5
        assert "torch is missing: pip install kokoro-export" in result.stderr


class TestInspect:
    def test_the_tables_show_what_the_manifest_holds(self, sound):
        result = run("inspect", sound)
        assert result.exit_code == 0
        for expected in (*STAGE_NAMES, *voices(), "baseline", "8, 22", "decoder.db", "101.5", "babbles"):
            assert expected in result.stdout

    @pytest.mark.parametrize(
        ("parity", "lines"),
        [
            ({"validated": False, "why not": "--no-validate"}, ("validated no", "why not --no-validate")),
            (
                {"validated": True, "baseline: chain, dB": 31.26, "other: chain, dB": 4.5},
                ("validated yes", "chain, dB 31.26", "parity: other: chain, dB 4.5"),
            ),
        ],
    )
    def test_the_figures_of_validation_are_shown_for_each_level(self, tmp_path, parity, lines):
        made = with_entries(dummy_contents(tmp_path), parity=parity)
        shown = run("inspect", write_bundle(tmp_path / "bundle", made)).stdout
        words = " ".join(part for part in shown.split() if part not in "│┃")
        assert all(line in words for line in lines)

    def test_json_is_the_whole_manifest(self, sound):
        manifest = json.loads(run("inspect", sound, "--json").stdout)
        assert [stage["name"] for stage in manifest["stages"]] == list(STAGE_NAMES)
        assert {entry["path"] for entry in manifest["files"]} == bytes_of(sound).keys() - {"manifest.msgpack"}


@pytest.mark.parametrize(("status", "code"), [("ok", 0), ("warn", 0), ("fail", 5)])
def test_only_a_failed_check_of_doctor_ends_with_5(monkeypatch, status, code):
    finding = doctor.Finding("linker", doctor.Status(status), "none", "pip install kokoro-export")
    monkeypatch.setattr(doctor, "examine", lambda: [finding])
    result = run("doctor")
    assert result.exit_code == code
    assert status in result.stdout and "pip install kokoro-export" in result.stdout


@pytest.mark.parametrize("argument", ["targets", "--help", "version"])
@pytest.mark.parametrize("shell", [">/dev/full", ">&-"])
def test_a_standard_output_that_takes_nothing_is_an_error_in_a_line(argument, shell):
    command = ["sh", "-c", f'exec "$@" {shell}', "sh", sys.executable, "-m", "exporter", argument]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 6
    assert re.fullmatch(r"error: Standard output [^\n]*\n", done.stderr)
