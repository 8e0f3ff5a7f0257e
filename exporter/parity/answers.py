"""Kokoro's answers, stored: no process of this user computes an answer a second time.

An answer is one file, named after all that decides it: checkpoint, configuration, versions, processor,
threads, the utterance, and the sources that compute it. A file is replaced as a whole; a damaged one is
computed again.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import io
import json
import threading
import zipfile
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import astuple, fields, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

import exporter.compiler
import exporter.model
from exporter import directories
from exporter.compiler.library import ORIGINAL, StoredWeights
from exporter.errors import CacheError, ReferenceProcessError
from exporter.model.file_format import file_format
from exporter.parity import expected as expected_answers
from exporter.parity import rounding as rounding_answers
from exporter.parity import source_spectrum
from exporter.parity.expected import (
    CHANGES,
    Distances,
    Expected,
    Spread,
    answer,
    make_change,
)
from exporter.parity.rounding import Rounding, rounding
from exporter.processes import Channel
from exporter.reference import padded, process, recording
from exporter.reference.process import Reference
from exporter.reference.recording import Arithmetic
from exporter.reference.traces import Array, ModelInput, TextTrace
from runtime_min.engine.machine import processor_name, this_machine
from runtime_min.errors import OutputError
from runtime_min.format.verify import sha256_of
from runtime_min.model import distances, noise
from runtime_min.threads import usable_cores

_PACKAGES = ("kokoro", "numpy", "torch", "transformers")
_EXACT_TEXT = "exact_text."
_SOURCES = (expected_answers, rounding_answers, source_spectrum, process, recording, padded, distances, noise)
"""Modules that compute an answer."""
_READERS = [
    Path(exporter.model.__file__).parent / name
    for name in ("checkpoint.py", "onnx_file.py", "onnx_weights.py")
]
"""Modules that read the files that kokoro's own loader does not read; they need torch."""
_COMPILER = Path(exporter.compiler.__file__).parent
_ROUNDING = [
    _COMPILER / name
    for name in (
        *("precision.py", "winograd_reference.py"),
        *("kernels/int8_weights.py", "kernels/winograd_schemes.py"),
    )
]
"""Modules that round weights; they need torch."""
_DAMAGED = (zipfile.BadZipFile, EOFError, KeyError, NotImplementedError, OSError, RuntimeError, ValueError)
"""Errors of zipfile and numpy for a damaged archive."""
Arrays = dict[str, Array]


class AnswerStore:
    """Named arrays in files of a directory that several processes may share."""

    def __init__(self, directory: Path) -> None:
        """Takes the directory; it is made when the first answer is stored.

        Raises:
            CacheError: another user may have written the directory's files.
        """
        directories.refuse_shared(directory)
        self._directory = directory

    def load(self, key: str) -> Arrays | None:
        """Returns the value stored under `key`; None if there is none, or if it is damaged."""
        content = directories.read_stored(self._directory / f"{key}.npz")
        if content is None:
            return None
        try:
            # numpy takes memory for an array before its checksum is compared.
            if zipfile.ZipFile(io.BytesIO(content)).testzip() is not None:
                return None
            with np.load(io.BytesIO(content), allow_pickle=False) as archive:
                return dict(archive)
        except _DAMAGED:
            return None

    def save(self, key: str, arrays: Arrays) -> None:
        """Stores arrays under `key`, in place of what is there; leaves it where that cannot be written."""
        file = io.BytesIO()
        np.savez(file, allow_pickle=False, **arrays)
        with suppress(OSError, OutputError, CacheError):
            directories.store(self._directory / f"{key}.npz", file.getvalue())


def as_arrays(expected: Expected) -> Arrays:
    """Returns an answer as named arrays, without its request."""
    plain = {
        field.name: np.asarray(getattr(expected, field.name))
        for field in fields(Expected)
        if field.name not in ("request", "exact_text", "changes")
    }
    exact = {_EXACT_TEXT + name: values for name, values in vars(expected.exact_text).items()}
    changes = np.array(list(map(astuple, expected.changes)), np.float64).reshape(-1, len(fields(Distances)))
    return {**plain, **exact, "changes": changes}


def from_arrays(arrays: Arrays, request: ModelInput) -> Expected:
    """Returns the answer that `as_arrays` took apart.

    Raises:
        KeyError, TypeError: an array is missing or unknown.
    """
    left = dict(arrays)
    exact = TextTrace(**{field.name: left.pop(_EXACT_TEXT + field.name) for field in fields(TextTrace)})
    changes = tuple(Distances(*map(float, row)) for row in left.pop("changes"))
    other_seed = float(left.pop("other_seed"))
    return Expected(**left, request=request, exact_text=exact, other_seed=other_seed, changes=changes)


class Kokoro:
    """Answers requests from the store, or from a process that runs kokoro and starts when it is needed."""

    def __init__(
        self,
        files: tuple[Path, Path],
        threads: int | None = None,
        store: Path | None = None,
        stored: StoredWeights = ORIGINAL,
        channel: Channel | None = None,
    ) -> None:
        """Starts nothing yet.

        Args:
            files: a checkpoint that `exporter.model.checkpoint.load` accepts, and its configuration.
            threads: number of threads; by default as many as there are cores.
            store: directory of stored answers, such as `exporter.directories.answers`; None computes every
                answer anew.
            stored: how the bundle stores the weights.
            channel: that of another kokoro with the same files, which answers in place of a new process.
        """
        self._channel = channel
        self.files = files
        self.answers = store
        self.stored = stored
        self.threads = threads or len(usable_cores())
        self._store = AnswerStore(store) if store else None
        self._models: dict[tuple[Arithmetic, StoredWeights], Reference] = {}
        self._changes: dict[str, list[Distances]] = {}
        self._starting = threading.Lock()
        self._closed = False

    @property
    def reference(self) -> Reference:
        """Kokoro in float32."""
        return self._model("float32", self.stored)

    @property
    def precise(self) -> Reference:
        """Kokoro in float64."""
        return self._model("float64", self.stored)

    @property
    def original(self) -> Reference:
        """Kokoro in float32 with the checkpoint's own weights."""
        return self._model("float32", ORIGINAL)

    @property
    def channel(self) -> Channel | None:
        """The channel to the process; None as long as none was needed."""
        return next((model.channel for model in self._models.values()), None)

    def expected(self, request: ModelInput) -> Expected:
        """Returns kokoro's answer.

        Raises:
            ReferenceProcessError: kokoro does not run here.
        """
        if self._store is not None and (arrays := self._store.load(self._key(request))) is not None:
            with suppress(KeyError, TypeError):
                return from_arrays(arrays, request)
        made = answer(self.reference, self.precise, request)
        self._save(made)
        return made

    def spreads(self, expected: Expected) -> Iterator[Spread]:
        """Yields how far kokoro is from itself under none, one and more of `CHANGES`; the last under all.

        A change is made when its spread is asked for, and kept. Close the generator to store what it made.

        Raises:
            ReferenceProcessError: kokoro does not run here.
        """
        changes = self._changes.setdefault(self._key(expected.request), list(expected.changes))
        before = len(changes)
        try:
            for number in range(len(CHANGES) + 1):
                if number > len(changes):
                    changes.append(make_change(self.reference, expected, number - 1))
                yield Spread(expected.audio.size, expected.other_seed, tuple(changes[:number]))
        finally:
            if len(changes) > before:
                self._save(replace(expected, changes=tuple(changes)))

    def spread(self, expected: Expected) -> Spread:
        """Returns the distances of kokoro from itself, under all `CHANGES`."""
        *_, whole = self.spreads(expected)
        return whole

    def rounding(self, request: ModelInput) -> Rounding:
        """Returns what rounding the weights changes in an utterance.

        Raises:
            ReferenceProcessError: kokoro does not run here.
        """
        key = self._key(request, "rounding")
        found: dict[str, Any] | None = self._store.load(key) if self._store else None
        with suppress(TypeError):
            if found is not None:
                return Rounding(**found)
        expected = self.expected(request)
        made = rounding(self.original, self.reference, request, expected, expected.other_seed)
        if self._store is not None:
            self._store.save(key, {name: np.asarray(value) for name, value in vars(made).items()})
        return made

    def close(self) -> None:
        """Ends the process; another thread's request, and each that follows, fails."""
        with self._starting:
            self._closed = True
            for model in self._models.values():
                model.close()

    def __enter__(self) -> Kokoro:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _model(self, arithmetic: Arithmetic, stored: StoredWeights) -> Reference:
        key = arithmetic, stored
        with self._starting:
            if self._closed:
                raise ReferenceProcessError("Kokoro was asked after its process had been ended.")
            if key not in self._models:
                started = next(iter(self._models.values()), None)
                self._models[key] = (
                    Reference(*self.files, self.threads, arithmetic, stored, self._channel)
                    if started is None
                    else started.other(arithmetic, stored)
                )
            return self._models[key]

    def _save(self, expected: Expected) -> None:
        if self._store is not None:
            self._store.save(self._key(expected.request), as_arrays(expected))

    def _key(self, request: ModelInput, answer: str = "") -> str:
        forced = request.durations
        utterance = {
            "token_ids": request.token_ids.tolist(),
            "row": request.row.tobytes().hex(),
            "speed": float(request.speed),
            "seed": int(request.seed),
            "durations": None if forced is None else forced.tolist(),
        }
        facts = json.dumps([self._facts, utterance, answer], sort_keys=True)
        return hashlib.sha256(facts.encode()).hexdigest()

    @cached_property
    def _facts(self) -> dict[str, Any]:
        """All that decides kokoro's answers but the request."""
        return {
            "files": [sha256_of(path) for path in self.files],
            "readers": [*map(sha256_of, _READERS)] if file_format(self.files[0]) != "torch" else [],
            "stored": [*astuple(self.stored), *map(sha256_of, _ROUNDING)] if not self.stored.original else [],
            "versions": {name: importlib.metadata.version(name) for name in _PACKAGES},
            "sources": {module.__name__: sha256_of(Path(str(module.__file__))) for module in _SOURCES},
            # Float32 rounds differently with other instructions and another division of the work.
            "processor": [processor_name(), *sorted(this_machine().features)],
            "threads": self.threads,
        }
