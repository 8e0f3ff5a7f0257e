"""The benchmark runs from end to end on a real bundle; its figures depend on the machine."""

from __future__ import annotations

import json

import pytest

from exporter.bench.soak import MemoryGrewError
from runtime_min.format.signatures import STAGE_NAMES
from tests.e2e.conftest import run_python

pytestmark = pytest.mark.e2e


def test_a_bundle_is_measured_and_the_work_of_every_kernel_is_counted(directory, tmp_path):
    done = run_python(
        *("-m", "exporter", "bench", directory, "--tokens", "12", "--threads", "2"),
        *("--repeats", "1", "--profile", "--save-dir", tmp_path),
    )
    assert done.returncode == 0, done.stderr
    found = json.loads((tmp_path / "bench.json").read_text(encoding="utf-8"))
    (timing,) = found["timings"]
    assert timing["engine"] == "bundle" and timing["audio_seconds"] > 0.1
    profile = found["profile"]
    assert [stage["stage"] for stage in profile["stages"]] == list(STAGE_NAMES)
    assert [kernel["kernel"] for kernel in profile["kernels"] if kernel["gflop"] is None] == []
    # Kokoro costs about 54 GFLOP a second of audio and bert some more a token.
    assert 50 < sum(kernel["gflop"] for kernel in profile["kernels"]) / timing["audio_seconds"] < 60
    text = (tmp_path / "bench.md").read_text(encoding="utf-8")
    assert "## Kernels" in text and "Not counted" not in text


def test_memory_is_watched_and_a_bundle_that_grows_is_told_of(directory, tmp_path):
    done = run_python(
        *("-m", "exporter", "bench", directory, "--memory", "4", "--memory-tokens", "3-9"),
        *("--save-dir", tmp_path),
    )
    found = json.loads((tmp_path / "bench-memory.json").read_text(encoding="utf-8"))
    assert [sample["utterances"] for sample in found["samples"]] == [1, 2, 3, 4]
    assert done.returncode == (0 if found["flat"] else MemoryGrewError.exit_code)
    assert ("Memory is not flat" in done.stderr) == (not found["flat"])
