"""Statistics of voices, with which the decoder speaks a part of an utterance as loudly as in the whole.

The decoder's instance norms take mean and variance of all frames that they see, so a few frames alone come
out at another level. `bundles/FORMAT.md` specifies what a bundle has in their place: mean and standard
deviation of each channel in other speech of the voice.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
from numpy.typing import NDArray

from ..engine.vm import aligned_memory
from ..errors import DamagedFileError
from ..format.bundle_files import BundleFiles
from ..format.manifest import Manifest
from ..format.schema import Node, RelativePath, reader_of
from .voices import VoiceLike, voice_weights

EXTENSION = "statistics"
"""Key among a manifest's extensions: a reader without it decodes more frames."""
SUFFIX = ".statistics"
"""Ends the names of the decoder's parameters that statistics take the place of."""
Statistics = Mapping[str, NDArray[np.float32]]
"""Mean and variance of each channel, ``[2, channels]``, by the decoder's parameter."""


class VoiceStatistics(Mapping[str, Statistics]):
    """The statistics of voices by name, read when they are first needed."""

    def __init__(self, files: BundleFiles, manifest: Manifest) -> None:
        """Takes the bundle's open files and its manifest.

        Raises:
            ManifestError: the extension breaks its schema.
        """
        self._paths = statistics_files(manifest)
        self._files = files
        self._channels = norm_channels(manifest)
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
        if not (np.isfinite(values).all()):
            raise DamagedFileError(
                f"The file {path} should have finite numbers and has others: export the bundle again."
            )
        for name, channels in self._channels.items():
            mean, deviation = values[start : start + 2 * channels].reshape(2, channels)
            found[name] = aligned_memory((2, channels), np.dtype(np.float32))
            found[name][:] = mean, deviation * deviation
            start += 2 * channels
        return found


def statistics_files(manifest: Manifest) -> Mapping[str, str]:
    """Returns the paths of the statistics by voice.

    Raises:
        ManifestError: the extension breaks its schema.
    """
    node = Node(manifest.extensions.get(EXTENSION, {}), f"extensions.{EXTENSION}")
    found: Mapping[str, str] = reader_of(Mapping[str, RelativePath])(node)
    return found


def norm_channels(manifest: Manifest) -> dict[str, int]:
    """Returns the channels of each norm that takes statistics, by the decoder's parameter, in its order."""
    shapes = {tensor.name: tensor.shape for tensor in manifest.parameters.tensors}
    names = [name for stage in manifest.stages if stage.name == "decoder" for name in stage.parameters]
    return {name: shapes[name][1] for name in names if name.endswith(SUFFIX)}


def voice_statistics(found: Mapping[str, Statistics], voice: VoiceLike) -> Statistics | None:
    """Returns the statistics of a voice, or None if they are not known."""
    weights = voice_weights(found, voice)
    if weights is None or len(weights) != 1:
        return None
    return found.get(*weights)
