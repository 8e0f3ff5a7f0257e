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
_KIND = re.compile(r"(?P<name>\w+)(?P<roman> roman)?(?: (?P<low>\d+)-(?P<high>\d+))?")
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


def form(pattern: str, spoken: str, names: Sequence[str]) -> Data:
    """Returns a written form, such as ``{hour 0-24}:{minute 00-59}``, and what is said for it.

    Args:
        pattern: the form.
        spoken: the words, with the places of the form: ``{hour} y {minute as cardinal}``.
        names: the sets of rules for numbers.

    Raises:
        NotationError: a place is not in the notation, or has no words.
    """
    places: dict[str, list[Data]] = {}
    for written in _PLACE.findall(pattern):
        found = _KIND.fullmatch(written)
        if not found or found["name"] in places:
            raise NotationError(
                f"expected a place with a name of its own, such as {{day 1-31}}: {{{written}}}"
            )
        places[found["name"]] = _place(found)
    order = list(places)
    sets = [0] * len(order)

    def said(found: re.Match[str]) -> str:
        own = _SAID.fullmatch(found[1])
        if not own or own["name"] not in order or (own["set"] and own["set"] not in names):
            raise NotationError(f"expected a place of {pattern} and numbers of the language: {found[0]}")
        sets[order.index(own["name"])] = names.index(own["set"]) if own["set"] else 0
        return chr(FIRST_PLACE + order.index(own["name"]))

    text = _PLACE.sub(said, spoken)
    shown = _PLACE.sub(lambda found: chr(FIRST_PLACE + order.index(found[1].split()[0])), pattern)
    return [shown, [[*places[name], number] for name, number in zip(order, sets, strict=True)], text]


def _place(found: re.Match[str]) -> list[Data]:
    """Returns the kind, the lowest and the highest number, and how many digits it has if that is fixed."""
    low, high = found["low"], found["high"]
    if found["name"] in ("sign", "number") and not low:
        return [KINDS.index(found["name"]), 0, 0, 0]
    if not low or int(low) > int(high):
        raise NotationError(f"expected the lowest and the highest number: {{{found[0]}}}")
    width = len(low) if len(low) == len(high) and low[0] == "0" and len(low) > 1 else 0
    return [KINDS.index("roman" if found["roman"] else "range"), int(low), int(high), width]
