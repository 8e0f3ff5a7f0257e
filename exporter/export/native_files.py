"""The C library as files of a bundle: a library and its header, or what lies beside a module."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path, PurePosixPath

from exporter.bundle.write import ExtensionFiles
from exporter.compiler.library import CompiledLibrary
from exporter.compiler.targets import Target
from exporter.native import framework, web_module
from exporter.native.build import HEADER, build_library, library_name
from runtime_min.format.manifest import NATIVE_FOLDER


def native_files(target: Target) -> ExtensionFiles:
    """Returns the library for a target and its header; with one module, what is beside that.

    Raises:
        LinkerMissingError: zig is missing, or there is no C library for the target.
        LinkError: the library could not be built.
    """
    if target.one_module:
        beside = web_module.scripts() if target.system == "web" else framework.beside_module(target)
        return ExtensionFiles({}, beside)
    with tempfile.TemporaryDirectory(prefix="kokoro-native-") as place:
        library = Path(place, library_name(target))
        build_library(target, library)
        files = {library.name: library.read_bytes(), HEADER.name: HEADER.read_bytes()}
    return ExtensionFiles({}, {f"{NATIVE_FOLDER}/{name}": content for name, content in files.items()})


def linked_modules(libraries: Sequence[CompiledLibrary], place: Path) -> list[CompiledLibrary]:
    """Returns the libraries as parts of modules, one for each CPU level, which are written below `place`.

    Raises:
        LinkError: a module could not be linked.
    """
    modules: dict[str, Path] = {}
    target = libraries[0].job.target
    link = web_module.link_module if target.system == "web" else framework.link_module
    for level in dict.fromkeys(library.job.level.name for library in libraries):
        own = sorted(library.path for library in libraries if library.job.level.name == level)
        modules[level] = place / level / PurePosixPath(target.module).name
        link(own, target, modules[level])
    return [replace(library, path=modules[library.job.level.name]) for library in libraries]
