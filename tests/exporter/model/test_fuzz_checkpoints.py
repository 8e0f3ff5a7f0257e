"""Whatever is done to a checkpoint, a voice or a configuration, it is refused by a typed error, or harmless.

The long form is one that `make prove` runs; `docs/fuzz.md` has its figures.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from random import Random

import pytest

from exporter.errors import CheckpointError
from exporter.model import checkpoint, synthetic
from exporter.model.config import OFFICIAL_CONFIG
from tests.support.fuzzing.checkpoints import KINDS
from tests.support.paths import ROOT

ERRORS = {
    **dict.fromkeys(("checkpoints", "onnx"), "CheckpointError"),
    **{"voices": "VoiceError", "configurations": "ConfigError"},
}
MOST_AT_A_TIME = 500


def load_damaged(kind: str, count: int, directory: Path) -> Counter[str]:
    """Loads damaged files in processes with a limit of memory, and counts what came of it."""
    found: Counter[str] = Counter()
    for first in range(0, count, MOST_AT_A_TIME):
        command = [sys.executable, "-W", "ignore", "-m", "tests.support.fuzzing.checkpoints", kind]
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
def test_a_damaged_file_of_the_official_layout_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "model.pth"
    shutil.copyfile(synthetic.ensure_file(OFFICIAL_CONFIG), path)
    size = path.stat().st_size
    # The description and the directory, where every byte counts, and the numbers between them.
    for seed, (first, last) in enumerate([(0, 90_000), (90_000, size - 50_000), (size - 50_000, size)] * 5):
        with path.open("r+b") as file:
            start = file.seek(Random(seed).randrange(first, last))
            sound = file.read(64)
            file.seek(start)
            file.write(Random(seed).randbytes(len(sound)))
        with pytest.raises(CheckpointError):
            checkpoint.load(str(path), OFFICIAL_CONFIG)
        with path.open("r+b") as file:
            file.seek(start)
            file.write(sound)
    os.truncate(path, size - 1)
    with pytest.raises(CheckpointError):
        checkpoint.load(str(path), OFFICIAL_CONFIG)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "count"), [("checkpoints", 6000), ("onnx", 6000), ("voices", 3000), ("configurations", 3000)]
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
