"""Divides HTML into tags and text, in time that is proportional to its length whatever it holds.

Python's `html.parser` takes half a minute for 200 kB of ``<p`` without an end.

>>> [token for token in tokens("<p id=x>a &amp; b</p>") if isinstance(token, str)]
['a & b']
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from html import unescape
from typing import NamedTuple

_TAG = re.compile(r"<(/?)([a-zA-Z][^\s/<>\"']*)((?:[^<>\"']|\"[^\"]*\"|'[^']*')*)>")
_ATTRIBUTE = re.compile(r"([^\s=/\"']+)(?:\s*=\s*(\"[^\"]*\"|'[^']*'|[^\s\"']+))?")
_LONG_NUMBER = re.compile(r"&#[xX]?[0-9a-fA-F]{9,};?")
"""Python refuses numbers of thousands of digits."""
_SKIPPED = {"<!--": "-->", "<!": ">", "<?": ">"}
"""How comments, declarations and instructions begin and end."""
_CDATA, _CDATA_END = "<![CDATA[", "]]>"


class Tag(NamedTuple):
    """The beginning or the end of an element."""

    name: str
    attributes: Mapping[str, str]
    ends: bool
    """It ends an element."""
    alone: bool
    """It begins one and ends it."""


def tokens(html: str) -> Iterator[Tag | str]:
    """Yields tags and the text between them; what is no tag is text, and what has no end goes to the end."""
    position = 0
    while (start := html.find("<", position)) >= 0:
        if start > position:
            yield plain(html[position:start])
        if html.startswith(_CDATA, start):
            end = _end(html, _CDATA_END, start)
            yield html[start + len(_CDATA) : end - len(_CDATA_END)]
            position = end
        elif opening := next((each for each in _SKIPPED if html.startswith(each, start)), None):
            position = _end(html, _SKIPPED[opening], start)
        elif found := _TAG.match(html, start):
            yield _tag(found)
            position = found.end()
        else:
            yield "<"
            position = start + 1
    if position < len(html):
        yield plain(html[position:])


def plain(text: str) -> str:
    """Returns a text with characters in place of their names and numbers."""
    return unescape(_LONG_NUMBER.sub("\ufffd", text))


def _end(html: str, end: str, start: int) -> int:
    found = html.find(end, start)
    return len(html) if found < 0 else found + len(end)


def _tag(found: re.Match[str]) -> Tag:
    ends, name, rest = found.groups()
    attributes: dict[str, str] = {}
    if not ends:
        for key, value in _ATTRIBUTE.findall(rest):
            attributes.setdefault(key.lower(), plain(value.strip("\"'")))
    return Tag(name.lower(), attributes, bool(ends), rest.rstrip().endswith("/"))
