"""A manifest names the arithmetic of its CPU levels, and the runtime chooses the level by it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporter.bundle.write import write_bundle
from exporter.compiler.targets import find_target
from runtime_min.bundle_command.manifest_tables import as_text
from runtime_min.engine.machine import Machine, _parse_sysctl, check_target, this_machine
from runtime_min.errors import CpuLevelError, ManifestError, UsageError
from runtime_min.format.arithmetic import EXTENSION, arithmetic_of
from runtime_min.format.manifest import CpuLevel, Manifest
from runtime_min.format.verify import read_manifest
from runtime_min.loading import chosen_level
from tests.support.tiny.bundle import dummy_contents, with_levels

LEVELS = (CpuLevel("best", ("a", "b")), CpuLevel("common", ("a",)), CpuLevel("best-bf16", ("a", "b", "h")))
HALVES = {"best-bf16": "bfloat16"}


@pytest.fixture(scope="module")
def manifest(tmp_path_factory: pytest.TempPathFactory) -> Manifest:
    """A manifest whose third level computes with bfloat16."""
    directory = tmp_path_factory.mktemp("arithmetic")
    return changed(read_manifest(write_bundle(directory / "bundle", made(directory))), HALVES)


def made(directory: Path) -> Any:
    return with_levels(dummy_contents(directory), LEVELS)


def changed(manifest: Manifest, entry: Any) -> Manifest:
    return manifest._replace(extensions={**manifest.extensions, EXTENSION: entry})


def test_levels_without_an_entry_compute_in_float32(manifest: Manifest) -> None:
    assert arithmetic_of(manifest) == {"best": "float32", "common": "float32", **HALVES}
    assert set(arithmetic_of(changed(manifest, {})).values()) == {"float32"}
    assert set(arithmetic_of(manifest._replace(extensions={})).values()) == {"float32"}


@pytest.mark.parametrize("entry", [[], 1, {"other": "bfloat16"}, {"best": 1}, {"best": "\x1b[2J"}])
def test_an_entry_that_breaks_its_schema_is_refused_by_its_place(manifest: Manifest, entry: Any) -> None:
    with pytest.raises(ManifestError, match=r"extensions\.arithmetic"):
        arithmetic_of(changed(manifest, entry))


def test_inspect_names_the_level(manifest: Manifest) -> None:
    assert "bfloat16 on best-bf16" in as_text(manifest, this_machine())
    assert "bfloat16" not in as_text(changed(manifest, {}), this_machine())


@given(features=st.sets(st.sampled_from("abhx")))
def test_an_arithmetic_is_chosen_where_it_runs_and_otherwise_float32(
    manifest: Manifest, features: set[str]
) -> None:
    def chosen(arithmetic: str | None) -> str:
        return chosen_level(manifest, frozenset(features), None, arithmetic).name

    if "a" not in features:
        for arithmetic in (None, "float32", "bfloat16"):
            with pytest.raises(CpuLevelError):
                chosen(arithmetic)
        return
    exact = "best" if "b" in features else "common"
    assert chosen(None) == chosen("float32") == exact
    assert chosen("bfloat16") == ("best-bf16" if {"b", "h"} <= features else exact)


@pytest.mark.parametrize(
    ("printed", "level"),
    [
        ("hw.optional.arm.FEAT_BF16: 1\nhw.optional.arm.FEAT_EBF16: 0\n", "apple-m2-bf16"),
        ("hw.optional.arm.FEAT_BF16: 0\nhw.optional.arm.FEAT_DotProd: 1\n", "apple-m1"),
        ("hw.optional.arm64: 1\nhw.optional.arm.FEAT_EBF16: 1\n", "apple-m1"),
        ("", "apple-m1"),
    ],
    ids=["an M2", "an M1", "an older macOS", "no answer"],
)
def test_a_mac_takes_bfloat16_where_it_has_the_instructions(
    manifest: Manifest, printed: str, level: str
) -> None:
    row = find_target("macos-arm64")
    levels = tuple(CpuLevel(each.name, each.features) for each in (*row.levels, *row.arithmetic_levels))
    target = manifest.target._replace(system=row.system, machine=row.machine, minimum_os=row.minimum_os)
    halves = {each.name: each.arithmetic for each in row.arithmetic_levels}
    bundle = changed(manifest._replace(target=target._replace(levels=levels)), halves)
    mac = Machine("macos", "arm64", "macos 13.0", _parse_sysctl(printed))
    check_target(bundle.target, mac)
    assert chosen_level(bundle, mac.features, None, "bfloat16").name == level
    assert chosen_level(bundle, mac.features, None, None).name == "apple-m1"


def test_a_level_is_chosen_by_its_name_and_not_along_with_an_arithmetic(manifest: Manifest) -> None:
    every = frozenset("abh")
    assert chosen_level(manifest, every, "best-bf16", None).name == "best-bf16"
    with pytest.raises(UsageError, match="one of level and arithmetic"):
        chosen_level(manifest, every, "best", "bfloat16")
    with pytest.raises(UsageError, match=r"no arithmetic 'int4': it has float32, bfloat16"):
        chosen_level(manifest, every, None, "int4")
