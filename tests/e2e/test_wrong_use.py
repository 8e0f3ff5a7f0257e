"""Wrong requests end with a typed error that says what to do, never with a traceback."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgpack
import numpy as np
import pytest

from runtime_min import Bundle
from runtime_min.errors import (
    InputError,
    MissingStagesError,
    TooManyPhonemesError,
    UnknownPhonemesError,
    UnknownVoiceError,
    UtteranceTooLongError,
)
from tests.e2e.conftest import FRAME_BUCKETS, ROOT, ExportArguments, environment, run_python
from tests.support.utterances import HELLO

pytestmark = pytest.mark.e2e

# The whole model.

HOSTILE: dict[str, tuple[dict[str, Any], type[InputError], str]] = {
    "a million characters": ({"phonemes": "ə" * 1_000_000 + "7"}, UnknownPhonemesError, "at 1000000"),
    "control characters": ({"phonemes": "\x00\x1b[31m"}, UnknownPhonemesError, r"'\\x00' \(U\+0000\) at 0"),
    "a lone surrogate": ({"phonemes": "ə\ud800"}, UnknownPhonemesError, r"'\\ud800' \(U\+D800\) at 1"),
    "an emoji": ({"phonemes": "👩‍🚀"}, UnknownPhonemesError, r"U\+1F469\) at 0"),
    "a voice": ({"voice": "../\x00\udcff\x1b[2J"}, UnknownVoiceError, r"\.\./\\x00\\udcff\\x1b\[2J"),
}


@pytest.mark.parametrize(("arguments", "error", "message"), HOSTILE.values(), ids=HOSTILE)
def test_hostile_input_is_refused_in_a_short_message_and_the_bundle_goes_on(
    bundle: Bundle, arguments: dict[str, Any], error: type[InputError], message: str
) -> None:
    with pytest.raises(error, match=message) as refusal:
        bundle.synthesize(**{"phonemes": HELLO, **arguments})
    assert refusal.value.exit_code == (2 if error is UnknownVoiceError else 3)
    assert len(str(refusal.value)) < 2_000
    assert bundle.synthesize(phonemes="ə").samples.size


@pytest.mark.parametrize("count", [511, 1_000_000])
def test_more_than_the_model_takes_at_once_has_no_trace(bundle: Bundle, count: int) -> None:
    with pytest.raises(TooManyPhonemesError, match=f"{count} phonemes.* at most 510"):
        bundle.trace("ə" * count)


def test_the_longest_input_at_a_quarter_of_the_speed_is_refused(bundle: Bundle) -> None:
    with pytest.raises(UtteranceTooLongError, match="raise the speed, split the input") as refusal:
        bundle.trace("ə. " * 170, speed=0.25)
    assert refusal.value.frames > refusal.value.capacity == FRAME_BUCKETS[-1]


def test_one_frame_more_than_the_largest_bucket_is_refused(bundle: Bundle) -> None:
    durations = np.array([1, FRAME_BUCKETS[-1] - 1, 1], np.int64)
    with pytest.raises(UtteranceTooLongError, match="5121 frames"):
        bundle.trace("ə", durations=durations)


# Both commands.


def copied(directory: Path, place: Path) -> Path:
    """A copy of a bundle; `tmp_path` is emptied after each test that passes."""
    return Path(shutil.copytree(directory, place / "copy"))


def of_a_newer_version(bundle: Path) -> None:
    """Rewrites the manifest, with another msgpack than the runtime's own."""
    path = bundle / "manifest.msgpack"
    manifest = msgpack.unpackb(path.read_bytes()) | {"version": 2}
    path.write_bytes(msgpack.packb(manifest, use_bin_type=True))


def damaged(bundle: Path) -> None:
    """Changes a bit in the middle of the parameters."""
    parameters = np.memmap(bundle / "parameters.bin", np.uint8, "r+")
    parameters[len(parameters) // 2] ^= 1
    parameters.flush()


def assert_one_line(done: subprocess.CompletedProcess[str], code: int, message: str) -> None:
    assert done.returncode == code, done.stderr
    assert message in " ".join(done.stderr.split())
    assert "Traceback" not in done.stderr
    assert done.stdout == ""


@pytest.mark.parametrize("command", ["runtime_min", "verify", "inspect"])
def test_every_command_refuses_what_is_no_sound_bundle(directory: Path, tmp_path: Path, command: str) -> None:
    arguments = ("runtime_min", "--phonemes", "ə") if command == "runtime_min" else ("exporter", command)
    bundle = copied(directory, tmp_path)
    if command != "inspect":
        damaged(bundle)
        assert_one_line(run_python("-m", *arguments, bundle), 4, ", should have SHA-256")
    of_a_newer_version(bundle)
    assert_one_line(run_python("-m", *arguments, bundle), 4, "format version 2")
    for path in (tmp_path / "nothing", "x" * 5_000):
        assert_one_line(run_python("-m", *arguments, path), 4, "is not a bundle")


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


# A disk on which 64 KB fit.


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

def lies(path):
    return pathlib.Path(path).is_relative_to(place)

def open_for_reading(path, mode="r", *others, **named):
    if "x" in mode and lies(path):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    return opened(path, mode, *others, **named)

place, *sys.argv = sys.argv[1:]
shutil.disk_usage = lambda path: usage(path)._replace(free=64 << 10) if lies(path) else usage(path)
pathlib.Path.open = open_for_reading
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


# Exports: of what is not there, of a part of the model, and to a full disk.


DECODER_ONLY = ("--stages", "decoder", "--languages", "none", "--frame-buckets", str(FRAME_BUCKETS[0]))


@dataclass(frozen=True)
class Exported:
    """What several exports left, of which one wrote to a small disk."""

    partial: Path
    """A bundle of the decoder alone."""
    nothing: Path
    """The directory into which what is not there was exported."""
    ended: Mapping[str, subprocess.CompletedProcess[str]]
    left: str
    """Names of the files on the small disk."""


@pytest.fixture(scope="module")
def exported(
    directory: Path, export_arguments: ExportArguments, tmp_path_factory: pytest.TempPathFactory
) -> Exported:
    """One process imports what exports need, which takes longer than they; `directory` compiled all parts."""
    place = tmp_path_factory.mktemp("exported")
    partial, small, nothing = (place / name for name in ("partial", "small", "nothing"))
    small.mkdir()
    nothing.mkdir()
    commands = {
        "partial": export_arguments(partial, *DECODER_ONLY),
        # The disk has no room for any stage; this one takes least time until it is to be written.
        "full disk": export_arguments(small / "bundle", "--stages", "text_encoder", "--languages", "none"),
        "--checkpoint": export_arguments(nothing / "out", "--checkpoint", "no/such.pth"),
        "--voices": export_arguments(nothing / "out", "--voices", "no/such.pth"),
    }
    done = run_on_a_small_disk(small, "tests.support.programs.forked_exporter", json.dumps(commands))
    assert done.returncode == 0, done.stderr
    told, _, left = done.stdout.partition("\n")
    ended = {
        name: subprocess.CompletedProcess(commands[name], *result)
        for name, result in json.loads(told).items()
    }
    return Exported(partial, nothing, ended, left)


@pytest.mark.parametrize("option", ["--checkpoint", "--voices"])
def test_an_export_of_what_is_not_there_ends_in_a_line_and_writes_nothing(
    exported: Exported, option: str
) -> None:
    assert_one_line(exported.ended[option], 3, "no/such.pth")
    assert os.listdir(exported.nothing) == []


def test_a_partial_bundle_decodes_and_says_what_it_lacks(
    exported: Exported, bundle: Bundle, tmp_path: Path
) -> None:
    done = exported.ended["partial"]
    assert done.returncode == 0, done.stderr
    spoken = bundle.trace(HELLO)
    inputs = {
        "asr": spoken.asr,
        "f0": spoken.f0,
        "energy": spoken.energy,
        "decoder_style": spoken.style.decoder,
        "noise": spoken.noise,
    }
    with Bundle.load(exported.partial) as decoder:
        with pytest.raises(MissingStagesError, match="lacks bert, duration, text_encoder, f0n"):
            decoder.synthesize(phonemes=HELLO)
        audio = decoder.stage("decoder").run(inputs)["audio"]
    assert audio.tobytes() == spoken.audio.tobytes()
    done = run_python("-m", "runtime_min", exported.partial, "--phonemes", "ə", "-o", tmp_path / "x.wav")
    assert_one_line(done, 3, "Export without --stages")


def test_a_full_disk_stops_an_export_and_leaves_nothing(exported: Exported) -> None:
    assert_one_line(exported.ended["full disk"], 6, "make room, or write to another disk")
    assert exported.left == ""


def test_a_full_disk_stops_the_runtime_and_leaves_no_half_file(directory: Path, tmp_path: Path) -> None:
    output = tmp_path / "x.wav"
    arguments = ("--phonemes", HELLO, "--format", "float", "-o", output)
    done = run_on_a_small_disk(tmp_path, "runtime_min", directory, *arguments)
    assert_one_line(done, 6, "make room, or write to another disk")
