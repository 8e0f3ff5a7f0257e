"""Every example runs as its first lines say."""

from __future__ import annotations

import http.client
import json
import os
import re
import subprocess
import sys
import wave
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from runtime_min import Bundle
from runtime_min.output.wav import encode, wav_header
from runtime_min.text import espeak
from tests.e2e.conftest import ROOT, environment

pytestmark = pytest.mark.e2e

EXAMPLES = ROOT / "examples"
SPEECH = "/v1/audio/speech"
HOLA = {"model": "kokoro", "input": "¡Hola! ¿Qué tal?", "voice": "ef_dora", "response_format": "pcm"}


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
    assert names == {"hello.py", "play.py", "audiobook.py", "server.py", "batch_ray.py"}
    assert len((EXAMPLES / "hello.py").read_text(encoding="utf-8").splitlines()) <= 12


def test_an_app_in_ten_lines(directory: Path, tmp_path: Path) -> None:
    done = run("hello.py", directory, place=tmp_path)
    assert done.returncode == 0, done.stderr
    assert [line.split()[0] for line in done.stdout.splitlines() if line[0] != " "] == list("həlˈOwˈɜɹld!")
    assert (tmp_path / "hello.wav").stat().st_size > 24_000


def test_a_player_gets_the_stream(directory: Path, bundle: Bundle, tmp_path: Path) -> None:
    player = (sys.executable, "-c", "import sys; open('played', 'wb').write(sys.stdin.buffer.read())")
    done = run("play.py", directory, "ef_dora", *player, place=tmp_path, text=HOLA["input"])
    assert done.returncode == 0, done.stderr
    assert re.fullmatch(r"first audio after \d+\.\d+ s\n", done.stderr)
    expected = bundle.stream(HOLA["input"], "ef_dora", g2p=espeak("es"), sentence_pause=0.2)
    assert (tmp_path / "played").read_bytes() == b"".join(piece.samples.tobytes() for piece in expected)


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
    wrong = run("audiobook.py", directory, "book.txt", "out", "--voice", "nobody", place=tmp_path)
    assert wrong.returncode == 1 and "no voice 'nobody'" in wrong.stderr and "Traceback" not in wrong.stderr


# The service.


@pytest.fixture(scope="module")
def port(directory: Path) -> Iterator[int]:
    process = subprocess.Popen(
        [sys.executable, str(EXAMPLES / "server.py"), str(directory), "--port", "0"],
        env=environment(), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
    )  # fmt: skip
    assert process.stdout is not None
    yield int(process.stdout.readline().partition("127.0.0.1:")[2].partition("/")[0])
    process.terminate()
    process.wait()
    process.stdout.close()


@contextmanager
def answered(
    port: int, body: bytes, path: str = SPEECH, **headers: str
) -> Iterator[http.client.HTTPResponse]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    try:
        connection.request("POST", path, body, {"Content-Type": "application/json", **headers})
        yield connection.getresponse()
    finally:
        connection.close()


def asked(port: int, **changes: Any) -> tuple[int, bytes]:
    with answered(port, json.dumps({**HOLA, **changes}).encode()) as answer:
        return answer.status, answer.read()


def test_the_service_sends_chunks_as_they_are_spoken(port: int, bundle: Bundle) -> None:
    with answered(port, json.dumps({**HOLA, "response_format": "wav", "speed": 1.5}).encode()) as answer:
        assert (answer.status, answer.getheader("Content-Type")) == (200, "audio/wav")
        assert answer.getheader("Transfer-Encoding") == "chunked"
        content = answer.read()
    pieces = bundle.stream(HOLA["input"], "ef_dora", 1.5, g2p=espeak("es"), sentence_pause=0.2)
    spoken = b"".join(encode(piece.samples, "pcm16") for piece in pieces)
    assert content == wav_header(24_000, "pcm16", None) + spoken


def test_many_clients_share_a_bundle(port: int) -> None:
    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(lambda _: asked(port, input="Hola."), range(4)))
    assert {status for status, _ in answers} == {200}
    assert len(set(answers)) == 1 and len(answers[0][1]) > 10_000


@pytest.mark.parametrize(
    ("changes", "status", "parameter", "message"),
    [
        ({"response_format": "mp3"}, 400, "response_format", "expected one of wav, pcm, found 'mp3'"),
        ({"input": None}, 400, "input", "'input': found null"),
        ({"model": 5}, 400, "model", "found 5"),
        ({"speed": "fast"}, 400, "speed", "'speed'"),
        ({"speed": 9}, 400, None, "from 0.25 to 4, found 9"),
        ({"voice": "ef_nobody"}, 400, None, "no voice 'ef_nobody'"),
        ({"input": ""}, 400, None, "at least one phoneme"),
        ({"input": "a\ud800"}, 400, None, "not UTF-8"),
        ({"input": "x" * 70_000}, 413, None, "at most 65536 bytes"),
    ],
    ids=str,
)  # fmt: skip
def test_errors_have_openais_shape(
    port: int, changes: dict[str, Any], status: int, parameter: str | None, message: str
) -> None:
    found, content = asked(port, **changes)
    error = json.loads(content)["error"]
    assert (found, error["type"], error["param"]) == (status, "invalid_request_error", parameter)
    assert message in error["message"]


def test_what_is_no_request_is_refused_and_the_service_goes_on(port: int) -> None:
    for body, path, status in (
        (b"{", SPEECH, 400),
        (b"[]", SPEECH, 400),
        (b"[" * 60_000, SPEECH, 400),
        (b"{}", "/", 404),
    ):
        with answered(port, body, path) as answer:
            assert answer.status == status
            assert json.loads(answer.read())["error"]["message"]
    with answered(port, iter([b"{}"])) as answer:  # type: ignore[arg-type]  # sent in chunks
        assert answer.status == 411
    connection = http.client.HTTPConnection("127.0.0.1", port)
    connection.request("GET", SPEECH)
    assert json.loads(connection.getresponse().read())["error"]["type"] == "server_error"
    connection.close()
    # A client that leaves in the middle.
    with answered(port, json.dumps({**HOLA, "input": "Hola. " * 50}).encode()) as answer:
        assert len(answer.read(1_000)) == 1_000
    assert asked(port, input="Hola.")[0] == 200


# Ray.


def test_workers_of_ray_share_the_parameters(directory: Path, tmp_path: Path) -> None:
    lines = [{"id": f"line{number}", "phonemes": "həlˈO!", "voice": "af_heart"} for number in range(6)]
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
