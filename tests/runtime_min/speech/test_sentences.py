"""Sentences end where a careful reader ends them, in every language that text can be given in."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime_min.speech.sentences import find_sentences

CASES = [
    tuple(case) for case in json.loads(Path(__file__).with_name("golden_rules.json").read_text())["cases"]
]
QUOTED = "the sentences of a quotation are spoken with pauses between them"
OTHERWISE = {
    ("en", "Lower case list separated by newline #042"): "a line that goes on in lower case was wrapped",
    ("en", "correctly segments text #024"): "a line that goes on in lower case was wrapped",
    ("en", "4-dot ellipsis #051"): "an ellipsis stays with the sentence that it ends",
    ("en", "correctly segments text #032"): "letters on lines of their own are read as lines",
    ("en", "correctly segments text #069"): '"U.S. Millions" looks like "U.S. Army"',
    ("en", "correctly segments text #096"): f"{QUOTED}; one of them ends with a dash",
    **dict.fromkeys(
        [("en", f"correctly segments text #{number:03}") for number in (4, 6, 78, 95, 97, 120)]
        + [("it", "correctly segments text #018")],
        QUOTED,
    ),
}
"""The golden rules that are not followed, with the reason."""
MORE = [
    "It was e.g. No. 5 (see p. 3), i.e. The Hague, in the U.S. No. 7 was not.",
    "Use nuts, e.g. almonds.|Then stir.",
    "Mr. Jones lives at No. 5 Elm St. near Mrs. Hall.|Really?",
    "The U.S. is large.|It closed at 5 p.m. on Friday.",
    "J. R. R. Tolkien wrote it.|A. A. Milne and P. Smith did not.",
    "See Kimble v. Marvel, at 5 p.m. (Eastern) & Co. by 6 p.m. & so on.|It ended.",
    "It cost $3.50.|Pi is 3.14.|See Fig. 2 on p. 7.",
    "Wait... what?|No…|Well… yes.",
    "He asked “Why?” and left.|“Stop!” she cried.|(It was late.)|[Then it ended.]",
    "O Sr. Silva mora na Av. Paulista, n.º 5.|A Dra. Ana chegou às 9h.|Veja a pág. 12, p. ex. a tabela.",
    "O Prof. Lima comprou pão, leite, etc.|Não é verdade?|É sim!",
    "M. Dupont habite au n° 5, av. J.-C. compris.|Mme Hugo est là.|« Oui ! » dit-elle.",
    "डॉ. सिंह आए।|वे कहाँ हैं?|यहाँ हैं॥",
    "你好！|我们走吧。|他说：“好。”|然后呢？",
    "「行くよ。」と彼は言った。|いつ？|明日（水曜。雨）です。",
]
LINES = {
    "a heading": ("Chapter One\nIt was late.", ["Chapter One", "It was late."]),
    "paragraphs": ("the end\n\nnothing followed", ["the end", "nothing followed"]),
    "a list": ("- red\n- blue\n1) green\n2) grey", ["- red", "- blue", "1) green", "2) grey"]),
    "a wrapped line": ("I went there with\nan old friend.", ["I went there with\nan old friend."]),
    "a name on the next line": (
        f"{'word ' * 12}to\nAlice and went on.",
        [f"{'word ' * 12}to\nAlice and went on."],
    ),
    "an abbreviation": ("I saw Mr.\nSmith.", ["I saw Mr.\nSmith."]),
    "no capitals": ("hello. who are you? fine, e.g. now", ["hello.", "who are you?", "fine, e.g. now"]),
}


def sentences(text: str) -> list[str]:
    return [text[start:end] for start, end in find_sentences(text)]


def squeezed(found: list[str]) -> list[str]:
    return ["".join(sentence.split()) for sentence in found]


@pytest.mark.parametrize(("language", "rule", "text", "expected"), CASES)
def test_the_golden_rules_are_followed_but_for_those_listed(
    language: str, rule: str, text: str, expected: list[str]
) -> None:
    followed = squeezed(sentences(text)) == squeezed(expected)
    assert followed == ((language, rule) not in OTHERWISE)


@pytest.mark.parametrize("case", MORE)
def test_a_careful_readers_sentences_are_found(case: str) -> None:
    expected = case.split("|")
    assert sentences(" ".join(expected)) == expected
    assert sentences("\n\n".join(expected)) == expected


@pytest.mark.parametrize("name", LINES)
def test_a_line_ends_a_sentence_if_it_was_not_wrapped(name: str) -> None:
    text, expected = LINES[name]
    assert sentences(text) == expected


@given(st.text() | st.text("aA1. \n\t()[]\"'“”!?…。、のMr•-", max_size=60))
def test_the_sentences_are_the_text_in_order_without_the_whitespace_between(text: str) -> None:
    spans = find_sentences(text)
    assert all(start < end for start, end in spans)
    assert all(before[1] <= after[0] for before, after in pairwise(spans))
    found = sentences(text)
    assert found == [sentence.strip() for sentence in found]
    assert "".join(squeezed(found)) == "".join(text.split())
