"""Speaks as an engine of RealtimeTTS: BUNDLE; a failed assertion ends it. Its player needs a sound card."""

import sys

import numpy as np
from RealtimeTTS import BaseEngine

from kokoro_adapters.realtime_tts import KokoroBundleEngine
from runtime_min import Audio, Bundle

TEXT = "Good evening, Dr. Smith. It is late, and the train has gone."


def taken(queue) -> list:
    return [queue.get() for _ in range(queue.qsize())]


with Bundle.load(sys.argv[1]) as bundle:
    engine = KokoroBundleEngine(bundle, seed=3)
    assert isinstance(engine, BaseEngine) and engine.can_consume_generators and engine.provides_word_timings
    assert engine.get_stream_info() == (8, 1, 24_000) and "af_heart" in engine.get_voices()
    live = bundle.live(seed=3)
    live.push(TEXT)
    live.end()
    expected = Audio.join(live.pieces())
    for number in range(2):
        assert engine.synthesize(iter(TEXT))
        assert b"".join(taken(engine.queue)) == expected.pcm16()
        timings, begin = taken(engine.timings), number * expected.duration
        assert [timing.word for timing in timings] == [word.text for word in expected.words]
        expected_starts = [begin + word.start for word in expected.words]
        np.testing.assert_allclose([timing.start_time for timing in timings], expected_starts)
    assert engine.synthesize("* * *") and not taken(engine.queue)

    def stopped_early():
        for word in (TEXT + " ") * 50:
            if engine.queue.qsize():
                engine.stop()
            yield word

    assert not engine.synthesize(stopped_early())
    engine.set_voice("ef_dora")
    engine.set_voice_parameters(speed=2.0)
    assert engine.synthesize("Hola.")
    assert b"".join(taken(engine.queue))
print("spoken")
