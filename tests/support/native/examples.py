"""Programs in other languages that speak text into a file."""

from __future__ import annotations

import os
import subprocess
import wave
from pathlib import Path

import pytest

from runtime_min import Audio

TEXT = "On 3 May she read it for $4.50, and he did not. " * 2 + "It works!"
UNSPEAKABLE = "[Hello](/ж/)"


def run(command: list[object], directory: Path, **variables: str) -> str:
    """Runs a command, and returns what it printed."""
    done = subprocess.run(
        list(map(str, command)), cwd=directory, env=os.environ | variables, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def speak(command: list[object], directory: Path, expected: Audio) -> None:
    """Runs an example: it writes the file that Python writes, and none of what cannot be spoken."""
    printed = run([*command, TEXT, "made.wav"], directory)
    assert "".join(line.partition(": ")[2] for line in printed.splitlines()) == expected.phonemes
    with wave.open(str(directory / "made.wav")) as file:
        assert (file.getnchannels(), file.getsampwidth(), file.getframerate()) == (1, 2, 24_000)
        assert file.readframes(file.getnframes()) == expected.pcm16()
    with pytest.raises(AssertionError, match="lacks these phonemes"):
        run([*command, UNSPEAKABLE, "refused.wav"], directory)
    assert not (directory / "refused.wav").exists()
