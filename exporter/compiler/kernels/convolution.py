"""Convolutions: their description, and the code that their kernels for CPUs and GPUs share."""

from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType
from typing import Any, Literal, NamedTuple

from tvm.script import tirx as T
from tvm.tirx import PrimFunc

from exporter.compiler.kernels import vector_math
from exporter.compiler.kernels.function import kernel_function, length

InputActivation = Literal["none", "leaky_relu", "adain_leaky_relu", "adain_snake"]
OutputActivation = Literal["none", "gelu"]
Width = Literal["narrow", "medium", "wide"]


@dataclass(frozen=True)
class Convolution:
    """Description of a convolution kernel; equal descriptions share one kernel.

    Attributes:
        out_channels: output channels, a multiple of `CHANNEL_BLOCK`.
        in_channels: input channels.
        taps: kernel size.
        dilation: distance between taps.
        padding: zeros on both sides.
        activation: applied to the input; the two with AdaIN first apply (x - mean) * scale + shift.
        slope: negative slope of leaky_relu.
        output_activation: applied after the bias, before residuals.
        residuals: number of tensors of the output's shape that are added (0, 1 or 2).
        repeats_residual: the first of them has half the length, and each of its time steps is added twice.
        scale: factor of the sum.
        reads_channels_last: the input is [1, time, channels] instead of [1, channels, time].
        writes_channels_last: the same for the output and the residuals.
        in_place: the output overwrites the first residual, so the two share one argument.
        weight_dtype: type of the stored weight.
    """

    out_channels: int
    in_channels: int
    taps: int
    dilation: int = 1
    padding: int = 0
    activation: InputActivation = "none"
    slope: float = 0.0
    output_activation: OutputActivation = "none"
    residuals: int = 0
    repeats_residual: bool = False
    scale: float = 1.0
    reads_channels_last: bool = False
    writes_channels_last: bool = False
    in_place: bool = False
    weight_dtype: str = "float32"

    @property
    def growth(self) -> int:
        """Output length less input length."""
        return 2 * self.padding - self.dilation * (self.taps - 1)

    @property
    def affine_shape(self) -> tuple[int, ...]:
        """Shape of the argument `affine`; one number where there is no AdaIN."""
        return (3, self.in_channels) if self.activation.startswith("adain") else (1,)

    @property
    def alpha_shape(self) -> tuple[int, ...]:
        """Shape of the argument `alpha`; one number where there is no Snake."""
        return (2, self.in_channels) if self.activation == "adain_snake" else (1,)

    def residual_shape(self, length: Any) -> tuple[Any, ...]:
        """Shape of the first residual of an output of `length` time steps."""
        if self.residuals == 0:
            return (1,)
        return self.output_shape((length + 1) // 2 if self.repeats_residual else length)

    def input_shape(self, length: Any) -> tuple[Any, ...]:
        """Shape of the input of `length` time steps."""
        return (1, length, self.in_channels) if self.reads_channels_last else (1, self.in_channels, length)

    def output_shape(self, length: Any) -> tuple[Any, ...]:
        """Shape of the output and of each residual, of `length` time steps."""
        return (1, length, self.out_channels) if self.writes_channels_last else (1, self.out_channels, length)

    @property
    def width(self) -> Width:
        """Class of the number of output channels, by which sizes are chosen."""
        return "wide" if self.out_channels >= 512 else "medium" if self.out_channels >= 256 else "narrow"


class Buffers(NamedTuple):
    """The arguments of a convolution kernel; `y` is the output. Unused ones have one element."""

    x: Any
    weight: Any
    bias: Any
    affine: Any
    alpha: Any
    residual: Any
    other: Any
    scales: Any
    y: Any


def convolution_function(
    spec: Convolution,
    weight_shape: tuple[int, ...],
    body: Callable[[Buffers, Any], None],
    scales_shape: tuple[int, ...] | None = None,
) -> PrimFunc:
    """Returns a kernel that declares the arguments of a convolution and runs the macro `body(buffers, n)`.

    Arguments, float32 but the weight: x [1, in, n]; weight `weight_shape`; bias [out]; affine [3, in]
    (mean, scale, shift) with AdaIN, else [1]; alpha [2, in] (alpha, 1/alpha) with Snake, else [1]; residual
    and other [1, out, n + growth] where used, else [1], and residual of half the length where it is repeated;
    scales `scales_shape`, float16, if there is one; the output [1, out, n + growth]. Where `spec` has the
    channels last, the last two axes change places. With `spec.in_place` the argument residual is left out.
    """
    n = length()
    output = spec.output_shape(n + spec.growth)
    shapes = Buffers(
        x=spec.input_shape(n),
        weight=weight_shape,
        bias=(spec.out_channels,),
        affine=spec.affine_shape,
        alpha=spec.alpha_shape,
        residual=spec.residual_shape(n + spec.growth),
        other=output if spec.residuals > 1 else (1,),
        scales=scales_shape,
        y=output,
    )._asdict()
    if spec.in_place:
        del shapes["residual"]
    if scales_shape is None:
        del shapes["scales"]
    return kernel_function(
        lambda **buffers: body(Buffers(**{"residual": buffers["y"], "scales": None, **buffers}), n),
        shapes,
        {"weight": spec.weight_dtype, "scales": "float16"},
    )


def element(buffer: Any, channel: Any, time: Any, channels_last: bool) -> Any:
    """Returns one element of an activation in either order of axes."""
    return buffer[0, time, channel] if channels_last else buffer[0, channel, time]


def activate(spec: Convolution, x: Any, buffers: Buffers, channel: Any) -> Any:
    """Returns the activated input sample `x` as a TIR expression."""
    return apply_activation(spec, apply_affine(spec, x, buffers, channel), buffers, channel)


def apply_affine(spec: Convolution, x: Any, buffers: Buffers, channel: Any) -> Any:
    """Returns AdaIN's affine map of `x`, or `x` where there is no AdaIN."""
    if not spec.activation.startswith("adain"):
        return x
    affine = buffers.affine
    return (x - affine[0, channel]) * affine[1, channel] + affine[2, channel]


def apply_activation(
    spec: Convolution, x: Any, buffers: Buffers, channel: Any, functions: ModuleType = vector_math
) -> Any:
    """Returns Snake or leaky_relu of `x` in terms of `functions`, or `x` where there is neither."""
    if spec.activation == "none":
        return x
    if spec.activation == "adain_snake":
        return functions.snake(x, buffers.alpha[0, channel], buffers.alpha[1, channel])
    return functions.leaky_relu(x, spec.slope)


def store_output(
    spec: Convolution, total: Any, buffers: Buffers, channel: Any, time: Any,
    functions: ModuleType = vector_math,
) -> None:  # fmt: skip
    """Emits the store of one output: activation(total + bias), plus the residuals, times the scale."""
    store_sum(spec, with_bias(spec, total, buffers, channel, functions), buffers, channel, time)


def with_bias(
    spec: Convolution, total: Any, buffers: Buffers, channel: Any, functions: ModuleType = vector_math
) -> Any:
    """Returns activation(total + bias)."""
    total = total + buffers.bias[channel]
    return functions.gelu_new(total) if spec.output_activation == "gelu" else total


def store_sum(spec: Convolution, total: Any, buffers: Buffers, channel: Any, time: Any) -> None:
    """Emits the store of one output: `with_bias`, plus the residuals, times the scale."""
    places = (T.floordiv(time, 2) if spec.repeats_residual else time, time)
    for addend, place in zip((buffers.residual, buffers.other)[: spec.residuals], places, strict=False):
        total = total + element(addend, channel, place, spec.writes_channels_last)
    if spec.scale != 1.0:
        total = total * T.float32(spec.scale)
    T.buffer_store(buffers.y, total, [0, time, channel] if spec.writes_channels_last else [0, channel, time])
