import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime_min.text.tagger import Tagger
from tests.support.paths import ROOT, SHARED
from training.train_tagger import in_steps

DATA = (ROOT / "exporter/text/data/tagger.bin").read_bytes()
GOLDEN = SHARED / "text/golden"
WORDS = st.text() | st.sampled_from(
    ["The", "read", "used", "to", "—", "n't", "", "\ud800", "x" * 1000, "３", "Straße"]
)
tagger = Tagger(DATA)


def test_the_data_are_small() -> None:
    assert len(DATA) <= 1_600_000


def test_weights_are_in_steps_that_keep_their_order() -> None:
    weights = np.array([[-127, 0, 127, 3], [5, 5, 5, 5], [-1, 0, 1, 14]], np.float32)
    sizes, steps = in_steps(weights)

    assert sizes.tolist() == [17, 1, 1]
    assert steps[0].tolist() == [0, 8, 15, 8]
    assert (np.diff(steps[1:].astype(int)) == np.diff(weights[1:])).all()


@given(st.lists(WORDS))
def test_any_words_get_as_many_tags_and_always_the_same(words: list[str]) -> None:
    tags = tagger.tag(words)

    assert len(tags) == len(words)
    assert tags == Tagger(DATA).tag(words)


def test_many_types_of_words_are_tagged_as_by_a_new_tagger() -> None:
    filled = Tagger(DATA)
    for start in range(0, 20_000, 1_000):
        filled.tag([f"word{number}" for number in range(start, start + 1_000)])

    assert filled.tag("I read it".split()) == tagger.tag("I read it".split())


@pytest.mark.parametrize(
    ("sentence", "expected"),
    [
        ("I record a record .", "PRP VBP DT NN ."),
        ("They refuse the refuse .", "PRP VBP DT NN ."),
        ("I used to read every day .", "PRP VBD TO VB DT NN ."),
        ("She wo n't have read that book .", "PRP MD RB VB VBN DT NN ."),
        ("a well - known e-mail", "DT RB HYPH JJ NN"),
        ("John 's dog moved to the U.S.", "NNP POS NN VBD IN DT NNP"),
    ],
)
def test_examples(sentence: str, expected: str) -> None:
    assert " ".join(tagger.tag(sentence.split())) == expected


@pytest.mark.skipif(not GOLDEN.is_dir(), reason="the golden rows are not here")
def test_golden_words_are_tagged_as_spacy_tags_them() -> None:
    rows = [
        json.loads(line) for file in GOLDEN.glob("*.jsonl") for line in file.read_text("utf-8").splitlines()
    ]
    tokens = [row["spacy_tokens"] for row in rows if row.get("spacy_tokens") and row["dialect"] == "us"]
    equal = sum(
        tag == given
        for sentence in tokens
        for (_, tag, _), given in zip(sentence, tagger.tag([word for word, _, _ in sentence]), strict=True)
    )

    assert equal >= 388, "of 465, many of them made-up words, emoji and bare symbols"
