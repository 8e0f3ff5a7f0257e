"""The native runtime refuses a manifest exactly if the Python runtime does, and for the same reason."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from copy import deepcopy
from pathlib import Path
from random import Random
from typing import Any

import msgpack
import pytest

from exporter.bundle.write import write_bundle
from runtime_min.errors import BundleError
from runtime_min.format.manifest import MANIFEST_NAME
from runtime_min.format.parse import parse_manifest
from tests.fuzz import corpus
from tests.runtime_min.format.test_attacks import largest_documents
from tests.runtime_min.format.test_blocks import DIVIDED, HOSTILE, SIZE
from tests.runtime_min.format.test_fuzz import damaged_manifest, manifests
from tests.runtime_min.format.test_manifest import (
    BREAKS,
    BREAKS_ON_DEVICE,
    CLASHING,
    LEVELS,
    REPLACED,
    UNSAFE,
    keys_of,
)
from tests.runtime_min.format.test_module import BREAKS as MODULE_BREAKS
from tests.runtime_min.format.test_module import raw_manifest
from tests.support.fuzzing.manifest_changes import assign, changed
from tests.support.golden import GOLDEN
from tests.support.native.library import NativeError, native_library
from tests.support.tiny.bundle import dummy_contents, dummy_contents_on, with_levels

REFUSALS = {"MsgpackError", "ManifestError", "FormatVersionError", "RequirementError"}


def in_python(data: bytes) -> str:
    try:
        parse_manifest(data)
    except BundleError as refusal:
        return type(refusal).__name__
    return "accepted"


class Native:
    """Reads manifests with the native runtime: loading ends at the missing files of an accepted one."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.library = native_library()

    def __call__(self, data: bytes) -> str:
        (self.directory / MANIFEST_NAME).write_bytes(data)
        with pytest.raises(NativeError) as failure:
            self.library.load(self.directory)
        return failure.value.name if failure.value.name in REFUSALS else "accepted"

    def agrees(self, inputs: Iterable[bytes]) -> Counter[str]:
        """Returns the number of inputs by their outcome, which is the same in both runtimes."""
        outcomes: Counter[str] = Counter()
        for number, data in enumerate(inputs):
            expected = in_python(data)
            assert self(data) == expected, f"input {number}: {data[:2000]!r}"
            outcomes[expected] += 1
        return outcomes


@pytest.fixture(scope="module")
def native(tmp_path_factory: pytest.TempPathFactory) -> Native:
    return Native(tmp_path_factory.mktemp("native"))


@pytest.fixture(scope="module")
def raw(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    place = tmp_path_factory.mktemp("raw")
    return read(write_bundle(place / "bundle", with_levels(dummy_contents(place), LEVELS)))


@pytest.fixture(scope="module")
def raw_on_device(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    place = tmp_path_factory.mktemp("device")
    return read(write_bundle(place / "bundle", dummy_contents_on("cuda", place)))


def read(bundle: Path) -> dict[str, Any]:
    decoded: dict[str, Any] = msgpack.unpackb((bundle / MANIFEST_NAME).read_bytes())
    return decoded


def test_golden_manifests_are_accepted(native: Native) -> None:
    sound = [path.read_bytes() for path in sorted(GOLDEN.glob(f"*/{MANIFEST_NAME}"))]
    assert native.agrees(sound) == {"accepted": len(sound)}


def test_every_stored_input_of_the_fuzzers(native: Native) -> None:
    outcomes = native.agrees([*corpus.load("manifest"), *corpus.load("msgpack")])
    assert outcomes.keys() >= {"accepted", "MsgpackError", "ManifestError"}


def test_every_way_to_break_the_schema(
    native: Native, raw: dict[str, Any], raw_on_device: dict[str, Any]
) -> None:
    inputs = [changed(raw, assign(*keys_of(place), value)) for place, value, _ in REPLACED]
    inputs += [changed(raw, change) for change, _ in BREAKS.values()]
    inputs += [changed(raw_on_device, change) for change, _ in BREAKS_ON_DEVICE.values()]
    inputs += [changed(raw, assign("runtime_library", path)) for path in filter(None, UNSAFE)]
    inputs += [changed(with_blocks(raw), change) for change, _ in HOSTILE.values()]
    inputs += [changed(raw_manifest(), change) for change, _ in MODULE_BREAKS.values()]
    assert native.agrees(inputs).keys() == {"ManifestError"}
    assert native.agrees(
        [changed(each, lambda m: None) for each in (raw, raw_on_device, with_blocks(raw))]
    ) == {"accepted": 3}


def with_blocks(raw: dict[str, Any]) -> dict[str, Any]:
    (size,) = [entry["bytes"] for entry in raw["files"] if entry["path"] == DIVIDED]
    blocks = {"bytes": SIZE, "digests": {DIVIDED: ["0" * 64] * -(-size // SIZE)}}
    return {**raw, "extensions": {"blocks": blocks}}


def test_paths_that_cannot_exist_at_once(native: Native, raw: dict[str, Any]) -> None:
    def add(path: str) -> bytes:
        files = [*raw["files"], {**raw["files"][0], "path": path}]
        return msgpack.packb({**raw, "files": sorted(files, key=lambda entry: entry["path"])})

    assert native.agrees(map(add, CLASHING)) == {"ManifestError": len(CLASHING)}


def test_every_removed_or_added_key(native: Native, raw: dict[str, Any]) -> None:
    outcomes = native.agrees(without_and_with_a_key(raw))
    assert outcomes["ManifestError"] > 50


def without_and_with_a_key(raw: dict[str, Any]) -> Iterator[bytes]:
    """Yields the manifest without each of its keys, and with one more in each of its maps."""

    def maps(value: Any, path: tuple[Any, ...]) -> Iterator[tuple[Any, ...]]:
        if isinstance(value, dict):
            yield path
        entries = value.items() if isinstance(value, dict) else enumerate(value)
        for key, each in entries:
            if isinstance(each, (dict, list)):
                yield from maps(each, (*path, key))

    for path in maps(raw, ()):
        for key in (*at(raw, path), "new"):
            damaged = deepcopy(raw)
            entries = at(damaged, path)
            if entries.pop(key, None) is None:
                entries[key] = 1
            yield msgpack.packb(damaged)


def at(value: Any, path: tuple[Any, ...]) -> Any:
    for key in path:
        value = value[key]
    return value


def test_the_largest_documents(native: Native) -> None:
    native.agrees(largest_documents().values())


@pytest.mark.parametrize("count", [600, pytest.param(100_000, marks=pytest.mark.slow)])
def test_every_damaged_manifest(native: Native, count: int) -> None:
    sound = manifests()
    outcomes = native.agrees(damaged_manifest(seed, sound) for seed in range(count))
    print(f"\nmanifests: {dict(outcomes)}")
    assert outcomes["ManifestError"] and outcomes["MsgpackError"]


def test_printable_characters_are_those_of_python(native: Native, raw: dict[str, Any]) -> None:
    random = Random(0)
    characters = [*range(0x3100), *(random.randrange(0x110000) for _ in range(300))]
    found = (chr(each) for each in characters if not 0xD800 <= each < 0xE000)
    # Hundreds in one text would hide each other.
    assert native.agrees(changed(raw, assign("model", "name", f"a{each}")) for each in list(found)[::61])
