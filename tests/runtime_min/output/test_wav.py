"""WAV files hold the samples, whole or not at all."""

from __future__ import annotations

import io
import os
import struct
import sys
import wave
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from runtime_min.errors import ClosedPipeError, DiskFullError, OutputError, UsageError
from runtime_min.output import writer
from runtime_min.output.audio_file import audio_file, write_wav
from runtime_min.output.wav import encode, wav_header

RATE = 24_000
SAMPLES = arrays(np.float32, st.integers(0, 50), elements=st.floats(-4, 4, width=32))


def wav_bytes(samples: np.ndarray, rate: int, sample_format: str) -> bytes:
    data = encode(samples, sample_format)
    return wav_header(rate, sample_format, len(samples)) + data


def chunks(data: bytes) -> dict[bytes, bytes]:
    """The chunks of a RIFF file."""
    name, size, kind = struct.unpack_from("<4sI4s", data)
    assert (name, size, kind) == (b"RIFF", len(data) - 8, b"WAVE")
    found, position = {}, 12
    while position < len(data):
        chunk, length = struct.unpack_from("<4sI", data, position)
        found[chunk] = data[position + 8 : position + 8 + length]
        position += 8 + length + length % 2
    return found


@given(SAMPLES)
def test_float_keeps_every_bit(samples: np.ndarray) -> None:
    found = chunks(wav_bytes(samples, RATE, "float"))
    assert struct.unpack("<HHIIHHH", found[b"fmt "]) == (3, 1, RATE, 4 * RATE, 4, 32, 0)
    assert struct.unpack("<I", found[b"fact"]) == (len(samples),)
    assert np.frombuffer(found[b"data"], "<f4").tobytes() == samples.tobytes()


@given(SAMPLES)
def test_pcm16_is_read_by_the_standard_library_and_clips(samples: np.ndarray) -> None:
    with wave.open(io.BytesIO(wav_bytes(samples, RATE, "pcm16"))) as file:
        assert (file.getnchannels(), file.getsampwidth(), file.getframerate()) == (1, 2, RATE)
        found = np.frombuffer(file.readframes(file.getnframes()), "<i2")
    np.testing.assert_array_equal(found, np.rint(np.clip(samples, -1, 1) * np.float32(32767)))


def test_an_unknown_format_is_refused() -> None:
    with pytest.raises(UsageError, match="must be pcm16 or float, found 'mp3'"):
        wav_bytes(np.zeros(1, np.float32), RATE, "mp3")


def test_a_failed_write_leaves_the_earlier_file_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "speech.wav"
    path.write_bytes(b"earlier")

    def full(self: Path, target: Path) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", full)
    with pytest.raises(DiskFullError, match=r"needs \d+ bytes and \d+ are free"):
        write_wav(path, np.zeros(100, np.float32), RATE)
    assert path.read_bytes() == b"earlier"
    assert os.listdir(tmp_path) == ["speech.wav"]


def test_a_place_that_cannot_be_written_is_an_error(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "missing" / "speech.wav"):
        with pytest.raises(OutputError, match="cannot be written"):
            write_wav(path, np.zeros(10, np.float32), RATE)
    assert os.listdir(tmp_path) == []


def test_a_link_is_followed_and_a_device_is_written_to(tmp_path: Path) -> None:
    target, link = tmp_path / "target.wav", tmp_path / "link.wav"
    target.write_bytes(b"earlier")
    link.symlink_to(target)
    write_wav(link, np.zeros(10, np.float32), RATE)
    assert link.is_symlink()
    assert chunks(target.read_bytes())[b"data"] == bytes(20)
    write_wav(Path("/dev/null"), np.zeros(10, np.float32), RATE)
    assert not Path("/dev/null").is_file()


# As it comes.


@given(st.lists(SAMPLES, max_size=4), st.sampled_from(["float", "pcm16"]), st.booleans())
def test_pieces_make_the_file_of_the_whole(
    tmp_path_factory: pytest.TempPathFactory, pieces: list[np.ndarray], sample_format: str, raw: bool
) -> None:
    path = tmp_path_factory.mktemp("pieces") / "speech.wav"
    with audio_file(path, RATE, sample_format, raw=raw) as file:
        for piece in pieces:
            file.write(piece)
    whole = np.concatenate([np.zeros(0, np.float32), *pieces])
    assert file.samples == len(whole)
    expected = encode(whole, sample_format) if raw else wav_bytes(whole, RATE, sample_format)
    assert path.read_bytes() == expected


@pytest.mark.parametrize("sample_format", ["float", "pcm16"])
def test_a_header_of_open_length_differs_in_the_sizes_alone(sample_format: str) -> None:
    known, unknown = wav_header(RATE, sample_format, 100), wav_header(RATE, sample_format, None)
    assert len(known) == len(unknown)
    changed = {at for at in range(len(known)) if known[at] != unknown[at]}
    sizes = {*range(4, 8), *range(len(known) - 4, len(known))}
    assert changed == sizes | (
        {*range(len(known) - 12, len(known) - 8)} if sample_format == "float" else set()
    )
    assert {unknown[at] for at in changed} == {0xFF}


def test_a_pipe_gets_every_piece_at_once_and_tells_when_nobody_reads(tmp_path: Path) -> None:
    reader, writer = os.pipe()
    with (
        pytest.raises(ClosedPipeError, match="closed by the program that reads it"),
        audio_file(Path(f"/dev/fd/{writer}"), RATE, "pcm16") as file,
    ):
        file.write(np.zeros(10, np.float32))
        assert os.read(reader, 1_000) == wav_header(RATE, "pcm16", None) + bytes(20)
        os.close(reader)
        file.write(np.zeros(10, np.float32))
    os.close(writer)


@pytest.mark.parametrize("error", [KeyboardInterrupt(), ValueError("?")], ids=repr)
def test_what_is_not_finished_leaves_the_earlier_file(tmp_path: Path, error: BaseException) -> None:
    path = tmp_path / "speech.wav"
    path.write_bytes(b"earlier")
    with pytest.raises(type(error)), audio_file(path, RATE) as file:
        file.write(np.zeros(10, np.float32))
        assert len(os.listdir(tmp_path)) == 2
        raise error
    assert path.read_bytes() == b"earlier"
    assert os.listdir(tmp_path) == ["speech.wav"]


def test_a_disk_that_fills_up_leaves_no_half_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Full(io.FileIO):
        """A file that has room for a header."""

        def write(self, data: Any) -> int:
            if len(data) > 1_000:
                raise OSError(28, "No space left on device")
            return super().write(data)

    monkeypatch.setattr(Path, "open", lambda path, mode, **_: Full(path, mode))
    with (
        pytest.raises(DiskFullError, match=r"needs 2044 bytes"),
        audio_file(tmp_path / "x.wav", RATE) as file,
    ):
        file.write(np.zeros(1_000, np.float32))
    assert os.listdir(tmp_path) == []


def test_more_than_a_wav_file_holds_is_refused_and_raw_samples_are_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("runtime_min.output.audio_file.LARGEST", 100)
    with audio_file(tmp_path / "x.raw", RATE, raw=True) as file:
        file.write(np.zeros(100, np.float32))
    with pytest.raises(OutputError, match="would have 244 bytes and a WAV file holds 100"):
        write_wav(tmp_path / "x.wav", np.zeros(100, np.float32), RATE)
    assert os.listdir(tmp_path) == ["x.raw"]


def test_an_interrupt_at_any_line_of_opening_a_file_leaves_nothing(tmp_path: Path) -> None:
    for moment in count(1):
        lines = iter(range(moment))

        def interrupt(frame: FrameType, event: str, _: object, lines: Iterator[int] = lines) -> Any:
            if frame.f_code.co_filename != writer.__file__:
                return None
            if event == "line" and next(lines, None) is None:
                sys.settrace(None)
                raise KeyboardInterrupt
            return interrupt

        output = writer.Output(tmp_path / "speech.wav")
        sys.settrace(interrupt)
        try:
            output.__enter__()
        except KeyboardInterrupt:
            assert not list(tmp_path.iterdir())
        else:
            break
        finally:
            sys.settrace(None)
    output.__exit__(None)
    assert moment > 5
