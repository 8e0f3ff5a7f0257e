"""Utterances from a JSON file: a list of objects with phonemes and voice, and perhaps speed and seed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from exporter.errors import ExportError
from exporter.model.config import unique_keys
from exporter.reference.utterances import Utterance
from runtime_min.speech.request import HIGHEST_SPEED, LOWEST_SPEED


class UtterancesError(ExportError):
    """A file of utterances is not readable or not of its form."""

    exit_code = 3


_Text = Annotated[str, Field(min_length=1)]


class _Entry(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    phonemes: _Text
    voice: _Text
    speed: Annotated[float, Field(ge=LOWEST_SPEED, le=HIGHEST_SPEED)] = 1.0
    seed: Annotated[int, Field(ge=0, lt=1 << 64)] = 0


_FILE = TypeAdapter(Annotated[list[_Entry], Field(min_length=1, strict=True)])


def read_utterances(path: Path) -> tuple[Utterance, ...]:
    """Reads the utterances of a file.

    Raises:
        UtterancesError: the file cannot be read, or has another form; the message names the place.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UtterancesError(
            f"{path}: expected a JSON file in UTF-8 that can be read, found: {error}"
        ) from error
    return parse_utterances(text, str(path))


def parse_utterances(text: str, name: str) -> tuple[Utterance, ...]:
    """Parses the content of a file; `name` stands before every message."""
    try:
        entries = _FILE.validate_python(json.loads(text, object_pairs_hook=unique_keys))
    except ValidationError as error:
        first = error.errors()[0]
        place = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in first["loc"])
        found = repr(first["input"])
        found = found if len(found) <= 80 else found[:77] + "..."
        where = f"{name}, {place}" if place else name
        raise UtterancesError(f"{where}: {first['msg']}, found {found}. Correct the file.") from error
    except (ValueError, RecursionError) as error:
        raise UtterancesError(f"{name}: expected JSON, found: {error}. Correct the file.") from error
    return tuple(Utterance(each.phonemes, each.voice, each.speed, each.seed) for each in entries)
