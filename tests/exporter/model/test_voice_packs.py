"""Voice packs are [510, 256] tables of finite numbers, or an error says why not."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from exporter.errors import VoiceError
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


def save(content: Any, path: Path) -> None:
    """Saves an array as a raw pack or with torch, and anything else with torch."""
    if path.suffix == ".bin":
        np.asarray(content).tofile(path)
    else:
        torch.save(torch.from_numpy(content) if isinstance(content, np.ndarray) else content, path)


def with_value(value: float) -> np.ndarray:
    pack = np.zeros((ROWS, COLUMNS), np.float32)
    pack[-1, -1] = value
    return pack


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        *(
            ("voice.bin", np.zeros(size, np.uint8), f"expected 522240 bytes .*found {size}")
            for size in (0, 522239, 522244)
        ),
        ("voice.pt", torch.zeros(511, 1, 256), r"found torch.float32 \[511, 1, 256\]"),
        ("voice.pt", torch.zeros(510, 2, 128), r"found torch.float32 \[510, 2, 128\]"),
        ("voice.pt", torch.zeros(510, 1, 256, dtype=torch.float16), "found torch.float16"),
        ("voice.pt", {"voice": torch.zeros(1)}, "found dict"),
        ("README.md", "no pack", r"expected NAME\.pt, NAME\.bin"),
        *(
            (name, with_value(value), "expected finite numbers from -100 to 100")
            for name in ("voice.bin", "voice.pt")
            for value in (np.nan, np.inf, -np.inf, 1e30)
        ),
    ],
)
def test_what_is_not_a_pack_is_refused(name: str, content: Any, message: str, tmp_path: Path) -> None:
    save(content, tmp_path / name)
    with pytest.raises(VoiceError, match=message):
        load_voices(str(tmp_path))


@pytest.mark.parametrize("name", ["é.bin", "con.bin", "COM1.pt", "a b.bin", "a+b.pt", "\x1b[2J.bin"])
def test_a_name_that_no_bundle_may_have_is_refused(name: str, pack: np.ndarray, tmp_path: Path) -> None:
    save(pack, tmp_path / name)
    with pytest.raises(VoiceError, match="cannot be the name of a voice") as refused:
        load_voices(str(tmp_path))
    assert str(refused.value).isprintable()


def test_a_parameter_is_a_voice(pack: np.ndarray, tmp_path: Path) -> None:
    save(torch.nn.Parameter(torch.from_numpy(pack)), tmp_path / "voice.pt")
    np.testing.assert_array_equal(load_voices(str(tmp_path))["voice"], pack)


@pytest.mark.parametrize("suffix", [".pt", ".bin"])
def test_a_large_file_is_not_read_and_a_pipe_is_not_waited_for(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"voice{suffix}"
    with path.open("wb") as file:
        file.truncate(1 << 40)
    with pytest.raises(VoiceError, match=r"found 1099511627776|1,099,511,627,776 bytes, expected at most"):
        load_voices(str(tmp_path))
    path.unlink()
    os.mkfifo(path)
    with pytest.raises(VoiceError, match="not a regular file"):
        load_voices(str(tmp_path))


def test_a_directory_that_may_not_be_read_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def denied(path: Path) -> None:
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(Path, "iterdir", denied)
    with pytest.raises(VoiceError, match=r"directory of voices .*: Permission denied"):
        load_voices(str(tmp_path))


def test_what_macos_leaves_beside_a_pack_is_no_pack(pack: np.ndarray, tmp_path: Path) -> None:
    save(pack, tmp_path / "voice.bin")
    (tmp_path / "._voice.bin").write_bytes(b"of macOS")
    assert load_voices(str(tmp_path)).keys() == {"voice"}


def test_a_damaged_file_two_of_one_name_and_a_missing_directory_are_refused(
    pack: np.ndarray, tmp_path: Path
) -> None:
    (tmp_path / "voice.pt").write_bytes(b"PK\x03\x04 and then nothing")
    with pytest.raises(VoiceError, match=r"voice\.pt is not a tensor saved by torch"):
        load_voices(str(tmp_path))
    for name in ("voice.bin", "VOICE.bin"):
        save(pack, tmp_path / name)
        with pytest.raises(
            VoiceError, match=r"(?i)voice is there twice: keep .*voice\.(pt|bin) or .*voice\.bin"
        ):
            load_voices(str(tmp_path))
        (tmp_path / name).unlink()
    with pytest.raises(VoiceError, match="no directory of voices"):
        load_voices(str(tmp_path / "absent"))


def test_voices_follow_the_checkpoint_unless_it_is_a_file() -> None:
    synthetic: Any = SimpleNamespace(source="synthetic")
    assert set(load_voices(None, synthetic)) == set(NAMES)
    own: Any = SimpleNamespace(source="file")
    with pytest.raises(VoiceError, match="add --voices"):
        load_voices(None, own)


def test_synthetic_voices_have_the_real_names_and_statistics_and_never_change() -> None:
    voices = load_voices("synthetic")
    assert len(voices) == 54 and "af_heart" in voices
    assert all(voice.shape == (ROWS, COLUMNS) and voice.dtype == np.float32 for voice in voices.values())
    np.testing.assert_allclose(synthetic_voice("af_heart")[100, :3], GOLDEN, rtol=1e-6)
    _check_statistics(voices)


GOLDEN = (0.27003628, 0.22317205, -0.0176533)


def _check_statistics(voices: dict[str, np.ndarray]) -> None:
    """The common properties of the 54 real packs, with their measured values."""
    table = np.stack(list(voices.values()))
    decoder, prosody = table[..., : COLUMNS // 2], table[..., COLUMNS // 2 :]
    assert 0.16 < decoder.std() < 0.21  # 0.185
    assert 0.17 < prosody.std() < 0.24  # 0.194
    means = table.mean(axis=1)
    assert 1.8 < np.linalg.norm(means - means.mean(axis=0), axis=1).mean() < 2.5  # 2.19: voices differ
    steps = np.linalg.norm(np.diff(table, axis=1), axis=2).mean(axis=0)
    assert 0.6 < steps[0] < 1.0  # 0.83: the shortest utterances have styles of their own
    assert 0.007 < steps[100] < 0.015  # 0.011: otherwise neighbouring rows are nearly equal


if REAL.is_dir():

    def test_the_real_packs_have_these_names_and_statistics() -> None:
        voices = load_voices(str(REAL))
        assert sorted(voices) == sorted(NAMES)
        _check_statistics(voices)
