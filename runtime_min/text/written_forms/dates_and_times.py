"""Dates, decades, centuries and times of day."""

from __future__ import annotations

import re

from .numbers import cardinal, digits, ordinal, plural, short_year, year
from .tables import MONTHS

_MONTH = (
    r"(?P<month>(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|"
    r"sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?))"
)
_DAY = r"(?P<day>0?[1-9]|[12]\d|3[01])"
_YEAR = r"(?P<year>1\d{3}|20\d\d)"
_END = r"(?![\w]|[.,:/-]\d)"
_HOUR = r"(?P<hour>[01]?\d|2[0-4])"
_SUFFIX = r"(?:st|nd|rd|th)"

DAY_MONTH = (
    rf"(?i)(?<![\w.,/-])(?P<the>the )?{_DAY}{_SUFFIX}?(?: of)?[ -]{_MONTH}\b"
    rf"(?:\.(?= ?[\d,]|$))?(?:,? ?-?{_YEAR}{_END})?"
)
MONTH_DAY = (
    rf"(?i)\b{_MONTH}\b\.?[ -](?P<the>the )?{_DAY}(?P<suffix>{_SUFFIX})?"
    rf"(?!\w|[.:/]\d|,\d| ?(?:%|[ap]\.?m\b))(?:(?:, ?| |-){_YEAR}{_END})?"
)
MONTH_YEAR = rf"(?i)\b{_MONTH}\b\.?,? (?P<of>of )?{_YEAR}{_END}"
MONTH_ALONE = r"\b(?P<month>Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sept?|Oct|Nov|Dec)\.(?![\w])"
NUMERIC = (
    r"(?<![\w.,/:-])(?:(?P<year>[12]\d{3})(?P<sign>[-/.])(?P<month>0?[1-9]|1[0-2])(?P=sign)"
    r"(?P<day>0?[1-9]|[12]\d|3[01])"
    r"|(?P<first>0?[1-9]|[12]\d|3[01])(?P<mark>[-/.])(?P<second>0?[1-9]|[12]\d|3[01])(?P=mark)"
    r"(?P<last>[12]\d{3}|\d\d))(?![\w/-]|[.,:]\d)"
)
DURATION = (
    r"(?<![\w.,])(?:(?P<hours>\d{1,3})h ?(?P<minutes>\d{1,2})m(?: ?(?P<seconds>\d{1,2})s)?"
    r"|(?P<alone>\d{1,3})m ?(?P<rest>\d{1,2})s)(?!\w)"
)
TIMESTAMP = (
    r"(?<![\w.,/:-])(?P<year>[12]\d{3})-(?P<month>0[1-9]|1[0-2])-(?P<day>0[1-9]|[12]\d|3[01])T"
    r"(?P<hour>[01]\d|2[0-4]):(?P<minute>[0-5]\d)(?::[0-5]\d(?:\.\d{1,9})?)?(?P<zone>Z|[+-]\d\d:\d\d)?(?!\w)"
)
DECADE = r"(?<![\w.,/])(?:(?P<century>1\d|20)(?P<decade>\d)0 ?|['’]?(?P<short>[2-9]0))['’]?s\b(?!/)"
YEAR_PLURAL = r"(?<![\w.,/])(?P<year>1\d{3}|20\d\d)s\b"
DECADES = (
    r"(?<![\w.,/])(?P<century>1\d|20)(?P<decade>\d)0s?[-–]"
    r"(?:(?P<other>1\d|20)(?P<tens>\d)0|['’]?(?P<short>\d)0)s\b"
)
_DAY_NAME = "Mon|Tues?|Wed|Thu(?:rs?)?|Fri|Sat|Sun"
DAYS = rf"\b(?P<first>{_DAY_NAME})\.? ?[-–] ?(?P<last>{_DAY_NAME})\b"
QUARTER = r"\b(?P<quarter>[1-4])Q(?P<year>\d\d|\d{4})\b"
ERA = r"(?<![\w.,/])(?P<year>\d{1,4}) (?=A\.?D\b|B\.?C\b|C\.?E\b|B\.?C\.?E\b)"

_NUMBER = re.compile("[^-/.]+")
_DAYS = {
    name[:2]: name for name in ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
}
_ZONE = (
    r"(?: ?(?P<zone>(?:[ECMP][SD]T|GMT|UTC|CET|CEST|BST|IST|JST|est|pst|cst|mst|gmt|utc|e\.s\.t|p\.s\.t)\b))?"
)
_UNTIL = r"(?P<dash> ?[-–—] ?(?=\d))?"
_MERIDIEM = r"(?P<meridiem>[ap]\.? ?m\b\.?|[AP]\.? ?M\b\.?)"
_FROM = r"(?<![\w.,:/])(?:(?P<from>[01]?\d|2[0-4])(?::(?P<from_minute>[0-5]\d))?[-–])?"
CLOCK = (
    rf"{_FROM}{_HOUR}(?::(?P<minute>[0-5]\d)(?::(?P<second>[0-5]\d))?)(?![\d:]|[.,]\d)"
    rf"(?P<half> ?{_MERIDIEM})?{_ZONE}{_UNTIL}"
)
HOUR = rf"{_FROM}{_HOUR}(?:\.(?P<minute>[0-5]\d))?(?P<half> ?{_MERIDIEM}){_ZONE}{_UNTIL}"


def day_month(found: re.Match[str], british: bool) -> str | None:
    """Returns the words for a date of a day and a month."""
    if _is_verb(found) or (found["day"] + found["month"]).lower() in ("1may",):
        return None
    spoken = f"the {ordinal(found['day'])} of {_month(found['month'])}"
    return spoken + (f" {year(found['year'])}" if found["year"] else "")


def month_day(found: re.Match[str], british: bool) -> str | None:
    """Returns the words for a date of a month and a day."""
    if _is_verb(found) and not found["suffix"]:
        return None
    the = "the " if british or found["the"] else ""
    spoken = f"{_month(found['month'])} {the}{ordinal(found['day'])}"
    return spoken + (f" {year(found['year'])}" if found["year"] else "")


def month_year(found: re.Match[str], british: bool) -> str | None:
    """Returns the words for a month of a year."""
    return f"{_month(found['month'])} {found['of'] or ''}{year(found['year'])}"


def month_alone(found: re.Match[str], british: bool) -> str:
    """Returns the name of an abbreviated month."""
    return _month(found["month"])


def numeric(found: re.Match[str], british: bool) -> str:
    """Returns the words for a date of numbers: the month comes first in American, if it can."""
    if found["year"]:
        day, month, years, month_first = found["day"], int(found["month"]), found["year"], not british
    else:
        first, second, years = int(found["first"]), int(found["second"]), found["last"]
        month_first = (first <= 12 and not british) or second > 12
        month, day = (first, str(second)) if month_first else (second, str(first))
    if month > 12:
        return " ".join(cardinal(part) for part in _NUMBER.findall(found[0]))
    name = list(MONTHS.values())[month - 1]
    date = f"{name} {ordinal(day)}" if month_first else f"the {ordinal(day)} of {name}"
    return f"{date} {short_year(years)}"


def duration(found: re.Match[str], british: bool) -> str:
    """Returns the words for hours, minutes and seconds such as 2h 30m."""
    parts = (
        (found["hours"], "hour"),
        (found["minutes"] or found["alone"], "minute"),
        (found["seconds"] or found["rest"], "second"),
    )
    return " ".join([_counted(number, unit) for number, unit in parts if number])


def timestamp(found: re.Match[str], british: bool) -> str:
    """Returns the words for a date and a time in one, without the seconds."""
    zone = " UTC" if found["zone"] == "Z" else ""
    return f"{numeric(found, british)} {_time(found['hour'], found['minute'])}{zone}"


def decade(found: re.Match[str], british: bool) -> str:
    """Returns the words for a decade or a century: "nineteen eighties"."""
    if found["short"]:
        return plural(cardinal(found["short"]))
    return _decade(found["century"], found["decade"])


def decades(found: re.Match[str], british: bool) -> str:
    """Returns the words for a range of decades."""
    until = (
        _decade(found["other"], found["tens"]) if found["other"] else plural(cardinal(f"{found['short']}0"))
    )
    return f"{_decade(found['century'], found['decade'])} to {until}"


def year_plural(found: re.Match[str], british: bool) -> str:
    """Returns the words for several of a year: "twenty twenty twos"."""
    return plural(year(found["year"]))


def days(found: re.Match[str], british: bool) -> str:
    """Returns the words for a range of days of the week."""
    return f"{_DAYS[found['first'][:2]]} to {_DAYS[found['last'][:2]]}"


def quarter(found: re.Match[str], british: bool) -> str:
    """Returns the words for the quarter of a year."""
    return f"the {ordinal(found['quarter'])} quarter of {short_year(found['year'])}"


def era(found: re.Match[str], british: bool) -> str:
    """Returns the words for a year before or after Christ."""
    return short_year(found["year"])


def clock(found: re.Match[str], british: bool) -> str:
    """Returns the words for a time of day, or for hours, minutes and seconds."""
    groups = found.groupdict()
    hour, minute, second = groups["hour"], groups.get("minute"), groups.get("second")
    if second is not None:
        spoken = (
            f"{_counted(hour, 'hour')} {_counted(minute or '', 'minute')} and {_counted(second, 'second')}"
        )
    else:
        spoken = _time(hour, minute)
        if not groups["meridiem"] and minute == "00":
            spoken += " o'clock"
    if groups["from"]:
        spoken = f"{_time(groups['from'], groups['from_minute'])} to {spoken}"
    if groups["meridiem"]:
        spoken += " PM" if groups["meridiem"][0] in "pP" else " AM"
    if groups["zone"]:
        spoken += f" {groups['zone'].upper().replace('.', '')}"
    return f"{spoken} to" if groups["dash"] else spoken


def _time(hour: str, minute: str | None) -> str:
    spoken = cardinal(hour.lstrip("0") or "0")
    if minute and minute != "00":
        spoken += f" {digits(minute, 'oh') if minute[0] == '0' else cardinal(minute)}"
    return spoken


def _counted(number: str, unit: str) -> str:
    count = number.lstrip("0") or "0"
    return f"{cardinal(count)} {unit}{'' if count == '1' else 's'}"


def _decade(century: str, tens: str) -> str:
    if tens == "0":
        return f"{cardinal(century)} hundreds" if century != "20" else "two thousands"
    return f"{cardinal(century)} {plural(cardinal(tens + '0'))}"


def _month(written: str) -> str:
    return MONTHS[written[:3].lower()]


def _is_verb(found: re.Match[str]) -> bool:
    """Returns whether the month may be another word: "may" in lower case and without a year."""
    return found["month"] in ("may", "march", "mar", "dec", "sep") and not found["year"]
