"""Loads a bundle: it is verified on all cores while this thread imports the modules that speak."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from types import NoneType
from typing import TypeVar

from .engine.machine import check_memory, check_target, choose_level, this_machine
from .engine.tvm_ffi_package import import_tvm_ffi
from .errors import BundleError, ResourceError, check_type
from .format.bundle_files import BundleFiles
from .format.installed import located
from .format.manifest import CpuLevel, Manifest
from .format.origin import origin_checks
from .format.verify import manifest_of
from .output.writer import as_path
from .threads import choose_threads

Loaded = TypeVar("Loaded")


def load_bundle(
    make: Callable[[BundleFiles, Manifest, CpuLevel, int], Loaded],
    path: str | os.PathLike[str],
    *,
    meanwhile: Callable[[], object] = import_tvm_ffi,
    threads: int | None = None,
    level: str | None = None,
    verify: bool = True,
    manifest_sha256: str | None = None,
    key: bytes | None = None,
    signature: str | os.PathLike[str] | None = None,
) -> Loaded:
    """Verifies the bundle at `path`, or the installed one of this name, and returns what `make` makes of it.

    Args:
        make: takes the files, the manifest, the CPU level and the number of threads.
        path: the bundle.
        meanwhile: called while other threads compare the files; imports what `make` needs.
        threads: this and the others are those of `Bundle.load`, and so are the errors.
        level: name of the CPU level.
        verify: compare the files first.
        manifest_sha256: digest that the manifest must have.
        key: public key whose owner must have signed the bundle.
        signature: the signature file.
    """
    directory = Path(os.path.abspath(located(as_path(path))))
    count = choose_threads(threads)
    signed = None if signature is None else as_path(signature, "signature")
    for name, value in {"level": level, "manifest_sha256": manifest_sha256}.items():
        check_type(name, value, (str, NoneType), "a str")
    check_type("verify", verify, bool, "True or False")
    while True:
        files = BundleFiles(directory)
        try:
            checks = origin_checks(directory, sha256=manifest_sha256, key=key, signature=signed)
            manifest = manifest_of(files, checks)
            machine = this_machine()
            check_target(manifest.target, machine)
            chosen = choose_level(manifest.target.levels, machine.features, level)
            if verify:
                with files.verifying(count, [manifest.parameters.file], manifest.loaded_files(chosen.name)):
                    # This thread has nothing to compare.
                    meanwhile()
            else:
                meanwhile()
            check_memory(sum(tensor.bytes for tensor in manifest.parameters.tensors), count)
            return make(files, manifest, chosen, count)
        except BaseException as failure:
            # The files of a bundle vanish while another one takes its place, and then that one is loaded.
            replaced = isinstance(failure, BundleError) and files.replaced()
            files.close()
            if isinstance(failure, (OSError, MemoryError)):
                raise ResourceError(f"Loading {directory}", failure) from failure
            if not replaced:
                raise
