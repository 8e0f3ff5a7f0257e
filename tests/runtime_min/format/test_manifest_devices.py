"""The manifest of a bundle that computes on a device: every way to break it is refused."""

from __future__ import annotations

from typing import Any

import msgpack
import pytest

from exporter.bundle.write import encode_manifest, write_bundle
from runtime_min.errors import ManifestError
from runtime_min.format.parse import parse_manifest
from runtime_min.format.verify import read_manifest
from tests.support.broken_manifests import Change, assign, changed
from tests.support.tiny_bundle import dummy_contents_on


@pytest.fixture(scope="module")
def raw_on_device(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    directory = tmp_path_factory.mktemp("device")
    bundle = write_bundle(directory / "bundle", dummy_contents_on("cuda", directory))
    decoded: dict[str, Any] = msgpack.unpackb(encode_manifest(read_manifest(bundle)))
    return decoded


NOISE = {"name": "noise", "dtype": "float32", "shape": [1, [600, "frames"]]}
SIGNATURE = r"stages\[5\]: expected StageSignature"
BREAKS: dict[str, tuple[Change, str]] = {
    "unknown device": (assign("stages", 5, "device", "npu"), "device: expected one of cpu, metal, cuda"),
    "device without a runtime": (
        assign("stages", 5, "device", "metal"),
        r"stages\[5\].device: expected one of cpu, cuda, found 'metal'",
    ),
    "source on a device": (
        assign("stages", 4, "device", "cuda"),
        r"stages\[4\].device: expected one of cpu, fo",
    ),
    "F0 on a device": (assign("stages", 3, "device", "cuda"), r"stages\[3\].device: expected one of cpu"),
    "runtime of an unknown device": (
        assign("device_libraries", {"npu": "lib/libtvm_runtime_cuda.so"}),
        "device_libraries: expected some of metal, cuda, found 'npu'",
    ),
    "runtime of a device that is not listed": (
        assign("device_libraries", "cuda", "lib/x.so"),
        r"device_libraries\['cuda'\]: expected a file of the list",
    ),
    "runtime of a device that leaves the directory": (
        assign("device_libraries", "cuda", "../x.so"),
        r"device_libraries\['cuda'\]: expected a relative path",
    ),
    "half of the runtime": (assign("runtime_library", ""), "runtime_library: expected a path beside those"),
    "decoder that takes noise": (assign("stages", 5, "inputs", 4, NOISE), SIGNATURE),
    "offset of zero": (
        assign("stages", 5, "inputs", 4, "shape", 2, [120, "frames", 0]),
        r"shape\[2\]\[2\]: expected an integer from 1",
    ),
    "another offset": (assign("stages", 5, "inputs", 4, "shape", 2, [120, "frames", 2]), SIGNATURE),
    "source after the decoder": (
        lambda m: m["stages"].reverse(),
        "stages: expected stages once each, in the order bert, duration, text_encoder, f0n, source, decoder",
    ),
}


@pytest.mark.parametrize("name", BREAKS)
def test_every_broken_manifest_with_devices_is_refused_by_place(
    raw_on_device: dict[str, Any], name: str
) -> None:
    parse_manifest(changed(raw_on_device, lambda entries: None))
    change, message = BREAKS[name]
    with pytest.raises(ManifestError, match=message):
        parse_manifest(changed(raw_on_device, change))
