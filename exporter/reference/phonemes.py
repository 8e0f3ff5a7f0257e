"""Phonemes of a text, by kokoro's own pipeline."""

from __future__ import annotations

import os
from importlib import import_module

from exporter.errors import ExportError

_KOKORO_LIMIT = 510
"""Kokoro's pipeline cuts a text's phonemes to this number, with no more than a warning."""


class TextError(ExportError):
    """A text could not be turned into phonemes here."""

    exit_code = 5


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
