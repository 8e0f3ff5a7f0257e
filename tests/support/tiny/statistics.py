"""Gives a bundle of the tiny model the statistics of a voice, whatever they are."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np

from runtime_min.format.verify import read_manifest
from runtime_min.model.statistics import EXTENSION
from tests.support.tiny.self_test import rewrite

VOICE = "af_heart"
FILE = f"statistics/{VOICE}.bin"


def stored(mean: float = 0.25, deviation: float = 0.7) -> bytes:
    """Returns the content of a file of statistics."""
    return np.array([mean, deviation], "<f2").tobytes()


def with_statistics(bundle: Path, place: Path, content: bytes | None = None, entry: object = None) -> Path:
    """Returns a copy of a bundle with the statistics of `VOICE`.

    Args:
        bundle: is left as it is.
        place: where the copy is made.
        content: that of the file; by default sound.
        entry: that of the manifest; by default the voice's.
    """
    copy = Path(shutil.copytree(bundle, place))
    (copy / FILE).parent.mkdir()
    (copy / FILE).write_bytes(stored() if content is None else content)
    manifest = read_manifest(copy)
    extensions = {**manifest.extensions, EXTENSION: {VOICE: FILE} if entry is None else entry}
    rewrite(copy, manifest._replace(extensions=extensions))
    return copy
