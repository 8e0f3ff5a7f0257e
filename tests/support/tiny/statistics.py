"""Gives a bundle of the tiny model the statistics of voices, whatever they are."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np

from runtime_min.format.verify import read_manifest
from runtime_min.model.statistics import EXTENSION
from tests.support.tiny.self_test import rewrite

VOICE = "af_heart"
FILE = f"statistics/{VOICE}.bin"
OTHER = "am_adam"
OTHER_FILE = f"statistics/{OTHER}.bin"
BOTH = {VOICE: FILE, OTHER: OTHER_FILE}
ROWS = 150
"""Statistics are taken for long texts alone, and so the voices are that long."""


def stored(mean: float = 0.25, deviation: float = 0.7) -> bytes:
    """Returns the content of a file of statistics."""
    return np.array([mean, deviation], "<f2").tobytes()


def with_statistics(bundle: Path, place: Path, content: bytes | None = None, entry: object = None) -> Path:
    """Returns a copy of a bundle with the statistics of `VOICE`, and the file of `OTHER`.

    Args:
        bundle: is left as it is.
        place: where the copy is made.
        content: that of the file; by default sound.
        entry: that of the manifest; by default the voice's.
    """
    copy = Path(shutil.copytree(bundle, place))
    (copy / FILE).parent.mkdir()
    (copy / FILE).write_bytes(stored() if content is None else content)
    (copy / OTHER_FILE).write_bytes(stored(-0.4, 1.3))
    manifest = read_manifest(copy)
    extensions = {**manifest.extensions, EXTENSION: {VOICE: FILE} if entry is None else entry}
    rewrite(copy, manifest._replace(extensions=extensions))
    return copy


def lengthened(bundle: Path) -> Path:
    """Makes the bundle, whose libraries take any length, one for long utterances, and returns it."""
    manifest = read_manifest(bundle)
    for voice in manifest.voices:
        path = bundle / voice.file
        path.write_bytes((path.read_bytes() * ROWS)[: 4 * ROWS * voice.columns])
    stages = tuple(
        stage._replace(libraries=(*stage.libraries[:-1], stage.libraries[-1]._replace(bucket=ROWS + 2)))
        if stage.axis == "tokens"
        else stage
        for stage in manifest.stages
    )
    voices = tuple(voice._replace(rows=ROWS) for voice in manifest.voices)
    rewrite(bundle, manifest._replace(stages=stages, voices=voices, max_phonemes=ROWS))
    return bundle
