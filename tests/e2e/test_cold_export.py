"""An export without a cache compiles the bytes that the cache has."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.e2e.conftest import FRAME_BUCKETS, TEXT_BUCKETS, Export

# tests/exporter/bundle/test_reproducible.py compiles a small stage twice.
pytestmark = [pytest.mark.e2e, pytest.mark.slow]


def test_libraries_compiled_anew_are_those_of_the_cache(
    directory: Path, export: Export, tmp_path: Path
) -> None:
    buckets = ("--text-buckets", str(TEXT_BUCKETS[0]), "--frame-buckets", str(FRAME_BUCKETS[0]))
    done = export(tmp_path / "cold", "--no-cache", "--stages", "text_encoder,f0n", *buckets)
    assert done.returncode == 0, done.stderr
    compiled = sorted((tmp_path / "cold" / "lib").glob("*/*.so"))
    assert [path.stem for path in compiled] == ["f0n-64", "text_encoder-32"]
    for path in compiled:
        assert path.read_bytes() == (directory / path.relative_to(tmp_path / "cold")).read_bytes()
