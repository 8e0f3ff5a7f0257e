"""Voice packs are [510, 256] tables of finite numbers, or an error says why not."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from exporter.errors import CheckpointUnreachableError, VoiceError
from exporter.model.voice_packs import COLUMNS, NAMES, ROWS, load_voices, synthetic_voice
from tests.support.paths import REAL_VOICES as REAL


@pytest.fixture
def pack() -> np.ndarray:
    return np.random.default_rng(0).standard_normal((ROWS, COLUMNS)).astype(np.float32)


def test_packs_of_both_kinds_load_to_the_bit(pack: np.ndarray, tmp_path: Path) -> None:
    pack.astype("<f4").tofile(tmp_path / "raw.bin")
    torch.save(torch.from_numpy(pack)[:, None], tmp_path / "torch.pt")
    (tmp_path / "README.md").write_text("not a voice", encoding="utf-8")
    voices = load_voices(str(tmp_path))
    assert sorted(voices) == ["raw", "torch"]
    for voice in voices.values():
        assert voice.dtype == np.float32
        np.testing.assert_array_equal(voice, pack)


def test_only_the_voices_asked_for_are_loaded(pack: np.ndarray, tmp_path: Path) -> None:
    pack.tofile(tmp_path / "good.bin")
    (tmp_path / "damaged.bin").write_bytes(b"short")
    assert list(load_voices(str(tmp_path), names=["good"])) == ["good"]


def test_an_unknown_voice_is_an_error_with_near_names() -> None:
    with pytest.raises(VoiceError, match=r"no voice 'af_hart'\. Near it: af_heart"):
        load_voices("synthetic", names=["af_hart"])


def test_an_unknown_voice_like_no_other_is_an_error_with_all_names() -> None:
    with pytest.raises(VoiceError, match=r"There are af_alloy, .*zm_yunyang"):
        load_voices("synthetic", names=["0123456789"])


@pytest.mark.parametrize("size", [0, 4 * ROWS * COLUMNS - 1, 4 * ROWS * COLUMNS + 4])
def test_a_raw_pack_of_another_size_is_refused(size: int, tmp_path: Path) -> None:
    (tmp_path / "voice.bin").write_bytes(bytes(size))
    with pytest.raises(VoiceError, match=f"expected 522240 bytes .*found {size}"):
        load_voices(str(tmp_path))


@pytest.mark.parametrize(
    ("content", "found"),
    [
        (torch.zeros(511, 1, 256), r"found \[511, 1, 256\]"),
        (torch.zeros(510, 2, 128), r"found \[510, 2, 128\]"),
        (torch.zeros(510, 1, 256, dtype=torch.float64), "found torch.float64"),
        ({"voice": torch.zeros(1)}, "found dict"),
    ],
)
def test_a_tensor_of_another_shape_or_type_is_refused(content: Any, found: str, tmp_path: Path) -> None:
    torch.save(content, tmp_path / "voice.pt")
    with pytest.raises(VoiceError, match=found):
        load_voices(str(tmp_path))


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("suffix", ["bin", "pt"])
def test_numbers_that_are_not_finite_are_refused(
    pack: np.ndarray, value: float, suffix: str, tmp_path: Path
) -> None:
    pack[509, 255] = value
    path = tmp_path / f"voice.{suffix}"
    pack.tofile(path) if suffix == "bin" else torch.save(torch.from_numpy(pack), path)
    with pytest.raises(VoiceError, match="not finite numbers"):
        load_voices(str(tmp_path))


def test_a_damaged_torch_pack_is_refused(tmp_path: Path) -> None:
    (tmp_path / "voice.pt").write_bytes(b"PK\x03\x04 and then nothing")
    with pytest.raises(VoiceError, match=r"voice\.pt is not a tensor saved by torch"):
        load_voices(str(tmp_path))


def test_a_voice_given_twice_is_refused(pack: np.ndarray, tmp_path: Path) -> None:
    pack.tofile(tmp_path / "voice.bin")
    torch.save(torch.from_numpy(pack), tmp_path / "voice.pt")
    with pytest.raises(VoiceError, match="the voice voice twice"):
        load_voices(str(tmp_path))


@pytest.mark.parametrize("make", [True, False], ids=["empty", "absent"])
def test_a_directory_without_packs_is_refused(make: bool, tmp_path: Path) -> None:
    directory = tmp_path / "voices"
    if make:
        directory.mkdir()
    with pytest.raises(VoiceError, match="no voice packs" if make else "no directory of voices"):
        load_voices(str(directory))


def test_voices_follow_the_checkpoint_unless_it_is_a_file() -> None:
    synthetic: Any = SimpleNamespace(source="synthetic")
    assert set(load_voices(None, synthetic)) == set(NAMES)
    own: Any = SimpleNamespace(source="file")
    with pytest.raises(VoiceError, match="add --voices"):
        load_voices(None, own)


def test_an_unreachable_hub_is_an_error_that_names_the_other_choices(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path))
    monkeypatch.setattr(constants, "ENDPOINT", "http://127.0.0.1:9")
    with pytest.raises(CheckpointUnreachableError, match="--voices DIRECTORY"):
        load_voices("hub")


def test_synthetic_voices_have_the_real_names_and_never_change() -> None:
    voices = load_voices("synthetic")
    assert len(voices) == 54 and "af_heart" in voices
    assert all(voice.shape == (ROWS, COLUMNS) and voice.dtype == np.float32 for voice in voices.values())
    np.testing.assert_allclose(synthetic_voice("af_heart")[100, :3], GOLDEN, rtol=1e-6)


GOLDEN = (0.27003628, 0.22317205, -0.0176533)


def _check_statistics(voices: dict[str, np.ndarray]) -> None:
    """What the 54 real packs have in common, with what they measure."""
    table = np.stack(list(voices.values()))
    decoder, prosody = table[..., : COLUMNS // 2], table[..., COLUMNS // 2 :]
    assert 0.16 < decoder.std() < 0.21  # 0.185
    assert 0.17 < prosody.std() < 0.24  # 0.194
    means = table.mean(axis=1)
    assert 1.8 < np.linalg.norm(means - means.mean(axis=0), axis=1).mean() < 2.5  # 2.19: voices differ
    steps = np.linalg.norm(np.diff(table, axis=1), axis=2).mean(axis=0)
    assert 0.6 < steps[0] < 1.0  # 0.83: the shortest utterances have styles of their own
    assert 0.007 < steps[100] < 0.015  # 0.011: otherwise neighbouring rows are nearly equal


def test_synthetic_voices_have_the_statistics_of_the_real_ones() -> None:
    _check_statistics(load_voices("synthetic"))


if REAL.is_dir():

    def test_the_real_packs_have_these_names_and_statistics() -> None:
        voices = load_voices(str(REAL))
        assert sorted(voices) == sorted(NAMES)
        _check_statistics(voices)
