"""The command as a process: closed and full streams, signals at any moment, Pythons that are too old."""

from __future__ import annotations

import ast
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

import runtime_min
from tests.support.paths import ROOT
from tests.support.tiny.runtime_alone import environment

COMMAND = [sys.executable, "-m", "runtime_min"]


@pytest.fixture(scope="module")
def bundle(speaking_bundle: Path) -> Path:
    return speaking_bundle


def run(*arguments: str | Path, shell: str = "", **options: Any) -> Any:
    """Runs the command, with the redirections of `shell`."""
    command = ["sh", "-c", f'exec "$@" {shell}', "sh", *COMMAND, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, env=environment(), cwd=ROOT, **options)


# Streams.

TASKS = [["--list-voices"], ["--help"], ["--version"], ["--phonemes", "abc", "-o", "-"]]


@pytest.mark.parametrize("arguments", TASKS, ids=lambda arguments: arguments[0])
@pytest.mark.parametrize(
    ("shell", "reason"), [(">/dev/full", "No space left on device"), (">&-", "Standard output is closed")]
)
def test_a_standard_output_that_takes_nothing_is_an_error_in_a_line(
    bundle: Path, arguments: list[str], shell: str, reason: str
) -> None:
    done = run(bundle, *arguments, shell=shell)
    assert done.returncode == 6, done.stderr
    (line,) = (line for line in done.stderr.splitlines() if not line.startswith("warning: "))
    assert line.startswith("error: ") and reason in line


@pytest.mark.parametrize("arguments", TASKS[:3], ids=lambda arguments: arguments[0])
def test_a_reader_that_has_ended_is_an_error_in_a_line(bundle: Path, arguments: list[str]) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    command = [*COMMAND, bundle, *arguments]
    done = subprocess.run(command, stdout=writer, stderr=subprocess.PIPE, text=True, cwd=ROOT)
    os.close(writer)
    assert done.returncode == 6
    assert done.stderr.startswith("error: Standard output was closed by the program")
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize("shell", ["2>&-", "2>/dev/full", "<&- >&- 2>&-"])
def test_messages_that_nobody_can_read_change_nothing(bundle: Path, tmp_path: Path, shell: str) -> None:
    done = run(bundle, "--phonemes", "abc", "-o", tmp_path / "x.wav", shell=shell)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert os.listdir(tmp_path) == ["x.wav"]
    done = run(bundle, "--phonemes", "X", "-o", tmp_path / "y.wav", shell=shell)
    assert (done.returncode, done.stdout, done.stderr) == (3, "", "")


def test_a_closed_standard_input_is_an_error_in_a_line(bundle: Path) -> None:
    done = run(bundle, "--phonemes", "-", shell="<&-")
    assert done.returncode == 3 and "error: Standard input is closed" in done.stderr


def test_what_a_terminal_would_obey_is_escaped(tmp_path: Path) -> None:
    done = run(tmp_path / "\x1b[2Jno", "--list-voices")
    assert done.returncode == 4
    assert "\\x1b[2Jno" in done.stderr and "\x1b" not in done.stderr


# Signals.


# Tests may run under nohup, whose children ignore SIGHUP.
STARTED = """
import signal, sys
signal.signal(signal.SIGHUP, signal.SIG_DFL)
import runtime_min.__main__ as command
print("ready", flush=True)
sys.exit(command.main())
"""


@pytest.mark.parametrize(
    ("number", "times", "delays"),
    [
        (signal.SIGINT, 1, (0.0, 0.03, 0.06, 0.1, 0.15, 0.25, 0.4)),
        (signal.SIGINT, 3, (0.06, 0.25)),
        (signal.SIGTERM, 1, (0.06, 0.25)),
        (signal.SIGHUP, 1, (0.06, 0.25)),
    ],
)
def test_a_signal_at_any_moment_ends_the_command_with_one_line(
    bundle: Path, tmp_path: Path, number: signal.Signals, times: int, delays: tuple[float, ...]
) -> None:
    arguments = [bundle, "--phonemes", "abc abc " * 500, "-o", tmp_path / "x.wav", "-q"]
    for delay in delays:
        program = [sys.executable, "-c", STARTED, *map(str, arguments)]
        process = subprocess.Popen(
            program, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment(), cwd=ROOT
        )
        assert process.stdout is not None and process.stdout.readline() == "ready\n"
        time.sleep(0.005 + delay)
        for _ in range(times):
            process.send_signal(number)
            time.sleep(0.01)
        _, told = process.communicate(timeout=60)
        lines = [line for line in told.splitlines() if not line.startswith("warning: ")]
        if process.returncode == 0:
            assert delay > 0.1 and not lines
            (tmp_path / "x.wav").unlink()
        else:
            assert (process.returncode, lines) == (130, ["interrupted"])
        assert os.listdir(tmp_path) == []


def test_a_signal_while_an_object_is_freed_tells_nothing() -> None:
    program = """
import signal, runtime_min.process as process
class Freed:
    def __del__(self):
        free()
def free():
    signal.raise_signal(signal.SIGINT)
signal.signal(signal.SIGINT, process._Interrupt())
Freed()
try:
    signal.raise_signal(signal.SIGINT)
except KeyboardInterrupt:
    print("interrupted")
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, cwd=ROOT)
    assert (done.returncode, done.stdout, done.stderr) == (0, "interrupted\n", "")


def test_a_signal_while_another_one_ends_the_process_tells_nothing_more() -> None:
    program = """
import os, signal, runtime_min.process as process
write = os.write
os.write = lambda *told: [write(*told), process._end(signal.SIGINT, None)]
process._end(signal.SIGINT, None)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, cwd=ROOT)
    assert (done.returncode, done.stderr) == (130, "interrupted\n")


def test_imports_are_not_searched_for_garbage_and_all_else_is() -> None:
    program = """
import gc, runtime_min.process as process

with process.importing():
    print(gc.isenabled())
    kept = [[] for _ in range(1_000)]
print(gc.isenabled(), gc.get_freeze_count() > 1_000)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, cwd=ROOT)
    assert done.stdout.split() == ["False", "True", "True"], done.stderr


def test_nohup_is_respected(bundle: Path, tmp_path: Path) -> None:
    output = tmp_path / "x.wav"
    command = ["nohup", *COMMAND, str(bundle), "--phonemes", "abc abc " * 20, "-o", str(output), "-q"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, cwd=ROOT)
    time.sleep(0.2)
    process.send_signal(signal.SIGHUP)
    process.communicate(timeout=60)
    assert process.returncode == 0 and output.exists()


# Old Pythons, and missing packages.


def test_an_old_python_can_read_what_tells_it_that_it_is_old(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (
        "__init__.py",
        "__main__.py",
        "process.py",
        "bundle_command/__init__.py",
        "bundle_command/__main__.py",
    ):
        source = (Path(runtime_min.__file__).parent / name).read_text(encoding="utf-8")
        ast.parse(source, feature_version=(3, 8))
    monkeypatch.setattr(sys, "version_info", (3, 8, 18, "final", 0))
    monkeypatch.delitem(vars(runtime_min), "Bundle", raising=False)
    with pytest.raises(ImportError, match=r"needs Python 3\.10 or later, and this is Python 3\.8\.$"):
        _ = runtime_min.Bundle


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("sys.version_info = (3, 9)", "runtime_min needs Python 3.10 or later, and this is Python 3.9."),
        ("sys.modules['numpy'] = None", "The package numpy is missing: pip install numpy"),
    ],
)
def test_what_the_command_cannot_do_without_is_told_in_a_line(
    bundle: Path, setting: str, message: str
) -> None:
    program = f"import sys; {setting}; from runtime_min.__main__ import main; sys.exit(main())"
    command = [sys.executable, "-c", program, bundle, "--list-voices"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
    assert (done.returncode, done.stderr) == (5, f"error: {message}\n")


@pytest.mark.parametrize(
    ("name", "called"),
    [
        ("/usr/bin/kokoro-speak", "kokoro-speak"),
        ("C:/Scripts/kokoro-speak.exe", "kokoro-speak"),
        ("/app/runtime_min/__main__.py", "python -m runtime_min"),
        ("/bundle/runtime_min.pyz", "python runtime_min.pyz"),
    ],
)
def test_the_help_names_the_command_as_it_was_called(
    name: str, called: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from runtime_min.speak_arguments import run

    monkeypatch.setattr(sys, "argv", [name])
    with pytest.raises(SystemExit, match="0"):
        run(["-h"])
    shown = capsys.readouterr().out
    assert shown.startswith(f"usage: {called} [BUNDLE]") and f"  {called} bundles/kokoro" in shown
    assert run(["--wrong"]) == 2
    assert capsys.readouterr().err.endswith(f" See {called} --help.\n")
