"""The attacks that readers of GGUF, ONNX, safetensors and archives fell to, each by its name.

Zero dimensions, overlaps, holes and duplicates are in `test_manifest`."""

from __future__ import annotations

import os
import shutil
import struct
from pathlib import Path

import msgpack
import pytest

from runtime_min.errors import BundleError, DamagedFileError, ManifestError, MsgpackError
from runtime_min.format.msgpack import MAXIMUM_BYTES, MAXIMUM_ITEMS, MAXIMUM_VALUES, unpack
from runtime_min.format.parse import parse_manifest
from runtime_min.format.verify import read_manifest, verify_files
from tests.support.fuzzing.manifest_changes import bounded, manifest_of_sound
from tests.support.tiny.runtime_alone import run_alone


@pytest.fixture
def bundle(sound: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(sound, tmp_path / "bundle"))


# A small file that asks for gigabytes.


@pytest.mark.parametrize(
    "data",
    [
        b"\xdd\xff\xff\xff\xff",
        b"\xdf\xff\xff\xff\xff",
        b"\xdb\xff\xff\xff\xff" + b"x" * 100,
        b"\xc6\xff\xff\xff\xff" + b"x" * 100,
        b"\xc9\xff\xff\xff\xff\x01",
        b"\xdc\xff\xff" * 5_000,
        b"\x81\xda\x0f\xff",
        b"\x81\xa1a\xdd\x7f\xff\xff\xff\x00",
    ],
    ids=["array", "map", "string", "binary", "extension", "arrays in arrays", "key", "array within"],
)
def test_a_few_bytes_that_ask_for_gigabytes(data: bytes) -> None:
    with bounded(memory=1 << 20), pytest.raises(MsgpackError):
        unpack(data)


@pytest.mark.parametrize(
    ("bytes_claimed", "error"),
    [(1 << 33, DamagedFileError), (1 << 43, ManifestError), (1 << 62, ManifestError)],
)
def test_a_file_entry_that_claims_terabytes(
    bundle: Path, bytes_claimed: int, error: type[BundleError]
) -> None:
    """Not even if the file is as large, which costs nothing where files may have holes."""
    raw = manifest_of_sound(bundle)
    next(entry for entry in raw["files"] if entry["path"] == "NOTICE")["bytes"] = bytes_claimed
    (bundle / "manifest.msgpack").write_bytes(msgpack.packb(raw))
    with (
        bounded(memory=4 << 20),
        pytest.raises(error, match=f"should have {bytes_claimed} b|at most 17179869184 b"),
    ):
        verify_files(bundle, read_manifest(bundle))


def test_a_sparse_file_as_large_as_it_claims_is_read_in_pieces(bundle: Path) -> None:
    size = 256 << 20
    os.truncate(bundle / "NOTICE", size)
    raw = manifest_of_sound(bundle)
    next(entry for entry in raw["files"] if entry["path"] == "NOTICE")["bytes"] = size
    (bundle / "manifest.msgpack").write_bytes(msgpack.packb(raw))
    with bounded(), pytest.raises(DamagedFileError, match="should have SHA-256"):
        verify_files(bundle, read_manifest(bundle))


# Counts and products that overflow.


@pytest.mark.parametrize(
    "shape",
    [[1 << 31] * 8, [1 << 31, 1 << 31, 4], [65_536] * 4, [(1 << 31) - 1, 2, 2, (1 << 31) - 1]],
    ids=str,
)
def test_a_shape_whose_product_overflows(sound: Path, shape: list[int]) -> None:
    raw = manifest_of_sound(sound)
    for wrapped in (0, 1, (4 * shape[0] * shape[1]) % (1 << 32), 80):
        raw["parameters"]["tensors"][0].update(shape=shape, bytes=wrapped)
        with pytest.raises(ManifestError, match=r"tensors\[0\].bytes"):
            parse_manifest(msgpack.packb(raw))


def test_more_bytes_than_the_limit_are_not_read(bundle: Path) -> None:
    os.truncate(bundle / "manifest.msgpack", 1 << 40)
    with bounded(memory=2 * MAXIMUM_BYTES + (1 << 20)), pytest.raises(MsgpackError, match="at most"):
        read_manifest(bundle)


def largest_documents() -> dict[str, bytes]:
    """Manifests at the limits, built to cost their reader as much as possible."""
    many = MAXIMUM_VALUES - 100
    text = msgpack.packb("\0" * 4_000)
    maps = b"\x81\xa1a\x80" * (MAXIMUM_ITEMS - 1)
    paths = ["/".join(f"{part:06d}{number:06d}" for part in range(8)) for number in range(4_096)]
    return {
        "empty maps": msgpack.packb([[{}] * 60_000] * (many // 60_001)),
        "maps of one": b"\x81\xa1x" + b"\xdc" + struct.pack(">H", MAXIMUM_ITEMS - 1) + maps,
        "keys": msgpack.packb({f"{number:0100d}": number for number in range(60_000)}),
        "texts": b"\x81\xa6format" + b"\xdc" + struct.pack(">H", 2_000) + text * 2_000,
        "requirements": msgpack.packb(
            {"format": "kokoro-bundle", "version": 1, "requires": ["\u0100" * 200] * 20_000}
        ),
        "paths": msgpack.packb([{"path": path, "bytes": 1, "sha256": "0" * 64} for path in paths]),
    }


@pytest.mark.parametrize("name", largest_documents())
def test_the_largest_documents_take_bounded_memory(sound: Path, name: str) -> None:
    data = largest_documents()[name]
    assert len(data) <= MAXIMUM_BYTES
    if name == "paths":
        data = msgpack.packb({**manifest_of_sound(sound), "files": msgpack.unpackb(data)})
    with bounded(), pytest.raises(BundleError) as refusal:
        parse_manifest(data)
    assert len(str(refusal.value)) < 10_000


def test_a_token_without_a_row_in_the_models_tables(speaking_bundle: Path) -> None:
    assert (
        run_alone(
            speaking_bundle,
            """
        import numpy as np
        from runtime_min import Bundle, KokoroError
        stage = Bundle.load(sys.argv[1]).stage("bert")
        result = []
        for token in (-1, 5, 1 << 40, -(1 << 63)):
            try:
                stage.run({"token_ids": np.array([[0, token, 0]], np.int64)})
            except KokoroError as error:
                result.append("takes the tokens 0 to 4" in str(error))
        """,
        )
        == [True] * 4
    )
