"""Obstacles in torch.export and in TVM's import of its programs, with lengths that do not enter into them."""

import io
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F
import tvm
from torch import Tensor
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence
from tvm import relax
from tvm.relax.frontend.torch import from_exported_program

from tests.upstream.reproduction import (
    LENGTH,
    LONG,
    SHORT,
    TIME,
    assert_works,
    both,
    built,
    called,
    exported,
    imported,
    still_fails,
)

# torch warns of what it will change in its own modules.
pytestmark = [
    pytest.mark.filterwarnings("ignore::FutureWarning"),
    pytest.mark.filterwarnings("ignore::UserWarning"),
]

INTEGERS = torch.arange(-6, 6)


def test_expand_with_more_dimensions_works() -> None:
    assert_works(lambda x: x.expand(3, -1, -1, -1) * 1, (SHORT,), (TIME,), (LONG,))


def test_leaky_relu_works_in_place_too() -> None:
    assert_works(lambda x: F.leaky_relu(x, 0.2) + F.leaky_relu_(x * 2, 0.1), (SHORT,), (TIME,), (LONG,))


def test_slice_scatter_of_a_known_length_works() -> None:
    def zero_some(x: Tensor) -> Tensor:
        y = x.clone()
        y[:, :, 1:3] = 0.0
        return y

    assert_works(zero_some, (SHORT,))


def test_slice_scatter_along_a_symbolic_length_still_fails() -> None:
    def zero_some(x: Tensor) -> Tensor:
        y = x.clone()
        y[:, :, 1:3] = 0.0
        return y

    module = imported(zero_some, (SHORT,), (TIME,))
    with still_fails(
        ValueError, "Expect value to be constant int", "the rule against assignment to slices of time"
    ):
        built(module)


def test_index_put_with_an_index_for_each_dimension_works() -> None:
    def put(x: Tensor, rows: Tensor, columns: Tensor) -> Tensor:
        y = x.clone()
        y[rows, columns] = 1.0
        return y

    assert_works(put, (torch.zeros(5, 4), torch.tensor([1, 3]), torch.tensor([0, 2])))


def test_index_put_with_fewer_indices_still_fails() -> None:
    def put(x: Tensor, rows: Tensor) -> Tensor:
        y = x.clone()
        y[rows] = 1.0
        return y

    with still_fails(
        ValueError, "number of index tensors (1) to match", "the rule against indexed assignment"
    ):
        imported(put, (torch.zeros(5, 4), torch.tensor([1, 3])))


def test_index_put_with_a_boolean_mask_still_fails() -> None:
    def put(x: Tensor) -> Tensor:
        y = x.clone()
        y[x < 0] = 0.0
        return y

    with still_fails(
        TypeError, "requires each index tensor to have integer dtype", "the rule against masked assignment"
    ):
        imported(put, (SHORT,))


def test_clamp_of_floats_works() -> None:
    assert_works(
        lambda x: x.clamp(-0.5, 0.5) + x.clamp(min=0.1) + x.clamp(max=0.2), (SHORT,), (TIME,), (LONG,)
    )


def test_clamp_of_integers_with_both_bounds_works() -> None:
    assert_works(lambda x: x.clamp(-2, 3), (INTEGERS,))


@pytest.mark.parametrize("bounds", [{"min": 1}, {"max": 1}])
def test_clamp_of_integers_with_one_bound_still_fails(bounds: dict[str, int]) -> None:
    module = imported(lambda x: x.clamp(**bounds), (INTEGERS,))
    with still_fails(RuntimeError, "Cannot convert infinity to BigInt", "the clamp of durations in numpy"):
        built(module)


def test_atan2_works_with_signed_zeros() -> None:
    y = torch.tensor([0.0, -0.0, 0.0, -0.0, 1.0, -1.0])
    x = torch.tensor([-1.0, -1.0, 1.0, 1.0, 0.0, 0.0])
    assert_works(torch.atan2, (y, x))


def test_floor_divide_of_floats_and_of_integer_tensors_works() -> None:
    assert_works(lambda x: x // 3.0, (SHORT,))
    assert_works(lambda x, y: x // y, (INTEGERS, torch.full_like(INTEGERS, 3)))


def test_floor_divide_of_integers_by_a_number_still_fails() -> None:
    with still_fails(TypeError, "must have the same datatype", "the rule against integer //"):
        imported(lambda x: x // 3, (INTEGERS,))


def test_scalar_tensors_as_constants_inputs_and_items_work() -> None:
    assert_works(lambda x, s: (x + torch.tensor(2.0)) * s + s.item(), (SHORT, torch.tensor(3.0)))


def test_convolutions_with_weight_norm_work() -> None:
    weight, depthwise = torch.linspace(-1, 1, 48).reshape(4, 4, 3), torch.linspace(-1, 1, 12).reshape(4, 1, 3)

    def convolve(x: Tensor) -> Tensor:
        return F.conv_transpose1d(
            F.conv1d(x, weight, padding=2, dilation=2), depthwise, None, 2, 1, 1, groups=4
        )

    assert_works(convolve, (SHORT,), (TIME,), (LONG,))
    normed = torch.nn.utils.weight_norm(torch.nn.Conv1d(4, 4, 3))
    assert_works(normed, (SHORT,), (TIME,), (LONG,))


def test_the_private_convolution_operator_still_has_no_converter() -> None:
    def convolve(x: Tensor, weight: Tensor) -> Tensor:
        return torch._convolution(x, weight, None, [1], [1], [1], False, [0], 1, False, False, True, True)

    with still_fails(AssertionError, "['_convolution.default']", "nothing: no module of ours emits it"):
        imported(convolve, (SHORT, torch.zeros(5, 4, 3)))


class _GradientBlock(torch.nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        with torch.no_grad():
            doubled = x * 2
        return F.interpolate(doubled, scale_factor=2.0, mode="nearest")


def test_run_decompositions_works_after_loading_a_saved_program_and_twice() -> None:
    file = io.BytesIO()
    torch.export.save(exported(_GradientBlock(), (SHORT,)), file)
    file.seek(0)
    program = torch.export.load(file).run_decompositions().run_decompositions()
    found = called(built(from_exported_program(program, unwrap_unit_return_tuple=True)), SHORT)
    np.testing.assert_array_equal(found, _GradientBlock()(SHORT).numpy())


def test_a_program_without_decompositions_still_fails() -> None:
    # The message lists a set, in any order; a TVM that converts one of the two still needs the other's.
    for name in ("wrap_with_set_grad_enabled", "upsample_nearest1d.vec"):
        with still_fails(AssertionError, f"'{name}'", "run_ep_decomposition=True"):
            imported(_GradientBlock(), (SHORT,), run_ep_decomposition=False)


def test_linear_interpolation_still_fails_even_for_known_lengths() -> None:
    module = imported(lambda x: F.interpolate(x, scale_factor=2, mode="linear"), (SHORT,))
    with still_fails(
        RuntimeError, "Cannot convert infinity to BigInt", "the interpolation in the harmonic source's kernel"
    ):
        built(module)


@pytest.mark.parametrize(
    ("function", "arguments", "missing", "workaround"),
    [
        (lambda x: x + torch.rand(4, 10), (SHORT,), "rand.default", "the noise input"),
        (lambda x: x + torch.rand_like(x), (SHORT,), "rand_like.default", "the noise input"),
        (
            lambda x, n: x.repeat_interleave(n, dim=1, output_size=6),
            (torch.zeros(1, 3), torch.tensor([1, 2, 3])),
            "repeat_interleave.Tensor",
            "the alignment in numpy",
        ),
        (lambda x: x.unfold(2, 4, 2), (SHORT,), "unfold.default", "the kernels fold and interleave"),
        (
            lambda x: torch.stft(x, 20, 5, 20, torch.hann_window(20), return_complex=True).abs(),
            (torch.zeros(1, 100),),
            "_fft_r2c.default",
            "the DFT in the harmonic source's kernel",
        ),
        (
            lambda x: torch.istft(torch.view_as_complex(x), 20, 5, 20, torch.hann_window(20)),
            (torch.zeros(1, 11, 10, 2),),
            "_fft_c2r.default",
            "the kernel inverse_stft",
        ),
    ],
    ids=["rand", "rand_like", "repeat_interleave", "unfold", "stft", "istft"],
)
def test_operators_still_without_a_converter(
    function: Any, arguments: tuple[Tensor, ...], missing: str, workaround: str
) -> None:
    with still_fails(AssertionError, missing, workaround):
        imported(function, arguments)


def test_randn_like_is_still_imported_as_a_constant() -> None:
    executable = built(imported(torch.randn_like, (SHORT,)))
    first, second = called(executable, SHORT), called(executable, LONG[:, :, :10].contiguous())
    assert first.std() > 0.5
    assert np.array_equal(first, second), "works now: remove the noise input"


def test_randn_like_of_a_symbolic_length_still_fails() -> None:
    with still_fails(TypeError, "int() argument must be", "the noise input"):
        imported(torch.randn_like, (SHORT,), (TIME,))


class _PackedLstm(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.lstm = torch.nn.LSTM(4, 3, batch_first=True, bidirectional=True)

    def forward(self, x: Tensor, lengths: Tensor) -> Tensor:
        packed = pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)
        return pad_packed_sequence(self.lstm(packed)[0], batch_first=True)[0]


class _Lstm(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.lstm = torch.nn.LSTM(4, 3, batch_first=True, bidirectional=True)

    def forward(self, x: Tensor) -> Tensor:
        result: Tensor = self.lstm(x)[0]
        return result


def test_packed_sequences_still_fail_in_torch_export() -> None:
    with still_fails(TypeError, "got FakeTensor", "the operator bidirectional_lstm"):
        exported(_PackedLstm(), (torch.zeros(1, 6, 4), torch.tensor([6])))


def test_an_lstm_of_symbolic_length_is_still_specialised_by_torch_export() -> None:
    with still_fails(
        torch._dynamo.exc.UserError, "specialized it to be a constant (8)", "the operator bidirectional_lstm"
    ):
        exported(_Lstm(), (torch.zeros(1, 8, 4),), ({1: LENGTH},))


def test_an_lstm_is_still_unrolled_over_time() -> None:
    def bindings(steps: int) -> int:
        module = imported(_Lstm(), (torch.zeros(1, steps, 4),))
        return sum(len(block.bindings) for block in module["main"].body.blocks)

    growth = bindings(8) - bindings(4)
    assert growth >= 4 * 20, "works now: remove the operator bidirectional_lstm"


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
    class Scaled(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("shift", torch.ones(10))
            self.scale = torch.nn.Parameter(torch.ones(10))

        def forward(self, x: Tensor) -> Tensor:
            return x * self.scale + self.shift

    module = imported(Scaled(), (SHORT,), keep_params_as_input=True)
    module, _ = relax.frontend.detach_params(module)
    names = [variable.name for variable in module["main"].params]
    assert names == ["x", "p_scale"], "works now: stages may hold tensors as buffers"


def test_two_imported_stages_still_have_the_same_symbol() -> None:
    stages = {"first": lambda x: x * 2, "second": lambda x: x * 3}
    functions = {name: imported(stage, (SHORT,))["main"] for name, stage in stages.items()}
    merged = tvm.IRModule({tvm.ir.GlobalVar(name): function for name, function in functions.items()})
    with still_fails(tvm.error.InternalError, "duplicate global symbol: main", "the renaming of stages"):
        built(merged)
    renamed = {
        tvm.ir.GlobalVar(name): function.with_attr("global_symbol", name)
        for name, function in functions.items()
    }
    machine = relax.VirtualMachine(built(tvm.IRModule(renamed)), tvm.cpu())
    np.testing.assert_array_equal(machine["second"](tvm.runtime.tensor(SHORT.numpy())).numpy(), 3 * SHORT)
