"""Every input that fuzzing has found interesting is still refused with a typed error, or read as promised."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from tests.fuzz.corpus import CORPUS, load, save
from tests.fuzz.native import CORPORA
from tests.fuzz.readers import READERS, REFUSED
from tests.support.fuzzing.bundles import quick


@pytest.mark.parametrize("name", READERS)
def test_the_corpus_is_refused_or_read_as_promised(name: str) -> None:
    reader, outcomes = READERS[name], Counter[str]()
    for number, data in enumerate([*reader.seeds(), *load(name)]):
        try:
            with quick(f"{name}, input {number}"):
                reader.read(data)
        except REFUSED as refusal:
            outcomes[type(refusal).__name__] += 1
        else:
            outcomes["read"] += 1
    assert outcomes["read"] >= len(reader.seeds()) and len(outcomes) > 1, outcomes


def test_the_corpus_is_small_and_has_one_form(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    names = [*READERS, *CORPORA]
    stored = {name: (CORPUS / f"{name}.tar.xz").read_bytes() for name in names}
    assert sorted(path.name for path in CORPUS.iterdir()) == sorted(f"{name}.tar.xz" for name in names)
    assert sum(map(len, stored.values())) < 250_000
    inputs = {name: load(name) for name in names}
    monkeypatch.setattr("tests.fuzz.corpus.CORPUS", tmp_path)
    for name, data in inputs.items():
        save(name, reversed(data))
        assert load(name) == data
