"""The reference is kokoro itself: its parts, run on what was recorded, give what the whole gave."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from exporter.compiler.library import StoredWeights
from exporter.errors import ReferenceProcessError
from exporter.model.checkpoint import Checkpoint
from exporter.reference.process import Reference, perturb
from exporter.reference.traces import ReferenceTrace
from runtime_min.model.distances import relative_rms, snr
from tests.exporter.conftest import NOISE, REQUEST, STYLE, TOKENS
from tests.support.forked_kokoro import forking
from tests.support.stored_reference import asking_kokoro

ROUNDED = StoredWeights("float16")


@pytest.fixture(scope="module")
def rounded(loaded: Checkpoint) -> Iterator[Reference]:
    """Kokoro with rounded weights."""
    with asking_kokoro((loaded.path, loaded.config_path), ROUNDED, threads=1) as kokoro:
        yield kokoro.reference


def test_every_intermediate_has_the_shape_of_its_length(trace: ReferenceTrace) -> None:
    n, m = len(TOKENS), int(trace.frames.sum())
    assert {name: value.shape for name, value in vars(trace).items()} == {
        "hidden": (1, 512, n),
        "encoding": (1, 640, n),
        "durations": (1, n),
        "frames": (n,),
        "text": (1, 512, n),
        "aligned_encoding": (1, 640, m),
        "asr": (1, 512, m),
        "f0": (1, 2 * m),
        "energy": (1, 2 * m),
        "decoder_hidden": (1, 512, 2 * m),
        "sines": (1, 600 * m, 9),
        "source": (1, 600 * m),
        "magnitude": (1, 11, 120 * m + 1),
        "phase": (1, 11, 120 * m + 1),
        "audio": (1, 600 * m),
    }
    assert all(value.dtype == np.float32 for name, value in vars(trace).items() if name != "frames")


def test_the_alignment_is_what_joins_the_recorded_parts(trace: ReferenceTrace) -> None:
    np.testing.assert_array_equal(trace.frames, np.maximum(np.rint(trace.durations[0]), 1))
    np.testing.assert_array_equal(trace.asr, np.repeat(trace.text, trace.frames, axis=2))
    np.testing.assert_array_equal(trace.aligned_encoding, np.repeat(trace.encoding, trace.frames, axis=2))


def test_the_parts_on_what_was_recorded_give_what_the_whole_gave(
    reference: Reference, trace: ReferenceTrace
) -> None:
    decoder_style, prosody_style = STYLE[:, :128], STYLE[:, 128:]
    noise = NOISE(trace.audio.size)
    f0, energy = reference.f0n(trace.aligned_encoding, prosody_style)
    np.testing.assert_array_equal(f0, trace.f0)
    np.testing.assert_array_equal(energy, trace.energy)
    inputs = {"asr": trace.asr, "f0": f0, "energy": energy, "decoder_style": decoder_style, "noise": noise}
    decoded = reference.decode(inputs)
    for name, value in vars(decoded).items():
        np.testing.assert_array_equal(value, getattr(trace, name), err_msg=name)
    source = reference.source(f0, noise)
    for name, value in vars(source).items():
        np.testing.assert_array_equal(value, getattr(trace, name), err_msg=name)
    silent = inputs | {"noise": np.zeros_like(noise)}
    given = reference.decode(silent, (trace.magnitude, trace.phase))
    np.testing.assert_array_equal(given.audio, trace.audio, "the generator reads the given spectrum")
    assert relative_rms(reference.decode(silent).audio, trace.audio) > 0.05


def test_it_is_kokoros_own_forward_pass(
    loaded: Checkpoint, trace: ReferenceTrace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Expected values from unmodified kokoro, run in this process with the same noise."""
    weight = loaded.model.decoder.generator.m_source.l_linear.weight[0].double()
    channels = (weight / weight.norm()).float()
    original = torch.randn_like

    def randn_like(like: Any) -> Any:
        if like.shape[2] == 1:
            return original(like)
        return torch.from_numpy(NOISE(like.shape[1])).reshape(1, -1, 1) * channels

    monkeypatch.setattr(torch, "randn_like", randn_like)
    tokens, style = torch.from_numpy(TOKENS)[None], torch.from_numpy(STYLE)
    audio, frames = loaded.model.forward_with_tokens(tokens, style, 1.0)
    np.testing.assert_array_equal(frames.numpy(), trace.frames)
    # The two processes may divide the work among other numbers of threads.
    assert relative_rms(audio.numpy()[None], trace.audio) < 0.02


def test_the_same_request_gives_the_same_bits(live: Reference, trace: ReferenceTrace) -> None:
    again = live.speak(REQUEST)
    for name, value in vars(again).items():
        np.testing.assert_array_equal(value, getattr(trace, name), err_msg=name)


def test_durations_can_be_forced_and_nothing_before_them_changes(
    reference: Reference, trace: ReferenceTrace
) -> None:
    wanted = np.array([1, 2, 3, 1, 70, 1, 2, 1, 1])
    forced = reference.speak(replace(REQUEST, durations=wanted))
    np.testing.assert_array_equal(forced.frames, wanted)
    for name in ("hidden", "encoding", "durations", "text"):
        np.testing.assert_array_equal(getattr(forced, name), getattr(trace, name))
    same = reference.speak(replace(REQUEST, durations=trace.frames))
    np.testing.assert_array_equal(same.audio, trace.audio)


def test_speed_divides_the_unrounded_durations(reference: Reference, trace: ReferenceTrace) -> None:
    fast = reference.speak(replace(REQUEST, speed=2.0))
    np.testing.assert_array_equal(fast.durations, trace.durations)
    np.testing.assert_array_equal(fast.frames, np.maximum(np.rint(trace.durations[0] / np.float32(2)), 1))


def test_the_noise_is_the_given_one(loaded: Checkpoint, reference: Reference, trace: ReferenceTrace) -> None:
    silent = reference.source(trace.f0, np.zeros(trace.audio.size, np.float32))
    noise = NOISE(trace.audio.size)
    noisy = reference.source(trace.f0, noise)
    np.testing.assert_array_equal(silent.sines, noisy.sines)
    weight = loaded.model.decoder.generator.m_source.l_linear.weight
    voiced = np.repeat(trace.f0, 300) > 10
    amplitude = np.where(voiced, 0.003, 0.1 / 3) * float(weight.norm())
    added = np.arctanh(noisy.source[0].astype(np.float64)) - np.arctanh(silent.source[0].astype(np.float64))
    np.testing.assert_allclose(added, amplitude * noise, atol=1e-6)


def test_a_tap_records_what_flows_and_changes_no_number(live: Reference, trace: ReferenceTrace) -> None:
    joint = "output:predictor.text_encoder.lstms.1", "input:predictor.text_encoder.lstms.1"
    layer = "output:bert.encoder.albert_layer_groups.0.albert_layers.0"
    curve, entrance = "output:predictor.F0_proj", "input:decoder"
    with live.tap([*joint, layer, curve, entrance, "output:predictor.shared", "output:bert"]) as tapped:
        again = live.speak(REQUEST)
    for name, value in vars(again).items():
        np.testing.assert_array_equal(value, getattr(trace, name), err_msg=name)
    n, m = len(TOKENS), int(trace.frames.sum())
    assert [value.shape for name in joint for value in tapped[name]] == [(1, n, 512)] * 2
    assert len(tapped[layer]) == 12
    assert len({value.tobytes() for value in tapped[layer]}) == 12
    np.testing.assert_array_equal(tapped[layer][-1], tapped["output:bert"][0])
    np.testing.assert_array_equal(tapped[curve][0][:, 0], trace.f0)
    np.testing.assert_array_equal(tapped[entrance][0], trace.asr)
    assert tapped["output:predictor.shared"][0].shape == (1, m, 512)


def test_every_request_fills_the_taps_anew(live: Reference, trace: ReferenceTrace) -> None:
    decoder, curve = "output:decoder.encode", "output:predictor.F0.1"
    with live.tap([decoder, curve]) as tapped:
        live.f0n(trace.aligned_encoding, STYLE[:, 128:])
        assert (len(tapped[decoder]), len(tapped[curve])) == (0, 1)
        curves = {"asr": trace.asr, "f0": trace.f0, "energy": trace.energy}
        noise = NOISE(trace.audio.size)
        live.decode({**curves, "decoder_style": STYLE[:, :128], "noise": noise})
        assert (len(tapped[decoder]), len(tapped[curve])) == (1, 0)
    live.f0n(trace.aligned_encoding, STYLE[:, 128:])
    assert (len(tapped[decoder]), len(tapped[curve])) == (1, 0)


def test_a_tap_on_durations_sees_the_predicted_ones(live: Reference, trace: ReferenceTrace) -> None:
    with live.tap(["output:predictor.duration_proj"]) as tapped:
        live.speak(replace(REQUEST, durations=np.ones(len(TOKENS), np.int64)))
    (logits,) = tapped["output:predictor.duration_proj"]
    np.testing.assert_array_equal(torch.from_numpy(logits).sigmoid().sum(axis=2), trace.durations)


@pytest.mark.parametrize(
    ("tap", "complaint"),
    [
        ("output:decoder.decode.7", "found 'output:decoder.decode.7'"),
        ("decoder", "expected output:PATH or input:PATH"),
        ("output:predictor.text_encoder.lstms.0", "lstms.0, found PackedSequence"),
        ("input:predictor.text_encoder.lstms.0", "lstms.0, found PackedSequence"),
    ],
)
def test_what_cannot_be_tapped_is_an_error(live: Reference, tap: str, complaint: str) -> None:
    with live.tap([tap]) as tapped, pytest.raises(ReferenceProcessError, match=complaint):
        live.text(REQUEST)
    assert not any(tapped.values())
    assert live.text(REQUEST).hidden.shape == (1, 512, len(TOKENS))


def test_the_number_of_threads_is_that_of_a_process_started_with_it(
    loaded: Checkpoint, live: Reference, trace: ReferenceTrace
) -> None:
    with forking():
        two = Reference(loaded.path, loaded.config_path, threads=2)
    with two:
        expected = two.speak(REQUEST)
        two.thread_count = 1
        np.testing.assert_array_equal(two.speak(REQUEST).audio, trace.audio)
    found = with_threads(live, 2).speak(REQUEST)
    np.testing.assert_array_equal(found.audio, expected.audio)
    with pytest.raises(ReferenceProcessError, match="expects a positive integer"):
        with_threads(live, 0).speak(REQUEST)
    np.testing.assert_array_equal(live.speak(REQUEST).audio, trace.audio)


def with_threads(reference: Reference, count: int) -> Reference:
    """The same model in the same process, with another number of threads."""
    other = reference.other()
    other.thread_count = count
    return other


def test_a_refused_request_is_an_error_and_the_process_lives_on(
    live: Reference, trace: ReferenceTrace
) -> None:
    with pytest.raises(ReferenceProcessError, match="expected 600 numbers of noise, found 7"):
        live.source(trace.f0[:, :2], np.zeros(7, np.float32))
    assert live.source(trace.f0[:, :2], np.zeros(600, np.float32)).source.shape == (1, 600)


def test_a_static_length_that_does_not_fit_is_an_error(live: Reference, trace: ReferenceTrace) -> None:
    tokens, frames = len(TOKENS), int(trace.frames.sum())
    refused = pytest.raises
    few = f"at most {tokens - 1} tokens, the static length, found {tokens}"
    with refused(ReferenceProcessError, match=few):
        live.static(REQUEST, tokens - 1, frames)
    few = f"at most {frames - 1} frames, the static length, found {frames}"
    with refused(ReferenceProcessError, match=few):
        live.static(REQUEST, tokens, frames - 1)
    curves = {"asr": trace.asr, "f0": trace.f0, "energy": trace.energy}
    inputs = {**curves, "decoder_style": STYLE[:, :128], "noise": NOISE(trace.audio.size)}
    with refused(ReferenceProcessError, match=few):
        live.static_decode(inputs, frames - 1)


def test_a_process_that_cannot_load_is_an_error(loaded: Checkpoint) -> None:
    with forking():
        unloadable = Reference(loaded.config_path, loaded.config_path)
    with unloadable:
        with pytest.raises(ReferenceProcessError, match="Traceback"):
            unloadable.text(REQUEST)
        with pytest.raises(ReferenceProcessError, match="ended"):
            unloadable.text(REQUEST)


def test_rounded_weights_take_every_stage_a_little_away(
    live: Reference, rounded: Reference, trace: ReferenceTrace
) -> None:
    inputs = {"asr": trace.asr, "f0": trace.f0, "energy": trace.energy, "decoder_style": STYLE[:, :128]}
    text = rounded.text(REQUEST)
    f0, _ = rounded.f0n(trace.aligned_encoding, STYLE[:, 128:])
    audio = rounded.decode(inputs | {"noise": NOISE(trace.audio.size)}).audio
    for name in ("hidden", "encoding", "text"):
        assert 55 < snr(getattr(text, name), getattr(trace, name)) < 85, name
    assert 55 < snr(f0, trace.f0) < 85
    assert 43 < snr(audio, trace.audio) < 60
    layers = live.rounded_layers(REQUEST, ROUNDED)
    assert list(layers.values()) == sorted(layers.values())
    assert min(layers.values()) > 45
    expected = {"bert_encoder", "predictor.lstm", "predictor.F0_proj", "decoder.generator.ups.1"}
    assert expected < layers.keys()
    assert "decoder.generator.m_source.l_linear" not in layers
    np.testing.assert_array_equal(live.speak(REQUEST).audio, trace.audio, "no hook stays")


def test_float64_is_near_float32_until_the_phase(live: Reference, trace: ReferenceTrace) -> None:
    exact = live.other("float64").speak(replace(REQUEST, durations=trace.frames))
    assert all(value.dtype == np.float64 for name, value in vars(exact).items() if name != "frames")
    for name in ("hidden", "encoding", "durations", "text", "f0", "energy", "decoder_hidden"):
        assert relative_rms(getattr(trace, name), getattr(exact, name)) < 1e-5, name
    np.testing.assert_array_equal(live.speak(REQUEST).audio, trace.audio, "each model has its own type")


def test_perturbing_changes_by_the_relative_size_and_by_the_seed() -> None:
    values = np.linspace(100, 200, 10_000, dtype=np.float32)[None]
    changed = perturb(values, 1e-3, seed=1)
    assert changed.dtype == np.float32
    assert 0.9e-3 < relative_rms(changed, values) < 1.1e-3
    np.testing.assert_array_equal(changed, perturb(values, 1e-3, seed=1))
    assert relative_rms(changed, perturb(values, 1e-3, seed=2)) > 1e-3


def test_the_spread_is_the_real_models(reference: Reference, trace: ReferenceTrace) -> None:
    """With F0 changed by 1e-6 relative, about 41 dB are left."""
    inputs = {"asr": trace.asr, "f0": trace.f0, "energy": trace.energy, "decoder_style": STYLE[:, :128]}
    inputs["noise"] = NOISE(trace.audio.size)
    changed = (inputs | {"f0": perturb(trace.f0, 1e-6, seed)} for seed in range(8))
    distances = [relative_rms(reference.decode(each).audio, trace.audio) for each in changed]
    assert 10 ** (-47 / 20) < np.median(distances) < 10 ** (-37 / 20)
