"""Utterances of any number of tokens, and the paths of the recorded inputs of the real model."""

from __future__ import annotations

import json
import random

from tests.support.paths import KOKORO

RECORDED_INPUTS = KOKORO / "fixtures" / "decoder_inputs_real.npz"
RECORDED_UTTERANCES = KOKORO / "fixtures" / "utterances.json"

HELLO = "həlˈO wˈɜɹld!"
BROWN_FOX = "ðə kwˈɪk bɹˈWn fˈɑks ʤˈʌmps ˌOvəɹ ðə lˈAzi dˈɔɡ."

_ONSETS = (*"bdfɡhklmnpɹstwzðʃʤ", "bɹ", "st")
_VOWELS = ("ə", "ɪ", "i", "ɛ", "æ", "ʌ", "ɑ", "ɔ", "u", "A", "I", "O", "W", "Y", "ɜɹ")
_CODAS = ("", "", "n", "t", "d", "l", "ŋ", "ks", "m", "z")
_GAPS = (" ", " ", " ", ", ")


def phonemes_of(tokens: int) -> str:
    """Pseudo-English of `tokens` tokens, the two boundary tokens counted; always the same."""
    count = tokens - 2
    if count == 1:
        return "ə"
    choose = random.Random(tokens)
    words: list[str] = []
    while sum(map(len, words)) < count:
        syllables = [
            choose.choice(_ONSETS) + stress + choose.choice(_VOWELS) + choose.choice(_CODAS)
            for stress in ("ˈ", "", "ˌ")[: choose.randint(1, 3)]
        ]
        words.extend([*syllables, choose.choice(_GAPS)])
    return "".join(words)[: count - 1] + "."


def recorded_phonemes() -> list[str]:
    """Real sentences by kokoro's G2P, where they have been recorded."""
    if not RECORDED_UTTERANCES.exists():
        return []
    return [entry["phonemes"] for entry in json.loads(RECORDED_UTTERANCES.read_text(encoding="utf-8"))]
