"""Keeps in the user's cache what processes compile of the tiny model, for other runs of the tests."""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
import sys
from pathlib import Path

from exporter import directories
from exporter.compiler.targets import Target
from exporter.export.library_cache import compiler_facts, hash_files
from runtime_min.format import signatures
from tests.support.paths import PROVING, ROOT
from tests.support.shared import filled_once

_HERE = Path(__file__).parent


def compile_into(directory: Path, module: str, *arguments: str, target: Target) -> None:
    """Fills a directory with libraries; what they were compiled from decides whether they still serve.

    Args:
        directory: gets the files.
        module: a module of this package, whose program compiles into its first argument.
        arguments: the others.
        target: whose compiler and linker make them.
    """

    def compile_all(place: Path) -> None:
        command = [sys.executable, "-m", f"tests.support.tiny.{module}", place, *arguments]
        subprocess.run(command, check=True, cwd=ROOT)

    if PROVING:
        return compile_all(directory)
    sources = hash_files(ROOT, [*_HERE.glob("*.py"), Path(signatures.__file__)])
    facts = json.dumps([module, arguments, sources, compiler_facts(target)])
    recipe = hashlib.sha256(facts.encode()).hexdigest()[:32]
    kept = filled_once(directories.cache() / f"test-tiny-{recipe}", compile_all)
    shutil.copytree(kept, directory, dirs_exist_ok=True)
