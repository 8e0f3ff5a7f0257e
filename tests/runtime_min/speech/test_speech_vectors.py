"""The vectors that readers in other languages are tested against are what this runtime computes."""

import re

from tests.support.paths import ROOT
from tests.support.speech_vectors import PATH, text_of, vectors


def test_the_stored_vectors_are_those_of_this_runtime() -> None:
    expected = "python -m tests.support.speech_vectors makes them"
    assert PATH.read_text(encoding="utf-8") == text_of(vectors()), expected
    assert PATH.stat().st_size < 100_000


def test_the_patterns_of_the_format_find_the_breaks_of_the_vectors() -> None:
    page = (ROOT / "bundles" / "FORMAT.md").read_text(encoding="utf-8").partition("### Breaks")[2]
    sets = dict(re.findall(r"(?:^ {4}|  )([A-Z]+) += (\S+)", page, re.MULTILINE))
    rows = {
        kind: row.replace("\\|", "|")
        for kind, row in re.findall(r"^\| (\w+) \| (`.*) \|$", page, re.MULTILINE)
    }
    patterns = {kind: "|".join(re.findall("`([^`]+)`", row)) for kind, row in rows.items()}
    patterns["word"] += "".join(f"(?!{name})" for name in re.findall("[A-Z]{2,}", rows["word"]))
    for name, characters in sets.items():
        patterns = {kind: pattern.replace(name, characters) for kind, pattern in patterns.items()}
    for phonemes, sentences, expected in vectors()["breaks"]:
        if sentences is None:
            found = {len(phonemes): "1"}
            for number, kind in enumerate(("word", "clause", "sentence"), 1):
                found |= dict.fromkeys(
                    (match.end() for match in re.finditer(patterns[kind], phonemes)), str(number)
                )
            assert "".join(found.get(at, "0") for at in range(len(phonemes) + 1)) == expected
