"""Obstacles in torch.export and in TVM's import and build of its programs."""

from typing import Any, NamedTuple

import numpy as np
import pytest
import torch
import torch.nn.functional as F
import tvm
from torch import Tensor
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence
from tvm import relax, topi

from tests.upstream.reproduction import (
    LENGTH,
    LONG,
    SHORT,
    TIME,
    assert_works,
    both,
    built,
    called,
    entry,
    imported,
    still_fails,
)

# torch warns of what it will change in its own modules.
pytestmark = [
    pytest.mark.filterwarnings("ignore::FutureWarning"),
    pytest.mark.filterwarnings("ignore::UserWarning"),
]

INTEGERS = torch.arange(-6, 6)
WEIGHT = torch.linspace(-1, 1, 48).reshape(4, 4, 3)
SHORT_DOUBLE, LONG_DOUBLE = SHORT.repeat(1, 1, 2), LONG.repeat(1, 1, 2)
DOUBLE = (TIME, {2: 2 * LENGTH})
LENGTHS = "the rule against lengths in arithmetic"
NOISE = "the noise input"


class Lstm(torch.nn.Module):
    """A bidirectional LSTM, over a packed sequence where lengths are given."""

    def __init__(self) -> None:
        super().__init__()
        self.lstm = torch.nn.LSTM(4, 3, batch_first=True, bidirectional=True)

    def forward(self, x: Tensor, lengths: Tensor | None = None) -> Tensor:
        if lengths is None:
            result: Tensor = self.lstm(x)[0]
            return result
        packed = pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)
        return pad_packed_sequence(self.lstm(packed)[0], batch_first=True)[0]


def channels_outside(x: Tensor, doubled: Tensor) -> Tensor:
    """Interleaves two halves of the channels, of length 2n + 1."""
    y = F.pad(doubled, (0, 1))
    return y.reshape(1, 2, 2, y.shape[2]).transpose(2, 3).reshape(1, 2, 2 * y.shape[2]) * 1


def channels_inside(x: Tensor, doubled: Tensor) -> Tensor:
    """The same in an order that TVM can divide."""
    y = F.pad(doubled, (0, 1))
    return y.transpose(1, 2).reshape(1, 2 * y.shape[2], 2).transpose(1, 2) * 1


class Open(NamedTuple):
    """A function whose export, import or build fails, and what can go on the day that it works."""

    function: Any
    error: type[BaseException]
    message: str
    workaround: str
    arguments: tuple[Tensor, ...] = (SHORT,)
    dynamic: tuple[Any, ...] | None = (TIME,)


OPEN = {
    "slice_scatter, symbolic length": Open(
        lambda x: torch.slice_scatter(x, torch.zeros(1, 4, 2), 2, 1, 3),
        ValueError,
        "Expect value to be constant int",
        "the rule against assignment to slices of time",
    ),
    "index_put, fewer indices": Open(
        lambda x, rows: x.index_put((rows,), torch.ones(())),
        ValueError,
        "number of index tensors (1) to match",
        "the rule against indexed assignment",
        (torch.zeros(5, 4), torch.tensor([1, 3])),
        None,
    ),
    "index_put, boolean mask": Open(
        lambda x: x.index_put((x < 0,), torch.zeros(())),
        TypeError,
        "requires each index tensor to have integer dtype",
        "the rule against masked assignment",
    ),
    "clamp of integers, one bound": Open(
        lambda x: x.clamp(min=1),
        RuntimeError,
        "Cannot convert infinity to BigInt",
        "the clamp of durations in numpy",
        (INTEGERS,),
        None,
    ),
    "floor_divide of integers by a number": Open(
        lambda x: x // 3,
        TypeError,
        "must have the same datatype",
        "the rule against integer //",
        (INTEGERS,),
        None,
    ),
    "sym_float": Open(lambda x: x * (1.0 * x.shape[2]), AssertionError, "['sym_float']", LENGTHS),
    "float of a length": Open(
        lambda x: x / float(x.shape[2]),
        torch._dynamo.exc.UserError,
        "Constraints violated (t)",
        LENGTHS,
    ),
    "float tensor and length": Open(
        lambda x: x * x.shape[2], TypeError, "must have the same datatype", LENGTHS
    ),
    "scalar tensor of a length": Open(
        lambda x: x + torch.tensor(x.shape[2]), ValueError, "value has to be scalar or Tensor", LENGTHS
    ),
    "interpolate, symbolic length": Open(
        lambda x: F.interpolate(x, scale_factor=2, mode="nearest"),
        AssertionError,
        "truediv",
        "the doubling inside the operators (conv1d, upsample_pool)",
    ),
    "interpolate linear, any length": Open(
        lambda x: F.interpolate(x, scale_factor=2, mode="linear"),
        RuntimeError,
        "Cannot convert infinity to BigInt",
        "the interpolation in the harmonic source's kernel",
        dynamic=None,
    ),
    "packed sequences": Open(
        Lstm(),
        TypeError,
        "got FakeTensor",
        "the operator bidirectional_lstm",
        (torch.zeros(1, 6, 4), torch.tensor([6])),
        None,
    ),
    "nn.LSTM, symbolic length": Open(
        Lstm(),
        torch._dynamo.exc.UserError,
        "specialized it to be a constant (8)",
        "the operator bidirectional_lstm",
        (torch.zeros(1, 8, 4),),
        ({1: LENGTH},),
    ),
    "slices along symbolic time": Open(
        lambda x: x[:, :, 1:] - x[:, :, :-1],
        tvm.error.InternalError,
        "CodeGenVM cannot emit this Relax operator",
        "negative F.pad for slices",
    ),
    "RewriteDataflowReshape, 2n + 1": Open(
        channels_outside,
        tvm.error.InternalError,
        "CanProveDivisible",
        "the operator interleave",
        (SHORT, SHORT_DOUBLE),
        DOUBLE,
    ),
    "randn_like, symbolic length": Open(torch.randn_like, TypeError, "int() argument must be", NOISE),
    "rand": Open(lambda x: x + torch.rand(4, 1), AssertionError, "rand.default", NOISE),
    "unfold": Open(
        lambda x: x.unfold(2, 4, 2), AssertionError, "unfold.default", "the kernels fold and interleave"
    ),
    "repeat_interleave.Tensor": Open(
        lambda x, n: x.repeat_interleave(n, dim=1, output_size=6),
        AssertionError,
        "repeat_interleave.Tensor",
        "the alignment in numpy",
        (torch.zeros(1, 3), torch.tensor([1, 2, 3])),
        None,
    ),
    "stft": Open(
        lambda x: torch.stft(x, 20, 5, 20, torch.hann_window(20), return_complex=True).abs(),
        AssertionError,
        "_fft_r2c.default",
        "the DFT in the harmonic source's kernel",
        (torch.zeros(1, 100),),
        None,
    ),
    "istft": Open(
        lambda x: torch.istft(torch.view_as_complex(x), 20, 5, 20, torch.hann_window(20)),
        AssertionError,
        "_fft_c2r.default",
        "the kernel inverse_stft",
        (torch.zeros(1, 11, 10, 2),),
        None,
    ),
}


@pytest.mark.parametrize("name", OPEN)
def test_an_open_obstacle_still_stands(name: str) -> None:
    obstacle = OPEN[name]
    with still_fails(obstacle.error, obstacle.message, obstacle.workaround):
        built(imported(obstacle.function, obstacle.arguments, obstacle.dynamic))


FIXED: dict[str, tuple[Any, ...]] = {
    "expand": (lambda x: x.expand(3, -1, -1, -1) * 1,),
    "leaky_relu": (lambda x: F.leaky_relu(x, 0.2) + F.leaky_relu_(x * 2, 0.1),),
    "clamp of floats": (lambda x: x.clamp(-0.5, 0.5) + x.clamp(min=0.1) + x.clamp(max=0.2),),
    "convolution": (
        lambda x: F.conv_transpose1d(
            F.conv1d(x, WEIGHT, padding=2, dilation=2), WEIGHT[:, :1], None, 2, 1, 1, 4
        ),
    ),
    "integer tensor and length": (lambda x: x.long() * x.shape[2],),
    "mean, arange": (lambda x: x.mean(2, keepdim=True) + torch.arange(x.shape[2]),),
    "full": (lambda x: torch.full((4,), x.shape[2]) + 0,),
    "repeat_interleave(2)": (lambda x: x.repeat_interleave(2, dim=2) * 1,),
    "one slice": (lambda x: x[:, :, 1:] * 2,),
    "negative padding": (lambda x: F.pad(x, (-1, 0)) - F.pad(x, (0, -1)),),
    "attention": (lambda x: F.scaled_dot_product_attention(*[x.transpose(1, 2)[None]] * 3),),
    "_cat": (
        lambda x, double: torch.cat([F.conv1d(double, WEIGHT, stride=2, padding=1), x], dim=1),
        (SHORT, SHORT_DOUBLE),
        DOUBLE,
        (LONG, LONG_DOUBLE),
    ),
    "reshape, channels inside": (channels_inside, (SHORT, SHORT_DOUBLE), DOUBLE, (LONG, LONG_DOUBLE)),
    "slice_scatter, known length": (
        lambda x: torch.slice_scatter(x, torch.zeros(1, 4, 2), 2, 1, 3),
        (SHORT,),
        None,
    ),
    "index_put, all indices": (
        lambda x, *indices: x.index_put(indices, torch.ones(())),
        (torch.zeros(5, 4), torch.tensor([1, 3]), torch.tensor([0, 2])),
        None,
    ),
    "clamp of integers": (lambda x: x.clamp(-2, 3), (INTEGERS,), None),
    "floor_divide of floats": (lambda x: x // 3.0, (SHORT,), None),
    "floor_divide of tensors": (lambda x, y: x // y, (INTEGERS, torch.full_like(INTEGERS, 3)), None),
    "atan2, signed zeros": (
        torch.atan2,
        (torch.tensor([0.0, -0.0, 0.0, -0.0, 1.0, -1.0]), torch.tensor([-1.0, -1.0, 1.0, 1.0, 0.0, 0.0])),
        None,
    ),
    "scalar tensors": (
        lambda x, s: (x + torch.tensor(2.0)) * s + s.item(),
        (SHORT, torch.tensor(3.0)),
        None,
    ),
}
"""Function, arguments of the export, dynamic shapes and arguments of the call, which default to a tensor of
symbolic length."""


@pytest.mark.parametrize("name", FIXED)
def test_what_works_still_works(name: str) -> None:
    """TVM's result is torch's."""
    function, *given = FIXED[name]
    assert_works(function, *(given or ((SHORT,), (TIME,), (LONG,))))


def test_an_lstm_is_still_unrolled_over_time() -> None:
    def bindings(steps: int) -> int:
        module = imported(Lstm(), (torch.zeros(1, steps, 4),))
        return sum(len(block.bindings) for block in module["main"].body.blocks)

    growth = bindings(8) - bindings(4)
    assert growth >= 4 * 20, "works now: remove the operator bidirectional_lstm"


def test_randn_like_is_still_imported_as_a_constant() -> None:
    executable = built(imported(torch.randn_like, (SHORT,)))
    first, second = called(executable, SHORT), called(executable, LONG[:, :, :10].contiguous())
    assert first.std() > 0.5
    assert np.array_equal(first, second), "works now: remove the noise input"


@torch.library.custom_op("upstream_first::named", mutates_args=())
def _first(x: Tensor) -> Tensor:
    return x * 2


@torch.library.custom_op("upstream_second::named", mutates_args=())
def _second(x: Tensor) -> Tensor:
    return x * 3


_first.register_fake(torch.empty_like)
_second.register_fake(torch.empty_like)


def test_converters_still_ignore_the_namespace_of_an_operator() -> None:
    def double(node: torch.fx.Node, importer: Any) -> relax.Var:
        doubled = relax.op.multiply(importer.env[node.args[0]], relax.const(2.0, "float32"))
        return importer.block_builder.emit(doubled)

    found, wanted = both(
        lambda x: _first(x) + _second(x), (SHORT,), custom_convert_map={"named.default": double}
    )
    np.testing.assert_allclose(wanted, 5 * SHORT, rtol=1e-6)
    message = "works now: key the converters with the namespace of our operators"
    np.testing.assert_allclose(found, 4 * SHORT, rtol=1e-6, err_msg=message)


def test_buffers_still_become_constants_of_the_library_while_parameters_stay_inputs() -> None:
    module = imported(torch.nn.BatchNorm1d(4), (SHORT,), keep_params_as_input=True)
    module, _ = relax.frontend.detach_params(module)
    names = [variable.name for variable in module["main"].params]
    assert names == ["input", "p_weight", "p_bias"], "works now: stages may hold tensors as buffers"


def test_two_imported_stages_still_have_the_same_symbol() -> None:
    stages = {"first": lambda x: x * 2, "second": lambda x: x * 3}
    functions = {tvm.ir.GlobalVar(name): imported(stage, (SHORT,))["main"] for name, stage in stages.items()}
    with still_fails(tvm.error.InternalError, "duplicate global symbol: main", "the renaming of stages"):
        built(tvm.IRModule(functions))


@pytest.mark.parametrize("length", [lambda m: 2048 * m, lambda m: m // 5 - 1])
def test_vm_shape_lower_still_wants_one_input_with_the_bare_symbol(length: Any) -> None:
    module = entry(lambda m: [[length(m)]], lambda builder, m, x: relax.op.add(x, x))
    with still_fails(
        tvm.error.InternalError, "is not computed", "the rule that one input carries the bare symbol"
    ):
        built(module)
    both_lengths = entry(lambda m: [[m], [length(m)]], lambda builder, m, x, y: relax.op.add(y, y))
    values = np.ones(length(10), np.float32)
    np.testing.assert_array_equal(called(built(both_lengths), np.ones(10, np.float32), values), 2 * values)


def test_emit_te_still_fails_for_a_tensor_of_unknown_shape() -> None:
    def body(builder: Any, m: Any, x: Any) -> Any:
        shape = builder.emit(relax.op.shape_of(x))
        filled = builder.emit(relax.op.full(shape, relax.const(1.0, "float32"), "float32"))
        return builder.emit_te(topi.add, filled, filled)

    with still_fails(
        AssertionError, "only supports Tensor that has ShapeExpr shape", "plain shapes in converters"
    ):
        entry(lambda m: [[m]], body)


def test_a_length_beyond_the_bounds_is_still_not_checked_by_the_library() -> None:
    def convolve(x: Tensor) -> Tensor:
        y = torch.sin(F.conv1d(torch.sin(x), WEIGHT, padding=1))
        return torch.sin(F.conv1d(y, WEIGHT, padding=1))

    machine = relax.VirtualMachine(built(imported(convolve, (SHORT,), (TIME,))), tvm.cpu())

    def length(count: int) -> int:
        return int(machine["main"](tvm.runtime.tensor(np.ones((1, 4, count), np.float32))).shape[2])

    # LENGTH is 6 to 64. The pool rounds storage up to pages of 4096 bytes: here 256 samples of 4 channels.
    assert (length(1), length(65), length(256)) == (1, 65, 256), (
        "works now: remove the runtime's checks of lengths"
    )
    with pytest.raises(tvm.error.InternalError, match="storage allocation failure"):
        length(257)
