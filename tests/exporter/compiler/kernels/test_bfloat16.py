"""The Winograd kernel with products of bfloat16 against the same arithmetic in float64."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from exporter.compiler.kernels import winograd
from exporter.compiler.kernels.convolution import Convolution
from exporter.compiler.kernels.tiles import tiles_of
from exporter.compiler.winograd_reference import stored_factors, winograd_convolution
from runtime_min.engine.machine import levels_that_run, this_machine
from runtime_min.model.distances import snr
from tests.exporter.compiler.kernels.test_conv1d import random_arguments
from tests.exporter.compiler.kernels.test_winograd import convolution
from tests.exporter.compiler.kernels.winograd_on_level import (
    TARGET,
    assert_every_workspace_is_written,
    assert_no_thread_changes_a_bit,
    run,
)

(LEVEL,) = (level for level in TARGET.arithmetic_levels if level.name == "x86-64-v4-bf16")
TILES = tiles_of(LEVEL)
pytestmark = pytest.mark.skipif(
    not levels_that_run([LEVEL], this_machine().features),
    reason=f"this processor does not run the CPU level {LEVEL.name}",
)
SHAPES = [(3, 1), (3, 5), (7, 3), (11, 1), (11, 5)]
LENGTHS = (3, 17, 64, 400, 1001)


def spec_of(taps: int, dilation: int, **changes: Any) -> Convolution:
    return replace(convolution(taps, dilation), activation="none", weight_dtype="float16", **changes)


def model(spec: Convolution, arguments: tuple[Any, ...]) -> np.ndarray:
    """The same with factors and samples rounded to bfloat16 and products and sums in float64."""
    x, weight, bias = (torch.from_numpy(value.astype(np.float32)) for value in arguments[:3])
    factors = stored_factors(weight, lambda value: value.half())
    halves = winograd_convolution(
        x, factors, spec.taps, spec.padding, spec.dilation, lambda values: values.to(torch.bfloat16)
    )
    return (halves + bias[:, None]).numpy()


@pytest.mark.parametrize(("taps", "dilation"), SHAPES)
def test_it_is_that_of_bfloat16_factors_and_samples(taps: int, dilation: int) -> None:
    spec = spec_of(taps, dilation)
    for length in LENGTHS:
        arguments = random_arguments(spec, length)
        expected = model(spec, arguments)
        found = run(spec, arguments, LEVEL)
        # A sample whose float32 is next to a tie of bfloat16's is rounded the other way now and then.
        assert snr(found, expected) > 60, length
        exact = run(spec, arguments, TARGET.levels[0])
        assert 25 < snr(found, exact) < 60, length


@pytest.mark.parametrize(("taps", "dilation"), SHAPES)
def test_the_number_of_threads_changes_no_bit(taps: int, dilation: int) -> None:
    assert_no_thread_changes_a_bit(spec_of(taps, dilation, residuals=1), LEVEL)


@pytest.mark.parametrize("taps", [3, 11])
def test_nothing_is_left_in_workspaces(taps: int) -> None:
    assert_every_workspace_is_written(spec_of(taps, 1), LEVEL)


def test_the_last_convolution_stays_float32() -> None:
    spec = replace(convolution(3, 1, out=32, channels=96), writes_channels_last=False)
    assert not winograd.rounds(spec, TILES)
    assert winograd.rounds(spec_of(3, 1), TILES)
    assert not winograd.rounds(spec_of(3, 1), tiles_of(TARGET.levels[0]))
