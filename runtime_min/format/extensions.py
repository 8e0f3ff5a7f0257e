"""Entries of a manifest's extensions, which are read when something first needs them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ..errors import ManifestError
from .manifest import Manifest
from .schema import Node, RelativePath, reader_of


def read_extension(manifest: Manifest, extension: str, kind: Any) -> Any:
    """Returns an extension that is a map of such values by name; an empty one if the manifest lacks it.

    Raises:
        ManifestError: it breaks its schema.
    """
    node = Node(manifest.extensions.get(extension, {}), f"extensions.{extension}")
    return reader_of(Mapping[str, kind])(node)


def extension_files(manifest: Manifest, extension: str) -> Mapping[str, str]:
    """Returns the paths of an extension that names a file for each of its keys.

    Raises:
        ManifestError: it breaks its schema, or names a file that the manifest does not list.
    """
    found: Mapping[str, str] = read_extension(manifest, extension, RelativePath)
    check_listed(manifest, extension, found.values())
    return found


def check_listed(manifest: Manifest, place: str, paths: Iterable[str]) -> None:
    """Refuses files of the extension at `place` that the manifest does not list.

    Raises:
        ManifestError: there are such files.
    """
    if missing := sorted({*paths} - {entry.path for entry in manifest.files}):
        raise ManifestError(f"extensions.{place}", "files of the bundle", ", ".join(missing))
