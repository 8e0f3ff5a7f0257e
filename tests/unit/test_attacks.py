"""The attacks that readers of GGUF, ONNX, safetensors and archives fell to, each by its name."""

from __future__ import annotations

import hashlib
import os
import shutil
import struct
import time
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgpack
import pytest

from exporter.bundle import write_bundle
from runtime_min import Bundle
from runtime_min.errors import (
    BundleError,
    ChangedFileError,
    DamagedFileError,
    LinkedFileError,
    ManifestError,
    MissingFileError,
    MsgpackError,
    UnexpectedFileError,
    UnreadableFileError,
)
from runtime_min.files import BundleFiles
from runtime_min.msgpack import MAXIMUM_BYTES, MAXIMUM_ITEMS, MAXIMUM_VALUES, unpack
from runtime_min.native import library_file
from runtime_min.parse import parse_manifest
from runtime_min.verify import manifest_of, read_manifest, verify_files
from tests.unit.speaking import run_alone
from tests.unit.tiny_bundle import dummy_contents

MOST_MEMORY = 64 << 20
MOST_SECONDS = 1.0


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("attacks")
    return write_bundle(directory / "sound", dummy_contents(directory))


@pytest.fixture
def bundle(sound: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(sound, tmp_path / "bundle"))


@contextmanager
def bounded(memory: int = MOST_MEMORY) -> Iterator[None]:
    """What is done within takes less than a second of the processor and less than `memory` bytes."""
    tracemalloc.start()
    started = time.process_time()
    try:
        yield
        assert tracemalloc.get_traced_memory()[1] < memory
    finally:
        tracemalloc.stop()
    # Tracing makes Python several times slower.
    assert time.process_time() - started < 10 * MOST_SECONDS


def manifest_of_sound(sound: Path) -> dict[str, Any]:
    decoded: dict[str, Any] = msgpack.unpackb((sound / "manifest.msgpack").read_bytes())
    return decoded


# A small file that asks for gigabytes.


@pytest.mark.parametrize(
    "data",
    [
        b"\xdd\xff\xff\xff\xff",
        b"\xdf\xff\xff\xff\xff",
        b"\xdb\xff\xff\xff\xff" + b"x" * 100,
        b"\xc6\xff\xff\xff\xff" + b"x" * 100,
        b"\xc9\xff\xff\xff\xff\x01",
        b"\xdc\xff\xff" * 5_000,
        b"\x81\xda\x0f\xff",
        b"\x81\xa1a\xdd\x7f\xff\xff\xff\x00",
    ],
    ids=["array", "map", "string", "binary", "extension", "arrays in arrays", "key", "array within"],
)
def test_a_few_bytes_that_ask_for_gigabytes(data: bytes) -> None:
    with bounded(memory=1 << 20), pytest.raises(MsgpackError):
        unpack(data)


@pytest.mark.parametrize("bytes_claimed", [1 << 40, (1 << 63) - 1])
def test_a_file_entry_that_claims_terabytes(bundle: Path, bytes_claimed: int) -> None:
    raw = manifest_of_sound(bundle)
    next(entry for entry in raw["files"] if entry["path"] == "NOTICE")["bytes"] = bytes_claimed
    (bundle / "manifest.msgpack").write_bytes(msgpack.packb(raw))
    with bounded(memory=4 << 20), pytest.raises(DamagedFileError, match=f"should have {bytes_claimed} bytes"):
        verify_files(bundle, read_manifest(bundle))


def test_a_sparse_file_as_large_as_it_claims_is_read_in_pieces(bundle: Path) -> None:
    size = 256 << 20
    os.truncate(bundle / "NOTICE", size)
    raw = manifest_of_sound(bundle)
    next(entry for entry in raw["files"] if entry["path"] == "NOTICE")["bytes"] = size
    (bundle / "manifest.msgpack").write_bytes(msgpack.packb(raw))
    with bounded(), pytest.raises(DamagedFileError, match="should have SHA-256"):
        verify_files(bundle, read_manifest(bundle))


@pytest.mark.parametrize(
    "change",
    [
        lambda raw: raw["parameters"]["tensors"][0].update(offset=1 << 62),
        lambda raw: raw["parameters"]["tensors"][0].update(bytes=1 << 62),
        lambda raw: raw["voices"][0].update(rows=1 << 16, columns=1 << 16),
        lambda raw: raw["stages"][0]["libraries"][0].update(bucket=1 << 62),
        lambda raw: raw.update(max_phonemes=1 << 62),
        lambda raw: raw["model"].update(hidden=1 << 62),
    ],
    ids=["offset", "tensor", "voice", "bucket", "phonemes", "channels"],
)
def test_numbers_that_ask_for_gigabytes(sound: Path, change: Callable[[dict[str, Any]], object]) -> None:
    raw = manifest_of_sound(sound)
    change(raw)
    with bounded(memory=4 << 20), pytest.raises(ManifestError):
        parse_manifest(msgpack.packb(raw))


# Counts and products that overflow.


@pytest.mark.parametrize(
    "shape",
    [[1 << 31] * 8, [1 << 31, 1 << 31, 4], [65_536] * 4, [(1 << 31) - 1, 2, 2, (1 << 31) - 1]],
    ids=str,
)
def test_a_shape_whose_product_overflows(sound: Path, shape: list[int]) -> None:
    raw = manifest_of_sound(sound)
    for wrapped in (0, 1, (4 * shape[0] * shape[1]) % (1 << 32), 80):
        raw["parameters"]["tensors"][0].update(shape=shape, bytes=wrapped)
        with pytest.raises(ManifestError, match=r"tensors\[0\].bytes"):
            parse_manifest(msgpack.packb(raw))


def test_an_offset_that_overflows_when_the_size_is_added(sound: Path) -> None:
    raw = manifest_of_sound(sound)
    for offset in ((1 << 63) - 64, (1 << 64) - 64, (1 << 64) - 1):
        raw["parameters"]["tensors"][-1]["offset"] = offset
        with pytest.raises(ManifestError, match="offset"):
            parse_manifest(msgpack.packb(raw))


def test_more_bytes_than_the_limit_are_not_read(bundle: Path) -> None:
    os.truncate(bundle / "manifest.msgpack", 1 << 40)
    with bounded(memory=2 * MAXIMUM_BYTES + (1 << 20)), pytest.raises(MsgpackError, match="at most"):
        read_manifest(bundle)


def largest_documents() -> dict[str, bytes]:
    """Manifests at the limits, built to cost their reader as much as possible."""
    many = MAXIMUM_VALUES - 100
    text = msgpack.packb("\0" * 4_000)
    maps = b"\x81\xa1a\x80" * (MAXIMUM_ITEMS - 1)
    paths = ["/".join(f"{part:06d}{number:06d}" for part in range(8)) for number in range(4_096)]
    return {
        "empty maps": msgpack.packb([[{}] * 60_000] * (many // 60_001)),
        "maps of one": b"\x81\xa1x" + b"\xdc" + struct.pack(">H", MAXIMUM_ITEMS - 1) + maps,
        "keys": msgpack.packb({f"{number:0100d}": number for number in range(60_000)}),
        "texts": b"\x81\xa6format" + b"\xdc" + struct.pack(">H", 2_000) + text * 2_000,
        "requirements": msgpack.packb(
            {"format": "kokoro-bundle", "version": 1, "requires": ["\u0100" * 200] * 20_000}
        ),
        "paths": msgpack.packb([{"path": path, "bytes": 1, "sha256": "0" * 64} for path in paths]),
    }


@pytest.mark.parametrize("name", largest_documents())
def test_the_largest_documents_take_bounded_memory(sound: Path, name: str) -> None:
    data = largest_documents()[name]
    assert len(data) <= MAXIMUM_BYTES
    if name == "paths":
        data = msgpack.packb({**manifest_of_sound(sound), "files": msgpack.unpackb(data)})
    with bounded(), pytest.raises(BundleError) as refusal:
        parse_manifest(data)
    assert len(str(refusal.value)) < 10_000


# Zero dimensions, overlaps, holes, duplicates.


@pytest.mark.parametrize("place", ["tensor", "input", "scale", "voice"])
def test_zero_dimensions(sound: Path, place: str) -> None:
    raw = manifest_of_sound(sound)
    {
        "tensor": lambda: raw["parameters"]["tensors"][0].update(shape=[0, 4], bytes=0),
        "input": lambda: raw["stages"][0]["inputs"][0].update(shape=[0, [1, "tokens"]]),
        "scale": lambda: raw["stages"][0]["inputs"][0].update(shape=[1, [0, "tokens"]]),
        "voice": lambda: raw["voices"][0].update(rows=0),
    }[place]()
    with pytest.raises(ManifestError, match="expected an integer from 1"):
        parse_manifest(msgpack.packb(raw))


@pytest.mark.parametrize("offset", [0, 64, 192, 100], ids=["same", "overlap", "hole", "unaligned"])
def test_tensors_that_overlap_or_leave_room_for_something_else(sound: Path, offset: int) -> None:
    raw = manifest_of_sound(sound)
    raw["parameters"]["tensors"][1]["offset"] = offset
    with pytest.raises(ManifestError, match="expected 128, the first multiple of 64 from 80 on"):
        parse_manifest(msgpack.packb(raw))


def test_a_key_that_stands_twice_with_two_meanings(sound: Path) -> None:
    data = (sound / "manifest.msgpack").read_bytes()
    count = data[0] & 0x0F if data[0] < 0x90 else None
    body = data[3:] if count is None else data[1:]
    total = struct.unpack(">H", data[1:3])[0] if count is None else count
    twice = b"\xde" + struct.pack(">H", total + 1) + body + b"\xa6format\xa4onnx"
    with pytest.raises(MsgpackError, match="'format' twice"):
        parse_manifest(twice)


def test_a_token_without_a_row_in_the_models_tables(sound: Path, speaking_bundle: Path) -> None:
    raw = manifest_of_sound(sound)
    raw["vocabulary"]["a"] = 1 << 20
    with pytest.raises(ManifestError, match="a row for each token up to 1048576"):
        parse_manifest(msgpack.packb(raw))
    assert (
        run_alone(
            speaking_bundle,
            """
        import numpy as np
        from runtime_min import Bundle, KokoroError
        stage = Bundle.load(sys.argv[1]).stage("bert")
        result = []
        for token in (-1, 5, 1 << 40, -(1 << 63)):
            try:
                stage.run({"token_ids": np.array([[0, token, 0]], np.int64)})
            except KokoroError as error:
                result.append("knows the tokens 0 to 4" in str(error))
        """,
        )
        == [True] * 4
    )


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


def loaded_after(
    bundle: Path, change: Callable[[Path], object], path: str = "lib/libtvm_runtime.so"
) -> bytes:
    """What is loaded where `change` happens between hashing and loading."""
    files = BundleFiles(bundle)
    try:
        manifest = manifest_of(files)
        files.verify(keep=manifest.loaded_files("baseline"))
        change(bundle)
        return files.read(path)
    finally:
        files.close()


def replace_by_a_link(bundle: Path) -> None:
    (bundle.parent / "hostile").write_bytes(b"hostile")
    (bundle / "lib" / "libtvm_runtime.so").unlink()
    (bundle / "lib" / "libtvm_runtime.so").symlink_to(bundle.parent / "hostile")


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


SWAPS = [replace_by_a_link, replace_by_a_file, replace_the_directory, replace_the_bundle, remove_the_bundle]


@pytest.mark.parametrize("change", SWAPS, ids=lambda change: change.__name__)
def test_a_swap_between_hashing_and_loading_changes_nothing(
    bundle: Path, change: Callable[[Path], object]
) -> None:
    expected = (bundle / "lib" / "libtvm_runtime.so").read_bytes()
    assert loaded_after(bundle, change) == expected


@pytest.mark.parametrize(
    "data", [b"hostile", b"", b"not the runtime, but longer", b"not the RUNTIME"], ids=ascii
)
def test_a_library_rewritten_in_place_is_not_loaded(bundle: Path, data: bytes) -> None:
    with pytest.raises(DamagedFileError, match=r"libtvm_runtime\.so should have SHA-256"):
        loaded_after(bundle, lambda path: (path / "lib" / "libtvm_runtime.so").write_bytes(data))


def test_a_link_swapped_in_while_the_directory_is_read_is_not_followed(bundle: Path) -> None:
    """The listing saw a file; when it is opened, a link stands there."""
    files = BundleFiles(bundle)
    manifest_of(files)
    files.check_contents()
    replace_by_a_link(bundle)
    with pytest.raises(LinkedFileError, match="symbolic link"):
        files.read("lib/libtvm_runtime.so")
    files.close()


def test_a_pipe_swapped_in_does_not_block(bundle: Path) -> None:
    files = BundleFiles(bundle)
    manifest_of(files)
    (bundle / "NOTICE").unlink()
    os.mkfifo(bundle / "NOTICE")
    with pytest.raises(UnexpectedFileError, match="is a pipe"):
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


def test_two_libraries_never_have_the_same_path() -> None:
    """The system's loader takes a path that it knows for the library that it has."""
    paths = set()
    for _ in range(100):
        with library_file("lib/x.so", [b""]) as path:
            paths.add(path)
    assert len(paths) == 100


# Directories.


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
            verify_files(bundle, read_manifest(bundle))
    finally:
        # Deeper than pytest's own cleaning goes.
        os.system(f"rm -rf '{deepest}'")


def test_a_directory_of_many_files_is_not_listed_to_its_end(bundle: Path) -> None:
    for number in range(3_000):
        (bundle / f"extra{number}").write_bytes(b"")
    with pytest.raises(UnexpectedFileError) as refusal:
        verify_files(bundle, read_manifest(bundle))
    assert str(refusal.value).count("extra") == 5


def test_a_name_that_a_terminal_takes_for_a_command_is_shown_in_ascii(bundle: Path) -> None:
    (bundle / "\x1b[2J\udcff").write_bytes(b"")
    with pytest.raises(UnexpectedFileError, match=r"holds '\\x1b\[2J\\udcff'") as refusal:
        verify_files(bundle, read_manifest(bundle))
    assert "\x1b" not in str(refusal.value)


def test_too_many_open_files_are_a_typed_error(bundle: Path) -> None:
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    handles = []
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(handle_numbers()) + 1, hard))
    try:
        with pytest.raises((UnreadableFileError, MissingFileError)):
            while True:
                handles.append(BundleFiles(bundle))
                handles[-1].expect(read_manifest(bundle).files)
                handles[-1].verify(keep=["LICENSE", "NOTICE"])
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    before = len(handle_numbers())
    for files in handles:
        files.close()
    assert len(handle_numbers()) < before or not handles


def handle_numbers() -> list[int]:
    return [int(name) for name in os.listdir("/proc/self/fd")]


# Files that change under a live memory map.

CHANGES = {
    "truncated": "os.truncate(PATH, 0)",
    "truncated to a page": "os.truncate(PATH, 64)",
    "longer": "open(PATH, 'ab').write(b'x')",
    "rewritten": "f = open(PATH, 'r+b'); f.write(bytes(64)); f.close()",
}


@pytest.mark.parametrize("name", CHANGES)
def test_parameters_changed_under_the_map_are_noticed_before_they_are_touched(
    speaking_bundle: Path, tmp_path: Path, name: str
) -> None:
    """A page that the file no longer has would end the process with SIGBUS."""
    copy = Path(shutil.copytree(speaking_bundle, tmp_path / "bundle"))
    # So that no clock is too coarse to tell the change.
    os.utime(copy / "parameters.bin", (1, 1))
    assert run_alone(
        copy,
        f"""
        import os
        from runtime_min import Bundle, KokoroError
        bundle = Bundle.load(sys.argv[1])
        bundle.synthesize("abc")
        PATH = sys.argv[1] + "/parameters.bin"
        {CHANGES[name]}
        try:
            bundle.synthesize("abc")
            result = ["spoke"]
        except KokoroError as error:
            result = [type(error).__name__, "written to while the bundle was open" in str(error)]
        bundle.close()
        """,
    ) == [ChangedFileError.__name__, True]


def test_libraries_and_voices_do_not_change_once_they_are_used(speaking_bundle: Path, tmp_path: Path) -> None:
    copy = Path(shutil.copytree(speaking_bundle, tmp_path / "bundle"))
    assert run_alone(
        copy,
        """
        import os
        from pathlib import Path
        from runtime_min import Bundle, KokoroError
        bundle = Bundle.load(sys.argv[1])
        before = bundle.synthesize("abc").samples.tobytes()
        for path in [*Path(sys.argv[1]).glob("lib/*/*.so"), *Path(sys.argv[1]).glob("voices/*")]:
            os.truncate(path, 0)
        result = [bundle.synthesize("abc").samples.tobytes() == before]
        for unused in (dict(voice="am_adam"), dict(phonemes="abcabcabcabc")):
            try:
                bundle.synthesize(**{"phonemes": "abc", **unused})
            except KokoroError as error:
                result.append(type(error).__name__)
        """,
    ) == [True, DamagedFileError.__name__, DamagedFileError.__name__]
