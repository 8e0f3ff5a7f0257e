"""The notation of rules for spelling, as linguists write them, and the form in which a bundle has them.

    c -> θ / _ <front>                      before a front vowel
    | c -> k                                elsewhere, in the same pass
    b -> β / except # _, [mn] ~? _, _ #     but not first, after m and n, and last

`exporter/text/languages/README.md` has the whole notation.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from itertools import product

from exporter.errors import ExportError
from runtime_min.text.rewriting import EDGE, FIRST_PLACE, FIRST_RUN, SAME

_TOKEN = re.compile(r"\s*(<[^<>]+>|\[\^?(?:<[^<>]+>|[^\]<>])+\]|[^\s])")
_MOST_CONTEXTS = 512
Data = dict[str, "Data"] | list["Data"] | str | int | bool
"""What msgpack can hold."""


class LanguageFileError(ExportError):
    """A file of a language is wrong."""


class NotationError(ExportError):
    """A line of a file is wrong."""


@dataclass(frozen=True)
class Letters:
    """A set of letters, or of all others, in the order that the file has."""

    letters: str
    has: bool = True

    def data(self) -> str:
        """Returns the set as a bundle has it."""
        return ("+" if self.has else "-") + self.letters


@dataclass
class Notation:
    """The classes of a language, and the numbers of all sets that its rules use."""

    classes: dict[str, Letters] = field(default_factory=dict)
    _numbers: dict[str, int] = field(default_factory=dict)

    def define(self, name: str, written: str) -> None:
        """Adds a class of letters: ``a e <other>``, or ``not a e``.

        Raises:
            NotationError: it exists, or has no letters.
        """
        if name in self.classes:
            raise NotationError(f"the class <{name}> is defined twice")
        letters = written.removeprefix("not ")
        self.classes[name] = Letters(self._members(letters), letters == written)

    def sets(self) -> list[Data]:
        """Returns the sets of letters, by their numbers."""
        return list(self._numbers)

    def number(self, letters: Letters) -> int:
        """Returns the number of a set."""
        return self._numbers.setdefault(letters.data(), len(self._numbers))

    def set_of(self, token: str, *, repeats: bool = False) -> Letters:
        """Returns the set that a class, ``[abc]`` or a letter stands for.

        Args:
            token: one of these.
            repeats: a letter may be there twice.

        Raises:
            NotationError: there is no such class.
        """
        if token.startswith("<"):
            if token[1:-1] not in self.classes:
                raise NotationError(f"there is no class {token}: expected one of {', '.join(self.classes)}")
            return self.classes[token[1:-1]]
        if token.startswith("["):
            inner = token[1:-1]
            return Letters(self._members(inner.removeprefix("^"), repeats), not inner.startswith("^"))
        return Letters("", False) if token == "." else Letters(" " if token == "~" else token)

    def _members(self, written: str, repeats: bool = False) -> str:
        found = ""
        for token in re.findall(r"<[^<>]+>|\S", written):
            own = self.set_of(token) if token.startswith("<") else Letters(token.replace("~", " "))
            if not own.has:
                raise NotationError(f"{token} has all letters but some, and cannot be a part of another set")
            found += own.letters
        if not found or (len({*found}) < len(found) and not repeats):
            raise NotationError(f"expected letters, each once, found {written!r}")
        return found

    def rule(self, written: str) -> Data:
        """Returns the rule of a line.

        Raises:
            NotationError: it is no rule.
        """
        left, arrow, right = written.partition("->")
        if not arrow:
            raise NotationError("expected `letters -> sounds / before _ after except before _ after`")
        by, _, conditions = right.partition("/")
        if not _ and " except " in f" {by} ":
            by, _, exceptions = by.partition("except")
            contexts = ""
        else:
            contexts, _, exceptions = conditions.partition("except")
        focus = [self.set_of(token) if token != "=" else None for token in _tokens(left)]
        if not focus:
            raise NotationError("expected letters before ->")
        replacement, maps = self._replacement(_tokens(by), focus)
        side = "".join(SAME if letters is None else self._code(letters) for letters in focus)
        return [side, replacement, maps, self._contexts(contexts), self._contexts(exceptions)]

    def _replacement(self, tokens: list[str], focus: list[Letters | None]) -> tuple[str, list[Data]]:
        """Returns the text that replaces the focus, and how each of its letters changes."""
        sets = [
            number for number, each in enumerate(focus) if each and (not each.has or len(each.letters) > 1)
        ]
        text = ""
        maps: dict[int, str] = {}
        for token in tokens:
            if token[0] not in "<[":
                text += token
                continue
            if len(maps) == len(sets):
                raise NotationError(f"{token} has no set of letters before -> that it could replace")
            number, to = sets[len(maps)], self.set_of(token, repeats=True)
            own = focus[number]
            if own != to and not (own and own.has and to.has and len(own.letters) == len(to.letters)):
                raise NotationError(f"expected as many letters as before -> in {token}")
            maps[number] = "" if own == to else to.letters
            text += chr(FIRST_PLACE + number)
        return text, [maps.get(number, "") for number in range(max(maps, default=-1) + 1)]

    def _code(self, letters: Letters) -> str:
        """Returns a letter, or what stands for a set of them."""
        alone = letters.has and len(letters.letters) == 1
        return letters.letters if alone else chr(FIRST_PLACE + self.number(letters))

    def _contexts(self, written: str) -> list[Data]:
        found: list[Data] = []
        for context in filter(str.strip, written.split(",")):
            before, place, after = context.partition("_")
            if not place:
                raise NotationError(f"expected the place of the letters as _ in the context {context!r}")
            for left, right in product(self.sides(before, before_place=True), self.sides(after)):
                found += [left[::-1], right]
        if len(found) > 2 * _MOST_CONTEXTS:
            raise NotationError(f"expected at most {_MOST_CONTEXTS} contexts, found {len(found) // 2}")
        return found

    def sides(self, written: str, *, before_place: bool = False) -> list[str]:
        """Returns all that may stand on one side of a place, from left to right.

        Args:
            written: the notation.
            before_place: it is read from right to left, as what stands before a place is.

        Raises:
            NotationError: it is not in the notation.
        """
        tokens = _tokens(written)
        found = self._alternatives(tokens, before_place)
        if tokens:
            raise NotationError(f"expected ( before {tokens[0]!r} in {written!r}")
        if any(EDGE in side[1:-1] for side in found):
            raise NotationError(f"expected # as the first or the last in {written!r}")
        return found

    def _alternatives(self, tokens: list[str], before_place: bool) -> list[str]:
        """Takes tokens up to the end of a group, and returns what they stand for."""
        done: list[str] = []
        found = [""]
        while tokens and tokens[0] != ")":
            token = tokens.pop(0)
            if token == "|":
                done, found = done + found, [""]
                continue
            if token == "(":
                own = self._alternatives(tokens, before_place)
                if not tokens:
                    raise NotationError("expected ) at the end of a group")
                tokens.pop(0)
            else:
                own = [self._one(token, tokens, before_place)]
            if tokens[:1] == ["?"]:
                tokens.pop(0)
                own = [*own, ""]
            found = [left + right for left, right in product(found, own)]
            if len(found) > _MOST_CONTEXTS:
                raise NotationError(f"expected at most {_MOST_CONTEXTS} alternatives")
        return done + found

    def _one(self, token: str, following: list[str], before_place: bool) -> str:
        if token == "#":
            return EDGE
        letters = self.set_of(token)
        if following[:1] not in (["*"], ["+"]):
            return self._code(letters)
        run = chr(FIRST_RUN + self.number(letters))
        if following.pop(0) == "*":
            return run
        # A run takes all letters that it can, so the one that must be there comes first.
        return run + self._code(letters) if before_place else self._code(letters) + run


def _tokens(written: str) -> list[str]:
    found: list[str] = _TOKEN.findall(written)
    if unclosed := {*found} & {"<", "["}:
        raise NotationError(f"expected the end of what begins with {unclosed.pop()} in {written.strip()!r}")
    return found
