"""The processes that the benchmark measures; engines here are fakes."""

from __future__ import annotations

import pytest

from exporter.measure import engine as inside
from exporter.measure import run
from exporter.measure.engine import BundleEngine, Spoken
from exporter.measure.engine_process import EngineProcess
from exporter.measure.fresh_process import EngineError, FreshProcess, call_fresh, environment
from exporter.measure.profile import RUNTIME, Watch, by_kernel
from exporter.measure.results import KernelTime, StreamTiming, Timing
from exporter.measure.soak import soak
from runtime_min.errors import UnknownVoiceError
from tests.support.fakes import engine as fake_engine

ENGINE = BundleEngine("no such bundle", "v3", "af_heart", 1)


def test_a_fresh_process_calls_functions_one_after_the_other_and_is_measured_alone():
    with FreshProcess("the fake", 1) as process:
        loaded = process.call(eval, "list(__import__('sys').modules)")
        assert not {"numpy", "typer", "rich", "exporter.errors", "runtime_min"} & set(loaded)
        process.call(fake_engine.load)
        spoken = process.call(inside.speak, "ə" * 7)
        assert spoken.samples == 700 and 0 < spoken.first <= spoken.seconds
        samples, durations = process.call(inside.voiced, "ə" * 7)
        assert (len(samples), len(durations)) == (700, 7)
        # Read first, because the process may still grow.
        resident = process.resident_memory()
        assert process.peak_memory() >= resident > 1 << 20
        assert process.resident_memory() > process.private_memory() > 1 << 20
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


def test_a_process_has_no_settings_of_threads_but_those_of_its_engine(monkeypatch):
    monkeypatch.setenv("OMP_WAIT_POLICY", "PASSIVE")
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    found = environment(2)
    assert "OMP_WAIT_POLICY" not in found and "OMP_NUM_THREADS" not in found
    assert found["TVM_NUM_THREADS"] == "2"


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
    assert kernels == (
        KernelTime("bert", "conv1d_8_8_1", "conv1d", (calls[0][1],) * 2, 0.501),
        KernelTime("bert", "vm.builtin.null_value", RUNTIME, ((),), 0.25),
    )


class FakeProcess:
    """Notes the length of every utterance; its memory grows with each."""

    def __init__(self, growth: int) -> None:
        self.lengths: list[int] = []
        self.growth = growth

    def speak(self, phonemes: str) -> Spoken:
        self.lengths.append(len(phonemes))
        return Spoken(0.1, 2.0, 24_000)

    def resident_memory(self) -> int:
        return 1_000_000 + self.growth * len(self.lengths)


def test_figures_are_those_of_the_rounds():
    rounds = [Spoken(0.1, 2.0, 24_000), Spoken(0.2, 3.0, 24_000)]
    assert run.timing("bundle", 2, 62, rounds) == Timing("bundle", 2, 62, 1.0, (2.0, 3.0))
    expected = StreamTiming("bundle", 5, 1.0, (0.1, 0.2), (2.0, 3.0), 7)
    assert run.stream_timing("bundle", "ə ə ə", rounds, 7) == expected


@pytest.mark.parametrize(("bytes_each", "flat"), [(0, True), (60_000, False)])
def test_memory_that_grows_with_every_utterance_is_found(bytes_each, flat):
    process, steps = FakeProcess(bytes_each), []
    found = soak(process, 100, (3, 40), "əks", steps.append)
    assert found.flat == flat
    assert found.growth == 90 * bytes_each
    assert len(process.lengths) == 100
    assert {length + 2 for length in process.lengths} <= set(range(3, 41))
    assert found.audio_seconds == 100
    assert len(steps) == len(found.samples) >= 20
