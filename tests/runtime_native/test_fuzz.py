"""Coverage guides inputs into the C library under sanitisers, and none of them breaks a promise.

``KOKORO_EXPORT_FUZZ_SECONDS`` sets the time of each harness, 600 by default.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.fuzz.__main__ import fuzz
from tests.fuzz.native import HARNESSES, Fuzzers, executed

SECONDS = int(os.environ.get("KOKORO_EXPORT_FUZZ_SECONDS", "600"))


@pytest.fixture(scope="module")
def fuzzers(tmp_path_factory: pytest.TempPathFactory) -> Fuzzers:
    return Fuzzers(tmp_path_factory.mktemp("fuzz"))


@pytest.mark.slow
@pytest.mark.parametrize("name", HARNESSES)
def test_no_input_breaks_a_promise(fuzzers: Fuzzers, tmp_path: Path, name: str) -> None:
    harness = HARNESSES[name]
    prefix = f"-artifact_prefix={tmp_path}/"
    report = fuzz(
        lambda *options: fuzzers.run(name, prefix, *options),
        harness.corpus,
        harness.seeds(),
        SECONDS,
        tmp_path,
        keep=False,
    )
    print(f"\n{name}: {executed(str(report)):,} inputs in {SECONDS} s")
