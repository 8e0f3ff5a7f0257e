"""Text is read as far as it is spoken, and what cannot be spoken is listed: in apps and by the command."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime_min import Audio, Segment, Unspoken, speak_arguments, speak_command
from runtime_min.errors import EmptyInputError, MarkupError, SpeedError, UnknownVoiceError
from tests.support.fakes.text_bundle import TextBundle, count_read

SENTENCE = "The cat sat on the mat, and was happy. "
BOOK = SENTENCE * 400
"""3,600 words."""
READ_FIRST = 5_000
"""Characters that may be read before the first audio."""
MANNERS: dict[str, tuple[Any, dict[str, bool]]] = {
    "text": (BOOK, {}),
    "segments": ([Segment(SENTENCE * 4)] * 100, {}),
    "SSML": (f"<speak><p>{SENTENCE * 200}</p><p>{SENTENCE * 200}</p></speak>", {"ssml": True}),
}


@pytest.fixture
def bundle(text_bundle: Path) -> Iterator[TextBundle]:
    bundle = TextBundle(text_bundle)
    yield bundle
    bundle.close()


@pytest.fixture(scope="module")
def open_text_bundle(text_bundle: Path) -> TextBundle:
    return TextBundle(text_bundle)


@pytest.mark.parametrize("name", MANNERS)
def test_the_first_audio_does_not_wait_for_the_end_of_the_text(
    bundle: TextBundle, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    content, manner = MANNERS[name]
    read = count_read(monkeypatch)
    bundle.gate.clear()
    with bundle.stream(content, **manner) as stream:
        assert next(stream).phonemes.startswith("ðə kˈæt")
        assert 0 < sum(read) < READ_FIRST
    read.clear()
    pieces = bundle.pieces(content, **manner)
    assert len(next(pieces).samples) and sum(read) < READ_FIRST
    bundle.gate.set()
    assert "".join(piece.phonemes for piece in pieces).endswith("hˈæpi.")


@pytest.mark.parametrize("source", ["file", "standard input", "SSML"])
def test_the_command_sends_audio_on_before_it_has_read_the_text(
    bundle: TextBundle, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capfdbinary: Any, source: str
) -> None:
    read, written = count_read(monkeypatch), threading.Event()
    spoken = {"SSML": f"<speak>{BOOK}</speak>"}.get(source, BOOK.replace("happy. ", "happy.\n\n"))
    (tmp_path / "in.txt").write_text(spoken)
    monkeypatch.setattr(speak_arguments, "load_bundle", lambda *_, **__: bundle)
    monkeypatch.setattr(speak_command._Progress, "piece", lambda *_: written.set())
    monkeypatch.setattr("sys.stdin", open(tmp_path / "in.txt"))  # noqa: SIM115
    options = {"file": ["--text-file", str(tmp_path / "in.txt")], "SSML": ["--ssml", "--text", "-"]}
    bundle.gate.clear()
    arguments_given = ["bundle", *options.get(source, ["--text", "-"]), "-o", "-", "--raw", "--threads", "1"]
    running = threading.Thread(target=speak_arguments.run, args=(arguments_given,))
    running.start()
    assert written.wait(20) and 0 < sum(read) < READ_FIRST
    bundle.gate.set()
    running.join()
    assert sum(read) > 0.9 * len(BOOK) and capfdbinary.readouterr().out


# What cannot be spoken.


SPEAKERS: dict[str, Callable[..., Audio]] = {
    "synthesize": lambda bundle, *spoken, **manner: bundle.synthesize(*spoken, **manner),
    "stream": lambda bundle, *spoken, **manner: Audio.join(bundle.stream(*spoken, **manner)),
    "pieces": lambda bundle, *spoken, **manner: Audio.join(bundle.pieces(*spoken, **manner)),
}
SILENT = {
    "between": (f"{SENTENCE * 90}\n\n세계\n\nYes.", 3_512),
    "at the end": (f"Yes.\n\n{' ' * 4_000}세계", 4_006),
    "at the beginning": (f"세계{' ' * 4_000}Yes.", 0),
}


@pytest.mark.parametrize("speaker", SPEAKERS)
@pytest.mark.parametrize("name", SILENT)
def test_a_part_of_a_text_that_cannot_be_spoken_is_listed(
    bundle: TextBundle, speaker: str, name: str
) -> None:
    text, offset = SILENT[name]
    audio = SPEAKERS[speaker](bundle, text)
    assert audio.unspoken == (Unspoken("세계", offset),) and audio.phonemes.endswith("jˈɛs.")


PARTS = st.lists(st.sampled_from(["Yes. ", "세 ", "* ", "[pause:1s]", "\n\n", "\u200d "]), max_size=8)


@given(PARTS, st.sampled_from(list(SPEAKERS)), st.booleans())
def test_every_word_is_spoken_or_listed(
    open_text_bundle: TextBundle, parts: list[str], speaker: str, segments: bool
) -> None:
    content = [Segment(part) for part in parts] if segments else "".join(parts)
    if not any("Yes" in part for part in parts):
        return
    audio = SPEAKERS[speaker](open_text_bundle, content)
    written = "".join(parts)
    assert [word.text for word in audio.words].count("Yes") == written.count("Yes")
    assert "".join(word.text for word in audio.unspoken).count("세") == written.count("세")
    if "[" not in written:
        assert all(written.startswith(word.text, word.offset) for word in audio.unspoken)


def test_text_of_which_nothing_can_be_spoken_is_refused(bundle: TextBundle) -> None:
    for text in ("", " \n", "세계", "* * *", "[pause:1s]", [Segment("세계"), Segment("")]):
        for speaker in SPEAKERS.values():
            with pytest.raises(EmptyInputError, match="text '세계'" if "세" in str(text) else "."):
                speaker(bundle, text)


def test_what_a_g2p_has_no_phonemes_for_is_listed_whole(bundle: TextBundle) -> None:
    segments = [Segment("Yes. "), Segment("?"), Segment("No.")]
    audio = bundle.synthesize(segments, g2p=lambda text: "" if text == "?" else "ab.")
    assert audio.unspoken == (Unspoken("?", 0),)


WRONG = {
    "a voice": ("<speak>Yes.<voice name='af_nobody'>Yes.</voice></speak>", UnknownVoiceError),
    "a speed": ("<speak>Yes.<prosody rate='9'>Yes.</prosody></speak>", SpeedError),
    "a pause": ("<speak>Yes.<p>Yes. [pause:1h]</p></speak>", MarkupError),
    "a pause before all text": ("<speak>[pause:1h] Yes.</speak>", MarkupError),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_later_in_a_text_is_refused_at_once(bundle: TextBundle, name: str) -> None:
    document, error = WRONG[name]
    with pytest.raises(error):
        bundle.stream(document, ssml=True)


def test_the_command_warns_of_what_it_leaves_out_by_its_place_in_the_file(
    bundle: TextBundle, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "in.txt").write_text("\n\nYes.\n\n\n세계\n\nIt is 계.\n")
    monkeypatch.setattr(speak_arguments, "load_bundle", lambda *_, **__: bundle)
    monkeypatch.chdir(tmp_path)
    assert speak_arguments.run(["bundle", "--text-file", "in.txt"]) == 0
    told = capsys.readouterr().err
    assert "'세계' cannot be spoken: see character 9." in told
    assert "'계' cannot be spoken: see character 19." in told


def test_lines_that_cannot_be_spoken_have_no_phonemes(
    bundle: TextBundle, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(speak_arguments, "load_bundle", lambda *_, **__: bundle)
    text = "Yes. [pause:1s] Yes.\n* * *\n세\n"
    assert speak_arguments.run(["bundle", "--text", text, "--print-phonemes"]) == 0
    assert capsys.readouterr().out == "jˈɛs. jˈɛs.\n\n\n"


EMOJI = "Hi 😀! 👍🏽 It is 🇺🇸 ① [Kokoro](/kˈOkəɹO/)❤️."


def test_emoji_are_named_or_skipped(
    bundle: TextBundle, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    named, skipped = (bundle.synthesize(EMOJI, skip_emoji=skip) for skip in (False, True))
    assert "ɡɹˈɪnɪŋ" in named.phonemes
    assert skipped.phonemes.split() == ["hˈI", "!", "ˌɪt", "ɪz", "wˈʌn", "kˈOkəɹO."]
    assert skipped.unspoken == ()
    assert [word.text for word in skipped.words] == ["Hi", "!", "It", "is", "①", "Kokoro", "."]
    segments = [Segment("😀"), Segment("Hi.")]
    assert Audio.join(bundle.stream(segments, skip_emoji=True)).phonemes == "hˈI."
    with pytest.raises(EmptyInputError):
        bundle.synthesize("😀", skip_emoji=True)
    monkeypatch.setattr(speak_arguments, "load_bundle", lambda *_, **__: bundle)
    assert speak_arguments.run(["bundle", "--text", EMOJI, "--skip-emoji", "--print-phonemes"]) == 0
    assert capsys.readouterr().out.split() == skipped.phonemes.split()
