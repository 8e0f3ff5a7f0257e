"""A cache of compiled libraries, so that an interrupted or repeated export goes on where it was.

A library depends on its job and on the compiler, never on weights: one cache serves every checkpoint of a
configuration. An entry is a file that appears by a rename, so that it is whole or absent; the library of a
damaged one is compiled again.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from pathlib import Path

import exporter.compiler
from exporter import directories
from exporter.compiler import cuda
from exporter.compiler.library import CompiledLibrary, Job
from exporter.compiler.link import find_linker, linker_version
from exporter.compiler.targets import Target
from runtime_min.format import signatures

_PACKAGES = ("apache-tvm", "apache-tvm-ffi", "torch", "kokoro")
_COMPILER = Path(exporter.compiler.__file__).parent


def hash_files(root: Path, paths: Iterable[Path]) -> str:
    """Returns the SHA-256 of the names below `root` and the contents of files."""
    digest = hashlib.sha256()
    for path in sorted(paths):
        digest.update(f"{path.relative_to(root).as_posix()}\0".encode())
        digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()


def compiler_facts(target: Target, directory: Path = _COMPILER) -> list[str]:
    """Returns all that decides the bytes of a library for `target`, besides its job.

    These are the files of the package `exporter.compiler`, the model's constants that it shares with the
    runtime, and the versions of the tools that it calls.

    Raises:
        LinkerMissingError: no linker for the target is installed.
        CudaCompilerMissingError: the target's device needs a compiler, and it is not installed.
    """
    files = (path for path in directory.rglob("*") if path.suffix in (".py", ".json"))
    program, *arguments = find_linker(target)
    packages = {name: importlib.metadata.version(name) for name in _PACKAGES} | cuda.versions(target.device)
    return [
        hash_files(directory, files),
        linker_version([program, *arguments]),
        # An environment's directory, where zig's Python is, decides nothing.
        *(Path(program).name, *arguments),
        *(f"{name}=={version}" for name, version in packages.items()),
        *(f"{name}={value}" for name, value in vars(signatures).items() if name.isupper()),
    ]


class LibraryCache:
    """Compiled libraries in a directory that several exports may share."""

    def __init__(self, directory: Path, facts: Sequence[str] = ()) -> None:
        """Takes the directory, which is made when the first library is stored, and `compiler_facts`.

        Raises:
            CacheError: another user may have written the directory's files.
        """
        directories.refuse_shared(directory)
        self._directory = directory
        self._facts = facts

    def entry(self, job: Job) -> Path:
        """Returns the file of a job's library."""
        facts = json.dumps([self._facts, asdict(job)])
        return self._directory / f"{hashlib.sha256(facts.encode()).hexdigest()}.library"

    def restore(self, job: Job, path: Path) -> CompiledLibrary | None:
        """Copies the library stored for `job` to `path`.

        Returns:
            The library there; None where none is stored, or where it is damaged.
        """
        digest, _, rest = (directories.read_stored(self.entry(job)) or b"").partition(b"\n")
        text, _, content = rest.partition(b"\n")
        if digest != _digest(text, content):
            return None
        path.write_bytes(content)
        parameters, seconds = json.loads(text)
        return CompiledLibrary(job, path, tuple((name, layout) for name, layout in parameters), seconds)

    def store(self, library: CompiledLibrary) -> None:
        """Copies a library into the cache, in place of an earlier one.

        Raises:
            OSError, OutputError: the directory cannot be written; nothing half stays in it.
        """
        content = library.path.read_bytes()
        text = json.dumps([library.parameters, library.seconds]).encode()
        directories.store(self.entry(library.job), b"\n".join([_digest(text, content), text, content]))


def _digest(description: bytes, library: bytes) -> bytes:
    return hashlib.sha256(description + library).hexdigest().encode()
