"""Speaks from bundles of the tiny model in processes that have the runtime alone."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
import time
from pathlib import Path
from typing import Any

import numpy as np

from runtime_min import threads
from runtime_min.model.noise import gaussian_noise
from tests.support.tiny.bundle import VOCABULARY, voices
from tests.support.tiny.model import reference

UTTERANCES = [
    ("a", "af_heart", 1.0, 0),
    ("abc abc", "am_adam", 0.5, 1),
    ("abc abccba", "af_bella", 2.0, (1 << 64) - 1),
    ("abca bacba abc", "af_heart", 4.0, 7),
]
_PROBES = """
import gc, os, sys, threading
from runtime_min import Bundle, KokoroError

def status(field):
    lines = open("/proc/self/status").read().splitlines()
    return next(int(line.split()[1]) << 10 for line in lines if line.startswith(field))

def handles():
    return len(os.listdir("/proc/self/fd"))

def mapped(path):
    return sum(path in line for line in open("/proc/self/maps"))

PATH = sys.argv[1]
"""


def environment(**changes: str | None) -> dict[str, str]:
    """This process's environment without numbers of threads."""
    base = {
        key: value
        for key, value in os.environ.items()
        if not key.startswith(("TVM_NUM_", "TVM_BIND_", "OMP_NUM_"))
    }
    return {**base, **{key: value for key, value in changes.items() if value is not None}}


def run_alone(bundle: Path, script: str, **changes: str) -> Any:
    """Runs `script` on the bundle's own copy of the runtime and returns its variable `result`."""
    program = textwrap.dedent(script) + "\nimport json; print('RESULT' + json.dumps(result))\n"
    done = subprocess.run(
        [
            sys.executable,
            "-c",
            f"import sys; sys.path[0] = sys.argv[1] + '/runtime_min.pyz'\n{program}",
            bundle,
        ],
        env=environment(**changes),
        cwd=bundle.parent,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.rpartition("RESULT")[2])


def run_probed(bundle: Path, script: str, **changes: str) -> Any:
    """Does the same for a script that has the functions of `_PROBES`."""
    return run_alone(bundle, _PROBES + script, **changes)


def expected(phonemes: str, voice: str, speed: float, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Durations and samples as numpy computes them."""
    tokens = np.array([0, *(VOCABULARY[phoneme] for phoneme in phonemes), 0])
    row = voices()[voice][len(phonemes) - 1]
    return reference(tokens, row, speed, lambda count: gaussian_noise(seed, count))


def assert_speaks_as_the_format_specifies(bundle: Path) -> None:
    found = run_alone(
        bundle,
        f"""
        from runtime_min import Bundle
        spoken = Bundle.load(sys.argv[1])
        result = []
        for phonemes, voice, speed, seed in {UTTERANCES!r}:
            audio = spoken.synthesize(phonemes=phonemes, voice=voice, speed=speed, seed=seed, stretch=False)
            assert audio.samples.dtype == "float32" and audio.durations.dtype == "int64"
            result.append((audio.sample_rate, audio.durations.tolist(), audio.samples.tolist()))
        """,
    )
    for utterance, (rate, durations, samples) in zip(UTTERANCES, found, strict=True):
        expected_durations, expected_samples = expected(*utterance)
        assert (rate, durations) == (24_000, expected_durations.tolist())
        np.testing.assert_allclose(samples, expected_samples, rtol=1e-5, atol=1e-5)


def running_threads() -> set[object]:
    """The threads of bundles and streams in this process."""
    return set(threads._running)


def no_other_threads_run(known: set[object]) -> None:
    """Waits until no threads of bundles and streams run but the known ones."""
    end = time.monotonic() + 20
    while not running_threads() <= known:
        assert time.monotonic() < end
        time.sleep(0.001)
