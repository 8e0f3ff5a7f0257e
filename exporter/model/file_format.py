"""The formats of a checkpoint file. Nothing here imports torch."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

FileFormat = Literal["torch", "safetensors", "onnx"]


def file_format(path: Path) -> FileFormat:
    """Returns the format for which a checkpoint file is taken, by the end of its name: torch's by default."""
    found: dict[str, FileFormat] = {".onnx": "onnx", ".safetensors": "safetensors"}
    return found.get(path.suffix.lower(), "torch")
