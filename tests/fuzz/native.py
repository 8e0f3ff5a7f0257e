"""The harnesses of the C library, in C++: what `make fuzz` and `make prove` feed with libFuzzer.

Debian's clang compiles the library's sources for its sanitisers. TVM is that of the wheels, without them.
"""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Callable, Sequence
from functools import cached_property
from pathlib import Path
from random import Random
from typing import NamedTuple

from exporter.bundle.write import write_bundle
from exporter.native import build, zig
from exporter.text.files import LANGUAGES, text_files
from tests.fuzz.readers import golden_manifests, languages, texts
from tests.support.fakes.text_bundle import PHONEMES
from tests.support.gpu.stand_in import runtime_library
from tests.support.native.clang import Clang, fetched_clang
from tests.support.native.sanitised import flags, for_another_compiler
from tests.support.paths import ROOT
from tests.support.tiny.bundle import VOCABULARY, contents, with_entries
from tests.support.tiny.model import compiled_libraries

# Under the address sanitiser a minute of slow speech takes a minute, or two on a busy machine.
LIMITS = ("-len_control=0", "-timeout=300", "-rss_limit_mb=4096")
SOURCES = ROOT / "tests" / "runtime_native" / "fuzz"
_LEFT_OUT = build.SOURCES / "exit.cpp"
"""libFuzzer needs what happens at the end of a process."""


class Harness(NamedTuple):
    """A harness, and the sanitisers that watch it."""

    source: str
    sanitisers: str
    seeds: Callable[[], Sequence[bytes]]

    @property
    def corpus(self) -> str:
        """The name of its stored corpus, which those of other sanitisers share."""
        return f"native_{self.source}"


def text_seeds() -> list[bytes]:
    """Texts, each with a byte that chooses language, mark-up and emoji."""
    return [bytes([number % 32]) + text for number, text in enumerate(texts()[:300])]


def choices() -> list[bytes]:
    """Bytes of which each decides something: a field, a call, or what a callback does."""
    return [Random(seed).randbytes(240) for seed in range(30)]


HARNESSES = {
    "native_manifest": Harness("manifest", "address,undefined", golden_manifests),
    "native_text": Harness("text", "address,undefined", text_seeds),
    "native_language": Harness("language", "address,undefined", languages),
    "native_requests": Harness("requests", "address,undefined", choices),
    "native_calls": Harness("calls", "address,undefined", choices),
    "native_calls_thread": Harness("calls", "thread", choices),
}
CORPORA = sorted({each.corpus for each in HARNESSES.values()})


class Fuzzers:
    """The harnesses as programs, and the bundle that they load."""

    def __init__(self, place: Path) -> None:
        """Takes a directory for the programs and the bundle, which are made when they are needed."""
        self.place = place

    @cached_property
    def bundle(self) -> Path:
        """A tiny bundle that speaks text."""
        made = contents(compiled_libraries(self.place / "stages"), runtime_library())
        vocabulary = {
            phoneme: 1 + number % 4 for number, phoneme in enumerate(sorted({*PHONEMES, *VOCABULARY}))
        }
        return write_bundle(
            self.place / "bundle",
            with_entries(made.extended(text_files(LANGUAGES)), vocabulary=vocabulary),
        )

    def program(self, name: str) -> Path:
        """Builds a harness, if it is not there."""
        harness, program = HARNESSES[name], self.place / name
        if program.exists():
            return program
        clang, fuzzer = fetched_clang(), [f"-fsanitize={harness.sanitisers}", "-fsanitize=fuzzer"]
        source = SOURCES / f"{harness.source}.cpp"
        own = ["-std=c++17", "-O1", "-g", f"-I{SOURCES}", f"-I{build.SOURCES}", f"-I{build.HEADER.parent}"]
        packages = zig.package_directory("tvm_ffi").parent
        libraries = [runtime_library(), *packages.glob("tvm_ffi/lib/libtvm_ffi.so")]
        found = [f"-Wl,-rpath,{library.parent}" for library in libraries]
        include = [f"-I{zig.package_directory('tvm_ffi') / 'include'}"]
        objects = compiled(clang, harness.sanitisers)
        arguments = [*own, *include, *fuzzer, source, *objects, "-Wl,--no-as-needed", *libraries, *found]
        clang.run(*arguments, "-ldl", "-pthread", "-o", program)
        return program

    def run(self, name: str, *options: str | Path) -> str:
        """Runs a harness with options of libFuzzer and returns what it reports.

        Raises:
            AssertionError: an input failed.
        """
        # The thread sanitiser knows no addresses as random as those of today's kernels.
        command = ["setarch", "-R", self.program(name), *LIMITS, *options]
        environment = os.environ | {
            "KOKORO_FUZZ_BUNDLE": str(self.bundle),
            "UBSAN_OPTIONS": "print_stacktrace=1:halt_on_error=1",
            "TSAN_OPTIONS": "halt_on_error=1:report_thread_leaks=0",
        }
        done = subprocess.run(command, env=environment, capture_output=True, text=True, errors="replace")
        assert done.returncode == 0, f"{name}:\n{done.stderr[-20_000:]}"
        return done.stderr


def executed(report: str) -> int:
    """Returns the number of inputs that a harness read."""
    (found,) = re.findall(r"stat::number_of_executed_units: *(\d+)", report)
    return int(found)


def compiled(clang: Clang, sanitisers: str) -> list[Path]:
    """Returns the object files of the library's own sources, from the user's cache if they did not change."""
    wanted = [
        for_another_compiler(each._replace(flags=(*each.flags, "-fsanitize=fuzzer-no-link")), path)
        for each in build.library_units(flags(sanitisers))
        for path in each.paths
        if path.is_relative_to(build.SOURCES) and path != _LEFT_OUT
    ]
    return zig.compile_all(clang.command, wanted)
