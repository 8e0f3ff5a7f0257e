"""From a damaged bundle the native runtime speaks the same as the Python runtime, or it refuses it alike."""

from __future__ import annotations

import hashlib
import shutil
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from random import Random

import msgpack
import pytest

from runtime_min import Bundle, KokoroError
from tests.support.files import bytes_of
from tests.support.fuzzing.bundles import (
    MANIFEST,
    Files,
    bundle_in_parts,
    consistent,
    consistent_bundle,
    damaged_bundle,
    write,
)
from tests.support.native.library import NativeError, NativeLibrary, native_library

PHONEMES = ("a", "abc abc")


def from_python(directory: Path) -> str:
    """Returns the digest of what is spoken, or the name of the error."""
    digest = hashlib.sha256()
    try:
        with Bundle.load(directory, threads=1) as bundle:
            for voice in list(bundle.voices)[:1]:
                for phonemes in PHONEMES:
                    digest.update(bundle.synthesize(phonemes=phonemes, voice=voice).samples.tobytes())
    except KokoroError as error:
        return type(error).__name__
    return digest.hexdigest()


def from_native(library: NativeLibrary, directory: Path) -> str:
    digest = hashlib.sha256()
    try:
        with library.loaded(directory, threads=1) as bundle:
            if voice := library.functions.kokoro_voice_name(bundle, 0):
                for phonemes in PHONEMES:
                    digest.update(library.synthesize(bundle, phonemes, voice=voice).samples.tobytes())
    except NativeError as error:
        return error.name
    return digest.hexdigest()


def of_another_tvm(found: str, damaged: Files, sound: Files) -> bool:
    """True if a bundle was refused for the version of TVM, which a reader knows only if it has TVM inside."""

    def version(files: Files) -> object:
        return msgpack.unpackb(files[MANIFEST])["versions"]["tvm"]

    return found == "TvmVersionError" and version(damaged) != version(sound)


@pytest.mark.parametrize("damage", [damaged_bundle, consistent_bundle, bundle_in_parts])
@pytest.mark.parametrize("count", [40, pytest.param(5_000, marks=pytest.mark.slow)])
def test_every_damaged_bundle(
    speaking_bundle: Path, tmp_path: Path, damage: Callable[[Random, Files], Files], count: int
) -> None:
    """Digests of a damaged bundle are wrong, those of a consistent one are right; parts have either."""
    library = native_library()
    bundle = Path(shutil.copytree(speaking_bundle, tmp_path / "bundle"))
    sound = bytes_of(bundle)
    outcomes: Counter[str] = Counter()
    different = []
    for seed in range(count):
        damaged = damage(Random(seed), sound)
        write(bundle, sound, damaged)
        expected, found = from_python(bundle), from_native(library, bundle)
        if found != expected and not of_another_tvm(found, damaged, sound):
            different.append(f"seed {seed}: {found} for {expected}")
        write(bundle, damaged, sound)
        outcomes["spoken" if len(found) == 64 else found] += 1
    print(f"\n{damage.__name__}: {dict(outcomes)}")
    assert different == []
    assert outcomes["ManifestError"] or outcomes["DamagedFileError"]


@pytest.mark.parametrize("size", [1 << 16, 49_999], ids=["pages", "copies"])
def test_parts_are_mapped_as_one_and_noticed_when_they_change(
    speaking_bundle: Path, tmp_path: Path, size: int
) -> None:
    library = native_library()
    bundle = Path(shutil.copytree(speaking_bundle, tmp_path / "bundle"))
    # A tensor that no stage takes makes the file large enough.
    sound = bytes_of(bundle)
    document = msgpack.unpackb(sound[MANIFEST])
    stored = sound.pop("parameters.bin")
    offset = -(-len(stored) // 64) * 64
    parameters = stored.ljust(offset, b"\0") + bytes(150_000)
    document["parameters"]["tensors"].append(
        {
            **document["parameters"]["tensors"][-1],
            "name": "more",
            "shape": [37_500],
            "offset": offset,
            "bytes": 150_000,
        }
    )
    sound[MANIFEST] = consistent({**sound, "parameters.bin": parameters}, document)
    (bundle / "parameters.bin").unlink()
    for number, start in enumerate(range(0, len(parameters), size), 1):
        sound[f"parameters.bin.part{number}"] = parameters[start : start + size]
    write(bundle, {}, sound)
    with library.loaded(speaking_bundle) as whole, library.loaded(bundle) as loaded:
        expected = library.synthesize(whole, "abc abc").samples
        assert library.synthesize(loaded, "abc abc").samples.tobytes() == expected.tobytes()
        with (bundle / "parameters.bin.part2").open("r+b") as file:
            file.truncate(5)
        with pytest.raises(NativeError) as refused:
            library.synthesize(loaded, "abc abc")
        assert refused.value.name == "ChangedFileError"
