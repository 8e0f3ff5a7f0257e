"""A file appears whole or not at all, and nothing else is left in its folder."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from runtime_min.errors import OutputError
from runtime_min.output.writer import Output, write_file
from tests.support.paths import ROOT

KILLED = """
import sys
from pathlib import Path
from runtime_min.output.writer import Output

with Output(Path(sys.argv[1])) as output:
    output.write(b"half")
    print("open", flush=True)
    sys.stdin.read()
"""


def test_the_part_of_a_killed_process_is_removed_by_the_next_and_that_of_a_living_one_is_not(
    tmp_path: Path,
) -> None:
    command = [sys.executable, "-c", KILLED, str(tmp_path / "x.wav")]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "cwd": ROOT}
    with subprocess.Popen(command, **pipes) as killed, subprocess.Popen(command, **pipes) as living:  # type: ignore[call-overload]
        for process in (killed, living):
            assert process.stdout.readline() == b"open\n"
        assert len(os.listdir(tmp_path)) == 2
        killed.send_signal(signal.SIGKILL)
        killed.wait()
        write_file(tmp_path / "y.wav", b"whole")
        assert len(os.listdir(tmp_path)) == 2
        assert living.communicate(b"")[0] == b"" and living.returncode == 0
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == {
        "x.wav": b"half",
        "y.wav": b"whole",
    }


@pytest.mark.parametrize(
    "place", ["/proc/x.wav", "/proc/1/x.wav", "/sys/x.wav", "/dev/null/x.wav", "no/x.wav"]
)
def test_where_no_file_can_be_written_the_error_names_the_file_that_was_asked_for(place: str) -> None:
    with pytest.raises(OutputError, match=f"^{place} cannot be written"), Output(place):
        pass


def test_a_system_that_refuses_to_remove_too_is_an_error_of_ours(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As in a folder that may not be searched: root may search every folder."""

    def refused(path: Path, *how: object, **named: object) -> None:
        raise PermissionError(13, "Permission denied", str(path))

    for name in ("open", "unlink"):
        monkeypatch.setattr(Path, name, refused)
    with pytest.raises(OutputError, match=r"x\.wav cannot be written: Permission denied\. Check"):
        write_file(tmp_path / "x.wav", b"")
