"""The bill of materials: all that, besides the model and the options, decides about a bundle's bytes."""

from __future__ import annotations

import importlib.metadata
import platform
import subprocess
from pathlib import Path

from exporter.compiler import cuda
from exporter.compiler.link import find_linker, linker_version
from exporter.compiler.targets import Target
from exporter.export.library_cache import hash_files
from runtime_min.format.manifest import Materials

# Those of `runtime_min.format.manifest.Versions` stand there.
_PACKAGES = ("kokoro", "msgpack", "numpy", "torch", "transformers")
_ROOT = Path(__file__).parents[2]
_LONGEST = 200
"""Characters of a text in a manifest."""


def materials(target: Target) -> Materials:
    """Returns what a bundle for `target` is made with now."""
    return Materials(
        packages={name: importlib.metadata.version(name) for name in _PACKAGES}
        | cuda.versions(target.device),
        tools={
            "python": platform.python_version(),
            "llvm": _llvm_version(),
            "linker": linker_version(find_linker(target))[:_LONGEST],
        },
        sources=sources_digest(_ROOT),
        commit=commit(_ROOT),
    )


def sources_digest(root: Path) -> str:
    """Returns the digest of all source files of the exporter and the runtime under `root`."""
    paths = sorted(path for name in ("exporter", "runtime_min") for path in (root / name).rglob("*.py"))
    return hash_files(root, paths).hexdigest()


def commit(root: Path) -> str:
    """Returns the commit that is checked out at `root`; nothing where that is no checkout of its own.

    An environment may lie within the checkout of another project, whose commit says nothing.
    """
    if not (root / ".git").exists():
        return ""
    return _first_line(["git", "-C", str(root), "rev-parse", "HEAD"])[:64]


def _llvm_version() -> str:
    import tvm

    return str(tvm.get_global_func("target.llvm_version_major")())


def _first_line(command: list[str]) -> str:
    try:
        done = subprocess.run(command, capture_output=True, text=True, errors="replace")
    except OSError:
        return ""
    return done.stdout.strip().partition("\n")[0] if done.returncode == 0 else ""
