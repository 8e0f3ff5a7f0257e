"""Parameters of every stored type reach TVM as they are: mapped, with no copy and no conversion."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from exporter.bundle.write import write_bundle
from exporter.compiler.library import Weight
from runtime_min.engine.tvm_ffi_package import import_tvm_ffi
from runtime_min.engine.vm import map_parameters
from runtime_min.errors import ManifestError, ScalesError
from runtime_min.format.bundle_files import BundleFiles
from runtime_min.format.manifest import PRECISION_REQUIRED
from runtime_min.format.verify import manifest_of
from tests.support.tiny.bundle import dummy_contents, tensors


def test_small_types_are_mapped_as_they_are_stored(tmp_path: Path) -> None:
    made = dummy_contents(tmp_path)
    stored = {
        **tensors(),
        "half": np.array([[1.5, -65504.0, 6e-8]], np.float16),
        "byte": np.arange(-128, 128, dtype=np.int8),
    }
    weights = tuple(Weight(name, values) for name, values in stored.items())
    bundle = write_bundle(tmp_path / "bundle", replace(made, tensors=weights))
    with BundleFiles(bundle) as files:
        manifest = manifest_of(files)
        assert manifest.requires == (PRECISION_REQUIRED,)
        assert manifest.precision == "int8"
        assert {tensor.dtype for tensor in manifest.parameters.tensors} == {"float32", "float16", "int8"}
        mapped = map_parameters(import_tvm_ffi(), files, manifest.parameters, {})
        for name, values in stored.items():
            found = np.from_dlpack(mapped[name])
            assert str(mapped[name].dtype) == values.dtype.name
            np.testing.assert_array_equal(found, values, strict=True)


WEIGHT = Weight("x.weight", np.ones((2, 50, 3, 32), np.int8), "conv[out/32,in,taps,32]")
SCALES = Weight("x.weight_scales", np.full((2, 4, 32), 0.5, np.float16))


def load(work: Path, *weights: Weight) -> None:
    made = dummy_contents(work)
    parameters = (*(Weight(name, values) for name, values in tensors().items()), *weights)
    bundle = write_bundle(work / "bundle", replace(made, tensors=parameters))
    with BundleFiles(bundle) as files:
        map_parameters(import_tvm_ffi(), files, manifest_of(files).parameters, {})


def test_scales_that_fit_a_weight_are_loaded(tmp_path: Path) -> None:
    load(tmp_path, WEIGHT, SCALES)


@pytest.mark.parametrize(
    ("weight", "scales"),
    [
        (WEIGHT, None),
        (WEIGHT, replace(SCALES, name="y.weight_scales")),
        (WEIGHT, replace(SCALES, values=SCALES.values.astype(np.float32))),
        (WEIGHT, replace(SCALES, values=SCALES.values[:, :3])),
        (WEIGHT, replace(SCALES, values=SCALES.values[:1])),
        (WEIGHT, replace(SCALES, values=SCALES.values[0])),
        (replace(WEIGHT, values=WEIGHT.values[:, :48]), SCALES),
        (replace(WEIGHT, values=WEIGHT.values[..., None]), SCALES),
        (replace(WEIGHT, values=np.ones((2, 2, 200, 32), np.int8)), SCALES),
    ],
    ids=["none", "another's", "type", "groups", "blocks", "axes", "channels", "weight's axes", "many taps"],
)
def test_a_weight_without_its_scales_is_refused(
    tmp_path: Path, weight: Weight, scales: Weight | None
) -> None:
    with pytest.raises(ManifestError, match=r"parameters.tensors: expected .*x.weight.*, found"):
        load(tmp_path, weight, *([] if scales is None else [scales]))


@pytest.mark.parametrize("scale", [0, -0.0, -1, np.nan, np.inf, -np.inf])
def test_a_scale_that_is_no_positive_number_is_refused(tmp_path: Path, scale: float) -> None:
    values = SCALES.values.copy()
    values[1, 3, 31] = scale
    with pytest.raises(ScalesError, match=rf"x.weight_scales .* positive .* found {scale:g}\."):
        load(tmp_path, WEIGHT, replace(SCALES, values=values))
