"""A file's name decides its format; compressed files are as whole or absent as WAV files are."""

from __future__ import annotations

import base64
import io
import os
import re
import subprocess
import sys
import wave
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import soundfile

from runtime_min import Audio, audio_file, write_wav
from runtime_min.errors import (
    ArgumentTypeError,
    DiskFullError,
    InstallationError,
    KokoroError,
    OutputError,
    UsageError,
)
from runtime_min.output.formats import AUDIO, COMPRESSED, FORMATS
from runtime_min.output.wav import encode
from runtime_min.output.writer import Output
from tests.support.paths import ROOT

RATE = 24_000
_TIMES = np.arange(RATE) / RATE
TONE = (0.4 * np.sin(2 * np.pi * 440 * _TIMES)).astype(np.float32)
PIECES = (TONE[:7_000], TONE[7_000:7_001], TONE[7_001:7_001], TONE[7_001:])


def spoken(samples: np.ndarray = TONE) -> Audio:
    return Audio(samples, RATE, np.ones(3, np.int64), "a")


def write(path: Path, pieces: Any = PIECES) -> None:
    with audio_file(path, RATE) as file:
        for piece in pieces:
            file.write(piece)
        assert file.samples == sum(map(len, pieces))


@pytest.mark.parametrize("suffix", [*AUDIO, ".FLAC"])
def test_the_end_of_the_name_decides_the_format(tmp_path: Path, suffix: str) -> None:
    write(path := tmp_path / f"x{suffix}")
    container, subtype = COMPRESSED.get(suffix.lower(), ("WAV", "PCM_16"))
    found = soundfile.info(path)
    assert (found.format, found.subtype, found.channels) == (container, subtype, 1)
    assert (found.samplerate, found.frames) == (RATE, len(TONE))
    decoded, _ = soundfile.read(path, dtype="float32")
    middle = slice(4_000, 20_000)
    assert np.sqrt(np.mean((decoded - TONE)[middle] ** 2)) < 0.05
    assert os.listdir(tmp_path) == [path.name]


def test_flac_and_wav_hold_the_samples_that_pcm16_returns(tmp_path: Path) -> None:
    audio = spoken()
    for name in ("x.wav", "x.flac"):
        audio.save(tmp_path / name)
        found, rate = soundfile.read(tmp_path / name, dtype="int16")
        assert (found.astype("<i2").tobytes(), rate) == (audio.pcm16(), RATE)
    with wave.open(str(tmp_path / "x.wav")) as file:
        assert file.readframes(file.getnframes()) == audio.pcm16() == encode(TONE, "pcm16")
    audio.save(str(tmp_path / "float.wav"), "float")
    assert soundfile.info(tmp_path / "float.wav").subtype == "FLOAT"


def test_a_format_that_nobody_knows_is_refused_with_the_list(tmp_path: Path) -> None:
    for name in ("x.m4a", "x", "x.wav.bak"):
        with pytest.raises(UsageError, match=r"one of \.wav, \.flac, \.mp3, \.ogg, \.opus"):
            spoken().save(tmp_path / name)
    with pytest.raises(UsageError, match="float samples belong into"):
        spoken().save(tmp_path / "x.mp3", "float")
    os.mkfifo(tmp_path / "pipe.mp3")
    with pytest.raises(UsageError, match="is not a file"):
        spoken().save(tmp_path / "pipe.mp3")


@pytest.mark.parametrize("suffix", COMPRESSED)
def test_without_the_package_a_format_is_refused_by_its_name(
    tmp_path: Path, suffix: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patched:
        patched.setitem(sys.modules, "soundfile", None)
        with pytest.raises(InstallationError, match=rf"\{suffix} .* pip install soundfile$"):
            write(tmp_path / f"x{suffix}")
    monkeypatch.setattr(soundfile, "check_format", lambda *_: False)
    with pytest.raises(InstallationError, match=rf"\{suffix} .* pip install --upgrade soundfile$"):
        write(tmp_path / f"x{suffix}")
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("suffix", AUDIO)
@pytest.mark.parametrize("moment", ["beginning", "middle", "end"])
def test_a_disk_that_fills_up_leaves_the_earlier_file(
    tmp_path: Path, suffix: str, moment: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(path := tmp_path / f"x{suffix}")
    size, room = path.stat().st_size, {"beginning": 0, "middle": 0.5, "end": 0.999}[moment]
    path.write_bytes(b"earlier")
    write_all = Output.write

    def full(output: Output, data: bytes) -> None:
        if output.bytes + len(data) > room * size:
            with output._reported(len(data)):
                raise OSError(28, "No space left on device")
        write_all(output, data)

    monkeypatch.setattr(Output, "write", full)
    with pytest.raises(DiskFullError):
        write(path)
    assert path.read_bytes() == b"earlier"
    assert os.listdir(tmp_path) == [path.name]


@pytest.mark.parametrize("suffix", COMPRESSED)
def test_an_interrupt_leaves_the_earlier_file(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"x{suffix}"
    path.write_bytes(b"earlier")
    with pytest.raises(KeyboardInterrupt), audio_file(path, RATE) as file:
        file.write(TONE)
        raise KeyboardInterrupt
    assert path.read_bytes() == b"earlier"
    assert os.listdir(tmp_path) == [path.name]


WRONG = {
    "no path": (3, TONE, RATE, "pcm16"),
    "no samples": ("x.wav", None, RATE, "pcm16"),
    "samples of two channels": ("x.wav", TONE.reshape(2, -1), RATE, "pcm16"),
    "samples that are bytes": ("x.wav", b"1234", RATE, "pcm16"),
    "ragged samples": ("x.wav", [[1.0], [1.0, 2.0]], RATE, "pcm16"),
    "integers": ("x.wav", TONE.astype(int), RATE, "pcm16"),
    "not a number": ("x.wav", TONE * np.float32("nan"), RATE, "pcm16"),
    "a rate of text": ("x.wav", TONE, "24000", "pcm16"),
    "a rate below zero": ("x.wav", TONE, -1, "pcm16"),
    "a rate of text in FLAC": ("x.flac", TONE, "24000", "pcm16"),
    "a format that is a number": ("x.wav", TONE, RATE, 16),
}


@pytest.mark.parametrize("arguments", WRONG.values(), ids=WRONG)
def test_arguments_of_the_wrong_type_are_refused_by_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: tuple[Any, ...]
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError) as refused:
        write_wav(*arguments)
    assert isinstance(refused.value, ArgumentTypeError) or arguments[3] == 16
    assert os.listdir(tmp_path) == []


def test_a_rate_that_a_format_does_not_have_is_refused(tmp_path: Path) -> None:
    with pytest.raises(OutputError, match=r"x\.opus cannot be encoded"):
        write_wav(tmp_path / "x.opus", TONE, 12_345)
    assert os.listdir(tmp_path) == []


def test_a_real_limit_on_the_size_of_files_is_an_error(tmp_path: Path) -> None:
    program = f"""
import numpy, resource
from runtime_min import write_wav
from runtime_min.errors import OutputError
noise = numpy.random.default_rng(0).uniform(-1, 1, 100_000).astype("f4")
resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, 10_000))
for suffix in {AUDIO}:
    try:
        write_wav({str(tmp_path)!r} + "/x" + suffix, noise, {RATE})
    except OutputError as error:
        assert "File too large" in str(error), error
    else:
        raise SystemExit(suffix)
"""
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert os.listdir(tmp_path) == []


# Names and permissions.


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o666, 0o755])
def test_an_overwritten_file_keeps_its_permissions_and_a_new_one_has_the_usual_ones(
    tmp_path: Path, mode: int
) -> None:
    path = tmp_path / "x.wav"
    earlier = os.umask(0o027)
    try:
        write(path)
        assert path.stat().st_mode & 0o777 == 0o640
        path.chmod(mode)
        with audio_file(path, RATE):
            (staging,) = (each for each in tmp_path.iterdir() if each != path)
            # Nobody may read what is being written who may not read the file.
            assert staging.stat().st_mode & 0o777 == mode
    finally:
        os.umask(earlier)
    assert path.stat().st_mode & 0o777 == mode


def test_a_name_as_long_as_the_system_takes_is_written(tmp_path: Path) -> None:
    path = tmp_path / ("x" * (os.pathconf(tmp_path, "PC_NAME_MAX") - 4) + ".wav")
    write(path)
    assert os.listdir(tmp_path) == [path.name]
    with pytest.raises(OutputError, match="name too long"):
        write(tmp_path / f"x{path.name}")
    with pytest.raises(OutputError, match="null byte"):
        write(tmp_path / "x\0.wav")


def test_an_error_names_the_file_and_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(KokoroError, match=r"no/x\.wav cannot be written: No such file .* name another"):
        write(tmp_path / "no" / "x.wav")


@pytest.mark.parametrize("format", FORMATS)
def test_bytes_and_file_objects_hold_what_a_file_holds(tmp_path: Path, format: str) -> None:
    audio = spoken()
    audio.save(tmp_path / f"x.{format}")
    written = (tmp_path / f"x.{format}").read_bytes()
    with (tmp_path / "raw").open("wb", buffering=0) as raw:
        audio.save(raw, format=format)
        assert not raw.closed
    assert audio.to_bytes() == audio.to_bytes("wav")
    for found in (audio.to_bytes(format), (tmp_path / "raw").read_bytes()):
        # Ogg gives every stream a random number.
        assert found == written or format in ("ogg", "opus")
        decoded, rate = soundfile.read(io.BytesIO(found), dtype="float32")
        assert (rate, decoded.shape) == (RATE, TONE.shape)
    audio.save(file := io.BytesIO(), "float", format="wav")
    assert soundfile.read(io.BytesIO(file.getvalue()), dtype="float32")[0].tobytes() == TONE.tobytes()


def test_an_object_that_takes_a_part_at_a_time_gets_all() -> None:
    taken = bytearray()

    class Slow:
        def write(self, data: bytes) -> int:
            taken.extend(data[:1_000])
            return len(data[:1_000])

    spoken().save(Slow(), format="wav")
    assert bytes(taken) == spoken().to_bytes()


def test_a_file_object_that_cannot_be_written_is_an_error_of_ours(tmp_path: Path) -> None:
    with (tmp_path / "x.wav").open("wb") as closed:
        pass
    with pytest.raises(OutputError, match=r"x\.wav cannot be written: write to closed file"):
        spoken().save(closed, format="wav")
    wrong: list[tuple[Any, dict[str, Any]]]
    wrong = [(io.StringIO(), {"format": "wav"}), (io.BytesIO(), {}), (5, {})]
    for file, how in wrong:
        with pytest.raises(UsageError, match=r"wav, flac|takes bytes|a str or a path"):
            spoken().save(file, **how)
    for file, how in ((tmp_path / "y.wav", {"format": "wav"}), (io.BytesIO(), {"format": "m4a"})):
        with pytest.raises(UsageError, match=r"name of a file has|one of wav, flac, mp3, ogg, opus"):
            spoken().save(file, **how)
    with pytest.raises(UsageError, match="Only WAV holds float"):
        spoken().to_bytes("mp3", "float")


def test_audio_is_an_array_with_a_length_and_a_player() -> None:
    audio = replace(spoken(), voice="<b>")
    assert np.asarray(audio) is audio.samples and np.array(audio) is not audio.samples
    assert np.asarray(audio, np.float64).dtype == np.float64 and np.abs(audio).max() <= 1
    assert (len(audio), audio.duration) == (RATE, 1.0) and "<b>, 1.00 s" in repr(audio)
    page = audio._repr_html_()
    (data,) = re.findall(r'<audio controls src="data:audio/wav;base64,([^"]+)">', page)
    assert base64.b64decode(data) == audio.to_bytes() and "&lt;b&gt;, 1.00 s" in page
    joined = Audio.join([spoken(), audio, replace(audio, voice="am_adam"), audio])
    assert joined.voice == "<b>, am_adam" and joined.duration == 4.0
