"""The distance of an engine's speech from PyTorch's, with fake engines."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.quality import Heard, quality
from exporter.measure.engine import Piece

FRAME = 600
SPEECH = np.random.default_rng(0).normal(size=(40, FRAME)).astype(np.float32)


class Fake:
    """Speaks frames of the same speech, each time with other noise of its level."""

    def __init__(self, noise: float, durations: list[int]) -> None:
        self.noise, self.durations = noise, np.array(durations)
        self.random = np.random.default_rng(int(1e6 * noise))

    def voiced(self) -> Piece:
        frames = [
            SPEECH[10 * token + frame] for token, count in enumerate(self.durations) for frame in range(count)
        ]
        samples = np.concatenate(frames)
        return Piece(samples + self.noise * self.random.normal(size=samples.size), self.durations)


def test_an_engine_is_compared_where_both_speak_and_moved_durations_are_counted():
    engines = {
        "pytorch": Fake(0.02, [10, 10, 10, 10]),
        "bundle": Fake(0.019, [10, 10, 10, 10]),
        "onnxruntime-int8": Fake(0.2, [10, 9, 10, 7]),
    }
    heard = [
        Heard(engines["pytorch"].voiced(), {name: each.voiced() for name, each in engines.items()})
        for _ in range(2)
    ]
    found = {each.engine: each for each in quality(heard)}
    assert found["pytorch"].log_mel == 1
    assert found["bundle"].log_mel == pytest.approx(1, abs=0.1)
    assert found["onnxruntime-int8"].log_mel > 2
    assert [each.moved for each in found.values()] == [0, 0, 0.5]
