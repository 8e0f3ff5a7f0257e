"""The files of voices' statistics, in the order of the decoder's parameters."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from exporter.bundle.write import ExtensionFiles
from runtime_min.model.statistics import EXTENSION, SUFFIX

if TYPE_CHECKING:
    from exporter.model.voice_packs import NormStatistics

_KOKORO = ((r"^decoder\.(body\.)?", ""), (r"\bsource_blocks\b", "noise_res"), (r"\bblocks\b", "resblocks"),
           (r"\bnorms(?=\d)", "adain"))  # fmt: skip
"""Parts of the names of parameters, and what kokoro has in their place."""


def statistics_files(parameters: Sequence[str], found: Mapping[str, NormStatistics]) -> ExtensionFiles:
    """Returns the files of voices' statistics.

    Args:
        parameters: names of the stages' parameters in the bundle, in their order.
        found: the statistics by voice.
    """
    norms = [_kokoros(name) for name in parameters if name.endswith(SUFFIX)]
    files = {
        f"{EXTENSION}/{voice}.bin": b"".join(statistics[norm].astype("<f2").tobytes() for norm in norms)
        for voice, statistics in sorted(found.items())
    }
    paths = {voice: f"{EXTENSION}/{voice}.bin" for voice in sorted(found)}
    return ExtensionFiles({EXTENSION: paths} if paths else {}, files)


def _kokoros(parameter: str) -> str:
    """Returns the path in kokoro's decoder of the norm that a parameter belongs to."""
    path = parameter.removesuffix(SUFFIX)
    for ours, theirs in _KOKORO:
        path = re.sub(ours, theirs, path)
    return path
