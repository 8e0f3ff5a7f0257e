"""The choice of measurements: options of the command, lengths and utterances."""

from __future__ import annotations

import pytest
import typer
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from exporter.bundle.write import write_bundle
from exporter.cli import measure as cli
from exporter.cli.main import app
from exporter.measure.utterances import NothingToSayError, phonemes_of, text_of
from tests.support.tiny.bundle import dummy_contents

KOKORO = "bdfɡhklmnpɹstwzðʃʤəɪiɛæʌɑɔuAIOWYɜŋ ˈˌ.,"


@given(st.integers(3, 512), st.integers(0, 3))
def test_an_utterance_has_exactly_as_many_tokens_as_asked_for(tokens, seed):
    said = phonemes_of(tokens, KOKORO, seed)
    assert len(said) == tokens - 2
    assert set(said) <= set(KOKORO)
    assert said == phonemes_of(tokens, KOKORO, seed)


@given(st.sets(st.sampled_from(KOKORO)))
def test_only_phonemes_of_the_vocabulary_are_spoken(vocabulary):
    if not vocabulary & set("əɪiɛæʌɑɔuAIOWY") and not vocabulary >= {"ɜ", "ɹ"}:
        with pytest.raises(NothingToSayError, match="vocabulary"):
            phonemes_of(12, vocabulary)
    else:
        assert set(phonemes_of(12, vocabulary)) <= vocabulary


def test_lengths_and_seeds_give_different_utterances():
    assert phonemes_of(62, KOKORO)[:10] != phonemes_of(200, KOKORO)[:10]
    assert phonemes_of(62, KOKORO, 1) != phonemes_of(62, KOKORO, 2)


@pytest.mark.parametrize("characters", [1, 50, 3_000])
def test_a_text_has_exactly_as_many_phonemes_as_asked_for_in_sentences_and_clauses(characters):
    text = text_of(characters, KOKORO)
    assert len(text) == characters and text.endswith(".")
    assert set(text) <= {*KOKORO, "?"}
    if characters == 3_000:
        assert text.count(". ") > 20 and text.count(", ") > 10


def test_options_are_parsed_or_refused():
    assert cli.parse_range("3-200") == (3, 200)
    for text in ("200-3", "2-5", "3", "a-b", ""):
        with pytest.raises(typer.BadParameter, match="expected"):
            cli.parse_range(text)
    assert cli.thread_counts("1, 2") == (1, 2)
    with pytest.raises(typer.BadParameter, match="1 or more"):
        cli.thread_counts("0,1")


def test_a_bundle_that_cannot_speak_is_refused_before_anything_is_measured(tmp_path):
    bundle = tmp_path / "bundle"
    write_bundle(bundle, dummy_contents(tmp_path / "parts", ("bert",)))
    run = CliRunner().invoke(app, ["measure", str(bundle)])
    assert run.exit_code == 3
    assert "partial bundle" in run.output
