"""Weights are stored in a bundle's precision, and kokoro itself can compute with the same numbers."""

from copy import deepcopy
from functools import cache
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from exporter.compiler.kernels import winograd
from exporter.compiler.kernels.int8_weights import expand, quantise, summed_together
from exporter.compiler.kernels.winograd_schemes import SCHEMES
from exporter.compiler.kokoro_model import build_model, model_without_weights
from exporter.compiler.library import StoredWeights
from exporter.compiler.operators import unpacked
from exporter.compiler.precision import (
    PRECISIONS,
    PrecisionError,
    check_device,
    round_as_stored,
    rounded,
)
from exporter.compiler.stages import make_stage
from exporter.compiler.stages.audio import Upsampler
from exporter.compiler.stages.layers import BidirectionalLstm, Conv, WinogradConv, effective_weight, is_large
from exporter.compiler.winograd_reference import (
    StoredConv1d,
    StoredConvTranspose1d,
    stored_factors,
    winograd_convolution,
)
from exporter.model.config import OFFICIAL_CONFIG
from runtime_min.format.signatures import STAGE_NAMES, stage_names
from runtime_min.model.distances import snr
from tests.support.tiny.config import small_config


def half(value: torch.Tensor) -> torch.Tensor:
    return rounded(value, "float16", "of a test")


CONFIG = small_config()
CONFIG["istftnet"]["upsample_initial_channel"] = 128
"""A model of few layers, with as few channels as Winograd's kernels compute."""


@cache
def kokoro() -> Any:
    model = build_model(CONFIG)
    for module in model.modules():
        if hasattr(module, "weight_v"):
            # torch refuses to copy a tensor that was computed from parameters.
            module.weight = module.weight.detach()
    return model


@pytest.fixture
def model() -> Any:
    return kokoro()


@cache
def rounded_kokoro(*stored: Any) -> Any:
    """A copy of kokoro whose weights are rounded as `StoredWeights(*stored)`."""
    reference = deepcopy(kokoro())
    round_as_stored(reference, StoredWeights(*stored))
    return reference


@pytest.mark.parametrize("direct", [False, True])
def test_an_arithmetic_changes_the_generators_convolutions_alone(direct: bool) -> None:
    halves, exact = rounded_kokoro("float16", False, "bfloat16", direct), rounded_kokoro("float16")
    changed = 0
    for (name, module), other in zip(halves.named_modules(), exact.modules(), strict=True):
        if isinstance(module, StoredConv1d):
            channels = module.stored.factors.shape[1 if direct else 2]
            x = torch.randn(1, channels, 50, generator=torch.Generator().manual_seed(0))
            distance = snr(module(x).detach().numpy(), other(x).detach().numpy())
            assert 25 < distance < 60, name
            changed += 1
    assert changed > 10
    for (name, value), other in zip(halves.named_parameters(), exact.parameters(), strict=True):
        torch.testing.assert_close(value, other, rtol=0, atol=0, msg=name)


def test_a_stage_stores_what_rounded_kokoro_computes_with(model: Any) -> None:
    reference = rounded_kokoro("float16", True)
    for stage in stage_names(separate_source=True):
        found = make_stage(stage, model, True, "float16").named_parameters()
        expected = dict(make_stage(stage, reference, True).named_parameters())
        for name, value in found:
            assert value.dtype == (torch.float16 if is_large(value) else torch.float32), name
            torch.testing.assert_close(value.float(), expected[name].data, rtol=0, atol=0, msg=name)


@pytest.mark.parametrize("stage", STAGE_NAMES)
def test_a_weight_in_int8_is_that_of_rounded_kokoro(model: Any, stage: str) -> None:
    reference, made = rounded_kokoro("int8", True), make_stage(stage, model, True, "int8")
    stored = {path: module for path, module in made.named_modules() if isinstance(module, Conv)}
    exact = dict(make_stage(stage, reference, True).named_modules())
    small = {path for path, module in stored.items() if module.weight_scales is not None}
    assert len(small) == {"bert": 0, "duration": 2, "text_encoder": 2, "f0n": 15, "decoder": 15}[stage]
    for path, module in stored.items():
        assert module.weight.dtype == (torch.int8 if path in small else torch.float16), path
        assert unpacked(module.weight, module.weight_scales).equal(unpacked(exact[path].weight)), path


def test_an_lstms_directions_keep_the_numbers_to_which_each_was_rounded() -> None:
    numbers = np.random.default_rng(0).integers(-90, 91, (2, 128, 32)).astype(np.float32)
    numbers[:, 0, :2] = 1, 90
    steps = np.float32([0.01, 0.003])[:, None, None]
    lstm = nn.LSTM(32, 32, bidirectional=True)
    directions = (lstm.weight_ih_l0, lstm.weight_ih_l0_reverse)
    for weight, multiples in zip(directions, numbers * steps, strict=True):
        weight.data = torch.from_numpy(multiples)
    project = BidirectionalLstm(lstm).project
    project.store_in_int8()
    assert project.weight_scales is not None and len(project.weight_scales.unique()) == 2
    assert set(project.weight.unique().tolist()) == set(np.unique(numbers).astype(int).tolist())


@settings(max_examples=60)
@given(
    shape=st.tuples(st.integers(1, 4), st.integers(1, 40), st.integers(1, 7)),
    exponent=st.integers(-40, 14), seed=st.integers(0, 99),
)  # fmt: skip
def test_a_weight_in_int8_is_half_a_scale_off_and_exact_to_compute_with(
    shape: tuple[int, int, int], exponent: int, seed: int
) -> None:
    weight = np.random.default_rng(seed).standard_normal(shape, np.float32) * np.float32(2.0**exponent)
    weight[0, ::2] = 0
    numbers, scales = quantise(weight)
    each = np.repeat(scales, summed_together(shape[2]), axis=1)[:, : shape[1], None].astype(np.float64)
    assert (np.isfinite(scales) & (scales > 0)).all()
    assert np.abs(numbers).max() <= 127
    assert (np.abs(numbers * each - weight) <= 0.5001 * each).all()
    assert (each <= np.abs(weight).max() / 127 * 1.001 + 2.0**-24).all()
    np.testing.assert_array_equal(expand(numbers, scales), numbers * each)


@settings(max_examples=60)
@given(
    shape=st.tuples(st.integers(1, 4), st.integers(2, 40), st.integers(1, 7)),
    zero=st.integers(64, 127), exponent=st.integers(-13, 5), seed=st.integers(0, 99),
)  # fmt: skip
def test_weights_that_were_rounded_to_8_bits_before_keep_their_numbers(
    shape: tuple[int, int, int], zero: int, exponent: int, seed: int
) -> None:
    random = np.random.default_rng(seed)
    before = random.integers(0, 128, shape).astype(np.float32) - np.float32(zero)
    before[0, :2, 0] = 1, -zero
    step = np.float32((1 + random.random()) * 2.0**exponent)
    numbers, scales = quantise(before * step)
    np.testing.assert_array_equal(numbers, before)
    assert (scales == np.float16(step)).all()
    # Only the scale, of 11 bits, is rounded.
    np.testing.assert_allclose(expand(numbers, scales), before * step, rtol=2.0**-11, atol=0)


def test_transformed_weights_are_those_of_kokoros_replaced_modules(model: Any) -> None:
    reference = rounded_kokoro("float16")
    stage = make_stage("decoder", model, precision="float16")
    stored = [
        module.weight.permute(1, 0, 3, 2).flatten(1, 2).double()
        for module in stage.modules()
        if isinstance(module, WinogradConv) and is_large(module.weight)
    ]
    computed = [
        module.stored.factors
        for module in reference.modules()
        if isinstance(module, StoredConv1d | StoredConvTranspose1d)
    ]
    assert len(stored) == len(computed) > 0
    last, exact = stage.generator.last, model.decoder.generator.conv_post
    assert last.weight.dtype == torch.float32
    assert reference.decoder.generator.conv_post.weight.equal(effective_weight(exact))
    by_bytes = sorted(value.contiguous().numpy().tobytes() for value in stored)
    assert by_bytes == sorted(value.contiguous().numpy().tobytes() for value in computed)


def test_nearly_all_bytes_are_stored_small() -> None:
    shapes = model_without_weights(OFFICIAL_CONFIG.read_text(encoding="utf-8"))
    single, half, byte = (
        sum(
            value.nbytes
            for stage in STAGE_NAMES
            for value in make_stage(stage, shapes, precision=precision).parameters()
        )
        for precision in PRECISIONS
    )
    assert half <= 0.503 * single
    assert byte <= 0.442 * single


def test_float32_leaves_kokoro_as_it_is(model: Any) -> None:
    expected = model.state_dict()
    for name, value in rounded_kokoro("float32").state_dict().items():
        assert value.equal(expected[name]), name


def test_devices_refuse_what_their_kernels_do_not_read() -> None:
    check_device("float16", "metal")
    check_device("float32", "cuda")
    for precision in ("float16", "int8"):
        with pytest.raises(PrecisionError, match=f"CUDA read float32 weights only, found {precision}"):
            check_device(precision, "cuda")
    with pytest.raises(PrecisionError, match="Metal read float32 and float16 weights, found int8"):
        check_device("int8", "metal")


def test_weights_too_large_for_a_precision_are_refused() -> None:
    weight = torch.tensor([1.0, -7e4])
    assert rounded(weight, "float32", "x").equal(weight)
    for precision in ("float16", "int8"):
        with pytest.raises(PrecisionError, match=r"weights x reach 70000: float16 stores at most 65504"):
            rounded(weight, precision, "x")


@settings(max_examples=30)
@given(
    taps=st.sampled_from([3, 7, 11]), dilation=st.integers(1, 5), length=st.integers(1, 200),
    seed=st.integers(0, 99),
)  # fmt: skip
def test_exact_factors_compute_torchs_convolution(taps: int, dilation: int, length: int, seed: int) -> None:
    random = torch.Generator().manual_seed(seed)
    conv = nn.Conv1d(3, 5, taps, padding=dilation * (taps - 1) // 2, dilation=dilation)
    x = torch.randn(1, 3, length, generator=random)
    found = StoredConv1d(conv, lambda value: value)(x)
    # The factors are rounded to float32.
    torch.testing.assert_close(found, conv(x).detach(), rtol=0, atol=3e-5)


@pytest.mark.parametrize("dilation", [1, 5])
@pytest.mark.parametrize("taps", [3, 7, 11])
def test_more_transforms_than_are_computed_together_join_without_a_gap(taps: int, dilation: int) -> None:
    conv = nn.Conv1d(2, 2, taps, padding=dilation * (taps - 1) // 2, dilation=dilation)
    # More than 500 transforms with any number of taps.
    x = torch.randn(1, 2, 8_000, generator=torch.Generator().manual_seed(taps))
    found = StoredConv1d(conv, lambda value: value)(x)
    torch.testing.assert_close(found, conv(x).detach(), rtol=0, atol=3e-5)


@settings(max_examples=20)
@given(stride=st.sampled_from([2, 6, 10]), length=st.integers(1, 60))
def test_exact_phases_compute_torchs_transposed_convolution(stride: int, length: int) -> None:
    conv = nn.ConvTranspose1d(4, 3, 2 * stride, stride=stride, padding=stride // 2)
    x = torch.randn(1, 4, length, generator=torch.Generator().manual_seed(length))
    found = StoredConvTranspose1d(conv, lambda value: value)(x)
    torch.testing.assert_close(found, conv(x).detach(), rtol=0, atol=1e-5)


@pytest.mark.parametrize("taps", SCHEMES)
def test_half_precision_factors_keep_the_digits_of_float16(taps: int) -> None:
    # Without the powers of two, factors of 11 taps would fall among the subnormal numbers.
    random = np.random.default_rng(taps)
    weight = torch.from_numpy(random.standard_normal((32, 16, taps)) * 0.01).float()
    x = torch.from_numpy(random.standard_normal((1, 16, 500)))
    exact, found = (
        winograd_convolution(x, stored_factors(weight, how), taps, 0, 1) for how in (lambda each: each, half)
    )
    assert snr(found.numpy(), exact.numpy()) >= 40


def test_kokoros_replaced_modules_compute_what_the_layers_of_a_stage_do() -> None:
    conv = nn.Conv1d(32, 32, 7, padding=9, dilation=3)
    up = nn.ConvTranspose1d(32, 32, 4, stride=2, padding=1)
    layer, upsampler = WinogradConv.of(conv), Upsampler(up, False, True, winograd=True)
    for module in (layer, upsampler.conv):
        module.store_taps(module.plain.half())
        module.weight.data = module.weight.data.half()
    x = torch.randn(1, 32, 100, generator=torch.Generator().manual_seed(0))
    found = layer(x.mT).mT
    torch.testing.assert_close(found, StoredConv1d(conv, half)(x).detach(), rtol=0, atol=1e-6)
    found = upsampler(x.mT, torch.zeros(1, 200, 32), 1.0).mT
    torch.testing.assert_close(found, StoredConvTranspose1d(up, half)(x).detach(), rtol=0, atol=1e-6)
    assert layer.weight.shape == winograd.pack_weight(conv.weight.detach().numpy()).shape
