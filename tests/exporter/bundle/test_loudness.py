"""The loudness of voices is measured as the standard says, and a bundle has that of its voices."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from exporter.bundle.add_voices import add_voices
from exporter.bundle.loudness import loudness, measure_loudness
from exporter.bundle.write import BundleContents, write_bundle
from runtime_min.errors import ManifestError
from runtime_min.format.verify import read_manifest, verify_bundle
from runtime_min.model.loudness import read_loudness
from tests.exporter.bundle.test_add_voices import packs  # noqa: F401
from tests.support.tiny.bundle import voices, with_entries

RATE = 24_000


def sine(decibels: float, seconds: float = 3.0, frequency: float = 1_000.0) -> np.ndarray:
    """A sine whose peaks are so many decibels relative to full scale."""
    times = np.arange(round(RATE * seconds)) / RATE
    return (10 ** (decibels / 20) * np.sin(2 * np.pi * frequency * times)).astype(np.float32)


@pytest.mark.parametrize("decibels", [-3.0, -20.0, -36.0])
def test_a_sine_of_a_kilohertz_is_three_lufs_below_its_peaks(decibels: float) -> None:
    found = loudness(sine(decibels))
    assert found is not None and abs(found / 100 - (decibels - 3.01)) < 0.1


def test_silence_around_speech_does_not_count_and_low_sounds_count_less() -> None:
    plain, quiet = sine(-20, 12.0), np.zeros(RATE, np.float32)
    around = loudness(np.concatenate([quiet, plain, quiet]))
    expected = loudness(plain)
    assert around is not None and expected is not None and abs(around - expected) < 20
    low = loudness(sine(-20, frequency=50.0))
    assert low is not None and low < expected - 100


@pytest.mark.parametrize("sound", [np.zeros(RATE), np.zeros(100), 1e-6 * sine(0)], ids=len)
def test_silence_has_no_loudness(sound: np.ndarray) -> None:
    assert loudness(sound.astype(np.float32)) is None


def test_a_bundle_that_does_not_run_here_is_not_measured(made: BundleContents, tmp_path: Path) -> None:
    bundle = write_bundle(tmp_path / "bundle", made)
    assert measure_loudness(bundle, ["af_heart"]) is None


def test_the_manifest_tells_the_loudness_before_the_bundle_is_compared(
    made: BundleContents, tmp_path: Path
) -> None:
    known: list[dict[str, int]] = []

    def measure(bundle: Path) -> dict[str, bool]:
        known.append(dict(read_loudness(read_manifest(bundle))))
        return {"validated": True}

    given = {"af_heart": -2_345, "am_adam": -1_900, "nobody": -1}
    bundle = write_bundle(tmp_path / "bundle", made, measure, lambda staging: given)
    expected = {"af_heart": -2_345, "am_adam": -1_900}
    assert known == [expected] and read_loudness(read_manifest(bundle)) == expected
    verify_bundle(bundle)


def test_voices_that_are_added_are_measured_and_replaced_ones_again(
    made: BundleContents,
    tmp_path: Path,
    packs: Path,  # noqa: F811
) -> None:
    bundle = write_bundle(tmp_path / "bundle", made, measure_loudness=lambda staging: {"af_heart": -2_345})
    voices()["am_adam"].tofile(packs / "af_heart.bin")
    asked: list[tuple[str, ...]] = []

    def measure(staging: Path, names: tuple[str, ...]) -> dict[str, int]:
        asked.append(names)
        return {"zf_new": -1_111}

    add_voices(bundle, [packs], overwrite=True, measure_loudness=measure)
    assert [sorted(names) for names in asked] == [["af_heart", "zf_new"]]
    # What is known of the voice that was replaced is wrong now.
    assert read_loudness(read_manifest(bundle)) == {"zf_new": -1_111}
    verify_bundle(bundle)


@pytest.mark.parametrize(
    "wrong", [{"af_heart": 1}, {"af_heart": -7_001}, {"af_heart": -20.5}, {"\n": -1}, [], 3], ids=str
)
def test_a_loudness_that_is_none_is_refused(made: BundleContents, tmp_path: Path, wrong: object) -> None:
    bundle = write_bundle(tmp_path / "bundle", with_entries(made, extensions={"loudness": wrong}))
    with pytest.raises(ManifestError, match=r"extensions\.loudness"):
        read_loudness(read_manifest(bundle))
