"""Kokoro for tests of the real model: every request to it is answered from a file, where one answers it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import is_dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

import exporter.reference
from exporter import directories
from exporter.compiler.library import ORIGINAL, StoredWeights
from exporter.parity.answers import AnswerStore, Kokoro
from exporter.reference.process import Reference
from exporter.reference.recording import Arithmetic, Arrays
from runtime_min.format.verify import sha256_of
from tests.support.exported_self_test import ANSWERS

_FOUND = "found."
_TAPPED = "tapped."


def asking_kokoro(files: tuple[Path, Path], stored: StoredWeights = ORIGINAL, threads: int = 2) -> Kokoro:
    """Returns kokoro's answers; `make prove` computes all of them again."""
    asked = StoredKokoro if ANSWERS else Kokoro
    return asked(files, threads=threads, store=ANSWERS, stored=stored)


def kept_answers() -> AnswerStore:
    """Returns the store of answers to the tests, which are no part of the exporter's own."""
    return AnswerStore(directories.cache() / "test-answers")


class StoredKokoro(Kokoro):
    """Kokoro's answers, whose references store what they are asked for too."""

    def _model(self, arithmetic: Arithmetic, stored: StoredWeights) -> Reference:
        key = arithmetic, stored
        if key not in self._asked:
            self._asked[key] = StoredReference(self, arithmetic, stored)
        return self._asked[key]

    def answering(self, arithmetic: Arithmetic, stored: StoredWeights) -> Reference:
        """Returns the reference that computes."""
        return super()._model(arithmetic, stored)

    @cached_property
    def _asked(self) -> dict[tuple[Arithmetic, StoredWeights], Reference]:
        """The references, which keep what is tapped."""
        return {}

    @cached_property
    def known(self) -> AnswerStore:
        """The stored answers."""
        return kept_answers()

    @cached_property
    def facts(self) -> list[Any]:
        """All that decides an answer but the request."""
        sources = sorted(Path(exporter.reference.__file__).parent.glob("*.py"))
        return [self._facts, [sha256_of(path) for path in sources]]


class StoredReference(Reference):
    """Kokoro whose process starts with the first request that no file answers."""

    def __init__(self, kokoro: StoredKokoro, arithmetic: Arithmetic, stored: StoredWeights) -> None:
        """Starts nothing yet."""
        self.thread_count = kokoro.threads
        self._tapped = {}
        self._model = arithmetic, stored
        self._kokoro = kokoro

    def close(self) -> None:
        """Leaves the process, which other references share, to `StoredKokoro.close`."""

    def _run(self, operation: str, **arguments: Any) -> Arrays:
        taps = list(self._tapped)
        request = [self._kokoro.facts, self._model, self.thread_count, operation, arguments, taps]
        facts = json.dumps(_described(request), sort_keys=True)
        key = hashlib.sha256(facts.encode()).hexdigest()
        arrays = self._kokoro.known.load(key)
        if arrays is None:
            arrays = self._asked(operation, arguments)
            self._kokoro.known.save(key, arrays)
        for number, tap in enumerate(taps):
            begin = f"{_TAPPED}{number}."
            self._tapped[tap][:] = [values for name, values in arrays.items() if name.startswith(begin)]
        return {name.removeprefix(_FOUND): arrays[name] for name in arrays if name.startswith(_FOUND)}

    def _asked(self, operation: str, arguments: dict[str, Any]) -> Arrays:
        """Returns kokoro's answer, and what its modules computed on the way."""
        reference = self._kokoro.answering(*self._model)
        reference.thread_count = self.thread_count
        with reference.tap(list(self._tapped)) as tapped:
            found = reference._run(operation, **arguments)
        arrays = {_FOUND + name: values for name, values in found.items()}
        for number, runs in enumerate(tapped.values()):
            arrays |= {f"{_TAPPED}{number}.{run}": values for run, values in enumerate(runs)}
        return arrays


def _described(value: Any) -> Any:
    """Returns a value for JSON, with arrays as digests."""
    if isinstance(value, np.ndarray):
        digest = hashlib.sha256(np.ascontiguousarray(value)).hexdigest()
        return [value.dtype.str, list(value.shape), digest]
    if is_dataclass(value):
        return _described(vars(value))
    if isinstance(value, Mapping):
        return {str(name): _described(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [_described(each) for each in value]
    return value
