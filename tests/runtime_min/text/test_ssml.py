"""SSML and pauses become segments of text, or an error says what is expected."""

from __future__ import annotations

import time
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime_min import Segment
from runtime_min.errors import MarkupError
from runtime_min.text.pauses import read_pauses
from runtime_min.text.ssml import read_ssml


@pytest.mark.parametrize(
    ("content", "segments"),
    [
        ("Hello, world!", [Segment("Hello, world!", None, 1.0)]),
        ("One.<break time='500ms'/>Two.", [Segment("One.", None, 1.0, 0.5), Segment("Two.", None, 1.0)]),
        ("One<!-- no --> and<?no no?> two", [Segment("One and two", None, 1.0)]),
        ("One<break/>two", [Segment("One", None, 1.0, 0.5), Segment("two", None, 1.0)]),
        ("a<break strength='weak'/><break time='2s'/>b",
         [Segment("a", None, 1.0, 2.0), Segment("b", None, 1.0)]),
        ("<p><s>One</s> <s>two</s></p>", [Segment("One", None, 1.0), Segment("two", None, 1.0)]),
        ("<voice name='am_adam'>I</voice> you", [Segment("I", "am_adam", 1.0), Segment("you", None, 1.0)]),
        ("a <prosody rate='80%'>b<prosody rate='fast'> c</prosody></prosody>",
         [Segment("a", None, 1.0), Segment("b", None, 0.8), Segment("c", None, 1.0)]),
        ("<sub alias='et cetera'>etc</sub> goes on", [Segment("et cetera goes on", None, 1.0)]),
        ("the <phoneme alphabet='ipa' ph='ʤˈɪf'>GIF</phoneme>", [Segment("the [GIF](/ʤˈɪf/)", None, 1.0)]),
        ("<say-as interpret-as='characters'>ab 1</say-as>", [Segment("A B 1", None, 1.0)]),
        ("on <say-as interpret-as='date' format='dmy'>3.5.</say-as>", [Segment("on 3.5.", None, 1.0)]),
        ("he <emphasis>did [it]</emphasis>", [Segment("he [did (it)](+1)", None, 1.0)]),
        ("<emphasis level='reduced'>so</emphasis> <emphasis level='none'>so</emphasis>",
         [Segment("[so](-1) so", None, 1.0)]),
        ("<s xml:lang='es'>No.</s> a", [Segment("No.", None, 1.0, language="es"), Segment("a", None, 1.0)]),
        ("a<lang xml:lang='fr-FR'> oui\n [non] </lang>!",
         [Segment("a[ oui (non) ](lang:fr-FR)!", None, 1.0)]),
        ("<lang xml:lang='it'>sì <voice name='if_sara'>no</voice></lang>",
         [Segment("sì", None, 1.0, language="it"), Segment("no", "if_sara", 1.0, language="it")]),
        (f"<lang xml:lang='it'>{'sì ' * 50}!</lang>",
         [Segment("sì " * 50 + "!", None, 1.0, language="it")]),
    ],
)  # fmt: skip
def test_elements_become_segments(content: str, segments: list[Segment]) -> None:
    assert read_ssml(f"<speak version='1.1' xml:lang='en-US'>{content}</speak>") == segments
    namespace = "http://www.w3.org/2001/10/synthesis"
    assert read_ssml(f"<speak xmlns='{namespace}'>{content}</speak>") == segments


@pytest.mark.parametrize(
    ("markup", "message"),
    [
        ("Hello", "not well-formed"),
        ("<speak>Hello", "not well-formed"),
        ("<p>Hello</p>", "begins with <p>: expected <speak>"),
        ("<speak><audio src='x'/></speak>", "has <audio>: expected one of speak, p, s, break"),
        ("<speak><prosody pitch='high'>a</prosody></speak>", "attribute 'pitch': expected rate"),
        ("<speak><prosody rate='warp'>a</prosody></speak>", "rate 'warp': expected x-slow"),
        ("<speak><break time='soon'/></speak>", "pause 'soon' is wrong: expected 0s to 60s"),
        ("<speak><break time='61s'/></speak>", "expected 0s to 60s"),
        ("<speak><voice>a</voice></speak>", "<voice> of the SSML has no name"),
        ("<speak><sub alias='a'><p/></sub></speak>", "has <p> within <sub>: expected text alone"),
        ("<speak><phoneme alphabet='x-sampa' ph='a'>a</phoneme></speak>", "alphabet 'x-sampa': expected ipa"),
        ("<speak><phoneme ph='a)'>a</phoneme></speak>", "ph 'a\\)': expected phonemes without brackets"),
        ("<speak><emphasis level='x'>a</emphasis></speak>", "level 'x': expected strong, moderate"),
        ("<speak><emphasis>a <s/></emphasis></speak>", "has <s> within <emphasis>: expected text alone"),
        ("<speak><lang>a</lang></speak>", "<lang> of the SSML has no xml:lang"),
        ("<speak><p xml:lang='a)'>a</p></speak>", "language 'a\\)': expected a tag such as fr"),
        ("<speak><say-as interpret-as='x'>a</say-as></speak>", "interpret-as 'x': expected characters"),
        ("<!DOCTYPE speak [<!ENTITY a 'b'>]><speak>&a;</speak>", "DOCTYPE"),
        ("<speak>" + "<p>" * 60 + "</p>" * 60 + "</speak>", "nested deeper"),
        ("<speak>\ud800</speak>", "not well-formed"),
    ],
)
def test_what_is_not_supported_is_named_with_what_is(markup: str, message: str) -> None:
    with pytest.raises(MarkupError, match=message):
        read_ssml(markup)


@pytest.mark.parametrize(
    "markup",
    [
        "<{}/>",
        "<speak {}='1'/>",
        "<speak><{}/></speak>",
        "<speak><break time='{}'/></speak>",
        "<speak><break strength='{}'/></speak>",
        "<speak><sub alias='a'><{}/></sub></speak>",
    ],
)
def test_errors_are_short(markup: str) -> None:
    with pytest.raises(MarkupError) as error:
        read_ssml(markup.format("a" * 100_000))
    assert len(str(error.value)) < 300


def test_phonemes_are_those_of_any_text() -> None:
    document = "<speak><phoneme ph='ˈA'>a[1] (b)](/c/)</phoneme></speak>"
    assert read_ssml(document) == [Segment("[a(1) (b))(/c/)](/ˈA/)", None, 1.0)]


@given(st.text())
def test_any_markup_is_read_or_refused(markup: str) -> None:
    for document in (markup, f"<speak>{markup}</speak>"):
        with suppress(MarkupError):
            assert all(segment.content for segment in read_ssml(document))


def test_a_long_document_takes_no_longer_than_its_length() -> None:
    started = time.perf_counter()
    assert len(read_ssml("<speak>" + "a<break/>" * 50_000 + "</speak>")) == 50_000
    assert len(read_pauses(Segment("a[pause:1s]" * 50_000))) == 50_000
    assert time.perf_counter() - started < 20


def test_pauses_divide_a_text() -> None:
    text = Segment("[pause:1s]One. [pause:0.5s][pause:250ms] Two![pause:2s]", "af_heart", 1.5)
    one, two = read_pauses(text)
    assert (one.content.strip(), one.voice, one.speed, one.pause) == ("One.", "af_heart", 1.5, 0.5)
    assert (two.content.strip(), two.pause) == ("Two!", 2.0)
    with pytest.raises(MarkupError, match=r"'\.': expected|'\.' is wrong"):
        read_pauses(Segment("a [pause:.] b"))
