"""The statistics of voices, taken while kokoro speaks some passages in each.

`docs/decisions/streams.md` has what they are worth, and which passages are good.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from exporter.model.voice_packs import NormStatistics, Voices
from exporter.reference.process import Reference
from exporter.reference.utterances import Utterance, make_request

PASSAGES = (
    "ðə ɹˈAn hæd stˈɑpt bəfˈɔɹ nˈun, ænd ðə ʧˈɪldɹᵊn ɹˈæn dˌWn tə ðə ʃˈɔɹ. ðˌA bˈɪlt ɐ hˈɑɹbəɹ ʌv stˈOnz ænd "
    "mˈʌd, ænd sˈAld ðɛɹ pˈApəɹ ʃˈɪps ˌʌntˈɪl ðə tˈId tˈʊk ðˌɛm ˈɔl.",
    "“hˌæv ju sˈin mI ˈʌðəɹ ɡlˈʌv?” ˈæskt ɹˈuθ. “ˌI lˈɛft ɪt ˌɔn ðə ʧˈɛɹ, bI jʊɹ bˈæɡ.” tˈɑm lˈʊkt ˈʌndəɹ ðə "
    "tˈAbᵊl, ænd lˈæft. “ðə dˈɔɡ hæz ɪt əɡˈɛn! lˈʊk: hi ɪz əslˈip ˌɔn ɪt.”",
    "bɹˈɛd nˈidz flˈWəɹ, wˈɔTəɹ, sˈɔlt, jˈist ænd tˈIm. mˈɪks ðˌɛm ɪn ði ˈivnɪŋ, kˈʌvəɹ ðə bˈOl, ænd ɡˌO tə "
    "bˈɛd. bˌI ðə mˈɔɹnɪŋ ɪt wɪl hæv ɡɹˈOn tə twˈIs ɪts sˈIz.",
)
"""Three passages, 27 seconds, each spoken in a pass of its own. Longer and shorter ones have other levels."""


def measure_statistics(
    kokoro: Reference, voices: Voices, vocabulary: Mapping[str, int]
) -> dict[str, NormStatistics]:
    """Returns the statistics of voices by name, while kokoro speaks `PASSAGES` in each."""
    found: dict[str, NormStatistics] = {}
    for name, pack in voices.items():
        requests = [make_request(Utterance(phonemes, name), vocabulary, pack) for phonemes in PASSAGES]
        statistics = kokoro.norm_statistics(requests)
        found[name] = {path: values.astype(np.float16) for path, values in statistics.items()}
    return found
