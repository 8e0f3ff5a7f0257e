"""Subtitles: times that a player accepts, text that survives, and a cue for everything that is heard."""

from __future__ import annotations

import html
import json
import re
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime_min.errors import OutputError
from runtime_min.speech.subtitles import Cue, as_json, as_srt, as_vtt, cues, phoneme_words, write_timings
from runtime_min.speech.timing import Timing

CLOCK = re.compile(r"(\d\d+):([0-5]\d):([0-5]\d)[,.](\d\d\d)")
SECONDS = st.floats(0, 400_000, allow_nan=False)
# Anything that fits on a line, marks of markup included.
LINES = st.text(st.characters(codec="utf-8", exclude_categories=("C", "Z")), min_size=1).filter(str.strip)
CUES = st.lists(st.builds(Cue, SECONDS, SECONDS, LINES), max_size=5)
WORDS = st.lists(
    st.tuples(
        LINES | st.sampled_from(["Hi", ",", ".", "a-b", "“", "你好", "¿"]),
        st.floats(0, 3),
        st.sampled_from(["", " ", " ", "\n"]),
    ),
    max_size=30,
)


def seconds_of(clock: str) -> float:
    found = CLOCK.fullmatch(clock)
    assert found, clock
    hours, minutes, seconds, milliseconds = map(int, found.groups())
    return 3600 * hours + 60 * minutes + seconds + milliseconds / 1000


def parsed(content: str) -> list[Cue]:
    """Reads SRT or WebVTT the way players do: blocks between empty lines, a time line, then text."""
    found = []
    for block in content.removeprefix("WEBVTT\n").strip("\n").split("\n\n"):
        lines = block.split("\n")
        place = next((at for at, line in enumerate(lines) if " --> " in line), None)
        if place is not None:
            start, _, end = lines[place].partition(" --> ")
            found.append(Cue(seconds_of(start), seconds_of(end), "\n".join(lines[place + 1 :])))
    return found


@given(CUES)
def test_vtt_is_read_back_with_its_markup_escaped(made: list[Cue]) -> None:
    content = as_vtt(made)
    found = parsed(content)
    assert [html.unescape(cue.text) for cue in found] == [cue.text for cue in made]
    assert len(found) == len(made)
    for cue, origin in zip(found, made, strict=True):
        assert cue.start == pytest.approx(origin.start, abs=0.000501)
        assert cue.end == pytest.approx(origin.end, abs=0.000501)
    assert content.startswith("WEBVTT\n")
    assert not re.search(r"[<>]", "".join(cue.text for cue in found))


@given(CUES)
def test_srt_is_read_back_and_numbered_from_one(made: list[Cue]) -> None:
    content = as_srt(made)
    found = parsed(content)
    assert [cue.text for cue in found] == [cue.text.replace("-->", "→") for cue in made]
    assert re.findall(r"(?m)^(\d+)\n[\d:,]+ --> ", content) == [
        str(number + 1) for number in range(len(made))
    ]


def timed(words: list[tuple[str, float, str]]) -> tuple[str, list[Timing]]:
    """A text and when its words are heard, one after the other."""
    timings, now = [], 0.0
    for text, length, _ in words:
        timings.append(Timing(text, now, now + length))
        now += length
    return "".join(text + space for text, _, space in words), timings


@given(WORDS)
def test_cues_follow_each_other_and_hold_the_whole_text(words: list[tuple[str, float, str]]) -> None:
    text, timings = timed(words)
    made = cues(text, timings)
    for cue in made:
        assert cue.start < cue.end
        assert cue.text == " ".join(cue.text.split()) != ""
    for one, other in pairwise(made):
        assert one.end <= other.start
    assert "".join("".join(cue.text for cue in made).split()) == "".join(text.split())


def test_a_cue_ends_with_its_sentence_and_keeps_what_is_not_spoken() -> None:
    text = "¿Qué tal? «Bien», dijo.\nDr. No: 3.14!"
    spoken = ["Qué", "tal", "?", "Bien", ",", "dijo", ".", "Dr", ".", "No", ":", "3.14", "!"]
    timings = [Timing(word, at / 2, at / 2 + 0.5) for at, word in enumerate(spoken)]
    assert [cue.text for cue in cues(text, timings)] == ["¿Qué tal?", "«Bien», dijo.", "Dr. No: 3.14!"]


def test_a_cue_is_no_longer_than_two_lines_and_ends_before_a_pause() -> None:
    text, timings = timed([("word", 0.1, " ")] * 60)
    made = cues(text, timings)
    assert max(len(cue.text) for cue in made) <= 84
    assert len(made) == 4
    assert [cue.text for cue in cues("a b", [Timing("a", 0, 1), Timing("b", 3, 4)])] == ["a", "b"]
    assert (
        len(cues("a b c", [Timing(word, at, at + 5) for at, word in zip((0, 5, 10), "abc", strict=True)]))
        == 3
    )


def test_words_that_are_written_otherwise_are_shown_as_they_are_written() -> None:
    timings = [Timing("twenty", 1, 2), Timing("one", 2, 3), Timing("words", 3, 4)]
    assert cues("21 words.", timings) == [Cue(1, 4, "21 words.")]
    said = [Timing("Hi", 0, 1), *timings]
    assert cues("Hi. 21 words.", said) == [Cue(0, 1, "Hi."), Cue(1, 4, "21 words.")]
    assert cues("So 21", [Timing("So", 0, 1), *timings[:2]]) == [Cue(0, 3, "So 21")]


def test_phonemes_alone_are_words_between_spaces() -> None:
    tokens = [Timing(phoneme, at, at + 1) for at, phoneme in enumerate("ab  c.")]
    assert phoneme_words("", tokens) == [Timing("ab", 0, 2), Timing("c.", 4, 6)]
    # No space is spoken between segments.
    assert phoneme_words("a\n\nb  c.", tokens) == [Timing("a", 0, 1), Timing("b", 1, 2), Timing("c.", 4, 6)]


def test_cues_end_with_segments_and_headings(tmp_path: Path) -> None:
    text, timings = timed([("Chapter", 1, " "), ("One", 1, "\n\n"), ("Mr", 1, ". "), ("Ox", 1, "")])
    assert [cue.text for cue in cues(text, timings)] == ["Chapter One", "Mr. Ox"]
    tokens = [Timing(phoneme, at / 4, (at + 1) / 4) for at, phoneme in enumerate("wˈʌntˈu θɹˈi")]
    write_timings(tmp_path / "x.srt", "wˈʌn\n\ntˈu θɹˈi", [], tokens)
    assert [cue.text for cue in parsed((tmp_path / "x.srt").read_text())] == ["wˈʌn", "tˈu θɹˈi"]


def test_chinese_is_cut_at_the_end_of_a_sentence() -> None:
    text = "你好。再见。"
    timings = [Timing(word, at, at + 1) for at, word in enumerate(["你好", "。", "再见", "。"])]
    assert [cue.text for cue in cues(text, timings)] == ["你好。", "再见。"]


def test_hours_and_the_first_and_last_millisecond_are_written() -> None:
    assert "00:00:00,000 --> 27:46:39,999" in as_srt([Cue(0.0, 99_999.9994, "x")])
    assert "00:59:59.999 --> 01:00:00.000" in as_vtt([Cue(3599.9994, 3599.9996, "x")])


def test_the_suffix_chooses_the_format(tmp_path: Path) -> None:
    tokens = [Timing("a", 0.0, 0.5), Timing("b", 0.5, 1.0)]
    for name in ("x.srt", "x.VTT", "x.json"):
        write_timings(tmp_path / name, "ab", [], tokens)
    assert parsed((tmp_path / "x.srt").read_text()) == [Cue(0.0, 1.0, "ab")]
    assert parsed((tmp_path / "x.VTT").read_text()) == [Cue(0.0, 1.0, "ab")]
    found = json.loads((tmp_path / "x.json").read_text())
    assert found == {"text": "ab", "words": [], "tokens": [token._asdict() for token in tokens]}
    with pytest.raises(OutputError, match="cannot be written"):
        write_timings(tmp_path / "missing" / "x.srt", "ab", [], tokens)


@given(st.text(), st.lists(st.builds(Timing, st.text(), SECONDS, SECONDS)))
def test_json_holds_every_bit(text: str, timings: list[Timing]) -> None:
    found = json.loads(as_json(text, timings, timings))
    assert found["text"] == text
    assert (
        [Timing(**each) for each in found["tokens"]] == timings == [Timing(**each) for each in found["words"]]
    )
