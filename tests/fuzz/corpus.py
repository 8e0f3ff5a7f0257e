"""Inputs that `make fuzz` has found, each with code that no other reaches: one archive for each reader."""

from __future__ import annotations

import hashlib
import io
import tarfile
from collections.abc import Iterable
from pathlib import Path

CORPUS = Path(__file__).parent / "corpus"


def load(reader: str) -> list[bytes]:
    with tarfile.open(CORPUS / f"{reader}.tar.xz") as archive:
        return [archive.extractfile(member).read() for member in archive]  # type: ignore[union-attr]


def save(reader: str, inputs: Iterable[bytes]) -> None:
    """The same inputs give the same bytes."""
    output = io.BytesIO()
    # Shortest first; xz remembers what similar inputs have in common.
    with tarfile.open(fileobj=output, mode="w:xz", preset=9, format=tarfile.USTAR_FORMAT) as archive:
        for data in sorted(set(inputs), key=lambda data: (len(data), data)):
            member = tarfile.TarInfo(hashlib.sha256(data).hexdigest()[:16])
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
    CORPUS.mkdir(exist_ok=True)
    (CORPUS / f"{reader}.tar.xz").write_bytes(output.getvalue())
