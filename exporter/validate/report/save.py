"""Saves a report: a page for people, JSON for programs, every tensor, and audio without clipping.

REPORT/report.html            self-contained
REPORT/report.json            everything but the arrays
REPORT/tensors/0.npz          of the first utterance, ``F0/pt.dynamic`` and so on
REPORT/audio/0-bundle.wav     float WAV
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from dataclasses import is_dataclass
from pathlib import Path
from typing import Any

import numpy as np

from exporter.reference.traces import Array
from exporter.validate.report.page import page
from exporter.validate.report.text import verdict
from exporter.validate.results import DYNAMIC, Report, SpokenSteps, Step
from runtime_min.errors import OutputError
from runtime_min.format.signatures import SAMPLE_RATE
from runtime_min.output.audio_file import write_wav
from runtime_min.output.staging import is_litter, staged, write_errors

FORMAT = "kokoro-validate-report"
VERSION = 1
AUDIO = "audio"
"""The step whose values are audio."""
_PAGE, _JSON = "report.html", "report.json"
_OWN = re.compile(r"report\.(html|json)|tensors(/\d+\.npz)?|audio(/\d+-[a-z0-9.-]+\.wav)?")
"""Paths within a report."""
_LEFT_OUT = ("utterance", "reference", "values", "by_time")
"""Fields that are arrays, and the one whose own fields take its place."""


class NotAReportError(OutputError):
    """The destination exists and is not a report, so it must not be replaced."""


def save(report: Report, directory: Path) -> None:
    """Writes a report, whole or not at all.

    Args:
        report: the results of validation.
        directory: the directory to create, or an earlier report to replace.

    Raises:
        NotAReportError: `directory` is something else than a report.
        OutputError: it cannot be written; an earlier report stays as it was.
    """
    steps = [step for spoken in report.utterances for step in spoken.steps]
    needed = sum(array.nbytes for step in steps for array in _arrays(step).values())
    # Through a link, as an ordinary write would go.
    place = Path(os.path.realpath(directory))
    with staged(place, needed, check_replaceable) as staging, write_errors(place, needed):
        _write(report, staging)


def check_replaceable(directory: Path) -> None:
    """Refuses a place that must not be replaced, before minutes of validation.

    Raises:
        NotAReportError: it is neither an empty directory nor a report without other files.
    """
    if not os.path.lexists(directory) or _is_report(directory):
        return
    if directory.is_dir() and all(map(is_litter, directory.iterdir())):
        return
    raise NotAReportError(
        f"{directory} exists and is not a report (it has no {_JSON} of this program, or other files): "
        "name a new directory, an empty one or that of an earlier report."
    )


def as_json(report: Report) -> str:
    """Returns everything but the arrays; a number that is not finite is a string that `float` reads."""
    entries = {
        "format": FORMAT,
        "version": VERSION,
        "holds": report.holds,
        "verdict": verdict(report),
        "bundle": report.bundle,
        "facts": dict(report.facts),
        "utterances": [_utterance_entry(index, spoken) for index, spoken in enumerate(report.utterances)],
    }
    return json.dumps(_jsonable(entries), indent=1, ensure_ascii=False, allow_nan=False)


def audio_files(index: int, spoken: SpokenSteps) -> dict[str, str]:
    """Returns the paths of an utterance's audio files within the report, by execution."""
    executions = [name for step in spoken.steps if step.name == AUDIO for name in _arrays(step)]
    return {name: f"audio/{index}-{re.sub(r'[^a-z0-9.]+', '-', name.lower())}.wav" for name in executions}


def _write(report: Report, staging: Path) -> None:
    (staging / "tensors").mkdir()
    (staging / "audio").mkdir()
    for index, spoken in enumerate(report.utterances):
        tensors = {
            f"{step.name}/{name}": array for step in spoken.steps for name, array in _arrays(step).items()
        }
        np.savez(staging / _tensor_file(index), allow_pickle=False, **tensors)
        for name, file in audio_files(index, spoken).items():
            samples = tensors[f"{AUDIO}/{name}"].reshape(-1).astype(np.float32)
            write_wav(staging / file, samples, SAMPLE_RATE, "float")
    audio = [audio_files(index, spoken) for index, spoken in enumerate(report.utterances)]
    (staging / _PAGE).write_text(page(report, audio), encoding="utf-8")
    (staging / _JSON).write_text(as_json(report), encoding="utf-8")


def _arrays(step: Step) -> dict[str, Array]:
    """Returns pt.dynamic's array and all others, by execution."""
    return {DYNAMIC: step.reference, **step.values}


def _tensor_file(index: int) -> str:
    return f"tensors/{index}.npz"


def _utterance_entry(index: int, spoken: SpokenSteps) -> dict[str, Any]:
    return {
        **vars(spoken.utterance),
        **vars(spoken),
        "holds": spoken.holds,
        "worst": spoken.worst.name,
        "steps": [
            {**vars(step), "holds": step.holds, "shape": step.reference.shape} for step in spoken.steps
        ],
        "tensors": _tensor_file(index),
        "audio": audio_files(index, spoken),
    }


def _jsonable(value: Any) -> Any:
    """Returns a value in JSON's types; a dataclass as its fields and its verdict."""
    if is_dataclass(value):
        return _jsonable({**vars(value), **({"holds": value.holds} if hasattr(value, "holds") else {})})
    if isinstance(value, Mapping):
        return {str(name): _jsonable(entry) for name, entry in value.items() if name not in _LEFT_OUT}
    if isinstance(value, (list, tuple)):
        return [_jsonable(entry) for entry in value]
    if isinstance(value, np.generic):
        return _jsonable(value.item())
    if isinstance(value, float) and not np.isfinite(value):
        return "NaN" if np.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    return value


def _is_report(directory: Path) -> bool:
    try:
        entries = json.loads((directory / _JSON).read_bytes())
    except (OSError, ValueError):
        return False
    paths = (path.relative_to(directory) for path in directory.rglob("*") if not is_litter(path))
    return (
        isinstance(entries, dict)
        and entries.get("format") == FORMAT
        and all(_OWN.fullmatch(path.as_posix()) for path in paths)
    )
