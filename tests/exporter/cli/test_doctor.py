"""The doctor tells what is wrong with a machine and what to do, and the pins agree with each other."""

from __future__ import annotations

import shutil
from importlib.metadata import version

import pytest
import tomllib
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet

from exporter.cli import doctor
from exporter.cli.doctor import Status, check_packages
from exporter.errors import ExportError
from exporter.export.assemble import versions
from runtime_min.engine.machine import Machine
from tests.support.paths import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
EXPORT = [*PROJECT["dependencies"], *PROJECT["optional-dependencies"]["export"]]
REQUIREMENTS = ["numpy>=2", 'apache-tvm-ffi==0.1.14.post1; extra == "export"', 'pytest; extra == "test"']


def statuses(installed: dict[str, str]) -> dict[str, Status]:
    return {check.name: check.status for check in check_packages(REQUIREMENTS, installed.get)}


def test_what_the_exporter_needs_is_checked_and_what_the_tests_need_is_not():
    found = statuses({"numpy": "2.4.6", "apache-tvm-ffi": "0.1.14.post1"})
    assert found == {"numpy": Status.OK, "apache-tvm-ffi": Status.OK}


def test_a_missing_package_fails_and_says_how_to_install_it():
    check = next(check_packages(["kokoro==0.9.4"], lambda name: None))
    assert check.status is Status.FAIL
    assert "==0.9.4" in check.advice and "pip install 'kokoro-export[export]'" in check.advice


@pytest.mark.parametrize("bad", ["0.1.15.post1", "0.1.15.post2"])
def test_a_release_that_is_known_to_crash_fails_even_where_the_range_allows_it(bad):
    check = next(check_packages(["apache-tvm-ffi>=0.1.14.post0,<0.1.16"], lambda name: bad))
    assert check.status is Status.FAIL
    assert check.found == bad and "crash" in check.advice


def test_an_untested_release_is_a_warning():
    assert statuses({"numpy": "1.26.0", "apache-tvm-ffi": "0.1.14.post0"}) == {
        "numpy": Status.WARN,
        "apache-tvm-ffi": Status.WARN,
    }


def test_requirements_on_the_same_package_count_together():
    checks = list(check_packages(["numpy>=1.26,<3", 'numpy>=2.2; extra == "export"'], lambda name: "2.0.0"))
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


@pytest.mark.parametrize(
    ("python", "status"), [((3, 10), "fail"), ((3, 11), "ok"), ((3, 12), "ok"), ((3, 13), "fail")]
)
def test_only_the_pythons_of_the_pinned_packages_can_export(monkeypatch, python, status):
    monkeypatch.setattr(doctor.sys, "version_info", (*python, 0))
    (check,) = (check for check in doctor.examine() if check.name == "python")
    assert check.status.value == status


def test_this_environment_is_what_the_project_asks_for():
    assert [check for check in check_packages(EXPORT, version) if check.status is not Status.OK] == []


def test_every_requirement_is_pinned_within_its_range():
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    pins = dict(line.split("==") for line in lines if not line.startswith("#"))
    for text in [*EXPORT, *PROJECT["optional-dependencies"]["test"]]:
        requirement = Requirement(text)
        assert requirement.specifier.contains(pins[requirement.name], prereleases=True), text


def test_pins_are_releases_that_any_index_has():
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    for line in lines:
        assert line.startswith("#") or ("+" not in line and "@" not in line and "/" not in line), line


def test_the_runtime_accepts_the_release_that_the_exporter_pins():
    runtime, exporter = (
        SpecifierSet(next(str(r.specifier) for r in map(Requirement, part) if r.name == "apache-tvm-ffi"))
        for part in (PROJECT["dependencies"], PROJECT["optional-dependencies"]["export"])
    )
    pin = str(exporter).removeprefix("==")
    assert runtime.contains(pin) and runtime.contains("0.1.15.post2")


def test_a_bundle_names_the_versions_that_made_it():
    made = versions()
    assert made.kokoro_export == PROJECT["version"]
    assert (made.tvm, made.tvm_ffi) == (version("apache-tvm"), version("apache-tvm-ffi"))
    assert made.vm.replace(".", "").isdecimal()
