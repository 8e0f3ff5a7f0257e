"""Dates, money, units and other written forms of the languages of rules are read as their speakers read them.

A line of `data/forms.LANGUAGE.txt` has forms, and the words said for them, in the spelling of the rules.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.languages import letters_of, rules, said

DATA = Path(__file__).parent / "data"
LANGUAGES = ("es", "fr-fr", "hi", "it", "pt-br")
UNSTRESSED = str.maketrans("", "", "ˈˌ")
ROWS = [
    (language, *line.split(" => "))
    for language in LANGUAGES
    for line in (DATA / f"forms.{language}.txt").read_text("utf-8").splitlines()
]


@pytest.mark.parametrize("language", LANGUAGES)
def test_forms_are_read_as_their_words(language: str) -> None:
    rows = [(written, spoken) for own, written, spoken in ROWS if own == language]
    assert len(rows) >= 35
    read = rules(language)
    wrong = [
        written
        for written, spoken in rows
        if said(read(written)).translate(UNSTRESSED) != said(read(spoken)).translate(UNSTRESSED)
    ]
    assert wrong == []


@pytest.mark.parametrize(("language", "amount"), [("es", "3,50 €"), ("it", "3,50 €"), ("fr-fr", "3,50 €"),
                                                  ("pt-br", "R$ 3,50"), ("hi", "₹ 3.50")])  # fmt: skip
def test_an_amount_is_one_word_with_its_text(language: str, amount: str) -> None:
    assert [word.text for word in rules(language)(f"-{amount}")] == [f"-{amount}"]


@given(
    st.sampled_from(LANGUAGES),
    st.lists(st.sampled_from([part for _, written, _ in ROWS for part in written.split()]), max_size=6),
)
def test_parts_of_forms_in_any_order_are_read(language: str, parts: list[str]) -> None:
    text = " ".join(parts)
    assert letters_of(rules(language)(text)) == "".join(parts)
