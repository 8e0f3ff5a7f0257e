"""The formats of files, by the ends of their names, for commands that have not imported numpy yet."""

from __future__ import annotations

import os
from pathlib import Path

from ..errors import UsageError

SAMPLES = ("pcm16", "float")
"""The formats of a WAV file's samples."""
COMPRESSED = {
    ".flac": ("FLAC", "PCM_16"),
    ".mp3": ("MP3", "MPEG_LAYER_III"),
    ".ogg": ("OGG", "OPUS"),
    ".opus": ("OGG", "OPUS"),
}
"""libsndfile's names of the format and its kind of samples, by the end of a file's name."""
AUDIO = (".wav", *COMPRESSED)
FORMATS = tuple(suffix[1:] for suffix in AUDIO)
"""The formats by their names, for what has no file's name."""
TIMINGS = (".srt", ".vtt", ".json")


def audio_format(path: Path, sample_format: str, *, raw: bool) -> str:
    """Returns which of `AUDIO` decides the format of a file; arguments are those of `audio_file`.

    Raises:
        UsageError: the name's end names no format, or the format has no such samples.
    """
    suffix = path.suffix.lower()
    device = os.path.exists(path) and not os.path.isfile(path)
    if suffix in COMPRESSED:
        if raw or sample_format != SAMPLES[0]:
            raise UsageError(f"{path}: raw and float samples belong into a file that ends with .wav or .raw.")
        if device:
            raise UsageError(f"{path} is not a file: only WAV and raw samples can be written to it.")
        return suffix
    if raw or device or suffix == ".wav":
        return ".wav"
    raise UsageError(f"{path} does not end with a known format of audio: expected one of {', '.join(AUDIO)}.")


def timings_format(path: Path) -> str:
    """Returns which of `TIMINGS` a file's name ends with.

    Raises:
        UsageError: it is none of them.
    """
    if path.suffix.lower() in TIMINGS:
        return path.suffix.lower()
    raise UsageError(f"Timings are written to a file that ends with {', '.join(TIMINGS)}, found {path}.")
