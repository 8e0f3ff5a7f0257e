"""Bundles are freed, and processes end, while threads speak: nothing uses what is gone, and nothing hangs."""

from __future__ import annotations

import os
import re
import signal
import subprocess
from pathlib import Path

import pytest

from exporter.bundle.write import write_bundle
from exporter.compiler.targets import find_target
from exporter.native.build import HEADER, LIBRARY, build_library
from exporter.text.files import text_files
from tests.support.native import sanitised
from tests.support.paths import PROVING
from tests.support.tiny.bundle import contents

HERE = Path(__file__).parent
KINDS = ("", "address", "thread")
"""Sanitisers; none stands for the library that ships."""


class Lifetimes:
    """The program lifetimes.cpp, once for each kind."""

    def __init__(self, place: Path, bundle: Path) -> None:
        self.bundle, self._object = bundle, place / "lifetimes.o"
        command = ["g++", "-std=c++17", "-O1", f"-I{HEADER.parent}", "-c", HERE / "lifetimes.cpp"]
        subprocess.run([*command, "-o", self._object], check=True)
        self.programs = {kind: self._build(kind, place / (kind or "shipped")) for kind in KINDS}

    def _build(self, kind: str, place: Path) -> Path:
        place.mkdir()
        library, program = place / LIBRARY, place / "lifetimes"
        if kind:
            sanitised.build_partly(library, kind)
        else:
            build_library(find_target("host"), library)
        runtime = [f"-fsanitize={kind}"] if kind else []
        command = ["g++", "-pthread", *runtime, self._object, library, f"-Wl,-rpath,{place}", "-o", program]
        subprocess.run(command, check=True)
        return program

    def run(self, kind: str, scenario: str, status: int = 0, message: str = "") -> None:
        thread = "atexit_sleep_ms=0 report_thread_leaks=0"
        options = {"TSAN_OPTIONS": thread, "ASAN_OPTIONS": sanitised.PARTLY}
        # The thread sanitiser knows no addresses as random as those of today's kernels.
        command = ["setarch", "-R", self.programs[kind], scenario, self.bundle]
        done = subprocess.run(command, env=os.environ | options, capture_output=True, text=True, timeout=300)
        assert done.returncode == status, done.stderr[:10_000]
        assert re.fullmatch(message, done.stderr), done.stderr[:10_000]


@pytest.fixture(scope="module")
def lifetimes(
    libraries: dict[str, Path], runtime_library: Path, tmp_path_factory: pytest.TempPathFactory
) -> Lifetimes:
    place = tmp_path_factory.mktemp("lifetimes")
    made = contents(libraries, runtime_library).extended(text_files(()))
    return Lifetimes(place, write_bundle(place / "bundle", made))


@pytest.mark.parametrize("scenario", ["free", "wait", "callbacks", "each_other", "cancel"])
@pytest.mark.parametrize("kind", KINDS)
def test_bundles_are_freed_while_threads_use_them(lifetimes: Lifetimes, kind: str, scenario: str) -> None:
    lifetimes.run(kind, scenario)


def test_an_exception_of_a_callback_ends_the_process(lifetimes: Lifetimes) -> None:
    lifetimes.run("", "throw", -signal.SIGABRT, "terminate called after .*\n.*thrown\n")


def test_a_child_refuses_the_bundles_of_its_parent(lifetimes: Lifetimes) -> None:
    """The address sanitiser of g++ 12 has locks of its own that a child may find locked."""
    lifetimes.run("", "fork")


@pytest.mark.parametrize("scenario", ["exit", "exit_in_callback", "return"])
@pytest.mark.parametrize("kind", KINDS)
def test_a_process_ends_while_threads_speak(lifetimes: Lifetimes, kind: str, scenario: str) -> None:
    for _ in range((3 if kind else 8) if PROVING else (2 if kind else 4)):
        lifetimes.run(kind, scenario)
