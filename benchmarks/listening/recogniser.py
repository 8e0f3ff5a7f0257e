"""Recognises English speech with pocketsphinx, and counts the words that are wrong.

pocketsphinx is an old recogniser, which hears about nine of ten words of good speech. So a figure means
something only beside that of other speech of the same words.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import av
import numpy as np
from numpy.typing import NDArray
from pocketsphinx import Decoder

from runtime_min.format.signatures import SAMPLE_RATE

SENTENCES = Path(__file__).with_name("sentences.txt")
"""Sentences whose words pocketsphinx knows."""
FORMS = Path(__file__).with_name("written_forms.txt")
"""Sentences with written forms, and the words with which each is spoken as it is meant."""
VOICES = ("af_heart", "am_michael", "bf_emma", "bm_george")
"""Two American voices and two British ones."""
_RATE = 16_000
_LARGEST = 32_767


class Recogniser:
    """Turns speech into words, each recording independently of those before it."""

    def __init__(self) -> None:
        """Loads the English model that pocketsphinx brings, in about a second."""
        self._decoder = Decoder(samprate=_RATE, loglevel="FATAL")

    def words(self, samples: NDArray[np.float32], sample_rate: int = SAMPLE_RATE) -> list[str]:
        """Returns the recognised words, in lower case.

        Args:
            samples: speech, float32 ``[n]`` with n > 0, full scale is 1.
            sample_rate: samples a second.
        """
        heard = resampled(samples, sample_rate, _RATE)
        if not heard.any():
            # pocketsphinx hears words in what has no noise at all.
            return []
        pcm = np.rint(np.clip(heard, -1, 1) * _LARGEST).astype("<i2").tobytes()
        self._decoder.reinit_feat()
        self._decoder.start_utt()
        self._decoder.process_raw(pcm, full_utt=True)
        self._decoder.end_utt()
        found = self._decoder.hyp()
        return normalised(found.hypstr) if found else []


def resampled(samples: NDArray[np.float32], from_rate: int, to_rate: int) -> NDArray[np.float32]:
    """Returns mono samples at another rate, float32 ``[n]``."""
    frame = av.AudioFrame.from_ndarray(np.ascontiguousarray(samples, np.float32)[np.newaxis], "fltp", "mono")
    frame.sample_rate = from_rate
    resampler = av.AudioResampler("fltp", "mono", to_rate)
    frames = [*resampler.resample(frame), *resampler.resample(None)]
    return np.concatenate([each.to_ndarray()[0] for each in frames])


def normalised(text: str) -> list[str]:
    """Returns the words of a text in lower case, without marks; a hyphen parts two words."""
    return re.findall(r"[a-z]+(?:'[a-z]+)*", text.lower())


def words_wrong(expected: Sequence[str], heard: Sequence[str]) -> int:
    """Returns the least number of words to replace, leave out and add that makes `heard` of `expected`."""
    distances = list(range(len(heard) + 1))
    for row, word in enumerate(expected, 1):
        diagonal, distances[0] = distances[0], row
        for column, other in enumerate(heard, 1):
            best = min(diagonal + (word != other), distances[column] + 1, distances[column - 1] + 1)
            diagonal, distances[column] = distances[column], best
    return distances[-1]


def in_order(words: Sequence[str], heard: Sequence[str]) -> bool:
    """Returns True if all of the words were heard, in their order, whatever was heard between them."""
    left = iter(heard)
    return all(word in left for word in words)


def read_sentences() -> list[str]:
    """Returns the sentences of `SENTENCES`."""
    lines = SENTENCES.read_text("utf-8").splitlines()
    return [line for line in lines if not line.startswith("#")]


def read_forms() -> list[tuple[str, list[str]]]:
    """Returns the sentences of `FORMS`, each with the words that must be heard of it, in their order."""
    lines = (line.split(" | ") for line in FORMS.read_text("utf-8").splitlines() if not line.startswith("#"))
    return [(text, words.split()) for text, words in lines]
