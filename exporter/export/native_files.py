"""The native runtime as files of a bundle."""

from __future__ import annotations

import tempfile
from pathlib import Path

from exporter.bundle.write import ExtensionFiles
from exporter.compiler.targets import Target
from exporter.native.build import HEADER, LIBRARY, build_library

FOLDER = "native"


def native_files(target: Target) -> ExtensionFiles:
    """Returns the library for a target and its header.

    Raises:
        LinkerMissingError: zig is missing, or there is no native runtime for the target.
        LinkError: the library could not be built.
    """
    with tempfile.TemporaryDirectory(prefix="kokoro-native-") as place:
        library = Path(place, LIBRARY)
        build_library(target, library)
        files = {library.name: library.read_bytes(), HEADER.name: HEADER.read_bytes()}
    return ExtensionFiles({}, {f"{FOLDER}/{name}": content for name, content in files.items()})
