"""Programs in other languages that print what they speak, for a comparison with Python."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from runtime_min import Audio, Bundle
from tests.support.native.examples import TEXT, run

PHONEMES = "abc abcabc, " * 9


def assert_speaks_as_python(command: Sequence[object], directory: Path, bundle: Path) -> None:
    """Runs a program, `Compared` of a package, whose speeches have the bits and times of Python.

    Args:
        command: its beginning, up to the bundle.
        directory: where it runs.
        bundle: a bundle that reads text.
    """
    text, sizes = f"{TEXT} It is 😀, 今日は。", "1,2,7,1000"
    found = _read(run([*command, bundle, text, PHONEMES, sizes], directory))
    manner: dict[str, Any] = {"voice": "af_heart*0.7+am_adam*0.3", "speed": 1.2}
    with Bundle.load(bundle) as here:
        pauses = {"sentence_pause": 0.1, "clause_pause": 0.2}
        whole = here.synthesize(text, seed=2**64 - 1, stretch=False, **pauses, **manner)
        phonemes = here.synthesize(phonemes=PHONEMES, trim=True, end_pause=0)
        paused = list(here.stream(text, end_pause=0.4))
        once = list(here.stream(text, trim=False, one_pass=True, language="es"))
        live = list(here.stream(iter([text]), **manner))
    expected = [[whole], [phonemes], paused, once, *[live] * 4]
    assert found == [_as_printed(pieces) for pieces in expected]


def _read(printed: str) -> list[list[dict[str, Any]]]:
    """Returns the speeches that a program prints."""

    def timings(text: str) -> list[tuple[str, float, float]]:
        parts = (each.split("\1") for each in text.split("\2") if each)
        return [(word, float(start), float(end)) for word, start, end in parts]

    def piece(line: str) -> dict[str, Any]:
        samples, phonemes, start, tokens, words, durations = line.split("\t")
        return {
            "samples": base64.b64decode(samples),
            "phonemes": phonemes,
            "start": float(start),
            "tokens": timings(tokens),
            "words": timings(words),
            "durations": [int(each) for each in durations.split()],
        }

    return [[piece(line) for line in speech.splitlines()] for speech in printed.split("\n\n") if speech]


def _as_printed(pieces: Sequence[Audio]) -> list[dict[str, Any]]:
    return [
        {
            "samples": piece.samples.tobytes(),
            "phonemes": piece.phonemes,
            "start": piece.start,
            "tokens": [tuple(timing) for timing in piece.tokens],
            "words": [tuple(timing) for timing in piece.words],
            "durations": piece.durations.tolist(),
        }
        for piece in pieces
    ]
