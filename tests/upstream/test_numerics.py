"""Results that are wrong without an error."""

from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F
import tvm
from tvm import te

from tests.upstream.reproduction import BASELINE, X86_V3, both, built, called, entry, source

pytestmark = pytest.mark.filterwarnings("ignore::FutureWarning")

RANDOM = torch.Generator().manual_seed(0)


@pytest.mark.parametrize(
    ("function", "x", "times", "workaround"),
    [
        (
            lambda x: x.cumsum(1),
            torch.rand(1, 20000, generator=RANDOM),
            10,
            "the sum in float64 of the kernel",
        ),
        (
            F.instance_norm,
            torch.randn(1, 4, 2000, generator=RANDOM) + 100,
            100,
            "the two passes of adain_affine",
        ),
        (torch.tanh, torch.linspace(1e-6, 2e-6, 16), 100, "the tanh of kernels.vector_math"),
    ],
    ids=["cumsum", "instance_norm", "tanh near zero"],
)
def test_an_operator_still_loses_digits_that_torch_keeps(
    function: Any, x: torch.Tensor, times: float, workaround: str
) -> None:
    exact = function(x.double()).numpy()
    found, torchs = (np.abs(y - exact).max() for y in both(function, (x,)))
    assert found > times * torchs, f"works now: compare with {workaround}"


def test_instance_norm_still_gives_nan_for_a_nearly_constant_channel() -> None:
    found, wanted = both(F.instance_norm, (torch.randn(1, 4, 1000, generator=RANDOM) * 1e-4 + 1000.1,))
    assert np.isfinite(wanted).all()
    assert np.isnan(found).any(), "works now: compare with the two passes of adain_affine"


def test_a_multiplication_and_an_addition_are_still_fused_on_processors_with_fma() -> None:
    def compute(x: Any, y: Any, z: Any) -> Any:
        return te.compute(x.shape, lambda i: x[i] * y[i] + z[i])

    module = entry(lambda m: [[m]] * 3, lambda builder, m, *them: builder.emit_te(compute, *them))
    assert "vfmadd" in source(built(module, X86_V3), "asm"), "works now: remove fma(a, b, 0) from the kernels"


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


def test_a_constant_of_float32_still_has_more_digits_in_float64() -> None:
    from tvm.script import tirx as T

    found = T.cast(T.float32(1 / 300), "float64").value
    assert found != float(np.float32(1 / 300)), "works now: round no constants in kernels/wasm.py"
