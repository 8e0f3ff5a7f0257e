"""The runtime's command reads, speaks and writes; the bundle here is a fake that says silence."""

from __future__ import annotations

import json
import re
import shlex
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from runtime_min import speak_arguments
from runtime_min.errors import EmptyInputError, ModelOutputError
from runtime_min.model.voices import VoiceName
from runtime_min.speech.timing import Audio, Timing
from runtime_min.speech.words import Segment

RATE = 24_000


class FakeBundle:
    """Says 100 samples of silence for each phoneme, a word at a time, and remembers what it was asked for."""

    asked: tuple[str, Any, dict[str, Any]]
    failure: BaseException | None = None
    threads = 2
    max_phonemes = 20
    voices = (VoiceName("af_heart"), VoiceName("custom"))
    manifest = SimpleNamespace(model=SimpleNamespace(synthetic=True), audio=SimpleNamespace(sample_rate=RATE))

    def __enter__(self) -> FakeBundle:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def find_g2p(self, language: str, *, lexicon: Any, skip_emoji: bool) -> tuple[str, Callable[[str], str]]:
        self.lexicon = lexicon
        return f"upper ({language})", str.upper

    def speaks(self, language: str) -> bool:
        return language == "en-US"

    def synthesize(self, text: Any, voice: str, *, phonemes: Any, **manner: Any) -> Audio:
        self.asked = ("synthesize", text or phonemes, {"voice": voice, **manner})
        (piece,) = self._pieces(text, phonemes, whole=True)
        return piece

    @contextmanager
    def stream(self, text: Any, voice: str, *, phonemes: Any, **manner: Any) -> Iterator[Any]:
        self.asked = ("stream", text or phonemes, {"voice": voice, **manner})
        pieces = list(self._pieces(text, phonemes))

        class Pieces:
            phonemes = "".join(piece.phonemes for piece in pieces)

            def __iter__(this) -> Iterator[Audio]:
                yield pieces[0]
                if self.failure is not None:
                    raise self.failure
                yield from pieces[1:]

        yield Pieces()

    def _pieces(self, text: Any, phonemes: Any, whole: bool = False) -> Iterator[Audio]:
        given = phonemes if text is None else text
        parts = [each.content for each in given] if isinstance(given, list) else [given]
        spoken = " ".join(parts) if text is None else " ".join(parts).upper()
        if not spoken:
            raise EmptyInputError
        for word in [spoken] if whole else spoken.split(" "):
            tokens = tuple(Timing(phoneme, 0.0, 0.5) for phoneme in word)
            yield Audio(
                np.zeros(100 * len(word), np.float32), RATE, np.ones(1, np.int64), word, tokens, tokens
            )


@pytest.fixture
def bundle(monkeypatch: pytest.MonkeyPatch) -> FakeBundle:
    fake = FakeBundle()
    monkeypatch.setattr(speak_arguments, "load_bundle", lambda *_, **__: fake)
    return fake


@pytest.fixture
def run(bundle: FakeBundle, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., int]:
    monkeypatch.chdir(tmp_path)
    return lambda *options: speak_arguments.run(["bundle", *options])


# The help, and what is wrong usage.


def test_the_help_fits_on_a_screen_and_its_examples_are_valid(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "argv", ["runtime_min/__main__.py"])
    with pytest.raises(SystemExit, match="0"):
        speak_arguments.run(["--help"])
    shown = capsys.readouterr().out
    assert len(shown.splitlines()) <= 40
    assert max(map(len, shown.splitlines())) <= 100
    examples = re.findall(r"^  .*python -m runtime_min (.*?)(?: \|.*)?$", shown, re.MULTILINE)
    assert len(examples) == 2
    for example in examples:
        assert speak_arguments.parse(shlex.split(example)).bundle == Path("bundles/kokoro")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--list-voices"], "BUNDLE"),
        (["bundle"], "one of the arguments --phonemes"),
        (["bundle", "--phonemes", "a", "--text", "b"], "not allowed with"),
        (["bundle", "--phonemes", "a", "--timings", "x.txt"], r"\.srt, \.vtt, \.json"),
        (["bundle", "--phonemes", "a", "-o", "x.aac"], r"one of \.wav, \.flac, \.mp3, \.ogg, \.opus"),
        (["bundle", "--phonemes", "a", "-o", "x"], r"one of \.wav, \.flac"),
        (["bundle", "--phonemes", "a", "-o", "x.MP3", "--format", "float"], "ends with .wav or .raw"),
        (["bundle", "--phonemes", "a", "-o", "x.flac", "--raw"], "ends with .wav or .raw"),
        (["bundle", "--phonemes", "a", "-o", "x.srt", "--raw", "--timings", "./x.srt"], "are one file"),
        (["bundle", "--text-file", "a.srt", "--timings", "a.srt"], "are one file"),
        (["bundle", "--phonemes", "a", "--format", "mp3"], "invalid choice"),
        (["bundle", "--phonemes", "a", "--speed", "fast"], "invalid float"),
        (["bundle", "--phonemes", "a", "--print-phonemes"], "expected --text or --text-file"),
    ],
)
def test_wrong_usage_is_refused(options: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert speak_arguments.run(options) == 2
    told = capsys.readouterr()
    assert re.fullmatch("error: [^\n]*\n", told.err) and re.search(message, told.err)
    assert told.out == ""


# What is spoken.


def test_a_file_of_one_utterance_is_spoken_as_one_and_a_pipe_or_more_in_pieces(
    run: Callable[..., int], bundle: FakeBundle, capfdbinary: Any
) -> None:
    assert run("--phonemes", "ab ab") == 0
    assert bundle.asked[:2] == ("synthesize", "ab ab")
    assert run("--phonemes", "ab ab", "-o", "-") == 0
    assert bundle.asked[:2] == ("stream", "ab ab")
    assert run("--phonemes", "ab " * 10) == 0
    assert bundle.asked[0] == "stream"


def test_the_options_are_handed_on(run: Callable[..., int], bundle: FakeBundle) -> None:
    blend = "af_heart*0.7+am_adam*0.3"
    how = ("--speed", "1.5", "--pause", "0.4", "--seed", "7", "--end-pause", "0.5", "--loudness", "-18")
    assert run("--phonemes", "a", "--voice", blend, *how) == 0
    assert bundle.asked[2] == {
        "voice": blend, "speed": 1.5, "seed": 7, "trim": True, "end_pause": 0.5, "loudness": -18,
        "stretch": True, "sentence_pause": 0.4, "clause_pause": 0.2,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("options", "trim"), [([], False), (["--end-pause", "0"], True), (["-o", "-"], True)]
)
def test_a_file_has_the_silence_of_the_model_and_standard_output_begins_at_once(
    run: Callable[..., int], bundle: FakeBundle, capfdbinary: Any, options: list[str], trim: bool
) -> None:
    assert run("--phonemes", "a", *options) == 0
    assert bundle.asked[2]["trim"] is trim


def test_paragraphs_are_segments_and_line_breaks_spaces(
    run: Callable[..., int], bundle: FakeBundle, tmp_path: Path
) -> None:
    (tmp_path / "in.txt").write_bytes("\ufeffab\r\n ab\n\n\n  \n\nc\n".encode())
    assert run("--phonemes-file", "in.txt") == 0
    assert bundle.asked[1] == [Segment("ab ab"), Segment("c")]


@pytest.mark.parametrize(
    ("options", "language"),
    [
        (["--voice", "ef_dora*0.5 + af_heart"], "es"),
        ([], "en-US"),
        (["--language", "fr"], "fr"),
        (["--voice", "custom", "--language", "it"], "it"),
    ],
)
def test_the_language_of_a_text_is_the_voices_unless_it_is_said(
    run: Callable[..., int],
    bundle: FakeBundle,
    capsys: pytest.CaptureFixture[str],
    options: list[str],
    language: str,
) -> None:
    assert run("--text", "ab", *options) == 0
    given = options[-1] if "--language" in options else None
    how = {"ssml": False, "skip_emoji": False, "language": given, "lexicon": None}
    assert bundle.asked[2].items() >= how.items()
    assert f"upper ({language})" in capsys.readouterr().err


def test_an_ssml_document_is_handed_on_whole(run: Callable[..., int], bundle: FakeBundle) -> None:
    document = "<speak>a\n\nb</speak>"
    assert run("--text", document, "--ssml") == 0
    assert bundle.asked[1] == document and bundle.asked[2]["ssml"]
    assert run("--phonemes", "a", "--ssml") == run("--text", "a", "--ssml", "--print-phonemes") == 2


def test_the_phonemes_of_each_line_are_printed_and_nothing_is_spoken(
    run: Callable[..., int], bundle: FakeBundle, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "in.txt").write_text("ab a\n\nc\n")
    (tmp_path / "words.txt").write_text("# of my own\nGIF ʤˈɪf\nlead NOUN lˈɛd\n")
    assert run("--text-file", "in.txt", "--print-phonemes", "--lexicon", "words.txt") == 0
    assert capsys.readouterr().out == "AB A\n\nC\n"
    assert not hasattr(bundle, "asked")
    assert bundle.lexicon == {"GIF": {"DEFAULT": "ʤˈɪf"}, "lead": {"NOUN": "lˈɛd"}}


REFUSED = {
    "a lexicon that is none": (["--text", "a", "--lexicon", "latin1.txt"], 3, "latin1.txt is not UTF-8"),
    "no lexicon": (["--text", "a", "--lexicon", "no.txt"], 3, "no.txt cannot be read"),
    "a word without phonemes": (["--text", "a", "--lexicon", "list.txt"], 3, "list.txt, line 2: expected a"),
    "a voice of no language": (["--text", "a", "--voice", "custom"], 3, "not known from the voice 'custom'"),
    "a text that is not UTF-8": (["--text-file", "latin1.txt"], 3, "latin1.txt is not UTF-8: see its byte 2"),
    "a book": (["--text-file", "book.epub"], 3, "book.epub is not text: it begins as an EPUB"),
    "a page": (["--phonemes-file", "book.pdf"], 3, "book.pdf is not text: it begins as a PDF"),
    "a file that is not there": (["--phonemes-file", "no.txt"], 3, "no.txt cannot be read: No such file"),
    "nothing to say": (["--phonemes", " \n "], 3, "at least one phoneme"),
    "nowhere to write": (["--phonemes", "a", "-o", "no/x.wav"], 6, "no/x.wav cannot be written"),
    "nowhere to write timings": (["--phonemes", "a", "--timings", "no/x.srt"], 6, "no/x.srt cannot be"),
}  # fmt: skip


@pytest.mark.parametrize(("options", "code", "message"), REFUSED.values(), ids=REFUSED)
def test_what_cannot_be_done_is_told_in_a_line(
    run: Callable[..., int],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    options: list[str],
    code: int,
    message: str,
) -> None:
    (tmp_path / "latin1.txt").write_bytes(b"ni\xf1o")
    (tmp_path / "list.txt").write_text("a A\nb\n")
    (tmp_path / "book.epub").write_bytes(b"PK\x03\x04\n\0mimetypeapplication/epub+zip")
    (tmp_path / "book.pdf").write_bytes(b"%PDF-1.7")
    assert run(*options) == code
    told = capsys.readouterr()
    assert message in told.err and told.out == ""


# What is written.


def test_a_stream_on_standard_output_is_the_samples_and_nothing_else(
    run: Callable[..., int], capfdbinary: Any
) -> None:
    assert run("--phonemes", "ab abc", "-o", "-", "--raw", "--format", "pcm16") == 0
    told = capfdbinary.readouterr()
    assert told.out == bytes(2 * 500)
    assert re.findall(rb"(\d+)%", told.err) == [b"40", b"100"]


def test_progress_is_quiet_on_request_but_for_the_warning(
    run: Callable[..., int], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("--phonemes", "ab", "-q") == 0
    assert re.fullmatch("warning: THIS BUNDLE BABBLES.*\n", capsys.readouterr().err)


def test_timings_are_written_for_what_was_spoken(run: Callable[..., int], tmp_path: Path) -> None:
    assert run("--phonemes", "ab c", "--timings", "x.json") == 0
    found = json.loads((tmp_path / "x.json").read_text(encoding="utf-8"))
    assert (found["text"], len(found["tokens"])) == ("ab c", 4)


@pytest.mark.parametrize(
    ("options", "shown"),
    [
        (["--text", "[ab](/a/) c"], "ab c"),
        (["--text", "ab [pause:1s] c"], "ab   c"),
        (["--ssml", "--text", "<speak>[ab](/a/) &amp; <break/><p>c</p></speak>"], "ab & c"),
    ],
)
def test_the_text_of_timings_is_what_a_reader_sees(
    run: Callable[..., int], tmp_path: Path, options: list[str], shown: str
) -> None:
    assert run(*options, "--timings", "x.json") == 0
    assert json.loads((tmp_path / "x.json").read_text(encoding="utf-8"))["text"] == shown


@pytest.mark.parametrize("failure", [ModelOutputError("NaN"), KeyboardInterrupt()], ids=repr)
def test_what_fails_in_the_middle_leaves_the_earlier_file_and_nothing_else(
    run: Callable[..., int], bundle: FakeBundle, tmp_path: Path, failure: BaseException
) -> None:
    (tmp_path / "x.wav").write_bytes(b"earlier")
    bundle.failure = failure
    options = ("--phonemes", "ab " * 10, "-o", "x.wav", "--timings", "x.srt")
    if isinstance(failure, KeyboardInterrupt):
        with pytest.raises(KeyboardInterrupt):
            run(*options)
    else:
        assert run(*options) == 4
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == {"x.wav": b"earlier"}


def test_voices_are_listed_with_language_and_sex_and_what_they_speak(
    run: Callable[..., int], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("--list-voices") == 0
    assert capsys.readouterr().out == "af_heart\ten-US\tfemale\ttext, phonemes\ncustom\t\t\tphonemes\n"


def test_a_terminal_is_not_sent_samples(
    run: Callable[..., int], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("os.isatty", lambda descriptor: True)
    assert run("--phonemes", "ab", "-o", "-") == 6
    assert "aplay" in capsys.readouterr().err


def test_at_a_terminal_progress_is_one_line_that_is_written_over(
    run: Callable[..., int], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    assert run("--phonemes", "ab " * 10) == 0
    told = capsys.readouterr().err
    assert told.count("\n") == 2 and told.count("\r") == 11
    assert told.count("\x1b[K") == 12
