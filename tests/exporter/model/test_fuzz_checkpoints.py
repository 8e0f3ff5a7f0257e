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
from collections.abc import Iterable
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


Loaded = dict[str, Counter[str] | str]
"""By kind, what came of its files, or what a process that did not live through them wrote."""


def loaded(kinds: Iterable[str], first: int, count: int, directory: Path) -> Loaded:
    """Loads damaged files in processes with a limit of memory."""
    command = [sys.executable, "-W", "ignore", "-m", "tests.support.fuzzing.checkpoints", ",".join(kinds)]
    done = subprocess.run(
        [*command, str(first), str(count), str(directory)],
        **{"cwd": ROOT, "capture_output": True, "text": True},
    )
    seeds = {path.stem: path.read_text() for path in directory.glob("*.seed")}
    found: Loaded = {kind: f"seed {seeds.get(kind)}: {done.stderr[-2000:]}" for kind in kinds}
    return found | {kind: Counter(counts) for kind, counts in map(json.loads, done.stdout.splitlines())}


def expect_typed_errors(kind: str, found: Counter[str] | str) -> Counter[str]:
    """Returns what came of damaged files, where they are refused by a typed error or harmless."""
    assert not isinstance(found, str), found
    assert set(found) == {ERRORS[kind], "accepted"}
    return found


@pytest.fixture(scope="module")
def few(tmp_path_factory: pytest.TempPathFactory) -> Loaded:
    """What came of a few files of every kind."""
    return loaded(KINDS, 0, 60, tmp_path_factory.mktemp("damaged"))


@pytest.mark.parametrize("kind", KINDS)
def test_damaged_files_are_refused_by_a_typed_error_or_load(kind: str, few: Loaded) -> None:
    expect_typed_errors(kind, few[kind])


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
    found: Counter[str] = Counter()
    for first in range(0, count, MOST_AT_A_TIME):
        result = loaded([kind], first, min(MOST_AT_A_TIME, count - first), tmp_path)
        found.update(expect_typed_errors(kind, result[kind]))
    minutes = (time.monotonic() - started) / 60
    refused = found[ERRORS[kind]]
    with capsys.disabled():
        print(f"\n| {kind}, damaged | {count:,} | {refused:,} | {found['accepted']:,} | {minutes:.1f} |")
