"""The notation of numbers and written forms in words; rules of numbers are like those of Unicode's CLDR."""

from __future__ import annotations

import re
from collections.abc import Sequence

from exporter.text.rule_notation import Data, NotationError
from runtime_min.text.rewriting import FIRST_PLACE
from runtime_min.text.written_words import KINDS

CARDINAL = "cardinal"
_PART = re.compile(r"<(\w*(?: \w+)*)<|>(\w*(?: \w+)*)>|\[([^\]|]*)(?:\|([^\]]*))?\]")
_PLACE = re.compile(r"\{([^{}]*)\}")
_WITHOUT_BOUNDS = ("number", "decimal", "sign", "unit", "word")
"""Kinds of places that have no lowest and highest number."""
_KIND = re.compile(
    rf"(?P<name>\w+)(?: (?P<kind>roman|{'|'.join(_WITHOUT_BOUNDS)}))?(?: (?P<low>\d+)-(?P<high>\d+))?"
)
_CHOICE = re.compile(r"\[([^\[\]()]*)\]|\(([^\[\]()]*)\)")
_ONE, _DIGITS = "one", "digits"
"""Stand in place of numbers for the words for one of a sign or of a unit, and for a number digit by digit."""
_SAID = re.compile(r"(?P<name>\w+)(?: as (?P<set>\w[\w ]*))?")


def number_texts(base: int, rule: str, own: str, names: Sequence[str]) -> tuple[str, str]:
    """Returns what the rule from a number on says with a remainder, and without one.

    Args:
        base: the number.
        rule: the rule, such as ``treinta[ y >>]`` or ``<before a noun< mil[ >>]``.
        own: the name of its set of rules, which ``<<`` and ``>>`` mean.
        names: the sets of rules.

    Raises:
        NotationError: it names a set that does not exist, or a part that it cannot have.
    """

    def number(name: str, first: int) -> str:
        if (name or own) not in names:
            raise NotationError(f"there are no numbers {name!r}: expected one of {', '.join(names)}")
        if base < 10:
            raise NotationError(f"expected no parts in the rule for {base}: those from 10 on may have them")
        return chr(FIRST_PLACE + first + names.index(name or own))

    def text(written: str, has_rest: bool) -> str:
        found, start = "", 0
        for part in _PART.finditer(written):
            found += written[start : part.start()]
            quotient, rest, with_rest, without = part.groups()
            if quotient is not None:
                found += number(quotient, len(names))
            elif rest is not None:
                found += number(rest, 0)
            else:
                found += text(with_rest if has_rest else without or "", has_rest)
            start = part.end()
        return found + written[start:]

    both = text(rule, True), text(rule, False)
    for said in both:
        places = [ord(letter) - FIRST_PLACE >= len(names) for letter in said if ord(letter) >= FIRST_PLACE]
        if max(places.count(True), places.count(False)) > 1 or re.search(r"[<>\[\]|]", said):
            raise NotationError(f"expected at most one < < and one > > in {rule!r}")
    return both


def forms(pattern: str, spoken: str, names: Sequence[str]) -> list[Data]:
    """Returns written forms, such as ``{hour 0-24}(:|.){minute 00-59}[ h]``, and what is said for each.

    Args:
        pattern: the forms: ``[x]`` may be absent, and ``(x|y)`` is one of both.
        spoken: the words, with the places of the form: ``{hour} y {minute as cardinal}``.
        names: the sets of rules for numbers.

    Raises:
        NotationError: a place is not in the notation, or has no words.
    """
    if choice := _CHOICE.search(pattern):
        parts = [choice[1], ""] if choice[1] is not None else choice[2].split("|")
        whole = (f"{pattern[: choice.start()]}{part}{pattern[choice.end() :]}" for part in parts)
        return [made for each in whole for made in forms(each.strip(), spoken, names)]
    return [_form(pattern, spoken, names)]


def _form(pattern: str, spoken: str, names: Sequence[str]) -> Data:
    places: dict[str, list[int]] = {}
    for written in _PLACE.findall(pattern):
        found = _KIND.fullmatch(written)
        if not found or found["name"] in places:
            raise NotationError(
                f"expected a place with a name of its own, such as {{day 1-31}}: {{{written}}}"
            )
        places[found["name"]] = _place(found)
    order = list(places)
    sets = [0] * len(order)
    kinds = {name: KINDS[each[0]] for name, each in places.items()}

    def said(found: re.Match[str]) -> str:
        own = _SAID.fullmatch(found[1])
        if not own or own["name"] not in order:
            raise NotationError(f"expected a place of {pattern}: {found[0]}")
        number, kind = order.index(own["name"]), kinds[own["name"]]
        known = ["", _ONE] if kind in ("sign", "unit") else [*names]
        known += [_DIGITS] if kind == "range" else []
        if own["set"] and own["set"] not in known:
            raise NotationError(f"expected numbers of the language, one of {', '.join(known)}: {found[0]}")
        sets[number] = known.index(own["set"]) if own["set"] else 0
        return chr(FIRST_PLACE + number)

    text = _PLACE.sub(said, spoken)
    shown = _PLACE.sub(lambda found: chr(FIRST_PLACE + order.index(found[1].split()[0])), pattern)
    for number, name in enumerate(order):
        after = shown.partition(chr(FIRST_PLACE + number))[2]
        if kinds[name] == "word":
            if any(ord(letter) >= FIRST_PLACE for letter in after):
                raise NotationError(f"expected letters alone after the word {{{name}}}")
            places[name][3] = len(after)
    return [shown, [[*places[name], number] for name, number in zip(order, sets, strict=True)], text]


def _place(found: re.Match[str]) -> list[int]:
    """Returns the kind, the lowest and the highest number, and how many digits it has if that is fixed."""
    low, high = found["low"], found["high"]
    kind = found["kind"] or found["name"]
    if kind in _WITHOUT_BOUNDS and not low:
        return [KINDS.index(kind), 0, 0, 0]
    if not low or int(low) > int(high):
        raise NotationError(f"expected the lowest and the highest number: {{{found[0]}}}")
    width = len(low) if len(low) == len(high) and low[0] == "0" and len(low) > 1 else 0
    return [KINDS.index("roman" if found["kind"] == "roman" else "range"), int(low), int(high), width]
