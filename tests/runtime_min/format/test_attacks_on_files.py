"""Attacks by paths, links, directories, and files that change while they are used."""

from __future__ import annotations

import errno
import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import msgpack
import pytest

from runtime_min import Bundle
from runtime_min.engine.sealed_library import library_file
from runtime_min.errors import (
    ChangedFileError,
    ClosedBundleError,
    ManifestError,
    NotRegularFileError,
    ResourceError,
    UnexpectedFileError,
)
from runtime_min.format import file_content
from runtime_min.format.bundle_files import BundleFiles
from runtime_min.format.verify import manifest_of, read_manifest, verify_files
from tests.support.files import fail_with
from tests.support.fuzzing.manifest_changes import bounded, manifest_of_sound
from tests.support.paths import ROOT
from tests.support.tiny.runtime_alone import run_alone


@pytest.fixture
def bundle(sound: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(sound, tmp_path / "bundle"))


# Paths and links.


@pytest.mark.parametrize(
    "path", ["../outside", "/etc/passwd", "lib/../../outside", "..\\outside", "C:/outside"]
)
def test_a_path_that_escapes_is_never_opened(
    bundle: Path, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    raw = manifest_of_sound(bundle)
    raw["runtime_library"] = path
    raw["files"].append({"path": path, "bytes": 0, "sha256": hashlib.sha256(b"").hexdigest()})
    raw["files"].sort(key=lambda entry: entry["path"])
    (bundle / "manifest.msgpack").write_bytes(msgpack.packb(raw))
    opened = []
    real = os.open
    monkeypatch.setattr(
        os, "open", lambda path, *more, **named: opened.append(path) or real(path, *more, **named)
    )
    with pytest.raises(ManifestError, match="expected a relative path"):
        Bundle.load(bundle)
    assert opened == [bundle, "manifest.msgpack"]


LIBRARY = "lib/libtvm_runtime.so"


def loaded_after(bundle: Path, change: Callable[[Path], object], *, released: bool = True) -> list[bytes]:
    """Returns what is read and what is mapped where `change` happens between hashing and loading."""
    with BundleFiles(bundle) as files:
        parameters = manifest_of(files).parameters.file
        files.verify(keep=[parameters])
        if released:
            files.release_directory()
        change(bundle)
        return [bytes(files.map(parameters)), files.read(LIBRARY)]


def through(link: Callable[[Path, Path], object]) -> Callable[[Path], None]:
    """Returns a change that replaces the library and the parameters by links to hostile files."""

    def change(bundle: Path) -> None:
        for number, path in enumerate([LIBRARY, "parameters.bin"]):
            hostile = bundle.parent / f"hostile{number}"
            hostile.write_bytes(bytes((bundle / path).stat().st_size))
            (bundle / path).unlink()
            link(hostile, bundle / path)

    return change


def replace_by_a_file(bundle: Path) -> None:
    (bundle.parent / "hostile").write_bytes(b"hostile")
    (bundle.parent / "hostile").replace(bundle / "lib" / "libtvm_runtime.so")


def replace_the_directory(bundle: Path) -> None:
    (bundle / "lib").rename(bundle.parent / "lib")
    (bundle / "lib").mkdir()
    (bundle / "lib" / "libtvm_runtime.so").write_bytes(b"hostile")


def replace_the_bundle(bundle: Path) -> None:
    bundle.rename(bundle.parent / "earlier")
    (bundle / "lib").mkdir(parents=True)
    (bundle / "lib" / "libtvm_runtime.so").write_bytes(b"hostile")


def remove_the_bundle(bundle: Path) -> None:
    shutil.rmtree(bundle)


SWAPS: dict[str, Callable[[Path], object]] = {
    "by a symbolic link": through(os.symlink),
    "by a hard link": through(os.link),
    "by a file": through(shutil.copyfile),
    "the directory": replace_the_directory,
    "the bundle": replace_the_bundle,
    "by nothing": remove_the_bundle,
}


@pytest.mark.parametrize("released", [False, True])
@pytest.mark.parametrize("change", SWAPS)
def test_what_comes_in_place_of_a_file_after_hashing_is_not_loaded(
    bundle: Path, change: str, released: bool
) -> None:
    before = (bundle / LIBRARY).read_bytes()
    try:
        _, library = loaded_after(bundle, SWAPS[change], released=released)
    except ChangedFileError as refusal:
        assert f"{bundle / LIBRARY} was removed, replaced or written to" in str(refusal)
    else:
        # A bundle that is renamed while it is loaded is the same bundle.
        assert (change, released) == ("the bundle", False)
        assert library == before


@pytest.mark.parametrize(
    "data", [b"hostile", b"", b"not the runtime, but longer", b"not the RUNTIME"], ids=ascii
)
@pytest.mark.parametrize("link", [None, os.link, os.symlink], ids=["", "hard link", "symbolic link"])
def test_a_library_rewritten_in_place_is_not_loaded(
    bundle: Path, data: bytes, link: Callable[[Path, Path], object] | None
) -> None:
    """A file is written by its own name, or by that of the target of a link."""
    written = bundle / LIBRARY
    if link:
        written = written.rename(bundle.parent / "elsewhere")
        link(written, bundle / LIBRARY)
    with pytest.raises(ChangedFileError, match=r"libtvm_runtime\.so was removed, replaced or written to"):
        loaded_after(bundle, lambda _: written.write_bytes(data))


def test_a_file_that_is_the_same_again_is_loaded_wherever_it_lies(bundle: Path) -> None:
    """As after a bundle got another voice: all its files are copies."""

    def exchange(bundle: Path) -> None:
        copy = Path(shutil.copytree(bundle, bundle.parent / "copy"))
        shutil.rmtree(bundle)
        copy.rename(bundle)

    expected = [(bundle / path).read_bytes() for path in ("parameters.bin", LIBRARY)]
    assert loaded_after(bundle, exchange) == expected


def test_a_pipe_swapped_in_does_not_block(bundle: Path) -> None:
    files = BundleFiles(bundle)
    manifest_of(files)
    (bundle / "NOTICE").unlink()
    os.mkfifo(bundle / "NOTICE")
    with pytest.raises(NotRegularFileError, match="is a pipe"):
        files.read("NOTICE")
    files.close()


def test_memory_that_a_library_is_loaded_from_cannot_be_written(tmp_path: Path) -> None:
    with library_file("lib/x.so", [b"check", b"ed"]) as path:
        assert Path(path).read_bytes() == b"checked"
        for attempt in (lambda: Path(path).write_bytes(b"hostile"), lambda: os.truncate(path, 0)):
            with pytest.raises(PermissionError):
                attempt()
        assert Path(path).read_bytes() == b"checked"


def test_a_library_is_a_private_copy_where_there_is_no_such_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "memfd_create")
    with library_file("lib/x.so", [b"check", b"ed"]) as path:
        assert Path(path).read_bytes() == b"checked"
        assert Path(path).parent.stat().st_mode & 0o077 == 0
    assert not Path(path).exists()


STRAY = """
#include <unistd.h>
__attribute__((constructor)) static void picked_up(void) { _exit(77); }
"""


@pytest.fixture(scope="module")
def stray(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A library that ends the process that loads it, and one beside it that asks for it there."""
    place = tmp_path_factory.mktemp("stray")
    for name, source, *options in (
        ("libstray.so", STRAY),
        ("asks.so", "", "-L.", "-Wl,--no-as-needed", "-lstray", "-Wl,-rpath,$ORIGIN"),
    ):
        command = ["cc", "-shared", "-fPIC", "-o", name, "-xc", "-", "-xnone", *options]
        subprocess.run(command, input=source, text=True, cwd=place, check=True)
    return place


@pytest.mark.parametrize("memory", [True, False])
def test_no_library_is_picked_up_from_beside_the_one_that_is_loaded(stray: Path, memory: bool) -> None:
    code = f"""
import ctypes, os, sys
from pathlib import Path
from runtime_min.engine.sealed_library import library_file
if not {memory}:
    del os.memfd_create
with library_file("lib/asks.so", [Path("asks.so").read_bytes()]) as path:
    try:
        ctypes.CDLL(os.path.abspath("asks.so") if sys.argv[1:] else path)
    except OSError as error:
        sys.exit(0 if "libstray.so: cannot open" in str(error) else repr(error))
"""
    command = [sys.executable, "-c", code]
    alone = {"cwd": stray, "env": {**os.environ, "PYTHONPATH": str(ROOT)}}
    assert subprocess.run([*command, "by its own path"], **alone).returncode == 77
    assert subprocess.run(command, **alone).returncode == 0


def test_stray_libraries_in_a_bundle_are_not_loaded(
    speaking_bundle: Path, stray: Path, tmp_path: Path
) -> None:
    """Under every name that the loader looks for, also from within the directory."""
    copy = Path(shutil.copytree(speaking_bundle, tmp_path / "bundle"))
    names = ["libtvm_ffi.so", "libstdc++.so.6", "libgcc_s.so.1", "libm.so.6", "libdl.so.2", "libc.so.6"]
    for directory in (copy, copy / "lib", *copy.glob("lib/*/")):
        for name in (*names, "libpthread.so.0", "libtvm_runtime.so"):
            if not (directory / name).exists():
                shutil.copyfile(stray / "libstray.so", directory / name)
    assert run_alone(
        copy,
        """
        import os
        from runtime_min import Bundle
        os.chdir(sys.argv[1])
        result = len(Bundle.load(".").synthesize(phonemes="abcabcabcabc").samples) > 0
        """,
    )


def test_two_libraries_never_have_the_same_path() -> None:
    """The system's loader takes a path that it knows for the library that it has."""
    paths = set()
    for _ in range(100):
        with library_file("lib/x.so", [b""]) as path:
            paths.add(path)
    assert len(paths) == 100


# Directories.


def check_nothing_else(bundle: Path) -> None:
    with BundleFiles(bundle) as files:
        manifest_of(files)
        files.check_nothing_else()


def test_a_directory_of_directories_is_not_descended(bundle: Path) -> None:
    deepest = bundle / "deep"
    deepest.mkdir()
    handle = os.open(deepest, os.O_RDONLY)
    for _ in range(2_000):
        os.mkdir("d", dir_fd=handle)
        inner = os.open("d", os.O_RDONLY, dir_fd=handle)
        os.close(handle)
        handle = inner
    os.close(handle)
    try:
        with bounded(), pytest.raises(UnexpectedFileError, match="holds 'deep/'"):
            check_nothing_else(bundle)
        verify_files(bundle, read_manifest(bundle))
    finally:
        # Deeper than pytest's own cleaning goes.
        os.system(f"rm -rf '{deepest}'")


def test_a_directory_of_many_files_is_not_listed_to_its_end(bundle: Path) -> None:
    for number in range(3_000):
        (bundle / f"extra{number}").write_bytes(b"")
    with pytest.raises(UnexpectedFileError) as refusal:
        check_nothing_else(bundle)
    assert str(refusal.value).count("extra") == 5


def test_a_name_that_a_terminal_takes_for_a_command_is_shown_in_ascii(bundle: Path) -> None:
    (bundle / "\x1b[2J\udcff").write_bytes(b"")
    with pytest.raises(UnexpectedFileError, match=r"holds '\\x1b\[2J\\udcff'") as refusal:
        check_nothing_else(bundle)
    assert "\x1b" not in str(refusal.value)


@pytest.mark.parametrize("room", range(1, 9))
def test_too_many_open_files_are_a_typed_error_wherever_they_become_too_many(bundle: Path, room: int) -> None:
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    handles = []
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(handle_numbers()) + room, hard))
    try:
        with pytest.raises(ResourceError):
            while True:
                handles.append(BundleFiles(bundle))
                handles[-1].expect(read_manifest(bundle))
                handles[-1].verify(keep=["LICENSE", "NOTICE"])
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    before = len(handle_numbers())
    for files in handles:
        files.close()
    assert len(handle_numbers()) < before or not handles


def handle_numbers() -> list[int]:
    return [int(name) for name in os.listdir("/proc/self/fd")]


FAILURES = {
    "pread": (os, "pread", OSError(errno.EIO, "Input/output error")),
    "open": (os, "open", OSError(errno.EIO, "Input/output error")),
    "stat": (os, "stat", OSError(errno.ENOMEM, "Cannot allocate memory")),
    "scandir": (os, "scandir", OSError(errno.ENOMEM, "Cannot allocate memory")),
    "mmap": (file_content, "map_privately", OSError(errno.ENOMEM, "Cannot allocate memory")),
}


@pytest.mark.parametrize("name", FAILURES)
def test_a_failure_of_the_system_is_an_error_of_the_machine(
    bundle: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """Never of the bundle, whose maker cannot help it."""
    place, attribute, failure = FAILURES[name]
    files = BundleFiles(bundle)
    manifest = manifest_of(files)
    monkeypatch.setattr(place, attribute, fail_with(failure))
    with pytest.raises(ResourceError, match=f"{failure.args[-1]}.*not the bundle"):
        files.verify()
        files.check_nothing_else()
        files.map(manifest.parameters.file)


def test_a_file_that_is_read_while_the_bundle_is_closed_is_read_to_its_end(bundle: Path) -> None:
    """Its descriptor may not be another file's by then."""
    files = BundleFiles(bundle)
    manifest_of(files)
    reading = files.content("LICENSE")
    found = [next(reading)]
    files.close()
    others = [os.open(bundle / "NOTICE", os.O_RDONLY) for _ in range(10)]
    assert b"".join([*found, *reading]) == (bundle / "LICENSE").read_bytes()
    for handle in others:
        os.close(handle)
    for call in (files.read, files.map):
        with pytest.raises(ClosedBundleError):
            call("LICENSE")
