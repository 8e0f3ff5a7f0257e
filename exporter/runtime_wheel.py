"""TVM's runtime for another machine: from the wheel of apache-tvm for that platform, and no other file.

The table of targets has the SHA-256 of each library. What was fetched once is kept in the user's cache.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

from exporter.cache import default_directory
from exporter.errors import ExportError
from exporter.targets import Target
from runtime_min.output import write_file

_PACKAGE = "apache-tvm"


class RuntimeLibraryError(ExportError):
    """TVM's runtime for the target cannot be had, or is not the one of the table."""

    exit_code = 5


def runtime_library(target: Target, given: Path | None = None) -> Path:
    """Returns the file of TVM's runtime for `target`, which has the name and the SHA-256 of the table.

    Args:
        target: the row of the table.
        given: the library, or the wheel of apache-tvm that holds it; None takes it from the cache, and if it
            is not there from the package registry.

    Raises:
        RuntimeLibraryError: the file cannot be fetched or read, or its SHA-256 is another one.
        OutputError: it cannot be kept.
    """
    kept = default_directory().parent / "runtimes" / target.runtime_sha256 / target.runtime_library
    if given is None:
        if kept.exists() and _sha256(kept.read_bytes()) == target.runtime_sha256:
            return kept
        content, source = _fetch(target), f"the wheel of {_requirement()} for {target.wheel_platform}"
    else:
        content, source = _read(given, target), str(given)
    found = _sha256(content)
    if found != target.runtime_sha256:
        raise RuntimeLibraryError(
            f"{target.runtime_library} of {source} is not the runtime of {target.name}: expected SHA-256 "
            f"{target.runtime_sha256}, found {found}. Use the wheel of {_requirement()}."
        )
    kept.parent.mkdir(parents=True, exist_ok=True)
    write_file(kept, content)
    return kept


def _fetch(target: Target) -> bytes:
    with tempfile.TemporaryDirectory(prefix="kokoro-wheel-") as directory:
        command = [
            *(sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check"),
            *("--no-deps", "--only-binary=:all:", "--platform", target.wheel_platform),
            *("--dest", directory, _requirement()),
        ]
        done = subprocess.run(command, capture_output=True, text=True, errors="replace")
        wheels = list(Path(directory).glob("*.whl"))
        if done.returncode != 0 or len(wheels) != 1:
            raise RuntimeLibraryError(
                f"The runtime library for {target.name} could not be fetched: download the wheel of "
                f"{_requirement()} for {target.wheel_platform} elsewhere, and name it with "
                f"--runtime-library.\n"
                f"{done.stderr.strip()}"
            )
        return _read(wheels[0], target)


def _read(path: Path, target: Target) -> bytes:
    """Returns the library that `path` is, or that it holds as a wheel."""
    try:
        if not zipfile.is_zipfile(path):
            return path.read_bytes()
        with zipfile.ZipFile(path) as wheel:
            return wheel.read(f"tvm/lib/{target.runtime_library}")
    except (OSError, KeyError, zipfile.BadZipFile) as error:
        raise RuntimeLibraryError(
            f"{path} could not be read ({error}): expected {target.runtime_library} for {target.name}, or "
            f"the wheel of {_requirement()} for {target.wheel_platform} that holds it."
        ) from error


def _requirement() -> str:
    return f"{_PACKAGE}=={importlib.metadata.version(_PACKAGE)}"


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
