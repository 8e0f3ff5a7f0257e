"""The documents: every link leads to a file and a heading that exist, every command to the same bundle."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from exporter.cli.demo import BUNDLE
from tests.support.paths import ROOT

OTHERS = [ROOT / "bundles" / "FORMAT.md", ROOT / "tests" / "README.md", *ROOT.glob("bindings/*/README.md")]
DOCUMENTS = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *OTHERS])


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_every_link_leads_to_a_file_and_a_heading(document: Path) -> None:
    dead = [link for link in links(document) if not leads(document, link)]
    assert not dead


@pytest.mark.parametrize("name", ["README.md", "docs/using.md", "docs/server.md", "Dockerfile"])
def test_the_demo_writes_the_bundle_that_the_next_lines_load(name: str) -> None:
    loaded = re.findall(r"bundles/[a-z]+", (ROOT / name).read_text(encoding="utf-8"))
    assert set(loaded) - {"bundles/mac"} == {BUNDLE.as_posix()}


def links(document: Path) -> list[str]:
    text = re.sub(r"(?ms)^```.*?^```", "", document.read_text(encoding="utf-8"))
    return re.findall(r"(?<=\]\()(?!https?:)[^)\s]+(?=\))", re.sub("`[^`]+`", "", text))


def leads(document: Path, link: str) -> bool:
    name, _, anchor = link.partition("#")
    target = document.parent / name if name else document
    return target.exists() and (not anchor or anchor in anchors(target))


def anchors(document: Path) -> set[str]:
    """The names that GitHub gives the headings of a document."""
    headings = re.findall(r"(?m)^#+ (.+)$", document.read_text(encoding="utf-8"))
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}
