"""Kernels for WebAssembly, on processors without the instructions that WebAssembly lacks."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tvm
from tvm.script import tirx as T
from tvm.tirx import PrimFunc

from exporter.compiler.kernels import vector_math
from exporter.compiler.kernels.function import kernel
from exporter.compiler.kernels.harmonic_source import harmonic_source
from exporter.compiler.kernels.spectrum import source_spectrum
from exporter.compiler.kernels.wasm import enlarged, for_wasm

FRAMES = 60
COUNT = 1 << 16


def call(function: PrimFunc, processor: str, shape: tuple[int, ...], *inputs: np.ndarray) -> np.ndarray:
    target = tvm.target.Target({"kind": "llvm", "mtriple": "x86_64-linux-gnu", "mcpu": processor})
    result = tvm.runtime.tensor(np.zeros(shape, np.float32))
    compiled = tvm.compile(function.with_attr("global_symbol", "kernel"), target)
    compiled["kernel"](*map(tvm.runtime.tensor, inputs), result)
    found: np.ndarray = result.numpy()
    return found


def test_the_source_and_its_spectrum_have_the_bits_of_a_fused_multiply_add() -> None:
    random = np.random.default_rng(0)
    f0 = (200 + 50 * np.sin(np.arange(FRAMES) / 9)).astype(np.float32)[None]
    f0[0, :10] = 0
    weights, bias = random.standard_normal(9).astype(np.float32), np.ones(1, np.float32)
    noise = random.standard_normal((1, 300 * FRAMES)).astype(np.float32)
    said = (f0, weights, bias, noise)
    expected = call(harmonic_source(), "x86-64-v3", noise.shape, *said)
    # "x86-64" has no such instruction.
    found = call(for_wasm(harmonic_source(), exact=True), "x86-64", noise.shape, *said)
    np.testing.assert_array_equal(found, expected)
    assert (call(harmonic_source(), "x86-64", noise.shape, *said) != expected).any()
    shape = (1, 22, 60 * FRAMES + 1)
    spectrum = call(source_spectrum(), "x86-64-v3", shape, expected)
    np.testing.assert_array_equal(
        call(for_wasm(source_spectrum(), exact=True), "x86-64", shape, expected), spectrum
    )


def test_every_float16_below_64_is_enlarged_and_widened_without_loss() -> None:
    halves = np.arange(COUNT, dtype=np.uint16).view(np.float16)
    halves = halves[abs(halves) < 64]
    stored = enlarged(halves)
    assert not ((stored != 0) & (abs(stored) < np.finfo(np.float16).smallest_normal)).any()
    assert np.isinf(enlarged(np.array([64, -64, 65504], np.float16))).all()

    @kernel({"x": "float16"}, x=(len(halves),), y=(len(halves),))
    def widen(x: Any, y: Any) -> None:
        for i in T.serial(len(halves)):
            y[i] = T.cast(x[i], "float32")

    found = call(for_wasm(widen, exact=False), "x86-64", halves.shape, stored)
    np.testing.assert_array_equal(found.view(np.int32), halves.astype(np.float32).view(np.int32))


@pytest.mark.parametrize("scale", [0.1, 1.0, 8.0])
def test_exp_is_as_exact_as_with_a_fused_multiply_add(scale: float) -> None:
    x = (np.random.default_rng(0).standard_normal(COUNT) * scale).astype(np.float32)

    @kernel(x=(COUNT,), y=(COUNT,))
    def exponentials(x: Any, y: Any) -> None:
        for i in T.serial(COUNT):
            y[i] = vector_math.exp(x[i])

    found = call(for_wasm(exponentials, exact=False), "x86-64", x.shape, x)
    expected = np.exp(x.astype(np.float64))
    # 2 ulp.
    assert abs(found / expected - 1).max() < 2.0**-22
