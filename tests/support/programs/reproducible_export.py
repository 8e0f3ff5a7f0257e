"""Compiles a stage with small sizes, in `make prove` one of kokoro's, and writes a bundle with it.

``python -m tests.support.programs.reproducible_export DIRECTORY`` prints the year that its process has.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

from exporter.compiler.long_lived import long_lived


def export(directory: Path) -> None:
    """Writes a library, a bundle that has it for every stage, and its archive into `directory`."""
    import tvm

    from exporter.bundle.pack import pack_bundle
    from exporter.bundle.write import write_bundle
    from exporter.compiler.link import link_library
    from exporter.compiler.passes import compile_module
    from exporter.compiler.targets import find_target
    from runtime_min.format.signatures import STAGE_NAMES
    from tests.support.paths import PROVING
    from tests.support.tiny import stage as tiny_stage
    from tests.support.tiny.bundle import contents

    library = directory / "stage.so"
    imported = tiny_stage.imported(tiny_stage.make()) if PROVING else tiny_stage.imported_sums("stage")
    executable = compile_module(imported, tiny_stage.target(), None)
    link_library(executable, library, find_target("host"))
    runtime = Path(tvm.__file__).parent / "lib" / "libtvm_runtime.so"
    bundle = write_bundle(directory / "bundle", contents(dict.fromkeys(STAGE_NAMES, library), runtime))
    pack_bundle(bundle, directory / "bundle.tar")


if __name__ == "__main__":
    with long_lived():
        export(Path(sys.argv[1]))
    print(time.localtime().tm_year)
