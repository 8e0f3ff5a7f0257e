"""Speech of a text that arrives bit by bit: the same wherever it is cut, and bounded whatever arrives."""

from __future__ import annotations

import asyncio
import itertools
import re
import subprocess
import sys
import threading
import time
from collections.abc import AsyncIterator, Iterable, Iterator
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runtime_min import FLUSH, Audio, LiveSpeech, Word
from runtime_min.errors import EmptyInputError, SpokenTypeError, StreamClosedError, UsageError
from runtime_min.live import speak_incoming
from runtime_min.speech.incoming import Incoming
from runtime_min.speech.plan import Planner, plan_portions
from runtime_min.speech.request import Capabilities, Request
from runtime_min.speech.speak import speak
from runtime_min.speech.stream import Stream
from runtime_min.speech.words import Portion, TextPieces
from runtime_min.text.bundled import linked_portions
from tests.support.fakes.synthesiser import LETTERS, VOCABULARY, VOICE, Fake
from tests.support.paths import ROOT
from tests.support.tiny.runtime_alone import no_other_threads_run, running_threads

CAPABILITIES = Capabilities({"voice": VOICE}, VOCABULARY, 60)
REQUEST = Request(text="", voice="voice", trim=True)
WORDS = st.one_of(
    st.text(LETTERS, min_size=1, max_size=9), st.sampled_from(["Dr.", "(a", "b)", "ZZZ", "[pause:1s]"])
)
TEXTS = st.lists(
    st.tuples(WORDS, st.sampled_from([" ", " ", ", ", ". ", "! ", "\n\n", "."])), max_size=25
).map(lambda pairs: "".join(word + gap for word, gap in pairs))


def g2p(text: str) -> list[Word]:
    """Letters are their own phonemes; capitals have none."""
    found = re.findall(r"([.,!]|[^\s.,!]+|^(?=\s))(\s*)", text)
    heard = ["".join(each for each in word.replace("!", ".") if each in VOCABULARY) for word, _ in found]
    heard = [phonemes or (None if word else "") for phonemes, (word, _) in zip(heard, found, strict=True)]
    return [Word(word, phonemes, space) for (word, space), phonemes in zip(found, heard, strict=True)]


def live(fake: Fake | None = None) -> LiveSpeech:
    planner = Planner(CAPABILITIES, REQUEST, whole=False)
    return LiveSpeech(partial(linked_portions, g2p), planner, fake or Fake())


def stream(pieces: TextPieces, flush_after: float | None = None) -> Stream:
    incoming = Incoming(pieces)
    return Stream(speak_incoming(live(), incoming, flush_after), None, incoming)


def spoken(parts: Iterable[str]) -> list[Audio]:
    speech, found = live(), []
    for part in parts:
        speech.push(part)
        found += speech.pieces()
    speech.end()
    return [*found, *speech.pieces()]


def content(pieces: Iterable[Audio]) -> list[object]:
    return [
        {
            name: value.tolist() if isinstance(value, np.ndarray) else value
            for name, value in vars(each).items()
        }
        for each in pieces
    ]


@pytest.fixture(autouse=True)
def no_threads_left() -> Iterator[None]:
    before = running_threads()
    yield
    no_other_threads_run(before)


@settings(max_examples=20)
@given(TEXTS, st.lists(st.integers(0, 10**6), max_size=12))
def test_a_text_is_spoken_alike_wherever_it_is_cut(text: str, cuts: list[int]) -> None:
    text = f"a{text}"
    places = sorted({0, len(text), *(cut % (len(text) + 1) for cut in cuts)})
    whole = spoken([text])
    parts = [text[start:end] for start, end in itertools.pairwise(places)]
    assert content(spoken(parts)) == content(spoken(text)) == content(whole)


@settings(max_examples=20)
@given(TEXTS)
def test_nothing_is_lost_and_times_go_on(text: str) -> None:
    text = f"a {text}"
    pieces = spoken([text])
    shown = re.sub(r"\[pause:1s\]", "", text)
    joined = Audio.join(pieces)
    assert joined.text.split() == shown.split()
    words = [word for word in g2p(shown) if word.phonemes]
    assert [word.text for word in joined.words] == [word.text for word in words]
    assert re.sub(r"\s", "", joined.phonemes) == "".join(word.phonemes or "" for word in words)
    for word, end in zip(joined.words, joined.word_ends, strict=True):
        assert joined.text[:end].endswith(word.text)
    assert [word.text for word in joined.unspoken] == [
        word.text for word in g2p(shown) if word.phonemes is None
    ]
    starts = [piece.start for piece in pieces]
    lengths = [piece.duration for piece in pieces]
    np.testing.assert_allclose(starts, [0, *itertools.accumulate(lengths)][:-1], atol=1e-9)
    assert [word.start for word in joined.words] == sorted(word.start for word in joined.words)
    # Silent marks at the end are trimmed.
    assert [word.end for word in joined.words if word.text.isalpha()][-1] <= joined.duration


@settings(max_examples=20)
@given(st.lists(st.text(LETTERS, min_size=1, max_size=9), min_size=1, max_size=12).map(" ".join))
def test_one_sentence_is_spoken_as_a_whole_text(text: str) -> None:
    text = f"{text}."
    request = Request(text=text, voice="voice", trim=True)
    plans = plan_portions(CAPABILITIES, request, [Portion(g2p(text))], whole=False)
    assert content(spoken([text])) == content(speak(next(plans), Fake()))


def test_a_run_is_read_between_its_neighbours() -> None:
    fake = Fake()
    speech = live(fake)
    speech.push("abc abc. def def. gab. hah")
    assert speech.is_ready and len(list(speech.pieces())) == 2 and not speech.is_ready
    assert [phonemes for phonemes, _ in fake.asked] == ["abc abc. def", "abc abc. def def. gab."]


def test_what_was_heard_is_told_to_the_word() -> None:
    pieces = spoken(["abc abc. def, ", "Dr. gab. hah"])
    joined = Audio.join(pieces)
    assert joined.heard(-1.0) == "" and joined.heard(60.0) == joined.text == "abc abc. def, Dr. gab. hah"
    word = joined.words[2]
    assert joined.heard(word.start) == "abc abc." == "".join(each.heard(word.start) for each in pieces)


def test_streams_take_iterables_of_any_kind() -> None:
    text = "abc abc. def def. gab hah. a"
    expected = content(spoken([text]))

    async def tokens() -> AsyncIterator[str]:
        for letter in text:
            await asyncio.sleep(0)
            yield letter

    async def main() -> list[Audio]:
        return [piece async for piece in stream(tokens())]

    with stream(list(text)) as found:
        assert content(found) == expected and found.phonemes == "abc abc. def def. gab hah. a"
    assert content(stream(iter([text]))) == content(asyncio.run(main())) == expected


def test_flushed_text_is_spoken_while_its_sentence_waits() -> None:
    waits = threading.Event()

    def tokens(*last: object) -> Iterator[object]:
        yield from ("abc ab", *last)
        assert waits.wait(20)
        yield "c abc."

    for last, flush_after in (([FLUSH], None), ([], 0.01)):
        waits.clear()
        found = stream(tokens(*last), flush_after)  # type: ignore[arg-type]
        assert next(found).text == "abc ab"
        waits.set()
        assert "".join(piece.text for piece in found) == "c abc."


def test_an_error_of_the_iterable_comes_in_its_place() -> None:
    def failing(item: object) -> Iterator[object]:
        yield "abc abc. def def."
        if isinstance(item, Exception):
            raise item
        yield item

    for item, error in ((LookupError("gone"), LookupError), (7, SpokenTypeError), (b"abc", SpokenTypeError)):
        found = stream(failing(item))  # type: ignore[arg-type]
        assert next(found).text == "abc abc. "
        with pytest.raises(error):
            list(found)


@pytest.mark.parametrize("empty", [[], ["", "  "], ["ZZZ"]])
def test_a_text_without_anything_to_speak_is_refused(empty: list[str]) -> None:
    with pytest.raises(EmptyInputError):
        list(stream(iter(empty)))


@pytest.mark.parametrize("begin", ["", "abc. "])
def test_an_endless_text_without_anything_to_speak_is_refused(
    begin: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("runtime_min.live.LONGEST_SILENT", 2_000)
    for silent in (" ", "ZZZ "):
        with pytest.raises(EmptyInputError):
            spoken(itertools.chain([begin], itertools.repeat(silent * 100)))


def test_an_endless_text_is_read_as_far_as_it_is_heard() -> None:
    asked, closed = itertools.count(), threading.Event()

    def endless() -> Iterator[str]:
        try:
            for _ in asked:
                yield "abc abc. "
        finally:
            closed.set()

    with stream(endless()) as found:
        for _ in range(3):
            next(found)
        time.sleep(0.05)
    assert closed.wait(20) and next(asked) < 100
    with pytest.raises(StreamClosedError):
        next(found)


def test_a_text_that_never_comes_keeps_no_thread_of_a_stream_that_is_closed() -> None:
    never = threading.Event()
    stream(iter(never.wait, True)).close()  # type: ignore[arg-type]
    never.set()


def test_the_interpreter_ends_while_text_is_waited_for() -> None:
    program = "\n".join([
        "import threading",
        "from tests.runtime_min.speech.test_live import stream",
        "kept = stream(iter(threading.Event().wait, True))",
        "print('ends')",
    ])  # fmt: skip
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, timeout=120)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"ends\n", b"")


def test_waiting_for_text_of_the_own_event_loop_is_refused() -> None:
    async def tokens() -> AsyncIterator[str]:
        yield "abc"

    async def main() -> None:
        with stream(tokens()) as found, pytest.raises(UsageError, match="async for"):
            next(found)

    with pytest.raises(UsageError, match="event loop"):
        stream(tokens())
    asyncio.run(main())


def test_text_after_the_end_is_refused() -> None:
    speech = live()
    speech.push("abc")
    speech.end()
    with pytest.raises(UsageError):
        speech.push("abc")
    with pytest.raises(SpokenTypeError):
        live().push(b"abc")  # type: ignore[arg-type]
