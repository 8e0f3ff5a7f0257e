"""Operators and converters belong together, and say which axis is the time."""

import numpy as np
import pytest
import torch
from kokoro.istftnet import AdaIN1d
from torch import Tensor, nn
from tvm.relax.frontend.torch.exported_program_translator import ExportedProgramImporter

from exporter.compiler import operators
from exporter.compiler.converters import OPERATORS, converters
from exporter.compiler.passes import compile_module
from exporter.compiler.stages.audio import Snake, Upsampler
from exporter.compiler.stages.layers import AdaIN, Conv, WinogradConv
from runtime_min.format.signatures import StageSignature, TensorSignature
from runtime_min.model.distances import snr
from tests.support.kernels.on_cpu import LEVELS, TILES
from tests.support.tiny import stage as tiny_stage

CHANNELS, STYLE = 32, 32


def operator_names() -> set[str]:
    """The operators that torch has registered for the exporter."""
    names = (name.partition("::") for name in torch._C._dispatch_get_all_op_names())
    return {name for namespace, _, name in names if namespace == operators.NAMESPACE}


def test_every_operator_has_a_converter_and_every_converter_an_operator() -> None:
    assert operator_names() == set(OPERATORS)
    assert set(converters(TILES[LEVELS[0]])) == {f"{name}.default" for name in OPERATORS}


def test_no_operator_is_called_like_one_that_tvm_imports_itself_or_torch_has() -> None:
    imported = {name.split(".")[0] for name in ExportedProgramImporter().create_convert_map()}
    assert not operator_names() & (imported | set(dir(torch.ops.aten)))


class ChannelsLast(nn.Module):
    """The generator in small: an upsampler, a residual convolution with its AdaIN, a last convolution.

    The upsampler is the first, which reads channels first and computes directly, or a later one.
    """

    SIGNATURE = StageSignature(
        "small", "frames", 3,
        (
            TensorSignature("x", "float32", (1, CHANNELS, (1, "frames"))),
            TensorSignature("addend", "float32", (1, CHANNELS, (2, "frames"))),
            TensorSignature("style", "float32", (1, STYLE)),
        ),
        (),
    )  # fmt: skip

    def __init__(self, later: bool) -> None:
        super().__init__()
        with torch.random.fork_rng():
            torch.manual_seed(0)
            self.first = Conv.of(nn.Conv1d(CHANNELS, CHANNELS, 1), writes_channels_last=later)
            up = nn.ConvTranspose1d(CHANNELS, CHANNELS, 4, stride=2, padding=1)
            self.up = Upsampler(up, reflect=False, reads_channels_last=later, winograd=later)
            self.source = Conv.of(nn.Conv1d(CHANNELS, CHANNELS, 1), writes_channels_last=True)
            self.norm = AdaIN(AdaIN1d(STYLE, CHANNELS), channels_last=True)
            self.conv = WinogradConv.of(nn.Conv1d(CHANNELS, CHANNELS, 3, padding=1))
            self.last = WinogradConv.of(nn.Conv1d(CHANNELS, 22, 3, padding=1), writes_channels_last=False)
        self.snake = Snake(torch.linspace(0.5, 1.5, CHANNELS))

    def forward(self, x: Tensor, addend: Tensor, style: Tensor) -> tuple[Tensor, Tensor]:
        """[1, 32, n], [1, 32, 2 * n] and [1, 32] to [1, 2 * n, 32] and [1, 32, 2 * n]."""
        x = self.up(self.first(x), self.source(addend), 0.1)
        x = self.conv(x, self.norm(x, style), self.snake.alpha, residual=x)
        return x, self.last(x, slope=0.01)


@pytest.mark.parametrize("later", [False, True])
def test_kernels_compute_what_operators_do_where_channels_are_last(later: bool) -> None:
    stage = ChannelsLast(later)
    module = tiny_stage.imported(stage, "small", ChannelsLast.SIGNATURE)
    executable = compile_module(module, tiny_stage.target())
    parameters = [value.detach().numpy() for value in stage.parameters()]
    for length in (3, 40, 100):
        random = np.random.default_rng(length)
        inputs = [
            random.standard_normal(tensor.concrete(length), np.float32) for tensor in stage.SIGNATURE.inputs
        ]
        with torch.no_grad():
            expected = stage(*map(torch.from_numpy, inputs))
        found = tiny_stage.run(executable, "small", *inputs, *parameters)
        for value, wanted in zip(found, expected, strict=True):
            assert value.shape == wanted.shape
            # Winograd's rounding: measured are 127 dB.
            assert snr(value, wanted.numpy()) >= 120
