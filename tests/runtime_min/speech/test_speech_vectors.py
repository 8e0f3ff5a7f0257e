"""The vectors that readers in other languages are tested against are what this runtime computes."""

from tests.support.speech_vectors import PATH, text_of, vectors


def test_the_stored_vectors_are_those_of_this_runtime() -> None:
    expected = "python -m tests.support.speech_vectors makes them"
    assert PATH.read_text(encoding="utf-8") == text_of(vectors()), expected
    assert PATH.stat().st_size < 100_000
