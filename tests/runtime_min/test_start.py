"""The start of the command: what happens beside what, counted and not timed."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from exporter.bundle.write import write_bundle
from runtime_min.errors import DamagedFileError
from runtime_min.format.bundle_files import BundleFiles
from runtime_min.format.verify import manifest_of
from runtime_min.loading import load_bundle
from tests.support.paths import ROOT
from tests.support.tiny.bundle import dummy_contents


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("start")
    return write_bundle(place / "bundle", dummy_contents(place))


def told(program: str, *arguments: object, **environment: str) -> list[str]:
    """The lines that a program prints in a process of its own."""
    known = {name: value for name, value in os.environ.items() if name != "OPENBLAS_NUM_THREADS"}
    command = [sys.executable, "-c", program, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, env={**known, **environment})
    assert done.returncode in (0, 4), done.stderr
    return done.stdout.splitlines()


def test_the_command_compares_files_before_it_imports_numpy_and_runs_nothing_before_they_are_compared(
    bundle: Path,
) -> None:
    program = """
import sys
import runtime_min.threads
from runtime_min.format import bundle_files

import runtime_min.speak_arguments
import runtime_min.loading as loading

def imported():
    return sorted({"numpy", "tvm_ffi", "runtime_min.bundle"} & set(sys.modules))

print("parsed", imported())
running = bundle_files.running
class Running:
    def __init__(self, *how):
        self.context = running(*how)
    def __enter__(self):
        self.context.__enter__()
        print("comparing", imported())
    def __exit__(self, *failure):
        print("imported", imported())
        self.context.__exit__(*failure)
        print("compared")
bundle_files.running = Running

def load(make, *arguments, **named):
    return real(lambda *opened: print("loading") or make(*opened), *arguments, **named)
real, runtime_min.speak_arguments.load_bundle = loading.load_bundle, load
runtime_min.speak_arguments.run([sys.argv[1], "--list-voices"])
"""
    assert told(program, bundle) == [
        "parsed []",
        "comparing []",
        "imported ['numpy', 'runtime_min.bundle', 'tvm_ffi']",
        "compared",
        "loading",
    ]


def test_what_speaks_is_made_only_of_files_that_were_compared(
    bundle: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first file is compared while `meanwhile` still runs; a damaged one lets nothing be made."""
    compared, compare = threading.Event(), BundleFiles._compare_block

    def failing(files: BundleFiles, *block: object) -> None:
        compare(files, *block)  # type: ignore[arg-type]
        compared.set()
        raise DamagedFileError("damaged")

    monkeypatch.setattr(BundleFiles, "_compare_block", failing)

    def make(*opened: object) -> None:
        pytest.fail("made of a damaged bundle")

    with pytest.raises(DamagedFileError, match="damaged"):
        load_bundle(make, bundle, threads=1, meanwhile=lambda: compared.wait(60))
    assert compared.is_set()


def test_parameters_are_compared_in_the_memory_that_is_used(
    bundle: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with BundleFiles(bundle) as files:
        manifest = manifest_of(files)
        read: list[str] = []
        real = os.pread

        def record(handle: int, *part: int) -> bytes:
            read.append(os.path.realpath(f"/proc/self/fd/{handle}"))
            return real(handle, *part)

        monkeypatch.setattr(os, "pread", record)
        files.verify(2, keep=[manifest.parameters.file])
        assert {Path(path).relative_to(bundle.resolve()).as_posix() for path in read} == {
            entry.path for entry in manifest.files if entry.path != manifest.parameters.file
        }
        memory = files.map(manifest.parameters.file)
        assert bytes(memory) == (bundle / manifest.parameters.file).read_bytes()
        # It is handed out once: whoever has it decides how long it stays.
        assert files.map(manifest.parameters.file) is not memory


PROCESS = """
import atexit, os, sys, types
import runtime_min.process
class Last:
    def __del__(self): print("taken down", flush=True)
sys.modules["last"] = last = types.ModuleType("last")
last.last = Last()
def run():
    atexit.register(print, "at exit")
    print(os.environ["OPENBLAS_NUM_THREADS"], sys.getswitchinterval() < 0.001)
    return 4
last.run = run
runtime_min.process.run_command("last")
"""


def test_the_command_starts_no_threads_of_numpy_and_ends_without_taking_the_interpreter_down() -> None:
    assert told(PROCESS) == ["1 True", "at exit"]
    assert told(PROCESS, OPENBLAS_NUM_THREADS="2") == ["2 True", "at exit"]
