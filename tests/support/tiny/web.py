"""The tiny model as a bundle for the web, and scripts of JavaScript that speak with it in Node."""

from __future__ import annotations

import json
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

from exporter.bundle.write import BundleContents
from exporter.compiler.targets import find_target
from exporter.native.node import find_node
from exporter.native.web_module import link_module, scripts
from tests.support.tiny.one_module import module_contents

WEB = find_target("web")
FILE = WEB.module.format(level="simd128")


def web_contents(place: Path) -> BundleContents:
    """The bundle's contents, whose module is linked in `place`."""
    made = module_contents(place, WEB, WEB.name, link_module)
    return replace(made, extension_files=scripts())


def run_node(script: str, *arguments: object, directory: Path | None = None, **values: object) -> Any:
    """Runs a module of JavaScript in Node, and returns the value that it prints as JSON.

    Args:
        script: its text.
        arguments: what it gets as ``process.argv`` from 2 on.
        directory: where it runs, and finds its packages.
        values: constants that it finds by their names.
    """
    program = find_node()
    assert program is not None
    given = "".join(f"const {name} = {json.dumps(value)};\n" for name, value in values.items())
    command = [program, "--input-type=module", "-", *map(str, arguments)]
    done = subprocess.run(
        command, input=given + script, cwd=directory, capture_output=True, text=True, timeout=600
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)
