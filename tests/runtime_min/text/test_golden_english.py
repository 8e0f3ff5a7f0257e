"""Words beside what misaki really said: recordings where they are, and small examples in any case."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from typing import Any, NamedTuple

from runtime_min.text.english import Choose, English, Tag
from runtime_min.text.homographs import Homographs
from runtime_min.text.tagger import Tagger
from tests.support.english_text import lexicon, rows
from tests.support.paths import ROOT

SETS = (
    "asus4_unity", "folio", "gordon_server", "jokobee_sentences", "mdenil_alice", "misakid_gb_rerun",
    "misakid_us", "mlalma_misakiswift", "spacemit",
)  # fmt: skip
OWN = [
    {"text": "I used to read every day.", "dialect": "us", "phonemes": "ˌI jˈust tə ɹˈid ˈɛvəɹi dˈA."},
    {"text": "The project works.", "dialect": "gb", "phonemes": "ðə pɹˈɒʤɛkt wˈɜːks."},
]  # fmt: skip
_MARKS = re.compile(r'[…“”";:,.!?—()\s]+')
_STRESS = re.compile("[ˈˌ]")
UNKNOWN = "∅"


class Score(NamedTuple):
    words: int
    same: int
    same_but_for_stress: int
    sentences: int
    same_sentences: int

    def __add__(self, other: object) -> Score:
        assert isinstance(other, Score)
        return Score(*map(sum, zip(self, other, strict=True)))


def score(row: dict[str, Any], tag: Tag, choose: Choose = lambda words, tags, place: None) -> Score | None:
    """Compares a sentence whose words the lexicon knows; returns None for another one."""
    language = f"en-{row['dialect']}"
    spoken = English(lexicon(language), language == "en-gb", tag, choose, lambda word: UNKNOWN)(row["text"])
    found = words("".join((word.phonemes or "") + word.whitespace for word in spoken))
    wanted = words(row["phonemes"])
    if not wanted or UNKNOWN in "".join(found):
        return None
    same = same_but_for_stress = 0
    for kind, first, end, start, stop in SequenceMatcher(None, wanted, found, autojunk=False).get_opcodes():
        pairs = list(zip(wanted[first:end], found[start:stop], strict=False))
        same += len(pairs) if kind == "equal" else 0
        same_but_for_stress += sum(_STRESS.sub("", one) == _STRESS.sub("", other) for one, other in pairs)
    return Score(len(wanted), same, same_but_for_stress, 1, wanted == found)


def words(phonemes: str) -> list[str]:
    return _MARKS.sub(" ", phonemes).split()


def trusted(name: str) -> list[dict[str, Any]]:
    """Returns the rows in which misaki knew every word, and spoke as its current version does."""
    return [row for row in rows(name) if "❓" not in row["phonemes"] and not row.get("version")]


def recorded(row: dict[str, Any]) -> Tag:
    """Returns a tagger that knows the tags that spaCy gave to this row's tokens."""
    letters = [(letter, tag) for text, tag, _ in row["spacy_tokens"] for letter in text.replace("’", "'")]

    def tag(tokens: Sequence[str]) -> Iterator[str]:
        for token in tokens:
            while letters and letters[0][0] != token[0]:
                letters.pop(0)
            yield letters[0][1] if letters else "NN"
            del letters[: len(token.replace(" ", ""))]

    return lambda sentences: [list(tag(tokens)) for tokens in sentences]


def nouns(sentences: Sequence[Sequence[str]]) -> list[list[str]]:
    return [["NN"] * len(words) for words in sentences]


def total(scores: list[Score | None]) -> Score:
    return sum((each for each in scores if each), Score(0, 0, 0, 0, 0))


def test_with_our_tags_99_of_100_words_are_misakis() -> None:
    data = ROOT / "exporter" / "text" / "data"
    tag = Tagger((data / "tagger.bin").read_bytes()).tag_all
    choose = Homographs((data / "homographs.bin").read_bytes()).choose
    found = {name: total([score(row, tag, choose) for row in trusted(name)]) for name in SETS}
    own = total([score(row, tag, choose) for row in OWN])
    for name, each in found.items():
        print(f"{name:20}{each}")
    whole = sum(found.values(), own)
    print(f"{whole} {whole.same / whole.words:.2%} {whole.same_but_for_stress / whole.words:.2%}")
    assert whole.same >= 0.99 * whole.words
    assert whole.same_but_for_stress >= 0.995 * whole.words


def test_with_recorded_tags_all_differences_are_meant() -> None:
    scores = [
        score(row, recorded(row))
        for name in SETS
        for row in trusted(name)
        if "spacy_tokens" in row and "](" not in row["text"]
    ]
    whole = total([*scores, *[score(row, nouns) for row in OWN[1:]]])
    print(f"{whole} {whole.same / whole.words:.2%} {whole.same_but_for_stress / whole.words:.2%}")
    assert whole.same >= 0.99 * whole.words
