"""What happens between the benchmark and the processes that it measures; engines here are fakes."""

from __future__ import annotations

import io
import json
import sys
import time
import wave
from contextlib import AbstractContextManager

import numpy as np
import pytest
import typer
from hypothesis import given
from hypothesis import strategies as st

from exporter.bench import engines, streams
from exporter.bench.engines import (
    EngineError,
    EngineMissingError,
    EngineProcess,
    check_installed,
    environment,
)
from exporter.bench.profile import Watch, by_kernel
from exporter.bench.results import ENGINES, KOKORO_ONNX, StreamTiming
from exporter.bench.soak import soak
from exporter.bench.speakers import Engine
from exporter.bench.utterances import NothingToSayError, phonemes_of, text_of
from exporter.bench.worker import answer, memory, serve, write_pcm16
from exporter.cli import bench as cli
from runtime_min.errors import UnknownVoiceError
from tests.support.tiny_bundle import dummy_contents

ENGINE = Engine("bundle", 1, "b", "x86-64-v3", "af_heart", "voices/af_heart.bin", 256, "c", "d", "e")
KOKORO = "bdfɡhklmnpɹstwzðʃʤəɪiɛæʌɑɔuAIOWYɜŋ ˈˌ.,"


@given(st.integers(3, 512), st.integers(0, 3))
def test_an_utterance_has_exactly_as_many_tokens_as_asked_for(tokens, seed):
    said = phonemes_of(tokens, KOKORO, seed)
    assert len(said) == tokens - 2
    assert set(said) <= set(KOKORO)
    assert said == phonemes_of(tokens, KOKORO, seed)


@given(st.sets(st.sampled_from(KOKORO)))
def test_only_phonemes_of_the_vocabulary_are_spoken(vocabulary):
    if not vocabulary & set("əɪiɛæʌɑɔuAIOWY") and not vocabulary >= {"ɜ", "ɹ"}:
        with pytest.raises(NothingToSayError, match="vocabulary"):
            phonemes_of(12, vocabulary)
    else:
        assert set(phonemes_of(12, vocabulary)) <= vocabulary


def test_lengths_and_seeds_say_different_things():
    assert phonemes_of(62, KOKORO)[:10] != phonemes_of(200, KOKORO)[:10]
    assert phonemes_of(62, KOKORO, 1) != phonemes_of(62, KOKORO, 2)


@pytest.mark.parametrize("characters", [1, 50, 3_000])
def test_a_text_has_exactly_as_many_phonemes_as_asked_for_in_sentences_and_clauses(characters):
    text = text_of(characters, KOKORO)
    assert len(text) == characters and text.endswith(".")
    assert set(text) <= {*KOKORO, "?"}
    if characters == 3_000:
        assert text.count(". ") > 20 and text.count(", ") > 10


def test_what_streams_tells_when_its_first_piece_came():
    def pieces(phonemes: str):
        for phoneme in phonemes:
            time.sleep(0.01)
            yield silence(phoneme)

    _, told = served(lambda: pieces, {"speak": "əəə"})
    assert told["samples"] == 1800
    assert told["first"] < told["seconds"]


def silence(phonemes: str) -> np.ndarray:
    return np.zeros(600 * len(phonemes), np.float32)


def served(loading, *requests) -> list[dict]:
    lines = io.StringIO("".join(json.dumps(request) + "\n" for request in requests))
    answers = io.StringIO()
    serve(loading, lines, answers)
    return [json.loads(line) for line in answers.getvalue().splitlines()]


def test_a_worker_says_that_it_is_ready_and_then_answers():
    ready, spoken, resident = served(lambda: silence, {"speak": "əə"}, {"memory": "VmRSS"})
    assert ready == {"ready": True}
    assert spoken["samples"] == 1200
    assert spoken["seconds"] > 0
    assert resident["bytes"] > 1 << 20


def test_a_worker_answers_an_error_with_its_text_and_exit_code():
    def refuse(phonemes: str) -> np.ndarray:
        raise UnknownVoiceError("nobody", ["af_heart"])

    _, failed = served(lambda: refuse, {"speak": "ə"}, {"speak": "ə"})
    assert "nobody" in failed["error"] and failed["exit_code"] == UnknownVoiceError.exit_code

    def fail() -> None:
        raise RuntimeError("no engine")

    (failed,) = served(fail)
    assert "Traceback" in failed["error"] and failed["exit_code"] is None


def test_the_peak_of_the_memory_is_at_least_what_is_resident():
    assert memory("VmHWM") >= memory("VmRSS") > 0
    assert "bytes" in answer(silence, {"memory": "VmHWM"})


FAKE = """
import json, sys
from exporter.bench.worker import serve
import numpy as np
def loading():
    {loading}
    return lambda phonemes: np.zeros(100 * len(phonemes), np.float32)
print("noise of a library", file=sys.stderr)
serve(loading, sys.stdin, sys.stdout)
"""


def fake(loading: str = "pass") -> EngineProcess:
    return EngineProcess(ENGINE, [sys.executable, "-c", FAKE.format(loading=loading)])


def test_an_engine_in_a_process_speaks_and_ends():
    with fake() as process:
        seconds, samples = process.speak("ə" * 7)
        assert seconds > 0 and samples == 700
        assert process.memory("VmHWM") >= process.memory("VmRSS")
        before = process.cpu_seconds()
        assert process.cpu_seconds() >= before > 0
    assert process._process.returncode == 0


def test_an_engine_that_cannot_be_loaded_says_why():
    with pytest.raises(EngineError, match="no such weights"):
        fake("raise OSError('no such weights')")


def test_an_engine_that_dies_says_what_it_wrote_last():
    with pytest.raises(EngineError, match="status 3: noise of a library"):
        fake("sys.stderr.flush(); import os; os._exit(3)")


def test_the_exit_code_of_an_engines_error_is_kept():
    text = "from runtime_min.errors import UnknownVoiceError; raise UnknownVoiceError('x', ['y'])"
    with pytest.raises(EngineError) as caught:
        fake(text)
    assert caught.value.exit_code == UnknownVoiceError.exit_code


def test_peers_run_with_their_makers_settings(monkeypatch):
    monkeypatch.setenv("OMP_WAIT_POLICY", "PASSIVE")
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    found = environment(2)
    assert "OMP_WAIT_POLICY" not in found and "OMP_NUM_THREADS" not in found
    assert found["TVM_NUM_THREADS"] == "2"


def test_a_missing_engine_names_the_extra_and_the_choice_without_it(monkeypatch):
    monkeypatch.setattr(engines, "find_spec", lambda name: None)
    check_installed(("bundle", "pytorch"))
    with pytest.raises(EngineMissingError) as caught:
        check_installed(ENGINES)
    assert "kokoro-export[bench]" in str(caught.value)
    assert "--engines bundle,pytorch" in str(caught.value)
    with pytest.raises(EngineMissingError, match=r"kokoro-onnx .*kokoro_onnx.*without --stream"):
        check_installed(("bundle", KOKORO_ONNX))


def test_a_wav_of_a_cold_start_holds_the_samples(tmp_path):
    write_pcm16(str(tmp_path / "a.wav"), np.array([0, 1, -2], np.float32))
    with wave.open(str(tmp_path / "a.wav")) as file:
        assert (file.getnchannels(), file.getframerate(), file.getnframes()) == (1, 24_000, 3)
        assert np.frombuffer(file.readframes(3), "<i2").tolist() == [0, 32767, -32767]


def test_options_are_parsed_or_refused():
    assert cli.parse_engines("onnxruntime, bundle") == ("bundle", "onnxruntime")
    for text in ("", "pytorch", "bundle,tensorrt"):
        with pytest.raises(typer.BadParameter, match="expected bundle"):
            cli.parse_engines(text)
    assert cli.parse_range("3-200") == (3, 200)
    for text in ("200-3", "2-5", "3", "a-b", ""):
        with pytest.raises(typer.BadParameter, match="expected"):
            cli.parse_range(text)


class Tensor:
    dtype = "float32"

    def __init__(self, *shape: int) -> None:
        self.shape = shape


def test_the_hook_notes_each_call_and_stops_its_time():
    calls = []
    watch = Watch(calls)
    for _ in range(2):
        assert (
            watch(None, "conv1d_8_8_1", True, None, Tensor(1, 8, 4), Tensor(1, 8, 1, 8), 7, Tensor(1, 8, 4))
            == 0
        )
        assert watch(None, "conv1d_8_8_1", False, None) == 0
    watch(None, "vm.builtin.null_value", True, None)
    watch(None, "vm.builtin.null_value", False, None)
    assert calls[0] == ("conv1d_8_8_1", (((1, 8, 4), 4), ((1, 8, 1, 8), 4), ((1, 8, 4), 4)))
    assert len(watch.seconds) == 3 and min(watch.seconds) >= 0
    assert sum(watch.seconds) <= watch.last - watch.first
    kernels = by_kernel("bert", calls, [0.001, 0.5, 0.25])
    assert [(kernel.kernel, kernel.calls, kernel.seconds) for kernel in kernels] == [
        ("conv1d_8_8_1", 2, 0.501), ("vm.builtin.null_value", 1, 0.25)
    ]  # fmt: skip
    assert kernels[0].gflop == 2 * 2 * 8 * 8 * 4 / 1e9


class Streaming(AbstractContextManager["Streaming"]):
    """A process that streams, and remembers what."""

    def __init__(self, engine: Engine, said: list[tuple[str, int]]) -> None:
        self.engine, self.said = engine, said

    def __exit__(self, *_: object) -> None:
        pass

    def stream(self, phonemes: str) -> tuple[float, float, int]:
        self.said.append((self.engine.name, len(phonemes)))
        return 0.1, 2.0, 24_000

    def memory(self) -> int:
        return 5 << 20


def test_both_clients_stream_the_text_in_rotated_order_after_a_warm_up(monkeypatch):
    said: list[tuple[str, int]] = []
    monkeypatch.setattr(streams, "_process", lambda engine: Streaming(engine, said))
    found = list(streams.measure_streams(ENGINE, "ə" * 3_000, 2, lambda text: None))
    ours, theirs = ("bundle", 3_000), (KOKORO_ONNX, 3_000)
    assert said == [("bundle", 600), (KOKORO_ONNX, 600), ours, theirs, theirs, ours]
    assert [each.engine for each in found] == ["bundle", KOKORO_ONNX]
    assert found[0] == StreamTiming("bundle", 3_000, 1.0, (0.1, 0.1), (2.0, 2.0), 5 << 20)


class Growing:
    """A process whose memory grows with every utterance."""

    def __init__(self, bytes_each: int) -> None:
        self.spoken: list[str] = []
        self.bytes_each = bytes_each

    def speak(self, phonemes: str) -> tuple[float, int]:
        self.spoken.append(phonemes)
        return 0.0, 600

    def memory(self, field: str = "VmRSS") -> int:
        return 1_000_000 + self.bytes_each * len(self.spoken)


@pytest.mark.parametrize(("bytes_each", "flat"), [(0, True), (60_000, False)])
def test_memory_that_grows_with_every_utterance_is_found(bytes_each, flat):
    process, told = Growing(bytes_each), []
    found = soak(process, 100, 3, 40, lambda tokens, seed: "ə" * tokens, 24_000, told.append)
    assert found.flat == flat
    assert found.growth == 90 * bytes_each
    assert len(process.spoken) == 100
    assert {len(said) for said in process.spoken} <= set(range(3, 41))
    assert found.audio_seconds == 100 * 600 / 24_000
    assert len(told) == len(found.samples) >= 20


def test_a_bundle_that_cannot_speak_is_refused_before_anything_is_measured(tmp_path):
    from typer.testing import CliRunner

    from exporter.bundle.write import write_bundle
    from exporter.cli.main import app

    bundle = tmp_path / "bundle"
    write_bundle(bundle, dummy_contents(tmp_path / "parts", ("bert",)))
    run = CliRunner().invoke(app, ["bench", str(bundle), "--engines", "bundle"])
    assert run.exit_code == 3
    assert "partial bundle" in run.output
