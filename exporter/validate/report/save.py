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
import secrets
import shutil
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from exporter.bundle.staging import replace_directory
from exporter.errors import ExportError
from exporter.reference.traces import Array
from exporter.validate.report.page import page
from exporter.validate.report.text import verdict
from exporter.validate.results import DYNAMIC, Difference, Report, SpokenSteps, Step
from runtime_min.errors import OutputError
from runtime_min.format.signatures import SAMPLE_RATE
from runtime_min.model.distances import Figure
from runtime_min.output.wav import write_wav

FORMAT = "kokoro-validate-report"
VERSION = 1
AUDIO = "audio"
"""The step whose values are audio."""
_PAGE, _JSON = "report.html", "report.json"


class NotAReportError(ExportError):
    """The destination exists and is no report, so it must not be replaced."""

    exit_code = 6


def save(report: Report, directory: Path) -> None:
    """Writes a report, whole or not at all.

    Args:
        report: what validation found.
        directory: the directory to create, or an earlier report to replace.

    Raises:
        NotAReportError: `directory` is something else than a report.
        OutputError: it cannot be written; an earlier report stays as it was.
    """
    check_replaceable(directory)
    # Through a link, as an ordinary write would go.
    destination = Path(os.path.realpath(directory))
    staging = destination.with_name(f".{destination.name}.staging-{secrets.token_hex(4)}")
    try:
        staging.mkdir(parents=True)
        _write(report, staging)
        replace_directory(staging, destination)
    except OSError as failure:
        reason = failure.strerror or failure
        raise OutputError(f"{directory} cannot be written: {reason}. Choose another place.") from failure
    finally:
        shutil.rmtree(staging, ignore_errors=True)


def check_replaceable(directory: Path) -> None:
    """Refuses a place that must not be replaced, before minutes of validation.

    Raises:
        NotAReportError: it is neither a report nor an empty directory.
    """
    if not os.path.lexists(directory) or _is_report(directory):
        return
    if directory.is_dir() and not any(directory.iterdir()):
        return
    raise NotAReportError(
        f"{directory} exists and is no report (it has no {_JSON} of this program): "
        "expected a new place, an empty directory or an earlier report; choose another place or remove it."
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
        **asdict(spoken.utterance),
        "tokens": spoken.tokens,
        "frames": spoken.frames,
        "holds": spoken.holds,
        "worst": spoken.worst.name,
        "steps": [_step_entry(step) for step in spoken.steps],
        "chain": _figure_entries(spoken.chain),
        "tables": [asdict(table) for table in spoken.tables],
        "tensors": _tensor_file(index),
        "audio": audio_files(index, spoken),
    }


def _step_entry(step: Step) -> dict[str, Any]:
    return {
        "name": step.name,
        "stage": step.stage,
        "axis": step.axis,
        "per_length": step.per_length,
        "shape": step.reference.shape,
        "holds": step.holds,
        "figures": _figure_entries(step.figures),
        "differences": {name: _difference_entry(found) for name, found in step.differences.items()},
        "own": dict(step.own),
    }


def _difference_entry(found: Difference) -> dict[str, Any]:
    return {name: value for name, value in vars(found).items() if name != "by_time"}


def _figure_entries(figures: Iterable[Figure]) -> list[dict[str, Any]]:
    return [{**asdict(figure), "holds": figure.holds} for figure in figures]


def _jsonable(value: Any) -> Any:
    """Returns a value in JSON's types."""
    if isinstance(value, Mapping):
        return {str(name): _jsonable(entry) for name, entry in value.items()}
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
    return isinstance(entries, dict) and entries.get("format") == FORMAT
