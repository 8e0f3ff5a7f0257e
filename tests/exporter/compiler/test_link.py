"""Linking: which linker is taken, that the same objects give the same bytes, and what the result needs."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import lief
import pytest

from exporter.compiler import link
from exporter.compiler.link import (
    LinkerMissingError,
    LinkError,
    find_linker,
    link_library,
    linker_version,
    minimum_os,
    required_libc,
)
from exporter.compiler.targets import find_target

HOST = find_target("host")
ELSEWHERE = replace(HOST, name="plan9-mips", system="plan9", machine="mips", zig_target="mips-plan9")
SOURCE = "#include <math.h>\nfloat answer(float x) { return fmodf(x, 42.0f); }\n"


class Compiled:
    """Stands for TVM's executable: hands its objects to the linker as `export_library` does."""

    def __init__(self, directory: Path, source: str = SOURCE, compiler: Sequence[str] = ("cc",)) -> None:
        directory.mkdir()
        (directory / "source.c").write_text(source)
        self.object = directory / "object.o"
        subprocess.run(
            [*compiler, "-fPIC", "-c", "source.c", "-o", self.object.name], cwd=directory, check=True
        )

    def export_library(self, path, fcompile):
        fcompile(path, [str(self.object)])


@pytest.fixture(autouse=True)
def no_compiler_variable(monkeypatch):
    monkeypatch.delenv("CC", raising=False)


@pytest.mark.parametrize("name", ["host", "linux-aarch64"])
def test_the_same_objects_give_the_same_bytes_wherever_they_are_linked(tmp_path, name):
    target = find_target(name)
    libraries = []
    for place in ("here", "in-a-directory-with-another-name"):
        objects = Compiled(tmp_path / place, compiler=("cc",) if name == "host" else find_linker(target))
        libraries.append(tmp_path / f"{place}.so")
        link_library(objects, libraries[-1], target)
    assert libraries[0].read_bytes() == libraries[1].read_bytes()
    assert str(tmp_path).encode() not in libraries[0].read_bytes()
    here = subprocess.check_output(["getconf", "GNU_LIBC_VERSION"], text=True).split()[1]
    assert (2, 0) < required_libc(libraries) <= tuple(map(int, here.split(".")))
    if name == "linux-aarch64":
        assert minimum_os(target, libraries) == target.minimum_os
        library = lief.ELF.parse(libraries[0])
        assert library.header.machine_type == lief.ELF.ARCH.AARCH64
        assert set(library.libraries) <= {"libc.so.6", "libm.so.6"}


@pytest.mark.parametrize(
    ("contents", "newest"),
    [
        ([b""], (0, 0)),
        ([b"GLIBC_PRIVATE\0"], (0, 0)),
        ([b"GLIBC_2.2.5\0"], (2, 2)),
        ([b"GLIBC_2.9\0", b"GLIBC_2.38\0", b"GLIBC_2.4\0"], (2, 38)),
    ],
)
def test_the_newest_libc_of_all_libraries_counts(tmp_path, contents, newest):
    paths = []
    for number, content in enumerate(contents):
        paths.append(tmp_path / str(number))
        paths[-1].write_bytes(b"\x7fELF" + content)
    assert required_libc(paths) == newest


def test_zig_links_where_there_is_no_compiler_and_for_other_systems(monkeypatch):
    monkeypatch.setattr(link.importlib.util, "find_spec", lambda name: object())
    assert find_linker(ELSEWHERE)[-3:] == ["cc", "-target", "mips-plan9"]
    monkeypatch.setattr(link.shutil, "which", lambda name: None)
    assert find_linker(HOST)[-3:] == ["cc", "-target", HOST.zig_target]


def test_without_a_linker_both_choices_are_named(monkeypatch):
    monkeypatch.setattr(link.importlib.util, "find_spec", lambda name: None)
    monkeypatch.setattr(link.shutil, "which", lambda name: None)
    with pytest.raises(LinkerMissingError, match=r"linux-x86_64.*apt install gcc.*pip install .*cross"):
        find_linker(HOST)
    with pytest.raises(LinkerMissingError, match=r"plan9-mips was found: install zig"):
        find_linker(ELSEWHERE)


def test_the_variable_cc_names_the_linker_also_one_that_does_not_start(tmp_path, monkeypatch):
    for variable, command in (
        ("ccache 'my cc' -m64", ["ccache", "my cc", "-m64"]),
        ("bin/cc", [str(Path("bin/cc").absolute())]),
    ):
        monkeypatch.setenv("CC", variable)
        assert find_linker(HOST) == command
    monkeypatch.setenv("CC", "/no/such/compiler")
    with pytest.raises(LinkerMissingError, match=r"/no/such/compiler.*variable CC"):
        link_library(Compiled(tmp_path / "one"), tmp_path / "one.so", HOST)


def test_what_the_linker_says_is_in_the_error(tmp_path):
    executable = Compiled(tmp_path / "one")
    executable.object.write_bytes(b"no object")
    with pytest.raises(LinkError, match=r"status 1[\s\S]*object\.o"):
        link_library(executable, tmp_path / "one.so", HOST)


@pytest.mark.parametrize("name", ["macos-arm64", "metal-ios", "windows-x86_64", "linux-aarch64", "host"])
def test_asking_a_linkers_version_writes_nothing_where_the_caller_is(name, tmp_path, monkeypatch):
    command = find_linker(find_target(name))
    monkeypatch.chdir(tmp_path)
    found = linker_version(command)
    assert list(tmp_path.iterdir()) == []
    assert len(found.split("; ")) == 2
    # Nobody can create a file here, not even root.
    monkeypatch.chdir("/sys")
    assert linker_version(command) == found


@pytest.mark.parametrize("command", [["no-such-compiler"], [sys.executable, "-c", "import sys; sys.exit(1)"]])
def test_a_linker_without_a_version_is_unknown(command):
    assert linker_version(command) == "unknown"
