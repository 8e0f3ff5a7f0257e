"""Voice packs, a row of style for every utterance length: from a directory, from the hub, or made up."""

from __future__ import annotations

import math
import pickle
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from exporter.errors import VoiceError
from exporter.model.checkpoint import Checkpoint
from exporter.model.hub import download
from exporter.model.synthetic import uniform

ROWS, COLUMNS = 510, 256
NAMES = (
    "af_alloy", "af_aoede", "af_bella", "af_heart", "af_jessica", "af_kore", "af_nicole", "af_nova",
    "af_river", "af_sarah", "af_sky", "am_adam", "am_echo", "am_eric", "am_fenrir", "am_liam",
    "am_michael", "am_onyx", "am_puck", "am_santa", "bf_alice", "bf_emma", "bf_isabella", "bf_lily",
    "bm_daniel", "bm_fable", "bm_george", "bm_lewis", "ef_dora", "em_alex", "em_santa", "ff_siwis",
    "hf_alpha", "hf_beta", "hm_omega", "hm_psi", "if_sara", "im_nicola", "jf_alpha",
    "jf_gongitsune", "jf_nezumi", "jf_tebukuro", "jm_kumo", "pf_dora", "pm_alex", "pm_santa",
    "zf_xiaobei", "zf_xiaoni", "zf_xiaoxiao", "zf_xiaoyi", "zm_yunjian", "zm_yunxi", "zm_yunxia",
    "zm_yunyang",
)  # fmt: skip
"""The 54 voices of Kokoro-82M v1.0."""

Voices = dict[str, NDArray[np.float32]]


def load_voices(source: str | None, checkpoint: Checkpoint | None = None) -> Voices:
    """Loads voice packs.

    Args:
        source: a directory of ``.pt`` or raw ``.bin`` packs, ``hub`` or ``synthetic``; None takes those that
            belong to the checkpoint, which a local file does not have.
        checkpoint: needed only if `source` is None.

    Returns:
        By name float32 ``[510, 256]``; columns 0 to 127 of a row are the decoder's style, the others the
        prosody's.

    Raises:
        VoiceError: there is no such source, or a pack is not one.
        CheckpointUnreachableError: the hub did not deliver.
    """
    if source is None and checkpoint is not None and checkpoint.source != "file":
        source = checkpoint.source
    if source is None:
        raise VoiceError(
            "a checkpoint of one's own comes without voices: add --voices with a directory of .pt or .bin "
            "packs, or hub, or synthetic"
        )
    if source == "synthetic":
        return {name: synthetic_voice(name) for name in NAMES}
    if source == "hub":
        return {name: _read_pack(download(f"voices/{name}.pt")) for name in NAMES}
    if not Path(source).is_dir():
        raise VoiceError(
            f"no directory of voices at {source}. --voices takes a directory of .pt or .bin packs, hub or "
            "synthetic."
        )
    return read_packs([Path(source)])


def read_packs(paths: Sequence[Path]) -> Voices:
    """Reads ``.pt`` or ``.bin`` packs, and those in directories; a voice has the name of its file.

    Raises:
        VoiceError: a file is not a pack, a directory has none, or two packs have one name.
    """
    packs: dict[str, Path] = {}
    for path in paths:
        found = sorted(each for each in path.iterdir() if _is_pack(each)) if path.is_dir() else [path]
        if not found or not all(map(_is_pack, found)):
            raise VoiceError(f"{path} is not a voice pack: expected NAME.pt, NAME.bin or a directory of them")
        for pack in found:
            if pack.stem in packs:
                raise VoiceError(f"the voice {pack.stem} is there twice: keep {pack} or {packs[pack.stem]}")
            packs[pack.stem] = pack
    return {name: _read_pack(pack) for name, pack in packs.items()}


def _is_pack(path: Path) -> bool:
    return path.suffix in (".pt", ".bin")


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


def _read_pack(path: Path) -> NDArray[np.float32]:
    try:
        voice = np.fromfile(path, "<f4") if path.suffix == ".bin" else _read_tensor(path)
    except OSError as error:
        raise VoiceError(f"cannot read the voice pack {path}: {error.strerror}") from error
    if path.suffix == ".bin" and path.stat().st_size != 4 * ROWS * COLUMNS:
        raise VoiceError(
            f"{path}: expected {4 * ROWS * COLUMNS} bytes (float32 [{ROWS}, {COLUMNS}]), "
            f"found {path.stat().st_size}. Is it cut off?"
        )
    if path.suffix == ".pt" and voice.shape not in ((ROWS, 1, COLUMNS), (ROWS, COLUMNS)):
        raise VoiceError(f"{path}: expected a tensor [{ROWS}, 1, {COLUMNS}], found {list(voice.shape)}")
    if not np.isfinite(voice).all():
        raise VoiceError(f"{path} has values that are not finite numbers. Is it damaged?")
    return voice.astype(np.float32).reshape(ROWS, COLUMNS)


def _read_tensor(path: Path) -> NDArray[np.float32]:
    try:
        tensor = torch.load(path, map_location="cpu", weights_only=True)
    except (pickle.UnpicklingError, RuntimeError, EOFError, ValueError, KeyError) as error:
        raise VoiceError(
            f"{path} is not a tensor saved by torch, or it is damaged: {error!s:.200}"
        ) from error
    if not isinstance(tensor, torch.Tensor) or tensor.dtype != torch.float32:
        kind = str(tensor.dtype) if isinstance(tensor, torch.Tensor) else type(tensor).__name__
        raise VoiceError(f"{path}: expected a float32 tensor [{ROWS}, 1, {COLUMNS}], found {kind}")
    return tensor.numpy()
