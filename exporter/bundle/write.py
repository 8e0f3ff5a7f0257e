"""Writes a bundle: all files into a staging directory beside the destination, then one rename.

A failure leaves an earlier bundle at the destination unchanged, and nothing else behind.
`bundles/FORMAT.md` specifies the files.
"""

from __future__ import annotations

import shutil
import zipfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256
from importlib.resources import files as package_files
from pathlib import Path
from typing import Any

import msgpack
import numpy as np
from numpy.typing import NDArray

import runtime_min
from exporter.bundle.voice_factors import voice_factors
from exporter.compiler.library import Weight
from runtime_min.format.blocks import EXTENSION as BLOCKS
from runtime_min.format.manifest import (
    ALIGNMENT,
    FORMAT,
    FORMAT_VERSION,
    MANIFEST_NAME,
    NATIVE_FOLDER,
    PARAMETER_SIZES,
    PRECISION_REQUIRED,
    RUNTIME_ARCHIVE,
    STORED_SIZES,
    FileEntry,
    Manifest,
    Parameters,
    Tensor,
    Voice,
    manifest_entries,
)
from runtime_min.format.parse import parse_manifest
from runtime_min.format.verify import sha256_of, verify_files
from runtime_min.model.loudness import EXTENSION as LOUDNESS
from runtime_min.model.self_test import EXTENSION as SELF_TEST
from runtime_min.output.staging import staged, write_errors

PARAMETER_FILE = "parameters.bin"
BLOCK = 4 << 20
"""Bytes of a block of a larger file; several threads compare its blocks with their digests."""
_ZIP_DATE = (1980, 1, 1, 0, 0, 0)
_HEADROOM = 4 << 20
"""Bytes beyond the contents that the manifest, the licences and the file system take at most."""
_START = """\
import sys

from runtime_min.__main__ import main

sys.exit(main())
"""

_SELF_TEST = """
This command checks in a few seconds that the bundle computes on your machine what the original model does:

    python runtime_min.pyz --self-test
"""
_NATIVE = """
An app without Python uses the C library of this bundle, which native/kokoro.h describes:

    cc -I native app.c native/{library} -o app
"""
_NO_NATIVE = """
This bundle has no C library for apps without Python. To add it, export the bundle again with zig installed
(python -m pip install "kokoro-export[cross]"); kokoro-export targets shows the systems that have one.
"""
_WARNING = (
    "\nThe weights are random (a synthetic checkpoint), so the bundle babbles: it is a test, not a voice.\n"
)

Parity = Mapping[str, str | int | float | bool]
MeasureLoudness = Callable[[Path], Mapping[str, int]]
"""Returns the loudness of voices of a finished bundle, in hundredths of LUFS, by name."""


@dataclass(frozen=True)
class BundleContents:
    """A manifest, and the contents of the files that it describes."""

    manifest: Manifest
    """Complete but for the entries of parameters, voices and files."""
    tensors: Sequence[Weight]
    voices: Mapping[str, NDArray[np.float32]]
    """Style rows by name, float32 ``[rows, 2 * style]``."""
    copies: Mapping[str, Path]
    """Libraries by their path in the bundle."""
    extension_files: Mapping[str, bytes] = field(default_factory=dict)
    """Contents of the extensions' files, by path."""

    def extended(self, added: ExtensionFiles) -> BundleContents:
        """Returns the same contents with more extensions."""
        extensions = {**self.manifest.extensions, **added.extensions}
        return replace(
            self,
            manifest=self.manifest._replace(extensions=extensions),
            extension_files={**self.extension_files, **added.files},
        )


@dataclass(frozen=True)
class ExtensionFiles:
    """Entries among the manifest's extensions, and the contents of their files by path."""

    extensions: dict[str, Any]
    files: dict[str, bytes]


def not_validated(why: str) -> dict[str, str | int | float | bool]:
    """Returns the manifest's parity figures of a bundle that is published without validation."""
    return {"validated": False, "why not": why}


def write_bundle(
    destination: Path,
    contents: BundleContents,
    measure: Callable[[Path], Parity] | None = None,
    measure_loudness: MeasureLoudness | None = None,
) -> Path:
    """Writes a bundle and returns its directory.

    Args:
        destination: the directory to create, or an earlier bundle to replace.
        contents: the contents.
        measure: called with the finished directory before it is published; returns the manifest's parity
            figures.
        measure_loudness: called before that; returns the loudness of voices.

    Raises:
        NotABundleError: something other than a whole bundle or an empty directory is at `destination`.
        BusyDestinationError: another process is writing there.
        OutputError: the bundle cannot be written.
        BundleError: `contents` contradict themselves, so that no reader would accept the bundle.
    """
    needed = _needed_bytes(contents)
    with staged(destination, needed) as staging:
        with write_errors(destination, needed):
            manifest = _write_files(staging, contents)
            write_manifest(staging, manifest)
        if measure_loudness is not None:
            manifest = with_loudness(manifest, measure_loudness(staging))
            with write_errors(destination, needed):
                write_manifest(staging, manifest)
        if measure is not None:
            measured = manifest._replace(parity=dict(measure(staging)))
            with write_errors(destination, needed):
                write_manifest(staging, measured)
    return destination


def with_loudness(manifest: Manifest, measured: Mapping[str, int]) -> Manifest:
    """Returns the manifest with the loudness of its voices, where it is known, and of no others."""
    known = {**manifest.extensions.get(LOUDNESS, {}), **measured}
    kept = {voice.name: known[voice.name] for voice in manifest.voices if voice.name in known}
    extensions = {name: value for name, value in manifest.extensions.items() if name != LOUDNESS}
    return manifest._replace(extensions=extensions | ({LOUDNESS: kept} if kept else {}))


def encode_manifest(manifest: Manifest) -> bytes:
    """Returns the bytes of the manifest file."""
    entries = {"format": FORMAT, "version": FORMAT_VERSION, **manifest_entries(manifest)}
    data: bytes = msgpack.packb(entries, use_bin_type=True)
    return data


def _write_files(staging: Path, contents: BundleContents) -> Manifest:
    """Writes everything but the manifest and returns the manifest that describes it."""
    for path, source in contents.copies.items():
        (staging / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, staging / path)
    manifest = contents.manifest._replace(parameters=_write_parameters(staging, contents.tensors), voices=())
    manifest = manifest._replace(requires=_requirements(manifest))
    for name, rows in sorted(contents.voices.items()):
        manifest = write_voice(staging, manifest, name, rows)[0]
    for path, data in contents.extension_files.items():
        (staging / path).parent.mkdir(exist_ok=True)
        (staging / path).write_bytes(data)
    _write_texts(staging, manifest)
    _write_archive(staging / RUNTIME_ARCHIVE)
    files = list_files(staging)
    digests = {
        entry.path: [sha256_of(staging / entry.path, start, BLOCK) for start in range(0, entry.bytes, BLOCK)]
        for entry in files
        if entry.bytes > BLOCK
    }
    blocks = {BLOCKS: {"bytes": BLOCK, "digests": digests}} if digests else {}
    extensions = {**manifest.extensions, **blocks}
    return manifest._replace(files=files, extensions=extensions)


def _requirements(manifest: Manifest) -> tuple[str, ...]:
    """Returns all that the manifest requires of its reader, in ascending order."""
    stored = {tensor.dtype for tensor in manifest.parameters.tensors} & set(STORED_SIZES)
    return tuple(sorted({*manifest.requires, *([PRECISION_REQUIRED] if stored else [])}))


def _write_parameters(staging: Path, sources: Sequence[Weight]) -> Parameters:
    """Writes all tensors into one file, each at a multiple of `ALIGNMENT`, with zeros between them."""
    tensors = []
    with (staging / PARAMETER_FILE).open("wb") as file:
        for source in sources:
            values = np.ascontiguousarray(source.values).reshape(source.values.shape)
            if values.dtype.name not in PARAMETER_SIZES or values.dtype.byteorder == ">":
                raise ValueError(
                    f"{source.name}: expected one of {', '.join(PARAMETER_SIZES)}, found {values.dtype}"
                )
            file.write(bytes(-file.tell() % ALIGNMENT))
            tensors.append(
                Tensor(
                    source.name, values.dtype.name, values.shape, file.tell(), values.nbytes, source.layout
                )
            )
            file.write(values.data)
    return Parameters(PARAMETER_FILE, tuple(tensors))


def write_voice(
    staging: Path, manifest: Manifest, name: str, rows: NDArray[np.float32]
) -> tuple[Manifest, FileEntry]:
    """Writes the file of a voice.

    A bundle with rounded parameters has the factors of a voice, where they are smaller.

    Args:
        staging: directory of the bundle.
        manifest: the manifest without the voice.
        name: name of the voice.
        rows: its table, float32 ``[rows, 2 * style]``.

    Returns:
        The manifest with the voice, and the entry of its file.
    """
    if rows.ndim != 2 or rows.dtype != np.float32:
        raise ValueError(f"voice {name}: expected float32 [rows, columns], found {rows.dtype} {rows.shape}")
    content, rank = voice_content(rows, rounded=PRECISION_REQUIRED in manifest.requires)
    ranks = {**manifest.voice_ranks, **({name: rank} if rank else {})}
    file = f"voices/{name}.bin"
    (staging / file).parent.mkdir(exist_ok=True)
    (staging / file).write_bytes(content)
    voices = sorted([*manifest.voices, Voice(name, file, *rows.shape)], key=lambda voice: voice.name)
    entry = FileEntry(file, len(content), sha256(content).hexdigest())
    return manifest._replace(voices=tuple(voices), voice_ranks=ranks), entry


def voice_content(rows: NDArray[np.float32], *, rounded: bool) -> tuple[bytes, int]:
    """Returns the content of a voice's file, and the rank of the factors in it; 0 for the table itself."""
    factors = voice_factors(rows) if rounded else None
    content = b"".join(part.astype("<f4").tobytes() for part in factors or [rows])
    return content, len(factors[1]) if factors else 0


def _write_texts(staging: Path, manifest: Manifest) -> None:
    data = package_files("exporter.bundle") / "data"
    for name in ("LICENSE", "NOTICE"):
        (staging / name).write_bytes((data / f"BUNDLE_{name}").read_bytes())
    voices = [voice.name for voice in manifest.voices]
    library = [path.name for path in (staging / NATIVE_FOLDER).glob("libkokoro.*")]
    system = manifest.target.system
    # Without a module, an app for iOS brings all that reads the bundle.
    kind = "_IOS" if manifest.module else f"_{system.upper()}" if system in ("android", "web") else ""
    readme = (data / f"BUNDLE_README{kind}.txt").read_text(encoding="utf-8")
    text = readme.format(
        name=manifest.model.name,
        target=manifest.target.name,
        underline="=" * len(f"{manifest.model.name} for {manifest.target.name}"),
        triple=manifest.target.triple,
        tvm_ffi=manifest.versions.tvm_ffi,
        voice=voices[0] if voices and "af_heart" not in voices else "af_heart",
        framework=manifest.module.folder if manifest.module else "",
        native=_NATIVE.format(library=library[0]) if library else _NO_NATIVE,
        warning=_WARNING if manifest.model.synthetic else "",
        self_test=_SELF_TEST if SELF_TEST in manifest.extensions else "",
    )
    (staging / "README.txt").write_bytes(text.encode())


def _write_archive(path: Path) -> None:
    """Writes the runtime as a file that Python runs; the same sources give the same bytes."""
    package = Path(runtime_min.__file__).parent
    sources = {
        f"runtime_min/{path.relative_to(package).as_posix()}": path.read_bytes()
        for path in (*package.rglob("*.py"), package / "py.typed")
    }
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as archive:
        for name, data in sorted({**sources, "__main__.py": _START.encode()}.items()):
            entry = zipfile.ZipInfo(name, _ZIP_DATE)
            entry.create_system = 3
            entry.external_attr = 0o100644 << 16
            archive.writestr(entry, data)


def write_manifest(staging: Path, manifest: Manifest) -> bytes:
    """Writes the manifest after reading the bundle back as the runtime does, and returns its bytes."""
    data = encode_manifest(manifest)
    verify_files(staging, parse_manifest(data))
    (staging / MANIFEST_NAME).write_bytes(data)
    return data


def list_files(staging: Path) -> tuple[FileEntry, ...]:
    """Returns an entry for every file of a bundle that has no manifest yet."""
    files = {path.relative_to(staging).as_posix(): path for path in staging.rglob("*") if path.is_file()}
    return tuple(
        FileEntry(name, path.stat().st_size, sha256_of(path)) for name, path in sorted(files.items())
    )


def _needed_bytes(contents: BundleContents) -> int:
    arrays = [tensor.values for tensor in contents.tensors] + list(contents.voices.values())
    return (
        sum(path.stat().st_size for path in contents.copies.values())
        + sum(array.nbytes + ALIGNMENT for array in arrays)
        + sum(map(len, contents.extension_files.values()))
        + _HEADROOM
    )
