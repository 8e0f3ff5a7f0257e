"""Checks of another system's library without that system: its file, compared with the exports of wheels."""

from __future__ import annotations

import hashlib
import struct
import subprocess
import sys
import zipfile
from collections.abc import Collection, Mapping
from pathlib import Path

import lief

from exporter.compiler.targets import Target, find_target
from exporter.export.runtime_wheel import runtime_libraries
from tests.support.paths import ROOT

# The C library's functions that LLVM makes calls of, and what binds them: in macOS and iOS of any age.
LIBSYSTEM = {
    *("dyld_stub_binder", "_bzero", "_memcpy", "_memmove", "_memset", "_expf", "_fmodf", "_powf"),
}
# Windows 10's C library, and of its kernel what the start of a DLL needs.
UCRT = {f"api-ms-win-crt-{part}-l1-1-0.dll" for part in ("heap", "math", "runtime", "stdio", "string")}
KERNEL32 = {
    *("DeleteCriticalSection", "EnterCriticalSection", "InitializeCriticalSection", "LeaveCriticalSection"),
    *("GetLastError", "Sleep", "TlsGetValue", "VirtualProtect", "VirtualQuery"),
}
LIBRARY_BIN = "__tvm_ffi__library_bin"
"""Symbol at which TVM's loader finds the compiled module."""
_ADHOC, _LINKER_SIGNED = 0x2, 0x20000
_CODE_DIRECTORY, _SUPER_BLOB = 0xFADE0C02, 0xFADE0CC0
_STAND_INS = {"ios": "macos-arm64", "android": "linux-aarch64"}
CALLED_ON_ANDROID = {
    "libc.so": {"memcpy", "memmove", "memset"},
    "libm.so": {"expf", "fmodf", "powf"},
    "libkokoro.so": {"TVMFFIErrorSetRaisedFromCStrParts"},
}
"""The functions of Android of any age, and of the C library, that compiled code calls."""
_PAGE = 16 << 10
PLATFORMS = {"macos": lief.MachO.BuildVersion.PLATFORMS.MACOS, "ios": lief.MachO.BuildVersion.PLATFORMS.IOS}


def unpacked_ffi(platform: str, place: Path) -> Path:
    """Fetches the wheel of apache-tvm-ffi for `platform` and unpacks it into `place`, which it returns."""
    constraints = ROOT / "constraints.txt"
    return unpacked_wheel("apache-tvm-ffi", place, "--platform", platform, "--constraint", constraints)


def unpacked_wheel(requirement: str, place: Path, *options: str | Path) -> Path:
    """Fetches a wheel without its dependencies and unpacks it into `place`, which it returns."""
    command = [
        *(sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps"),
        *("--only-binary=:all:", "--dest", str(place), *map(str, options), requirement),
    ]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, f"{requirement} could not be fetched: {done.stderr}"
    (wheel,) = place.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(place)
    return place


def exported_by_wheels(target: Target, place: Path) -> dict[str, set[str]]:
    """Returns the exports of apache-tvm-ffi's and TVM's libraries on a target's system, by file name.

    For iOS and Android, which have no wheels, those of macOS and Linux stand: an app builds the same sources.
    """
    installed = target if target.runs else find_target(_STAND_INS[target.system])
    runtimes = runtime_libraries(installed).values()
    name = f"{'' if installed.system == 'windows' else 'lib'}tvm_ffi{installed.library_suffix}"
    ffi = unpacked_ffi(installed.wheel_platform, place) / "tvm_ffi" / "lib" / name
    return {path.name: exported(path) for path in (ffi, *runtimes)}


def exported(path: Path) -> set[str]:
    """Returns the symbols that a library exports."""
    library = lief.parse(path)
    if isinstance(library, lief.PE.Binary):
        return {str(entry.name) for entry in library.get_export().entries}
    return {str(symbol.name) for symbol in library.exported_symbols}


def check_library(path: Path, target: Target, wheels: Mapping[str, set[str]]) -> None:
    """Fails unless the library at `path` loads on the target's system beside the wheels' libraries."""
    content = path.read_bytes()
    for place in (b"kokoro-link-", b"/tmp", b"/home", b"/root", b"site-packages", b"ziglang"):
        assert place not in content, f"{path} names the place it was made at: {place!r}"
    if target.system == "windows":
        _check_dll(path, wheels)
    elif target.system == "android":
        _check_android_stage(path, wheels)
    else:
        _check_mach_o(path, target, wheels)


def _check_dll(path: Path, wheels: Mapping[str, set[str]]) -> None:
    library = lief.PE.parse(path)
    assert library is not None
    assert library.header.machine == lief.PE.Header.MACHINE_TYPES.AMD64
    assert library.header.has_characteristic(lief.PE.Header.CHARACTERISTICS.DLL)
    # Where the time would be, the linker writes a hash of the contents. It writes no path.
    assert [entry.type for entry in library.debug] == [lief.PE.Debug.TYPES.REPRO]
    # Windows 10 is 10.0.
    assert library.optional_header.major_operating_system_version <= 10
    assert library.get_export().name == path.name
    assert LIBRARY_BIN in exported(path)
    _check_slots(path, wheels, "__TVM", "TVM")
    known = {"tvm_ffi.dll": wheels["tvm_ffi.dll"], "KERNEL32.dll": KERNEL32}
    for needed in library.imports:
        if needed.name not in UCRT:
            assert {entry.name for entry in needed.entries} <= known[needed.name]


def check_android(path: Path, needed: Collection[str]) -> set[str]:
    """Fails unless Android 10 loads the library at `path`, which needs no other libraries than `needed`.

    Returns:
        The symbols that it exports.
    """
    library = lief.ELF.parse(path)
    assert library is not None and library.header.machine_type == lief.ELF.ARCH.AARCH64
    assert library.header.file_type == lief.ELF.Header.FILE_TYPE.DYN
    assert set(library.libraries) <= set(needed) and not list(library.symbols_version_requirement)
    for segment in library.segments:
        if segment.type == lief.ELF.Segment.TYPE.LOAD:
            assert segment.alignment == _PAGE
            assert (segment.virtual_address - segment.file_offset) % _PAGE == 0
        elif segment.type == lief.ELF.Segment.TYPE.GNU_STACK:
            assert not segment.has(lief.ELF.Segment.FLAGS.X)
    assert not library.has(lief.ELF.DynamicEntry.TAG.TEXTREL)
    return {str(symbol.name) for symbol in library.exported_symbols}


def _check_android_stage(path: Path, wheels: Mapping[str, set[str]]) -> None:
    assert LIBRARY_BIN in check_android(path, CALLED_ON_ANDROID)
    library = lief.ELF.parse(path)
    assert library is not None
    functions = set[str]().union(*(CALLED_ON_ANDROID[str(name)] for name in library.libraries))
    # Slots, which the loader fills, are weak.
    needed = [each for each in library.imported_symbols if each.binding != lief.ELF.Symbol.BINDING.WEAK]
    assert {str(each.name) for each in needed} <= functions
    _check_slots(path, wheels, "__TVM", "TVM")


def _check_mach_o(path: Path, target: Target, wheels: Mapping[str, set[str]]) -> None:
    flat, of_system, weak = check_mach_o_header(path, target)
    assert weak | {f"_{LIBRARY_BIN}"} <= exported(path)
    _check_slots(path, wheels, "___TVM", "_TVM")
    assert flat <= set.union(*wheels.values())
    assert of_system <= LIBSYSTEM


def check_mach_o_header(
    path: Path, target: Target, install_name: str | None = None
) -> tuple[set[str], set[str], set[str]]:
    """Fails unless a library is for the oldest system of a target of Apple's and needs its C library alone.

    Args:
        path: the library.
        target: its system.
        install_name: where an app finds it; by default beside others, by its name.

    Returns:
        The symbols that are looked for in all libraries of the process, those of the system's, and weak ones,
        of which the first definition counts.
    """
    library = lief.MachO.parse(path).at(0)
    assert library.header.cpu_type == lief.MachO.Header.CPU_TYPE.ARM64
    assert library.header.file_type == lief.MachO.Header.FILE_TYPE.DYLIB
    assert library.build_version.platform == PLATFORMS[target.system]
    oldest = target.minimum_os.split()[1]
    assert ".".join(map(str, library.build_version.minos[:2])) == oldest
    own = install_name or f"@rpath/{path.name}"
    assert [each.name for each in library.libraries] == [own, "/usr/lib/libSystem.B.dylib"]
    assert not list(library.rpaths)
    assert library.has_code_signature == (target.system == "macos")
    if target.system == "macos":
        check_signature(path.read_bytes(), signature_offset(path), path.name)
    return _imports(library)


def check_mach_o_memory(path: Path) -> None:
    """Fails unless a library lies in pages of 16 KiB, of which the system's loader changes none with code."""
    library = lief.MachO.parse(path).at(0)
    segments = {segment.name: segment for segment in library.segments}
    for segment in segments.values():
        assert segment.virtual_address % _PAGE == segment.file_offset % _PAGE == 0
        assert segment.file_size <= segment.virtual_size
    text = segments["__TEXT"]
    written = {each.address for each in library.relocations}
    bound = {each.address for each in library.bindings}
    assert not any(0 <= each - text.virtual_address < text.virtual_size for each in written | bound)
    # A name that no library exports keeps the address in this file.
    assert {each.address for each in library.bindings if each.library_ordinal <= 0} <= written


def _imports(library: lief.MachO.Binary) -> tuple[set[str], set[str], set[str]]:
    flat, of_system, weak = set(), set(), set()
    for binding in library.bindings:
        found = flat if binding.library_ordinal == -2 else of_system if binding.library_ordinal > 0 else weak
        found.add(str(binding.symbol.name))
    return flat, of_system, weak


def _check_slots(path: Path, wheels: Mapping[str, set[str]], prefix: str, function: str) -> None:
    """TVM's loader writes into these variables the addresses of its functions of nearly the same names."""
    slots = {name for name in exported(path) if name.startswith(prefix)}
    assert {name.replace(prefix, function, 1) for name in slots} <= set.union(*wheels.values())


def signature_offset(path: Path) -> int:
    """Returns where the code signature of a Mach-O library begins."""
    offset: int = lief.MachO.parse(path).at(0).code_signature.data_offset
    return offset


def check_signature(content: bytes, offset: int, name: str) -> None:
    """Fails unless the code signature at `offset` is an ad-hoc one that holds for all pages before it.

    An Apple processor runs no page whose digest differs.
    """
    magic, _, count = struct.unpack_from(">3I", content, offset)
    assert magic == _SUPER_BLOB
    blobs = [offset + struct.unpack_from(">2I", content, offset + 12 + 8 * i)[1] for i in range(count)]
    (start,) = (blob for blob in blobs if struct.unpack_from(">I", content, blob)[0] == _CODE_DIRECTORY)
    _, _, _, flags, hashes, identifier, _, pages, limit = struct.unpack_from(">9I", content, start)
    size, kind, _, page = struct.unpack_from(">4B", content, start + 36)
    assert flags & ~_LINKER_SIGNED == _ADHOC
    assert content[start + identifier :].split(b"\0", 1)[0] == name.encode()
    assert (size, kind, limit) == (32, 2, offset) and pages == -(-limit // (1 << page))
    for number in range(pages):
        data = content[number << page : min((number + 1) << page, limit)]
        place = start + hashes + 32 * number
        assert content[place : place + 32] == hashlib.sha256(data).digest(), f"page {number}"
