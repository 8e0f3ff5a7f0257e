"""Whatever is done to a checkpoint, a voice or a configuration, it is refused by a typed error, or harmless.

The long form is one that `make prove` runs; `docs/fuzz.md` has its figures.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

from tests.support.checkpoint_fuzzing import KINDS
from tests.support.paths import ROOT

ERRORS = {"checkpoints": "CheckpointError", "voices": "VoiceError", "configurations": "ConfigError"}
MOST_AT_A_TIME = 500


def load_damaged(kind: str, count: int, directory: Path) -> Counter[str]:
    """Loads damaged files in processes with a limit of memory, and counts what came of it."""
    found: Counter[str] = Counter()
    for first in range(0, count, MOST_AT_A_TIME):
        command = [sys.executable, "-W", "ignore", "-m", "tests.support.checkpoint_fuzzing", kind]
        done = subprocess.run(
            [*command, str(first), str(min(MOST_AT_A_TIME, count - first)), str(directory)],
            **{"cwd": ROOT, "capture_output": True, "text": True},
        )
        seed = directory / "seed"
        assert done.returncode == 0, f"seed {seed.read_text()}: {done.returncode}, {done.stderr[-2000:]}"
        found.update(json.loads(done.stdout))
    assert set(found) == {ERRORS[kind], "accepted"}
    return found


@pytest.mark.parametrize("kind", KINDS)
def test_damaged_files_are_refused_by_a_typed_error_or_load(kind: str, tmp_path: Path) -> None:
    load_damaged(kind, 60, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "count"), [("checkpoints", 6000), ("voices", 3000), ("configurations", 3000)]
)
def test_many_damaged_files_are_refused_by_a_typed_error_or_load(
    kind: str, count: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    started = time.monotonic()
    found = load_damaged(kind, count, tmp_path)
    minutes = (time.monotonic() - started) / 60
    refused = found[ERRORS[kind]]
    with capsys.disabled():
        print(f"\n| {kind}, damaged | {count:,} | {refused:,} | {found['accepted']:,} | {minutes:.1f} |")
