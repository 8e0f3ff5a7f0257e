"""Parameters of every stored type reach TVM as they are: mapped, with no copy and no conversion."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from exporter.bundle.write import write_bundle
from exporter.compiler.library import Weight
from runtime_min.engine.tvm_ffi_package import import_tvm_ffi
from runtime_min.engine.vm import map_parameters
from runtime_min.format.bundle_files import BundleFiles
from runtime_min.format.manifest import PRECISION_REQUIRED
from runtime_min.format.verify import manifest_of
from tests.support.tiny_bundle import dummy_contents, tensors


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
        mapped = map_parameters(import_tvm_ffi(), files, manifest.parameters)
        for name, values in stored.items():
            found = np.from_dlpack(mapped[name])
            assert str(mapped[name].dtype) == values.dtype.name
            np.testing.assert_array_equal(found, values, strict=True)
