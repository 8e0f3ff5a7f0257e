"""Utterances to compare: the built-in ones, those that a bundle can speak, and how kokoro takes them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from exporter.reference.traces import ModelInput
from runtime_min import Bundle
from runtime_min.errors import (
    KokoroError,
    MissingStagesError,
    UnknownVoiceError,
    UtteranceTooLongError,
)
from runtime_min.format.signatures import FRAMES_PER_SECOND, STAGE_NAMES
from runtime_min.model.alignment import round_durations
from runtime_min.model.tokens import tokenise
from runtime_min.speech.request import Capabilities
from runtime_min.speech.request import check_utterance as check_request


@dataclass(frozen=True)
class Utterance:
    """Phonemes and how to say them."""

    phonemes: str
    voice: str
    speed: float = 1.0
    seed: int = 0
    """Seed of the noise."""


PANGRAM = "ðə kwˈɪk bɹˈWn fˈɑks ʤˈʌmps ˌOvəɹ ðə lˈAzi dˈɔɡ."
"""The quick brown fox jumps over the lazy dog."""
_MORNING = "ðə mˈɔɹnɪŋ sˈʌn kˈæst lˈɔŋ ʃˈædOz əkɹˈɔs ðə ɡˈɑɹdən"
BUILT_IN = (
    Utterance("ˈOkˌA.", "zm_yunxi"),
    Utterance("həlˈO wˈɜɹld!", "af_heart", seed=1),
    Utterance("həlˈO wˈɜɹld!", "bf_emma", speed=0.5, seed=2),
    Utterance(PANGRAM, "am_michael", seed=3),
    Utterance(f"{_MORNING}, {PANGRAM}", "zm_yunxi", speed=2.0, seed=4),
    Utterance(f"{_MORNING} æz bˈɜɹdz bəɡˈæn ðɛɹ kˈɔɹəs ɪn ði ˈAnʧənt ˈOk tɹˈi.", "bf_emma", seed=5),
)
"""Short, ordinary, slow, a whole sentence, fast and long, in four voices: about 20 s of speech."""


def make_request(
    utterance: Utterance,
    vocabulary: Mapping[str, int],
    pack: NDArray[np.float32],
    durations: NDArray[np.int64] | None = None,
) -> ModelInput:
    """Looks an utterance up as kokoro's users do.

    Args:
        utterance: phonemes of the vocabulary, and how to say them.
        vocabulary: token id by phoneme.
        pack: the voice's rows by number of phonemes, [510, 256].
        durations: frames of each token, [tokens], in place of the predicted ones.
    """
    token_ids = np.array([0, *(vocabulary[phoneme] for phoneme in utterance.phonemes), 0], np.int64)
    row = pack[len(utterance.phonemes) - 1 : len(utterance.phonemes)].astype(np.float32)
    return ModelInput(token_ids, row, utterance.speed, utterance.seed, durations)


def default_voice(voices: Sequence[str]) -> str:
    """Returns the voice that speaks where none is named.

    Raises:
        UnknownVoiceError: there is no voice.
    """
    if not voices:
        raise UnknownVoiceError("af_heart", voices)
    return "af_heart" if "af_heart" in voices else voices[0]


def built_in(bundle: Bundle) -> tuple[Utterance, ...]:
    """Returns the built-in utterances as far as the bundle can speak them.

    A voice that it lacks gives way to one that it has; phonemes that it lacks are left out; an utterance
    beyond its buckets is left out as a whole.
    """
    return tuple(
        utterance
        for utterance in adapted(BUILT_IN, bundle.voices, bundle.manifest.vocabulary)
        if _fits(bundle, utterance)
    )


def adapted(
    utterances: Sequence[Utterance], voices: Sequence[str], vocabulary: Mapping[str, int]
) -> Iterator[Utterance]:
    """Yields the utterances in these voices and phonemes, without those that have no phoneme left.

    Args:
        utterances: the wanted utterances.
        voices: those of the bundle; where it lacks one, its first ones stand in, one for each.
        vocabulary: the phonemes of the bundle.
    """
    wanted = list(dict.fromkeys(utterance.voice for utterance in utterances))
    spare = [voice for voice in voices if voice not in wanted] or list(voices)
    missing = [voice for voice in wanted if voice not in voices]
    chosen = {voice: spare[number % len(spare)] for number, voice in enumerate(missing)} if spare else {}
    for said in utterances:
        phonemes = "".join(phoneme for phoneme in said.phonemes if phoneme in vocabulary)
        if phonemes:
            yield Utterance(phonemes, chosen.get(said.voice, said.voice), said.speed, said.seed)


def _fits(bundle: Bundle, utterance: Utterance) -> bool:
    if len(utterance.phonemes) > bundle.max_phonemes:
        return False
    try:
        check_utterance(bundle, utterance)
    except UtteranceTooLongError:
        return False
    return True


def check_utterances(bundle: Bundle, utterances: Sequence[Utterance]) -> tuple[int, ...]:
    """Returns the number of frames of each utterance, before anything slow runs.

    Raises:
        InputError: the bundle cannot speak one; a note tells which.
        MissingStagesError: this is a partial bundle.
    """
    frames = []
    for number, utterance in enumerate(utterances, start=1):
        try:
            frames.append(check_utterance(bundle, utterance))
        except KokoroError as error:
            error.add_note(f"This was utterance {number}: {utterance.phonemes!r}, {utterance.voice}.")
            raise
    return tuple(frames)


def check_utterance(bundle: Bundle, utterance: Utterance) -> int:
    """Returns the number of frames of an utterance.

    Raises:
        InputError: the bundle cannot speak it.
        MissingStagesError: this is a partial bundle.
    """
    present = [stage.name for stage in bundle.manifest.stages]
    if missing := [name for name in STAGE_NAMES if name not in present]:
        raise MissingStagesError(missing, present)
    capabilities = Capabilities(bundle.voice_tables, bundle.manifest.vocabulary, bundle.max_phonemes)
    checked = check_request(
        capabilities, utterance.phonemes, utterance.voice, utterance.speed, utterance.seed
    )
    style, token_ids = checked.style, tokenise(utterance.phonemes, capabilities.vocabulary)
    hidden = bundle.stage("bert").run({"token_ids": token_ids})["hidden"]
    predicted = bundle.stage("duration").run({"hidden": hidden, "prosody_style": style.prosody})["durations"]
    frames = int(round_durations(predicted, checked.speed).sum())
    capacity = min(bundle.stage(name).buckets[-1] for name in ("f0n", "decoder"))
    if frames > capacity:
        raise UtteranceTooLongError(frames, capacity, FRAMES_PER_SECOND)
    return frames
