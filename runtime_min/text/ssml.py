"""SSML, a subset: text with pauses, voices, speeds, languages and pronunciations.

>>> read_ssml('<speak>Wait. <break time="1s"/> <voice name="am_adam">Now!</voice></speak>')
[Segment('Wait.', None, 1.0, pause=1.0), Segment('Now!', 'am_adam', 1.0)]
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from xml.etree import ElementTree

from ..errors import MarkupError, SpokenTypeError
from ..speech.words import Segment
from .pauses import longer_pause, seconds

_ATTRIBUTES: Mapping[str, tuple[str, ...]] = {
    "speak": ("version", "lang"), "p": ("lang",), "s": ("lang",), "break": ("time", "strength"),
    "say-as": ("interpret-as", "format"), "sub": ("alias",), "phoneme": ("alphabet", "ph"),
    "emphasis": ("level",), "prosody": ("rate",), "voice": ("name", "lang"), "lang": ("lang",),
}  # fmt: skip
"""Attributes by element."""
_WITHIN_SENTENCES = ("say-as", "sub", "phoneme", "emphasis")
"""Elements that contain text alone; all others end a segment at both ends, but for `lang` with short text."""
_LONGEST_LANGUAGE = 150
"""Characters of a part in another language that does not end a segment: no sentence ends within them."""
_TAG = re.compile(r"[A-Za-z0-9_-]+")
"""A tag of BCP 47, also with underscores."""
_STRESSES = {"strong": "+2", "moderate": "+1", "none": "", "reduced": "-1"}
"""Controls of stress, by the level of `emphasis`."""
_STRENGTHS = {"none": 0.0, "x-weak": 0.1, "weak": 0.25, "medium": 0.5, "strong": 1.0, "x-strong": 2.0}
"""Seconds."""
_RATES = {"x-slow": 0.5, "slow": 0.75, "medium": 1.0, "default": 1.0, "fast": 1.25, "x-fast": 1.75}
_RATE = re.compile(r"([0-9]{1,4}(?:\.[0-9]{1,4})?)(%?)")
_PHONEMES = re.compile(r"[^()\n]+")
_NO_BRACKETS = str.maketrans("[]", "()")
_SPELLED = ("characters", "spell-out", "digits")
_AS_WRITTEN = ("cardinal", "number", "ordinal", "date", "time", "telephone", "currency", "fraction", "unit")
"""Kinds of `say-as` that a text's own form tells."""
_DEEPEST = 50


@dataclass(frozen=True)
class _Setting:
    """The settings that hold within an element."""

    voice: str | None
    speed: float
    language: str | None = None


def read_ssml(markup: object, speed: float = 1.0) -> list[Segment]:
    """Returns the segments of text of an SSML document.

    Args:
        markup: the document.
        speed: the speed that the rates multiply.

    Raises:
        SpokenTypeError: the document is not a str.
        MarkupError: the document is not well-formed, or has an element, attribute or value that is not
            supported.
    """
    if not isinstance(markup, str):
        raise SpokenTypeError("an SSML document as str", markup)
    reader = _Reader()
    reader.read(_parse(markup), _Setting(None, speed), 0)
    reader.end_segment(_Setting(None, speed))
    return reader.segments


class _Builder(ElementTree.TreeBuilder):
    def doctype(self, name: str, public: str | None, system: str | None) -> None:
        """Refuses entities, with which a short document can become an endless text."""
        raise MarkupError("The SSML has a DOCTYPE: expected a document without one.")

    # The base class joins the text around each comment anew, in quadratic time.
    def comment(self, text: str | None, /) -> None:  # type: ignore[override]
        """Leaves comments out."""

    def pi(self, target: str, text: str | None = None, /) -> None:  # type: ignore[override]
        """Leaves processing instructions out."""


def _parse(markup: str) -> ElementTree.Element:
    parser = ElementTree.XMLParser(target=_Builder())
    try:
        parser.feed(markup)
        root: ElementTree.Element = parser.close()
    except (ElementTree.ParseError, UnicodeEncodeError) as error:
        raise MarkupError(f"The SSML is not well-formed XML: {error}.") from None
    if _name(root) != "speak":
        raise MarkupError(f"The SSML begins with <{_name(root):.60}>: expected <speak>.")
    _check_attributes(root)
    return root


class _Reader:
    """Collects text until a segment ends."""

    def __init__(self) -> None:
        self.segments: list[Segment] = []
        self._text: list[str] = []

    def read(self, element: ElementTree.Element, setting: _Setting, depth: int) -> None:
        """Reads the content of an element that may contain others."""
        if depth > _DEEPEST:
            raise MarkupError(f"The SSML is nested deeper than {_DEEPEST} elements: expected fewer levels.")
        self._text.append(element.text or "")
        for child in element:
            name = _name(child)
            _check_attributes(child)
            if name in _WITHIN_SENTENCES:
                self._text.append(_spoken(child, name))
            elif name == "lang" and len(child) == 0 and len(child.text or "") <= _LONGEST_LANGUAGE:
                self._text.append(_marked(child))
            else:
                self.end_segment(setting)
                if name == "break":
                    self._pause(child)
                inner = _inner(child, name, setting)
                self.read(child, inner, depth + 1)
                self.end_segment(inner)
            self._text.append(child.tail or "")

    def end_segment(self, setting: _Setting) -> None:
        """Makes a segment of the text since the last one."""
        text = " ".join("".join(self._text).split())
        self._text.clear()
        if text:
            self.segments.append(Segment(text, setting.voice, setting.speed, language=setting.language))

    def _pause(self, element: ElementTree.Element) -> None:
        strength = element.get("strength", "medium")
        if strength not in _STRENGTHS:
            raise _wrong(element, "strength", ", ".join(_STRENGTHS))
        time = element.get("time")
        pause = _STRENGTHS[strength] if time is None else seconds(time)
        # A pause before all text has no effect.
        if self.segments:
            self.segments[-1] = longer_pause(self.segments[-1], pause)


def _inner(element: ElementTree.Element, name: str, setting: _Setting) -> _Setting:
    """Returns the settings that hold within an element."""
    setting = replace(setting, language=_language(element) or setting.language)
    if name == "voice":
        return replace(setting, voice=_required(element, "name"))
    if name != "prosody":
        return setting
    rate = _required(element, "rate")
    if rate in _RATES:
        return replace(setting, speed=setting.speed * _RATES[rate])
    if not (found := _RATE.fullmatch(rate)):
        raise _wrong(element, "rate", f"{', '.join(_RATES)}, a number or a percentage such as 80%")
    return replace(setting, speed=setting.speed * float(found[1]) / (100 if found[2] else 1))


def _language(element: ElementTree.Element) -> str | None:
    """Returns the tag of an element's language, None if it has none; `lang` must have one."""
    tag = next((value for key, value in element.attrib.items() if key.rpartition("}")[2] == "lang"), None)
    if tag is None and _name(element) == "lang":
        raise MarkupError("<lang> of the SSML has no xml:lang: expected one.")
    if tag is not None and not _TAG.fullmatch(tag):
        raise MarkupError(
            f"<{_name(element)}> of the SSML has the language {tag!r:.60}: expected a tag such as fr."
        )
    return tag


def _marked(element: ElementTree.Element) -> str:
    """Returns the short text of an element with a language, with a control."""
    tag = _language(element)
    text = re.sub(r"\s+", " ", element.text or "").translate(_NO_BRACKETS)
    return f"[{text}](lang:{tag})" if text.strip() else text


def _spoken(element: ElementTree.Element, name: str) -> str:
    """Returns the text of an element that changes how its own text is spoken."""
    if len(element):
        raise MarkupError(f"The SSML has <{_name(element[0]):.60}> within <{name}>: expected text alone.")
    text = " ".join((element.text or "").split())
    if name == "sub":
        return _required(element, "alias")
    if name == "emphasis":
        level = element.get("level", "moderate")
        if level not in _STRESSES:
            raise _wrong(element, "level", ", ".join(_STRESSES))
        stress = _STRESSES[level]
        return f"[{text.translate(_NO_BRACKETS)}]({stress})" if text and stress else text
    if name == "phoneme":
        if element.get("alphabet", "ipa") != "ipa":
            raise _wrong(element, "alphabet", "ipa")
        phonemes = _required(element, "ph")
        if not _PHONEMES.fullmatch(phonemes):
            raise _wrong(element, "ph", "phonemes without brackets")
        return f"[{text.translate(_NO_BRACKETS) or '-'}](/{phonemes}/)"
    kind = _required(element, "interpret-as")
    if kind not in (*_SPELLED, *_AS_WRITTEN):
        raise _wrong(element, "interpret-as", ", ".join((*_SPELLED, *_AS_WRITTEN)))
    return " ".join(text.replace(" ", "").upper()) if kind in _SPELLED else text


def _name(element: ElementTree.Element) -> str:
    """Returns the name of an element without its namespace."""
    return element.tag.rpartition("}")[2]


def _check_attributes(element: ElementTree.Element) -> None:
    name = _name(element)
    if name not in _ATTRIBUTES:
        raise MarkupError(f"The SSML has <{name:.60}>: expected one of {', '.join(_ATTRIBUTES)}.")
    for attribute in element.attrib:
        if attribute.rpartition("}")[2] not in _ATTRIBUTES[name]:
            known = ", ".join(_ATTRIBUTES[name]) or "none"
            raise MarkupError(f"<{name}> of the SSML has the attribute {attribute!r:.60}: expected {known}.")


def _required(element: ElementTree.Element, attribute: str) -> str:
    value = element.get(attribute)
    if not value:
        raise MarkupError(f"<{_name(element)}> of the SSML has no {attribute}: expected one.")
    return value


def _wrong(element: ElementTree.Element, attribute: str, expected: str) -> MarkupError:
    found = element.get(attribute)
    return MarkupError(
        f"<{_name(element)}> of the SSML has the {attribute} {found!r:.60}: expected {expected}."
    )
