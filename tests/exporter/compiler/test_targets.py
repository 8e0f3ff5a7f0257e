"""The table of targets agrees with LLVM and with itself, and selections from it are predictable."""

from __future__ import annotations

from itertools import pairwise

import pytest
import tvm
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from exporter.cli.targets import as_tables
from exporter.compiler.kernels.tiles import tiles_of
from exporter.compiler.levels import (
    UnknownArithmeticError,
    UnknownCpuLevelError,
    arithmetic_levels,
    choose_levels,
)
from exporter.compiler.targets import TARGETS, Target, UnknownTargetError, find_target
from runtime_min.engine.machine import Machine
from runtime_min.format.signatures import stage_names
from tests.support.paths import ROOT

LINUX = find_target("linux-x86_64")
PLAN9 = Machine("plan9", "mips", "", frozenset())
# What every processor on which the target's system runs has, in LLVM's words.
BASELINES = {
    "linux-x86_64": "x86-64",
    "linux-aarch64": "generic",
    "macos-arm64": "apple-m1",
    "metal-macos": "apple-m1",
    "metal-ios": "apple-a8",
    "ios-arm64": "apple-a8",
    "cuda-linux": "x86-64",
    "windows-x86_64": "x86-64",
    "android-arm64": "generic",
    "web": "generic",
}
# LLVM's names of the instruction sets that the levels add, and /proc/cpuinfo's.
CPUINFO_NAMES = {
    **{
        name: name
        for name in ("avx", "avx2", "bmi2", "cx16", "f16c", "fma", "movbe", "popcnt", "ssse3", "xsave")
    },
    **{name: name for name in ("avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl")},
    **{
        "sse3": "pni",
        "sse4.1": "sse4_1",
        "sse4.2": "sse4_2",
        "bmi": "bmi1",
        "lzcnt": "abm",
        "sahf": "lahf_lm",
    },
}


def machine(target: Target, *features: str) -> Machine:
    return Machine(target.system, target.machine, target.minimum_os, frozenset(features))


def llvm_features(target: Target, mcpu: str) -> set[str]:
    description = tvm.target.Target({"kind": "llvm", "mtriple": target.triple, "mcpu": mcpu})
    return set(tvm.target.codegen.llvm_get_cpu_features(description))


def test_every_target_has_a_name_of_its_own():
    assert len({target.name for target in TARGETS}) == len(TARGETS)


@pytest.mark.parametrize("target", TARGETS, ids=lambda target: target.name)
class TestRow:
    def test_levels_go_from_the_best_to_the_most_common_and_have_tiles(self, target):
        for better, common in pairwise(target.levels):
            assert set(better.features) > set(common.features)
            assert better.lanes >= common.lanes
        for level in target.levels:
            assert tiles_of(level).lanes == level.lanes
            assert level.name.replace("-", "").isalnum(), "it is a directory of a bundle"

    def test_levels_ask_for_exactly_the_instructions_that_llvm_may_emit(self, target):
        baseline = llvm_features(target, BASELINES[target.name])
        for level in target.levels:
            added = llvm_features(target, level.mcpu) - baseline
            assert {CPUINFO_NAMES[name] for name in added & CPUINFO_NAMES.keys()} == set(level.features)

    def test_zig_links_for_the_machine_and_the_oldest_system_that_is_promised(self, target):
        named = target.zig_target.replace("-gnu", "").replace("linux-android", "android")
        machine, system, *version = named.replace(".", "-", 1).split("-")
        name, _, oldest = target.minimum_os.partition(" ")
        if target.system == "web":
            # A module is for every version of WASI, and what it needs of an engine is in its level.
            assert (machine, system, name) == (target.machine, "wasi", "webassembly")
            return
        assert machine == target.machine.replace("arm64", "aarch64")
        others = ("macos", "ios", "windows", "android")
        assert (system, name) in {("linux", "glibc"), *((each, each) for each in others)}
        assert version == [] if system == "windows" else version == [oldest]
        assert target.triple.split("-")[0] == target.machine

    def test_wheels_are_those_of_the_same_machine_and_no_newer_system(self, target):
        name, _, oldest = target.minimum_os.partition(" ")
        if not target.runs:
            assert target.wheel_platform == "" and target.needs
        elif name == "glibc":
            assert target.wheel_platform == f"manylinux_{oldest.replace('.', '_')}_{target.machine}"
        elif name == "macos":
            major, minor = map(int, target.wheel_platform.split("_")[1:3])
            assert target.wheel_platform == f"macosx_{major}_{minor}_{target.machine}"
            assert (major, minor) <= tuple(map(int, oldest.split(".")))
        else:
            assert (name, target.wheel_platform) == ("windows", "win_amd64")

    def test_only_the_decoder_leaves_the_cpu_unless_the_lstms_are_asked_to(self, target):
        device = target.device
        assert target.separate_source == (device != "cpu")
        assert (target.device_runtime is not None) == (target.runs and device != "cpu")
        assert all(len(file.sha256) == 64 for file in target.runtime_files)
        for stage in stage_names(target.separate_source):
            assert target.device_of(stage) == (device if stage == "decoder" else "cpu")
            moved = ("decoder", "duration", "text_encoder")
            assert target.device_of(stage, device) == (device if stage in moved else "cpu")

    def test_it_is_shown_with_all_that_is_known_of_it(self, target, capsys):
        Console(width=80).print(as_tables(machine(target)))
        shown = " ".join(capsys.readouterr().out.replace("│", " ").split())
        names = (file.name for file in target.runtime_files)
        for fact in (target.name, target.triple, target.verified, target.needs, *names):
            assert fact in shown
        assert ", ".join(level.name for level in target.levels) in shown
        assert f"{target.minimum_os} or newer" in shown
        assert ("of this machine's TVM" in shown) == target.runs

    def test_it_is_found_by_its_name_and_the_host_computes_on_the_cpu(self, target):
        assert find_target(target.name, PLAN9) is target
        host = find_target("host", machine(target))
        assert host.device == "cpu" and host.fits(machine(target))
        assert host is target or target.device != "cpu"


def test_an_unknown_target_names_all_and_the_nearest_a_host_without_one_the_machine():
    with pytest.raises(UnknownTargetError, match=r"'linux-x86-64'.*Did you mean linux-x86_64\?.*'host'"):
        find_target("linux-x86-64")
    with pytest.raises(UnknownTargetError, match=r"plan9-mips.*linux-x86_64.*--target"):
        find_target("host", PLAN9)


@given(st.sets(st.sampled_from([*LINUX.levels[0].features, "sha_ni"])))
def test_the_host_level_is_the_first_whose_features_are_all_there(features):
    fitting = [level for level in LINUX.levels if set(level.features) <= features]
    if fitting:
        assert choose_levels(LINUX, "host", machine(LINUX, *features)) == (fitting[0],)
    else:
        with pytest.raises(UnknownCpuLevelError, match=r"x86-64-v4, x86-64-v3.*--cpu-level"):
            choose_levels(LINUX, "host", machine(LINUX, *features))


@given(st.permutations([level.name for level in LINUX.levels]))
def test_named_levels_come_best_first_in_whatever_order_they_are_named(names):
    assert choose_levels(LINUX, ", ".join(names), machine(LINUX)) == LINUX.levels
    assert choose_levels(LINUX, "all", PLAN9) == LINUX.levels
    assert choose_levels(LINUX, names[0], machine(LINUX))[0].name == names[0]


def test_a_level_that_does_not_exist_or_fit_is_named_with_those_that_exist():
    with pytest.raises(UnknownCpuLevelError, match=r"'x86-64-v9'.*x86-64-v4, x86-64-v3"):
        choose_levels(LINUX, "x86-64-v3,x86-64-v9", machine(LINUX))
    arm = Machine("linux", "aarch64", "glibc 2.36", frozenset(LINUX.levels[0].features))
    with pytest.raises(UnknownCpuLevelError):
        choose_levels(LINUX, "host", arm)


class TestArithmetic:
    def test_its_levels_ask_for_more_than_those_that_compute_the_other_stages(self):
        for target in TARGETS:
            for level in target.arithmetic_levels:
                (base,) = (each for each in target.levels if each.name == level.base)
                assert set(level.features) > set(base.features)
                assert (level.mcpu, level.lanes) == (base.mcpu, base.lanes)
                assert set(level.attributes) > set(base.attributes)
                assert tiles_of(level).table == tiles_of(base).table

    def test_it_comes_beside_the_chosen_levels(self):
        assert arithmetic_levels(LINUX, LINUX.levels, "float32") == ()
        assert arithmetic_levels(LINUX, LINUX.levels, "bfloat16") == LINUX.arithmetic_levels

    @pytest.mark.parametrize(
        ("target", "levels", "arithmetic", "advice"),
        [
            (LINUX, LINUX.levels[1:], "bfloat16", "--cpu-level x86-64-v4"),
            (
                find_target("metal-macos"),
                None,
                "bfloat16",
                "--target linux-x86_64 or linux-aarch64 or macos-arm64 or android-arm64",
            ),
            (find_target("ios-arm64"), None, "bfloat16", "--target linux-x86_64 or linux-aarch64"),
            (LINUX, None, "float8", "one of float32, bfloat16"),
        ],
    )
    def test_what_a_target_does_not_have_is_refused_with_advice(self, target, levels, arithmetic, advice):
        with pytest.raises(UnknownArithmeticError, match=advice):
            arithmetic_levels(target, levels or target.levels, arithmetic)


def test_the_c_library_asks_macos_for_every_feature_of_a_level() -> None:
    source = (ROOT / "runtime_native" / "engine" / "machine.cpp").read_text(encoding="utf-8")
    levels = [
        level
        for target in TARGETS
        if target.system in ("macos", "ios")
        for level in (*target.levels, *target.arithmetic_levels)
    ]
    features = {feature for level in levels for feature in level.features}
    assert features
    assert [feature for feature in features if f'"{feature}"' not in source] == []
