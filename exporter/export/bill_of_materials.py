"""The bill of materials: all that decides a bundle's bytes, besides the model and the options."""

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

# Besides those of `runtime_min.format.manifest.Versions`.
_PACKAGES = ("av", "kokoro", "misaki", "msgpack", "numpy", "torch", "transformers")
_NATIVE = (".cpp", ".h", ".inc", ".bin")
_ROOT = Path(__file__).parents[2]
_LONGEST = 200
"""Characters of a text in a manifest."""


def materials(target: Target, native: bool = False) -> Materials:
    """Returns the sources and tools of a bundle that is exported now.

    Args:
        target: the system that the bundle is for.
        native: True if the bundle has the C library.
    """
    packages = (*_PACKAGES, "ziglang") if native else _PACKAGES
    return Materials(
        packages={name: importlib.metadata.version(name) for name in packages} | cuda.versions(target.device),
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
    python = (path for name in ("exporter", "runtime_min") for path in (root / name).rglob("*.py"))
    native = (path for end in _NATIVE for path in (root / "exporter" / "native" / "sources").rglob(f"*{end}"))
    return hash_files(root, (*python, *native))


def commit(root: Path) -> str:
    """Returns the commit that is checked out at `root`; nothing where that is no checkout of its own.

    An environment may lie within the checkout of another project, whose commit is of no interest.
    """
    if not (root / ".git").exists():
        return ""
    try:
        done = subprocess.run(["git", "-C", str(root), "rev-parse", "HEAD"], capture_output=True, text=True)
    except OSError:
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


def _llvm_version() -> str:
    import tvm

    return str(tvm.get_global_func("target.llvm_version_major")())
