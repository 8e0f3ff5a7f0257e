"""Reads the folder of a language and makes of it the file with which a bundle speaks the language.

`exporter/text/languages/README.md` has the notation, and `bundles/FORMAT.md` the form of the file.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, partial
from importlib.resources import files as package_files
from importlib.resources.abc import Traversable
from typing import TypeVar

import msgpack

from exporter.text.number_notation import CARDINAL, forms, number_texts
from exporter.text.rule_notation import Data, LanguageFileError, Notation, NotationError
from runtime_min.errors import TextDataError
from runtime_min.text.rules import Rules

_STEPS = ("respelling", "sounds", "stress", "clause")
LEVELS = {"stressed": 1, "weakly stressed": 2, "unstressed": 4}
"""Bits of words by their stress within a clause."""
_Made = TypeVar("_Made")
_SECTIONS = (
    *("classes", *_STEPS, "endings", "words", "stressed words", "weakly stressed", "unstressed"),
    *("respelled words", "writing", "letters", "letters without a name", "letters of other languages"),
    *("signs", "money", "units", "abbreviations", CARDINAL, "numbers", "forms"),
)
_MEASURES = "after a number"
"""The option of units that are letters or words elsewhere."""
_LONGEST = 4_000
"""Bytes of a string that msgpack's reader takes."""
_ORDINAL = {"first": 1, "second": 2, "last": -1, "second last": -2, "third last": -3}
_WHICH = re.compile(rf"({'|'.join(sorted(_ORDINAL, key=len, reverse=True))})(?: (<[^<>]+>))?(?: */(.*))?")


@dataclass(frozen=True)
class Line:
    """A line of a file, without the space around it."""

    place: str
    text: str

    def error(self, problem: object) -> LanguageFileError:
        """Returns the error of this line."""
        return LanguageFileError(f"{self.place}: {problem}.")


@dataclass(frozen=True)
class Section:
    """The lines below a title ``[kind: name | option | option]``."""

    title: Line
    kind: str
    name: str
    options: tuple[str, ...]
    lines: list[Line]


def languages() -> tuple[str, ...]:
    """Returns the languages that have a folder."""
    return tuple(sorted(each.name for each in _folder().iterdir() if each.is_dir()))


@cache
def language_file(language: str) -> bytes:
    """Returns the file of one of `languages`.

    Raises:
        LanguageFileError: a file of the folder is wrong; it names the line.
    """
    return compile_language(_folder() / language)


def compile_language(folder: Traversable) -> bytes:
    """Returns the file of the language that the text files of a folder describe.

    Raises:
        LanguageFileError: as for `language_file`.
    """
    sections: list[Section] = []
    for file in sorted(folder.iterdir(), key=lambda file: file.name):
        if file.name.endswith(".txt"):
            sections += _sections(file.name, file.read_text("utf-8"))
    data = msgpack.packb(_Language(sections).data())
    try:
        Rules(data)
    except TextDataError as failure:
        raise LanguageFileError(f"{folder}: the language cannot be used ({failure}).") from failure
    return bytes(data)


def _folder() -> Traversable:
    return package_files("exporter.text") / "languages"


def _sections(name: str, text: str) -> Iterator[Section]:
    section: Section | None = None
    for number, written in enumerate(text.splitlines(), 1):
        line = Line(f"{name}, line {number}", written.strip())
        if not line.text or line.text.startswith(";"):
            continue
        if found := re.fullmatch(r"\[([\w ]+)(?:: ([^|]*))?((?:\|[^|]*)*)\]", line.text):
            options = tuple(each.strip() for each in found[3].split("|")[1:])
            section = Section(line, found[1].strip(), (found[2] or "").strip(), options, [])
            yield section
        elif section is None:
            raise line.error("expected a title, such as [sounds], before all other lines")
        else:
            section.lines.append(line)


class _Language:
    """Makes the data of a bundle from sections."""

    def __init__(self, sections: Sequence[Section]) -> None:
        self._sections = sections
        self._notation = Notation()
        for section in sections:
            if section.kind not in _SECTIONS:
                raise section.title.error(f"expected one of {', '.join(_SECTIONS)}, found {section.kind!r}")

    def _of(self, *kinds: str) -> Iterator[Section]:
        return (section for section in self._sections if section.kind in kinds)

    def _pairs(self, kind: str, option: str = "", without: str = "") -> dict[str, str]:
        """Returns what is before and after the first = of each line, in sections with or without options."""
        found: dict[str, str] = {}
        for section in self._of(kind):
            if (option and option not in section.options) or (without and without in section.options):
                continue
            for line in section.lines:
                # A sign may be = itself.
                key, equals, value = line.text[1:].partition("=")
                key = (line.text[0] + key).strip()
                if not equals or key in found:
                    raise line.error(
                        f"expected `what is written = what is said`, each once, found {line.text!r}"
                    )
                found[key] = value.strip()
        return found

    def _words(self, kind: str) -> list[str]:
        return [word for section in self._of(kind) for line in section.lines for word in line.text.split()]

    def data(self) -> Data:
        for section in self._of("classes"):
            for line in section.lines:
                name, equals, letters = line.text.partition(" = ")
                if not equals:
                    raise line.error("expected `name = letters`")
                _checked(line, partial(self._notation.define, name.strip(), letters.strip()))
        steps: dict[str, Data] = {
            name: [self._step(section) for section in self._of(*kinds)]
            for name, kinds in (
                ("respelling", ("respelling",)), ("sounds", ("sounds", "stress")), ("clause", ("clause",)),
            )
        }  # fmt: skip
        return {
            **steps,
            "sets": self._notation.sets(),
            "endings": self._endings(),
            "words": [{**self._pairs("words")}, {**self._pairs("stressed words")}],
            "weak": [[*self._words("weakly stressed")], [*self._words("unstressed")]],
            "respelled": self._respelled(),
            "written": self._written(),
        }

    def _step(self, section: Section) -> Data:
        levels, once, unless = 7, False, -1
        for option in section.options:
            if option == "first only":
                once = True
            elif option.startswith("unless "):
                unless = self._number(section.title, option.removeprefix("unless "))
            elif option.removeprefix("for ").removesuffix(" words") in LEVELS:
                levels = LEVELS[option.removeprefix("for ").removesuffix(" words")]
            else:
                raise section.title.error(
                    f"expected `first only`, `unless <class>` or `for unstressed words`, found {option!r}"
                )
        if section.kind == "stress":
            return [levels, unless, once, [], [self._stress(section)]]
        passes: list[list[Data]] = []
        for line in section.lines:
            if not line.text.startswith("|"):
                passes.append([])
            elif not passes:
                raise line.error("expected a rule before the first |")
            rule = line.text.removeprefix("|")
            passes[-1].append(_checked(line, partial(self._notation.rule, rule)))
        return [levels, unless, once, [*passes], []]

    def _number(self, line: Line, name: str) -> int:
        return self._notation.number(_checked(line, partial(self._notation.set_of, name)))

    def _stress(self, section: Section) -> Data:
        vowels, second = -1, False
        choices: list[Data] = []
        for line in section.lines:
            if line.text == "every second vowel before it, from the first on, has secondary stress":
                second = True
            elif line.text.startswith("vowels "):
                vowels = self._number(line, line.text.removeprefix("vowels "))
            elif found := _WHICH.fullmatch(line.text):
                own = self._number(line, found[2]) if found[2] else -1
                choices.append([_ORDINAL[found[1]], own, _checked(line, partial(self._ends, found[3]))])
            else:
                raise line.error(
                    f"expected `vowels <class>`, or one of {', '.join(_ORDINAL)}, then perhaps a class of "
                    "vowels, and after / how the word ends"
                )
        if vowels < 0:
            raise section.title.error("expected a line `vowels <class>`")
        return [vowels, choices, second]

    def _ends(self, written: str | None) -> list[Data]:
        found: list[Data] = []
        for end in (written or "").split(",") if written else ():
            if not end.strip().endswith("#"):
                raise NotationError(f"expected the end of the word as # in {end!r}")
            for side in self._notation.sides(end.strip()[:-1], before_place=True):
                found += [side[::-1], ""]
        return found

    def _endings(self) -> Data:
        found: list[Data] = []
        for section in self._of("endings"):
            for line in section.lines:
                parts = re.fullmatch(r"(\w+) after (\d+) letters = (\S+)", line.text)
                if not parts:
                    raise line.error("expected `mente after 2 letters = mˈente`")
                found.append([parts[1], int(parts[2]), parts[3]])
        return found

    def _respelled(self) -> Data:
        """Returns the words of a list in strings that the reader takes."""
        letters = plain = ""
        for section in self._of("respelled words"):
            letters, _, plain = (part.strip() for part in section.name.partition("->"))
            if len(letters) != len(plain):
                raise section.title.error("expected as many letters after -> as before")
        lists: list[str] = []
        for word in self._words("respelled words"):
            if lists and len(lists[-1].encode()) + len(word.encode()) < _LONGEST:
                lists[-1] += f" {word}"
            else:
                lists.append(word)
        return [letters, plain, [*lists]]

    def _written(self) -> Data:
        settings = self._pairs("writing")
        needed = ("minus", "thousands", "decimal", "comma", "digits together")
        if missing := [key for key in needed if key not in settings]:
            raise self._sections[0].title.error(f"expected {', '.join(missing)} below [writing]")
        thousands = settings["thousands"]
        units, abbreviations = self._pairs("units", without=_MEASURES), self._pairs("abbreviations")
        units |= self._pairs("abbreviations", "also without a full stop")
        names = self._number_names()
        found: list[Data] = []
        for section in self._of("forms"):
            for line in section.lines:
                pattern, _, spoken = line.text.partition(" = ")
                found += _checked(line, partial(forms, pattern.strip(), spoken.strip(), names))
        return {
            "letters": {**self._pairs("letters")},
            "accented": "".join(self._words("letters without a name")),
            "respelled": {**self._pairs("letters of other languages")},
            "vowels": settings.get("vowels", "").replace(" ", ""),
            "alone": settings.get("words of one letter", "").replace(" ", ""),
            "apostrophe": settings.get("apostrophe", ""),
            "signs": {**self._pairs("signs")},
            "money": _several_and_one(self._pairs("money")),
            "units": _several_and_one(units),
            "measures": _several_and_one(self._pairs("units", _MEASURES)),
            "abbreviations": {**abbreviations},
            "minus": settings["minus"],
            "separators": [thousands.replace("a space", " ").replace(" or ", ""), settings["decimal"]],
            "grouping": int(settings.get("digits of higher groups", "3")),
            "comma": settings["comma"],
            "together": int(settings["digits together"]),
            "numbers": self._numbers(names),
            "forms": found,
        }

    def _number_names(self) -> list[str]:
        """Returns the names of the sets of rules for numbers, in their order in a bundle."""
        names = [section.name or section.kind for section in self._of(CARDINAL, "numbers")]
        if CARDINAL not in names or len({*names}) < len(names):
            raise LanguageFileError(
                f"expected one title [{CARDINAL}], and others such as [numbers: ordinal]."
            )
        return sorted(names, key=lambda name: name != CARDINAL)

    def _numbers(self, names: Sequence[str]) -> list[Data]:
        sets: dict[str, dict[int, tuple[Line, str]]] = {}
        made: dict[str, Data] = {}
        for section in self._of(CARDINAL, "numbers"):
            own = section.name or section.kind
            rules: dict[int, tuple[Line, str]] = {}
            ending = ["", ""]
            for option in section.options:
                kind, _, value = option.partition(" ")
                if kind == "like" and value in sets:
                    rules |= sets[value]
                elif kind == "ending" and "->" in value:
                    ending = [part.strip() for part in value.split("->", 1)]
                else:
                    raise section.title.error(
                        f"expected `like` and numbers above, or `ending o -> a`, found {option!r}"
                    )
            for line in section.lines:
                rules |= {base: (line, rule) for base, rule in _number_rules(line).items()}
            sets[own] = rules
            texts = [
                _checked(rules[base][0], partial(number_texts, base, rules[base][1], own, names))
                for base in sorted(rules)
            ]
            with_rest, without = ([text[place] for text in texts] for place in range(2))
            made[own] = [[*sorted(rules)], [*with_rest], [*without], [*ending]]
        return [made[name] for name in names]


def _several_and_one(pairs: dict[str, str]) -> Data:
    """Returns the words for several of something, then | and those for one, without the spaces between."""
    return {key: re.sub(r" *\| *", "|", words) for key, words in pairs.items()}


def _number_rules(line: Line) -> dict[int, str]:
    """Returns the rule from a number on; after ``1.. =`` each word is that of the next number."""
    found = re.fullmatch(r"(\d{1,12})(\.\.)? = ?(.*)", line.text)
    if not found:
        raise line.error(f"expected `number = words`, found {line.text!r}")
    if not found[2]:
        return {int(found[1]): found[3]}
    return dict(enumerate(found[3].split(), int(found[1])))


def _checked(line: Line, make: Callable[[], _Made]) -> _Made:
    """Returns what is made of a line.

    Raises:
        LanguageFileError: the line is not in the notation.
    """
    try:
        return make()
    except NotationError as problem:
        raise line.error(problem) from None
