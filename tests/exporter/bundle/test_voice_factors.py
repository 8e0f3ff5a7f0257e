"""Voices as factors: small, equal on every machine, nearer to the table than float16, and raw where not."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import exporter.bundle.write
from exporter.bundle.add_voices import add_voices
from exporter.bundle.voice_factors import LARGEST_ERROR, voice_factors
from exporter.bundle.write import BundleContents, write_bundle
from exporter.compiler.library import Weight
from runtime_min.errors import DamagedFileError, ManifestError
from runtime_min.format.bundle_files import BundleFiles
from runtime_min.format.manifest import PRECISION_REQUIRED, Voice
from runtime_min.format.parse import parse_manifest
from runtime_min.format.verify import manifest_of, read_manifest, verify_bundle
from runtime_min.model.voices import VoiceTables, style_row, voice_table
from tests.support.fuzzing.manifest_changes import Change, assign, changed, manifest_of_sound
from tests.support.paths import REAL_VOICES
from tests.support.tiny.bundle import MAX_PHONEMES, STYLE, voices

SHAPE = (MAX_PHONEMES, 2 * STYLE)
PLAIN = np.outer(np.linspace(-1, 1, MAX_PHONEMES), [1, 2, -3, 0.5]).astype(np.float32)
"""A table of rank 1, or nearly so."""


@pytest.fixture
def small(made: BundleContents) -> BundleContents:
    """A bundle with a small type among its parameters, a voice of rank 1 and one that is none of low rank."""
    half = Weight("half", np.zeros(3, np.float16))
    tables = {"af_heart": PLAIN, "am_adam": voices()["am_adam"]}
    return replace(made, tensors=(*made.tensors, half), voices=tables)


def tables_of(bundle: Path) -> VoiceTables:
    files = BundleFiles(bundle)
    return VoiceTables(files, manifest_of(files))


def exactly(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """The product as FORMAT.md has it, one number after the other."""
    table = np.empty((len(left), right.shape[1]), np.float32)
    for row, column in np.ndindex(*table.shape):
        total = np.float32(left[row, 0] * right[0, column])
        for index in range(1, len(right)):
            total = np.float32(total + np.float32(left[row, index] * right[index, column]))
        table[row, column] = total
    return table


@settings(max_examples=50)
@given(st.integers(1, 4), st.integers(0, 1 << 32), st.sampled_from([1e-30, 1e-3, 1.0, 90.0]))
def test_the_reader_computes_the_specified_bits_which_are_near(rank: int, seed: int, scale: float) -> None:
    random = np.random.default_rng(seed)
    table = random.uniform(-1, 1, (30, rank)) @ random.uniform(-scale, scale, (rank, 20))
    table = (table / max(1, np.abs(table).max() / 90)).astype(np.float32)
    factors = voice_factors(table)
    assert factors is not None
    left, right = factors
    assert len(right) <= rank + 1
    content = left.tobytes() + right.tobytes()
    found = voice_table(content, Voice("x", "x", *table.shape), len(right))
    np.testing.assert_array_equal(found, exactly(left, right), strict=True)
    assert (np.abs(found - table) <= LARGEST_ERROR * np.abs(table).max(axis=1, keepdims=True)).all()


@pytest.mark.skipif(not REAL_VOICES.exists(), reason="the real voices are not here")
def test_a_real_voice_is_a_fourteenth_of_its_size_and_nearer_than_float16() -> None:
    sizes = []
    for path in sorted(REAL_VOICES.glob("*.bin"))[::9]:
        table = np.fromfile(path, "<f4").reshape(-1, 256)
        factors = voice_factors(table)
        assert factors is not None
        left, right = factors
        found = voice_table(left.tobytes() + right.tobytes(), Voice("x", "x", *table.shape), len(right))
        rounded = table.astype(np.float16).astype(np.float32)
        assert np.square(found - table).sum() * 64 < np.square(rounded - table).sum()
        sizes.append((left.nbytes + right.nbytes) / table.nbytes)
    assert np.median(sizes) < 1 / 14


def test_voices_of_high_rank_and_of_nothing_are_raw() -> None:
    random = np.random.default_rng(1)
    assert voice_factors(random.standard_normal((40, 30)).astype(np.float32)) is None
    assert voice_factors(np.zeros((40, 30), np.float32)) is None


def test_a_bundle_has_factors_only_with_rounded_parameters(
    made: BundleContents, small: BundleContents, tmp_path: Path
) -> None:
    exact = read_manifest(write_bundle(tmp_path / "exact", replace(made, voices=small.voices)))
    assert (exact.requires, dict(exact.voice_ranks)) == ((), {})
    bundle = write_bundle(tmp_path / "rounded", small)
    rounded = read_manifest(bundle)
    assert (rounded.requires, dict(rounded.voice_ranks)) == ((PRECISION_REQUIRED,), {"af_heart": 1})
    assert (bundle / "voices/af_heart.bin").stat().st_size == 4 * sum(SHAPE)
    tables = tables_of(bundle)
    np.testing.assert_allclose(tables["af_heart"], PLAIN, atol=1e-6)
    np.testing.assert_array_equal(tables["am_adam"], voices()["am_adam"])
    blend = style_row(tables, "af_heart+am_adam", 3).decoder[0]
    expected = (tables["af_heart"][2].astype(float) + tables["am_adam"][2]) / 2
    np.testing.assert_array_equal(blend, expected.astype(np.float32)[:STYLE])
    for table in tables.values():
        assert not table.flags.writeable


def test_voices_are_added_to_a_rounded_bundle_as_if_it_had_been_exported_with_them(
    small: BundleContents, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exporter.bundle.write, "BLOCK", 100)
    bundle = write_bundle(tmp_path / "bundle", small)
    packs = {"af_heart": voices()["am_adam"], "am_adam": PLAIN, "bf_new": PLAIN * 2}
    monkeypatch.setattr("exporter.bundle.add_voices.read_packs", lambda places: packs)
    add_voices(bundle, [], overwrite=True)
    assert dict(verify_bundle(bundle).voice_ranks) == {"am_adam": 1, "bf_new": 1}
    tables = tables_of(bundle)
    np.testing.assert_array_equal(tables["af_heart"], voices()["am_adam"])
    np.testing.assert_array_equal(tables["bf_new"], tables["am_adam"] * 2)


HOSTILE: dict[str, tuple[Change, str]] = {
    "no requirement": (assign("requires", []), r"unknown \['voice_ranks'\]"),
    "no ranks": (lambda m: m.pop("voice_ranks"), r"missing \['voice_ranks'\]"),
    "no map": (assign("voice_ranks", [1]), "voice_ranks: expected a map"),
    "rank of nothing": (assign("voice_ranks", "af_heart", 0), "expected an integer from 1"),
    "rank below nothing": (assign("voice_ranks", "af_heart", -1), "expected an integer from 1"),
    "half a rank": (assign("voice_ranks", "af_heart", 1.0), "expected an integer"),
    "huge rank": (assign("voice_ranks", "af_heart", 1 << 63), "expected an integer from 1"),
    "rank beyond the table": (assign("voice_ranks", "af_heart", 5), "expected at most 4, found 5"),
    "another rank": (assign("voice_ranks", "af_heart", 2), "expected a file of 192 bytes"),
    "factors of a raw voice": (assign("voice_ranks", "am_adam", 1), "expected a file of 96 bytes"),
    "a table without its rank": (assign("voice_ranks", {}), "expected a file of 320 bytes"),
    "a voice that is not there": (assign("voice_ranks", "nobody", 1), "expected names of voices"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_ranks_are_refused_by_name(small: BundleContents, tmp_path: Path, name: str) -> None:
    change, message = HOSTILE[name]
    raw = manifest_of_sound(write_bundle(tmp_path / "bundle", small))
    with pytest.raises(ManifestError, match=message):
        parse_manifest(changed(raw, change))


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, 3e38, 101.0])
@pytest.mark.parametrize("rank", [0, 1, 2])
def test_numbers_that_are_no_style_are_refused_by_the_name_of_the_file(value: float, rank: int) -> None:
    count = rank * sum(SHAPE) if rank else MAX_PHONEMES * 2 * STYLE
    numbers = np.ones(count, np.float32)
    numbers[-1] = value
    with pytest.raises(DamagedFileError, match=r"voices/x\.bin should have numbers from -100 to 100"):
        voice_table(numbers.tobytes(), Voice("x", "voices/x.bin", *SHAPE), rank)
