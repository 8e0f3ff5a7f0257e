"""Adaptive instance normalisation as an affine map for each channel: statistics over the whole valid length.

The map is applied where the tensor is read next (`conv1d`, `phases`), so AdaIN itself writes three numbers
a channel. Two passes, because a one-pass variance loses its digits where |mean| is much larger than std; the
second also sums the deviations, which are what the first pass's mean is off by
(Chan, Golub and LeVeque, 1983).
"""

from tvm.script import tirx as T
from tvm.tirx import PrimFunc

_LANES = 32


def adain_affine(channels: int, style: int, epsilon: float) -> PrimFunc:
    """Mean, scale and shift of kokoro's `AdaIN1d`: y = (x - mean) * scale + shift.

    gamma, beta = fc(style); y = (1 + gamma) * (weight * (x - mean) / sqrt(var + epsilon) + bias) + beta, with
    the biased variance over the n time steps.

    Buffers, float32: x [1, channels, n]; style [1, style]; fc_weight [2 * channels, style];
    fc_bias [2 * channels]; weight [channels]; bias [channels]; the output [channels, 3].
    """
    if style % _LANES:
        raise ValueError(f"style size {style} is not a multiple of {_LANES}")

    @T.prim_func(private=True, s_tir=True)
    def adain(
        x_handle: T.handle, style_handle: T.handle, fc_weight_handle: T.handle, fc_bias_handle: T.handle,
        weight_handle: T.handle, bias_handle: T.handle, affine_handle: T.handle,
    ) -> None:  # fmt: skip
        T.func_attr({"tirx.noalias": True, "op_pattern": 8})
        n = T.int64()
        x = T.match_buffer(x_handle, (1, channels, n), "float32")
        styles = T.match_buffer(style_handle, (1, style), "float32")
        fc_weight = T.match_buffer(fc_weight_handle, (2 * channels, style), "float32")
        fc_bias = T.match_buffer(fc_bias_handle, (2 * channels,), "float32")
        weight = T.match_buffer(weight_handle, (channels,), "float32")
        bias = T.match_buffer(bias_handle, (channels,), "float32")
        affine = T.match_buffer(affine_handle, (channels, 3), "float32")
        for channel in T.parallel(channels):
            partial = T.alloc_buffer((_LANES,), "float32", scope="local")
            squares = T.alloc_buffer((_LANES,), "float32", scope="local")
            deviation = T.alloc_buffer((_LANES,), "float32", scope="local")
            # mean, variance, gamma, beta, what the mean of the first pass is off by
            total = T.alloc_buffer((5,), "float32", scope="local")
            vectors: T.let[T.int64] = T.floordiv(n, _LANES)

            for lane in T.vectorized(_LANES):
                partial[lane] = T.float32(0)
            for vector in T.serial(vectors):
                for lane in T.vectorized(_LANES):
                    partial[lane] = partial[lane] + x[0, channel, vector * _LANES + lane]
            total[0] = T.float32(0)
            for rest in T.serial(n - vectors * _LANES):
                total[0] = total[0] + x[0, channel, vectors * _LANES + rest]
            for lane in T.serial(_LANES):
                total[0] = total[0] + partial[lane]
            total[0] = total[0] / T.cast(n, "float32")

            for lane in T.vectorized(_LANES):
                partial[lane] = T.float32(0)
                squares[lane] = T.float32(0)
            for vector in T.serial(vectors):
                for lane in T.vectorized(_LANES):
                    deviation[lane] = x[0, channel, vector * _LANES + lane] - total[0]
                    partial[lane] = partial[lane] + deviation[lane]
                    squares[lane] = squares[lane] + deviation[lane] * deviation[lane]
            total[1] = T.float32(0)
            total[4] = T.float32(0)
            for rest in T.serial(n - vectors * _LANES):
                deviation[0] = x[0, channel, vectors * _LANES + rest] - total[0]
                total[4] = total[4] + deviation[0]
                total[1] = total[1] + deviation[0] * deviation[0]
            for lane in T.serial(_LANES):
                total[4] = total[4] + partial[lane]
                total[1] = total[1] + squares[lane]
            total[4] = total[4] / T.cast(n, "float32")
            total[0] = total[0] + total[4]
            total[1] = total[1] / T.cast(n, "float32") - total[4] * total[4]

            for part in T.unroll(2):
                for lane in T.vectorized(_LANES):
                    partial[lane] = T.float32(0)
                for vector in T.serial(style // _LANES):
                    for lane in T.vectorized(_LANES):
                        partial[lane] = (
                            partial[lane]
                            + styles[0, vector * _LANES + lane]
                            * fc_weight[part * channels + channel, vector * _LANES + lane]
                        )
                total[2 + part] = fc_bias[part * channels + channel]
                for lane in T.serial(_LANES):
                    total[2 + part] = total[2 + part] + partial[lane]
            affine[channel, 0] = total[0]
            affine[channel, 1] = (
                (T.float32(1) + total[2]) * weight[channel] / T.sqrt(total[1] + T.float32(epsilon))
            )
            affine[channel, 2] = (T.float32(1) + total[2]) * bias[channel] + total[3]

    return adain
