"""A stage becomes one function of its inputs and its weights, at any length."""

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from tvm import IRModule, relax
from tvm.ir.expr import GenericConst

from exporter.compiler.kernels.conv1d import LAYOUT
from exporter.compiler.passes import compile_module
from exporter.compiler.stages import stage_weights
from exporter.compiler.stages.audio import F0N
from exporter.compiler.stages.layers import Conv
from runtime_min.format.signatures import StageSignature, TensorSignature
from tests.support.kernels.on_cpu import relative_error
from tests.support.tiny import stage as tiny_stage


@pytest.fixture(scope="module")
def stage() -> F0N:
    return tiny_stage.make()


@pytest.fixture(scope="module")
def module(stage: F0N) -> IRModule:
    return tiny_stage.imported(stage, "entry")


@pytest.fixture(scope="module")
def executable(module: IRModule) -> relax.VMExecutable:
    return compile_module(module, tiny_stage.target())


def parameters_of(module: IRModule, function: str) -> list[tuple[int | str, ...]]:
    """Shapes of a function's parameters, with names for lengths."""
    return [
        tuple(
            int(size) if isinstance(size, int) or hasattr(size, "value") else str(size)
            for size in value.ty.shape
        )
        for value in module[function].params
    ]


def test_the_entry_function_has_the_given_name(module: IRModule) -> None:
    functions = [
        name.name_hint for name, body in module.functions_items() if isinstance(body, relax.Function)
    ]
    assert functions == ["entry"]
    assert module["entry"].attrs["global_symbol"] == "entry"


def test_parameters_are_the_inputs_and_then_the_weights(module: IRModule, stage: F0N) -> None:
    first, second, *weights = parameters_of(module, "entry")
    assert first[:2] == (1, tiny_stage.HIDDEN + tiny_stage.STYLE)
    assert isinstance(first[2], str)
    assert second == (1, tiny_stage.STYLE)
    assert weights == [weight.values.shape for weight in stage_weights(stage)]


@pytest.mark.parametrize("length", [3, 4, 17, 64, tiny_stage.BUCKET])
def test_the_compiled_stage_computes_what_the_module_does(
    length: int, stage: F0N, executable: relax.VMExecutable
) -> None:
    inputs = tiny_stage.inputs(length)
    weights = [weight.values for weight in stage_weights(stage)]
    outputs = tiny_stage.run(executable, "entry", *inputs, *weights)
    expected = stage(*map(torch.from_numpy, inputs))
    for output, value, tensor in zip(outputs, expected, tiny_stage.SIGNATURE.outputs, strict=True):
        assert output.shape == tensor.concrete(length)
        assert relative_error(output, value.double().numpy()) <= 1e-5


def test_no_weight_is_embedded_in_the_module(module: IRModule) -> None:
    constants = []

    def collect(expression: relax.Expr) -> None:
        if isinstance(expression, GenericConst):
            constants.append(expression.value.numpy().nbytes)

    relax.analysis.post_order_visit(module["entry"], collect)
    # Arguments that a kernel does not have are one zero.
    assert constants
    assert max(constants) <= 8


def test_equal_kernels_are_in_the_module_once(module: IRModule) -> None:
    kernels = [body for _, body in module.functions_items() if not isinstance(body, relax.Function)]
    texts = {kernel.script() for kernel in kernels}
    assert len(texts) == len(kernels)


class Halves(nn.Module):
    """Two signals of twice and six times the length, the latter with one sample more."""

    SIGNATURE = StageSignature(
        "halves", "frames", 3,
        (
            TensorSignature("slow", "float32", (1, (2, "frames"))),
            TensorSignature("fast", "float32", (1, (6, "frames", 1))),
        ),
        (),
    )  # fmt: skip

    def __init__(self) -> None:
        super().__init__()
        self.conv = Conv(torch.ones(32, 1, 2), None)

    def forward(self, slow: Tensor, fast: Tensor) -> tuple[Tensor, Tensor]:
        """[1, 2 * n] and [1, 6 * n + 1] to [1, 32, 2 * n - 1] and [1, 32, 6 * n]."""
        return self.conv(slow[:, None]), self.conv(fast[:, None])


@pytest.mark.parametrize("kind", [tiny_stage.Sums, Halves])
def test_lengths_are_multiples_with_offsets_of_one_that_may_start_at_twice_the_stages(
    kind: type[tiny_stage.Sums] | type[Halves],
) -> None:
    stage = kind().eval()
    module = tiny_stage.imported(stage, "stage", kind.SIGNATURE)
    # Weights that are not used keep their place.
    unused = [] if kind is Halves else [(2, 1, 1, 32), (64,)]
    assert parameters_of(module, "stage")[2:] == [*unused, (1, 1, 2, 32), (32,)]
    executable = compile_module(module, tiny_stage.target())
    weights = [weight.values for weight in stage_weights(stage)]
    for length in (3, 4, tiny_stage.BUCKET):
        signals = [
            np.arange(tensor.concrete(length)[1], dtype=np.float32)[None] for tensor in kind.SIGNATURE.inputs
        ]
        outputs = tiny_stage.run(executable, "stage", *signals, *weights)
        for output, x in zip(outputs, signals, strict=True):
            np.testing.assert_array_equal(output, np.repeat((x[:, 1:] + x[:, :-1])[:, None], 32, axis=1))


def test_weights_have_the_names_values_and_layouts_of_the_parameters() -> None:
    conv = Conv(torch.randn(5, 3, 2), torch.randn(5))
    weight, bias = stage_weights(conv)
    assert (weight.name, weight.layout) == ("weight", LAYOUT)
    assert (bias.name, bias.layout) == ("bias", "row-major")
    np.testing.assert_array_equal(weight.values, conv.weight.numpy())
    assert weight.values.flags.c_contiguous
