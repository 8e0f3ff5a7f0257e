"""The statistics of voices, which the exporter takes while each speaks some sentences.

`docs/decisions/streams.md` has what they are worth, and how many sentences are enough.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from exporter.bundle.write import ExtensionFiles
from exporter.model.voice_packs import Voices
from exporter.reference.process import Reference
from exporter.reference.utterances import Utterance, make_request
from runtime_min.model.statistics import EXTENSION, SUFFIX

PHONEMES = (
    "ðə ɹˈAn hæd stˈɑpt bəfˈɔɹ nˈun, ænd ðə ʧˈɪldɹᵊn ɹˈæn dˌWn tə ðə ʃˈɔɹ. ðˌA bˈɪlt ɐ hˈɑɹbəɹ ʌv stˈOnz ænd "
    "mˈʌd, ænd sˈAld ðɛɹ pˈApəɹ ʃˈɪps ˌʌntˈɪl ðə tˈId tˈʊk ðˌɛm ˈɔl.",
    "“hˌæv ju sˈin mI ˈʌðəɹ ɡlˈʌv?” ˈæskt ɹˈuθ. “ˌI lˈɛft ɪt ˌɔn ðə ʧˈɛɹ, bI jʊɹ bˈæɡ.” tˈɑm lˈʊkt ˈʌndəɹ ðə "
    "tˈAbᵊl, ænd lˈæft. “ðə dˈɔɡ hæz ɪt əɡˈɛn! lˈʊk: hi ɪz əslˈip ˌɔn ɪt.”",
    "bɹˈɛd nˈidz flˈWəɹ, wˈɔTəɹ, sˈɔlt, jˈist ænd tˈIm. mˈɪks ðˌɛm ɪn ði ˈivnɪŋ, kˈʌvəɹ ðə bˈOl, ænd ɡˌO tə "
    "bˈɛd. bˌI ðə mˈɔɹnɪŋ ɪt wɪl hæv ɡɹˈOn tə twˈIs ɪts sˈIz.",
)
"""Three passages, 27 seconds, each spoken in a pass of its own. Longer and shorter ones have other levels."""
_OFFICIAL = Path(__file__).parents[1] / "model" / "data" / "statistics.npz"
_NORMS = "norms"
"""Key of the paths of the norms among the arrays of that file; the others have the names of voices."""
_KOKORO = ((r"^decoder\.(body\.)?", ""), (r"\bsource_blocks\b", "noise_res"), (r"\bblocks\b", "resblocks"),
           (r"\bnorms(?=\d)", "adain"))  # fmt: skip
"""Parts of the names of parameters, and what kokoro has in their place."""

NormStatistics = Mapping[str, NDArray[np.float16]]
"""Mean and standard deviation of each channel, ``[2, channels]``, by the norm's path in kokoro's decoder."""


def official_statistics() -> dict[str, NormStatistics]:
    """Returns the statistics of the 54 official voices with the official weights, by name.

    `training.official_statistics` made the file.
    """
    found: dict[str, NormStatistics] = {}
    with np.load(_OFFICIAL, allow_pickle=False) as stored:
        paths, channels = stored[_NORMS].tolist(), stored["channels"]
        ends = 2 * np.cumsum(channels)
        for name in set(stored.files) - {_NORMS, "channels"}:
            parts = np.split(stored[name], ends[:-1])
            found[name] = {path: part.reshape(2, -1) for path, part in zip(paths, parts, strict=True)}
    return found


def measure_statistics(
    kokoro: Reference, voices: Voices, vocabulary: Mapping[str, int]
) -> dict[str, NormStatistics]:
    """Returns the statistics of voices by name, while kokoro speaks `PHONEMES` in each."""
    found: dict[str, NormStatistics] = {}
    for name, pack in voices.items():
        requests = [make_request(Utterance(phonemes, name), vocabulary, pack) for phonemes in PHONEMES]
        statistics = kokoro.norm_statistics(requests)
        found[name] = {path: values.astype(np.float16) for path, values in statistics.items()}
    return found


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
