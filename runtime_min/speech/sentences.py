"""Sentences of a written text, as a careful reader sets them, in all of Kokoro's languages.

>>> text = "Dr. No lives at No. 5. Who knows?"
>>> [text[start:end] for start, end in find_sentences(text)]
['Dr. No lives at No. 5.', 'Who knows?']
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import chain

from .abbreviations import AT_ENDS, BEFORE_CAPITALS, BEFORE_NAMES, BEFORE_NUMBERS, FIRST_WORDS

_CLOSING = r"\"'”’)\]}」』）】〉｣»›"
_OPENING = r"\"'“”‘’(\[{「『（【《〈«‹¿¡*_•⁃–—\-"
_SPACED_DOTS = r"\.(?:[ \u00a0]\.){2,3}"
# Of a note after a full stop.
_NOTE = r"(?:(?<=[^\W\d]\.)|(?<=\)\.))\d{1,3}(?: \d{1,2})*(?=\s+[A-Z])|(?:\[\d{1,3}\])+"
_MARK = re.compile(
    rf"(?P<mark>{_SPACED_DOTS}|[.!?…‥]+|[。！？｡．।॥]+)(?:{_NOTE})?"
    rf"(?P<closing>(?:[{_CLOSING}]|[^\S\n][»›])*)(?P<space>\s*)"
    # The look-behind keeps a run of spaces from being tried at every place.
    r"|(?P<line>(?<!\s)[^\S\n]*\n\s*)"
)
_ANYWHERE = frozenset("。！？｡．।॥")
_NEXT = re.compile(rf"[{_OPENING}\s]*(?P<word>[^\W\d_]+|\S|$)(?P<dot>\.?)")
_BEFORE = re.compile(r"[\s'’\"“”‘«(\[/•⁃]")
_WINDOW = 60
"""Characters before and after a mark that decide."""
_ALL = BEFORE_NAMES | BEFORE_NUMBERS | AT_ENDS | BEFORE_CAPITALS
_INITIALS = re.compile(r"[^\W\d_]{1,3}(?:\.-?[^\W\d_]{1,3})+|[A-Z]")
_ROMAN = re.compile(r"(?!I\b)[IVXLC]+")
_SHORT_BEGINNING = 3
"""Words: no sentence ends with "At 5 a.m."."""
_PLACE = re.compile(r"\d{1,3}|[^\W\d_]|[IVX]+")
_GLUED = re.compile(r"[a-z0-9]{2}[.!?]+[A-Z][a-z]")
_ADDRESS = re.compile(r"[@/:]|\.[a-z]")
_NEVER_FIRST = frozenset(",;:).!?…/&=%")
_FIRST_IDEOGRAPH = "\u2e80"
_GOES_ON = frozenset("のをはがにへとやもで、，")
"""Japanese particles and commas: a line that ends so goes on, as does a quotation before them."""
_ITEM = re.compile(r"(?P<before>[•⁃*-] ?|\()?(?P<place>\d{1,3}|[a-z])(?P<after>\.\)|[.)])\s")
_LONGEST_ITEM = 300
"""Characters of an item in a line within which the next is looked for."""
_BRACKETS = {")": "(", "]": "[", "}": "{", "）": "（", "】": "【", "》": "《", "〉": "〈"}
_CLOSING_MARK = re.compile(rf"[.!?,;:…{_CLOSING}]")
_BRACKET = re.compile(r"[()\[\]{}（）【】《》〈〉]")
_LONGEST_ASIDE = 200
"""Characters in brackets within which no sentence ends."""
_BLANK_LINE = re.compile(r"\n\s*\n")
_SHORTEST_WRAPPED_LINE = 40


def find_sentences(text: str) -> list[tuple[int, int]]:
    """Returns the start and the end of every sentence, without the whitespace around it.

    A blank line ends a sentence, and so does the end of a line that was not wrapped. A sentence goes on after
    brackets within it, and after what is quoted if it continues in lower case.
    """
    return list(each_sentence(text))


def each_sentence(text: str, *, cased: bool = False, column: int = 0) -> Iterator[tuple[int, int]]:
    """Yields what `find_sentences` returns; what follows a sentence that is taken is not read yet.

    Args:
        text: the text.
        cased: a text before this one has capital letters.
        column: characters of a text before this one that are on its first line.
    """
    start = 0
    for end in chain(_ends(text, cased, column), [len(text)]):
        sentence = text[start:end]
        if sentence.strip():
            yield end - len(sentence.lstrip()), start + len(sentence.rstrip())
        start = end


def bracket_is_open(text: str, end: int) -> bool:
    """Returns whether a bracket before `end` may still be closed soon by what follows on a text."""
    _, opened = _asides(text)
    return any(found.start() < end and len(text) - found.start() <= _LONGEST_ASIDE for found in opened)


def _ends(text: str, cased: bool, column: int) -> Iterator[int]:
    """Yields offsets at which a sentence begins after another."""
    asides, _ = _asides(text)
    cased, lines = cased or text != text.lower(), _Lines(text, column)
    start = len(text) - len(text.lstrip())
    item = _next_item(text, start)
    for found in _MARK.finditer(text):
        while item and item <= found.start():
            yield item
            start, item = item, _next_item(text, item)
        if found["line"] is not None:
            ends = lines.ends_at(found)
        else:
            ends = "\n" in found["space"] and _BLANK_LINE.search(found["space"]) is not None
            ends = ends or (not asides[found.end("closing") - 1] and _ends_at(text, found, start, cased))
        if ends:
            start = found.end()
            yield start
            item = _next_item(text, start)
    while item:
        yield item
        item = _next_item(text, item)


def _ends_at(text: str, found: re.Match[str], start: int, cased: bool) -> bool:
    """Returns whether the sentence from `start` on ends with the mark that was found."""
    mark, at, end = found["mark"], found.start(), found.end("closing")
    before, after = text[max(start, at - _WINDOW) : at], text[end : end + _WINDOW]
    if mark[0] in _ANYWHERE:
        decimal = mark == "．" and before[-1:].isdigit() and after[:1].isdigit()
        return not decimal and not (found["closing"] and after[:1] in _GOES_ON)
    if before[-1:] in ("[", "(", "") or (not found["space"] and after and not _glued(before, mark, after)):
        return False
    following = _NEXT.match(after)
    assert following is not None
    last = _BEFORE.split(before)[-1]
    if _goes_on(found, last, following["word"], after, cased):
        return False
    if mark != ".":
        return True
    if after.lstrip()[:1] in ("(", "[") and _shortens(last):
        return False
    return _ends_after(last, following, before if at - start <= _WINDOW else "")


def _goes_on(found: re.Match[str], last: str, word: str, after: str, cased: bool) -> bool:
    """Returns whether a sentence goes on after a mark, as the `word` or sign that follows shows."""
    mark = found["mark"]
    if word[:1] in _NEVER_FIRST or (word == "I" and mark[0] in ".…" and mark != "."):
        return True
    if not word[:1].islower() or _ITEM.match(after.lstrip()):
        return False
    return (cased and "\n" not in found["space"]) or _shortens(last)


def _ends_after(last: str, following: re.Match[str], before: str) -> bool:
    """Returns whether a full stop after the word `last` ends a sentence.

    Args:
        last: the word before the full stop.
        following: the word, digit or sign that follows, and its own full stop.
        before: what the sentence holds before the full stop, if that is little.
    """
    name, word = last.casefold(), following["word"]
    if before.strip(" \t•⁃*-(") == last and _PLACE.fullmatch(last):
        # The place of a list's item.
        return False
    if name in BEFORE_NAMES or last in BEFORE_NAMES:
        return False
    if name in ("a.m", "p.m"):
        return not before or len(before.split()) > _SHORT_BEGINNING
    if name in AT_ENDS:
        return True
    if name in BEFORE_CAPITALS or _INITIALS.fullmatch(last):
        shortened = following["dot"] and (len(word) == 1 or _shortens(word))
        return word in FIRST_WORDS and not shortened
    if name in BEFORE_NUMBERS or last in BEFORE_NUMBERS:
        return not (word.isdigit() or _ROMAN.fullmatch(word))
    return True


def _shortens(word: str) -> bool:
    name = word.casefold()
    return name in _ALL or _INITIALS.fullmatch(word) is not None


def _glued(before: str, mark: str, after: str) -> bool:
    """Returns whether a sentence may end where no space follows: "so.Then", but not in an address."""
    if after[0] >= _FIRST_IDEOGRAPH:
        return True
    if not _GLUED.fullmatch(before[-2:] + mark + after[:2]):
        return False
    token = [*before.split()[-1:], mark, *after.split(maxsplit=1)[:1]]
    return not _ADDRESS.search("".join(token))


class _Lines:
    """Decides which line breaks end a sentence; asked in order."""

    def __init__(self, text: str, column: int) -> None:
        self._text = text
        self._column = column
        self._paragraph_end = 0
        self._longest = 0

    def ends_at(self, found: re.Match[str]) -> bool:
        text, start, end = self._text, found.start(), found.end()
        following = text[end : end + _WINDOW]
        if not following or _CLOSING_MARK.match(following):
            return False
        if found["line"].count("\n") > 1 or _ITEM.match(following):
            return True
        if following[0].islower() or text[start - 1] in _GOES_ON:
            return False
        if start >= self._paragraph_end:
            self._measure(start)
        # A line was wrapped if the next word had no place on it.
        first = text.rfind("\n", 0, start) + 1
        length = start - first + (0 if first else self._column)
        word = following.split(maxsplit=1)[0]
        return length < _SHORTEST_WRAPPED_LINE or length + 1 + len(word) <= self._longest

    def _measure(self, start: int) -> None:
        """Finds the end of the paragraph, and its longest line."""
        blank = _BLANK_LINE.search(self._text, start)
        self._paragraph_end = blank.start() if blank else len(self._text)
        first = self._text.rfind("\n", 0, start) + 1
        lengths = [len(line) for line in self._text[first : self._paragraph_end].split("\n")]
        lengths[0] += 0 if first else self._column
        self._longest = max(lengths)


def _asides(text: str) -> tuple[bytearray, list[re.Match[str]]]:
    """Returns a byte for each character, not 0 within brackets that are closed soon, and those left open."""
    inside = bytearray(len(text) + 1)
    opened: list[re.Match[str]] = []
    for found in _BRACKET.finditer(text):
        if found[0] not in _BRACKETS:
            opened.append(found)
            continue
        while opened and found.start() - opened[-1].start() <= _LONGEST_ASIDE:
            opening = opened.pop()
            if opening[0] == _BRACKETS[found[0]]:
                inside[opening.start() : found.start()] = b"\1" * (found.start() - opening.start())
                break
    return inside, opened


def _next_item(text: str, start: int) -> int | None:
    """Returns where the second item begins if a list begins at `start`: "1) red 2) blue"."""
    found = _ITEM.match(text, start)
    if not found:
        return None
    place = found["place"]
    following = str(int(place) + 1) if place.isdigit() else chr(ord(place) + 1)
    item = f" {found['before'] or ''}{following}{found['after']} "
    at = text.find(item, found.end() - 1, found.end() + _LONGEST_ITEM)
    return at + 1 if at >= 0 else None
