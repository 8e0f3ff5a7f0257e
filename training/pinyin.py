"""Kokoro's phonemes of Pinyin."""

from __future__ import annotations

from importlib import import_module

_INITIALS = {
    "b": "p", "c": "ʦʰ", "ch": "ꭧʰ", "d": "t", "f": "f", "g": "k", "h": "x", "j": "ʨ", "k": "kʰ", "l": "l",
    "m": "m", "n": "n", "p": "pʰ", "q": "ʨʰ", "r": "ɻ", "s": "s", "sh": "ʂ", "t": "tʰ", "x": "ɕ", "z": "ʦ",
    "zh": "ꭧ", "": "",
}  # fmt: skip
_FINALS = {
    "a": "a0", "ai": "ai0", "an": "a0n", "ang": "a0ŋ", "ao": "au0", "e": "ɤ0", "ei": "ei0", "en": "ə0n",
    "eng": "ə0ŋ", "i": "i0", "ia": "ja0", "ian": "jɛ0n", "iang": "ja0ŋ", "iao": "jau0", "ie": "je0",
    "in": "i0n", "iou": "jou0", "ing": "i0ŋ", "iong": "jʊ0ŋ", "ong": "ʊ0ŋ", "ou": "ou0", "u": "u0",
    "uei": "wei0", "ua": "wa0", "uai": "wai0", "uan": "wa0n", "uen": "wə0n", "uang": "wa0ŋ", "ueng": "wə0ŋ",
    "uo": "wo0", "o": "wo0", "ü": "y0", "üe": "ɥe0", "üan": "ɥɛ0n", "ün": "y0n",
}  # fmt: skip
_WHOLE = {
    "hm": "hm0", "hng": "hŋ0", "m": "m0", "n": "n0", "ng": "ŋ0", "io": "jɔ0", "ê": "ɛ0", "er": "ɚ0",
    "o": "ɔ0",
}  # fmt: skip
"""Syllables that are not an initial and a final."""
_TONES = {"1": "→", "2": "↗", "3": "↓", "4": "↘", "5": ""}
_BUZZED = frozenset("zh ch sh r z c s".split())


def phonemes(syllable: str) -> str:
    """Returns Kokoro's phonemes of a syllable in Pinyin with the number of its tone."""
    convert = import_module("pypinyin.contrib.tone_convert")
    plain, tone = convert.to_normal(syllable), _TONES[syllable[-1]]
    if plain in _WHOLE:
        return _WHOLE[plain].replace("0", tone)
    initial, final = convert.to_initials(plain, strict=True), convert.to_finals(plain, v_to_u=True)
    sound = "ɨ0" if final == "i" and initial in _BUZZED else _FINALS[final]
    return (_INITIALS[initial] + sound).replace("0", tone)
