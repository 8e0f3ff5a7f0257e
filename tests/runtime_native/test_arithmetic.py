"""The C library chooses a CPU level by its arithmetic as the Python runtime does."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from runtime_min import Bundle
from runtime_min.errors import KokoroError
from runtime_min.format.arithmetic import EXTENSION
from runtime_min.format.manifest import CpuLevel
from runtime_min.format.verify import read_manifest
from tests.support.native.library import NativeError, NativeLibrary, native_library
from tests.support.tiny.self_test import rewrite

LEVELS = (CpuLevel("baseline", ()), CpuLevel("halves", ()), CpuLevel("future", ("no-processor-has-it",)))
ARITHMETIC = {"halves": "bfloat16", "future": "int4"}


@pytest.fixture(scope="module")
def library() -> NativeLibrary:
    return native_library()


@pytest.fixture(scope="module")
def bundle(speaking_bundle: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A bundle with two more levels, which have the libraries of the first one."""
    copy = shutil.copytree(speaking_bundle, tmp_path_factory.mktemp("arithmetic") / "bundle")
    give(copy, ARITHMETIC)
    return copy


def give(bundle: Path, entry: Any) -> None:
    made = read_manifest(bundle)
    stages = tuple(
        stage._replace(
            libraries=tuple(
                library._replace(level=level.name)
                for level in LEVELS
                for library in stage.libraries
                if library.level == "baseline"
            )
        )
        for stage in made.stages
    )
    extensions = {**made.extensions, EXTENSION: entry}
    rewrite(
        bundle,
        made._replace(target=made.target._replace(levels=LEVELS), stages=stages, extensions=extensions),
    )


def python_level(bundle: Path, **options: str) -> str:
    """The name of the level, or of the error."""
    try:
        with Bundle.load(bundle, **options) as loaded:  # type: ignore[arg-type]
            return loaded.level.name
    except KokoroError as error:
        return f"{type(error).__name__}: {error}"


def native_level(library: NativeLibrary, bundle: Path, **options: str) -> str:
    try:
        with library.loaded(bundle, **{name: value.encode() for name, value in options.items()}) as loaded:
            return str(library.functions.kokoro_level(loaded).decode())
    except NativeError as error:
        return str(error)


@pytest.mark.parametrize(
    ("options", "level"),
    [
        ({}, "baseline"),
        ({"arithmetic": "float32"}, "baseline"),
        ({"arithmetic": "bfloat16"}, "halves"),
        ({"arithmetic": "int4"}, "baseline"),
        ({"level": "halves"}, "halves"),
        (
            {"arithmetic": "int8"},
            "UsageError: The bundle has no arithmetic 'int8': it has float32, bfloat16, int4",
        ),
        ({"arithmetic": "bfloat16", "level": "halves"}, "UsageError: A level has an arithmetic of its own"),
    ],
)
def test_both_choose_the_same_level(
    library: NativeLibrary, bundle: Path, options: dict[str, str], level: str
) -> None:
    found = python_level(bundle, **options)
    assert found.startswith(level)
    assert native_level(library, bundle, **options) == found


@pytest.mark.parametrize("entry", [{"other": "bfloat16"}, {"halves": 1}, [1]])
def test_both_refuse_a_wrong_entry(
    library: NativeLibrary, speaking_bundle: Path, tmp_path: Path, entry: Any
) -> None:
    copy = shutil.copytree(speaking_bundle, tmp_path / "bundle")
    give(copy, entry)
    for found in (python_level(copy), native_level(library, copy)):
        assert found.startswith("ManifestError: ") and "extensions.arithmetic" in found
