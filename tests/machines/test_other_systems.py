"""Libraries for other systems: headers and symbols, compared with the exports of the wheels there."""

from __future__ import annotations

from pathlib import Path

import pytest
import tvm

from exporter.compiler.compile_stage import tvm_target
from exporter.compiler.import_stage import import_stage
from exporter.compiler.kernels.tiles import tiles_of
from exporter.compiler.link import LinkError, find_linker, link_library
from exporter.compiler.passes import compile_module
from exporter.compiler.targets import Target, find_target
from tests.exporter.compiler.test_link import Compiled
from tests.support.emulation.library_files import (
    check_library,
    check_signature,
    exported_by_wheels,
    signature_offset,
)
from tests.support.tiny import stage as tiny_stage

# zig builds the systems' own libraries first: those of Windows for a minute.
NAMES = [
    pytest.param(name, marks=pytest.mark.machines)
    for name in ("macos-arm64", "metal-ios", "windows-x86_64", "android-arm64")
]
FILE = "tiny-100"


@pytest.fixture(scope="module", params=NAMES)
def target(request: pytest.FixtureRequest) -> Target:
    return find_target(request.param)


@pytest.fixture(scope="module")
def wheels(target: Target, tmp_path_factory: pytest.TempPathFactory) -> dict[str, set[str]]:
    return exported_by_wheels(target, tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="module")
def executable(target: Target) -> tvm.runtime.Executable:
    """A stage of kokoro's with small sizes, compiled for the target's first level."""
    level = target.levels[0]
    stage, signature = tiny_stage.make(), tiny_stage.SIGNATURE
    imported = import_stage(stage, signature, tiny_stage.BUCKET, tiles_of(level), signature.name)
    return compile_module(imported, tvm_target(target, level), None)


@pytest.fixture(scope="module")
def libraries(
    target: Target, executable: tvm.runtime.Executable, tmp_path_factory: pytest.TempPathFactory
) -> list[Path]:
    """The same library, linked in two places."""
    paths = [tmp_path_factory.mktemp(name) / f"{FILE}{target.library_suffix}" for name in ("one", "two")]
    for path in paths:
        link_library(executable, path, target)
    return paths


def test_it_loads_there_beside_what_is_installed_there(
    target: Target, libraries: list[Path], wheels: dict[str, set[str]]
) -> None:
    check_library(libraries[0], target, wheels)


def test_the_same_objects_give_the_same_bytes_wherever_they_are_linked(libraries: list[Path]) -> None:
    one, two = libraries
    assert one.read_bytes() == two.read_bytes()
    assert [path.name for path in one.parent.iterdir()] == [one.name]


def test_a_changed_byte_breaks_the_signature_of_macos(tmp_path: Path) -> None:
    target = find_target("macos-arm64")
    library = tmp_path / "answer.dylib"
    link_library(Compiled(tmp_path / "one", compiler=find_linker(target)), library, target)
    content, offset = bytearray(library.read_bytes()), signature_offset(library)
    check_signature(bytes(content), offset, library.name)
    content[offset // 2] ^= 1
    with pytest.raises(AssertionError, match="page"):
        check_signature(bytes(content), offset, library.name)


@pytest.mark.machines
def test_a_function_that_no_dll_has_is_an_error_of_the_linker(tmp_path: Path) -> None:
    target = find_target("windows-x86_64")
    source = "int TVMFFIFunctionOfTomorrow(void); int answer(void) { return TVMFFIFunctionOfTomorrow(); }"
    objects = Compiled(tmp_path / "one", source, find_linker(target))
    with pytest.raises(LinkError, match="TVMFFIFunctionOfTomorrow"):
        link_library(objects, tmp_path / "answer.dll", target)
    assert not (tmp_path / "answer.dll").exists()
