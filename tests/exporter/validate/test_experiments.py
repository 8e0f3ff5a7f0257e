"""The experiments' verdicts, on a model of a few lines of numpy whose statistics over time padding spoils."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from exporter.compiler.library import StoredWeights
from exporter.compiler.targets import find_target
from exporter.reference.padded import TAILS, padded
from exporter.reference.traces import ModelInput
from exporter.reference.utterances import Utterance
from exporter.validate.experiments import crossed_decoders, prefix_f0n, sweep_buckets, tails
from exporter.validate.results import BUNDLE, DYNAMIC, STATIC
from exporter.validate.rounding_table import rounding_tables
from exporter.validate.utterance_runs import LOGITS_TAP, PREFIX, Executions, UtteranceRuns
from runtime_min.format.signatures import signatures
from runtime_min.model.distances import Figure

Arrays = dict[str, np.ndarray]
HIDDEN, STYLE, FRAMES, STATIC_FRAMES = 4, 2, 6, 24
RANDOM = np.random.default_rng(0)
ENCODING = RANDOM.standard_normal((1, HIDDEN, FRAMES)).astype(np.float32) + 3


def decode(inputs: Arrays) -> np.ndarray:
    """Audio [1, 600m] of an instance norm over time, and of everything else that a decoder takes."""
    normed = inputs["asr"] - inputs["asr"].mean(axis=2, keepdims=True)
    curves = (inputs["f0"] + inputs["energy"]).reshape(1, -1, 2).sum(axis=2)
    slow = normed.sum(axis=1) + curves + inputs["decoder_style"].sum()
    return np.repeat(slow, 600, axis=1) + inputs["noise"] * np.float32(0.01)


def judged_decoder(decibels: float) -> Figure:
    """The judged figure of the decoder on equal inputs."""
    return Figure("decoder, dB", decibels, 70, at_least=True)


def curves(encoding: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """F0 and N, each [1, 2m]."""
    normed = encoding - encoding.mean(axis=2, keepdims=True)
    return np.repeat(normed[:, 0], 2, axis=1), np.repeat(normed[:, 1], 2, axis=1)


class Kokoro:
    """Answers as `Reference` does."""

    def __init__(self, wrong_by: float = 0) -> None:
        self.wrong_by = np.float32(wrong_by)
        self.lengths: list[tuple[int, bool]] = []

    @contextmanager
    def tap(self, taps: list[str]) -> Iterator[dict[str, list[np.ndarray]]]:
        yield {LOGITS_TAP: [np.zeros((1, 3, 5))]}

    def decode(self, inputs: Arrays) -> Any:
        return SimpleNamespace(audio=decode(inputs))

    def static_decode(self, inputs: Arrays, frame_length: int, tail: str) -> Any:
        per_frame = {"asr": 1, "f0": 2, "energy": 2}
        long = {name: padded(inputs[name], n * frame_length, tail) for name, n in per_frame.items()}  # type: ignore[arg-type]
        noise = {"noise": padded(inputs["noise"], 600 * frame_length, "noise")}
        return SimpleNamespace(audio=decode({**inputs, **long, **noise})[:, : 600 * FRAMES])

    def static(self, request: ModelInput, text_length: int, frame_length: int, prefix_f0n: bool) -> Any:
        self.lengths.append((frame_length, prefix_f0n))
        found = curves(ENCODING if prefix_f0n else padded(ENCODING, frame_length))
        f0, energy = (curve[:, : 2 * FRAMES] + self.wrong_by for curve in found)
        inputs = {"asr": ENCODING, "f0": f0, "energy": energy, "decoder_style": STYLES, "noise": NOISE}
        audio = self.static_decode(inputs, frame_length, "zeros").audio
        return SimpleNamespace(asr=ENCODING, f0=f0, energy=energy, audio=audio)


STYLES = RANDOM.standard_normal((1, STYLE)).astype(np.float32)
NOISE = RANDOM.standard_normal((1, 600 * FRAMES)).astype(np.float32)
Decoder = Callable[[Arrays, int], np.ndarray]


class Runner:
    """Answers as the decoder's `StageRunner` does."""

    stage = SimpleNamespace(inputs=signatures(HIDDEN, STYLE)["decoder"].inputs)
    buckets = (8, 20, 32)

    def __init__(self, decoder: Decoder) -> None:
        self.decoder = decoder
        self.calls: list[Arrays] = []

    def choose_bucket(self, length: int) -> int:
        return min(bucket for bucket in self.buckets if bucket >= length)

    def run(self, inputs: Arrays, bucket: int | None = None) -> Arrays:
        frames = inputs["asr"].shape[2]
        for tensor in self.stage.inputs:
            assert inputs[tensor.name].shape == tensor.concrete(frames)
        self.calls.append(inputs)
        return {"audio": self.decoder(inputs, bucket or self.choose_bucket(frames))}


class SpeakingBundle:
    """Answers as `Bundle` does."""

    arithmetic = "float32"

    def __init__(self, decoder: Decoder) -> None:
        self.runner = Runner(decoder)

    def stage(self, name: str) -> Runner:
        return self.runner

    def trace(
        self, *utterance: Any, durations: np.ndarray, noise: np.ndarray, buckets: dict[str, int]
    ) -> Any:
        assert buckets["f0n"] == buckets["decoder"]
        f0, energy = curves(ENCODING)
        inputs = {"asr": ENCODING, "f0": f0, "energy": energy, "decoder_style": STYLES, "noise": noise}
        return SimpleNamespace(audio=self.runner.run(inputs, buckets["decoder"])["audio"])


def honest(inputs: Arrays, bucket: int) -> np.ndarray:
    """The same decoder with another rounding."""
    return (decode({name: array.astype(np.float64) for name, array in inputs.items()})).astype(np.float32)


def runs(
    decoder: Decoder = honest, kokoro: Kokoro | None = None, told: list[str] | None = None
) -> UtteranceRuns:
    f0, energy = curves(ENCODING)
    inputs = {"asr": ENCODING, "f0": f0, "energy": energy, "decoder_style": STYLES, "noise": NOISE}
    dynamic: Any = SimpleNamespace(
        asr=ENCODING, f0=f0, energy=energy, audio=decode(inputs), frames=np.array([1, 2, 3])
    )
    spoken: Any = SimpleNamespace(asr=ENCODING, f0=f0, energy=energy, noise=NOISE)
    bundle, answering = SpeakingBundle(decoder), SimpleNamespace(reference=kokoro or Kokoro())
    progress = (told if told is not None else []).append
    executions = Executions(bundle, answering, {}, 512, STATIC_FRAMES, progress)  # type: ignore[arg-type]
    request = ModelInput(np.array([0, 1, 0]), np.concatenate([STYLES, STYLES], axis=1))
    logits = np.zeros((1, 3, 5))
    return UtteranceRuns(executions, Utterance("a", "b"), request, spoken, dynamic.frames, dynamic, logits)


def test_with_an_equal_decoder_what_feeds_it_differs() -> None:
    table = crossed_decoders(runs(), judged_decoder(101))
    assert table.holds
    assert "what feeds the decoder" in table.conclusion
    assert [row[:2] for row in table.rows] == [
        (decoder, name) for name in (DYNAMIC, STATIC, BUNDLE) for decoder in ("bundle", "PyTorch")
    ]
    by_name = {row[:2]: row[2:] for row in table.rows}
    assert by_name["PyTorch", DYNAMIC][:2] == ("equal", 1)
    assert by_name["bundle", DYNAMIC][0] > 100
    for decoder in ("bundle", "PyTorch"):
        assert by_name[decoder, STATIC][0] < 30
        assert by_name[decoder, STATIC][2] > 100


@pytest.mark.parametrize(("factor", "snr"), [(1.01, 40), (np.nan, np.nan)])
def test_a_decoder_that_differs_on_equal_inputs_is_named(factor: float, snr: float) -> None:
    table = crossed_decoders(
        runs(lambda inputs, bucket: decode(inputs) * np.float32(factor)), judged_decoder(snr)
    )
    assert not table.holds
    assert "the decoder itself differs" in table.conclusion
    assert table.rows[table.marked or 0][:2] == ("bundle", DYNAMIC)


def test_the_deviation_of_f0_and_energy_collapses_without_padding() -> None:
    table = prefix_f0n(runs())
    assert "deviation collapses" in table.conclusion
    naive, prefix, alone = (row[1:] for row in table.rows)
    assert naive[0] < 30
    assert prefix[:2] == ("equal", "equal")
    assert naive[2] < prefix[2] < 30
    assert alone[2] == "equal"


def test_a_deviation_that_padding_did_not_cause_stays() -> None:
    assert "deviation does not collapse" in prefix_f0n(runs(kokoro=Kokoro(wrong_by=3))).conclusion


def test_a_bundle_that_reads_its_own_length_holds_under_every_tail() -> None:
    spoken = runs()
    table = tails(spoken, TAILS)
    assert table.holds
    assert [row[0] for row in table.rows] == list(TAILS)
    naive = [row[1] for row in table.rows]
    assert (naive[0], naive[3]) == ("equal", "not a number")
    assert max(naive[1:3]) < 40
    assert "the same to the bit" in table.conclusion


def test_the_tail_lies_in_the_memory_right_behind_each_input() -> None:
    spoken = runs()
    tails(spoken, ["nan"])
    runner: Any = spoken.executions.bundle.stage("decoder")
    _, filled, beside = runner.calls
    assert filled["asr"].shape[2] == runner.buckets[0]
    assert all(np.isnan(array).all() for array in filled.values())
    for array in beside.values():
        assert array.flags.c_contiguous
        assert array.ctypes.data % 64 == 0
        assert np.isnan(behind(array)).all()


def behind(array: np.ndarray) -> np.ndarray:
    """As many values as the array has, behind it."""
    longer = np.lib.stride_tricks.as_strided(array.reshape(-1), (2 * array.size,), (array.itemsize,))
    return longer[array.size :]


def test_a_bundle_that_reads_past_the_end_is_found() -> None:
    def decoder(inputs: Arrays, bucket: int) -> np.ndarray:
        # Only what `tails` lays out may be read there.
        known = inputs["asr"].base is not None and inputs["asr"].base.size >= 2 * inputs["asr"].size
        return honest(inputs, bucket) + (behind(inputs["asr"])[0] if known else np.float32(0))

    table = tails(runs(decoder), TAILS)
    assert not table.holds
    assert [row[2] for row in table.rows] == ["the same bits", *["other bits"] * 3]
    assert table.marked == 1
    assert "(repeat, noise, nan)" in table.conclusion


def test_a_bundle_that_keeps_what_was_in_its_pool_is_found() -> None:
    pool = np.zeros(1, np.float32)

    def decoder(inputs: Arrays, bucket: int) -> np.ndarray:
        audio = honest(inputs, bucket) + np.float32(0) * pool
        pool[:] = inputs["asr"][0, 0, 0]
        return audio

    table = tails(runs(decoder), ["zeros", "nan"])
    assert [row[2] for row in table.rows] == ["the same bits", "other bits"]
    assert not table.holds


def test_the_sweep_finds_the_bundle_flat_and_pt_static_falling(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("exporter.validate.experiments.SWEPT_BUCKETS", (4, 12, 48))
    told: list[str] = []
    kokoro = Kokoro()
    table = sweep_buckets(runs(kokoro=kokoro, told=told))
    sizes = [FRAMES, 8, 12, 20, STATIC_FRAMES]
    assert [row[0] for row in table.rows] == sizes
    assert [row[6] for row in table.rows] == [8, 8, 20, 20, 32]
    assert kokoro.lengths == [(size, prefix) for size in sizes for prefix in (False, True)]
    assert told[0] == f"{STATIC} at {FRAMES} frames"
    assert table.holds
    assert "falls from" in table.conclusion
    assert table.plot is not None and table.plot.logarithmic_x
    lines = {series.name: series for series in table.plot.series}
    assert lines[BUNDLE].x == tuple(sizes)
    assert len(set(lines[BUNDLE].y)) == 1
    # Without padding it is equal, which has no place on a scale of decibels.
    for name in (STATIC, PREFIX):
        assert lines[name].x == tuple(sizes[1:])
        assert lines[name].y == tuple(sorted(lines[name].y, reverse=True))


def test_a_bundle_that_changes_with_its_bucket_is_found() -> None:
    def decoder(inputs: Arrays, bucket: int) -> np.ndarray:
        return honest(inputs, bucket) * np.float32(1 + (bucket == 32) * 1e-6)

    table = sweep_buckets(runs(decoder))
    assert not table.holds
    assert "2 different results" in table.conclusion


def test_what_is_at_hand_is_not_computed_again() -> None:
    kokoro = Kokoro()
    spoken = runs(kokoro=kokoro)
    prefix_f0n(spoken)
    sweep_buckets(spoken)
    crossed_decoders(spoken, judged_decoder(101))
    assert len(kokoro.lengths) == len(set(kokoro.lengths))


def test_the_layer_that_rounding_harms_most_is_named() -> None:
    made = runs()
    kokoro: Any = made.executions.kokoro
    kokoro.stored = StoredWeights("float16")
    found = {f"decoder.decode.{number}": 50.0 + number for number in range(20)}
    kokoro.original = SimpleNamespace(rounded_layers=lambda request, stored: found)
    (table,) = rounding_tables(made)
    assert table.rows[0] == ("decoder.decode.0", 50.0) and len(table.rows) == 12
    assert "decoder.decode.0 most: its output is 50.0 dB" in table.conclusion
    assert "All other 19 layers" in table.conclusion


def test_layers_that_suffer_from_the_arithmetic_have_a_table_of_their_own() -> None:
    made = runs()
    kokoro, bundle = made.executions.kokoro, made.executions.bundle
    (level, *_) = find_target("linux-x86_64").arithmetic_levels
    kokoro.stored, bundle.arithmetic = StoredWeights("float16"), "bfloat16"  # type: ignore[misc]
    bundle.level = SimpleNamespace(name=level.name)  # type: ignore[misc]
    bundle.manifest = SimpleNamespace(target=SimpleNamespace(name="linux-x86_64"))  # type: ignore[misc]
    layers = {
        "float32": {"a.rounded": 60.0, "b.rounded": 70.0},
        "bfloat16": {"a.multiplied": 30.0, "b.rounded": 35.0, "a.rounded": 60.0},
    }
    kokoro.original = SimpleNamespace(  # type: ignore[misc]
        rounded_layers=lambda request, stored: layers[stored.arithmetic]
    )
    rounded, multiplied = rounding_tables(made)
    assert [row[0] for row in rounded.rows] == ["a.rounded", "b.rounded"]
    assert multiplied.rows == (("a.multiplied", 30.0), ("b.rounded", 35.0))
    assert "bfloat16 harms a.multiplied most" in multiplied.conclusion
