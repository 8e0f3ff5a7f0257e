"""Obstacles that appear only where the length of time is a symbol."""

from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F
import tvm
from torch import Tensor
from tvm import relax, topi

from tests.upstream.reproduction import (
    LENGTH,
    LONG,
    SHORT,
    TIME,
    assert_works,
    built,
    called,
    entry,
    exported,
    imported,
    still_fails,
)

pytestmark = pytest.mark.filterwarnings("ignore::FutureWarning")

SHORT_DOUBLE, LONG_DOUBLE = SHORT.repeat(1, 1, 2), LONG.repeat(1, 1, 2)
TENS = np.arange(10, dtype=np.float32)


def test_a_length_as_a_float_still_has_no_converter() -> None:
    with still_fails(AssertionError, "['sym_float']", "the rule against lengths in arithmetic"):
        imported(lambda x: x * (1.0 * x.shape[2]), (SHORT,), (TIME,))


def test_float_of_a_length_is_still_specialised_by_torch_export() -> None:
    with still_fails(
        torch._dynamo.exc.UserError, "Constraints violated (t)", "the rule against lengths in arithmetic"
    ):
        exported(lambda x: x / float(x.shape[2]), (SHORT,), (TIME,))


@pytest.mark.parametrize(
    "function",
    [lambda x: x * x.shape[2], lambda x: x / x.shape[2], lambda x: x + x.shape[2], lambda x: x.shape[2] - x],
    ids=["mul", "div", "add", "rsub"],
)
def test_arithmetic_of_a_float_tensor_and_a_length_still_fails(function: Any) -> None:
    with still_fails(TypeError, "must have the same datatype", "the rule against lengths in arithmetic"):
        imported(function, (SHORT,), (TIME,))


def test_arithmetic_of_an_integer_tensor_and_a_length_works() -> None:
    assert_works(lambda x: x.long() * x.shape[2], (SHORT,), (TIME,), (LONG,))


def test_means_fills_and_ranges_of_a_symbolic_length_work() -> None:
    assert_works(lambda x: x.mean(2, keepdim=True) + torch.arange(x.shape[2]), (SHORT,), (TIME,), (LONG,))
    assert_works(lambda x: torch.full((4,), x.shape[2]) + 0, (SHORT,), (TIME,), (LONG,))


@pytest.mark.parametrize("make", [torch.tensor, torch.scalar_tensor])
def test_a_scalar_tensor_of_a_length_still_fails(make: Any) -> None:
    with still_fails(
        ValueError, "value has to be scalar or Tensor", "the rule against lengths in arithmetic"
    ):
        imported(lambda x: x + make(x.shape[2]), (SHORT,), (TIME,))


def test_cat_works_over_channels_of_derived_lengths_and_over_time() -> None:
    weight = torch.ones(4, 4, 3)

    def join(x: Tensor, doubled: Tensor) -> Tensor:
        halved = F.conv1d(doubled, weight, stride=2, padding=1)
        joined = torch.cat([halved, x], dim=1)
        return torch.cat([joined, joined], dim=2)

    assert_works(join, (SHORT, SHORT_DOUBLE), (TIME, {2: 2 * LENGTH}), (LONG, LONG_DOUBLE))


@pytest.mark.parametrize(
    "function",
    [
        lambda x: F.interpolate(x, scale_factor=2, mode="nearest"),
        lambda x: F.interpolate(x, size=2 * x.shape[2], mode="nearest"),
        lambda x: F.interpolate(x, size=2 * x.shape[2], mode="linear"),
    ],
    ids=["nearest scale", "nearest size", "linear size"],
)
def test_interpolation_of_a_symbolic_length_still_has_no_converter(function: Any) -> None:
    with still_fails(AssertionError, "truediv", "the doubling inside the operators (conv1d, upsample_pool)"):
        imported(function, (SHORT,), (TIME,))


def test_doubling_by_repeat_interleave_works() -> None:
    assert_works(lambda x: x.repeat_interleave(2, dim=2) * 1, (SHORT,), (TIME,), (LONG,))


def test_one_slice_of_time_works_alone() -> None:
    assert_works(lambda x: x[:, :, 1:] * 2, (SHORT,), (TIME,), (LONG,))


def test_two_slices_of_time_still_do_not_meet() -> None:
    module = imported(lambda x: x[:, :, 1:] - x[:, :, :-1], (SHORT,), (TIME,))
    with still_fails(
        tvm.error.InternalError, "CodeGenVM cannot emit this Relax operator", "negative F.pad for slices"
    ):
        built(module)


def test_negative_padding_replaces_slices_of_time() -> None:
    assert_works(lambda x: F.pad(x, (-1, 0)) - F.pad(x, (0, -1)), (SHORT,), (TIME,), (LONG,))


def _channels_outside(x: Tensor, doubled: Tensor) -> Tensor:
    y = F.pad(doubled, (0, 1))
    return y.reshape(1, 2, 2, y.shape[2]).transpose(2, 3).reshape(1, 2, 2 * y.shape[2]) * 1


def _channels_inside(x: Tensor, doubled: Tensor) -> Tensor:
    y = F.pad(doubled, (0, 1))
    return y.transpose(1, 2).reshape(1, 2 * y.shape[2], 2).transpose(1, 2) * 1


def test_rewrite_dataflow_reshape_still_cannot_divide_2n_plus_1() -> None:
    module = imported(_channels_outside, (SHORT, SHORT_DOUBLE), (TIME, {2: 2 * LENGTH}))
    with still_fails(tvm.error.InternalError, "CanProveDivisible", "the operator interleave"):
        built(module)


def test_rewrite_dataflow_reshape_works_with_the_channels_inside() -> None:
    dynamic = (TIME, {2: 2 * LENGTH})
    assert_works(_channels_inside, (SHORT, SHORT_DOUBLE), dynamic, (LONG, LONG_DOUBLE))


@pytest.mark.parametrize("length", [lambda m: 2048 * m, lambda m: m // 5 - 1])
def test_vm_shape_lower_still_wants_one_input_with_the_bare_symbol(length: Any) -> None:
    module = entry(lambda m: [[length(m)]], lambda builder, m, x: relax.op.add(x, x))
    with still_fails(
        tvm.error.InternalError, "is not computed", "the rule that one input carries the bare symbol"
    ):
        built(module)


@pytest.mark.parametrize("length", [lambda m: 2 * m + 1, lambda m: m // 5 - 1])
def test_vm_shape_lower_computes_other_lengths_from_the_bare_symbol(length: Any) -> None:
    def shapes(m: Any) -> list[list[Any]]:
        return [[m], [length(m)]]

    values = np.ones(length(10), dtype=np.float32)
    module = entry(shapes, lambda builder, m, x, y: builder.emit_te(topi.add, y, y))
    np.testing.assert_array_equal(called(built(module), TENS, values), 2 * values)


def test_emit_te_takes_a_symbol_as_an_argument() -> None:
    def scaled(x: Any, m: Any) -> Any:
        return tvm.te.compute(x.shape, lambda i: x[i] * m.astype("float32"))

    module = entry(lambda m: [[m]], lambda builder, m, x: builder.emit_te(scaled, x, m))
    np.testing.assert_array_equal(called(built(module), TENS), TENS * 10)


def test_emit_te_still_fails_for_a_tensor_of_unknown_shape() -> None:
    def body(builder: Any, m: Any, x: Any) -> Any:
        shape = builder.emit(relax.op.shape_of(x))
        filled = builder.emit(relax.op.full(shape, relax.const(1.0, "float32"), "float32"))
        return builder.emit_te(topi.add, filled, filled)

    with still_fails(
        AssertionError, "only supports Tensor that has ShapeExpr shape", "plain shapes in converters"
    ):
        entry(lambda m: [[m]], body)


def test_fold_constant_works_with_symbols() -> None:
    def body(builder: Any, m: Any, x: Any) -> Any:
        numbers = relax.op.shape_to_tensor(relax.ShapeExpr([m, 2 * m]))
        total = relax.op.sum(relax.op.add(numbers, relax.const(np.array([1, 1]), "int64")))
        filled = relax.op.broadcast_to(relax.const(np.ones(1, np.float32)), relax.ShapeExpr([m]))
        return relax.op.multiply(relax.op.add(x, filled), relax.op.astype(total, "float32"))

    module = entry(lambda m: [[m]], body)
    folded = relax.transform.FoldConstant()(relax.transform.LegalizeOps()(module))
    np.testing.assert_array_equal(called(built(folded), TENS), (TENS + 1) * 32)


def _three_convolutions(x: Tensor) -> Tensor:
    weight = torch.full((4, 4, 3), 0.1)
    y = torch.sin(F.conv1d(torch.sin(x), weight, padding=1))
    return torch.sin(F.conv1d(y, weight, padding=1))


def test_a_length_beyond_the_bounds_is_still_not_checked_by_the_library() -> None:
    machine = relax.VirtualMachine(built(imported(_three_convolutions, (SHORT,), (TIME,))), tvm.cpu())

    def length(count: int) -> int:
        return int(machine["main"](tvm.runtime.tensor(np.ones((1, 4, count), np.float32))).shape[2])

    # LENGTH is 6 to 64. The pool rounds storage up to pages of 4096 bytes: here 256 samples of 4 channels.
    assert (length(1), length(65), length(256)) == (1, 65, 256), (
        "works now: remove the runtime's checks of lengths"
    )
    with pytest.raises(tvm.error.InternalError, match="storage allocation failure"):
        length(257)


def test_attention_works_over_a_symbolic_length() -> None:
    def attend(x: Tensor) -> Tensor:
        return F.scaled_dot_product_attention(x[None], x[None], x[None])

    assert_works(
        attend, (SHORT[0, :2, :8].reshape(1, 8, 2),), ({1: LENGTH},), (LONG[0, :, :8].reshape(1, 16, 2),)
    )
