"""Converts torch operators to Relax: one table of converters for `from_exported_program`.

Every row is an operator of `operators` that stands for a TIR kernel, because TVM 0.27 has none of its own
that is fast or exact enough (docs/upstream.md has the reasons). TVM imports and lowers all other operators in
the stages itself: cat, expand, squeeze, sigmoid, sum, slices of channels.
"""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import tvm
from tvm import relax
from tvm.tirx import PrimFunc

from exporter.compiler.kernels import (
    adain,
    attention,
    conv1d,
    convolution,
    embedding,
    gpu,
    harmonic_source,
    layer_norm,
    lstm,
    phases,
    spectrum,
    winograd,
)
from exporter.compiler.kernels.tiles import CHANNEL_BLOCK, Tiles

_CPU = SimpleNamespace(
    adain=adain, conv1d=conv1d, embedding=embedding, layer_norm=layer_norm, lstm=lstm, phases=phases,
    spectrum=spectrum,
)  # fmt: skip
"""The kernels that a GPU has too, under the same names."""


class KernelEmitter:
    """Adds kernels to the module under construction, each distinct one once, and calls them.

    Attributes:
        kernels: the modules they come from, of equal names and functions for CPU and GPU.
        sizes: further arguments of kernels for a CPU: register tiles. Those for a GPU are sized for all.
        builder: TVM's builder of the module.
    """

    def __init__(self, tiles: Tiles | None) -> None:
        self.kernels: Any = gpu if tiles is None else _CPU
        self.sizes = () if tiles is None else (tiles,)
        self.builder: Any = None
        self._added: dict[tuple[Any, ...], relax.GlobalVar] = {}

    def call(
        self,
        name: str,
        make: Callable[..., PrimFunc],
        sizes: tuple[Any, ...],
        arguments: list[Any],
        shape: list[Any],
        in_place: bool = False,
    ) -> relax.Var:
        """Emits a call of the kernel `make(*sizes)` on `arguments`; equal ones are in the module once.

        With `in_place` the output takes the place of the last argument, which nothing may read afterwards.
        """
        key = (name, make, *sizes)
        if key not in self._added:
            self._added[key] = self.builder.add_func(make(*sizes), name)
        placeholder = relax.const(np.zeros(1, np.float32))
        present = [placeholder if argument is None else argument for argument in arguments]
        exact = [tvm.sym.Analyzer().simplify(size) if not isinstance(size, int) else size for size in shape]
        output = relax.TensorType(exact, "float32")
        if in_place:
            call = relax.call_tir_inplace(self._added[key], present, len(present) - 1, output)
        else:
            call = relax.call_tir(self._added[key], present, output)
        return self.builder.emit(call)


def _fixed(tensor: Any, axis: int) -> int:
    """Returns a dimension that does not depend on the length."""
    return int(tensor.ty.shape[axis])


def _dtype(tensor: Any) -> str:
    """Returns the type of a tensor's elements."""
    return str(tensor.ty.dtype)


def _length(tensor: Any) -> Any:
    """Returns the last dimension, symbolic."""
    return tensor.ty.shape[len(tensor.ty.shape) - 1]


def _conv1d(
    emit: KernelEmitter, x: Any, weight: Any, bias: Any, padding: int, dilation: int,
    affine: Any = None, alpha: Any = None, slope: float | None = None, gelu: bool = False,
    residual: Any = None, other: Any = None, scale: float = 1.0, scales: Any = None,
    reads_channels_last: bool = False, writes_channels_last: bool = False, repeats_residual: bool = False,
) -> relax.Var:  # fmt: skip
    spec = convolution.Convolution(
        out_channels=_fixed(weight, 0) * CHANNEL_BLOCK,
        in_channels=_fixed(weight, 1),
        taps=_fixed(weight, 2),
        dilation=dilation,
        padding=padding,
        activation=_activation(affine, alpha, slope),
        slope=slope or 0.0,
        output_activation="gelu" if gelu else "none",
        residuals=(residual is not None) + (other is not None),
        repeats_residual=repeats_residual,
        scale=scale,
        reads_channels_last=reads_channels_last,
        writes_channels_last=writes_channels_last,
        weight_dtype=_dtype(weight),
    )
    return emit.call(
        f"conv1d_{spec.in_channels}_{spec.out_channels}_{spec.taps}",
        emit.kernels.conv1d.convolution, (spec, *emit.sizes),
        [x, weight, bias, affine, alpha, residual, other, *([] if scales is None else [scales])],
        list(spec.output_shape(x.ty.shape[1 if reads_channels_last else 2] + spec.growth)),
    )  # fmt: skip


def _activation(affine: Any, alpha: Any, slope: float | None) -> convolution.InputActivation:
    """Returns the activation that a convolution's arguments stand for."""
    if affine is not None:
        return "adain_snake" if alpha is not None else "adain_leaky_relu"
    return "none" if slope is None else "leaky_relu"


def _winograd_conv1d(
    emit: KernelEmitter, x: Any, weight: Any, bias: Any, taps: int, padding: int,
    dilation: int, affine: Any = None, alpha: Any = None, slope: float | None = None,
    residual: Any = None, other: Any = None, scale: float = 1.0, in_place: bool = False,
    writes_channels_last: bool = True,
) -> relax.Var:  # fmt: skip
    spec = convolution.Convolution(
        out_channels=_fixed(weight, 0) * winograd.BLOCK,
        in_channels=_fixed(weight, 2),
        taps=taps,
        dilation=dilation,
        padding=padding,
        activation=_activation(affine, alpha, slope),
        slope=slope or 0.0,
        residuals=(residual is not None) + (other is not None),
        scale=scale,
        reads_channels_last=True,
        writes_channels_last=writes_channels_last,
        in_place=in_place,
        weight_dtype=_dtype(weight),
    )
    return emit.call(
        f"winograd_{spec.in_channels}_{taps}_{dilation}", winograd.convolution, (spec, *emit.sizes),
        [x, weight, bias, affine, alpha, *([other, residual] if in_place else [residual, other])],
        list(spec.output_shape(x.ty.shape[1] + spec.growth)), in_place,
    )  # fmt: skip


def _adain_affine(
    emit: KernelEmitter, x: Any, style: Any, fc_weight: Any, fc_bias: Any, weight: Any, bias: Any,
    epsilon: float, given: Any = None, channels_last: bool = False,
) -> relax.Var:  # fmt: skip
    family, channels = emit.kernels.adain, _fixed(bias, 0)
    make = family.adain_affine_channels_last if channels_last else family.adain_affine
    sizes = (channels, _fixed(style, 1), epsilon, _dtype(fc_weight), given is not None)
    arguments = [x, style, fc_weight, fc_bias, weight, bias, *([] if given is None else [given])]
    return emit.call("adain_affine", make, sizes, arguments, [3, channels])


def _interleave(
    emit: KernelEmitter, parts: Any, addend: Any, stride: int, padding: int, reflect: bool
) -> relax.Var:
    sizes = (channels := _fixed(addend, 2), stride, padding, reflect)
    shape = [1, addend.ty.shape[1], channels]
    return emit.call("interleave", emit.kernels.phases.interleave, sizes, [parts, addend], shape)


def _fold(emit: KernelEmitter, x: Any, stride: int, padding: int) -> relax.Var:
    channels, length = _fixed(x, 1), tvm.tirx.floordiv(_length(x) - 1, stride) + 1
    sizes = (channels, stride, padding, 1)
    return emit.call("fold", emit.kernels.phases.fold, sizes, [x], [1, channels * stride, length])


def _upsample_pool(
    emit: KernelEmitter, x: Any, affine: Any, weight: Any, bias: Any, slope: float
) -> relax.Var:
    sizes, shape = (_fixed(x, 1), slope), [1, _fixed(x, 1), _length(x) * 2]
    make = emit.kernels.phases.upsample_pool
    return emit.call("upsample_pool", make, sizes, [x, affine, weight, bias], shape)


def _halve(emit: KernelEmitter, x: Any, weight: Any, bias: Any) -> relax.Var:
    shape = [1, 1, tvm.tirx.floordiv(_length(x), 2)]
    return emit.call("halve", emit.kernels.phases.halve, (), [x, weight, bias], shape)


def _embedding(emit: KernelEmitter, token_ids: Any, table: Any, positions: Any = None) -> relax.Var:
    rows, channels = _fixed(table, 0), _fixed(table, 1)
    sizes = (rows, channels, 0 if positions is None else _fixed(positions, 0))
    shape = [1, channels, _length(token_ids)]
    make = emit.kernels.embedding.embedding
    return emit.call("embedding", make, sizes, [token_ids, table, positions], shape)


def _bidirectional_lstm(emit: KernelEmitter, gates: Any, recurrent: Any) -> relax.Var:
    hidden = _fixed(recurrent, 2)
    sizes, shape = (hidden, *emit.sizes, _dtype(recurrent)), [1, 2 * hidden, _length(gates)]
    return emit.call("lstm", emit.kernels.lstm.bidirectional_lstm, sizes, [gates, recurrent], shape)


def _attention(emit: KernelEmitter, projections: Any, heads: int) -> relax.Var:
    channels = _fixed(projections, 1) // 3
    sizes, shape = (heads, channels // heads, *emit.sizes), [1, channels, _length(projections)]
    return emit.call("attention", attention.self_attention, sizes, [projections], shape)


def _layer_norm(
    emit: KernelEmitter, x: Any, weight: Any, bias: Any, epsilon: float, slope: float | None = None
) -> relax.Var:
    sizes, shape = (_fixed(x, 1), epsilon, slope), [1, _fixed(x, 1), _length(x)]
    return emit.call("layer_norm", emit.kernels.layer_norm.layer_norm, sizes, [x, weight, bias], shape)


def _adaptive_layer_norm(emit: KernelEmitter, x: Any, style: Any, epsilon: float) -> relax.Var:
    sizes, shape = (_fixed(x, 1), epsilon), [1, _fixed(x, 1), _length(x)]
    make = emit.kernels.layer_norm.adaptive_layer_norm
    return emit.call("adaptive_layer_norm", make, sizes, [x, style], shape)


def _harmonic_source(emit: KernelEmitter, f0: Any, weight: Any, bias: Any, noise: Any) -> relax.Var:
    make, arguments = harmonic_source.harmonic_source, [f0, weight, bias, noise]
    wave = emit.call("harmonic_source", make, (), arguments, [1, _length(noise)])
    shape = [1, 2 * spectrum.BINS, tvm.tirx.floordiv(_length(noise), spectrum.HOP) + 1]
    return emit.call("source_spectrum", spectrum.source_spectrum, (), [wave], shape)


def _inverse_stft(emit: KernelEmitter, x: Any) -> relax.Var:
    shape = [1, (_length(x) - 1) * 5]
    return emit.call("inverse_stft", emit.kernels.spectrum.inverse_stft, (_fixed(x, 1),), [x], shape)


class Row(NamedTuple):
    """One operator's way to kernels.

    Attributes:
        convert: emits the calls; takes the emitter and the operator's arguments.
        kernels: names of the called kernels, without the numbers that follow them in a library.
    """

    convert: Callable[..., relax.Var]
    kernels: tuple[str, ...]


OPERATORS: dict[str, Row] = {
    # TVM's conv1d runs at 2 GFLOP/s and reads its input four times for AdaIN and Snake.
    "fused_conv1d": Row(_conv1d, ("conv1d",)),
    # The same with half the multiplications, for the generator: 88 % of the model's work.
    "winograd_conv1d": Row(_winograd_conv1d, ("winograd",)),
    # TVM's instance_norm is one-pass, and loses digits where |mean| is much larger than std.
    "adain_affine": Row(_adain_affine, ("adain_affine",)),
    # Reshapes of a symbolic time axis to phases fail in RewriteDataflowReshape in one order of channels, and
    # cost a single-threaded pass in the other.
    "interleave": Row(_interleave, ("interleave",)),
    "fold": Row(_fold, ("fold",)),
    # Grouped transposed convolution and AdaIN before it in one pass.
    "upsample_pool": Row(_upsample_pool, ("upsample_pool",)),
    # Strided slices of a symbolic axis leave min(9223372036854775807, ...) in shapes.
    "halve": Row(_halve, ("halve",)),
    # The table is read into channel-major order at once; positions would need a slice of symbolic length.
    "token_embedding": Row(_embedding, ("embedding",)),
    # nn.LSTM is unrolled over time, and packed sequences fail in torch.export.
    "bidirectional_lstm": Row(_bidirectional_lstm, ("lstm",)),
    # The default schedule of matmul and softmax is single-threaded and calls scalar exp.
    "self_attention": Row(_attention, ("attention",)),
    # TVM's layer_norm has the channels last, and is single-threaded.
    "channel_norm": Row(_layer_norm, ("layer_norm",)),
    "adaptive_channel_norm": Row(_adaptive_layer_norm, ("adaptive_layer_norm",)),
    # float32 cumsum drifts, interpolate(mode="linear") and stft fail to import, and the phase must round as
    # PyTorch's does.
    "harmonic_source": Row(_harmonic_source, ("harmonic_source", "source_spectrum")),
    # istft fails to import.
    "inverse_stft": Row(_inverse_stft, ("inverse_stft",)),
}
"""All operators of `operators`."""


def converters(tiles: Tiles | None) -> dict[str, Callable[[Any, Any], relax.Var]]:
    """Returns the converters of one import, for `custom_convert_map`.

    Args:
        tiles: register tiles of the CPU level that is compiled for; None for a GPU.
    """
    emitter = KernelEmitter(tiles)

    def of(row: Row) -> Callable[[Any, Any], relax.Var]:
        def convert(node: Any, importer: Any) -> relax.Var:
            emitter.builder = importer.block_builder
            return row.convert(emitter, *importer.retrieve_args(node), **node.kwargs)

        return convert

    return {f"{name}.default": of(row) for name, row in OPERATORS.items()}
