"""pt.static differs from kokoro by its padding and by nothing else."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from exporter.reference.padded import TAILS, padded, padding
from exporter.reference.process import Reference
from exporter.reference.traces import ReferenceTrace
from runtime_min.model.distances import snr
from tests.exporter.conftest import NOISE, REQUEST, STYLE, TOKENS

N = len(TOKENS)
TEXT = ("hidden", "encoding", "text")


@pytest.fixture(scope="module")
def frames(trace: ReferenceTrace) -> int:
    return int(trace.frames.sum())


@pytest.fixture(scope="module")
def doubled(reference: Reference, trace: ReferenceTrace, frames: int) -> ReferenceTrace:
    """As much padding as speech."""
    return reference.static(replace(REQUEST, durations=trace.frames), 2 * N, 2 * frames)


def decode(reference: Reference, trace: ReferenceTrace, length: int, **tail: str) -> np.ndarray:
    curves = {"asr": trace.asr, "f0": trace.f0, "energy": trace.energy}
    inputs = {**curves, "decoder_style": STYLE[:, :128], "noise": NOISE(trace.audio.size)}
    return reference.static_decode(inputs, length, **tail).audio  # type: ignore[arg-type]


@pytest.mark.parametrize("packing", [True, False])
@pytest.mark.parametrize("prefix_f0n", [True, False])
def test_without_padding_it_is_kokoro(
    reference: Reference, trace: ReferenceTrace, frames: int, packing: bool, prefix_f0n: bool
) -> None:
    same = reference.static(REQUEST, N, frames, packing, prefix_f0n)
    for name, value in vars(same).items():
        np.testing.assert_array_equal(value, getattr(trace, name), err_msg=name)
    np.testing.assert_array_equal(decode(reference, trace, frames), trace.audio)


def test_every_array_is_the_valid_prefix(trace: ReferenceTrace, doubled: ReferenceTrace) -> None:
    for name, value in vars(doubled).items():
        expected = getattr(trace, name)
        assert (value.shape, value.dtype) == (expected.shape, expected.dtype), name
    np.testing.assert_array_equal(doubled.frames, trace.frames)


def test_packed_text_is_kokoros_and_text_over_padding_is_not(
    reference: Reference, trace: ReferenceTrace, doubled: ReferenceTrace, frames: int
) -> None:
    for name in TEXT:
        assert snr(getattr(doubled, name), getattr(trace, name)) > 100, name
    # Kokoro's last recurrent layer before the durations is never packed.
    assert snr(doubled.durations, trace.durations) < 80
    loose = reference.static(replace(REQUEST, durations=trace.frames), 2 * N, frames, packing=False)
    assert snr(loose.hidden, trace.hidden) > 100
    for name in ("encoding", "text"):
        assert snr(getattr(loose, name), getattr(trace, name)) < 60, name
        differences = np.abs(getattr(loose, name) - getattr(trace, name)).max(axis=(0, 1))
        assert differences[-1] > differences[0], name
    again = reference.speak(REQUEST)
    np.testing.assert_array_equal(again.encoding, trace.encoding)


def test_f0_and_energy_of_the_prefix_are_kokoros_and_the_audio_is_not(
    reference: Reference, trace: ReferenceTrace, doubled: ReferenceTrace, frames: int
) -> None:
    prefix = reference.static(replace(REQUEST, durations=trace.frames), 2 * N, 2 * frames, prefix_f0n=True)
    for name in ("f0", "energy"):
        assert snr(getattr(doubled, name), getattr(trace, name)) < 20, name
        assert snr(getattr(prefix, name), getattr(trace, name)) > 100, name
    assert snr(prefix.audio, trace.audio) < 20
    np.testing.assert_array_equal(
        decode(reference, prefix, 2 * frames), prefix.audio, "the padding is zeros, as static's is"
    )


def test_its_decoder_hears_what_stands_past_the_end(
    reference: Reference, trace: ReferenceTrace, frames: int
) -> None:
    heard = [decode(reference, trace, frames + 9, tail=tail) for tail in TAILS]
    assert len({audio.tobytes() for audio in heard}) == len(TAILS)
    np.testing.assert_array_equal(heard[0], decode(reference, trace, frames + 9))
    assert [bool(np.isfinite(audio).all()) for audio in heard] == [tail != "nan" for tail in TAILS]


def test_padding_has_the_kind_asked_for() -> None:
    values = np.arange(6, dtype=np.float32).reshape(1, 2, 3)
    assert not padding(values, 4, "zeros").any()
    assert np.isnan(padding(values, 4, "nan")).all()
    np.testing.assert_array_equal(padding(values, 2, "repeat"), [[[2, 2], [5, 5]]])
    noise = padding(values, 10_000, "noise")
    np.testing.assert_allclose(np.square(noise).mean(), np.square(values).mean(), rtol=0.05)
    assert all(padding(values, 4, tail).dtype == np.float32 for tail in TAILS)
    np.testing.assert_array_equal(padded(values, 3, "nan"), values)
    np.testing.assert_array_equal(padded(values, 4)[..., :3], values)
