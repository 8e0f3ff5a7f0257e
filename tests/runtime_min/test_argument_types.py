"""Arguments of any type: what is wrong raises an error of this package, and nothing is written."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.tiny.runtime_alone import run_alone

CALLS = """
import os
import warnings
import numpy as np
from runtime_min import Bundle, Segment, Word, encode, wav_header, write_timings, write_wav
from runtime_min.errors import KokoroError

warnings.simplefilter("ignore")
os.chdir(sys.argv[1] + "/..")
bundle = Bundle.load(sys.argv[1])
audio = bundle.synthesize(phonemes="abc")
values = [
    None, 5, -1, 10**30, 2.5, float("nan"), float("inf"), True, "fast", "", "\\0", "a\\ud800", b"x",
    bytes(32), [], (), {}, set(), [1, 2], ["a"], [None], object(), object,
    np.zeros(3), np.full(8, 1e30), np.array(None),
]
calls = {
    "text": lambda x: bundle.synthesize(x, g2p=str.lower),
    "phonemes": lambda x: bundle.synthesize(phonemes=x),
    "voice": lambda x: bundle.synthesize(phonemes="abc", voice=x),
    "speed": lambda x: bundle.synthesize(phonemes="abc", speed=x),
    "seed": lambda x: bundle.synthesize(phonemes="abc", seed=x),
    "g2p": lambda x: callable(x) or bundle.synthesize("abc", g2p=x),
    "result of g2p": lambda x: bundle.synthesize("abc", g2p=lambda text: x),
    "sentence_pause": lambda x: bundle.synthesize(phonemes="abc", sentence_pause=x),
    "clause_pause": lambda x: bundle.synthesize(phonemes="abc", clause_pause=x),
    "trim": lambda x: bundle.synthesize(phonemes="abc", trim=x),
    "end_pause": lambda x: bundle.synthesize(phonemes="abc", end_pause=x),
    "loudness": lambda x: bundle.synthesize(phonemes="abc", loudness=x),
    "steady": lambda x: bundle.stream(phonemes="abc", steady=x).close(),
    "phonemes of a stream": lambda x: bundle.stream(phonemes=x).close(),
    "phonemes of a trace": lambda x: bundle.trace(x),
    "durations": lambda x: bundle.trace("abc", durations=x),
    "noise": lambda x: bundle.trace("abc", noise=x),
    "buckets": lambda x: bundle.trace("abc", buckets=x),
    "stage": lambda x: bundle.stage(x),
    "phonemes of a segment": lambda x: bundle.synthesize(phonemes=[Segment(x)]),
    "voice of a segment": lambda x: bundle.synthesize(phonemes=[Segment("abc", voice=x)]),
    "speed of a segment": lambda x: bundle.synthesize(phonemes=[Segment("abc", speed=x)]),
    "pause of a segment": lambda x: bundle.synthesize(phonemes=[Segment("abc", pause=x)]),
    "text of a word": lambda x: bundle.synthesize(phonemes=[Word(x, "abc")]),
    "phonemes of a word": lambda x: bundle.synthesize(phonemes=[Word("a", x)]),
    "whitespace of a word": lambda x: bundle.synthesize(phonemes=[Word("a", "abc", x), Word("a", "abc", x)]),
    "path": lambda x: Bundle.load(x),
    **{
        name: lambda x, name=name: Bundle.load(sys.argv[1], **{name: x})
        for name in ("threads", "level", "verify", "manifest_sha256", "key", "signature")
    },
    "signature and key": lambda x: Bundle.load(sys.argv[1], key=bytes(32), signature=x),
    "path of audio": lambda x: audio.save(x),
    "format of audio": lambda x: audio.save("x.wav", x),
    "path of timings": lambda x: write_timings(x, "a", audio.words, audio.tokens),
    "text of timings": lambda x: write_timings("x.srt", x, audio.words, audio.tokens),
    "words of timings": lambda x: write_timings("x.srt", "abc", x, audio.tokens),
    "tokens of timings": lambda x: write_timings("x.srt", "abc", (), x),
    "samples": lambda x: encode(x),
    "samples of a file": lambda x: write_wav("x.wav", x, 24_000),
    "rate": lambda x: wav_header(x, "pcm16", 1),
    "format": lambda x: wav_header(24_000, x, 1),
    "length": lambda x: wav_header(24_000, "pcm16", x),
}
result = []
for name, call in calls.items():
    for value in values:
        try:
            call(value)
        except KokoroError as error:
            if not str(error).endswith((".", "'")) or "\\n" in str(error):
                result.append(f"{name}={value!r}: no sentence: {error}")
        except Exception as error:
            result.append(f"{name}={value!r}: {type(error).__name__}: {error}")
for name in ("x.wav", "x.srt"):
    os.path.exists(name) and os.remove(name)
"""


def test_an_argument_of_any_type_raises_no_error_of_another_kind(speaking_bundle: Path) -> None:
    before = sorted(speaking_bundle.parent.iterdir())
    assert run_alone(speaking_bundle, CALLS) == []
    assert sorted(speaking_bundle.parent.iterdir()) == before


VOICES = """
import numpy as np
from runtime_min import Bundle
from runtime_min.errors import VoiceArrayError
bundle = Bundle.load(sys.argv[1])
row = bundle.voice_tables["af_heart"][0]
result = []
for value in (1e30, -1e30, 101.0, float("nan"), float("inf")):
    changed = row.astype(np.float64)
    changed[3] = value
    for voice in (changed, changed.reshape(1, -1), changed.astype(np.float32)):
        try:
            bundle.synthesize(phonemes="abc", voice=voice)
        except VoiceArrayError as error:
            result.append(str(error))
"""


def test_a_voice_of_impossible_values_is_refused_by_name(speaking_bundle: Path) -> None:
    refused = run_alone(speaking_bundle, VOICES)
    assert len(refused) == 15
    assert all("found values beyond 100, or not a number" in message for message in refused)


@pytest.mark.parametrize("closed", [False, True])
def test_a_bundle_and_audio_are_shown_in_a_line(speaking_bundle: Path, closed: bool) -> None:
    found = run_alone(
        speaking_bundle,
        f"""
        from runtime_min import Bundle
        bundle = Bundle.load(sys.argv[1])
        audio = bundle.synthesize(phonemes="abc")
        {"bundle.close()" if closed else ""}
        result = [repr(bundle), repr(audio)]
        """,
    )
    state = "closed" if closed else "3 voices"
    assert found[0] == f"<Bundle {str(speaking_bundle)!r}: tiny for here, {state}>"
    assert found[1].startswith("<Audio: ") and found[1].endswith(" s at 24000 Hz, 3 phonemes>")
