"""The benchmark runs from end to end on a real bundle; its figures depend on the machine."""

from __future__ import annotations

import json

import pytest

from exporter.measure.fresh_process import call_fresh
from exporter.measure.options import Options, check_bundle
from exporter.measure.run import bundle_engine, profile_of
from exporter.measure.soak import MemoryGrewError
from runtime_min.format.signatures import STAGE_NAMES
from tests.e2e.conftest import run_python

pytestmark = pytest.mark.e2e


def test_a_bundle_is_measured(directory, tmp_path):
    done = run_python(
        *("-m", "exporter", "measure", directory, "--tokens", "3", "--threads", "2"),
        *("--repeats", "1", "--profile", "--save-dir", tmp_path),
    )
    assert done.returncode == 0, done.stderr
    found = json.loads((tmp_path / "bench.json").read_text(encoding="utf-8"))
    (timing,) = found["timings"]
    assert timing["engine"] == "bundle" and timing["audio_seconds"] > 0.1
    profile = found["profile"]
    assert [stage["stage"] for stage in profile["stages"]] == list(STAGE_NAMES)
    assert {kernel["stage"] for kernel in profile["kernels"]} == set(STAGE_NAMES)
    assert min(kernel["calls"] for kernel in profile["kernels"]) >= 1
    assert "## Kernels" in (tmp_path / "bench.md").read_text(encoding="utf-8")


def counted(kernels):
    from benchmarks.roofline import work_of_calls  # imports TVM's compiler

    return {each.kernel: work_of_calls([each]).flop for each in kernels}, work_of_calls(kernels).flop


def test_the_work_of_every_kernel_is_counted(directory):
    manifest, level = check_bundle(directory, None)
    options = Options(directory, manifest, level, tokens=(3,), threads=(2,), rounds=1, profile=True)
    profile = profile_of(options, bundle_engine(options), print)
    of_kernels, of_all = call_fresh("the count", 1, counted, profile.kernels)
    assert [kernel for kernel, flop in of_kernels.items() if flop is None] == []
    # Kokoro costs about 54 GFLOP a second of audio and bert some more a token.
    assert 50 < of_all / 1e9 / profile.audio_seconds < 60


def test_memory_is_watched_and_a_bundle_that_grows_is_told_of(directory, tmp_path):
    done = run_python(
        *("-m", "exporter", "measure", directory, "--memory", "4", "--memory-tokens", "3-9"),
        *("--save-dir", tmp_path),
    )
    found = json.loads((tmp_path / "bench-memory.json").read_text(encoding="utf-8"))
    assert [sample["utterances"] for sample in found["samples"]] == [1, 2, 3, 4]
    assert done.returncode == (0 if found["flat"] else MemoryGrewError.exit_code)
    assert ("Memory is not flat" in done.stderr) == (not found["flat"])
