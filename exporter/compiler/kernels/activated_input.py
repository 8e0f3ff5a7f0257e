"""Copies of a convolution job's input, direct or transforming: activated, with zeros outside the signal.

The zeros stand *after* the activation, as a convolution's padding does.
"""

import math
from typing import Any

from tvm.script import tirx as T

from exporter.compiler.kernels.convolution import Convolution, activate

COPY = 16
"""Samples of a vector of activated input, on every CPU level."""


def rows_of_time(spec: Convolution) -> Any:
    """Returns a TIR macro that writes `steps` samples of `channels` channels, from the two given ones on."""

    @T.inline
    def fill(
        tile: Any, buffers: Any, first_channel: Any, channels: Any, first: Any, steps: Any, n: Any
    ) -> None:
        # A chunk is copied for all channels before the next one, so its ends are computed once.
        for chunk, row in T.grid(T.floordiv(steps + (COPY - 1), COPY), channels):
            time: T.let[T.int64] = first + chunk * COPY
            channel: T.let[T.int64] = first_channel + row
            place: T.let[T.int64] = channel * n + time
            if time >= 0 and time + COPY <= n:
                for lane in T.vectorized(COPY):
                    tile[row, chunk * COPY + lane] = activate(
                        spec, buffers.x[0, channel, time + lane], buffers, channel
                    )
            elif place >= 0 and place + COPY <= n * spec.in_channels:
                # Neighbouring channels lie beyond the ends.
                for lane in T.vectorized(COPY):
                    tile[row, chunk * COPY + lane] = T.Select(
                        time + lane >= 0 and time + lane < n,
                        activate(spec, buffers.x[0, channel, time + lane], buffers, channel),
                        T.float32(0),
                    )
            else:
                for lane in T.serial(COPY):
                    tile[row, chunk * COPY + lane] = T.float32(0)
                    if time + lane >= 0 and time + lane < n:
                        tile[row, chunk * COPY + lane] = activate(
                            spec, buffers.x[0, channel, time + lane], buffers, channel
                        )

    return fill


def rows_of_channels(spec: Convolution) -> Any:
    """Returns a TIR macro that writes `steps` rows of all channels from `first` on."""
    lanes = math.gcd(spec.in_channels, COPY)

    @T.inline
    def fill(tile: Any, buffers: Any, first: Any, steps: Any, n: Any) -> None:
        for step, chunk in T.grid(steps, spec.in_channels // lanes):
            if first + step >= 0 and first + step < n:
                for lane in T.vectorized(lanes):
                    tile[step, chunk * lanes + lane] = activate(
                        spec, buffers.x[0, first + step, chunk * lanes + lane], buffers, chunk * lanes + lane
                    )
            else:
                for lane in T.vectorized(lanes):
                    tile[step, chunk * lanes + lane] = T.float32(0)

    return fill
