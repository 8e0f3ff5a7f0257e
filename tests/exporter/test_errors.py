"""Every error has one base, and a message of bounded length."""

from __future__ import annotations

import ast

from runtime_min.errors import KokoroError, ManifestError
from tests.support.paths import ROOT


def test_every_error_is_below_one_base() -> None:
    bases = {}
    for package in ("runtime_min", "exporter"):
        for path in (ROOT / package).rglob("*.py"):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.ClassDef) and node.name.endswith("Error"):
                    bases[node.name] = [ast.unparse(base) for base in node.bases]
    for name in bases:
        while name != KokoroError.__name__:
            (name,) = bases[name]


def test_a_message_shows_the_start_of_what_was_found() -> None:
    for found in ("x" * 10_000, list(range(10_000)), {"a": {"b": "c" * 10_000}}, 10**90):
        assert len(str(ManifestError("place", "something else", found))) < 200
