"""Voices: their names, their style rows, blends of them, and arrays in their place.

>>> VoiceName("bf_emma").language, VoiceName("bf_emma").sex
('en-GB', 'female')
>>> parse_blend("af_heart*3+am_adam")
{'af_heart': 0.75, 'am_adam': 0.25}
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import reduce
from operator import add
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..errors import BlendError, DamagedFileError, UnknownVoiceError, VoiceArrayError, VoiceLanguageError
from ..format.bundle_files import BundleFiles
from ..format.manifest import Manifest, Voice

_LANGUAGES = {
    "a": "en-US",
    "b": "en-GB",
    "e": "es",
    "f": "fr-FR",
    "h": "hi",
    "i": "it",
    "j": "ja",
    "p": "pt-BR",
    "z": "zh",
}
_SEXES = {"f": "female", "m": "male"}
_SIGNS = "+,*"

LARGEST_STYLE = 100.0
"""Largest value of a style row. Kokoro's reach 3.19; far larger ones overflow in the model."""

VoiceLike = str | Sequence[str] | NDArray[Any]
"""A name, a blend such as ``"af_heart*0.7+am_adam*0.3"``, names to average, or an array of style rows."""


class Style(NamedTuple):
    """The two halves of a style row, each float32 ``[1, style]``."""

    decoder: NDArray[np.float32]
    prosody: NDArray[np.float32]


class VoiceName(str):
    """A voice's name. Kokoro's begin with a letter for the language and one for the sex."""

    __slots__ = ()

    @property
    def language(self) -> str | None:
        """BCP 47 tag such as ``en-GB``, or None if the name has none."""
        return _LANGUAGES.get(self[0]) if self[2:3] == "_" else None

    @property
    def sex(self) -> str | None:
        """``female``, ``male``, or None if the name has none."""
        return _SEXES.get(self[1]) if self[2:3] == "_" else None


def voice_language(voice: VoiceLike) -> str:
    """Returns the language of a voice; a blend has the language of its first voice.

    Raises:
        VoiceLanguageError: the voice is an array, or its name shows no language.
    """
    names = [voice] if isinstance(voice, str) else list(voice) if isinstance(voice, (list, tuple)) else []
    first = names[0] if names and isinstance(names[0], str) else ""
    language = VoiceName(re.split(f"[{_SIGNS}]", first)[0].strip()).language
    if language is None:
        raise VoiceLanguageError(voice, sorted(_LANGUAGES.values()))
    return language


def voice_name(voice: VoiceLike) -> str:
    """Returns a voice's name or a blend as one str; an empty one for an array."""
    if isinstance(voice, str):
        return str(voice)
    return "+".join(voice) if isinstance(voice, (list, tuple)) and _are_names(voice) else ""


class VoiceTables(Mapping[str, NDArray[np.float32]]):
    """Every voice's table by name, float32 ``[rows, columns]``, read when it is first needed."""

    def __init__(self, files: BundleFiles, manifest: Manifest) -> None:
        """Takes the bundle's open files and its manifest."""
        self._files = files
        self._voices = {voice.name: voice for voice in manifest.voices}
        self._ranks = manifest.voice_ranks
        self._tables: dict[str, NDArray[np.float32]] = {}

    def __getitem__(self, name: str) -> NDArray[np.float32]:
        if name not in self._tables:
            voice = self._voices[name]
            self._tables[name] = voice_table(self._files.read(voice.file), voice, self._ranks.get(name, 0))
        return self._tables[name]

    def __contains__(self, name: object) -> bool:
        return name in self._voices

    def __iter__(self) -> Iterator[str]:
        return iter(self._voices)

    def __len__(self) -> int:
        return len(self._voices)


def voice_table(content: bytes, voice: Voice, rank: int) -> NDArray[np.float32]:
    """Returns a voice's table, float32 ``[rows, columns]``.

    Args:
        content: content of the voice's file.
        voice: the voice.
        rank: rank of the two factors in the file; 0 if it holds the table itself.

    Raises:
        DamagedFileError: a value is not a number or beyond `LARGEST_STYLE`.
    """
    numbers = np.frombuffer(content, "<f4")
    if rank:
        end = voice.rows * rank
        table = _product(numbers[:end].reshape(-1, rank), numbers[end:].reshape(rank, -1))
    else:
        table = numbers.reshape(voice.rows, voice.columns)
    # NaN fails every comparison.
    if not (np.abs(table) <= LARGEST_STYLE).all():
        raise DamagedFileError(
            f"The voice file {voice.file} should have numbers from {-LARGEST_STYLE:g} to {LARGEST_STYLE:g} "
            "and has others: export the bundle again."
        )
    return table


def _product(left: NDArray[np.float32], right: NDArray[np.float32]) -> NDArray[np.float32]:
    """Returns a matrix product with the same bits on every machine.

    Every product is rounded to float32, and so is every sum, in the order of the factors.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        table: NDArray[np.float32] = left[:, :1] * right[0]
        for index in range(1, len(right)):
            table += left[:, index : index + 1] * right[index]
    table.flags.writeable = False
    return table


def style_row(voices: Mapping[str, NDArray[np.float32]], voice: VoiceLike, phonemes: int) -> Style:
    """Returns the style of `voice` for an input of `phonemes` phonemes.

    Row ``phonemes - 1`` belongs to that length; its first half goes to the decoder, its second half to
    the prosody stages. A blend is the weighted mean of the rows.

    Args:
        voices: the bundle's tables by name.
        voice: a name, a blend, names, or an array ``[rows, 1, columns]``, ``[rows, columns]``,
            ``[1, columns]`` or ``[columns]`` of floats; a single row is used for every length.
        phonemes: from 1 to the number of rows.

    Raises:
        UnknownVoiceError: there is no such voice, or none at all.
        BlendError: a blend is malformed, or its weights are.
        VoiceArrayError: an array has another shape or type, or a value beyond `LARGEST_STYLE`.
    """
    weights = voice_weights(voices, voice)
    row: NDArray[np.floating[Any]]
    if weights is not None:
        row = _blended_row(voices, weights, phonemes)
    elif not voices:
        raise UnknownVoiceError(type(voice).__name__, voices)
    else:
        row = _array_row(next(iter(voices.values())).shape, voice, phonemes)
    decoder, prosody = row.astype(np.float32).reshape(2, 1, -1)
    return Style(decoder, prosody)


def voice_weights(voices: Mapping[str, Any], voice: VoiceLike) -> dict[str, float] | None:
    """Returns the weight of each voice in `voice` (their sum is 1), or None for an array.

    Raises:
        BlendError: a blend is malformed, or its weights are.
    """
    if isinstance(voice, str):
        blended = voice not in voices and any(sign in voice for sign in _SIGNS)
        return parse_blend(voice) if blended else {voice: 1.0}
    if isinstance(voice, Sequence) and voice and _are_names(voice):
        return parse_blend("+".join(voice))
    return None


def _are_names(voice: Sequence[Any]) -> bool:
    return all(isinstance(name, str) for name in voice)


def parse_blend(blend: str) -> dict[str, float]:
    """Returns the weight of each voice in `blend`, in sum 1.

    Voices are separated by ``+`` or ``,`` (kokoro's way to write the mean), each with or without ``*`` and a
    weight, which is 1 otherwise. A voice that is named twice has the sum of its weights.

    Raises:
        BlendError: a name or weight is missing, a weight is negative or no finite number, or all are 0.
    """
    weights: dict[str, float] = {}
    for term in blend.replace(",", "+").split("+"):
        name, star, number = (part.strip() for part in term.partition("*"))
        try:
            weight = float(number) if star else 1.0
        except ValueError:
            raise BlendError(blend, f"{number!r} is not a number") from None
        if not name:
            raise BlendError(blend, "a name is missing")
        if not math.isfinite(weight) or weight < 0:
            raise BlendError(blend, f"the weight {number} of {name!r} is not a number of at least 0")
        weights[name] = weights.get(name, 0.0) + weight
    # Not `sum`, whose rounding differs between versions of Python.
    total = reduce(add, weights.values())
    if not 0 < total < math.inf:
        raise BlendError(blend, f"the weights sum to {total:g}")
    return {name: weight / total for name, weight in weights.items()}


def _blended_row(
    voices: Mapping[str, NDArray[np.float32]], weights: Mapping[str, float], phonemes: int
) -> NDArray[np.floating[Any]]:
    for name in weights:
        if name not in voices:
            raise UnknownVoiceError(name, voices)
    rows = [weight * voices[name][phonemes - 1].astype(np.float64) for name, weight in weights.items()]
    total: NDArray[np.floating[Any]] = np.sum(rows, axis=0, dtype=np.float64)
    return total


def _array_row(shape: tuple[int, ...], voice: Any, phonemes: int) -> NDArray[np.floating[Any]]:
    rows, columns = shape
    try:
        table = np.asarray(voice)
    except (TypeError, ValueError, RuntimeError):
        raise VoiceArrayError(rows, columns, type(voice).__name__) from None
    floating = np.issubdtype(table.dtype, np.floating)
    shapes = ((rows, 1, columns), (rows, columns), (1, columns), (columns,))
    if not floating or table.shape not in shapes:
        found = f"{table.dtype} {list(table.shape)}" if hasattr(voice, "dtype") else type(voice).__name__
        raise VoiceArrayError(rows, columns, found)
    table = table.reshape(-1, columns)
    with np.errstate(over="ignore"):
        row: NDArray[np.float32] = table[phonemes - 1 if len(table) > 1 else 0].astype(np.float32)
    # NaN fails every comparison.
    if not (np.abs(row) <= LARGEST_STYLE).all():
        raise VoiceArrayError(rows, columns, f"values beyond {LARGEST_STYLE:g}, or not a number")
    return row
