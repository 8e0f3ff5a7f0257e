"""The decoder as it is shipped to a Mac and to a CUDA machine: files that nothing here can run."""

from __future__ import annotations

from pathlib import Path

import lief
import pytest

from exporter.compiler.targets import find_target
from runtime_min.format.manifest import Manifest
from runtime_min.format.verify import read_manifest
from tests.e2e.conftest import Export
from tests.e2e.test_aarch64 import SYSTEM_LIBRARIES
from tests.support.emulation.library_files import check_library, exported_by_wheels
from tests.support.gpu.fatbin import CUBIN, MAGIC, PTX, entries

pytestmark = [pytest.mark.e2e, pytest.mark.machines]

LEVELS = {"metal-macos": "apple-m1", "cuda-linux": "x86-64-v3"}
KERNEL = {"metal-macos": b"kernel void ", "cuda-linux": b'extern "C" __global__'}
"""Beginning of a kernel's source."""


Shipped = dict[str, tuple[Path, Manifest]]


@pytest.fixture(scope="module")
def bundles(export: Export, tmp_path_factory: pytest.TempPathFactory) -> Shipped:
    """The decoder and its source, exported for each target."""
    made = {}
    for name, level in LEVELS.items():
        output = tmp_path_factory.mktemp(name) / "bundle"
        options = ("--cpu-level", level, "--stages", "decoder", "--frame-buckets", "64")
        done = export(output, "--target", name, *options)
        assert done.returncode == 0, done.stderr
        made[name] = output, read_manifest(output)
    return made


@pytest.fixture(params=LEVELS)
def shipped(request: pytest.FixtureRequest, bundles: Shipped) -> tuple[Path, Manifest]:
    return bundles[request.param]


def test_the_source_is_for_the_cpu_and_the_decoder_for_the_gpu(shipped: tuple[Path, Manifest]) -> None:
    bundle, manifest = shipped
    target = find_target(manifest.target.name)
    contents = {stage.name: (bundle / stage.libraries[0].file).read_bytes() for stage in manifest.stages}
    assert [stage.device for stage in manifest.stages] == ["cpu", target.device]
    assert KERNEL["metal-macos"] not in contents["source"] and MAGIC not in contents["source"]
    # The source of Metal's kernels is shipped, CUDA's are compiled.
    is_source_shipped = KERNEL[target.name] in contents["decoder"]
    assert is_source_shipped == (target.device == "metal")


def test_both_of_tvms_runtimes_come_from_one_wheel_and_lie_side_by_side(
    shipped: tuple[Path, Manifest],
) -> None:
    _, manifest = shipped
    target = find_target(manifest.target.name)
    digests = {entry.path: entry.sha256 for entry in manifest.files}
    assert target.runtime is not None and target.device_runtime is not None
    assert digests[manifest.runtime_library] == target.runtime.sha256
    assert manifest.device_libraries == {target.device: f"lib/{target.device_runtime.name}"}
    assert digests[manifest.device_libraries[target.device]] == target.device_runtime.sha256


def test_every_library_loads_there_beside_what_is_installed_there(
    shipped: tuple[Path, Manifest], tmp_path: Path
) -> None:
    bundle, manifest = shipped
    target = find_target(manifest.target.name)
    libraries = [bundle / stage.libraries[0].file for stage in manifest.stages]
    if target.system == "macos":
        wheels = exported_by_wheels(target, tmp_path)
        for library in libraries:
            check_library(library, target, wheels)
        metal = lief.MachO.parse(bundle / manifest.device_libraries["metal"]).at(0)
        assert "@loader_path/libtvm_runtime.dylib" in [each.name for each in metal.libraries]
    else:
        for library in libraries:
            assert set(lief.ELF.parse(library).libraries) <= SYSTEM_LIBRARIES


def test_a_cuda_decoder_has_machine_code_for_its_architectures_and_ptx_for_later_ones(
    bundles: Shipped,
) -> None:
    bundle, manifest = bundles["cuda-linux"]
    content = (bundle / manifest.stages[-1].libraries[0].file).read_bytes()
    assert content.count(MAGIC) == 1
    found = entries(content[content.index(MAGIC) :])
    machine = [entry for entry in found if entry.kind == CUBIN]
    assert [entry.architecture for entry in machine[:4]] == [80, 86, 89, 90]
    assert [entry.kind for entry in found[len(machine) :]] == [PTX]
    for entry in machine:
        assert b".text.conv1d_128_128_11" in entry.code and b".text.inverse_stft" in entry.code
