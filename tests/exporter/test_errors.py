"""Every error has one base, a message of bounded length, and survives pickle and copy."""

from __future__ import annotations

import ast
import copy
import importlib
import inspect
import pickle
import re

import pytest

from runtime_min.errors import KokoroError, ManifestError
from tests.support.paths import ROOT

SAMPLES = {
    "str | None": "found",
    "str": "ascii",
    "int": 3,
    "float": 0.5,
    "object": {"found": [1]},
    "Iterable[str]": ("b", "a"),
    "Mapping[str, Sequence[int]]": {"ʤ": [0, 2]},
    "Mapping[str, int] | None": {"word": 1},
}
"""A value for each type that a constructor of an error takes."""


_ERROR = re.compile(r"^ *class \w*Error\b", re.MULTILINE)


def definitions() -> list[tuple[str, ast.ClassDef]]:
    """Every class of an error, with its module."""
    found = []
    for package in ("runtime_min", "exporter"):
        for path in sorted((ROOT / package).rglob("*.py")):
            text = path.read_text(encoding="utf-8")
            if not _ERROR.search(text):
                continue
            module = ".".join(path.relative_to(ROOT).with_suffix("").parts)
            for node in ast.walk(ast.parse(text)):
                if isinstance(node, ast.ClassDef) and node.name.endswith("Error"):
                    found.append((module, node))
    return found


DEFINITIONS = definitions()


def test_every_error_is_below_one_base() -> None:
    bases = {node.name: [ast.unparse(base) for base in node.bases] for _, node in DEFINITIONS}
    for name in bases:
        while name != KokoroError.__name__:
            (name,) = bases[name]


@pytest.mark.parametrize(("module", "name"), [(module, node.name) for module, node in DEFINITIONS])
def test_an_error_survives_pickle_and_copy(module: str, name: str) -> None:
    kind = getattr(importlib.import_module(module), name)
    parameters = list(inspect.signature(kind.__init__).parameters.values())[1:]
    own = kind.__init__ is not Exception.__init__
    error = kind(*(SAMPLES[each.annotation] for each in parameters)) if own else kind("text")
    error.add_note("a note")
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        for restored in (pickle.loads(pickle.dumps(error, protocol)), copy.copy(error), copy.deepcopy(error)):
            assert type(restored) is kind
            assert str(restored) == str(error)
            assert vars(restored) == vars(error)


def test_a_message_shows_the_start_of_what_was_found() -> None:
    for found in ("x" * 10_000, list(range(10_000)), {"a": {"b": "c" * 10_000}}, 10**90):
        assert len(str(ManifestError("place", "something else", found))) < 200
