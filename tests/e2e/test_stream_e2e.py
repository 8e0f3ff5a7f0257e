"""Streams of the whole model: in order, timed, repeatable, and left at any moment."""

from __future__ import annotations

import asyncio
from typing import Any

import numpy as np
import pytest

from exporter.reference.voice_statistics import PASSAGES
from runtime_min import Audio, Bundle, Segment, Word
from runtime_min.errors import ClosedBundleError
from runtime_min.model.statistics import SHORTEST_ROW
from tests.support.tiny.runtime_alone import no_other_threads_run, running_threads
from tests.support.utterances import phonemes_of

pytestmark = pytest.mark.e2e

PARAGRAPH = " ".join(phonemes_of(tokens) for tokens in (60, 110, 45, 130, 100))


def test_a_paragraph_is_streamed_and_every_phoneme_is_timed(bundle: Bundle) -> None:
    # No shorter text is decoded with the statistics of the voice.
    text = " ".join(phonemes_of(tokens) for tokens in (40, 45, 50))
    assert len(text) >= SHORTEST_ROW
    with bundle.stream(phonemes=text, seed=3, trim=False) as stream:
        pieces = list(stream)
    assert len(pieces) == 4
    assert 10 <= len(pieces[0].phonemes) <= 40
    audio = Audio.join(pieces)
    assert "".join(timing.text for timing in audio.tokens) == stream.phonemes == text
    starts = np.array([timing.start for timing in audio.tokens])
    ends = np.array([timing.end for timing in audio.tokens])
    assert (ends > starts).all() and (np.abs(starts[1:] - ends[:-1]) < 0.0085).all()
    assert ends[-1] <= len(audio.samples) / audio.sample_rate
    assert len(audio.durations) == len(text) + 2
    # What is played while the next piece is computed is never over at once.
    assert all(len(piece.samples) > 0.3 * audio.sample_rate for piece in pieces)


def test_the_same_seed_speaks_the_same_samples_whatever_goes_on_beside(bundle: Bundle) -> None:
    text = PARAGRAPH[:50]
    expected = [piece.samples.tobytes() for piece in bundle.stream(phonemes=text, seed=1)]
    with bundle.stream(phonemes=PARAGRAPH, voice="am_adam", seed=9):
        again = [piece.samples.tobytes() for piece in bundle.stream(phonemes=text, seed=1)]
    assert again == expected and len(expected) == 2
    with bundle.stream(phonemes=text, seed=2) as other:
        assert next(other).samples.tobytes() != expected[0]


def test_more_than_the_model_takes_is_spoken_as_the_stream_is(bundle: Bundle) -> None:
    words = [Word(word, word, " ") for word in (PARAGRAPH + " " + PARAGRAPH[:100]).split(" ")]
    fast: dict[str, Any] = {"phonemes": words, "speed": 4.0, "stretch": False}
    audio = bundle.synthesize(**fast)
    assert len(audio.phonemes) > bundle.max_phonemes
    assert [word.text for word in audio.words] == [word.text for word in words]
    with bundle.stream(**fast, trim=False, one_pass=True) as stream:
        first = next(stream)
    np.testing.assert_array_equal(audio.samples[: len(first.samples)], first.samples)
    assert audio.words[: len(first.words)] == first.words


def test_segments_speak_with_voices_and_speeds_of_their_own(bundle: Bundle) -> None:
    parts = [Segment("həlˈO.", "af_heart"), Segment("həlˈO.", "am_adam*0.5+af_heart*0.5", 2.0)]
    audio = bundle.synthesize(phonemes=parts, sentence_pause=0.5)
    one, two = (
        bundle.synthesize(phonemes=part.content, voice=part.voice, speed=part.speed or 1.0)  # type: ignore[arg-type]
        for part in parts
    )
    np.testing.assert_array_equal(audio.durations, np.concatenate([one.durations, two.durations]))
    assert len(audio.samples) == len(one.samples) + len(two.samples) + 12_000
    border = len(one.samples)
    assert (audio.samples[border : border + 12_000] == 0).all()


def test_a_bundle_closed_in_mid_stream_is_a_typed_error_and_leaves_no_thread(bundle: Bundle) -> None:
    own = Bundle.load(bundle.directory, verify=False)
    before = running_threads()
    stream = own.stream(phonemes=PARAGRAPH)
    next(stream)
    own.close()
    with pytest.raises(ClosedBundleError):
        list(stream)
    no_other_threads_run(before)


def test_streams_of_several_tasks_share_a_bundle(bundle: Bundle) -> None:
    # Two pieces.
    text = PARAGRAPH[:12]

    async def speak(voice: str) -> Audio:
        return Audio.join([piece async for piece in bundle.stream(phonemes=text, voice=voice)])

    async def main() -> list[Audio]:
        return await asyncio.gather(speak("af_heart"), speak("am_adam"))

    together = asyncio.run(main())
    for audio, voice in zip(together, ("af_heart", "am_adam"), strict=True):
        alone = Audio.join(bundle.stream(phonemes=text, voice=voice))
        assert audio.samples.tobytes() == alone.samples.tobytes()


@pytest.mark.parametrize("voice", ["af_heart", "bm_george", "ef_dora"])
def test_the_first_words_of_a_stream_are_few_and_as_loud_as_in_one_pass(bundle: Bundle, voice: str) -> None:
    passage = PASSAGES[2]
    first = next(iter(bundle.stream(phonemes=passage, voice=voice, trim=False)))
    assert 6 <= len(first.phonemes) <= 20
    whole = bundle.synthesize(phonemes=passage, voice=voice)
    spoken = slice(*(round(24_000 * at) for at in (first.tokens[0].start, first.tokens[-2].end)))
    same = whole.tokens[len(first.tokens) - 2]
    expected = whole.samples[round(24_000 * whole.tokens[0].start) : round(24_000 * same.end)]
    off = 20 * np.log10(rms(first.samples[spoken]) / rms(expected))
    assert abs(off) < 2, off


def test_a_short_text_is_decoded_with_statistics_of_its_own(bundle: Bundle) -> None:
    text = phonemes_of(60)
    first = next(iter(bundle.stream(phonemes=text)))
    # Without those of the voice, the first piece is not cut down to its first words.
    assert len(first.phonemes) >= 10


def rms(samples: np.ndarray) -> float:
    return float(np.sqrt(np.mean(samples.astype(np.float64) ** 2)))
