"""Utterances of the benchmark: pseudo-English of an exact number of tokens, always the same."""

from __future__ import annotations

import random
from collections.abc import Collection

from exporter.errors import ExportError
from runtime_min.model.tokens import BOUNDARIES

_ONSETS = ("b", "d", "f", "ɡ", "h", "k", "l", "m", "n", "p", "ɹ", "s", "t", "w", "z", "ð", "ʃ", "ʤ", "st")
_VOWELS = ("ə", "ɪ", "i", "ɛ", "æ", "ʌ", "ɑ", "ɔ", "u", "A", "I", "O", "W", "Y", "ɜɹ")
_CODAS = ("", "", "n", "t", "d", "l", "ŋ", "ks", "m", "z")
_STRESSES = ("ˈ", "", "ˌ")


class NothingToSayError(ExportError):
    """The vocabulary has no vowel of English."""

    exit_code = 3


_SENTENCE_TOKENS = (42, 64, 27, 90, 51, 75, 34)
_MARKS = (",", ".", ".", ",", ".", "?", ".")


def text_of(characters: int, vocabulary: Collection[str]) -> str:
    """Returns sentences and clauses of exactly `characters` phonemes, marks and spaces included.

    Raises:
        NothingToSayError: as in `phonemes_of`.
    """
    said, number = "", 0
    while len(said) < characters:
        place = number % len(_SENTENCE_TOKENS)
        clause = phonemes_of(_SENTENCE_TOKENS[place], vocabulary, number).rstrip(" .")
        said += f"{clause}{_MARKS[place]} "
        number += 1
    return f"{said[: characters - 1]}."


def phonemes_of(tokens: int, vocabulary: Collection[str], seed: int = 0) -> str:
    """Returns pseudo-English phonemes.

    Args:
        tokens: number of tokens, the two boundary tokens counted; 3 or more.
        vocabulary: the model's phonemes; only these are used.
        seed: another seed gives another utterance.

    Raises:
        NothingToSayError: the vocabulary has no vowel of English.
    """
    onsets, vowels, codas, stresses = (
        tuple(sound for sound in sounds if all(phoneme in vocabulary for phoneme in sound))
        for sounds in (_ONSETS, _VOWELS, _CODAS, _STRESSES)
    )
    if not vowels:
        raise NothingToSayError(
            f"The bundle's vocabulary has none of the vowels {' '.join(_VOWELS)} that the benchmark speaks: "
            "measure a bundle of a Kokoro model."
        )
    choose = random.Random(f"{seed} {tokens}")
    count = tokens - BOUNDARIES
    said = ""
    while len(said) < count:
        for stress in stresses[: choose.randint(1, len(stresses))]:
            said += choose.choice(onsets or ("",)) + stress + choose.choice(vowels) + choose.choice(codas)
        said += " " if " " in vocabulary else ""
    said = said[:count]
    return f"{said[:-1]}." if count > 1 and "." in vocabulary else said
