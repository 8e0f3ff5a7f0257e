"""Whatever is asked for wrongly ends with a typed error that says what to do, and never with a traceback."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgpack
import numpy as np
import pytest

from runtime_min import Bundle
from runtime_min.errors import (
    BundleError,
    CpuLevelError,
    DamagedFileError,
    EmptyInputError,
    FormatVersionError,
    InputError,
    KokoroError,
    ManifestError,
    MissingFileError,
    MissingStagesError,
    PlatformError,
    SpeedError,
    TooManyPhonemesError,
    TvmVersionError,
    UnknownPhonemesError,
    UnknownVoiceError,
    UtteranceTooLongError,
)
from tests.e2e.conftest import FRAME_BUCKETS, ROOT, Export, ExportArguments, environment, run_python
from tests.support.utterances import HELLO, phonemes_of

pytestmark = pytest.mark.e2e

# What cannot be spoken.

REFUSED: dict[str, tuple[dict[str, Any], type[InputError], str]] = {
    "unknown phonemes": (
        {"phonemes": "həlˈ7 ✗"},
        UnknownPhonemesError,
        r"'7' \(U\+0037\) at 4; '✗' \(U\+2717\) at 6",
    ),
    "nothing": ({"phonemes": ""}, EmptyInputError, "at least one phoneme"),
    "an unknown voice": ({"voice": "af_hart"}, UnknownVoiceError, "Did you mean af_heart"),
    "no voice": ({"voice": ""}, UnknownVoiceError, "no voice ''"),
    "speed 0": ({"speed": 0}, SpeedError, "from 0.25 to 4, found 0"),
    "speed NaN": ({"speed": float("nan")}, SpeedError, "from 0.25 to 4, found nan"),
    "speed -1": ({"speed": -1.0}, SpeedError, "from 0.25 to 4, found -1"),
    "a million characters": ({"phonemes": "ə" * 1_000_000 + "7"}, UnknownPhonemesError, "at 1000000"),
    "control characters": (
        {"phonemes": "\x00\x1b[31m\r\n"},
        UnknownPhonemesError,
        r"'\\x00' \(U\+0000\) at 0",
    ),
    "a lone surrogate": ({"phonemes": "ə\ud800"}, UnknownPhonemesError, r"'\\ud800' \(U\+D800\) at 1"),
    "an emoji": ({"phonemes": "👩‍🚀"}, UnknownPhonemesError, r"U\+1F469\) at 0"),
    "a hostile voice": (
        {"voice": "../\x00\udcff\x1b[2J"},
        UnknownVoiceError,
        r"no voice '\.\./\\x00\\udcff\\x1b\[2J'",
    ),
}


@pytest.mark.parametrize(("arguments", "error", "message"), REFUSED.values(), ids=REFUSED)
def test_what_cannot_be_spoken_is_refused_and_the_bundle_goes_on(
    bundle: Bundle, arguments: dict[str, Any], error: type[InputError], message: str
) -> None:
    with pytest.raises(error, match=message) as refusal:
        bundle.synthesize(**{"phonemes": HELLO, **arguments})
    assert refusal.value.exit_code == 3
    assert len(str(refusal.value)) < 2_000
    assert bundle.synthesize("ə").samples.size


@pytest.mark.parametrize("count", [511, 1_000_000])
def test_more_than_the_model_takes_at_once_has_no_trace(bundle: Bundle, count: int) -> None:
    with pytest.raises(TooManyPhonemesError, match=f"{count} phonemes.* at most 510"):
        bundle.trace("ə" * count)


def test_the_longest_input_at_a_quarter_of_the_speed_is_refused_before_anything_is_decoded(
    bundle: Bundle,
) -> None:
    started = time.process_time()
    with pytest.raises(UtteranceTooLongError, match="raise the speed, split the input") as refusal:
        bundle.trace(phonemes_of(512), speed=0.25)
    # Decoding two minutes of speech would take longer by far.
    assert time.process_time() - started < 8
    assert refusal.value.frames > refusal.value.capacity == FRAME_BUCKETS[-1]


def test_one_frame_more_than_the_largest_bucket_is_refused(bundle: Bundle) -> None:
    durations = np.array([1, FRAME_BUCKETS[-1] - 1, 1], np.int64)
    with pytest.raises(UtteranceTooLongError, match="5121 frames"):
        bundle.trace("ə", durations=durations)


# What is no sound bundle for this machine.


def copied(directory: Path, place: Path) -> Path:
    """A copy of a bundle; `tmp_path` is emptied after each test that passes."""
    return Path(shutil.copytree(directory, place / "copy"))


def edit_manifest(directory: Path, change: Callable[[dict[str, Any]], object]) -> None:
    """Writes the manifest anew, by another msgpack than the runtime's own."""
    path = directory / "manifest.msgpack"
    manifest = msgpack.unpackb(path.read_bytes())
    change(manifest)
    path.unlink()
    path.write_bytes(msgpack.packb(manifest, use_bin_type=True))


def damage(directory: Path) -> None:
    path = directory / "parameters.bin"
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.unlink()
    path.write_bytes(content)


def cut_off(directory: Path) -> None:
    path = directory / "parameters.bin"
    content = path.read_bytes()[:-1]
    path.unlink()
    path.write_bytes(content)


def edited(change: Callable[[dict[str, Any]], object]) -> Callable[[Path], None]:
    return lambda directory: edit_manifest(directory, change)


UNSOUND: dict[str, tuple[Callable[[Path], object], type[KokoroError], str]] = {
    "a damaged file": (damage, DamagedFileError, "parameters.bin should have SHA-256"),
    "a file that was cut off": (cut_off, DamagedFileError, "parameters.bin should have .* bytes"),
    "a missing file": (
        lambda path: (path / "voices" / "af_heart.bin").unlink(),
        MissingFileError,
        "af_heart.bin",
    ),
    "no manifest": (lambda path: (path / "manifest.msgpack").unlink(), MissingFileError, "is not a bundle"),
    "another format": (
        edited(lambda m: m.update(format="onnx")),
        ManifestError,
        "expected .*kokoro-bundle.* found 'onnx'",
    ),
    "a newer version": (
        edited(lambda m: m.update(version=2)),
        FormatVersionError,
        "version 2, this runtime reads 1",
    ),
    "an unknown entry": (edited(lambda m: m.update(extra=1)), ManifestError, "extra"),
    "another processor": (
        edited(lambda m: m["target"].update(machine="riscv64")),
        PlatformError,
        "linux on riscv64",
    ),
    "another system": (edited(lambda m: m["target"].update(system="macos")), PlatformError, "macos on"),
    "a newer system": (
        edited(lambda m: m["target"].update(minimum_os="glibc 9.99")),
        PlatformError,
        "glibc 9.99 or newer",
    ),
    "a better processor": (
        edited(lambda m: m["target"]["levels"][0].update(features=["avx9000"])),
        CpuLevelError,
        "needs avx9000",
    ),
    "another TVM": (
        edited(lambda m: m["versions"].update(tvm="9.9.0")),
        TvmVersionError,
        "compiled by TVM 9.9.0",
    ),
    "another tvm-ffi": (
        edited(lambda m: m["versions"].update(tvm_ffi="9.9.0")),
        TvmVersionError,
        "needs apache-tvm-ffi 9.9",
    ),
}


@pytest.mark.parametrize(("change", "error", "message"), UNSOUND.values(), ids=UNSOUND)
def test_what_is_no_sound_bundle_for_this_machine_is_refused_before_anything_is_loaded(
    directory: Path,
    bundle: Bundle,
    tmp_path: Path,
    change: Callable[[Path], object],
    error: type[KokoroError],
    message: str,
) -> None:
    unsound = copied(directory, tmp_path)
    change(unsound)
    with pytest.raises(error, match=message) as refusal:
        Bundle.load(unsound)
    assert refusal.value.exit_code == (4 if isinstance(refusal.value, BundleError) else 5)
    assert bundle.synthesize("ə").samples.size


@pytest.mark.parametrize("path", ["", "\x00", "x" * 5_000, "no/such/place", "\udcff"], ids=ascii)
def test_what_is_no_path_of_a_bundle_is_refused(path: str) -> None:
    with pytest.raises(MissingFileError, match="is not a bundle"):
        Bundle.load(path)


# Both commands.


def assert_one_line(done: subprocess.CompletedProcess[str], code: int, message: str) -> None:
    assert done.returncode == code, done.stderr
    assert message in " ".join(done.stderr.split())
    assert "Traceback" not in done.stderr
    assert done.stdout == ""


SPOKEN: dict[str, tuple[list[str], int, str]] = {
    "unknown phonemes": (["--phonemes", "həl7"], 3, "'7' (U+0037) at 3"),
    "bytes that are no UTF-8": (["--phonemes", "\udcff"], 3, "'\\udcff' (U+DCFF) at 0"),
    "an unknown voice": (["--phonemes", "ə", "--voice", "af_hart"], 3, "Did you mean af_heart"),
    "speed": (["--phonemes", "ə", "--speed", "-1"], 3, "from 0.25 to 4, found -1"),
    "a pause": (["--phonemes", "ə", "--pause", "-1"], 3, "from 0 to 60"),
    "nowhere to write": (["--phonemes", "ə", "-o", "/no/such/place.wav"], 6, "cannot be written"),
    "a name too long to write": (["--phonemes", "ə", "-o", "x" * 5_000], 6, "cannot be written"),
    "usage": (["--phonemes", "ə", "--speed", "fast"], 2, "invalid float value"),
}


@pytest.mark.parametrize(("arguments", "code", "message"), SPOKEN.values(), ids=SPOKEN)
def test_the_runtimes_command_ends_with_the_documented_code(
    directory: Path, tmp_path: Path, arguments: list[str], code: int, message: str
) -> None:
    output: list[str | Path] = [] if "-o" in arguments else ["-o", tmp_path / "x.wav"]
    assert_one_line(run_python("-m", "runtime_min", directory, *arguments, *output), code, message)
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("command", ["runtime_min", "verify", "inspect"])
def test_every_command_refuses_what_is_no_bundle(directory: Path, tmp_path: Path, command: str) -> None:
    arguments = {
        "runtime_min": ("-m", "runtime_min", "--phonemes", "ə"),
        "verify": ("-m", "exporter", "verify"),
        "inspect": ("-m", "exporter", "inspect"),
    }[command]
    newer = copied(directory, tmp_path)
    edit_manifest(newer, lambda manifest: manifest.update(version=2))
    assert_one_line(run_python(*arguments, newer), 4, "format version 2")
    assert_one_line(run_python(*arguments, tmp_path / "nothing"), 4, "is not a bundle")
    assert_one_line(run_python(*arguments, "x" * 5_000), 4, "is not a bundle")


def test_both_commands_refuse_a_damaged_file(directory: Path, tmp_path: Path) -> None:
    damaged = copied(directory, tmp_path)
    damage(damaged)
    for arguments in (("runtime_min", "--phonemes", "ə"), ("exporter", "verify")):
        assert_one_line(run_python("-m", *arguments, damaged), 4, "parameters.bin should have SHA-256")


@pytest.mark.parametrize("encoding", ["ascii", "utf-8"])
def test_a_terminal_that_cannot_show_a_path_does_not_stop_the_runtime(
    directory: Path, tmp_path: Path, encoding: str
) -> None:
    output = tmp_path / "h\xe5ll\udcff.wav"
    done = run_python(
        "-m", "runtime_min", directory, "--phonemes", "ə", "-o", output, PYTHONIOENCODING=f"{encoding}:strict"
    )
    assert done.returncode == 0, done.stderr
    assert output.stat().st_size > 24_000 // 40


@pytest.mark.parametrize("arguments", [["inspect"], ["inspect", "--json"], ["verify"]], ids=" ".join)
def test_a_terminal_that_knows_only_ascii_does_not_stop_the_exporter(
    directory: Path, arguments: list[str]
) -> None:
    done = run_python("-m", "exporter", *arguments, directory, PYTHONIOENCODING="ascii")
    assert done.returncode == 0, done.stderr
    assert done.stdout.isascii()


WRONG_EXPORTS: dict[str, tuple[list[str], int, str]] = {
    "a target that there is not": (["--target", "amiga"], 3, "amiga"),
    "a stage that there is not": (["--stages", "vocoder"], 2, "found vocoder"),
    "buckets out of order": (["--frame-buckets", "512,64"], 2, "ascending lengths"),
    "more tokens than the model has": (["--text-buckets", "513"], 2, "found 513"),
    "no such checkpoint": (["--checkpoint", "no/such.pth"], 3, "no/such.pth"),
    "no such voices": (["--voices", "no/such/place"], 3, "no/such/place"),
}


@pytest.mark.parametrize(("arguments", "code", "message"), WRONG_EXPORTS.values(), ids=WRONG_EXPORTS)
def test_the_exporters_command_ends_with_the_documented_code(
    export: Export, tmp_path: Path, arguments: list[str], code: int, message: str
) -> None:
    assert_one_line(export(tmp_path / "out", *arguments), code, message)
    assert os.listdir(tmp_path) == []


# A part of the model, and a full disk.


DECODER_ONLY = ("--stages", "decoder", "--frame-buckets", str(FRAME_BUCKETS[0]))


@pytest.fixture(scope="module")
def partial(directory: Path, export: Export, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A bundle of the decoder alone; `directory` has compiled it already."""
    output = tmp_path_factory.mktemp("partial") / "bundle"
    done = export(output, *DECODER_ONLY)
    assert done.returncode == 0, done.stderr
    return output


def test_a_partial_bundle_decodes_and_says_what_it_lacks(
    partial: Path, bundle: Bundle, tmp_path: Path
) -> None:
    spoken = bundle.trace(HELLO)
    inputs = {
        "asr": spoken.asr,
        "f0": spoken.f0,
        "energy": spoken.energy,
        "decoder_style": spoken.style.decoder,
        "noise": spoken.noise,
    }
    with Bundle.load(partial) as decoder:
        with pytest.raises(MissingStagesError, match="lacks bert, duration, text_encoder, f0n"):
            decoder.synthesize(HELLO)
        audio = decoder.stage("decoder").run(inputs)["audio"]
    assert audio.tobytes() == spoken.audio.tobytes()
    done = run_python("-m", "runtime_min", partial, "--phonemes", "ə", "-o", tmp_path / "x.wav")
    assert_one_line(done, 3, "Export without --stages")


# Mounts 64 KB at $0, runs the command, and says what it leaves there.
ON_A_SMALL_DISK = """
mount -t tmpfs -o size=64k none "$0" || exit 99
"$@"; code=$?; ls -A "$0"; exit $code
"""
PRIVATE_MOUNTS = ("unshare", "--user", "--map-root-user", "--mount", "sh", "-c", ON_A_SMALL_DISK)
# Where mounting is not allowed, Python is told the same.
AS_ON_A_SMALL_DISK = """
import errno, os, pathlib, runpy, shutil, sys
usage, opened = shutil.disk_usage, pathlib.Path.open

def open_for_reading(path, mode="r", *others, **named):
    if "x" in mode:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    return opened(path, mode, *others, **named)

shutil.disk_usage = lambda path: usage(path)._replace(free=64 << 10)
pathlib.Path.open = open_for_reading
place, *sys.argv = sys.argv[1:]
try:
    runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
finally:
    print(*os.listdir(place), sep="\\n", end="")
"""


def small_disk(place: Path) -> list[str]:
    """The start of a command that runs a module while only 64 KB fit into `place`."""
    mounting = [*PRIVATE_MOUNTS, str(place)]
    try:
        if subprocess.run([*mounting, "true"], capture_output=True).returncode == 0:
            return [*mounting, sys.executable, "-m"]
    except FileNotFoundError:
        pass
    return [sys.executable, "-c", AS_ON_A_SMALL_DISK, str(place)]


def run_on_a_small_disk(place: Path, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    command = [*small_disk(place), *map(str, arguments)]
    return subprocess.run(command, cwd=ROOT, env=environment(), capture_output=True, text=True)


def test_a_full_disk_stops_an_export_and_leaves_nothing(
    partial: Path, export_arguments: ExportArguments, tmp_path: Path
) -> None:
    arguments = export_arguments(tmp_path / "bundle", *DECODER_ONLY)
    done = run_on_a_small_disk(tmp_path, "exporter", *arguments)
    assert_one_line(done, 6, "make room or choose another place")


def test_a_full_disk_stops_the_runtime_and_leaves_no_half_file(directory: Path, tmp_path: Path) -> None:
    output = tmp_path / "x.wav"
    done = run_on_a_small_disk(tmp_path, "runtime_min", directory, "--phonemes", HELLO, "-o", output)
    assert_one_line(done, 6, "make room or choose another place")
