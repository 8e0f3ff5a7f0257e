"""A text that is pushed to the C library bit by bit gives the pieces of Python, and no misuse harms."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator
from ctypes import byref, c_void_p
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings

from runtime_min import Audio, KokoroError
from tests.runtime_min.text.test_arriving import CUTS, MIXED, SPACES, parts, texts
from tests.support.native.both_runtimes import BothRuntimes, assert_equal, both_runtimes
from tests.support.native.library import (
    CALLBACK,
    NativeError,
    NativeSpeech,
    Spoken,
    native_library,
    request,
)

TEXT = "Good evening, Dr. Smith. It is 5 p.m. here (or so). [pause:0.3s] Shall we\n\nbegin? 今日は。"
MANNERS: tuple[dict[str, Any], ...] = (
    {},
    {"voice": "af_bella*0.4+am_adam", "speed": 1.4, "seed": 7, "sentence_pause": 0.2, "clause_pause": 0.1},
    {"speed": 0.5, "trim": False},
    {"language": "es", "end_pause": 0.0},
    {"language": "zh", "skip_emoji": True},
)


@pytest.fixture(scope="module")
def both(reading_bundle: Path) -> Iterator[BothRuntimes]:
    with both_runtimes(native_library(), reading_bundle) as loaded:
        yield loaded


def opened(both: BothRuntimes, **manner: Any) -> NativeSpeech:
    return NativeSpeech(both.library, both.native, **manner)


def from_python(both: BothRuntimes, pushed: Iterable[str], **manner: Any) -> list[Audio]:
    speech, found = both.python.live(**manner), []
    for part in pushed:
        speech.push(part)
        found += speech.pieces()
    speech.end()
    return [*found, *speech.pieces()]


def from_native(both: BothRuntimes, pushed: Iterable[str | bytes], **manner: Any) -> list[Spoken]:
    found = []
    with opened(both, **manner) as speech:
        for part in pushed:
            speech.push(part)
            found += speech.pieces()
        speech.end()
        return found + speech.pieces()


def outcome(speak: Any, *arguments: Any, **manner: Any) -> Any:
    """Returns the pieces, or the name of the error."""
    try:
        return speak(*arguments, **manner)
    except NativeError as error:
        return error.name
    except KokoroError as error:
        return type(error).__name__


def compare(both: BothRuntimes, native: Iterable[str | bytes], python: Iterable[str], **manner: Any) -> None:
    found, expected = (
        outcome(from_native, both, native, **manner),
        outcome(from_python, both, python, **manner),
    )
    if isinstance(expected, str):
        assert found == expected
        return
    for piece, other in zip(found, expected, strict=True):
        assert_equal(piece, other)


@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(texts(MIXED, [*SPACES, "\n"]), CUTS)
@example("", [])
@example("[pause:1h] a", [])
# The opening is the only piece, and with what follows it is longer than the model takes.
@example("今日は。 so.ThenSmith  3,sat\n?", [])
def test_a_text_that_is_cut_anywhere_is_spoken_with_the_bits_of_python(
    both: BothRuntimes, text: str, cuts: list[int]
) -> None:
    data = text.encode()
    places = sorted({0, len(data), *(cut % (len(data) + 1) for cut in cuts)})
    cut_in_characters = [data[start:end] for start, end in pairwise(places)]
    compare(both, cut_in_characters, parts(text, cuts))
    compare(both, text, [text])


@pytest.mark.parametrize("manner", MANNERS, ids=str)
def test_every_manner_is_that_of_python(both: BothRuntimes, manner: dict[str, Any]) -> None:
    compare(both, TEXT, [TEXT], **manner)


def test_what_is_there_is_spoken_when_it_is_flushed(both: BothRuntimes) -> None:
    python = both.python.live()
    with opened(both) as speech:
        for part in ("Now we", " go on", " and on. Yes"):
            speech.push(part)
            python.push(part)
            assert not speech.pieces()
            speech.flush()
            python.flush()
            for piece, expected in zip(speech.pieces(), python.pieces(), strict=True):
                assert_equal(piece, expected)


def test_pieces_are_waited_for_while_another_thread_pushes(both: BothRuntimes) -> None:
    first = threading.Event()

    def take(piece: Spoken) -> bool:
        first.set()
        return True

    with opened(both) as speech:

        def write() -> None:
            speech.push("Here I am. And now")
            # The first sentence is spoken before the second is complete.
            assert first.wait(60)
            speech.push(" there is more.")
            speech.end()

        thread = threading.Thread(target=write)
        thread.start()
        found = speech.pieces(take, wait=True)
        thread.join()
    for piece, expected in zip(found, from_python(both, ["Here I am. And now there is more."]), strict=True):
        assert_equal(piece, expected)


def test_a_callback_pushes(both: BothRuntimes) -> None:
    more = ["Second. ", "Third. ", "end"]
    with opened(both) as speech:

        def take(piece: Spoken) -> bool:
            if more:
                speech.push(more.pop(0))
                if not more:
                    speech.end()
            with pytest.raises(NativeError, match=r"^UsageError: Another call"):
                speech.pieces()
            return True

        speech.push("First sentence. Then ")
        found = speech.pieces(take, wait=True)
    expected = from_python(both, ["First sentence. Then Second. Third. end"])
    assert "".join(piece.phonemes for piece in found) == "".join(piece.phonemes for piece in expected)


@pytest.mark.parametrize("how", ["stop", "cancel", "free", "close"])
def test_a_speech_that_is_ended_early_stays_so(both: BothRuntimes, reading_bundle: Path, how: str) -> None:
    functions = both.library.functions
    with both.library.loaded(reading_bundle) as bundle, NativeSpeech(both.library, bundle) as speech:

        def take(piece: Spoken) -> bool:
            if how == "cancel":
                functions.kokoro_cancel(bundle)
            elif how == "free":
                speech.free()
            elif how == "close":
                functions.kokoro_free(bundle)
            return how != "stop"

        speech.push("One is here. Two is there. Three")
        with pytest.raises(NativeError, match=r"^Cancelled: "):
            speech.pieces(take, wait=True)
        name = {"free": "StreamClosedError", "close": "ClosedBundleError"}.get(how, "UsageError")
        for call in (speech.flush, speech.end, speech.pieces, lambda: speech.push("a")):
            with pytest.raises(NativeError, match=f"^{name}: "):
                call()


def test_waiting_for_text_that_never_comes_ends_when_the_speech_or_the_bundle_is_freed(
    both: BothRuntimes, reading_bundle: Path
) -> None:
    for frees_bundle in (False, True):
        bundle = both.library.load(reading_bundle)
        speech = NativeSpeech(both.library, bundle)
        outcomes: list[Any] = []
        waiting = threading.Thread(
            target=lambda speech=speech, outcomes=outcomes: outcomes.append(outcome(speech.pieces, wait=True))
        )
        speech.push("Yes. And ")
        waiting.start()
        if frees_bundle:
            both.library.functions.kokoro_free(bundle)
        speech.free()
        waiting.join(60)
        # The thread may have come too late.
        assert outcomes in (["Cancelled"], ["StreamClosedError"], ["ClosedBundleError"])
        both.library.functions.kokoro_free(bundle)


def test_misuse_is_refused_with_a_code(both: BothRuntimes) -> None:
    library, live = both.library, c_void_p()
    with pytest.raises(NativeError, match=r"^ArgumentTypeError: .*'live' must not be NULL"):
        library.call("kokoro_live_open", both.native, byref(request()), None)
    for wrong in ({"text": "a"}, {"phonemes": "a"}, {"ssml": 1}, {"steady": 1}, {"one_pass": 1}):
        with pytest.raises(NativeError, match=r"^UsageError: "):
            library.call("kokoro_live_open", both.native, byref(request(**wrong)), byref(live))
        assert not live
    for handle, name in [
        (None, "ArgumentTypeError"),
        (both.native, "StreamClosedError"),
        (1, "StreamClosedError"),
    ]:
        for function, *more in [("push", b"a"), ("flush",), ("end",), ("stream", 0, CALLBACK(), None)]:
            with pytest.raises(NativeError, match=f"^{name}: .*'live'"):
                library.call(f"kokoro_live_{function}", handle, *more)
        library.functions.kokoro_live_free(handle)
    with opened(both) as speech:
        with pytest.raises(NativeError, match=r"^ArgumentTypeError: .*'text'"):
            library.call("kokoro_live_push", speech.handle, None)
        with pytest.raises(NativeError, match=r"^ArgumentTypeError: .*'callback'"):
            library.call("kokoro_live_stream", speech.handle, 0, None, None)
        with pytest.raises(NativeError, match=r"^TextEncodingError: "):
            speech.push(b"a\xff")
        speech.push(b"caf\xc3")
        for call in (speech.flush, speech.end):
            with pytest.raises(NativeError, match=r"^TextEncodingError: .* 1 of its bytes"):
                call()
        speech.push(b"\xa9")
        speech.end()
        with pytest.raises(NativeError, match=r"^UsageError: The text has ended"):
            speech.push("more")
        assert len(speech.pieces()) == 1 and not speech.pieces(wait=True)


@pytest.mark.parametrize(
    "wrong", [{"voice": "nobody"}, {"speed": 9.0}, {"language": "xx"}, {"end_pause": 61.0}]
)
def test_a_wrong_manner_is_refused_before_text_comes(both: BothRuntimes, wrong: dict[str, Any]) -> None:
    with pytest.raises(KokoroError) as expected:
        both.python.live(**wrong)
    with pytest.raises(NativeError, match=f"^{type(expected.value).__name__}: "):
        opened(both, **wrong)
