"""The tiny model with a convolution after its decoder, by kokoro's kernel, in the arithmetic of its level."""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path
from typing import Any

from exporter.bundle.write import BundleContents, ExtensionFiles
from exporter.compiler.link import link_library
from exporter.compiler.targets import FLOAT32, CpuLevel, Target, find_target
from runtime_min.format.arithmetic import EXTENSION
from runtime_min.format.signatures import stage_names
from tests.support.tiny.compiled import compile_into
from tests.support.tiny.model import _module, contents_of_levels

_CHANNELS, _TAPS = 32, 3
_SAMPLES = 8
"""Samples of a time step of the convolution."""


def _rows(audio: Any) -> Any:
    """The input of the convolution: each channel has a sample of its time step, times its own factor."""
    from tvm import te

    shape = (1, audio.shape[1] // _SAMPLES, _CHANNELS)
    return te.compute(shape, lambda _, t, c: audio[0, t * _SAMPLES + c % _SAMPLES] * (c + 1.0) / 7.0)


def _factors(gain: Any, matrix: Any) -> Any:
    """The stored weight of the convolution: taps that bfloat16 does not hold, transformed by `matrix`."""
    from tvm import te, tirx

    def entry(product: Any, tap: int) -> Any:
        found = tirx.const(0, "float32")
        for row, values in enumerate(matrix):
            found = tirx.if_then_else(product == row, tirx.const(float(values[tap]), "float32"), found)
        return found

    def transformed(_: Any, product: Any, i: Any, o: Any) -> Any:
        taps = ((tap * 5 + i * 3 + o * 7) % 23 / 93.0 for tap in range(_TAPS))
        return gain[0] * sum(entry(product, tap) * value for tap, value in enumerate(taps))

    return te.compute((1, len(matrix), _CHANNELS, _CHANNELS), transformed)


def _zeros(gain: Any, count: int) -> Any:
    from tvm import te

    return te.compute((count,), lambda _: gain[0] * 0.0)


def _samples(rows: Any) -> Any:
    from tvm import te

    shape = (1, rows.shape[1] * _SAMPLES)
    return te.compute(shape, lambda _, i: rows[0, i // _SAMPLES, i % _SAMPLES])


def _convolved(level: CpuLevel, builder: Any, audio: Any, arguments: list[Any]) -> Any:
    """Emits the convolution of the decoder's audio for a CPU level, and returns what it gives."""
    from tvm import relax

    from exporter.compiler.kernels import winograd
    from exporter.compiler.kernels.convolution import Convolution
    from exporter.compiler.kernels.tiles import tiles_of
    from exporter.compiler.kernels.winograd_schemes import SCHEMES

    *_, gain, _ = arguments
    spec = Convolution(
        _CHANNELS, _CHANNELS, _TAPS, padding=_TAPS // 2, reads_channels_last=True, writes_channels_last=True
    )
    assert winograd.rounds(spec, tiles_of(level)) == (level.arithmetic != FLOAT32)
    kernel = builder.add_func(winograd.convolution(spec, tiles_of(level)), "convolution")
    rows = builder.emit_te(_rows, audio)
    factors = builder.emit_te(_factors, gain, SCHEMES[_TAPS].matrix)
    bias, *unused = (builder.emit_te(_zeros, gain, count) for count in (_CHANNELS, 1, 1, 1, 1))
    output = relax.TensorType(spec.output_shape(rows.ty.shape[1]), "float32")
    return builder.emit_te(
        _samples, builder.emit(relax.call_tir(kernel, [rows, factors, bias, *unused], output))
    )


def _levels(target: Target) -> tuple[CpuLevel, ...]:
    return (*target.levels, *target.arithmetic_levels)


def compile_levels(directory: Path, target: Target) -> None:
    """Compiles every stage for every CPU level of a target, of any arithmetic."""
    from tvm import relax

    from exporter.compiler.compile_stage import tvm_target

    for level in _levels(target):
        place = directory / level.name
        place.mkdir(parents=True)
        for name in stage_names(separate_source=False):
            module = _module(name, False, partial(_convolved, level) if name == "decoder" else None)
            executable = relax.build(module, target=tvm_target(target, level))
            link_library(executable, place / f"{name}.so", target)


def contents_with_arithmetic(directory: Path, target: Target, runtime_library: Path) -> BundleContents:
    """A bundle, compiled in `directory` for every CPU level of `target`, of any arithmetic."""
    compile_into(directory, "convolved", target.name, target=target)
    others = {level.name: level.arithmetic for level in target.arithmetic_levels}
    made = contents_of_levels(directory, target, _levels(target), runtime_library)
    return made.extended(ExtensionFiles({EXTENSION: others}, {}))


if __name__ == "__main__":
    compile_levels(Path(sys.argv[1]), find_target(sys.argv[2]))
