"""A bundle's entry about the file from which its weights were read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, NamedTuple

from .schema import Node, Text, integer, reader_of

EXTENSION = "weights"
"""Key among a manifest's extensions: bundles of a torch checkpoint do not have it."""


class WeightsSource(NamedTuple):
    """A file that torch did not write; the field names are the keys of the manifest."""

    format: Text
    """Name of the file's format, ``onnx`` or ``safetensors``."""
    rounded: Mapping[str, Annotated[int, integer(1, 65_536)]]
    """Number of weights that the file has in a type of 8 bits, by the type."""

    def as_text(self) -> str:
        """Returns the description as the predicate of a sentence about the weights."""
        text = f"read from a file of the format {self.format}"
        if not self.rounded:
            return text
        types = ", ".join(f"{count} {kind}" for kind, count in self.rounded.items())
        return f"{text}; {sum(self.rounded.values())} had been rounded to 8 bits before ({types})"


def read_weights_source(extensions: Mapping[str, Any]) -> WeightsSource | None:
    """Returns the entry about the weights in a manifest's extensions, or None if there is none.

    Raises:
        ManifestError: the extension breaks its schema.
    """
    if EXTENSION not in extensions:
        return None
    found: WeightsSource = reader_of(WeightsSource)(Node(extensions[EXTENSION], f"extensions.{EXTENSION}"))
    return found
