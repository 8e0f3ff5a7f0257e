"""Statistics of voices, with which the decoder speaks a part of an utterance as loudly as in the whole.

The decoder's instance norms take mean and variance of all frames that they see, so a few frames alone come
out at another level. `bundles/FORMAT.md` specifies what a bundle has in their place: mean and standard
deviation of each channel in other speech of the voice.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..engine.vm import aligned_memory
from ..errors import DamagedFileError, ManifestError
from ..format.bundle_files import BundleFiles
from ..format.extensions import extension_files
from ..format.manifest import Manifest
from .voices import VoiceLike, voice_weights

EXTENSION = "statistics"
"""Key among a manifest's extensions: a reader without it decodes more frames."""
SUFFIX = ".statistics"
"""Ends the names of the decoder's parameters that statistics take the place of."""
SHORTEST_ROW = 130
"""Phonemes of the shortest style row whose half for the decoder goes with them: they are taken in rows of 159
to 173. With the row of 97 phonemes speech is 2 dB too quiet, with that of 11 it is silent."""
Statistics = Mapping[str, NDArray[np.float32]]
"""Mean and standard deviation of each channel, ``[2, channels]``, by the decoder's parameter."""


class VoiceStatistics(Mapping[str, Statistics]):
    """The statistics of voices by name, read when they are first needed."""

    def __init__(self, files: BundleFiles, manifest: Manifest) -> None:
        """Takes the bundle's open files and its manifest.

        Raises:
            ManifestError: the extension breaks its schema, or a norm's parameter has another shape.
        """
        self._paths = extension_files(manifest, EXTENSION)
        self._files = files
        self._channels = norm_channels(manifest) if self._paths else {}
        self._found: dict[str, Statistics] = {}

    def __getitem__(self, name: str) -> Statistics:
        if name not in self._found:
            self._found[name] = self._read(self._paths[name])
        return self._found[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._paths)

    def __len__(self) -> int:
        return len(self._paths)

    def _read(self, path: str) -> Statistics:
        numbers = np.frombuffer(self._files.read(path), np.uint8)
        expected = 2 * sum(self._channels.values())
        if len(numbers) != 2 * expected:
            raise DamagedFileError(
                f"The file {path} should have {expected} numbers of 2 bytes and has {len(numbers)} bytes: "
                "export the bundle again."
            )
        values, found, start = numbers.view("<f2").astype(np.float32), {}, 0
        if not np.isfinite(values).all():
            raise DamagedFileError(
                f"The file {path} should have finite numbers and has others: export the bundle again."
            )
        for name, channels in self._channels.items():
            found[name] = values[start : start + 2 * channels].reshape(2, channels)
            start += 2 * channels
        return found


def norm_channels(manifest: Manifest) -> dict[str, int]:
    """Returns the channels of each norm that takes statistics, by the decoder's parameter, in its order.

    Raises:
        ManifestError: a parameter is not float32 ``[2, channels]``.
    """
    tensors = {tensor.name: tensor for tensor in manifest.parameters.tensors}
    names = [name for stage in manifest.stages if stage.name == "decoder" for name in stage.parameters]
    channels = {}
    for name in filter(lambda name: name.endswith(SUFFIX), names):
        dtype, shape = tensors[name].dtype, tensors[name].shape
        if dtype != "float32" or len(shape) != 2 or shape[0] != 2:
            expected = f"float32 [2, channels] as {name!r}"
            raise ManifestError("parameters.tensors", expected, f"{dtype} {list(shape)}")
        channels[name] = shape[1]
    return channels


def voice_statistics(
    found: Mapping[str, Statistics], voices: Mapping[str, Any], voice: VoiceLike
) -> Statistics | None:
    """Returns mean and variance of each channel, ``[2, channels]``, by the decoder's parameter.

    Those of a blend are made of the weighted means of means and of deviations. The result is None for an
    array, if the statistics of a voice are not known, or if no norm takes any.

    Args:
        found: the known statistics.
        voices: all voices, by which a name is told from a blend.
        voice: the voice.
    """
    weights = voice_weights(voices, voice)
    if weights is None or not found.keys() >= weights.keys():
        return None
    of_voices = [(weight, found[name]) for name, weight in weights.items()]
    made = {}
    for norm in of_voices[0][1]:
        parts = [weight * statistics[norm].astype(np.float64) for weight, statistics in of_voices]
        mean, deviation = sum(parts, np.zeros_like(parts[0])).astype(np.float32)
        made[norm] = aligned_memory((2, len(mean)), np.dtype(np.float32))
        made[norm][:] = mean, deviation * deviation
    return made or None
