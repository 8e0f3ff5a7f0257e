"""Looking inside a stage: kernels are read, replaced and skipped by number; another library is refused."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from exporter.validate.kernel_order import StageCalls
from exporter.validate.observe import UnknownKernelsError, family, observe


class Runner:
    """Three kernels in a row, each of which adds its number to what the one before wrote."""

    stage = SimpleNamespace(name="f0n")

    def run(
        self, inputs: dict[str, np.ndarray], instrument: Any, parameters: object
    ) -> dict[str, np.ndarray]:
        value = inputs["x"]
        for number, name in enumerate(("conv1d_4_4_3", "vm.builtin.shape", "adain_affine2", "conv1d_4_4_31")):
            output = value.copy()
            if instrument(None, name, True, None, value, output) == 0:
                output += number
                instrument(None, name, False, None, value, output)
            value = output
        return {"y": value}


CALLS = StageCalls(("conv1d", "adain_affine", "conv1d"), {})


def test_outputs_are_read_and_replaced_by_the_number_of_the_call() -> None:
    x = np.zeros((1, 2), np.float32)
    outputs, found = observe(
        Runner(), CALLS, {"x": x}, read=[0, 1], replace={1: np.full((1, 2), 7, np.float32)}
    )
    np.testing.assert_array_equal(found[0], x)
    np.testing.assert_array_equal(found[1], x + 3)
    np.testing.assert_array_equal(outputs["y"], x + 10)


def test_only_the_kernels_that_are_wanted_run() -> None:
    outputs, _ = observe(Runner(), CALLS, {"x": np.zeros((1, 2), np.float32)}, read=[], only=[2])
    np.testing.assert_array_equal(outputs["y"], np.full((1, 2), 4, np.float32))


@pytest.mark.parametrize("kernels", [("conv1d", "adain_affine"), ("conv1d", "conv1d", "adain_affine")])
def test_a_library_that_calls_other_kernels_is_refused(kernels: tuple[str, ...]) -> None:
    with pytest.raises(UnknownKernelsError, match=f"'f0n' calls 3 kernels: expected {len(kernels)}"):
        observe(Runner(), StageCalls(kernels, {}), {"x": np.zeros((1, 2), np.float32)}, read=[])


def test_a_family_is_a_name_without_its_numbers() -> None:
    assert [family(name) for name in ("conv1d_4_4_31", "adain_affine2", "lstm")] == [
        *("conv1d", "adain_affine", "lstm"),
    ]
