"""A cache of compiled libraries, so that an interrupted or repeated export goes on where it was.

A library depends on the model's shapes and on the compiler, never on the weights, which are its
parameters: one cache serves every checkpoint of a configuration. An entry is a directory that appears by a
rename, so that it is whole or absent; what is found damaged is deleted and compiled again.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import json
import shutil
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

_PACKAGES = ("apache-tvm", "apache-tvm-ffi", "torch", "kokoro")
_LIBRARY = "library"
_DESCRIPTION = "description"


@dataclass(frozen=True)
class CompiledLibrary:
    """A compiled library and what a caller must know to use it."""

    library: Path
    function: str
    """Entry point."""
    parameters: tuple[tuple[str, str], ...]
    """Name and layout of each tensor that a call takes after the inputs, in that order."""
    seconds: float
    """How long it took to compile."""


def hash_files(root: Path, paths: Iterable[Path]) -> hashlib._Hash:
    """Returns the hash, to be updated further, of the names below `root` and the contents of files."""
    digest = hashlib.sha256()
    for path in paths:
        digest.update(f"{path.relative_to(root).as_posix()}\0".encode())
        digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest


def compiler_digest(packages: Path = Path(__file__).parents[2]) -> str:
    """Returns the digest of all that decides what a library is, but for the request: sources and tools.

    Args:
        packages: where the packages exporter and runtime_min stand.
    """
    compiler = packages / "exporter" / "compiler"
    sources = sorted((*compiler.rglob("*.py"), *compiler.rglob("*.json")))
    digest = hash_files(packages, (*sources, packages / "runtime_min" / "format" / "signatures.py"))
    for package in _PACKAGES:
        digest.update(f"{package}=={importlib.metadata.version(package)}\0".encode())
    return digest.hexdigest()


def entry_key(facts: Mapping[str, str | int | Sequence[str]]) -> str:
    """Returns the name of the entry that `facts` describe: equal facts give equal names, others do not."""
    return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()


class LibraryCache:
    """Compiled libraries in a directory that several exports may share."""

    def __init__(self, directory: Path) -> None:
        """Takes the directory; it is made when the first library is stored."""
        self._directory = directory

    def restore(self, key: str, path: Path) -> CompiledLibrary | None:
        """Copies the library stored under `key` to `path`.

        Returns:
            The library there; None where none is stored, or where it is damaged.
        """
        entry = self._directory / key
        try:
            content = (entry / _LIBRARY).read_bytes()
            digest, text = (entry / _DESCRIPTION).read_text(encoding="utf-8").split("\n", 1)
            if digest != _digest(text, content):
                raise ValueError("not what was stored")
        except (OSError, ValueError):
            # Absent is the usual case; for the others there is nothing to lose by compiling again.
            shutil.rmtree(entry, ignore_errors=True)
            return None
        path.write_bytes(content)
        function, parameters, seconds = json.loads(text)
        return CompiledLibrary(path, function, tuple((name, layout) for name, layout in parameters), seconds)

    def store(self, key: str, built: CompiledLibrary) -> None:
        """Copies a library into the cache.

        Another export may store the same at the same time: the first one stays.

        Raises:
            OSError: the directory cannot be written; nothing half stays in it.
        """
        self._directory.mkdir(parents=True, exist_ok=True)
        staging = Path(tempfile.mkdtemp(prefix=".storing-", dir=self._directory))
        try:
            content = built.library.read_bytes()
            text = json.dumps([built.function, built.parameters, built.seconds])
            (staging / _LIBRARY).write_bytes(content)
            (staging / _DESCRIPTION).write_text(f"{_digest(text, content)}\n{text}", encoding="utf-8")
            _publish(staging, self._directory / key)
        finally:
            shutil.rmtree(staging, ignore_errors=True)


def _publish(staging: Path, entry: Path) -> None:
    try:
        staging.rename(entry)
    except OSError:
        # Renaming onto a directory that has files fails: then somebody else was faster.
        if not (entry / _DESCRIPTION).exists():
            raise


def _digest(description: str, library: bytes) -> str:
    return hashlib.sha256(description.encode() + library).hexdigest()
