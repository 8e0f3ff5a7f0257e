"""Every way to be wrong has a type of its own, below one base, and a test that names it."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from runtime_min.errors import KokoroError, ManifestError
from tests.support.paths import ROOT


def errors() -> dict[str, list[str]]:
    """Every error class of both packages, with its bases."""
    found = {}
    for package in ("runtime_min", "exporter"):
        for path in sorted((ROOT / package).rglob("*.py")):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.ClassDef) and node.name.endswith("Error"):
                    found[node.name] = [ast.unparse(base) for base in node.bases]
    return found


ERRORS = errors()
TESTS = "\n".join(
    path.read_text(encoding="utf-8")
    for path in sorted((ROOT / "tests").rglob("*.py"))
    if path != Path(__file__).resolve()
)


@pytest.mark.parametrize("name", ERRORS)
def test_every_error_is_below_one_base(name: str) -> None:
    while name != KokoroError.__name__:
        (name,) = ERRORS[name]


@pytest.mark.parametrize(
    "name", sorted(ERRORS.keys() - {base for bases in ERRORS.values() for base in bases})
)
def test_every_error_is_named_in_a_test(name: str) -> None:
    assert name in TESTS


def test_what_was_found_is_shown_in_short() -> None:
    for found in ("x" * 10_000, list(range(10_000)), {"a": {"b": "c" * 10_000}}, 10**90):
        assert len(str(ManifestError("place", "something else", found))) < 200
