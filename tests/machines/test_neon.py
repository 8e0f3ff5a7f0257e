"""The kernels for aarch64, under emulation: they pass the tests of x86-64's kernels, with the same bits."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from inspect import signature
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from exporter.compiler.kernels.tiles import tiles_of
from exporter.compiler.targets import find_target
from exporter.export.runtime_wheel import runtime_libraries
from tests.exporter.compiler.kernels import (
    test_adain,
    test_attention,
    test_conv1d,
    test_embedding,
    test_harmonic_source,
    test_layer_norm,
    test_lstm,
    test_phases,
    test_spectrum,
    test_vector_math,
    test_winograd,
    test_winograd_in_call,
)
from tests.support.emulation.machine import EmulatedMachine
from tests.support.kernels import guarded_memory, on_cpu
from tests.support.kernels.on_cpu import EmulatedLevel

TARGET = find_target("linux-aarch64")
(LEVEL,) = TARGET.levels
LONGEST = 640
"""Frames; emulation is a hundred times slower than the machine itself."""
CHECKS: tuple[Callable[..., None], ...] = (
    test_adain.test_the_map_is_kokoros_adain,
    test_adain.test_nothing_is_left_in_workspaces,
    test_attention.test_context_is_that_of_torch,
    test_attention.test_nan_left_in_workspaces_changes_no_bit,
    test_conv1d.test_result_is_that_of_torch_at_every_boundary,
    test_conv1d.test_the_order_of_axes_changes_no_bit,
    test_conv1d.test_nothing_is_left_in_workspaces,
    test_winograd_in_call.test_result_is_that_of_torch_at_every_boundary,
    test_embedding.test_columns_are_the_tokens_rows_plus_those_of_their_positions,
    test_harmonic_source.test_sines_differ_from_kokoro_by_the_last_bit_at_most,
    test_harmonic_source.test_an_utterance_begins_as_its_beginning_alone_does,
    test_layer_norm.test_result_is_that_of_torch,
    test_lstm.test_states_are_those_of_torch_over_a_packed_sequence,
    test_lstm.test_directions_mirror_each_other_to_the_bit,
    test_lstm.test_saturated_gates_give_finite_states,
    test_phases.test_interleaved_phases_are_the_transposed_convolution,
    test_phases.test_folded_phases_are_the_strided_convolutions_input,
    test_phases.test_upsampling_is_the_grouped_transposed_convolution,
    test_phases.test_halving_is_the_strided_convolution,
    test_spectrum.test_magnitudes_and_angles_are_those_of_torch,
    test_spectrum.test_angles_of_the_first_and_last_bin_are_zero_or_plus_pi,
    test_spectrum.test_audio_is_that_of_torch,
    test_vector_math.test_exponentials_are_within_a_few_ulp,
    test_vector_math.test_exponentials_saturate_and_keep_nan,
    test_vector_math.test_the_sine_of_snake_is_within_float32_noise,
    test_vector_math.test_atan2_equals_ieee_at_the_axes_and_at_extreme_values,
    test_winograd.test_result_is_that_of_torch_at_every_boundary,
    test_winograd.test_result_of_float16_factors_is_that_of_the_same_factors_in_float64,
    test_winograd.test_jobs_that_share_a_block_give_the_bits_of_jobs_that_do_not,
)
IN_MAKE_TEST = test_embedding.test_columns_are_the_tokens_rows_plus_those_of_their_positions
"""The cheapest check: what `make test` runs of this file."""


@pytest.fixture(scope="module", autouse=True)
def emulated(aarch64: EmulatedMachine) -> Iterator[None]:
    """Makes the level of aarch64 one that kernels can be built and called for."""
    serving = aarch64.serving(Path(guarded_memory.__file__), runtime_libraries(TARGET)["libtvm_runtime.so"])
    with serving as ask, pytest.MonkeyPatch.context() as patch:
        level = EmulatedLevel(TARGET, LEVEL, ask)
        patch.setitem(on_cpu.EMULATED, LEVEL.name, level.build)
        patch.setitem(on_cpu.TILES, LEVEL.name, tiles_of(LEVEL))
        patch.setattr(on_cpu, "LEVELS", ["x86-64-v3", LEVEL.name])
        yield


def arguments_of(check: Callable[..., None]) -> Iterator[dict[str, Any]]:
    """Yields the arguments with which pytest would call a test, except the level."""
    sets: list[list[dict[str, Any]]] = []
    for mark in getattr(check, "pytestmark", ()):
        names, values = mark.args
        names = [names] if isinstance(names, str) else list(names)
        if names != ["level"]:
            rows = [[value] if len(names) == 1 else value for value in values]
            sets.append([dict(zip(names, row, strict=True)) for row in rows])
    for chosen in product(*sets):
        merged = {name: value for part in chosen for name, value in part.items()}
        if merged.get("frames", 0) <= LONGEST:
            yield merged


@pytest.mark.parametrize(
    "check",
    [pytest.param(check, marks=() if check is IN_MAKE_TEST else pytest.mark.machines) for check in CHECKS],
    ids=lambda check: f"{check.__module__}.{check.__name__}",
)
def test_what_holds_on_x86_64_holds_on_aarch64_with_the_same_bits(check: Callable[..., None]) -> None:
    level = {"level": LEVEL.name} if "level" in signature(check).parameters else {}
    for arguments in arguments_of(check):
        check(**level, **arguments)
