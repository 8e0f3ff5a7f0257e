"""Every example runs as its first lines say."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import wave
from pathlib import Path

import pytest

from exporter.bundle.loudness import PHONEMES, loudness
from runtime_min import Bundle, Segment
from runtime_min.text import espeak
from tests.e2e.conftest import ROOT, environment

pytestmark = pytest.mark.e2e

EXAMPLES = ROOT / "examples"
HOLA = "¡Hola! ¿Qué tal?"


def run(name: str, *arguments: str | Path, place: Path, text: str = "") -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(EXAMPLES / name), *map(str, arguments)]
    # Ray keeps files in the user's directory, and reports its use over the network.
    changed = environment(HOME=str(place), RAY_USAGE_STATS_ENABLED="0")
    return subprocess.run(command, env=changed, cwd=place, input=text, capture_output=True, text=True)


def frames(path: Path) -> int:
    with wave.open(str(path)) as file:
        return file.getnframes()


def test_there_is_a_test_for_every_example() -> None:
    names = {path.name for path in EXAMPLES.glob("*.py")}
    # tests/kokoro_server/test_ray_serve.py runs these.
    served = {"serve_ray.py", "ask_again.py"}
    assert names == {"hello.py", "play.py", "dialogue.py", "audiobook.py", "batch_ray.py", *served}
    assert len((EXAMPLES / "hello.py").read_text(encoding="utf-8").splitlines()) <= 12


def test_an_app_in_ten_lines(directory: Path, tmp_path: Path) -> None:
    done = run("hello.py", directory, place=tmp_path)
    assert done.returncode == 0, done.stderr
    assert [line.split()[0] for line in done.stdout.splitlines() if line[0] != " "] == list("həlˈO,wˈɜɹld!")
    assert (tmp_path / "hello.wav").stat().st_size > 24_000


def test_a_player_gets_the_stream(directory: Path, bundle: Bundle, tmp_path: Path) -> None:
    player = (sys.executable, "-c", "import sys; open('played', 'wb').write(sys.stdin.buffer.read())")
    done = run("play.py", directory, "ef_dora", *player, place=tmp_path, text=HOLA)
    assert done.returncode == 0, done.stderr
    assert re.fullmatch(r"first audio after \d+\.\d+ s\n", done.stderr)
    expected = bundle.stream(HOLA, "ef_dora", g2p=espeak("es"), sentence_pause=0.2)
    assert (tmp_path / "played").read_bytes() == b"".join(piece.samples.tobytes() for piece in expected)


def test_the_speakers_of_a_dialogue_are_equally_loud(directory: Path, bundle: Bundle, tmp_path: Path) -> None:
    (tmp_path / "said.txt").write_text("A: Is it far?\n\nB: Not at all.\nA: Good.\n", encoding="utf-8")
    voices = ("af_heart", "am_adam")
    done = run("dialogue.py", directory, "said.txt", "out.wav", *voices, place=tmp_path)
    assert done.returncode == 0, done.stderr
    said = [Segment("Is it far?", voices[0]), Segment("Not at all.", voices[1]), Segment("Good.", voices[0])]
    expected = bundle.synthesize(said, trim=True, loudness=-18)
    with wave.open(str(tmp_path / "out.wav")) as file:
        assert file.readframes(file.getnframes()) == expected.pcm16()
    measured = {
        voice: loudness(bundle.synthesize(phonemes=PHONEMES, voice=voice, loudness=-30.0).samples)
        for voice in voices
    }
    assert all(found is not None and abs(found + 3_000) <= 5 for found in measured.values()), measured
    done = run("dialogue.py", directory, "said.txt", "out.wav", "af_heart", place=tmp_path)
    assert done.returncode == 1 and "2 speakers (A, B) need as many voices" in done.stderr


BOOK = "Prólogo.\n\nCapítulo uno\n\nHola. ¿Qué tal?\n\nCapítulo dos\n\nAdiós."


def test_an_audiobook_has_chapters_and_goes_on(directory: Path, tmp_path: Path) -> None:
    (tmp_path / "book.txt").write_text(BOOK, encoding="utf-8")
    options = (
        directory,
        "book.txt",
        "out",
        "--voice",
        "ef_dora",
        "--speed",
        "2",
        "--chapters",
        "^Capítulo .*",
    )
    done = run("audiobook.py", *options, place=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["001.wav: Prólogo.", "002.wav: Capítulo uno", "003.wav: Capítulo dos"]
    out = tmp_path / "out"
    assert "¿Qué tal?" in (out / "002.srt").read_text(encoding="utf-8")
    before = {path.name: path.stat().st_mtime_ns for path in out.iterdir()}
    # As if it had been stopped in the third chapter, after the second one was changed.
    (out / "003.wav").unlink()
    (tmp_path / "book.txt").write_text(BOOK.replace("Hola", "Hola hola"), encoding="utf-8")
    again = run("audiobook.py", *options, place=tmp_path)
    assert again.stdout.splitlines() == [
        "001.wav: there already", "002.wav: Capítulo uno", "003.wav: Capítulo dos"
    ]  # fmt: skip
    assert (out / "001.wav").stat().st_mtime_ns == before["001.wav"]
    assert (out / "002.wav").stat().st_mtime_ns != before["002.wav"]
    assert all(frames(out / f"00{number}.wav") > 6_000 for number in (1, 2, 3))
    wrong = run("audiobook.py", directory, "book.txt", "out", "--voice", "af_nobody", place=tmp_path)
    assert wrong.returncode == 1 and "no voice 'af_nobody'" in wrong.stderr
    assert "Traceback" not in wrong.stderr


# Ray.


def test_workers_of_ray_share_the_parameters(directory: Path, tmp_path: Path) -> None:
    spoken = ({"phonemes": "həlˈO!"}, {"text": "Hello!"})
    lines = [{"id": f"line{number}", "voice": "af_heart", **spoken[number % 2]} for number in range(6)]
    (tmp_path / "lines.jsonl").write_text(
        "".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8"
    )
    done = run("batch_ray.py", directory, "lines.jsonl", "out", "--workers", "2", place=tmp_path)
    assert done.returncode == 0, done.stderr
    names = {f"line{number}.wav" for number in range(6)}
    assert set(os.listdir(tmp_path / "out")) == names
    assert len({(tmp_path / "out" / name).read_bytes() for name in names}) == 1
    found = dict(re.findall(r"(\w+): .*= (\d+) MiB", done.stdout))
    assert len(set(re.findall(r"by process (\d+)", done.stdout))) == 2
    # Both processes have all pages, and together the cost of one; other processes of the tests share it too.
    assert int(found["parameters_rss"]) > 1.9 * (directory / "parameters.bin").stat().st_size / (1 << 20)
    assert int(found["parameters_pss"]) < 0.55 * int(found["parameters_rss"])
