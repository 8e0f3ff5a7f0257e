"""Operations and bytes of kernels: every family is counted, and convolutions as torch counts them."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from benchmarks.work import COUNTED, Work, work_of
from exporter.compiler import operators
from exporter.compiler.converters import OPERATORS
from exporter.compiler.kernels import conv1d, lstm, winograd
from exporter.compiler.kernels.winograd_schemes import SCHEMES
from exporter.measure.results import Tensors

TIME = 24


def torch_flop(function, *arguments, **options) -> int:
    with FlopCounterMode(display=False) as counter:
        function(*arguments, **options)
    return counter.get_total_flops()


def tensors(*shapes: tuple[int, ...]) -> Tensors:
    return tuple((shape, 4) for shape in shapes)


def call(*values: torch.Tensor) -> Tensors:
    return tuple((tuple(value.shape), value.element_size()) for value in values)


def test_every_kernel_of_the_exporter_is_counted():
    assert {kernel for row in OPERATORS.values() for kernel in row.kernels} <= COUNTED


def test_an_unknown_kernel_is_not_passed_over_in_silence():
    work = work_of("a_new_kernel_128_3", tensors((1, 8, TIME), (1, 8, TIME)))
    assert work.flop is None
    assert work.bytes == 2 * 8 * TIME * 4


def test_what_only_prepares_calls_is_no_work():
    for name in ("vm.builtin.alloc_storage", "vm.builtin.make_shape", "shape_func"):
        assert work_of(name, tensors((2,))) == Work(0, 0, 0)


def test_a_convolution_that_transforms_is_counted_as_a_direct_one_with_fewer_multiplications():
    for steps, products in ((24, 24 * 3), (60, 10 * 8)):
        shapes = tensors((1, 256, steps), (32, 256, 3, 32), *[(1,)] * 5, (1, 1024, steps))
        work = work_of("conv1d_256_1024_3", shapes)
        assert work.flop == 2 * 256 * 1024 * 3 * steps
        assert work.real_multiplications == 256 * 1024 * products


@pytest.mark.parametrize(("reads_last", "writes_last"), [(False, False), (False, True), (True, False)])
@pytest.mark.parametrize(
    ("channels", "out", "taps", "dilation"), [(16, 32, 1, 1), (10, 64, 3, 1), (8, 32, 7, 2)]
)
def test_a_direct_convolution_is_counted_as_torch_counts_it(
    channels, out, taps, dilation, reads_last, writes_last
):
    padding = dilation * (taps - 1) // 2
    x, plain = torch.zeros(1, channels, TIME), torch.zeros(out, channels, taps)
    packed = torch.from_numpy(conv1d.pack_weight(plain.numpy()))
    bias, empty = torch.zeros(out), torch.zeros(1)
    expected = torch_flop(torch.conv1d, x, plain, bias, 1, padding, dilation)
    x = x.mT if reads_last else x
    y = operators.fused_conv1d(
        x, packed, bias, padding, dilation, reads_channels_last=reads_last, writes_channels_last=writes_last
    )
    work = work_of(f"conv1d_{channels}_{out}_{taps}", call(x, packed, bias, *[empty] * 4, y))
    assert work.flop == expected
    assert work.real_multiplications == expected / 2
    assert work.bytes == 4 * (x.numel() + packed.numel() + out + 4 + y.numel())


@pytest.mark.parametrize("suffix", ["", "1", "12"])
@pytest.mark.parametrize(("taps", "dilation"), [(2, 1), (3, 1), (7, 3), (11, 5)])
def test_a_winograd_convolution_is_worth_the_direct_one_and_really_multiplies_less(taps, dilation, suffix):
    channels, out = 32, 64
    x, plain = torch.zeros(1, channels, 160), torch.zeros(out, channels, taps)
    packed = torch.from_numpy(winograd.pack_weight(plain.numpy()))
    rest = torch.zeros(out), torch.zeros(3, channels), torch.zeros(2, channels), *torch.zeros(2, 1)
    padding = dilation * (taps // 2)
    length = 160 + 2 * padding - dilation * (taps - 1)
    y = torch.zeros(1, length, out)
    expected = torch_flop(torch.conv1d, x, plain, None, 1, padding, dilation)
    work = work_of(f"winograd_{channels}_{taps}_{dilation}{suffix}", call(x.mT, packed, *rest, y))
    assert work.flop == expected
    scheme = SCHEMES[taps]
    transforms = math.ceil(length / scheme.outputs)
    assert work.real_multiplications == channels * out * scheme.products * transforms
    assert work.real_multiplications <= 0.62 * expected / 2


def test_adain_is_its_linear_layer_and_five_operations_a_sample():
    style, fc = torch.zeros(1, 32), torch.zeros(16, 32)
    expected = torch_flop(torch.nn.functional.linear, style, fc) + 5 * 8 * TIME
    arguments = tensors((1, 8, TIME), (1, 32), (16, 32), (16,), (8,), (8,), (3, 8))
    assert work_of("adain_affine4", arguments).flop == expected


def test_attention_is_counted_as_the_two_products_of_its_heads():
    heads, size = 4, 8
    query, value, scores = (torch.zeros(heads, TIME, columns) for columns in (size, size, TIME))
    expected = torch_flop(torch.bmm, query, query.mT) + torch_flop(torch.bmm, scores, value)
    arguments = tensors((1, 3 * heads * size, TIME), (1, heads * size, TIME))
    assert work_of("attention", arguments).flop == expected


def test_the_recurrence_is_a_product_of_all_weights_in_every_step():
    weight = np.zeros((64, 16), np.float32)
    packed = torch.from_numpy(lstm.pack_recurrent(weight, weight))
    gates, states = torch.zeros(1, 128, TIME), torch.zeros(1, 32, TIME)
    step = torch_flop(torch.mm, torch.zeros(64, 16), torch.zeros(16, 1))
    assert work_of("lstm", call(gates, packed, states)).flop == 2 * step * TIME


def test_a_pool_is_counted_as_torch_counts_it():
    x, weight = torch.zeros(1, 8, TIME), torch.zeros(8, 1, 3)
    expected = torch_flop(torch.conv_transpose1d, x, weight, None, 2, 1, 1, 8)
    arguments = tensors((1, 8, TIME), (3, 8), (8, 3), (8,), (1, 8, 2 * TIME))
    assert work_of("upsample_pool", arguments).flop == expected


def test_halving_is_counted_as_torch_counts_it():
    expected = torch_flop(torch.conv1d, torch.zeros(1, 1, 2 * TIME), torch.zeros(1, 1, 3), None, 2, 1)
    assert work_of("halve", tensors((1, 2 * TIME), (3,), (1,), (1, 1, TIME))).flop == expected


@pytest.mark.parametrize(
    ("name", "shapes", "flop"),
    [
        ("layer_norm1", ((1, 8, TIME), (8,), (8,), (1, 8, TIME)), 9 * 8 * TIME),
        ("adaptive_layer_norm", ((1, 8, TIME), (1, 16), (1, 8, TIME)), 9 * 8 * TIME),
        # Nine harmonics: 4 to interpolate, a sine, an amplitude, 2 for the weight; noise 2, bias, tanh.
        ("harmonic_source", ((1, 2), (9,), (1,), (1, 600), (1, 600)), 600 * (9 * 8 + 4)),
        # 11 complex bins of 20 taps, and of each bin 3 + 1 for the magnitude and one angle.
        ("source_spectrum", ((1, 600), (1, 22, 121)), 121 * (2 * 22 * 20 + 11 * 5)),
        ("inverse_stft", ((1, 24, 121), (1, 600)), 121 * (2 * 22 * 20 + 11 * 6)),
        ("interleave1", ((1, 4, 40), (1, 15, 8), (1, 15, 8)), 8 * 15),
        ("fold", ((1, 8, 15), (1, 40, 4)), 0),
        ("embedding", ((1, TIME), (178, 8), (512, 8), (1, 8, TIME)), 8 * TIME),
        ("embedding", ((1, TIME), (178, 8), (1,), (1, 8, TIME)), 0),
        ("fused_strided_slice_tir_sigmoid_sum", ((1, 56, TIME), (1, TIME)), 2 * 56 * TIME),
        ("concatenate1", ((1, 8, TIME), (1, 2, TIME), (1, 10, TIME)), 0),
        ("expand_dims", ((1, 8), (1, 8, 1)), 0),
        ("squeeze", ((1, 8, 1), (1, 8)), 0),
        ("fused_strided_slice_squeeze", ((1, 8, TIME), (1, TIME)), 0),
        ("fused_expand_dims_broadcast_to", ((1, 8, TIME), (1, 8, TIME, 2)), 0),
    ],
)
def test_other_kernels_are_counted_by_the_sample(name, shapes, flop):
    assert work_of(name, tensors(*shapes)).flop == flop


def test_of_a_table_only_the_rows_that_are_looked_up_are_touched():
    ids = ((1, TIME), 8)
    table, positions, output = tensors((178, 8), (512, 8), (1, 8, TIME))
    rows = 8 * TIME * 4
    assert work_of("embedding", (ids, table, positions, output)).bytes == TIME * 8 + 3 * rows
    assert work_of("embedding1", (ids, table, ((1,), 4), output)).bytes == TIME * 8 + 2 * rows
    assert work_of("fused_strided_slice_squeeze", tensors((1, 8, TIME), (1, TIME))).bytes == 2 * TIME * 4
