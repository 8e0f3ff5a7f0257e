"""A model without weights: each letter is a tone of its own pitch, gaps are nearly silent."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from runtime_min.errors import UtteranceTooLongError
from runtime_min.format.signatures import SAMPLES_PER_FRAME
from runtime_min.model.statistics import Statistics
from runtime_min.model.synthesiser import Prepared, Synthesiser, Utterance
from runtime_min.speech.plan import SpeechPlan, plan_speech
from runtime_min.speech.request import END_PAUSE, Capabilities, Request
from runtime_min.speech.speak import speak
from runtime_min.speech.timing import Audio

VOICE = np.zeros((510, 4), np.float32)
LETTERS = "abcdefgh"
VOCABULARY = {letter: number for number, letter in enumerate(f"{LETTERS} .,", start=1)}
BOUNDARY_FRAMES = 6


def frequency(letter: str) -> float:
    return 400.0 + 200.0 * LETTERS.index(letter)


class Ready(Synthesiser):
    """Has all samples of an utterance before any is decoded."""

    def decode(self, prepared: Prepared, start: int, end: int) -> np.ndarray:
        return prepared.noise[0, SAMPLES_PER_FRAME * start : SAMPLES_PER_FRAME * end]


def ready(
    samples: np.ndarray,
    durations: np.ndarray,
    energy: np.ndarray | None = None,
    statistics: Statistics | None = None,
) -> Prepared:
    """Returns an utterance whose samples are there."""
    if energy is None:
        energy = np.zeros(2 * int(durations.sum()), np.float32)
    return Prepared(durations, {"energy": energy[None]}, samples[None], statistics)


class Fake(Ready):
    """Synthesises a piece; remembers its requests."""

    def __init__(self, capacity: int = 10**9) -> None:
        self.capacity = capacity
        """Most frames of a piece."""
        self.asked: list[tuple[str, int]] = []

    def durations(self, phonemes: str, speed: float) -> np.ndarray:
        lengths = [5 if phoneme in LETTERS else 4 for phoneme in phonemes]
        frames = np.array([BOUNDARY_FRAMES, *lengths, BOUNDARY_FRAMES]) / speed
        return np.maximum(np.rint(frames), 1).astype(np.int64)

    def prepare(self, utterance: Utterance) -> Prepared:
        phonemes, _, speed, seed, _, statistics = utterance
        self.asked.append((phonemes, seed))
        durations = self.durations(phonemes, speed)
        if durations.sum() > self.capacity:
            raise UtteranceTooLongError(int(durations.sum()), self.capacity, 40)
        random = np.random.default_rng(seed)
        letters = f" {phonemes} "
        pitches = np.array([frequency(each) if each in LETTERS else 0.0 for each in letters])[:, None]
        phases = random.uniform(0, 2 * np.pi, pitches.shape)
        # Every tone begins again with each frame.
        times = np.arange(SAMPLES_PER_FRAME) / 24_000
        tones = (0.3 * np.sin(2 * np.pi * pitches * times + phases) * (pitches > 0)).astype(np.float32)
        samples = np.repeat(tones, durations, axis=0)
        noise = random.standard_normal(samples.shape, np.float32)
        noise *= 1e-5
        samples += noise
        return ready(samples.ravel(), durations, statistics=statistics)


def plan(
    phonemes: str | Sequence[object],
    *,
    limit: int = 60,
    whole: bool = False,
    speed: float = 1.0,
    seed: int = 0,
    sentence: float = 0.0,
    clause: float = 0.0,
    trim: bool = False,
    end_pause: float = END_PAUSE,
    one_pass: bool = False,
) -> SpeechPlan:
    """The plan of `Bundle.stream` or `Bundle.synthesize`."""
    request = Request(
        phonemes=phonemes,  # type: ignore[arg-type]
        voice="voice",
        speed=speed,
        seed=seed,
        sentence_pause=sentence,
        clause_pause=clause,
        trim=trim,
        end_pause=end_pause,
        one_pass=one_pass,
    )
    return plan_speech(Capabilities({"voice": VOICE}, VOCABULARY, limit), request, request.whole, whole=whole)


def pieces(planned: SpeechPlan, fake: Fake | None = None) -> Iterator[Audio]:
    return speak(planned, fake or Fake())


def spoken(planned: SpeechPlan, fake: Fake | None = None) -> Audio:
    return Audio.join(pieces(planned, fake))
