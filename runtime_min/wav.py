"""Writes samples as a WAV file, whole or not at all."""

from __future__ import annotations

import errno
import os
import secrets
import shutil
import struct
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from .errors import DiskFullError, OutputError

FORMATS = ("float", "pcm16")
_PCM, _IEEE_FLOAT = 1, 3


def wav_bytes(samples: NDArray[np.float32], sample_rate: int, sample_format: str = "float") -> bytes:
    """Returns a mono WAV file.

    Args:
        samples: float32 ``[n]``, full scale is 1.
        sample_rate: in Hz.
        sample_format: ``float`` keeps the samples as they are; ``pcm16`` clips them to full scale and
            rounds to 16 bits.
    """
    if sample_format == "pcm16":
        data = np.rint(np.clip(samples, -1.0, 1.0) * 32767.0).astype("<i2").tobytes()
        code, width = _PCM, 2
    elif sample_format == "float":
        data = samples.astype("<f4").tobytes()
        code, width = _IEEE_FLOAT, 4
    else:
        raise ValueError(f"expected one of {', '.join(FORMATS)}, found {sample_format!r}")
    header = struct.pack("<HHIIHH", code, 1, sample_rate, sample_rate * width, width, 8 * width)
    if code == _IEEE_FLOAT:
        # Everything but PCM carries the size of an extension and the number of samples.
        chunks = _chunk(b"fmt ", header + struct.pack("<H", 0)) + _chunk(
            b"fact", struct.pack("<I", len(samples))
        )
    else:
        chunks = _chunk(b"fmt ", header)
    return _chunk(b"RIFF", b"WAVE" + chunks + _chunk(b"data", data))


def write_wav(
    path: Path, samples: NDArray[np.float32], sample_rate: int, sample_format: str = "float"
) -> None:
    """Writes a mono WAV file through a temporary file beside it, so that no half one is ever seen.

    Raises:
        DiskFullError: there is no room.
        OutputError: it cannot be written for another reason.
    """
    data = wav_bytes(samples, sample_rate, sample_format)
    # Through a link, as an ordinary write would go.
    target = Path(os.path.realpath(path))
    try:
        if target.exists() and not target.is_file():
            # A pipe or device takes the data itself; a directory raises here.
            target.write_bytes(data)
        else:
            _write_atomically(target, data)
    except OSError as failure:
        if failure.errno in (errno.ENOSPC, errno.EDQUOT):
            raise DiskFullError(path, len(data), shutil.disk_usage(target.parent).free) from None
        raise OutputError(f"{path} cannot be written: {failure.strerror}. Choose another place.") from None


def _write_atomically(target: Path, data: bytes) -> None:
    temporary = target.with_name(f".{target.name}.{secrets.token_hex(4)}.part")
    try:
        with temporary.open("xb") as file:
            file.write(data)
        temporary.replace(target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def _chunk(name: bytes, data: bytes) -> bytes:
    return name + struct.pack("<I", len(data)) + data + bytes(len(data) % 2)
