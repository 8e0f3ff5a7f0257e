"""Written forms of languages without spaces: patterns, and what is said in place of what they match."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

_SLOT = re.compile("{([a-z])([1-9])}")


class SegmentedForms:
    """The forms of a language, of which the first that fits is taken."""

    def __init__(
        self,
        forms: Sequence[tuple[re.Pattern[str], str]],
        beginnings: str,
        signs: Mapping[str, str],
        said: Mapping[str, Callable[[str], str]],
    ) -> None:
        """Takes the forms.

        Args:
            forms: patterns and what is said; a letter and a group in braces are one of `said` for what was
                matched.
            beginnings: all characters that a form may begin with.
            signs: characters that are said where no form begins.
            said: functions by letter.
        """
        self._forms, self._beginnings, self._signs, self._said = forms, beginnings, signs, said
        self.may_begin = "".join(dict.fromkeys([*beginnings, *signs]))
        """The characters that a form or sign may begin with."""

    def find(self, text: str, start: int, end: int) -> tuple[int, str] | None:
        """Returns the end of a written form that starts at a place, and what is said."""
        for pattern, spoken in self._forms if text[start] in self._beginnings else ():
            if found := pattern.match(text, start, end):
                return found.end(), self._filled(spoken, found)
        sign = self._signs.get(text[start])
        return None if sign is None else (start + 1, sign)

    def _filled(self, spoken: str, found: re.Match[str]) -> str:
        return _SLOT.sub(lambda slot: self._said[slot[1]](found[int(slot[2])]), spoken)
