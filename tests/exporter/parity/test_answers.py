"""Stored answers: the same to the bit, computed once, and again where a file is damaged or a fact differs."""

from __future__ import annotations

import os
from dataclasses import fields, replace
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest

from exporter.compiler.library import ORIGINAL, StoredWeights
from exporter.errors import ReferenceProcessError
from exporter.parity import answers
from exporter.parity.answers import AnswerStore, Kokoro, as_arrays, from_arrays
from exporter.parity.expected import CHANGES, Distances, Expected
from exporter.parity.rounding import Rounding
from exporter.reference.traces import ModelInput, TextTrace
from exporter.reference.utterances import Utterance
from tests.support.fakes.kokoro_answers import answer_of, request_of
from tests.support.fuzzing.bundles import damaged_bytes

SAID = Utterance("abc", "af_heart", 1.5, 7)
FRAMES = np.array([1, 2, 3, 1, 2], np.int64)


def made_up(request: ModelInput) -> Expected:
    random = np.random.default_rng(request.seed)

    def values(*shape: int) -> Any:
        return random.standard_normal(shape)

    text = {
        "hidden": values(1, 2, 5),
        "encoding": values(1, 3, 5),
        "durations": values(1, 5),
        "text": values(1, 2, 5),
    }
    curves = {
        name: values(1, 18)
        for name in ("f0", "energy", "exact_f0", "exact_energy", "chain_f0", "chain_energy")
    }
    return answer_of(
        SAID,
        **text,
        **curves,
        request=request,
        exact_text=TextTrace(**text),
        frames=FRAMES,
        audio=values(1, 5400),
    )


def assert_same(one: Expected, other: Expected) -> None:
    for field in fields(Expected):
        if field.name not in ("request", "exact_text"):
            np.testing.assert_array_equal(getattr(one, field.name), getattr(other, field.name))
    for name, values in vars(one.exact_text).items():
        np.testing.assert_array_equal(values, getattr(other.exact_text, name))


class Computed:
    """Counts what kokoro is asked to compute."""

    def __init__(self, patch: pytest.MonkeyPatch, place: Path) -> None:
        self.answers = self.changes = self.roundings = self.processes = 0
        self.files, self.store = (place / "weights", place / "config"), place / "answers"
        for path in self.files:
            path.write_bytes(path.name.encode())
        patch.setattr(answers, "Reference", self.start)
        patch.setattr(answers, "answer", self.answer)
        patch.setattr(answers, "make_change", self.change)
        patch.setattr(answers, "rounding", self.rounding)

    def kokoro(self, threads: int = 2, stored: StoredWeights = ORIGINAL) -> Kokoro:
        """As another process would have it."""
        return Kokoro(self.files, threads, self.store, stored)

    def start(self, *files: Path, **options: Any) -> Any:
        self.processes += 1

        class Model:
            def other(self, *_: object) -> Model:
                return self

            def close(self) -> None:
                pass

        return Model()

    def answer(self, reference: object, precise: object, request: ModelInput) -> Expected:
        self.answers += 1
        return made_up(request)

    def rounding(
        self, original: object, rounded: object, request: ModelInput, text: object, other_seed: float
    ) -> Rounding:
        self.roundings += 1
        return Rounding(np.arange(3.0), np.array([False, True]), 51.5, 0.02)

    def change(self, reference: object, expected: Expected, number: int) -> Distances:
        self.changes += 1
        return Distances(number, 2 * number, 3 * number)


@pytest.fixture
def computed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Computed:
    return Computed(monkeypatch, tmp_path)


def test_an_answer_comes_back_to_the_bit() -> None:
    made = replace(made_up(request_of(SAID)), changes=(Distances(1 / 3, 0.1, 0.0),))
    assert_same(from_arrays(as_arrays(made), made.request), made)


def test_kokoro_starts_only_for_what_is_missing(computed: Computed) -> None:
    with computed.kokoro() as first:
        made = first.expected(request_of(SAID))
    assert (computed.answers, computed.processes) == (1, 1)
    with computed.kokoro() as second:
        assert_same(second.expected(request_of(SAID)), made)
    assert (computed.answers, computed.processes) == (1, 1)


def test_the_spread_goes_on_where_it_ended(computed: Computed) -> None:
    kokoro = computed.kokoro()
    some = kokoro.spreads(kokoro.expected(request_of(SAID)))
    assert [len(next(some).changes) for _ in range(4)] == [0, 1, 2, 3]
    some.close()
    assert computed.changes == 3
    again = computed.kokoro()
    expected = again.expected(request_of(SAID))
    assert len(expected.changes) == 3
    whole = again.spread(expected)
    assert computed.changes == len(whole.changes) == len(CHANGES)
    assert [change.mel for change in whole.changes] == [2 * number for number in range(len(CHANGES))]
    third = computed.kokoro()
    assert third.spread(third.expected(request_of(SAID))) == whole
    assert computed.changes == len(CHANGES) and computed.answers == 1


def test_without_a_store_nothing_is_kept_but_what_is_at_hand(computed: Computed, tmp_path: Path) -> None:
    kokoro = Kokoro(computed.files)
    expected = kokoro.expected(request_of(SAID))
    assert kokoro.spread(expected) == kokoro.spread(expected)
    assert computed.changes == len(CHANGES)
    Kokoro(computed.files).expected(request_of(SAID))
    assert computed.answers == 2
    assert sorted(tmp_path.iterdir()) == sorted(computed.files)


@pytest.mark.parametrize("damage", ["empty", "cut", "changed", "of another form"])
def test_a_damaged_answer_is_computed_again(computed: Computed, damage: str) -> None:
    made = computed.kokoro().expected(request_of(SAID))
    (file,) = computed.store.iterdir()
    content = bytearray(file.read_bytes())
    if damage == "of another form":
        AnswerStore(computed.store).save(file.stem, {"audio": np.zeros(3)})
    elif damage == "changed":
        content[len(content) // 2] ^= 1
        file.write_bytes(content)
    else:
        file.write_bytes(content[: 2 * (damage == "cut")])
    for count in (2, 2):
        assert_same(computed.kokoro().expected(request_of(SAID)), made)
        assert computed.answers == count


@pytest.mark.parametrize(
    "change",
    [
        {"seed": 8},
        {"speed": 1.0},
        {"durations": FRAMES},
        {"token_ids": np.array([0, 97, 98, 100, 0])},
        {"row": np.full((1, 256), 9, np.float32)},
    ],
    ids=lambda change: next(iter(change)),
)
def test_every_part_of_a_request_decides(computed: Computed, change: dict[str, Any]) -> None:
    for request in (request_of(SAID), replace(request_of(SAID), **change)):
        computed.kokoro().expected(request)
    assert computed.answers == 2


def test_weights_threads_versions_and_processor_decide(
    computed: Computed, monkeypatch: pytest.MonkeyPatch
) -> None:
    def ask(threads: int = 2) -> int:
        computed.kokoro(threads).expected(request_of(SAID))
        return computed.answers

    assert (ask(), ask(), ask(threads=1)) == (1, 1, 2)
    with monkeypatch.context() as patch:
        patch.setattr(answers, "processor_name", lambda: "another")
        assert ask() == 3
    with monkeypatch.context() as patch:
        patch.setattr("importlib.metadata.version", lambda name: "another")
        assert ask() == 4
    computed.files[0].write_bytes(b"other weights")
    assert ask() == 5


@pytest.mark.parametrize("separate_source", [False, True])
def test_the_precision_of_the_weights_decides(computed: Computed, separate_source: bool) -> None:
    for stored in (
        ORIGINAL,
        StoredWeights("float16", separate_source),
        StoredWeights("int8", separate_source),
    ) * 2:
        computed.kokoro(stored=stored).expected(request_of(SAID))
    assert computed.answers == 3


def test_what_rounding_does_is_measured_once(computed: Computed) -> None:
    stored = StoredWeights("float16")
    first, second = (computed.kokoro(stored=stored).rounding(request_of(SAID)) for _ in range(2))
    for name, value in vars(first).items():
        np.testing.assert_array_equal(value, getattr(second, name))
    # The answer with rounded weights says how far another seed is, and is stored too.
    computed.kokoro(stored=stored).expected(request_of(SAID))
    assert (computed.answers, computed.roundings) == (1, 1)


def test_nothing_is_started_after_the_end(computed: Computed) -> None:
    kokoro = computed.kokoro()
    kokoro.close()
    with pytest.raises(ReferenceProcessError):
        kokoro.expected(request_of(SAID))
    assert (computed.processes, computed.answers) == (0, 0)


def test_a_directory_that_cannot_be_written_is_no_failure(computed: Computed) -> None:
    Kokoro(computed.files, 2, computed.files[0] / "answers").expected(request_of(SAID))
    assert computed.answers == 1


def test_however_a_file_is_damaged_its_arrays_come_back_as_they_were_or_not_at_all(tmp_path: Path) -> None:
    store, stored = AnswerStore(tmp_path), {"floats": np.arange(300.0), "integers": FRAMES}
    store.save("key", stored)
    (path,) = tmp_path.iterdir()
    sound = path.read_bytes()
    for seed in range(1000):
        path.write_bytes(damaged_bytes(Random(seed), sound))
        for name, values in (store.load("key") or {}).items():
            np.testing.assert_equal(values, stored[name])
    path.unlink()
    os.mkfifo(path)
    assert store.load("key") is None
    store.save("key", stored)
