"""The same inputs, versions and target give the same bytes, on another day and in another directory."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from exporter.compiler.targets import find_target
from exporter.export import assemble as contents
from exporter.export.assemble import ToolsError
from exporter.export.bill_of_materials import commit, materials, sources_digest
from tests.support.files import bytes_of
from tests.support.paths import ROOT
from tests.support.programs.reproducible_export import export

# Moves the clock of a process by 400 days.
ANOTHER_DAY = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <sys/time.h>
#include <time.h>
#define SHIFT (400L * 86400)
int clock_gettime(clockid_t clock, struct timespec *now) {
    int (*real)(clockid_t, struct timespec *) = dlsym(RTLD_NEXT, "clock_gettime");
    int failed = real(clock, now);
    if (!failed && clock == CLOCK_REALTIME) now->tv_sec += SHIFT;
    return failed;
}
time_t time(time_t *now) {
    struct timespec value;
    clock_gettime(CLOCK_REALTIME, &value);
    if (now) *now = value.tv_sec;
    return value.tv_sec;
}
int gettimeofday(struct timeval *now, void *zone) {
    struct timespec value;
    clock_gettime(CLOCK_REALTIME, &value);
    now->tv_sec = value.tv_sec;
    now->tv_usec = value.tv_nsec / 1000;
    return 0;
}
"""


def exported_here(place: Path) -> Path:
    """Exports in this process, which has imported torch and TVM if other tests needed them; returns where."""
    place.mkdir()
    umask = os.umask(0o022)
    try:
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("TZ", "UTC")
            time.tzset()
            export(place)
    finally:
        os.umask(umask)
        time.tzset()
    return place


def exported_elsewhere(place: Path, **changes: str) -> tuple[Path, int]:
    """Exports in a process of its own; returns where, and the year that this process had."""
    for name in ("home", "tmp", "out"):
        (place / name).mkdir(parents=True)
    variables = {
        "HOME": str(place / "home"),
        "TMPDIR": str(place / "tmp"),
        "PYTHONPATH": str(ROOT),
        **changes,
    }
    done = subprocess.run(
        [sys.executable, "-m", "tests.support.programs.reproducible_export", str(place / "out")],
        cwd=place / "home",
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        umask=0o077,
    )
    assert done.returncode == 0, done.stderr
    return place / "out", int(done.stdout)


def test_an_export_does_not_depend_on_the_day_or_the_place(tmp_path: Path) -> None:
    (tmp_path / "day.c").write_text(ANOTHER_DAY)
    shim = tmp_path / "day.so"
    subprocess.run(["cc", "-shared", "-fPIC", str(tmp_path / "day.c"), "-o", str(shim), "-ldl"], check=True)
    here = exported_here(tmp_path / "here")
    # The hashes of this process have a random seed, unless the variable says another.
    seed = "1234" if os.environ.get("PYTHONHASHSEED") != "1234" else "0"
    there, year = exported_elsewhere(
        tmp_path / "a directory with another name" / "and deeper",
        **{"PYTHONHASHSEED": seed, "TZ": "Asia/Tokyo", "LC_ALL": "C"},
        **{"LD_PRELOAD": str(shim), "TVM_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"},
    )
    assert year > time.localtime().tm_year
    assert bytes_of(here / "bundle") == bytes_of(there / "bundle")
    for name in ("stage.so", "bundle.tar"):
        assert (here / name).read_bytes() == (there / name).read_bytes()
    for path in here.rglob("*.so"):
        assert str(tmp_path).encode() not in path.read_bytes(), f"{path} names the place it was made at"


class TestMaterials:
    def test_they_name_what_decides_about_the_bytes_and_nothing_of_this_machine(self) -> None:
        found = materials(find_target("host"))
        expected = ("av", "kokoro", "misaki", "msgpack", "numpy", "torch", "transformers")
        assert found.packages.keys() == set(expected)
        with_library = materials(find_target("host"), native=True)
        assert with_library.packages.keys() == {*found.packages, "ziglang"}
        assert found.tools.keys() == {"python", "llvm", "linker"}
        assert all(found.tools.values()) and found.tools["linker"] != "unknown"
        for place in (str(ROOT), str(Path.home()), sys.prefix):
            assert place not in str(found)

    def test_a_tvm_without_its_headers_is_refused(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(contents, "_tvm_directory", lambda: tmp_path)
        with pytest.raises(ToolsError, match="does not define VM_VERSION: install apache-tvm again"):
            contents.versions()

    def test_the_sources_are_told_apart_wherever_they_lie(self, tmp_path: Path) -> None:
        def digest(place: str, name: str = "a.py", content: str = "x = 1\n") -> str:
            for package in ("exporter", "runtime_min"):
                (tmp_path / place / package / "inner").mkdir(parents=True)
                (tmp_path / place / package / "inner" / name).write_text(content)
            return sources_digest(tmp_path / place)

        def native_digest(place: str, content: str) -> str:
            sources = tmp_path / place / "exporter" / "native" / "sources"
            sources.mkdir(parents=True, exist_ok=True)
            (sources / "a.cpp").write_text(content)
            return sources_digest(tmp_path / place)

        assert digest("one") == digest("two")
        assert len({digest("three"), digest("four", content="x = 2\n"), digest("five", name="b.py")}) == 3
        assert len({digest("six"), native_digest("six", "1"), native_digest("six", "2")}) == 3

    def test_the_commit_is_that_of_a_checkout_of_its_own(self, tmp_path: Path) -> None:
        def git(*arguments: str) -> str:
            identity = ["-c", "user.name=a", "-c", "user.email=a@b"]
            command = ["git", *identity, "-C", str(tmp_path), *arguments]
            return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()

        assert commit(tmp_path) == ""
        git("init")
        assert commit(tmp_path) == ""
        git("commit", "--allow-empty", "--message", "one")
        assert commit(tmp_path) == git("rev-parse", "HEAD")
        # An environment within somebody's project is not that project.
        (tmp_path / "venv" / "site-packages").mkdir(parents=True)
        assert commit(tmp_path / "venv" / "site-packages") == ""
