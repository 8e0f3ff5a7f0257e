"""The competitors' processes; engines here are fakes."""

from __future__ import annotations

import json
import sys
import wave
from dataclasses import asdict

import numpy as np
import pytest

from benchmarks import engines
from benchmarks.competitors import Competitor
from benchmarks.competitors import __main__ as cold_start
from exporter.measure import engine as inside
from exporter.measure.engine import Piece
from exporter.measure.fresh_process import EngineError, FreshProcess

FAKE = Competitor("fake", "fake", 1, "af_heart", "af_heart.npy", "c", "d", 24_000)


def test_a_missing_package_is_named_before_anything_slow(monkeypatch):
    monkeypatch.setattr(engines, "find_spec", lambda name: None if name == "onnx" else object())
    with pytest.raises(engines.EngineMissingError, match=r"missing: onnx\. .*\[bench\]"):
        engines.check_installed()


def test_the_process_of_a_competitor_imports_nothing_of_the_product_but_the_protocol():
    with FreshProcess("the fake", 1) as process:
        with pytest.raises(EngineError, match=r"No module named 'benchmarks\.competitors\.fake'"):
            process.call(inside.load, FAKE)
        loaded = process.call(eval, "list(__import__('sys').modules)")
    ours = {name for name in loaded if name.split(".")[0] in ("benchmarks", "exporter", "runtime_min")}
    assert ours == {
        *("exporter", "exporter.measure", "exporter.measure.engine", "benchmarks", "benchmarks.competitors"),
    }
    assert not {"tvm", "tvm_ffi", "torch", "psutil", "rich"} & set(loaded)


def test_a_wav_of_a_cold_start_holds_the_samples(tmp_path, monkeypatch):
    class Fake:
        @staticmethod
        def load(competitor):
            return lambda phonemes: [Piece(np.array([0, 1, -2], np.float32), np.empty(0, np.int64))]

    monkeypatch.setitem(sys.modules, "benchmarks.competitors.fake", Fake)
    cold_start.main(json.dumps(asdict(FAKE)), "ə", str(tmp_path / "a.wav"))
    with wave.open(str(tmp_path / "a.wav")) as file:
        assert (file.getnchannels(), file.getframerate(), file.getnframes()) == (1, 24_000, 3)
        assert np.frombuffer(file.readframes(3), "<i2").tolist() == [0, 32767, -32767]
