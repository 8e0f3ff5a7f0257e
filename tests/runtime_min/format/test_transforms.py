"""Weights that are transformed while they are loaded: their numbers, and what a manifest says of them."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import msgpack
import numpy as np
import pytest

from exporter.bundle.write import write_bundle
from exporter.compiler.kernels.winograd_schemes import SCHEMES
from runtime_min.engine.tvm_ffi_package import import_tvm_ffi
from runtime_min.engine.vm import map_parameters
from runtime_min.errors import ManifestError
from runtime_min.format.bundle_files import BundleFiles
from runtime_min.format.parse import parse_manifest
from runtime_min.format.transforms import loaded, transformed
from runtime_min.format.verify import manifest_of
from tests.support import golden


@pytest.mark.parametrize("count", SCHEMES)
def test_a_product_is_the_exact_sum_rounded(count: int) -> None:
    taps = np.random.default_rng(count).standard_normal((2, count, 3, 4)).astype(np.float16)
    matrix = SCHEMES[count].matrix
    found = transformed(taps, matrix)
    assert found.shape == (2, len(matrix), 3, 4)
    for product, row in enumerate(matrix):
        pairs = zip(row, taps[1, :, 2, 3].tolist(), strict=True)
        exact = sum(Fraction(factor) * Fraction(tap) for factor, tap in pairs)
        assert abs(Fraction(float(found[1, product, 2, 3])) - exact) <= abs(exact) / 2**23 + Fraction(
            1, 2**45
        )


def test_what_float16_cannot_hold_is_infinite() -> None:
    taps = np.full((1, 2, 1, 1), 60_000, np.float16)
    assert loaded(taps, ((1.0, 1.0), (-1.0, -1.0), (1.0, -1.0))).ravel().tolist() == [np.inf, -np.inf, 0]


def test_the_library_gets_the_products(tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    made = golden.transformed(tmp_path / "work")
    (weight,) = (each for each in made.tensors if each.name == "weight")
    with BundleFiles(write_bundle(tmp_path / "bundle", made)) as files:
        manifest = manifest_of(files)
        mapped = map_parameters(import_tvm_ffi(), files, manifest.parameters, manifest.transforms)
        assert manifest.parameter_bytes == sum(each.values.nbytes for each in made.tensors) + 3 * 4 * 32 * 2
    first, second = weight.values[0].astype(np.float32)
    expected = np.stack([first, first / 2 - second / 4, second])[None].astype(np.float16)
    np.testing.assert_array_equal(np.from_dlpack(mapped["weight"]), expected, strict=True)


@pytest.mark.parametrize(
    ("matrix", "message"),
    [
        ([[1.0, 0.0], [1.0]], "rows of one length"),
        ([[1.0, 0.0, 0.0]], "weight of float16 with four dimensions, the second of 3"),
        ([[1, 0.0]], "a floating-point number"),
        ([[]], "an array of 1 to 64 elements"),
        ([], "an array of 1 to 64 elements"),
        ([[1.0, 0.0]] * 65, "an array of 1 to 64 elements"),
        ("1", "an array of 1 to 64 elements"),
    ],
)
def test_a_wrong_matrix_is_refused(matrix: Any, message: str) -> None:
    entries = msgpack.unpackb((golden.GOLDEN / "transformed" / "manifest.msgpack").read_bytes())
    entries["transforms"] = dict.fromkeys(entries["transforms"], matrix)
    with pytest.raises(ManifestError, match=message):
        parse_manifest(msgpack.packb(entries))


@pytest.mark.parametrize(
    "values",
    [
        np.ones((1, 2, 4, 32), np.float32),
        np.ones((1, 2, 128), np.float16),
        np.ones((1, 3, 4, 32), np.float16),
    ],
)
def test_a_weight_that_its_matrix_does_not_fit_is_refused(tmp_path: Path, values: np.ndarray) -> None:
    (tmp_path / "work").mkdir()
    made = golden.transformed(tmp_path / "work")
    tensors = [replace(each, values=values) if each.name == "weight" else each for each in made.tensors]
    with pytest.raises(ManifestError, match="weight of float16 with four dimensions, the second of 2, found"):
        write_bundle(tmp_path / "bundle", replace(made, tensors=tensors))
