"""Adds voices to a bundle: its files once more under a new manifest, put into its place by a rename."""

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
"""Bytes that the manifest and the file system take at most."""
_NAME = re.compile(r"[A-Za-z0-9_-]{1,100}")


def add_voices(bundle: Path, packs: Sequence[Path], *, overwrite: bool = False) -> tuple[str, ...]:
    """Adds voice packs to the bundle in a directory.

    A bundle that is loaded meanwhile keeps the files that it has; whatever fails leaves it as it was.

    Args:
        bundle: directory of the bundle.
        packs: files ``NAME.pt`` or ``NAME.bin``, or directories of them.
        overwrite: give voices of the same name up.

    Returns:
        The names of the voices added.

    Raises:
        VoiceError: a pack is not one or does not fit the bundle, or a name is taken or impossible.
        BundleError: there is no sound bundle.
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
            f"{bundle} cannot be renewed: {error.strerror}. It is as it was; copy it to a place that may be "
            "written, and add the voices there."
        ) from error
    return tuple(voices)


def _write(staging: Path, bundle: Path, manifest: Manifest, voices: Voices) -> None:
    """Fills `staging` with the bundle and its new voices."""
    _copy_files(bundle, staging, voices, manifest)
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


def _copy_files(bundle: Path, staging: Path, voices: Voices, manifest: Manifest) -> None:
    """Gives the staging place all files but the manifest and the voices that are written anew."""
    renewed = {voice.file for voice in manifest.voices if voice.name in voices}
    for entry in manifest.files:
        if entry.path not in renewed:
            target = staging / entry.path
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(bundle / entry.path, target)
