"""Adds voices to a bundle: writes a copy of its files with a new manifest, and exchanges the two."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from exporter.bundle.staging import staged
from exporter.bundle.write import list_files, write_manifest, write_voice
from exporter.errors import VoiceError
from exporter.model.voice_packs import Voices, read_packs
from runtime_min.errors import OutputError
from runtime_min.format.manifest import Manifest
from runtime_min.format.verify import read_manifest, verify_files

_HEADROOM = 1 << 20
"""Most bytes that the manifest and the file system take."""
_NAME = re.compile(r"[A-Za-z0-9_-]{1,100}")


def add_voices(bundle: Path, packs: Sequence[Path], *, overwrite: bool = False) -> tuple[str, ...]:
    """Adds voice packs to the bundle in a directory.

    A bundle that is loaded meanwhile keeps its files. A failure leaves the bundle unchanged.

    Args:
        bundle: directory of the bundle.
        packs: files ``NAME.pt`` or ``NAME.bin``, or directories of them.
        overwrite: replace voices of the same name.

    Returns:
        The names of the voices added.

    Raises:
        VoiceError: a pack is unreadable or does not fit the bundle, or a name is taken or impossible.
        BundleError: the directory does not hold a sound bundle.
        DiskFullError: there is not enough room.
        OutputError: the bundle cannot be replaced.
    """
    bundle = Path(os.path.realpath(bundle))
    manifest = read_manifest(bundle)
    voices = read_packs(packs)
    _check(voices, manifest, overwrite)
    verify_files(bundle, manifest)
    needed = sum(entry.bytes for entry in manifest.files) + sum(rows.nbytes for rows in voices.values())
    try:
        with staged(bundle, needed + _HEADROOM) as staging:
            _write(staging, bundle, manifest, voices)
    except OSError as error:
        raise OutputError(
            f"{bundle} cannot be replaced: {error.strerror}. It is unchanged; copy it to a place where you "
            "may write, and add the voices there."
        ) from error
    return tuple(voices)


def _write(staging: Path, bundle: Path, manifest: Manifest, voices: Voices) -> None:
    """Writes the bundle with its new voices into `staging`."""
    replaced = {voice.file for voice in manifest.voices if voice.name in voices}
    for entry in manifest.files:
        if entry.path not in replaced:
            (staging / entry.path).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(bundle / entry.path, staging / entry.path)
    added = [write_voice(staging, name, rows) for name, rows in voices.items()]
    kept = [voice for voice in manifest.voices if voice.name not in voices]
    by_name = sorted([*kept, *added], key=lambda voice: voice.name)
    write_manifest(staging, replace(manifest, voices=tuple(by_name), files=list_files(staging)))


def _check(voices: Voices, manifest: Manifest, overwrite: bool) -> None:
    shape = (manifest.max_phonemes, 2 * manifest.model.style)
    taken = {voice.name for voice in manifest.voices}
    for name, rows in voices.items():
        if not _NAME.fullmatch(name):
            raise VoiceError(
                f"{name!r} cannot be the name of a voice: expected letters, digits, _ and -. Rename the file."
            )
        if rows.shape != shape:
            raise VoiceError(f"the voice {name} is {list(rows.shape)} and the bundle takes {list(shape)}")
        if name in taken and not overwrite:
            raise VoiceError(f"the bundle has a voice {name} already: rename the file, or add --overwrite")
