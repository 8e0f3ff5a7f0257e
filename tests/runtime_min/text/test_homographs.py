import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime_min.text.homographs import Homographs
from runtime_min.text.tagger import Tagger
from tests.support.paths import ROOT, SHARED
from training.train_homographs import read

DATA = ROOT / "exporter/text/data"
LABELLED = SHARED / "text/homographs"
homographs = Homographs((DATA / "homographs.bin").read_bytes())
tagger = Tagger((DATA / "tagger.bin").read_bytes())


@given(st.lists(st.text() | st.sampled_from(["read", "Bass", "close", "wound"]), min_size=1), st.data())
def test_any_words_are_accepted(words: list[str], data: st.DataObject) -> None:
    index = data.draw(st.integers(0, len(words) - 1))
    chosen = homographs.choose(words, tagger.tag(words), index)

    assert chosen is None or chosen
    assert chosen == Homographs((DATA / "homographs.bin").read_bytes()).choose(
        words, tagger.tag(words), index
    )


@pytest.mark.parametrize(
    ("sentence", "word", "expected"),
    [
        ("He plays the bass guitar in a band .", "bass", "ADJ"),
        ("A tear ran down her face .", "tear", "DEFAULT"),
        ("It was a minute amount of dust .", "minute", "ADJ"),
        ("She waited for a minute .", "minute", "DEFAULT"),
        ("They refuse to go .", "refuse", "DEFAULT"),
        ("pipes made of lead and copper", "lead", "METAL"),
        ("He took the lead in the race .", "lead", "DEFAULT"),
        ("A lead pipe broke .", "lead", "METAL"),
        ("The bird dove into the sea .", "dove", "VERB"),
        ("A white dove sat there .", "dove", "DEFAULT"),
        ("She lives in Reading , Berkshire .", "Reading", "PLACE"),
        ("Reading is fun .", "Reading", "DEFAULT"),
        ("They want a recount of the votes .", "recount", "NOUN"),
        ("He will recount the story .", "recount", "DEFAULT"),
        ("She wore perfume .", "perfume", "DEFAULT"),
        ("Nestle closed the factory .", "Nestle", "NAME"),
        ("He wound .", "wound", "VBD"),
        ("The wound hurts .", "wound", "DEFAULT"),
        ("a word without choice", "word", None),
    ],
)
def test_examples(sentence: str, word: str, expected: str | None) -> None:
    words = sentence.split()

    assert homographs.choose(words, tagger.tag(words), words.index(word)) == expected


@pytest.mark.slow
@pytest.mark.skipif(not LABELLED.is_dir(), reason="the labelled sentences are not here")
def test_labelled_sentences_are_told_apart() -> None:
    _, examples = read(LABELLED, tagger)
    some = examples[::10]
    right = sum(homographs.choose(each.words, each.tags, each.index) == each.key for each in some)

    assert right >= 0.97 * len(some), "these sentences trained the weights; docs/text.md has held-out ones"
