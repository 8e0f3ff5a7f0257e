"""Ctrl-C, SIGTERM and SIGKILL at any moment: the process ends, and leaves no process and no file."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from functools import cache
from pathlib import Path

import psutil
import pytest

from exporter import directories
from tests.support.paths import ROOT
from tests.support.programs.interruptions import PHASES


@cache
def outcomes(count: int, bundle: Path) -> dict[str, dict[str, int]]:
    """Returns the number of runs by phase and outcome; all phases share a process, whose imports are slow."""
    with tempfile.TemporaryDirectory() as place:
        program = "from tests.support.programs.interruptions import main; main()"
        command = [sys.executable, "-c", program, str(count), bundle, place]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    found: dict[str, dict[str, int]] = json.loads(done.stdout)
    return found


@pytest.mark.parametrize("phase", PHASES)
@pytest.mark.parametrize("count", [5, pytest.param(300, marks=pytest.mark.slow)])
def test_an_interrupt_at_any_moment_ends_the_process_and_leaves_nothing(
    phase: str, count: int, speaking_bundle: Path
) -> None:
    found = outcomes(count, speaking_bundle)[phase]
    print(f"\n| {phase} | {count} | {found.get('interrupted', 0)} |")
    assert sum(found.values()) == count
    assert found.keys() <= {"interrupted", "completed"}


EXPORT = """
from exporter.export.jobs import compile_libraries
from exporter.export.run import _temporary_files
from tests.support.fakes.builds import Recorder, hang, some_jobs

if __name__ == "__main__":
    with _temporary_files() as work:
        compile_libraries(some_jobs(), work, hang, workers=2, progress=Recorder())
"""


def test_a_killed_export_takes_its_workers_along_and_the_next_one_removes_its_files(tmp_path: Path) -> None:
    program = tmp_path / "export.py"
    program.write_text(EXPORT)
    place = tmp_path / "temporary"
    place.mkdir()
    variables = os.environ | {"TMPDIR": str(place), "PYTHONPATH": str(ROOT)}
    export = subprocess.Popen([sys.executable, program], env=variables)
    while len(workers := [int(file.suffix[1:]) for file in place.glob("kokoro-export-*/pid.*")]) < 2:
        assert export.poll() is None
        time.sleep(0.01)
    with directories.temporary("kokoro-export-", place):
        assert len([path for path in place.iterdir() if path.is_dir()]) == 2
    export.send_signal(signal.SIGKILL)
    export.wait()
    for worker in workers:
        while psutil.pid_exists(worker) and psutil.Process(worker).status() != psutil.STATUS_ZOMBIE:
            time.sleep(0.01)
    with directories.temporary("kokoro-export-", place) as own:
        assert {path.name for path in place.iterdir()} == {own.name, f"{own.name}.lock"}
    assert not list(place.iterdir())
