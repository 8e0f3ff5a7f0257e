"""Loads a bundle: it is verified on all cores while this thread imports the modules that speak."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from types import NoneType
from typing import TypeVar

from .engine.machine import check_memory, check_target, choose_level, levels_that_run, this_machine
from .engine.tvm_ffi_package import import_tvm_ffi
from .errors import BundleError, LibraryLoadError, ResourceError, UsageError, check_type
from .format.arithmetic import FLOAT32, arithmetic_of
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
    arithmetic: str | None = None,
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
        arithmetic: arithmetic of the decoder.
        verify: compare the files first.
        manifest_sha256: digest that the manifest must have.
        key: public key whose owner must have signed the bundle.
        signature: the signature file.
    """
    directory = Path(os.path.abspath(located(as_path(path))))
    count = choose_threads(threads)
    signed = None if signature is None else as_path(signature, "signature")
    texts = {"level": level, "arithmetic": arithmetic, "manifest_sha256": manifest_sha256}
    for name, value in texts.items():
        check_type(name, value, (str, NoneType), "a str")
    check_type("verify", verify, bool, "True or False")
    while True:
        files = BundleFiles(directory)
        try:
            checks = origin_checks(directory, sha256=manifest_sha256, key=key, signature=signed)
            manifest = manifest_of(files, checks)
            machine = this_machine()
            check_target(manifest.target, machine)
            _check_module(manifest)
            chosen = chosen_level(manifest, machine.features, level, arithmetic)
            if verify:
                with files.verifying(count, [manifest.parameters.file], manifest.loaded_files(chosen.name)):
                    # This thread has nothing to compare.
                    meanwhile()
            else:
                meanwhile()
            check_memory(manifest.parameter_bytes, count)
            return make(files, manifest, chosen, count)
        except BaseException as failure:
            # The files of a bundle vanish while another one takes its place, and then that one is loaded.
            replaced = isinstance(failure, BundleError) and files.replaced()
            files.close()
            if isinstance(failure, (OSError, MemoryError)):
                raise ResourceError(f"Loading {directory}", failure) from failure
            if not replaced:
                raise


def _check_module(manifest: Manifest) -> None:
    if manifest.module is not None:
        raise LibraryLoadError(
            "The compiled stages of this bundle are one module with the library that loads them, in its "
            f"folder {manifest.module.folder}: load it with that one."
        )


def chosen_level(
    manifest: Manifest, features: frozenset[str], level: str | None, arithmetic: str | None
) -> CpuLevel:
    """Returns the CPU level of this name, or the best one with an arithmetic, or else with float32.

    Raises:
        CpuLevelError: the processor lacks features of every level.
        UsageError: the bundle has no such level or arithmetic, or both are given.
    """
    if level is not None and arithmetic is not None:
        raise UsageError("A level has an arithmetic of its own: give one of level and arithmetic.")
    levels = manifest.target.levels
    if level is not None:
        return choose_level(levels, features, level)
    having = arithmetic_of(manifest)
    if arithmetic is not None and arithmetic not in having.values():
        found = ", ".join(dict.fromkeys(having.values()))
        raise UsageError(
            f"The bundle has no arithmetic {arithmetic!r}: it has {found}. Export it with --arithmetic."
        )
    exact = [each for each in levels if having[each.name] == FLOAT32]
    wanted = [each for each in levels if having[each.name] == arithmetic]
    # Every processor computes in float32, so that takes the place of instructions that this one lacks.
    return choose_level(levels_that_run(wanted, features) or exact or levels, features)
