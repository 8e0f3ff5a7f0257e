"""Builds a `Manifest` from the bytes of a manifest file.

Nothing of the file is taken over unchecked, and an unknown key is an error. `manifest` has the rules for each
key; `cross_checks` compares the parts with each other.
"""

from __future__ import annotations

from ..errors import FormatVersionError, RequirementError
from .cross_checks import check_consistency
from .manifest import FORMAT, FORMAT_VERSION, REQUIREMENTS, Manifest, manifest_keys
from .msgpack import unpack
from .schema import Node, field_readers


def parse_manifest(data: bytes) -> Manifest:
    """Decodes and checks a manifest.

    Raises:
        MsgpackError: `data` is not canonical msgpack.
        FormatVersionError: it follows another version of the format.
        RequirementError: it has a requirement that this runtime does not support.
        ManifestError: it breaks the schema.
    """
    root, readers = Node(unpack(data), ""), field_readers(Manifest)
    root.child("format").one_of((FORMAT,))
    version = root.child("version").integer(0, (1 << 63) - 1)
    # The version comes before the other keys: another version may have other keys.
    if version != FORMAT_VERSION:
        raise FormatVersionError(version, FORMAT_VERSION)
    # So do requirements, which may bring keys of their own.
    requires = readers["requires"](root.child("requires"))
    if unknown := [name for name in requires if name not in REQUIREMENTS]:
        raise RequirementError(unknown, REQUIREMENTS)
    _, _, *nodes = root.fields("format", "version", *(keys := manifest_keys(requires)))
    manifest = Manifest(**{key: readers[key](node) for key, node in zip(keys, nodes, strict=True)})
    check_consistency(manifest)
    return manifest
