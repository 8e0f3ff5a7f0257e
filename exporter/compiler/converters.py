"""How torch operators become Relax: one registry of converters for `from_exported_program`.

Every entry is an operator of `operators` that stands for a TIR kernel: TVM 0.27 has no kernel
of its own that is fast or exact enough (docs/upstream.md tells of each). All other operators in the stages
(cat, expand, squeeze, sigmoid, sum, repeat_interleave, slices of channels) are TVM's own to import
and to lower.
"""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

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

Converter = Callable[[Any, Any], relax.Var]
_CPU = SimpleNamespace(
    adain=adain, conv1d=conv1d, embedding=embedding, layer_norm=layer_norm, lstm=lstm, phases=phases,
    spectrum=spectrum,
)  # fmt: skip
"""What there is for a GPU too, under the same names."""


class KernelEmitter:
    """Adds kernels to the module under construction, each distinct one once, and calls them.

    Attributes:
        kernels: the modules they come from, of equal names and functions for CPU and GPU.
        sizes: what kernels for a CPU take beside: register tiles. Those for a GPU are sized for all.
    """

    def __init__(self, tiles: Tiles | None) -> None:
        self.kernels: Any = gpu if tiles is None else _CPU
        self.sizes = () if tiles is None else (tiles,)
        self._added: dict[tuple[Any, ...], relax.GlobalVar] = {}

    def call(
        self,
        importer: Any,
        name: str,
        key: tuple[Any, ...],
        make: Callable[[], PrimFunc],
        arguments: list[Any],
        shape: list[Any],
        in_place: bool = False,
    ) -> relax.Var:
        """Emits a call of the kernel `make()` on `arguments`; equal `name` and `key` share one kernel.

        With `in_place` the output takes the place of the last argument, which nothing may read afterwards.
        """
        builder = importer.block_builder
        if (name, *key) not in self._added:
            self._added[(name, *key)] = builder.add_func(make(), name)
        placeholder = relax.const(np.zeros(1, np.float32))
        present = [placeholder if argument is None else argument for argument in arguments]
        exact = [tvm.sym.Analyzer().simplify(size) if not isinstance(size, int) else size for size in shape]
        kernel = self._added[(name, *key)]
        output = relax.TensorType(exact, "float32")
        if in_place:
            return builder.emit(relax.call_tir_inplace(kernel, present, len(present) - 1, output))
        return builder.emit(relax.call_tir(kernel, present, output))


def _fixed(tensor: Any, axis: int) -> int:
    """A dimension that does not depend on the length."""
    return int(tensor.ty.shape[axis])


def _length(tensor: Any) -> Any:
    """The last dimension, symbolic."""
    return tensor.ty.shape[len(tensor.ty.shape) - 1]


def converters(tiles: Tiles | None) -> dict[str, Converter]:
    """The registry for one import, for `custom_convert_map`.

    Args:
        tiles: register tiles of the CPU level that is compiled for; None for a GPU.
    """
    emitter = KernelEmitter(tiles)

    def with_arguments(convert: Callable[..., relax.Var]) -> Converter:
        return lambda node, importer: convert(emitter, importer, *importer.retrieve_args(node), **node.kwargs)

    return {f"{name}.default": with_arguments(convert) for name, convert in _CONVERT.items()}


def _conv1d(
    emitter: KernelEmitter, importer: Any, x: Any, weight: Any, bias: Any, padding: int, dilation: int,
    affine: Any = None, alpha: Any = None, slope: float | None = None, gelu: bool = False,
    residual: Any = None, other: Any = None, scale: float = 1.0,
    reads_channels_last: bool = False, writes_channels_last: bool = False,
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
        scale=scale,
        reads_channels_last=reads_channels_last,
        writes_channels_last=writes_channels_last,
    )
    return emitter.call(
        importer, f"conv1d_{spec.in_channels}_{spec.out_channels}_{spec.taps}", (spec,),
        lambda: emitter.kernels.conv1d.convolution(spec, *emitter.sizes),
        [x, weight, bias, affine, alpha, residual, other],
        list(spec.output_shape(x.ty.shape[1 if reads_channels_last else 2] + spec.growth)),
    )  # fmt: skip


def _activation(affine: Any, alpha: Any, slope: float | None) -> convolution.InputActivation:
    """What the arguments of a convolution stand for."""
    if affine is not None:
        return "adain_snake" if alpha is not None else "adain_leaky_relu"
    return "none" if slope is None else "leaky_relu"


def _winograd_conv1d(
    emitter: KernelEmitter, importer: Any, x: Any, weight: Any, bias: Any, taps: int, padding: int,
    dilation: int, affine: Any = None, alpha: Any = None, slope: float | None = None,
    residual: Any = None, other: Any = None, scale: float = 1.0, in_place: bool = False,
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
        writes_channels_last=True,
        in_place=in_place,
    )
    return emitter.call(
        importer, f"winograd_{spec.in_channels}_{taps}_{dilation}", (spec,),
        lambda: winograd.convolution(spec, *emitter.sizes),
        [x, weight, bias, affine, alpha, *([other, residual] if in_place else [residual, other])],
        list(spec.output_shape(x.ty.shape[1] + spec.growth)), in_place,
    )  # fmt: skip


def _adain_affine(
    emitter: KernelEmitter, importer: Any, x: Any, style: Any, *rest: Any, channels_last: bool = False
) -> relax.Var:
    *weights, epsilon = rest
    channels, styles = _fixed(weights[-1], 0), _fixed(style, 1)
    family = emitter.kernels.adain
    make = family.adain_affine_channels_last if channels_last else family.adain_affine
    return emitter.call(
        importer, "adain_affine", (channels, styles, epsilon, channels_last),
        lambda: make(channels, styles, epsilon), [x, style, *weights], [3, channels],
    )  # fmt: skip


def _interleave(
    emitter: KernelEmitter, importer: Any, parts: Any, addend: Any, stride: int, padding: int, reflect: bool
) -> relax.Var:
    channels = _fixed(addend, 2)
    return emitter.call(
        importer, "interleave", (channels, stride, padding, reflect),
        lambda: emitter.kernels.phases.interleave(channels, stride, padding, reflect), [parts, addend],
        [1, addend.ty.shape[1], channels],
    )  # fmt: skip


def _fold(emitter: KernelEmitter, importer: Any, x: Any, stride: int, padding: int) -> relax.Var:
    channels = _fixed(x, 1)
    length = tvm.tirx.floordiv(_length(x) - 1, stride) + 1
    return emitter.call(
        importer, "fold", (channels, stride, padding),
        lambda: emitter.kernels.phases.fold(channels, stride, padding, 1), [x],
        [1, channels * stride, length],
    )  # fmt: skip


def _upsample_pool(
    emitter: KernelEmitter, importer: Any, x: Any, affine: Any, weight: Any, bias: Any, slope: float
) -> relax.Var:
    channels = _fixed(x, 1)
    return emitter.call(
        importer, "upsample_pool", (channels, slope),
        lambda: emitter.kernels.phases.upsample_pool(channels, slope),
        [x, affine, weight, bias], [1, channels, _length(x) * 2],
    )  # fmt: skip


def _halve(emitter: KernelEmitter, importer: Any, x: Any, weight: Any, bias: Any) -> relax.Var:
    shape = [1, 1, tvm.tirx.floordiv(_length(x), 2)]
    return emitter.call(importer, "halve", (), emitter.kernels.phases.halve, [x, weight, bias], shape)


def _embedding(
    emitter: KernelEmitter, importer: Any, token_ids: Any, table: Any, positions: Any = None
) -> relax.Var:
    rows, channels = _fixed(table, 0), _fixed(table, 1)
    limit = 0 if positions is None else _fixed(positions, 0)
    return emitter.call(
        importer, "embedding", (rows, channels, limit),
        lambda: emitter.kernels.embedding.embedding(rows, channels, limit),
        [token_ids, table, positions], [1, channels, _length(token_ids)],
    )  # fmt: skip


def _bidirectional_lstm(emitter: KernelEmitter, importer: Any, gates: Any, recurrent: Any) -> relax.Var:
    hidden = _fixed(recurrent, 2)
    return emitter.call(
        importer, "lstm", (hidden,), lambda: emitter.kernels.lstm.bidirectional_lstm(hidden, *emitter.sizes),
        [gates, recurrent], [1, 2 * hidden, _length(gates)],
    )  # fmt: skip


def _attention(emitter: KernelEmitter, importer: Any, projections: Any, heads: int) -> relax.Var:
    channels = _fixed(projections, 1) // 3
    return emitter.call(
        importer, "attention", (channels, heads),
        lambda: attention.self_attention(heads, channels // heads, *emitter.sizes),
        [projections], [1, channels, _length(projections)],
    )  # fmt: skip


def _layer_norm(
    emitter: KernelEmitter, importer: Any, x: Any, weight: Any, bias: Any, epsilon: float,
    slope: float | None = None,
) -> relax.Var:  # fmt: skip
    channels = _fixed(x, 1)
    return emitter.call(
        importer, "layer_norm", (channels, epsilon, slope),
        lambda: emitter.kernels.layer_norm.layer_norm(channels, epsilon=epsilon, leaky_slope=slope),
        [x, weight, bias], [1, channels, _length(x)],
    )  # fmt: skip


def _adaptive_layer_norm(
    emitter: KernelEmitter, importer: Any, x: Any, style: Any, epsilon: float
) -> relax.Var:
    channels = _fixed(x, 1)
    return emitter.call(
        importer, "adaptive_layer_norm", (channels, epsilon),
        lambda: emitter.kernels.layer_norm.adaptive_layer_norm(channels, epsilon=epsilon), [x, style],
        [1, channels, _length(x)],
    )  # fmt: skip


def _harmonic_source(
    emitter: KernelEmitter, importer: Any, f0: Any, weight: Any, bias: Any, noise: Any
) -> relax.Var:
    wave = emitter.call(
        importer, "harmonic_source", (), harmonic_source.harmonic_source, [f0, weight, bias, noise],
        [1, _length(noise)],
    )  # fmt: skip
    return emitter.call(
        importer, "source_spectrum", (), spectrum.source_spectrum, [wave],
        [1, 2 * spectrum.BINS, tvm.tirx.floordiv(_length(noise), spectrum.HOP) + 1],
    )  # fmt: skip


def _inverse_stft(emitter: KernelEmitter, importer: Any, x: Any) -> relax.Var:
    channels = _fixed(x, 1)
    return emitter.call(
        importer, "inverse_stft", (channels,), lambda: emitter.kernels.spectrum.inverse_stft(channels), [x],
        [1, (_length(x) - 1) * 5],
    )  # fmt: skip


_CONVERT: dict[str, Callable[..., relax.Var]] = {
    # TVM's conv1d runs at 2 GFLOP/s and reads its input four times for AdaIN and Snake.
    "fused_conv1d": _conv1d,
    # The same with half the multiplications, for the generator: 88 % of the model's work.
    "winograd_conv1d": _winograd_conv1d,
    # TVM's instance_norm is one-pass, and loses digits where |mean| is much larger than std.
    "adain_affine": _adain_affine,
    # Reshapes of a symbolic time axis to phases fail in RewriteDataflowReshape in one order of channels, and
    # cost a single-threaded pass in the other.
    "interleave": _interleave,
    "fold": _fold,
    # Grouped transposed convolution and AdaIN before it in one pass.
    "upsample_pool": _upsample_pool,
    # Strided slices of a symbolic axis leave min(9223372036854775807, ...) in shapes.
    "halve": _halve,
    # The table is read into channel-major order at once; positions would need a slice of symbolic length.
    "token_embedding": _embedding,
    # nn.LSTM is unrolled over time, and packed sequences fail in torch.export.
    "bidirectional_lstm": _bidirectional_lstm,
    # The default schedule of matmul and softmax is single-threaded and calls scalar exp.
    "self_attention": _attention,
    # TVM's layer_norm has the channels last, and is single-threaded.
    "channel_norm": _layer_norm,
    "adaptive_channel_norm": _adaptive_layer_norm,
    # float32 cumsum drifts, interpolate(mode="linear") and stft fail to import, and the phase must round as
    # PyTorch's does.
    "harmonic_source": _harmonic_source,
    # istft fails to import.
    "inverse_stft": _inverse_stft,
}

KERNELS: dict[str, tuple[str, ...]] = {
    "fused_conv1d": ("conv1d",),
    "winograd_conv1d": ("winograd",),
    "adain_affine": ("adain_affine",),
    "interleave": ("interleave",),
    "fold": ("fold",),
    "upsample_pool": ("upsample_pool",),
    "halve": ("halve",),
    "token_embedding": ("embedding",),
    "bidirectional_lstm": ("lstm",),
    "self_attention": ("attention",),
    "channel_norm": ("layer_norm",),
    "adaptive_channel_norm": ("adaptive_layer_norm",),
    "harmonic_source": ("harmonic_source", "source_spectrum"),
    "inverse_stft": ("inverse_stft",),
}
"""Names of the kernels that an operator becomes, without the numbers that follow them in a library."""
