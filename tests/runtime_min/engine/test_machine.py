"""Machines that fit a bundle and machines that do not."""

from __future__ import annotations

import platform
import subprocess
from pathlib import Path
from types import SimpleNamespace

import pytest

from exporter.compiler.targets import find_target
from runtime_min.engine import machine
from runtime_min.engine.machine import (
    Machine,
    _cpu_features,
    _parse_cpuinfo,
    _parse_numpy,
    check_target,
    choose_level,
    this_machine,
)
from runtime_min.errors import CpuLevelError, PlatformError, UnknownProcessorError, UsageError
from runtime_min.format.manifest import CpuLevel, Target
from tests.support.files import fail_with

LEVELS = (
    CpuLevel("x86-64-v4", ("avx2", "avx512f")),
    CpuLevel("x86-64-v3", ("avx2", "fma")),
)
TARGET = Target("linux-x86_64", "x86_64-linux-gnu", "linux", "x86_64", "glibc 2.28", LEVELS)
FITTING = Machine("linux", "x86_64", "glibc 2.36", frozenset({"avx2", "fma"}))


@pytest.mark.parametrize("os_version", ["glibc 2.28", "glibc 2.36", "glibc 2.100", "glibc 3.0"])
def test_a_machine_that_fits_is_accepted(os_version: str) -> None:
    check_target(TARGET, FITTING._replace(os_version=os_version))


@pytest.mark.parametrize(
    ("system", "machine"), [("macos", "arm64"), ("linux", "aarch64"), ("macos", "x86_64")]
)
def test_another_platform_is_named_together_with_the_bundles_own(system: str, machine: str) -> None:
    with pytest.raises(PlatformError) as refusal:
        check_target(TARGET, FITTING._replace(system=system, machine=machine))
    message = str(refusal.value)
    assert "linux-x86_64" in message
    assert f"{system} on {machine}" in message


@pytest.mark.parametrize("os_version", ["glibc 2.27", "glibc 2.9", "", "macos 14.0"])
def test_an_older_system_is_refused(os_version: str) -> None:
    with pytest.raises(PlatformError, match=r"glibc 2\.28 or newer"):
        check_target(TARGET, FITTING._replace(os_version=os_version))


def test_the_best_level_that_the_processor_has_is_chosen_unless_one_is_asked_for() -> None:
    every = frozenset({"avx2", "fma", "avx512f"})
    assert choose_level(LEVELS, every).name == "x86-64-v4"
    assert choose_level(LEVELS, every - {"avx512f"}).name == "x86-64-v3"
    assert choose_level(LEVELS, every, "x86-64-v3").name == "x86-64-v3"


@pytest.mark.parametrize(
    ("features", "asked", "message"),
    [
        ({"fma"}, None, r"x86-64-v4 needs avx2, avx512f; x86-64-v3 needs avx2\. Export with a lower"),
        ({"avx2", "fma"}, "x86-64-v4", r"x86-64-v4 needs avx512f\. Ask for x86-64-v3, or leave"),
        ({"avx2"}, "x86-64-v5", "no CPU level 'x86-64-v5': it has x86-64-v4, x86-64-v3"),
    ],
    ids=["no level", "a level it lacks", "an unknown level"],
)
def test_the_message_names_what_the_processor_lacks(
    features: set[str], asked: str | None, message: str
) -> None:
    error = UsageError if asked == "x86-64-v5" else CpuLevelError
    with pytest.raises(error, match=message):
        choose_level(LEVELS, frozenset(features), asked)


class TestTiles:
    """A level with AMX's tiles, for which a process asks Linux."""

    LEVELS = (CpuLevel("tiles", ("amx_bf16", "amx_tile", "avx2")), CpuLevel("plain", ("avx2",)))
    ALL = frozenset(LEVELS[0].features)

    @pytest.fixture(params=[True, False])
    def granted(self, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> bool:
        monkeypatch.setattr(machine, "_tiles_are_permitted", lambda: request.param)
        return bool(request.param)

    def test_it_runs_if_linux_grants_them_and_the_next_one_otherwise(self, granted: bool) -> None:
        assert choose_level(self.LEVELS, self.ALL).name == ("tiles" if granted else "plain")

    def test_a_refusal_is_told_to_whoever_asks_for_the_level(self, granted: bool) -> None:
        if granted:
            assert choose_level(self.LEVELS, self.ALL, "tiles").name == "tiles"
            return
        expected = r"tiles needs amx_tile, which Linux refuses this process\. Ask for plain"
        with pytest.raises(CpuLevelError, match=expected):
            choose_level(self.LEVELS, self.ALL, "tiles")

    def test_nobody_asks_on_a_processor_without_them(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(machine, "_tiles_are_permitted", lambda: pytest.fail("asked"))
        assert choose_level(self.LEVELS, self.ALL - {"amx_bf16"}).name == "plain"
        assert choose_level(self.LEVELS[1:], self.ALL).name == "plain"

    @pytest.mark.skipif(platform.system() != "Linux", reason="only Linux is asked")
    def test_linux_grants_no_tiles_that_the_processor_lacks(self) -> None:
        assert not machine._tiles_are_permitted() or "amx_tile" in this_machine().features


def test_features_are_those_that_every_core_has() -> None:
    x86 = "processor\t: 0\nflags\t\t: fpu avx2 fma\n\nprocessor\t: 1\nflags\t\t: fpu avx2\n"
    arm = "processor\t: 0\nFeatures\t: fp asimd\n"
    assert _parse_cpuinfo(x86) == {"fpu", "avx2"}
    assert _parse_cpuinfo(arm) == {"fp", "asimd"}
    assert _parse_cpuinfo("processor: 0\n") == frozenset()


def test_what_came_with_avx2_and_fma_is_there_with_both() -> None:
    found = {"SSE3": True, "LAHF": True, "AVX2": True, "FMA3": False, "AVX512F": False}
    assert _parse_numpy(found) == {"pni", "lahf_lm", "avx2"}
    assert {"fma", "bmi2", "abm", "movbe", "xsave"} <= _parse_numpy(found | {"FMA3": True})


def test_where_the_system_tells_no_features_numpy_tells_the_same() -> None:
    asked = {feature for level in find_target("windows-x86_64").levels for feature in level.features}
    assert _cpu_features("windows") & asked == this_machine().features & asked


def test_this_machine_is_described_in_the_formats_words() -> None:
    machine = this_machine()
    assert machine.system in ("linux", "macos", "windows")
    assert machine.machine == platform.machine().lower().replace("amd64", "x86_64")
    if machine.system == "linux" and machine.machine == "x86_64":
        assert {"fpu", "sse2"} <= machine.features


@pytest.mark.parametrize(("system", "name"), [("Darwin", "macos"), ("Windows", "windows")])
def test_other_systems_are_described_in_the_formats_words(
    monkeypatch: pytest.MonkeyPatch, system: str, name: str
) -> None:
    monkeypatch.setattr(platform, "system", lambda: system)
    monkeypatch.setattr(platform, "machine", lambda: "AMD64")
    monkeypatch.setattr(platform, "mac_ver", lambda: ("14.1", ("", "", ""), "arm64"))
    monkeypatch.setattr(platform, "version", lambda: "10.0.19045")
    listed = SimpleNamespace(
        stdout="hw.optional.one: 1\nhw.optional.arm.FEAT_A: 1\nhw.optional.arm.FEAT_B: 0\n"
    )
    monkeypatch.setattr(subprocess, "run", lambda command, **_: listed)
    version = {"macos": "macos 14.1", "windows": "windows 10.0.19045"}[name]
    features = {"macos": frozenset({"one", "FEAT_A"}), "windows": _cpu_features("windows")}[name]
    assert this_machine() == Machine(name, "x86_64", version, features)


def test_a_missing_proc_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(platform, "system", lambda: "Linux")
    monkeypatch.setattr(Path, "read_text", fail_with(FileNotFoundError(2, "No such file or directory")))
    with pytest.raises(UnknownProcessorError, match=r"/proc/cpuinfo .No such file.*mount /proc"):
        this_machine()
