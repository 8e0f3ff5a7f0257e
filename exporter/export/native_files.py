"""The C library as files of a bundle."""

from __future__ import annotations

import tempfile
from pathlib import Path

from exporter.bundle.write import ExtensionFiles
from exporter.compiler.targets import Target
from exporter.native.build import HEADER, build_library, library_name
from runtime_min.format.manifest import NATIVE_FOLDER


def native_files(target: Target) -> ExtensionFiles:
    """Returns the library for a target and its header.

    Raises:
        LinkerMissingError: zig is missing, or there is no C library for the target.
        LinkError: the library could not be built.
    """
    with tempfile.TemporaryDirectory(prefix="kokoro-native-") as place:
        library = Path(place, library_name(target))
        build_library(target, library)
        files = {library.name: library.read_bytes(), HEADER.name: HEADER.read_bytes()}
    return ExtensionFiles({}, {f"{NATIVE_FOLDER}/{name}": content for name, content in files.items()})
