"""The doctor tells what is wrong with a machine and what to do, and the pins agree with each other."""

from __future__ import annotations

import shutil
from importlib.metadata import version
from itertools import chain

import pytest
import tomllib
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

from exporter.cli import doctor
from exporter.cli.doctor import Status, check_packages
from exporter.compiler.targets import find_target
from exporter.errors import ExportError
from exporter.export.assemble import versions
from runtime_min.engine import machine
from runtime_min.engine.machine import Machine
from tests.support.paths import ROOT

RUNTIME, EXPORTER = (
    tomllib.loads((ROOT / place / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    for place in (".", "exporter")
)
REQUIREMENTS = ["numpy>=2", "apache-tvm-ffi==0.1.14.post1", 'pytest; extra == "test"']


def test_what_the_exporter_needs_is_checked_and_what_the_tests_need_is_not():
    installed = {"numpy": "2.4.6", "apache-tvm-ffi": "0.1.14.post1"}
    found = {check.name: check.status for check in check_packages(REQUIREMENTS, installed.get)}
    assert found == dict.fromkeys(installed, Status.OK)


@pytest.mark.parametrize(
    ("requirement", "found", "status", "advice"),
    [
        ("kokoro==0.9.4", None, Status.FAIL, "expected ==0.9.4: pip install kokoro-export"),
        # It is known to crash, even where the range allows it.
        ("apache-tvm-ffi>=0.1.14.post0,<0.1.16", "0.1.15.post1", Status.FAIL, "known to crash the compiler"),
        ("apache-tvm-ffi>=0.1.14.post0,<0.1.16", "0.1.15.post2", Status.FAIL, "known to crash the compiler"),
        ("numpy>=2", "1.26.0", Status.WARN, "tested with >=2"),
    ],
)
def test_a_package_that_is_not_as_tested_has_an_advice(requirement, found, status, advice):
    (check,) = check_packages([requirement], lambda name: found)
    assert check.status is status and advice in check.advice


def test_requirements_on_the_same_package_count_together():
    checks = list(check_packages(["numpy>=1.26,<3", "numpy>=2.2"], lambda name: "2.0.0"))
    assert [(check.name, check.status) for check in checks] == [("numpy", Status.WARN)]


def test_every_check_that_is_not_ok_says_what_to_do(monkeypatch):
    def nothing(*_):
        raise ExportError("install one")

    monkeypatch.setattr(doctor, "find_linker", nothing)
    monkeypatch.setattr(doctor, "choose_levels", nothing)
    usage = shutil.disk_usage("/")._replace(free=1000)
    monkeypatch.setattr(shutil, "disk_usage", lambda path: usage)
    monkeypatch.setattr(doctor, "_available_memory", lambda: None)
    checks = {check.name: check for check in doctor.examine()}
    assert checks["linker"].status is Status.FAIL
    assert checks["cpu level"].status is Status.WARN
    assert checks["free disk, cache"].status is Status.WARN
    assert checks["available memory"].status is Status.WARN
    assert all(check.advice for check in checks.values() if check.status is not Status.OK)


def test_a_machine_without_a_target_can_still_export_for_others():
    checks = list(doctor._machine(Machine("plan9", "mips", "", frozenset())))
    assert [check.status for check in checks] == [Status.WARN]
    assert "--target" in checks[0].advice


@pytest.mark.parametrize("granted", [True, False])
def test_the_best_level_of_an_arithmetic_is_named_and_one_that_linux_refuses_too(monkeypatch, granted):
    monkeypatch.setattr(machine, "_tiles_are_permitted", lambda: granted)
    levels = find_target("linux-x86_64").arithmetic_levels
    every = frozenset(feature for level in levels for feature in level.features)
    found = {check.name: check for check in doctor._machine(Machine("linux", "x86_64", "glibc 2.36", every))}
    assert found["arithmetic"].found == f"float32, bfloat16 on {levels[0 if granted else 1].name}"
    assert (levels[0].name in found) != granted


@pytest.mark.parametrize(
    ("python", "status"), [((3, 10), "fail"), ((3, 11), "ok"), ((3, 12), "ok"), ((3, 13), "fail")]
)
def test_only_the_pythons_of_the_pinned_packages_can_export(monkeypatch, python, status):
    monkeypatch.setattr(doctor.sys, "version_info", (*python, 0))
    (check,) = (check for check in doctor.examine() if check.name == "python")
    assert check.status.value == status


def test_this_environment_is_what_the_project_asks_for():
    checks = check_packages(EXPORTER["dependencies"], version)
    assert [check for check in checks if check.status is not Status.OK] == []


def test_every_requirement_is_pinned_within_its_range_to_a_release_that_any_index_has():
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    pinned = (line.split("==") for line in lines if not line.startswith("#"))
    pins = {canonicalize_name(name): version for name, version in pinned}
    assert not any(character in "".join(pins.values()) for character in "+@/")
    extras = {**RUNTIME["optional-dependencies"], **EXPORTER["optional-dependencies"]}
    pinned_extras = [extras[name] for name in extras if name not in ("cuda", "dist", "fuzz")]
    needed = chain(RUNTIME["dependencies"], EXPORTER["dependencies"], *pinned_extras)
    for requirement in map(Requirement, needed):
        if requirement.name in (RUNTIME["name"], EXPORTER["name"]):
            continue
        pin = pins[canonicalize_name(requirement.name)]
        assert requirement.specifier.contains(pin, prereleases=True), str(requirement)


def test_the_runtime_accepts_the_release_that_the_exporter_pins():
    runtime, exporter = (
        SpecifierSet(next(str(r.specifier) for r in map(Requirement, part) if r.name == "apache-tvm-ffi"))
        for part in (RUNTIME["dependencies"], EXPORTER["dependencies"])
    )
    pin = str(exporter).removeprefix("==")
    assert runtime.contains(pin) and runtime.contains("0.1.15.post2")


def test_a_bundle_names_the_versions_that_made_it():
    made = versions()
    assert made.kokoro_export == EXPORTER["version"]
    assert (made.tvm, made.tvm_ffi) == (version("apache-tvm"), version("apache-tvm-ffi"))
    assert made.vm.replace(".", "").isdecimal()
