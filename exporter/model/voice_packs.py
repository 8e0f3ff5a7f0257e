"""Voice packs, a row of style for every utterance length: official ones, from a directory, or made up."""

from __future__ import annotations

import math
import os
import stat
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from exporter.errors import VoiceError
from exporter.model.checkpoint import Checkpoint
from exporter.model.hub import VOICES, download
from exporter.model.synthetic import uniform
from exporter.model.torch_file import StoredTensor, TorchFile, TorchFileError
from runtime_min.errors import ManifestError
from runtime_min.format.manifest import Voice
from runtime_min.format.schema import Node
from runtime_min.model.voices import LARGEST_STYLE, voice_table

ROWS, COLUMNS = 510, 256
_MOST_BYTES_OUTSIDE_TENSOR = 64 << 10
_OFFICIAL = Path(__file__).parent / "data" / "voices.npz"
_STATISTICS = Path(__file__).parent / "data" / "statistics.npz"
_NORMS, _CHANNELS = "norms", "channels"
"""Keys of the norms' paths and sizes among the arrays of that file; the others have the names of voices."""
NAMES = tuple(VOICES)
"""The 54 voices of Kokoro-82M v1.0."""

Voices = dict[str, NDArray[np.float32]]
NormStatistics = Mapping[str, NDArray[np.float16]]
"""Mean and standard deviation of each channel, ``[2, channels]``, by the norm's path in kokoro's decoder."""
_BELONGING = {"hub": "hub", "packages": "official", "synthetic": "synthetic"}
"""Voices of each kind of checkpoint. The hub's are exact, for the bundles that store them exactly."""


def load_voices(source: str | None, checkpoint: Checkpoint | None = None) -> Voices:
    """Loads voice packs.

    Args:
        source: ``official``, a directory of ``.pt`` or raw ``.bin`` packs, ``hub`` or ``synthetic``; None
            takes those that belong to the checkpoint, which a local file does not have.
        checkpoint: needed only if `source` is None.

    Returns:
        By name float32 ``[510, 256]``; columns 0 to 127 of a row are the decoder's style, the others the
        prosody's.

    Raises:
        VoiceError: there is no such source, or a pack is not one.
        CheckpointUnreachableError: the hub did not deliver.
    """
    if source is None and checkpoint is not None:
        source = _BELONGING.get(checkpoint.source)
    if source is None:
        raise VoiceError(
            "a checkpoint of one's own comes without voices: add --voices with a directory of .pt or .bin "
            "packs, or official, for the 54 voices of Kokoro-82M"
        )
    if source == "official":
        return official_voices()
    if source == "synthetic":
        return {name: synthetic_voice(name) for name in NAMES}
    if source == "hub":
        return {name: _read_pack(download(f"voices/{name}.pt")) for name in NAMES}
    if not os.path.isdir(source):
        raise VoiceError(
            f"no directory of voices at {source}. --voices takes official, a directory of .pt or .bin packs, "
            "hub or synthetic."
        )
    return read_packs([Path(source)])


def official_voices() -> Voices:
    """Returns the 54 voices that come with the exporter, as the products of the factors that a bundle stores.

    A value is off by at most 2⁻¹⁴ of the largest value in its row, an eighth of the rounding to float16.
    `training.official_voices` made the file from the official packs.
    """
    with np.load(_OFFICIAL, allow_pickle=False) as stored:
        return {name: _product(name, stored[name]) for name in NAMES}


def official_statistics() -> dict[str, NormStatistics]:
    """Returns the statistics of the 54 official voices with the official weights, by name.

    `training.official_statistics` made the file.
    """
    found: dict[str, NormStatistics] = {}
    with np.load(_STATISTICS, allow_pickle=False) as stored:
        paths, channels = stored[_NORMS].tolist(), stored[_CHANNELS]
        ends = 2 * np.cumsum(channels)
        for name in set(stored.files) - {_NORMS, _CHANNELS}:
            parts = np.split(stored[name], ends[:-1])
            found[name] = {path: part.reshape(2, -1) for path, part in zip(paths, parts, strict=True)}
    return found


def _product(name: str, factors: NDArray[np.float32]) -> NDArray[np.float32]:
    rank = factors.size // (ROWS + COLUMNS)
    return voice_table(factors.astype("<f4").tobytes(), Voice(name, "", ROWS, COLUMNS), rank)


def read_packs(paths: Sequence[Path]) -> Voices:
    """Reads ``.pt`` or ``.bin`` packs, and those in directories; a voice has the name of its file.

    Raises:
        VoiceError: a file is not a pack, a directory has none, or two packs have one name.
    """
    packs: dict[str, Path] = {}
    for path in paths:
        found = _packs_in(path) if os.path.isdir(path) else [path]
        if not found or not all(map(_is_pack, found)):
            raise VoiceError(f"{path} is not a voice pack: expected NAME.pt, NAME.bin or a directory of them")
        for pack in found:
            _check_name(pack)
            # Some file systems ignore case, and a bundle can be copied to one.
            earlier = packs.setdefault(pack.stem.lower(), pack)
            if earlier is not pack:
                raise VoiceError(f"the voice {pack.stem} is there twice: keep {pack} or {earlier}")
    return {pack.stem: _read_pack(pack) for pack in packs.values()}


def _packs_in(directory: Path) -> list[Path]:
    try:
        return sorted(filter(_is_pack, directory.iterdir()))
    except OSError as error:
        raise VoiceError(f"cannot read the directory of voices {directory}: {error.strerror}") from error


def _is_pack(path: Path) -> bool:
    # macOS keeps what it knows of a file in another one, ._NAME, on disks of other systems.
    return path.suffix in (".pt", ".bin") and not path.name.startswith("._")


def synthetic_voice(name: str) -> NDArray[np.float32]:
    """Makes up a voice whose statistics are those of the 54 real ones.

    Row r of a real pack is an average over all voices (0.12 a column), a voice's own offset (0.14) and a
    drift that follows 1 - ln(r + 1) / ln(510): neighbouring rows are nearly equal, but for the shortest
    utterances. The drift is 0.2 a column in the decoder's half and 0.57 in the prosody's.
    """
    drift = np.where(np.arange(COLUMNS) < COLUMNS // 2, 0.2, 0.57) / np.sqrt(2)
    offset = 0.12 * _unit("all voices") + 0.14 * _unit(name)
    direction = drift * (_unit("all voices drift") + _unit(f"{name} drift"))
    fade = 1 - np.log(np.arange(1, ROWS + 1)) / np.log(ROWS)
    voice: NDArray[np.float32] = (offset + fade[:, None] * direction).astype(np.float32)
    return voice


def _unit(name: str) -> NDArray[np.float64]:
    """Returns a style of variance 1 a column."""
    return uniform(f"voice/{name}", (COLUMNS,)).astype(np.float64) * math.sqrt(3)


def _check_name(pack: Path) -> None:
    """Compares the name of a voice with the rule for paths in a bundle."""
    try:
        Node(f"voices/{pack.stem}.bin", "").relative_path()
    except ManifestError as error:
        raise VoiceError(
            f"{pack.stem!a} cannot be the name of a voice: expected letters, digits, '_' and '-', and no "
            "name of a Windows device such as con. Rename the file."
        ) from error


def _read_pack(path: Path) -> NDArray[np.float32]:
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            raise VoiceError(f"{path} is not a regular file: expected NAME.pt or NAME.bin")
        voice = _read_raw(path) if path.suffix == ".bin" else _read_tensor(path)
    except OSError as error:
        raise VoiceError(f"cannot read the voice pack {path}: {error.strerror}") from error
    if not (np.abs(voice) <= LARGEST_STYLE).all():
        raise VoiceError(
            f"{path}: expected finite numbers from -{LARGEST_STYLE:g} to {LARGEST_STYLE:g}, found others. "
            "Is it damaged?"
        )
    return voice.astype(np.float32).reshape(ROWS, COLUMNS)


def _read_raw(path: Path) -> NDArray[np.float32]:
    expected = 4 * ROWS * COLUMNS
    with open(path, "rb") as file:
        data = file.read(expected + 1)
    if len(data) != expected:
        raise VoiceError(
            f"{path}: expected {expected} bytes (float32 [{ROWS}, {COLUMNS}]), found "
            f"{path.stat().st_size}. Is it cut off?"
        )
    return np.frombuffer(data, "<f4")


def _read_tensor(path: Path) -> NDArray[np.float32]:
    try:
        with TorchFile(path, 4 * ROWS * COLUMNS + _MOST_BYTES_OUTSIDE_TENSOR) as file:
            tensor = file.content
            if not isinstance(tensor, StoredTensor):
                raise VoiceError(f"{path}: expected one tensor, found {type(tensor).__name__}")
            if tensor.dtype != torch.float32 or tensor.shape not in ((ROWS, 1, COLUMNS), (ROWS, COLUMNS)):
                raise VoiceError(
                    f"{path}: expected a float32 tensor [{ROWS}, 1, {COLUMNS}], found {tensor.dtype} "
                    f"{list(tensor.shape)}"
                )
            ((_, values),) = file.read({path.stem: tensor})
    except TorchFileError as error:
        raise VoiceError(f"{path} is not a tensor saved by torch, or it is damaged: {error}") from error
    array: NDArray[np.float32] = values.numpy()
    return array
