"""The manifest's entry about CPU levels whose decoder computes with another arithmetic than float32."""

from __future__ import annotations

from collections.abc import Mapping

from .manifest import Manifest
from .schema import Node

EXTENSION = "arithmetic"
"""Key among a manifest's extensions: a map from names of CPU levels to their arithmetic."""
FLOAT32 = "float32"


def arithmetic_of(manifest: Manifest) -> Mapping[str, str]:
    """Returns the arithmetic by the name of every CPU level; ``float32`` where the manifest names no other.

    Raises:
        ManifestError: the entry breaks its schema, or names a level that the target does not have.
    """
    found = {level.name: FLOAT32 for level in manifest.target.levels}
    entry = Node(manifest.extensions.get(EXTENSION, {}), f"extensions.{EXTENSION}")
    for level, arithmetic in entry.named():
        if level not in found:
            raise arithmetic.error(f"levels among {', '.join(found)}")
        found[level] = arithmetic.text()
    return found
