"""Reads sentences with the Penn Treebank's tags from UD_English-EWT, UD_English-GUM and MASC."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

Sentence = list[tuple[str, str]]

GUM_GENRES = ("bio", "conversation", "interview", "news", "speech", "textbook", "vlog", "voyage")
"""The genres of GUM that are CC BY or in the public domain; the others are not for commercial use."""
_NOT_TAGS = {"_", "GW", "VERB", "XX"}
_MASC_TAGS = {"(": "-LRB-", ")": "-RRB-", "...": "NFP", "..": "NFP", "-": "HYPH", '"': "''", "'": "''"}


def ewt(root: Path, part: str) -> list[Sentence]:
    """Returns the sentences of EWT's "train", "dev" or "test" part, from its sources."""
    folder = root / "not-to-release"
    names = (folder / "file-lists" / f"files.{part}").read_text(encoding="utf-8").split()
    return list(_conllu(folder / "sources" / name for name in names))


def gum(root: Path) -> list[Sentence]:
    """Returns the sentences of GUM's genres with a free licence, from its sources."""
    files = sorted((root / "not-to-release" / "sources").glob("GUM_*.conllu"))
    return list(_conllu(file for file in files if file.name.split("_")[1] in GUM_GENRES))


def masc(root: Path) -> list[Sentence]:
    """Returns the sentences of MASC, with its tags brought nearer to OntoNotes'."""
    sentences = []
    for file in sorted(root.glob("*/*.txt")):
        for line in file.read_text(encoding="utf-8", errors="replace").splitlines():
            pairs = [word.rpartition("_")[::2] for word in line.split()]
            if pairs and all(word and (tag.isupper() or not tag.isalpha()) for word, tag in pairs):
                sentences.append(_as_ontonotes(pairs))
    return sentences


def _as_ontonotes(pairs: Sentence) -> Sentence:
    sentence, opening = [], True
    for index, (word, tag) in enumerate(pairs):
        following = pairs[index + 1][1] if index + 1 < len(pairs) else ""
        tag = _MASC_TAGS.get(tag, tag)
        if tag == "TO" and not following.startswith(("VB", "RB")):
            tag = "IN"
        elif word.lower() == "i" and tag == "NNP":
            tag = "PRP"
        elif word == '"':
            tag, opening = ("``" if opening else "''"), not opening
        sentence.append((word, tag))
    return sentence


def _conllu(files: Iterable[Path]) -> Iterator[Sentence]:
    """Yields sentences; an untagged word keeps its place with an empty tag."""
    for file in files:
        for block in file.read_text(encoding="utf-8").split("\n\n"):
            rows = [line.split("\t") for line in block.splitlines() if line[:1].isdigit()]
            words = [(row[1], "" if row[4] in _NOT_TAGS else row[4]) for row in rows if row[0].isdigit()]
            if words:
                yield words
