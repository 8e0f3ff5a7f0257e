"""Results that are wrong without an error."""

from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F
import tvm
from torch import Tensor
from tvm import te

from tests.upstream.reproduction import BASELINE, X86_V3, both, built, called, entry, source

pytestmark = pytest.mark.filterwarnings("ignore::FutureWarning")


def _noise(*shape: int) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(0))


def test_a_float32_cumsum_still_drifts() -> None:
    x = torch.rand(1, 20000, generator=torch.Generator().manual_seed(0))
    exact = x.double().cumsum(1).numpy()
    found, torchs = (np.abs(y - exact).max() for y in both(lambda x: x.cumsum(1), (x,)))
    assert torchs < 1e-3
    assert found > 10 * torchs, "works now: compare with the sum in float64 of the harmonic source's kernel"


def test_a_float64_cumsum_rounds_as_torch_does() -> None:
    x = torch.rand(1, 2000, generator=torch.Generator().manual_seed(0))
    found, wanted = both(lambda x: x.double().cumsum(1).float(), (x,))
    np.testing.assert_array_equal(found, wanted)


def test_instance_norm_still_loses_digits_when_the_mean_is_large() -> None:
    x = _noise(1, 4, 2000) + 100
    exact = F.instance_norm(x.double()).numpy()
    found, torchs = (np.abs(y - exact).max() for y in both(F.instance_norm, (x,)))
    assert torchs < 1e-4
    assert found > 100 * torchs, "works now: compare with the two passes of adain_affine"


def test_instance_norm_still_gives_nan_for_a_nearly_constant_channel() -> None:
    x = _noise(1, 4, 1000) * 1e-4 + 1000.1
    found, wanted = both(F.instance_norm, (x,))
    assert np.isfinite(wanted).all()
    assert np.isnan(found).any(), "works now: compare with the two passes of adain_affine"


def test_tanh_still_loses_its_relative_precision_near_zero() -> None:
    x = torch.linspace(1e-6, 2e-6, 16)
    found, wanted = both(torch.tanh, (x,))
    np.testing.assert_allclose(wanted, x, rtol=1e-6)
    assert np.abs(found / wanted - 1).max() > 1e-3, "works now: compare with the tanh of kernels.vector_math"


def _product_and_sum(barrier: bool) -> Any:
    def compute(x: Any, y: Any, z: Any) -> Any:
        def element(i: Any) -> Any:
            product = x[i] * y[i]
            if barrier:
                product = tvm.tirx.call_llvm_pure_intrin("float32", "llvm.arithmetic.fence", product)
            return product + z[i]

        return te.compute(x.shape, element)

    return entry(lambda m: [[m]] * 3, lambda builder, m, *them: builder.emit_te(compute, *them))


def test_a_multiplication_and_an_addition_are_still_fused_on_processors_with_fma() -> None:
    assert "vfmadd" in source(built(_product_and_sum(barrier=False), X86_V3), "asm"), (
        "works now: remove the arithmetic fences"
    )


def test_an_arithmetic_fence_keeps_a_multiplication_and_an_addition_apart() -> None:
    assert "vfmadd" not in source(built(_product_and_sum(barrier=True), X86_V3), "asm")
    x, y, z = (_noise(3, 1000) * torch.tensor([[1.0], [2.0], [3.0]])).numpy()
    np.testing.assert_array_equal(called(built(_product_and_sum(barrier=True)), x, y, z), x * y + z)


def test_the_simplifier_still_cancels_a_constant_that_was_added_to_a_float() -> None:
    rounder = tvm.tirx.const(1.5 * 2**23, "float32")

    def compute(x: Any) -> Any:
        return te.compute(x.shape, lambda i: (x[i] + rounder) - rounder)

    module = entry(lambda m: [[m]], lambda builder, m, x: builder.emit_te(compute, x))
    x = np.array([0.3, 1.7, -2.4], np.float32)
    found = called(built(module, BASELINE), x)
    np.testing.assert_array_equal(
        found, x, err_msg="works now: round by a plain addition in kernels.vector_math"
    )
