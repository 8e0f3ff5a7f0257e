"""Encoders: they leave no threads behind."""

from __future__ import annotations

import gc

import psutil
import pytest

from kokoro_server.encoders import FORMATS
from kokoro_server.requests import SpeechRequest
from kokoro_server.speech import speak
from tests.support.fakes.speech_server import FakeBundle


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("pieces", [1, 1_000], ids=["broken off", "to the end"])
def test_an_answer_leaves_no_threads(name: str, pieces: int) -> None:
    request = SpeechRequest("One sentence, and another one. " * 4, "af_heart", format=name)
    before = thread_ids()
    gc.disable()
    try:
        answer = speak(FakeBundle(), request)  # type: ignore[arg-type]
        taken = sum(len(piece.data) for piece, _ in zip(answer, range(pieces), strict=False))
        assert taken > 0
        answer.close()
        # Threads of earlier tests may end meanwhile.
        assert thread_ids() <= before
    finally:
        gc.enable()


def thread_ids() -> set[int]:
    return {thread.id for thread in psutil.Process().threads()}
