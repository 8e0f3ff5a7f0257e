"""Whatever is done to a bundle, it is refused by a typed error before anything is loaded, or harmless.

Each test has a short form, and a long one that `make prove` runs; `docs/fuzz.md` has its figures.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from random import Random

import msgpack
import pytest

import runtime_min.bundle
from exporter.bundle.write import encode_manifest, write_bundle
from runtime_min import Bundle
from runtime_min.errors import BundleError, KokoroError, MsgpackError
from runtime_min.format.msgpack import unpack
from runtime_min.format.parse import parse_manifest
from tests.support import golden
from tests.support.files import bytes_of
from tests.support.fuzzing.bundles import (
    MANIFEST,
    damaged_bundle,
    damaged_bytes,
    damaged_document,
    quick,
    small,
    write,
)
from tests.support.paths import ROOT
from tests.support.tiny.bundle import dummy_contents
from tests.support.tiny.runtime_alone import environment
from tests.support.tiny.self_test import extension, give, made_up, stored

Long = pytest.mark.slow
FRAMES = [2, 1, 3, 4, 2, 5, 1]


@pytest.fixture
def within_64_mb() -> Iterator[None]:
    with small():
        yield


def manifests() -> list[bytes]:
    return [(golden.GOLDEN / name / MANIFEST).read_bytes() for name in ("whole", "part", "rounded", "scaled")]


def damaged_manifest(seed: int, sound: list[bytes]) -> bytes:
    """Every third time values are changed and packed again, so that the schema is reached."""
    random = Random(seed)
    one, other = random.sample(sound, 2)
    if seed % 3:
        return damaged_bytes(random, one, other)
    data: bytes = msgpack.packb(damaged_document(random, msgpack.unpackb(one)))
    return data


@pytest.mark.usefixtures("within_64_mb")
@pytest.mark.parametrize("count", [3_000, pytest.param(200_000, marks=Long)])
def test_every_damaged_manifest_is_refused_or_means_what_the_library_says(count: int) -> None:
    sound = manifests()
    outcomes: Counter[str] = Counter()
    for seed in range(count):
        data = damaged_manifest(seed, sound)
        try:
            with quick(f"seed {seed}"):
                accepted = parse_manifest(data)
        except BundleError as error:
            outcomes[type(error).__name__] += 1
            continue
        outcomes["accepted"] += 1
        assert msgpack.unpackb(encode_manifest(accepted)) == msgpack.unpackb(data), f"seed {seed}"
    print(f"\nmanifests: {dict(outcomes)}")
    assert {"MsgpackError", "ManifestError", "FormatVersionError", "accepted"} <= outcomes.keys()


@pytest.mark.usefixtures("within_64_mb")
@pytest.mark.parametrize("count", [3_000, pytest.param(200_000, marks=Long)])
def test_every_damaged_document_is_refused_or_means_what_the_library_says(count: int) -> None:
    """The reader alone, on documents that are no manifests."""
    outcomes: Counter[bool] = Counter()
    for seed in range(count):
        random = Random(seed)
        made = [msgpack.packb(random_document(random, 4)) for _ in range(2)]
        data = damaged_bytes(random, *made)
        try:
            with quick(f"seed {seed}"):
                value = unpack(data)
        except MsgpackError:
            outcomes[False] += 1
            continue
        outcomes[True] += 1
        assert msgpack.packb(value) == data, f"seed {seed}"
    print(f"\ndocuments accepted: {dict(outcomes)}")
    assert all(outcomes[kind] for kind in (True, False))


def random_document(random: Random, depth: int) -> object:
    kind = random.randrange(8 if depth else 6)
    if kind == 6:
        return [random_document(random, depth - 1) for _ in range(random.randrange(6))]
    if kind == 7:
        return {str(key): random_document(random, depth - 1) for key in range(random.randrange(6))}
    size = 1 << random.randrange(64)
    return (random.randrange(size), -random.randrange(size), random.random(), "x" * (size % 300), True, "ə")[
        kind
    ]


@pytest.mark.usefixtures("within_64_mb")
@pytest.mark.parametrize("count", [400, pytest.param(5_000, marks=Long)])
def test_every_damage_to_a_pinned_bundle_is_refused_before_anything_is_loaded(
    count: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bundle = write_bundle(tmp_path / "bundle", dummy_contents(tmp_path))
    sound = bytes_of(bundle)
    pinned = hashlib.sha256(sound[MANIFEST]).hexdigest()
    monkeypatch.setattr(runtime_min.bundle, "load_tvm", lambda *_: pytest.fail("loaded"))
    outcomes: Counter[str] = Counter()
    for seed in range(count):
        damaged = damaged_bundle(Random(seed), sound)
        write(bundle, sound, damaged)
        with pytest.raises(BundleError) as refusal, quick(f"seed {seed}"):
            Bundle.load(bundle, manifest_sha256=pinned)
        outcomes[type(refusal.value).__name__] += 1
        write(bundle, damaged, sound)
    print(f"\npinned bundles: {dict(outcomes)}")
    assert {"DamagedFileError", "ManifestDigestError", "MissingFileError"} == set(outcomes)


@pytest.mark.parametrize("count", [400, pytest.param(5_000, marks=Long)])
def test_every_damage_that_passes_the_digests_is_refused_or_harmless(
    count: int, speaking_bundle: Path, tmp_path: Path
) -> None:
    """Harmless: the process goes on, and speaking ends with samples or a typed error."""
    bundle = Path(shutil.copytree(speaking_bundle, tmp_path / "bundle"))
    outcomes = spoken_from_damaged("together", bundle, count)
    print(f"\nconsistent bundles: {outcomes}")
    assert outcomes["spoken"] and outcomes["ManifestError"]


@pytest.mark.parametrize("count", [200, pytest.param(50_000, marks=Long)])
def test_every_manifest_in_a_process_without_tvm_is_refused_or_harmless(
    count: int, speaking_bundle: Path, tmp_path: Path
) -> None:
    """Most of them name files in each other's place; the process ends if TVM's runtime comes twice."""
    bundle = Path(shutil.copytree(speaking_bundle, tmp_path / "bundle"))
    give(bundle, extension(made_up(FRAMES), FRAMES), stored(made_up(FRAMES)))
    outcomes = spoken_from_damaged("apart", bundle, count)
    print(f"\nmanifests in fresh processes: {outcomes}")
    assert outcomes["ManifestError"] and outcomes["LibraryLoadError"]


@Long
def test_every_manifest_with_a_device_in_a_process_without_tvm_is_refused_or_harmless(
    device_bundle: Path, tmp_path: Path
) -> None:
    bundle = Path(shutil.copytree(device_bundle, tmp_path / "bundle"))
    outcomes = spoken_from_damaged("apart", bundle, 5_000)
    print(f"\nmanifests with a device in fresh processes: {outcomes}")
    assert outcomes["ManifestError"] and outcomes["DeviceError"]


def spoken_from_damaged(how: str, bundle: Path, count: int) -> dict[str, int]:
    """The outcomes of loading and speaking from `count` damaged bundles: only sound and typed errors."""
    command = [sys.executable, "-m", "tests.support.fuzzing.bundles", how, str(bundle), "0", str(count)]
    done = subprocess.run(command, cwd=ROOT, env=environment(), capture_output=True, text=True)
    assert done.returncode == 0, f"seed {(bundle.parent / 'seed').read_text()}: {done.stderr}"
    outcomes: dict[str, int] = json.loads(done.stdout)
    assert sum(outcomes.values()) == count
    assert outcomes.keys() - {"spoken"} <= {error.__name__ for error in errors_below(KokoroError)}
    return outcomes


def errors_below(error: type[Exception]) -> set[type[Exception]]:
    return {error}.union(*(errors_below(below) for below in error.__subclasses__()))
