"""The GPU's smaller kernels against the operators that they stand for, and its functions against numpy."""

from collections.abc import Callable

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from tvm.script import tirx as T
from tvm.tirx import PrimFunc

from exporter.compiler import operators
from exporter.compiler.kernels.gpu import device_math, embedding, layer_norm, lstm, phases, spectrum
from exporter.compiler.kernels.gpu.limits import launches
from exporter.compiler.kernels.lstm import pack_recurrent
from runtime_min.model.distances import snr
from tests.exporter.compiler.kernels.test_layer_norm import random_input
from tests.exporter.compiler.kernels.test_lstm import random_layer, torch_lstm
from tests.exporter.compiler.kernels.test_phases import STRIDES, pool_arguments, random_signal
from tests.exporter.compiler.kernels.test_spectrum import generator_output, torch_inverse
from tests.support.kernels.on_cpu import Array, relative_error
from tests.support.kernels.on_gpu import Gpu, every_device

pytestmark = pytest.mark.machines

# Around the threads of a block, half of them, and the shortest.
LENGTHS = [2, 3, 63, 64, 65, 127, 128, 255, 256, 257, 600]
NORM_LIMIT = 3e-6
"""Measured are 2.0e-6 with the divisions and roots of fast math, 1.2e-6 without."""


def expect(operator: Callable[..., Tensor], *arguments: object) -> Array:
    """The output of an operator for arrays and numbers."""
    tensors = (torch.from_numpy(value) if isinstance(value, np.ndarray) else value for value in arguments)
    return operator(*tensors).contiguous().numpy()


@every_device
@pytest.mark.parametrize(("stride", "padding", "reflect"), STRIDES)
def test_interleaving_only_moves_and_adds(
    device: str, stride: int, padding: int, reflect: bool, gpu: Gpu
) -> None:
    for length in (2, 3, 43, 64, 100):
        parts, addend = random_signal(length + 1, stride * 4), random_signal(length * stride + reflect, 4)
        options = (stride, padding, reflect)
        expected = expect(operators.interleave, parts, addend, *options)
        y = gpu.call(device, addend.shape, (parts, addend), phases.interleave, 4, *options)
        np.testing.assert_array_equal(y, expected)


@every_device
def test_folding_only_moves(device: str, gpu: Gpu) -> None:
    for length in LENGTHS:
        x = random_signal(4, 6 * length + 1)
        y = gpu.call(device, (1, 24, length + 1), (x,), phases.fold, 4, 6, 3, 1)
        np.testing.assert_array_equal(y, expect(operators.fold, x, 6, 3))


@every_device
def test_upsampling_is_the_operators(device: str, gpu: Gpu) -> None:
    for length in LENGTHS:
        arguments = pool_arguments(length)
        y = gpu.call(device, (1, 4, 2 * length), arguments, phases.upsample_pool, 4, 0.2)
        expected = expect(operators.upsample_pool, *(value.astype(np.float64) for value in arguments), 0.2)
        assert relative_error(y, expected) <= 1e-6


@every_device
def test_halving_is_the_operators(device: str, gpu: Gpu) -> None:
    for length in LENGTHS:
        x = random_signal(1, 2 * length)[0]
        arguments = (x, random_signal(1, 3)[0, 0], random_signal(1, 1)[0, 0])
        expected = expect(operators.halve, *(value.astype(np.float64) for value in arguments))
        y = gpu.call(device, (1, 1, length), arguments, phases.halve)
        assert relative_error(y, expected) <= 1e-6


@every_device
@pytest.mark.parametrize("frames", [3, 4, 17])
@pytest.mark.parametrize("channels", [22, 24])
def test_audio_is_that_of_torch(device: str, frames: int, channels: int, gpu: Gpu) -> None:
    x = generator_output(frames, channels)
    x[:, 22:] = np.nan
    reference = torch_inverse(x)
    audio = gpu.call(device, reference.shape, (x,), spectrum.inverse_stft, channels)
    assert snr(audio, reference) > 125
    assert np.max(np.abs(reference - audio)) < 5e-6


@settings(max_examples=20)
@given(spectra=st.integers(3, 200))
def test_audio_is_that_of_torch_at_any_length(gpu: Gpu, spectra: int) -> None:
    x = np.ascontiguousarray(generator_output(3)[:, :, :spectra])
    reference = torch_inverse(x)
    assert snr(gpu.call("cuda", reference.shape, (x,), spectrum.inverse_stft, 22), reference) > 125


def test_fewer_channels_than_bins_are_an_error() -> None:
    with pytest.raises(ValueError, match="at least 22 channels, found 21"):
        spectrum.inverse_stft(21)


@every_device
@pytest.mark.parametrize("positions", [0, 600])
def test_columns_are_the_tokens_rows_plus_those_of_their_positions(
    device: str, positions: int, gpu: Gpu
) -> None:
    random = np.random.default_rng(positions)
    table, places = random.standard_normal((11, 6), np.float32), random.standard_normal((600, 6), np.float32)
    for length in LENGTHS:
        token_ids = random.integers(0, 11, (1, length))
        arguments = (token_ids, table, places if positions else np.zeros(1, np.float32))
        y = gpu.call(device, (1, 6, length), arguments, embedding.embedding, 11, 6, positions)
        expected = expect(operators.token_embedding, token_ids, table, *((places,) if positions else ()))
        np.testing.assert_array_equal(y, expected)


# Fast math may add up a mean and its correction, which costs digits of large means.
@pytest.mark.parametrize(("device", "mean"), [("metal", 0), ("cuda", 0), ("cuda", 1000)])
@pytest.mark.parametrize("slope", [None, 0.2])
def test_layer_norm_is_the_operators(device: str, slope: float | None, mean: float, gpu: Gpu) -> None:
    for length in (2, 3, 31, 32, 33, 100):
        x, *affine = random_input(517, length)
        x = x + np.float32(mean)
        exact = (value.astype(np.float64) for value in (x, *affine))
        expected = expect(operators.channel_norm, *exact, 1e-5, slope)
        y = gpu.call(
            device, x.shape, (x, *affine), layer_norm.layer_norm, 517, epsilon=1e-5, leaky_slope=slope
        )
        assert relative_error(y, expected) <= NORM_LIMIT


@every_device
def test_adaptive_layer_norm_is_the_operators(device: str, gpu: Gpu) -> None:
    for length in (2, 3, 31, 32, 33, 100):
        x, gamma, beta = random_input(512, length)
        arguments = (x, np.concatenate([gamma, beta])[None])
        exact = (value.astype(np.float64) for value in arguments)
        expected = expect(operators.adaptive_channel_norm, *exact, 1e-5)
        y = gpu.call(device, x.shape, arguments, layer_norm.adaptive_layer_norm, 512, epsilon=1e-5)
        assert relative_error(y, expected) <= NORM_LIMIT


@every_device
@pytest.mark.parametrize(("hidden", "length"), [(32, 2), (32, 17), (256, 3), (256, 62)])
def test_states_are_those_of_torch_over_a_packed_sequence(
    device: str, hidden: int, length: int, gpu: Gpu
) -> None:
    gates, forward, backward = random_layer(hidden, length)
    arguments = (gates, pack_recurrent(forward, backward))
    y = gpu.call(device, (1, 2 * hidden, length), arguments, lstm.bidirectional_lstm, hidden)
    assert relative_error(y, torch_lstm(gates, forward, backward)) <= 2e-6


@pytest.mark.parametrize("hidden", [0, 24, 272])
def test_hidden_units_that_a_block_does_not_hold_are_refused(hidden: int) -> None:
    with pytest.raises(ValueError, match=f"{hidden}"):
        lstm.bidirectional_lstm(hidden)


@pytest.mark.parametrize(
    "kernel",
    [
        phases.interleave(4, 6, 3, True),
        phases.fold(4, 6, 3, 1),
        phases.upsample_pool(4, 0.2),
        phases.halve(),
        spectrum.inverse_stft(24),
        embedding.embedding(11, 6, 0),
        lstm.bidirectional_lstm(256),
        layer_norm.layer_norm(512, epsilon=1e-5),
        layer_norm.adaptive_layer_norm(512, epsilon=1e-5),
    ],
    ids=str,
)
def test_every_kernel_keeps_to_the_limits(kernel: PrimFunc) -> None:
    (launch,) = launches(kernel)
    assert launch.fits()


def apply(name: str) -> PrimFunc:
    function = getattr(device_math, name)
    scalars = (T.float32(3), T.float32(1 / 3)) if name == "snake" else ()

    @T.prim_func(private=True, s_tir=True)
    def apply(x_handle: T.handle, y_handle: T.handle) -> None:
        T.func_attr({"tirx.noalias": True})
        n = T.int64()
        x = T.match_buffer(x_handle, (n,), "float32")
        y = T.match_buffer(y_handle, (n,), "float32")
        for block in T.thread_binding(T.floordiv(n + 255, 256), thread="blockIdx.x"):
            for thread in T.thread_binding(256, thread="threadIdx.x"):
                if block * 256 + thread < n:
                    y[block * 256 + thread] = function(x[block * 256 + thread], *scalars)

    return apply


def gelu(x: Array) -> Array:
    return x / (1 + np.exp(-2 * np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))


FUNCTIONS: dict[str, tuple[Callable[[Array], Array], float, float, bool]] = {
    "exp": (np.exp, 87, 4e-7, True),
    "sigmoid": (lambda x: 1 / (1 + np.exp(-x)), 80, 6e-7, True),
    "tanh": (np.tanh, 20, 4e-7, True),
    "gelu_new": (gelu, 10, 2e-6, False),
    "sin": (np.sin, 5000, 2e-7, False),
    "cos": (np.cos, 5000, 2e-7, False),
    "snake": (lambda x: x + np.sin(3 * x) ** 2 / 3, 50, 5e-6, False),
}
"""The exact function, the largest argument, the allowed error, and whether that is relative."""


@every_device
@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_survive_fast_math(device: str, name: str, gpu: Gpu) -> None:
    function, largest, limit, relative = FUNCTIONS[name]
    random = np.random.default_rng(0)
    x = np.concatenate([np.linspace(-largest, largest, 100_001), random.uniform(-2, 2, 10_000), [0]])
    x = x.astype(np.float32)
    expected = function(x.astype(np.float64))
    error = np.abs(gpu.call(device, x.shape, (x,), apply, name) - expected)
    assert np.max(error / np.maximum(np.abs(expected), 1e-38) if relative else error) <= limit


@every_device
def test_exp_stops_at_the_ends_of_its_range(device: str, gpu: Gpu) -> None:
    x = np.array([-1e30, -500, -87, 88, 500, 1e30], np.float32)
    y = gpu.call(device, x.shape, (x,), apply, "exp")
    np.testing.assert_allclose(y, np.exp([-87, -87, -87, 88, 88, 88]), rtol=1e-6)
