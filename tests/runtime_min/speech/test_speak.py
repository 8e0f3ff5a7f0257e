"""Speech of any length: nothing is lost, everything is where its timing says, and pieces are repeatable."""

from __future__ import annotations

import doctest
import sys
from dataclasses import replace
from types import ModuleType

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime_min.errors import PauseError, UtteranceTooLongError
from runtime_min.model import voices
from runtime_min.model.synthesiser import Prepared, Utterance
from runtime_min.model.voices import Style
from runtime_min.speech import split, words
from runtime_min.speech.passes import CONTEXT
from runtime_min.speech.request import END_PAUSE
from runtime_min.speech.timing import LEAD_FRAMES, Audio
from runtime_min.speech.words import Segment, Word
from tests.support.fakes.synthesiser import BOUNDARY_FRAMES, LETTERS, Fake, frequency, pieces, plan, spoken

WORDS = st.text(LETTERS, min_size=1, max_size=8)
TEXTS = st.lists(st.tuples(WORDS, st.sampled_from([" ", ", ", ". "])), min_size=1, max_size=40).map(
    lambda pairs: "".join(word + gap for word, gap in pairs)
)
RATE = 24_000
LEAD = LEAD_FRAMES / 40


def assert_heard_where_timed(audio: Audio) -> None:
    """Each letter's tone is the loudest at the time that its timing says."""
    for letter, start, end in audio.tokens:
        if letter in LETTERS:
            middle = round((max(start, 0.0) + end) / 2 * RATE) + round(LEAD * RATE)
            window = audio.samples[middle - 600 : middle + 600].astype(np.float64)
            spectrum = np.abs(np.fft.rfft(window * np.hanning(len(window)), RATE // 20))
            assert abs(20 * int(spectrum.argmax()) - frequency(letter)) < 50, (letter, start, end)


def test_what_fits_into_one_piece_is_what_the_model_says_to_the_bit() -> None:
    style = Style(*np.zeros((2, 1, 2), np.float32))
    prepared = Fake().prepare(Utterance("abc abc", style, 1.0, 7))
    expected, durations = prepared.noise[0], prepared.durations
    audio = spoken(plan("abc abc", whole=True, seed=7))
    assert audio.samples.tobytes() == expected.tobytes()
    np.testing.assert_array_equal(audio.durations, durations)


def test_a_segments_pause_is_silence_before_the_next_one_alone() -> None:
    lengths = {
        pause: len(spoken(plan([Segment("abc", pause=pause), Segment("abc", pause=9.0)])).samples)
        for pause in (0.0, 0.5, 1.0)
    }
    assert lengths[1.0] - lengths[0.5] == lengths[0.5] - lengths[0.0] == 12_000
    with pytest.raises(PauseError):
        plan([Segment("abc", pause=-1.0)])


def test_every_phoneme_of_ten_thousand_characters_is_timed_and_heard() -> None:
    random = np.random.default_rng(0)
    words = ["".join(random.choice(list(LETTERS), random.integers(1, 9))) for _ in range(3_000)]
    marks = [" ", " ", ", ", ". "]
    text = "".join(word + marks[random.integers(4)] for word in words)[:10_000]
    audio = spoken(plan(text, limit=510))
    assert "".join(timing.text for timing in audio.tokens) == audio.phonemes == text
    assert len(audio.durations) == len(text) + 2
    starts = np.array([timing.start for timing in audio.tokens])
    ends = np.array([timing.end for timing in audio.tokens])
    assert (ends > starts).all() and (np.abs(starts[1:] - ends[:-1]) < 0.01).all()
    assert audio.samples.size / RATE == pytest.approx(ends[-1] + LEAD + BOUNDARY_FRAMES / 40)
    assert_heard_where_timed(audio)


def test_speaking_keeps_nothing_from_utterance_to_utterance() -> None:
    planned = [plan("abcdefgh"[:length], whole=True) for length in range(2, 9)]
    spoken(planned[0])

    def say(times: int) -> int:
        """Blocks of memory that Python holds afterwards."""
        for _ in range(times):
            for each in planned:
                spoken(each)
        return sys.getallocatedblocks()

    before = say(60)
    assert say(60) - before < 60


@given(TEXTS, st.integers(6, 60), st.booleans(), st.sampled_from([0.5, 1.0, 2.0]))
def test_all_is_heard_where_it_is_timed_however_it_is_split(
    text: str, limit: int, whole: bool, speed: float
) -> None:
    fake = Fake()
    audio = spoken(plan(text, limit=limit, whole=whole, speed=speed), fake)
    assert "".join(timing.text for timing in audio.tokens) == text
    assert all(len(phonemes) <= limit for phonemes, _ in fake.asked)
    if speed == 1.0:
        assert_heard_where_timed(audio)


@given(TEXTS, st.integers(40, 120))
def test_pieces_beyond_the_largest_frame_bucket_are_divided_further(text: str, capacity: int) -> None:
    audio = spoken(plan(text, limit=60), Fake(capacity))
    assert "".join(timing.text for timing in audio.tokens) == text
    assert_heard_where_timed(audio)


def test_a_phoneme_that_alone_is_too_long_is_refused() -> None:
    with pytest.raises(UtteranceTooLongError):
        spoken(plan("abc abc"), Fake(capacity=16))


@given(TEXTS, st.integers(40, 120), st.floats(0.3, 4), st.integers(0, 2**64 - 1))
def test_a_stream_in_one_pass_is_what_is_synthesised(text: str, limit: int, speed: float, seed: int) -> None:
    whole = [*pieces(plan(text, limit=limit, whole=True, speed=speed, seed=seed))]
    stream = [*pieces(plan(text, limit=limit, one_pass=True, speed=speed, seed=seed))]
    assert [each.samples.tobytes() for each in stream] == [each.samples.tobytes() for each in whole]
    assert [each.tokens for each in stream] == [each.tokens for each in whole]


def test_a_passage_is_read_once_and_its_pieces_are_those_of_one_pass() -> None:
    text = "abc de fgh. " * 20
    fake, whole = Fake(), spoken(plan(text, limit=300, whole=True, seed=3))
    divided = plan(text, limit=300, seed=3)
    (section,) = divided.sections
    assert len(section.piece_ends) > 2
    audio = spoken(replace(divided, sections=(replace(section, opening=None),)), fake)
    assert fake.asked == [(text, 3)]
    np.testing.assert_array_equal(audio.durations, whole.durations)
    # Only joins differ: there is no other rendering to be in phase with.
    assert len(audio.samples) == len(whole.samples)
    np.testing.assert_allclose(audio.samples, whole.samples, atol=1e-6)


def test_a_stream_begins_with_an_opening_which_knows_what_follows() -> None:
    fake, text = Fake(), "abc de fgh. " * 20
    first, *others = pieces(plan(text, limit=300), fake)
    (opening, seed), rest = fake.asked
    assert rest == (text, seed)
    assert text.startswith(opening) and len(first.phonemes) + 20 < len(opening) <= len(first.phonemes) + 40
    assert "".join(piece.phonemes for piece in (first, *others)) == text


def test_long_input_is_read_in_passes_with_words_of_their_neighbours() -> None:
    fake, text = Fake(), "abc de fgh. " * 100
    audio = spoken(plan(text, limit=300, seed=3), fake)
    assert audio.phonemes == text
    passes = [phonemes for phonemes, _ in fake.asked]
    assert all(len(phonemes) <= 300 for phonemes in passes)
    overlap = sum(map(len, passes)) - len(text)
    assert 50 * (len(passes) - 1) <= overlap <= 2 * CONTEXT * (len(passes) - 1)
    again = Fake()
    assert spoken(plan(text, limit=300, seed=3), again).samples.tobytes() == audio.samples.tobytes()
    other = spoken(plan(text, limit=300, seed=4))
    assert other.samples.tobytes() != audio.samples.tobytes()


@given(TEXTS, st.floats(0, 1), st.floats(0, 1), st.booleans())
def test_pauses_add_their_length_and_move_what_follows(
    text: str, sentence: float, clause: float, whole: bool
) -> None:
    plain = spoken(plan(text, whole=whole))
    paused = spoken(plan(text, whole=whole, sentence=sentence, clause=clause))
    body = text.rstrip()[:-1]
    added = [round(RATE * sentence), round(RATE * clause)]
    expected = body.count(".") * added[0] + body.count(",") * added[1]
    # Without a pause the pieces meet in phase, which moves them by up to 8 ms.
    joins = len(plan(text, whole=whole).sections[0].piece_ends) - 1
    assert abs(len(paused.samples) - len(plain.samples) - expected) <= 200 * joins
    assert_heard_where_timed(paused)


def test_a_pause_is_silent_and_between_the_words() -> None:
    words = [Word("Abc", "abc"), Word(",", ",", " "), Word("de", "de")]
    audio = spoken(plan(words, whole=True, clause=0.5))
    first, _, last = audio.words
    assert last.start - first.end >= 0.5
    begin, end = round((first.end + LEAD + 0.1) * RATE), round((last.start + LEAD) * RATE)
    silent = np.flatnonzero(audio.samples[begin:end] == 0)
    assert len(silent) == RATE // 2


def test_segments_have_speeds_of_their_own_and_pauses_between_them() -> None:
    parts = [Segment("abc."), Segment("abc.", speed=0.5), Segment("abc.")]
    audio = spoken(plan(parts, sentence=0.25))
    assert audio.phonemes == "abc." * 3 and len(audio.durations) == 18
    one, slow = (len(spoken(plan(part.content, speed=part.speed or 1)).samples) for part in parts[:2])
    assert len(audio.samples) == 2 * one + slow + 2 * RATE // 4
    letters = [timing for timing in audio.tokens if timing.text == "b"]
    assert letters[1].end - letters[1].start == pytest.approx(2 * (letters[0].end - letters[0].start))


def test_streamed_pieces_are_timed_from_the_beginning_of_the_whole() -> None:
    found = list(pieces(plan("abc de fgh. " * 20)))
    assert len(found) > 3
    total = 0
    for piece in found:
        assert piece.start == total / RATE
        total += len(piece.samples)
        assert len(piece.phonemes) == len(piece.tokens)
    assert len(found[0].phonemes) < len(found[2].phonemes)


def test_silence_is_trimmed_at_both_ends_and_timings_follow() -> None:
    for whole in (True, False):
        plain, trimmed = (
            spoken(plan("abc de fgh. " * 8, limit=200, whole=whole, trim=trim)) for trim in (False, True)
        )
        less = (len(plain.samples) - len(trimmed.samples)) / RATE
        # Of 6 frames before 20 to 30 ms stay, and of 6 behind and 4 each for full stop and space END_PAUSE.
        assert 0.5 - END_PAUSE - 0.04 <= less <= 0.5 - END_PAUSE - 0.01
        first = np.flatnonzero(np.abs(trimmed.samples) > 0.1)[0] / RATE
        assert 0.015 < first < 0.05
        b = [next(timing for timing in audio.tokens if timing.text == "b") for audio in (plain, trimmed)]
        assert b[0].start - b[1].start == pytest.approx(BOUNDARY_FRAMES / 40 - first, abs=0.011)


@given(TEXTS, st.floats(0, 1), st.booleans())
def test_speech_that_is_trimmed_begins_at_once_and_ends_with_the_pause_that_was_asked_for(
    text: str, end_pause: float, whole: bool
) -> None:
    audio = spoken(plan(text, whole=whole, trim=True, end_pause=end_pause))
    heard = np.flatnonzero(np.abs(audio.samples) > 0.01)
    assert heard[0] < 0.05 * RATE
    behind = len(audio.samples) - heard[-1] - 1 - round(end_pause * RATE)
    assert -1 <= behind < 0.01 * RATE
    assert_heard_where_timed(audio)


def test_what_is_silent_all_over_is_left_as_it_is() -> None:
    class Silent(Fake):
        def decode(self, prepared: Prepared, start: int, end: int) -> np.ndarray:
            return np.zeros_like(super().decode(prepared, start, end))

    for whole in (False, True):
        plain, trimmed = (
            spoken(plan("abc. " * 9, whole=whole, trim=trim), Silent()).samples for trim in (False, True)
        )
        assert len(plain) == len(trimmed)


@pytest.mark.parametrize("module", [split, voices, words])
def test_the_examples_of_the_documentation_run(module: ModuleType) -> None:
    failed, tried = doctest.testmod(module)
    assert tried and not failed
