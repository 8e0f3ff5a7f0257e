"""Repetitions that have hurt, or might hurt, readers of text."""

from __future__ import annotations

from random import Random

UNITS = (
    *("a", "A", "aB", "é", "ŋ", "ﬁ", "ab'", "a'", "’", "‘", '"', "''", "a-", "-", "--", "—", "a-a-", "xyzzy"),
    *("1", "1,", "1.", "1/", "1:", "1-", "-1", "1%", "1st2nd3rd", "1 2 3 ", "1½", "1x", "1km/", "5'", "a1"),
    *("$", "$1", "€1.", "¥1", "°", "+1", "1+", "x=", "12:30-", "1999-", "3 May ", "1/2/", "No. ", "St. "),
    *("[", "](", "[a](", "[a](/b/)", "(/", "[pause:", "[pause:1s", "<", "<<", "<p>", "&", "&amp;", "A&"),
    *(".", "...", ". ", "!?", "a.", "A.", "U.S.", "a@", "@a", "www.", "http://", "a/", "//", "_", "*", "~"),
    *("I", "IV", "MCM", "X ", "Henry I ", "the ", "to ", "used to ", "'s", "'sa", "O'", "Qzx's ", "e.g. "),
    *(" ", "\n", "\t", "\u00a0", "\x00", "\u0301", "e\u0301", "\u200b", "\u200d", "\u202e", "\u202ea"),
    *("\ud800", "\udc00a", "한", "世", "ก", "नमस्ते", "ا", "Ａ", "𝐀", "①"),
    *("😀", "👨‍👩‍👧‍👦", "\u200d👩", "🇺🇸", "🇺", "1️⃣", "\ufe0f", "#", "#a"),
)  # fmt: skip
PROSE = (
    "The old man looked at the sea, and he knew that it was late. She had told him so before they left the "
    "house on the hill. "
)
"""Usual text, for comparison."""
WORST = (
    *("No. ", "€1.", "1½", "1️⃣", "1️⃣>", "?ﬁ", "ﬁe.g.ﬁ", "😀", "😀.", "😀St.", "🇺🇸.", "¼", "½(", "¼…", "٣½"),
    *("\n①", "\n★", ">\n", "1…", "0", "°C?", "m²!", "|½²", "!°C1", "1X", "~12", "12~", "—1", "★"),
    *(".\ufe0f", "°No. ", ";#", "?%", "'&", "—º", "a”'", "[£«", "www.", "readChapter"),
)
"""Repetitions that took the longest for a character."""


def shapes(count: int) -> list[str]:
    """Returns the worst, all units that are UTF-8, and some of them together."""
    random = Random(1)
    # C's text is UTF-8, which has no surrogates.
    units = [unit for unit in (*WORST, *UNITS) if not any("\ud800" <= letter <= "\udfff" for letter in unit)]
    found = dict.fromkeys(units)
    while len(found) < count:
        found["".join(random.choices(units, k=random.choice((2, 2, 3, 4))))] = None
    return [*found][:count]
