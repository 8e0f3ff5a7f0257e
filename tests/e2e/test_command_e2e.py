"""The runtime's command with a real bundle: its files and streams, also when it is interrupted."""

from __future__ import annotations

import json
import os
import signal
import struct
import subprocess
import sys
import wave
from pathlib import Path

import numpy as np
import pytest

from runtime_min import Bundle
from runtime_min.output.wav import encode, wav_header
from runtime_min.text import espeak
from tests.e2e.conftest import ROOT, environment, run_python
from tests.support.utterances import HELLO, phonemes_of

pytestmark = pytest.mark.e2e

LONG = " ".join(phonemes_of(120) for _ in range(5))


def command(directory: Path, *arguments: str | Path) -> list[str]:
    return [sys.executable, "-m", "runtime_min", str(directory), *map(str, arguments)]


def start(directory: Path, *arguments: str | Path) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        command(directory, *arguments),
        env=environment(),
        cwd=ROOT,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def test_a_pipe_gets_the_stream_under_a_header_of_open_length(directory: Path, bundle: Bundle) -> None:
    process = start(directory, "--phonemes", HELLO, "--pause", "0.5", "-o", "-")
    content, told = process.communicate()
    assert process.returncode == 0, told
    header = wav_header(24_000, "pcm16", None)
    expected = [
        piece.samples for piece in bundle.stream(phonemes=HELLO, sentence_pause=0.5, clause_pause=0.25)
    ]
    assert content == header + encode(np.concatenate(expected))
    assert struct.unpack_from("<4sI", header) == (b"RIFF", 0xFFFFFFFF)


def test_a_text_from_standard_input_is_spoken_with_subtitles(
    directory: Path, bundle: Bundle, tmp_path: Path
) -> None:
    text = "¡Hola! ¿Qué tal?\nBien.\n\nBuenos días."
    arguments = ("--text", "-", "--voice", "ef_dora", "--format", "pcm16", "--raw", "--end-pause", "0.25")
    done = subprocess.run(
        command(directory, *arguments, "-o", tmp_path / "x.pcm", "--timings", tmp_path / "x.json"),
        env=environment(), cwd=ROOT, input=text.encode(), capture_output=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    found = json.loads((tmp_path / "x.json").read_text(encoding="utf-8"))
    assert [word["text"] for word in found["words"]] == [
        "Hola", "!", "Qué", "tal", "?", "Bien", ".", "Buenos", "días", "."
    ]  # fmt: skip
    said = "".join(token["text"] for token in found["tokens"])
    assert said == "".join(
        "".join(f"{word.phonemes}{word.whitespace}" for word in espeak("es")(part.replace("\n", " "))).strip()
        for part in text.split("\n\n")
    )
    assert (tmp_path / "x.pcm").stat().st_size / 48_000 >= found["words"][-1]["end"]


def test_english_text_needs_nothing_but_the_bundle(directory: Path, tmp_path: Path) -> None:
    packages = ("misaki", "spacy", "phonemizer", "espeakng_loader", "torch", "kokoro")
    script = "import sys; sys.modules.update(dict.fromkeys(sys.argv.pop(1).split())); " + (
        "from runtime_min.speak_arguments import run; sys.exit(run(sys.argv[1:]))"
    )
    text = "On 3 May 2025 [Kokoro](/kˈOkəɹO/) read $4.50. 세계 isn’t."
    output = ("-o", str(tmp_path / "x.wav"), "--timings", str(tmp_path / "x.json"))
    done = run_python("-c", script, " ".join(packages), directory, "--text", text, *output)
    assert done.returncode == 0, done.stderr
    assert "text to phonemes: the bundle (en-us)" in done.stderr
    assert "warning: '세계' cannot be spoken" in done.stderr
    told = json.loads((tmp_path / "x.json").read_text("utf-8"))
    assert told["text"] == "On 3 May 2025 Kokoro read $4.50. 세계 isn’t."
    assert [word["text"] for word in told["words"]] == [
        "On", "3 May 2025", "Kokoro", "read", "$4.50", ".", "isn’t", ".",
    ]  # fmt: skip


def test_the_file_of_a_long_text_is_whole_and_its_header_true(directory: Path, tmp_path: Path) -> None:
    text = phonemes_of(515)
    (tmp_path / "in.txt").write_text(text, encoding="utf-8")
    output, timings = tmp_path / "x.wav", tmp_path / "x.json"
    fast = ("--speed", "4", "--no-stretch")
    options = ("--phonemes-file", tmp_path / "in.txt", *fast, "--format", "pcm16", "-o", output)
    done = run_python(*command(directory, *options, "--timings", timings)[1:])
    assert done.returncode == 0, done.stderr
    with wave.open(str(output)) as file:
        count = file.getnframes()
    assert output.stat().st_size == 44 + 2 * count
    tokens = json.loads(timings.read_text(encoding="utf-8"))["tokens"]
    assert "".join(token["text"] for token in tokens) == text
    assert 0 < count / 24_000 - tokens[-1]["end"] < 1
    assert done.stderr.count("%") > 2 and "100%" in done.stderr
    assert sorted(os.listdir(tmp_path)) == ["in.txt", "x.json", "x.wav"]


def test_audio_arrives_before_the_end_and_a_reader_that_leaves_ends_it(directory: Path) -> None:
    process = start(directory, "--phonemes", LONG, "-o", "-")
    assert process.stdout is not None and process.stderr is not None
    read, ended = len(process.stdout.read(4_000)), process.poll()
    process.stdout.close()
    told = process.stderr.read().decode()
    assert (read, ended, process.wait()) == (4_000, None, 6), told
    assert "closed by the program that reads it" in told
    assert "Traceback" not in told and "Exception ignored" not in told
    assert "100%" not in told


@pytest.mark.parametrize("request_to_end", [signal.SIGINT, signal.SIGTERM])
def test_a_command_that_is_stopped_leaves_the_earlier_file_and_nothing_else(
    directory: Path, tmp_path: Path, request_to_end: signal.Signals
) -> None:
    output = tmp_path / "x.wav"
    output.write_bytes(b"earlier")
    process = start(directory, "--phonemes", LONG, "-o", output)
    assert process.stderr is not None
    told = [process.stderr.readline()]
    while b"%" not in told[-1]:
        told.append(process.stderr.readline())
    process.send_signal(request_to_end)
    rest = process.stderr.read()
    assert process.wait() == 130
    assert rest.endswith(b"interrupted\n") and b"Traceback" not in rest
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == {"x.wav": b"earlier"}


def test_a_symbol_that_the_vocabulary_lacks_is_told_and_nothing_is_written(
    directory: Path, tmp_path: Path
) -> None:
    done = run_python(
        *command(directory, "--text", "Merhaba nasılsın", "--language", "tr", "-o", tmp_path / "x.wav")[1:]
    )
    assert done.returncode == 3, done.stderr
    assert "'ɫ' (U+026B)" in done.stderr and "nasılsın" in done.stderr
    assert os.listdir(tmp_path) == []


def test_the_voices_are_those_of_the_bundle(directory: Path, bundle: Bundle) -> None:
    done = run_python(*command(directory, "--list-voices")[1:])
    assert [line.split("\t")[0] for line in done.stdout.splitlines()] == list(bundle.voices)
    assert "ef_dora\tes\tfemale" in done.stdout
