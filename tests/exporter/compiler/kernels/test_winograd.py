"""The Winograd kernel against torch's in float64, on each CPU level of this machine."""

import math
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tvm.script import tirx as T
from tvm.tirx import PrimFunc

from exporter.compiler.kernels import winograd
from exporter.compiler.kernels.convolution import Convolution
from exporter.compiler.kernels.function import kernel_function
from exporter.compiler.kernels.function import length as symbolic_length
from exporter.compiler.kernels.tiles import Tiles
from exporter.compiler.kernels.winograd_schemes import SCHEMES
from exporter.compiler.winograd_reference import stored_factors, winograd_convolution
from tests.exporter.compiler.kernels import test_conv1d
from tests.exporter.compiler.kernels.test_conv1d import random_arguments, torch_convolution
from tests.support.kernels.on_cpu import (
    LEVELS,
    TILES,
    assert_nothing_is_left_in_workspaces,
    assert_threads_change_no_bit,
    build,
    call,
    relative_error,
)

run = partial(test_conv1d.run, kernels=winograd)


def convolution(
    taps: int, dilation: int, out: int = 64, channels: int = 32, residuals: int = 0, scale: float = 1.0
) -> Convolution:
    return Convolution(
        out, channels, taps, dilation, dilation * (taps - 1) // 2, "adain_snake", residuals=residuals,
        scale=scale, reads_channels_last=True, writes_channels_last=True,
    )  # fmt: skip


# The generator's numbers of taps, its dilations, and its three ways to end.
SPECS = {
    f"{taps} taps, dilation {dilation}": convolution(taps, dilation, residuals=residuals, scale=scale)
    for taps, dilation, residuals, scale in (
        (3, 1, 0, 1.0), (3, 5, 2, 1 / 3), (7, 3, 1, 1.0), (11, 1, 1, 1.0), (11, 5, 0, 1.0),
    )
}  # fmt: skip
# The generator's last convolution.
SPECS["channels that no two jobs share, first in the output"] = replace(
    convolution(3, 1, out=32, channels=96), writes_channels_last=False
)
# The phases of an upsampler: one step more than there was.
SPECS["2 taps"] = Convolution(
    64, 32, 2, 1, 1, "leaky_relu", slope=0.1, reads_channels_last=True, writes_channels_last=True
)
SPECS["3 taps, two steps less"] = replace(convolution(3, 1), padding=0)
# Measured are 4.4e-6, 9.2e-6, 2.5e-5 and 2.1e-5; `conv1d` has 1e-6. More points save more products and add
# and subtract samples that are larger beside their result.
LIMITS = {2: 5.5e-6, 3: 1.15e-5, 7: 3.2e-5, 11: 2.7e-5}
every_spec = pytest.mark.parametrize("name", SPECS)


def block_of(spec: Convolution) -> int:
    """Time steps of a block, a transform for each phase of the dilation."""
    return SCHEMES[spec.taps].outputs * spec.dilation


def span_of(spec: Convolution) -> int:
    """Time steps of the longest job on the highest CPU level."""
    return block_of(spec) * winograd.blocks_of_job(spec, winograd.sizes(spec, TILES[LEVELS[-1]]))


def boundaries(spec: Convolution) -> list[int]:
    """The shortest lengths, and around edges of blocks, of groups of columns in registers and of jobs."""
    block, span = block_of(spec), span_of(spec)
    edges = {block, 2 * block, 4 * block, 8 * block, span - block, span, 2 * span, 3 * span, 4 * span}
    around = {edge + step for edge in edges for step in (-1, 0, 1)}
    return sorted({3, 4, 5, 6, 7, 16, 17, 5 * span + 3} | around)


@every_spec
def test_result_is_that_of_torch_at_every_boundary(name: str) -> None:
    spec = SPECS[name]
    for length in boundaries(spec):
        arguments = random_arguments(spec, length)
        expected = torch_convolution(spec, *arguments)
        assert relative_error(run(spec, *arguments), expected) <= LIMITS[spec.taps], length


@settings(max_examples=30)
@given(name=st.sampled_from(list(SPECS)), length=st.integers(3, 1500), seed=st.integers(0, 99))
def test_result_is_that_of_torch_at_any_length(name: str, length: int, seed: int) -> None:
    arguments = random_arguments(SPECS[name], length, seed)
    expected = torch_convolution(SPECS[name], *arguments)
    assert relative_error(run(SPECS[name], *arguments), expected) <= LIMITS[SPECS[name].taps]


@pytest.mark.parametrize(("taps", "dilation"), [(2, 1), (3, 5), (7, 3), (11, 1)])
@pytest.mark.parametrize("length", [3, 17, 400])
def test_result_of_float16_factors_is_that_of_the_same_factors_in_float64(
    taps: int, dilation: int, length: int
) -> None:
    padding = max(1, dilation * (taps - 1) // 2)
    spec = replace(convolution(taps, dilation), padding=padding, activation="none", weight_dtype="float16")
    arguments = random_arguments(spec, length)
    x, weight, bias = (torch.from_numpy(value.astype(np.float32)) for value in arguments[:3])
    factors = stored_factors(weight, lambda value: value.half())
    expected = winograd_convolution(x, factors, taps, padding, dilation) + bias[:, None]
    assert relative_error(run(spec, *arguments), expected.numpy()) <= LIMITS[taps]


@pytest.mark.parametrize(
    ("taps", "typical", "worst"), [(3, 1.2e-6, 1.3e-5), (7, 4e-6, 4.5e-5), (11, 2.7e-6, 3.8e-5)]
)
def test_as_many_products_as_the_generator_sums_stay_five_digits_exact(
    taps: int, typical: float, worst: float
) -> None:
    # Measured are 9.6e-7, 3.1e-6 and 2.1e-6 RMS, and 1.0e-5, 3.6e-5 and 3.0e-5 at the worst.
    spec = convolution(taps, 1, out=256, channels=256)
    arguments = random_arguments(spec, 700)
    expected = torch_convolution(spec, *arguments)
    values = run(spec, *arguments)
    assert relative_error(values, expected) <= worst
    assert np.sqrt(np.mean((values - expected) ** 2) / np.mean(expected**2)) <= typical


@every_spec
def test_jobs_that_share_a_block_give_the_bits_of_jobs_that_do_not(name: str) -> None:
    spec, block, span = SPECS[name], block_of(SPECS[name]), span_of(SPECS[name])
    x, *weights, residual, other = random_arguments(spec, 4 * span + 1)
    whole = run(spec, x, *weights, residual, other)
    # One job, whose output channels two threads share; then two jobs, and three that become four.
    for length in (2 * block + 1, span, span + 1, 2 * span + 5):
        beginning, *addends = (np.ascontiguousarray(value[..., :length]) for value in (x, residual, other))
        part = run(spec, beginning, *weights, *addends)
        # A transform rounds with all its samples: outputs of those that reach past the end may differ.
        same = (length + spec.growth - spec.padding) // block * block
        np.testing.assert_array_equal(part[:, :, :same], whole[:, :, :same])


@every_spec
def test_nothing_is_left_in_workspaces(name: str) -> None:
    for length in (3, 100, 4 * span_of(SPECS[name]) + 1):
        assert_nothing_is_left_in_workspaces(
            partial(run, SPECS[name]), *random_arguments(SPECS[name], length)
        )


@pytest.mark.parametrize(
    ("name", "stored"),
    [
        ("3 taps, dilation 5", "float32"),
        ("3 taps, dilation 5", "float16"),
        ("11 taps, dilation 1", "float32"),
    ],
)
@pytest.mark.parametrize("spans", [1, 2, 5])
def test_number_of_threads_changes_no_bit(name: str, spans: int, stored: str) -> None:
    spec = replace(SPECS[name], weight_dtype=stored)
    arguments = random_arguments(spec, spans * span_of(spec))
    assert_threads_change_no_bit(lambda: run(spec, *arguments))


@given(rows=st.integers(1, 24), columns=st.integers(1, 64), dilation=st.sampled_from([1, 3, 5]))
def test_a_job_is_of_about_the_chosen_columns_in_whole_register_tiles(
    rows: int, columns: int, dilation: int
) -> None:
    blocks = winograd.blocks_of_job(convolution(3, dilation), {"rows": rows, "columns": columns})
    smallest = math.lcm(rows, dilation)
    assert blocks * dilation % smallest == 0
    assert blocks * dilation == smallest or abs(blocks * dilation - columns) <= smallest / 2


JOBS = 200
"""The most jobs of a call of `bounds_of_jobs`."""


def emit_bounds(spec: Convolution, tiles: Tiles) -> PrimFunc:
    """A kernel that writes the first block of time of each job, then the number of blocks to the end."""

    @T.inline
    def body(x: Any, y: Any, n: Any) -> None:
        plan = T.alloc_buffer((5,), "int64", scope="global")
        winograd._emit_plan(spec, winograd.sizes(spec, tiles), plan, n)
        for job in T.serial(JOBS):
            y[job] = T.cast(winograd._first_block(plan, T.min(T.int64(job), plan[winograd._JOBS])), "float32")

    n = symbolic_length()
    return kernel_function(lambda **buffers: body(**buffers, n=n), {"x": (n,), "y": (JOBS,)})


@settings(max_examples=60)
@given(taps=st.sampled_from(list(SCHEMES)), dilation=st.sampled_from([1, 3, 5]), steps=st.integers(2, 20_000))
def test_two_threads_have_nearly_as_many_register_tiles(taps: int, dilation: int, steps: int) -> None:
    spec, level = convolution(taps, dilation), LEVELS[-1]
    chosen = winograd.sizes(spec, TILES[level])
    bounds = call(build(level, emit_bounds, spec, TILES[level]), (JOBS,), np.zeros(steps, np.float32))
    blocks = math.ceil((steps + spec.growth) / block_of(spec))
    jobs = np.diff(bounds[: int(np.argmax(bounds == blocks)) + 1]).astype(int)
    assert bounds[0] == 0 and bounds[-1] == blocks == jobs.sum()
    assert jobs.min() > 0 and jobs.max() <= winograd.blocks_of_job(spec, chosen)
    tiles = -(-jobs * dilation // chosen["rows"])
    half = -(-len(jobs) // 2)
    unit = max(1, winograd._whole_tiles(spec, chosen) * dilation // chosen["rows"])
    assert len(jobs) == 1 or tiles[:half].sum() - tiles[half:].sum() < 2 * unit
    # The last job alone, or few of them, may leave a part of a register tile empty.
    assert len(jobs) <= winograd.FEW or tiles.sum() == math.ceil(blocks * dilation / chosen["rows"])


@given(blocks=st.integers(1, 3), channels=st.integers(1, 5), taps=st.sampled_from(list(SCHEMES)))
def test_packing_transforms_taps_and_puts_blocks_of_output_channels_last(
    blocks: int, channels: int, taps: int
) -> None:
    scheme, out = SCHEMES[taps], blocks * winograd.BLOCK
    weight = np.random.default_rng(taps).standard_normal((out, channels, taps), np.float32)
    packed = winograd.pack_weight(weight)
    assert packed.shape == (blocks, scheme.products, channels, winograd.BLOCK)
    assert packed.flags.c_contiguous
    rows = packed.transpose(0, 3, 2, 1).reshape(out, channels, scheme.products)
    expected = weight.astype(np.float64) @ scheme.filter_transform.T
    # Sums may end half a unit apart, which BLAS adds in another order.
    np.testing.assert_allclose(rows, expected.astype(np.float32), rtol=2**-23, atol=0)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"out_channels": 48}, "whole blocks of 32 channels"),
        ({"in_channels": 16}, "whole blocks of 32 channels"),
        ({"reads_channels_last": False}, "channels last"),
    ],
)
def test_other_convolutions_are_refused(change: dict[str, int], message: str) -> None:
    with pytest.raises(ValueError, match=f"expected .*{message}, found Convolution"):
        winograd.convolution(replace(convolution(3, 1), **change), TILES[LEVELS[0]])
