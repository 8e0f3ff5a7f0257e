"""What is validated: utterances (built in, from a file, from text), and the checkpoint of the bundle."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from exporter.errors import CheckpointError, ExportError
from exporter.reference.traces import Request
from runtime_min import Bundle
from runtime_min.errors import (
    InputError,
    KokoroError,
    MissingStagesError,
    UnknownVoiceError,
    UtteranceTooLongError,
)
from runtime_min.format.manifest import Manifest
from runtime_min.format.signatures import FRAMES_PER_SECOND, STAGE_NAMES
from runtime_min.format.verify import sha256_of
from runtime_min.model.alignment import round_durations
from runtime_min.model.tokens import tokenise
from runtime_min.speech.request import Capabilities, check_seed, check_speed
from runtime_min.speech.request import check_utterance as check_request


@dataclass(frozen=True)
class Utterance:
    """Phonemes and how to say them."""

    phonemes: str
    voice: str
    speed: float = 1.0
    seed: int = 0
    """Of the noise."""


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
# What kokoro cuts a text's phonemes to, with no more than a warning.
_KOKORO_LIMIT = 510
_KEYS = ("phonemes", "voice", "speed", "seed")


def make_request(
    utterance: Utterance,
    vocabulary: Mapping[str, int],
    pack: NDArray[np.float32],
    durations: NDArray[np.int64] | None = None,
) -> Request:
    """Looks an utterance up as kokoro's users do.

    Args:
        utterance: phonemes of the vocabulary, and how to say them.
        vocabulary: token id by phoneme.
        pack: the voice's rows by number of phonemes, [510, 256].
        durations: frames of each token, [n], in place of the predicted ones.
    """
    token_ids = np.array([0, *(vocabulary[phoneme] for phoneme in utterance.phonemes), 0], np.int64)
    row = pack[len(utterance.phonemes) - 1 : len(utterance.phonemes)].astype(np.float32)
    return Request(token_ids, row, utterance.speed, utterance.seed, durations)


class UtterancesError(ExportError):
    """A file of utterances is not readable or not of its form."""

    exit_code = 3


class TextError(ExportError):
    """A text could not be turned into phonemes here."""

    exit_code = 5


def default_voice(voices: Sequence[str]) -> str:
    """The voice that speaks where none is named.

    Raises:
        UnknownVoiceError: there is no voice.
    """
    if not voices:
        raise UnknownVoiceError("af_heart", voices)
    return "af_heart" if "af_heart" in voices else voices[0]


def built_in(bundle: Bundle) -> tuple[Utterance, ...]:
    """The built-in utterances as far as the bundle can speak them.

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
    """The utterances in these voices and phonemes, those without any phoneme left out.

    Args:
        utterances: what to say.
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
    """Returns how many frames each utterance has, before anything slow runs.

    Raises:
        InputError: the bundle cannot speak one; a note tells which.
        MissingStagesError: this is a partial bundle.
    """
    return tuple(_noted(bundle, number, utterance) for number, utterance in enumerate(utterances, start=1))


def _noted(bundle: Bundle, number: int, utterance: Utterance) -> int:
    try:
        return check_utterance(bundle, utterance)
    except KokoroError as error:
        error.add_note(f"This was utterance {number}: {utterance.phonemes!r}, {utterance.voice}.")
        raise


def check_utterance(bundle: Bundle, utterance: Utterance) -> int:
    """Returns how many frames an utterance has.

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


def read_utterances(path: Path) -> tuple[Utterance, ...]:
    """Reads a JSON list of objects with ``phonemes`` and ``voice``, and perhaps ``speed`` and ``seed``.

    Raises:
        UtterancesError: the file cannot be read, or is something else; the message names the place.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UtterancesError(
            f"{path}: expected a JSON file in UTF-8 that can be read, found: {error}"
        ) from error
    return parse_utterances(text, str(path))


def parse_utterances(text: str, name: str) -> tuple[Utterance, ...]:
    """Parses what `read_utterances` reads; `name` stands before every message."""
    try:
        content = json.loads(text, object_pairs_hook=_Pairs)
    except (ValueError, RecursionError) as error:
        raise UtterancesError(f"{name}: expected JSON, found: {error}. Correct the file.") from error
    if not isinstance(content, list) or not content:
        raise _unexpected(name, "", "a list of one or more objects", content)
    return tuple(_utterance(entry, name, f"[{index}]") for index, entry in enumerate(content))


class _Pairs(tuple[tuple[str, Any], ...]):
    """A JSON object with its keys in order, those that occur twice too."""


def _utterance(entry: object, name: str, place: str) -> Utterance:
    if not isinstance(entry, _Pairs):
        raise _unexpected(name, place, f"an object with {', '.join(_KEYS)}", entry)
    values = dict(entry)
    for key, _ in entry:
        if key not in _KEYS:
            raise _unexpected(name, place, f"no other key than {', '.join(_KEYS)}", key)
    if len(values) < len(entry):
        raise _unexpected(name, place, "every key once", [key for key, _ in entry])
    for key in ("phonemes", "voice"):
        value = values.get(key)
        if not isinstance(value, str) or not value:
            raise _unexpected(name, f"{place}.{key}", "a string that is not empty", value)
    for key, check in (("speed", check_speed), ("seed", check_seed)):
        try:
            check(values.get(key, 1))
        except InputError as error:
            raise UtterancesError(f"{name}, {place}.{key}: {error} Correct the file.") from error
    return Utterance(
        values["phonemes"], values["voice"], float(values.get("speed", 1)), values.get("seed", 0)
    )


def _unexpected(name: str, place: str, expected: str, found: object) -> UtterancesError:
    shown = repr(found) if found is not None else "nothing"
    shown = shown if len(shown) <= 80 else shown[:77] + "..."
    where = f"{name}, {place}" if place else name
    return UtterancesError(f"{where}: expected {expected}, found {shown}. Correct the file.")


def phonemes_of_text(text: str, voice: str) -> tuple[str, ...]:
    """Turns a text into phonemes as kokoro's pipeline does, in as many parts as it makes of it.

    The language is the first letter of the voice's name, as in kokoro. Nothing is fetched from a network.

    Raises:
        TextError: a package or a model of the language is missing, or nothing or too much comes out.
    """
    advice = "or give --phonemes, which need none of it."
    try:
        parts = _run_pipeline(text, voice)
    except ImportError as error:
        raise TextError(
            f"--text: the phonemes of the voice {voice!r} need the package {error.name}: install "
            f"'misaki[{_EXTRAS.get(voice[:1], 'en')}]', {advice}"
        ) from error
    except (RuntimeError, OSError) as error:  # espeak-ng's wrapper raises them
        raise TextError(f"--text: espeak-ng does not work here ({error}): install it, {advice}") from error
    if not parts:
        raise TextError(f"--text: expected something to say, and {text!r} has no phonemes.")
    if any(len(part) >= _KOKORO_LIMIT for part in parts):
        raise TextError(f"--text: a part of the text has {_KOKORO_LIMIT} phonemes or more: split it.")
    return parts


_EXTRAS = {"j": "ja", "z": "zh"}


def _run_pipeline(text: str, voice: str) -> tuple[str, ...]:
    from kokoro.pipeline import LANG_CODES, KPipeline
    from loguru import logger

    from exporter.model.hub import REPOSITORY

    language = voice[:1]
    if language not in LANG_CODES:
        raise TextError(
            f"--text: the voice {voice!r} does not tell its language: expected a name that begins with "
            f"one of {', '.join(LANG_CODES)}, such as af_heart. Choose another voice, or give --phonemes."
        )
    _refuse_downloads(language)
    logger.disable("kokoro")
    pipeline = KPipeline(language, repo_id=REPOSITORY, model=False)
    if language in "ab" and pipeline.g2p.fallback is None:
        raise TextError(
            "--text: espeak-ng does not work here, and words that no dictionary has would be left out: "
            "install 'misaki[en]' with espeakng-loader, or give --phonemes."
        )
    return tuple(result.phonemes for result in pipeline(text) if result.phonemes)


def _refuse_downloads(language: str) -> None:
    """Stops where a package of the G2P would fetch its data from a network by itself."""
    if language in "ab":
        import spacy

        if not spacy.util.is_package("en_core_web_sm"):
            raise TextError(
                "--text: English needs spaCy's model en_core_web_sm: install it with "
                "`python -m spacy download en_core_web_sm`, or give --phonemes, which need none of it."
            )
    if language == "j":
        dictionary = os.fsdecode(import_module("pyopenjtalk").OPEN_JTALK_DICT_DIR)
        if not os.path.isdir(dictionary):
            raise TextError(
                f"--text: Japanese needs Open JTalk's dictionary, and {dictionary} does not exist: put it "
                "there (pyopenjtalk fetches it when it first speaks), or give --phonemes."
            )


def reference_files(
    manifest: Manifest, checkpoint: str | None = None, config: Path | None = None
) -> tuple[Path, Path]:
    """Returns the checkpoint and the configuration that a bundle was made from.

    Args:
        manifest: the bundle's.
        checkpoint: as in `exporter.model.checkpoint.load`; None takes what the manifest names.
        config: the configuration that belongs to a file.

    Raises:
        CheckpointError: they cannot be had, or are other ones than the bundle's.
    """
    from exporter.model.checkpoint import checkpoint_files

    source = checkpoint or manifest.model.source
    if source == "file" and checkpoint is None:
        raise CheckpointError(
            f"The bundle was made from a file ({manifest.model.name}.pth): name it and its configuration "
            "with --checkpoint PATH --config PATH, so that it can be compared."
        )
    path, config_path = checkpoint_files(source, config)
    _check_digest("configuration", "--config", config_path, manifest.model.config_sha256)
    _check_digest("checkpoint", "--checkpoint", path, manifest.model.sha256)
    return path, config_path


def _check_digest(what: str, option: str, path: Path, expected: str) -> None:
    if not path.is_file():
        raise CheckpointError(f"There is no {what} at {path}: name the one of the bundle with {option} PATH.")
    found = sha256_of(path)
    if found != expected:
        raise CheckpointError(
            f"{path} is not the {what} that the bundle was made from: expected SHA-256 {expected}, found "
            f"{found}. Name that one with {option} PATH, or export the bundle again from this one."
        )
