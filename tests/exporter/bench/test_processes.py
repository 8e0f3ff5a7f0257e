"""The processes that the benchmark measures; engines here are fakes."""

from __future__ import annotations

import sys
import wave

import numpy as np
import pytest

from exporter.bench import engine as inside
from exporter.bench import engines, streams
from exporter.bench.competitors import __main__ as cold_start
from exporter.bench.engine import Engine, Spoken
from exporter.bench.engines import EngineMissingError, EngineProcess, check_installed
from exporter.bench.fresh_process import EngineError, FreshProcess, call_fresh, environment
from exporter.bench.profile import Watch, by_kernel
from exporter.bench.results import ENGINES, KOKORO_ONNX, StreamTiming
from exporter.bench.soak import soak
from runtime_min.errors import UnknownVoiceError
from tests.support import fake_engine

ENGINE = Engine("bundle", 1, "b", "v3", "af_heart", "voices/af_heart.bin", 256, "c", "d", "e", 24_000)


def test_a_fresh_process_calls_functions_one_after_the_other_and_is_measured_alone():
    with FreshProcess("the fake", 1) as process:
        loaded = process.call(eval, "list(__import__('sys').modules)")
        assert not {"numpy", "typer", "rich", "exporter.errors", "runtime_min"} & set(loaded)
        process.call(fake_engine.load)
        spoken = process.call(inside.speak, "ə" * 7)
        assert spoken.samples == 700 and 0 < spoken.first <= spoken.seconds
        assert process.peak_memory() >= process.resident_memory() > 1 << 20
        before = process.cpu_seconds()
        assert process.cpu_seconds() >= before > 0


def test_an_error_in_a_process_keeps_its_exit_code_or_shows_where_it_was_raised():
    with pytest.raises(EngineError, match=r"the fake failed: .*nobody") as caught:
        call_fresh("the fake", 1, fake_engine.fail)
    assert caught.value.exit_code == UnknownVoiceError.exit_code
    with pytest.raises(EngineError, match=r"(?s)Traceback.*ValueError") as caught:
        call_fresh("the fake", 1, int, "no number")
    assert caught.value.exit_code == EngineError.exit_code


def test_the_output_of_a_process_that_dies_is_reported():
    with pytest.raises(EngineError, match="status 3: noise of a library"):
        call_fresh("the fake", 1, fake_engine.die)


def test_an_engine_that_cannot_be_loaded_ends_its_process():
    with pytest.raises(EngineError, match="bundle failed"):
        EngineProcess(ENGINE)


def test_competitors_run_with_their_makers_settings(monkeypatch):
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


def test_a_wav_of_a_cold_start_holds_the_samples(tmp_path, monkeypatch):
    class Competitor:
        @staticmethod
        def load(engine):
            return lambda phonemes: [np.array([0, 1, -2], np.float32)]

    monkeypatch.setitem(sys.modules, "exporter.bench.competitors.bundle", Competitor)
    cold_start.main(ENGINE.as_json(), "ə", str(tmp_path / "a.wav"))
    with wave.open(str(tmp_path / "a.wav")) as file:
        assert (file.getnchannels(), file.getframerate(), file.getnframes()) == (1, 24_000, 3)
        assert np.frombuffer(file.readframes(3), "<i2").tolist() == [0, 32767, -32767]


class Tensor:
    dtype = "float32"

    def __init__(self, *shape: int) -> None:
        self.shape = shape


def test_the_hook_notes_each_call_and_stops_its_time():
    calls = []
    watch = Watch(calls)
    tensors = Tensor(1, 8, 4), Tensor(1, 8, 1, 8), 7, Tensor(1, 8, 4)
    for _ in range(2):
        assert watch(None, "conv1d_8_8_1", True, None, *tensors) == 0
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


class FakeProcess:
    """Notes the name of the engine and the length of everything that it speaks; its memory grows."""

    def __init__(self, name: str, log: list[tuple[str, int]], growth: int = 0) -> None:
        self.name, self.log, self.growth = name, log, growth

    def __enter__(self):
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def speak(self, phonemes: str) -> Spoken:
        self.log.append((self.name, len(phonemes)))
        return Spoken(0.1, 2.0, 24_000)

    def resident_memory(self) -> int:
        return 1_000_000 + self.growth * len(self.log)

    peak_memory = resident_memory


def test_both_clients_stream_the_text_in_rotated_order_after_a_warm_up(monkeypatch):
    log: list[tuple[str, int]] = []
    monkeypatch.setattr(streams, "EngineProcess", lambda engine, stream: FakeProcess(engine.name, log))
    found = list(streams.time_streams(ENGINE, "ə" * 3_000, 2, lambda text: None))
    ours, theirs = ("bundle", 3_000), (KOKORO_ONNX, 3_000)
    assert log == [("bundle", 600), (KOKORO_ONNX, 600), ours, theirs, theirs, ours]
    assert [each.engine for each in found] == ["bundle", KOKORO_ONNX]
    assert found[0] == StreamTiming("bundle", 3_000, 1.0, (0.1, 0.1), (2.0, 2.0), 1_000_000)


@pytest.mark.parametrize(("bytes_each", "flat"), [(0, True), (60_000, False)])
def test_memory_that_grows_with_every_utterance_is_found(bytes_each, flat):
    log: list[tuple[str, int]] = []
    steps: list[str] = []
    found = soak(FakeProcess("bundle", log, bytes_each), 100, (3, 40), "əks", steps.append)
    assert found.flat == flat
    assert found.growth == 90 * bytes_each
    assert len(log) == 100
    assert {length + 2 for _, length in log} <= set(range(3, 41))
    assert found.audio_seconds == 100
    assert len(steps) == len(found.samples) >= 20
