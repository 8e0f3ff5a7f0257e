"""Adds voices to a bundle: writes a copy of its files with a new manifest, and exchanges the two.

A manifest certifies its files. So the new one keeps the digests of the old one, and every file is compared
with its digest while it is copied. No other writer comes in between: the lock is held from the first read on.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from hashlib import sha256
from pathlib import Path

from exporter.bundle.write import with_loudness, write_manifest, write_voice
from exporter.errors import VoiceError
from exporter.model.voice_packs import Voices, read_packs
from runtime_min.errors import ChangedFileError
from runtime_min.format.blocks import EXTENSION as BLOCKS
from runtime_min.format.bundle_files import BundleFiles
from runtime_min.format.extensions import extension_files
from runtime_min.format.manifest import MANIFEST_NAME, Manifest
from runtime_min.format.verify import manifest_of, verify_bundle
from runtime_min.model.statistics import EXTENSION as STATISTICS
from runtime_min.output.staging import LITTER, locked, replacing, write_errors

_HEADROOM = 1 << 20
"""Most bytes that the manifest and the file system take."""


def add_voices(
    bundle: Path,
    packs: Sequence[Path],
    *,
    overwrite: bool = False,
    measure_loudness: Callable[[Path, Sequence[str]], Mapping[str, int] | None] | None = None,
) -> tuple[tuple[str, ...], str]:
    """Adds voice packs to the bundle in a directory.

    A bundle that is loaded meanwhile keeps its files. A failure leaves the bundle unchanged.

    Args:
        bundle: directory of the bundle.
        packs: files ``NAME.pt`` or ``NAME.bin``, or directories of them.
        overwrite: replace voices of the same name.
        measure_loudness: measures new voices, as `exporter.bundle.loudness.measure_loudness` does.

    Returns:
        The names of the voices added, and the SHA-256 of the new manifest in hexadecimal.

    Raises:
        VoiceError: a pack is unreadable or does not fit the bundle, or a name is taken or impossible.
        BundleError: the directory does not hold a sound bundle without other files, or somebody changes it
            meanwhile.
        BusyDestinationError: another process is writing to the bundle.
        OutputError: the bundle cannot be replaced.
    """
    bundle = Path(os.path.realpath(bundle))
    voices = read_packs(packs)
    with locked(bundle), BundleFiles(bundle) as files:
        found: list[bytes] = []
        manifest = manifest_of(files, [found.append])
        files.check_contents()
        files.check_nothing_else(LITTER)
        _check(voices, manifest, overwrite)

        def check_same(now: bytes) -> None:
            if now != found[0]:
                raise ChangedFileError(
                    f"{bundle / MANIFEST_NAME} was changed while voices were added, and none was: try again."
                )

        needed = manifest.content_bytes + sum(rows.nbytes for rows in voices.values())
        needed += _HEADROOM
        with (
            replacing(
                bundle, needed, lambda place: verify_bundle(place, check_same, ignored=LITTER)
            ) as staging,
            write_errors(bundle, needed),
        ):
            manifest = _write(staging, files, manifest, voices)
            data = write_manifest(staging, manifest)
            if measure_loudness is not None:
                measured = measure_loudness(staging, tuple(voices)) or {}
                data = write_manifest(staging, with_loudness(manifest, measured))
    return tuple(voices), sha256(data).hexdigest()


def _write(staging: Path, files: BundleFiles, manifest: Manifest, voices: Voices) -> Manifest:
    """Writes the bundle with its new voices into `staging`, and returns the manifest to be written."""
    replaced = {voice.file for voice in manifest.voices if voice.name in voices}
    # Nobody knows the statistics of the new ones: the bundle cannot take them.
    statistics = extension_files(manifest, STATISTICS)
    replaced |= {path for name, path in statistics.items() if name in voices}
    entries = [entry for entry in manifest.files if entry.path not in replaced]
    for entry in entries:
        path = staging / entry.path
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("xb") as file:
            file.writelines(files.content(entry.path))
    manifest = manifest._replace(
        voices=tuple(voice for voice in manifest.voices if voice.name not in voices),
        voice_ranks={name: rank for name, rank in manifest.voice_ranks.items() if name not in voices},
    )
    manifest = with_loudness(manifest, {})
    for name, rows in voices.items():
        manifest, entry = write_voice(staging, manifest, name, rows)
        entries.append(entry)
    extensions = dict(manifest.extensions)
    if STATISTICS in extensions:
        extensions[STATISTICS] = {name: path for name, path in statistics.items() if name not in voices}
    if BLOCKS in extensions:
        digests = extensions[BLOCKS]["digests"]
        kept = {path: found for path, found in digests.items() if path not in replaced}
        extensions[BLOCKS] = {**extensions[BLOCKS], "digests": kept}
    entries.sort(key=lambda entry: entry.path)
    return manifest._replace(files=tuple(entries), extensions=extensions)


def _check(voices: Voices, manifest: Manifest, overwrite: bool) -> None:
    shape = (manifest.max_phonemes, 2 * manifest.model.style)
    taken = {voice.name for voice in manifest.voices}
    for name, rows in voices.items():
        if rows.shape != shape:
            raise VoiceError(f"the voice {name} is {list(rows.shape)} and the bundle takes {list(shape)}")
        if name in taken and not overwrite:
            raise VoiceError(f"the bundle has a voice {name} already: rename the file, or add --overwrite")
