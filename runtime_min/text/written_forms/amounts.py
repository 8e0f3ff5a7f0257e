"""Money, measures, percentages, ranges and fractions."""

from __future__ import annotations

import re
import unicodedata

from .numbers import cardinal, decimal, digits, fraction, short_year, year
from .tables import COUNTRIES, CURRENCIES, CURRENCY_CODES, PERIODS, SCALES, UNIT, UNITS, one_of, several

WHOLE = r"(?:\d{1,3}(?:,\d{3}){1,11}(?!\d)|\d{1,36})"
NUMBER = rf"(?:{WHOLE}(?:\.\d{{1,36}})?|\.\d{{1,36}})"
_SIGN = r"(?:(?<![\w.)\]])[-−+])?"
_DASH = r" ?[-–—] ?"


_SIGNS = "".join(CURRENCIES)
_SCALE = rf"(?: ?(?P<scale>(?:{one_of(SCALES)}))(?![A-Za-z]))?"
_PERIOD = rf"(?:/(?P<period>{one_of(PERIODS)})(?!\w))?"
_PREFIX = rf"(?:(?<!\w)(?P<country>{one_of(COUNTRIES)}) ?)?(?P<sign>[{_SIGNS}]) ?"
_PER = rf"(?P<per>{UNIT}|{one_of(PERIODS)})"
MEASURE_UNIT = rf"(?P<unit>{UNIT})(?:/{_PER}(?P<power>\^?[2²3³])?)?(?![\w²³])"
_MIXED = r"(?<!-)(?:(?P<whole>\d{1,6}) )?(?P<above>\d{1,6}) ?[/⁄] ?(?P<below>\d{1,6})"

MONEY = (
    rf"(?P<minus>(?<![\w.)\]])[-−])?{_PREFIX}(?P<amount>{NUMBER})(?!\d)"
    rf"(?:{_DASH}(?P<end>{NUMBER})(?![\d,.]?\d))?{_SCALE}{_PERIOD}(?P<dash>{_DASH}(?=[{_SIGNS}]\d))?(?![-–]\d)"
)
MONEY_AFTER = (
    rf"(?<![\w.,])(?P<amount>{NUMBER}){_SCALE} ?"
    rf"(?:(?P<sign>[{_SIGNS}])(?!\d)|(?P<code>{one_of(CURRENCY_CODES)})(?!\w))"
)
CODED = rf"(?<!\w)(?P<code>{one_of(CURRENCY_CODES)}) ?(?P<amount>{NUMBER}){_SCALE}(?![\w])"
MEASURE = (
    rf"(?P<number>(?<![\w.,-]){_SIGN}{NUMBER})"
    rf"(?:[%°]?(?P<dash>{_DASH})(?P<end>{NUMBER})| ?[x×] ?(?P<by>{NUMBER})(?: ?[x×] ?(?P<and_by>{NUMBER}))?)?"
    rf"(?: (?P<scale>hundred|thousand|million|billion|trillion))?"
    rf"(?P<hyphen>[ \u00a0-]?)(?!(?<=\d)(?<!\.\d)(?<!\.\d\d)s\b){MEASURE_UNIT}"
)
MIXED_MEASURE = rf"(?<![\w.,/]){_MIXED}[ -]?(?:{MEASURE_UNIT})"
PER = rf"(?<![\w.,])(?P<number>{NUMBER})/(?=[^\W\d_]){_PER}(?!\w)"
FEET = (
    r"(?<![\w.,])(?P<feet>\d{1,3})(?:(?:'|′) ?(?P<inches>\d{1,2})(?:\"|″|'')"
    r"|['′](?=[ -](?:tall|high|wide|long|deep|thick|fence|wall|ladder|table|ceiling|board|pole|tree|square|"
    r"below|above)\b)"
    r"| ?ft\.? ?(?P<in>\d{1,2}) ?in(?:\b\.?(?= [a-z]|[,;])|\b))"
)
ANGLE = (
    r"(?<![\w.,])(?P<degrees>\d{1,3})° ?(?P<minutes>\d{1,2})[′']"
    r"(?: ?(?P<seconds>\d{1,2}(?:\.\d{1,3})?)(?:″|\"|''))?"
)
INCHES = (
    r"(?<![\w.,\"])(?P<inches>\d{1,3}(?:\.\d{1,3})?)"
    r"(?:″|\"(?=[ -](?:[a-z]|$|[48]K\b|[FQU]?HD\b|LCD|LED|[OQ]LED|IPS|TVs?\b|iMac|Monitor)))"
)
OUT_OF = r"(?<![\w.,/])(?P<number>\d{1,2}\.\d{1,2})/(?P<most>\d{1,3})(?![\w/]|[.,]\d)"
COUNT = (
    r"(?<![\w.,-])(?P<number>\d{1,3}\.\d{1,2}|\d{2,3})(?P<scale>[KMB])"
    r"(?= (?!run|race|resolution|video|display|monitor|screen)[a-z])"
)
FRACTION = rf"(?<![\w.,/]){_MIXED}(?:th|rd|nd|TH|RD|ND|ths)?(?![\w/⁄]|\.\d)"
VULGAR_FRACTIONS = "¼½¾⅐⅑⅒⅓⅔⅕⅖⅗⅘⅙⅚⅛⅜⅝⅞↉"
VULGAR = rf"(?P<whole>(?<![\w.,])\d{{1,6}} ?)?(?P<fraction>[{VULGAR_FRACTIONS}])(?:[ -]?{MEASURE_UNIT})?"
RANGE = (
    rf"(?<![\w.,/-])(?P<start>{WHOLE}(?:\.\d{{1,36}})?)(?P<dash>{_DASH})(?P<end>{WHOLE}(?:\.\d{{1,36}})?)"
    r"(?![\w/-]|\.\d| ?=)"
)
YEARS = r"(?<![\w.,/-])(?P<start>1\d{3}|20\d\d)/(?P<end>\d\d|1\d{3}|20\d\d)(?![\w/⁄-]|\.\d)"
RATIO = r"(?<![\w.,:])(?P<start>\d{1,4}):(?P<end>\d{1,4})(?![\w:]|\.\d)"
BY = (
    rf"(?<![\w.,])(?P<start>{NUMBER}) ?[x×] ?(?P<end>{NUMBER})(?: ?[x×] ?(?P<third>{NUMBER}))?(?![\w⁻^])"
    r"(?P<equals>(?= ?=))?"
)
_ARTICLE = re.compile(r"\b[Aa]n? $")
_NOUN = re.compile(
    r" (?!(?:a|an|and|in|of|or|per|to|each|more|less|for|at|on|the|from|than|is|was)\b)"
    r"(?:[a-z]|[48]K\b|[A-Z]{2})"
)
_GROUP = re.compile(r"\+|\d+|[A-Za-z]+")
_BOOK = re.compile(
    r"\b(?:Gen(?:esis)?|Exod(?:us)?|Deut(?:eronomy)?|Kings|Ps(?:alms?)?|Proverbs|Isaiah|Jeremiah|Ezekiel|Daniel|"
    r"Matt(?:hew)?|Mark|Luke|John|Acts|Rom(?:ans)?|Cor(?:inthians)?|Eph(?:esians)?|Hebrews|James|Rev(?:elation)?)"
    r"\.? $"
)


def money(found: re.Match[str], british: bool) -> str:
    """Returns the words for an amount with a sign of a currency before it."""
    groups = found.groupdict()
    one, many, cent, cents = CURRENCIES[groups["sign"]]
    country = COUNTRIES.get(groups.get("country") or "")
    if country:
        one, many = f"{country} {one}", f"{country} {many}"
    if groups.get("end"):
        # The scale is that of both numbers.
        scale = f" {SCALES[groups['scale']]}" if groups["scale"] else ""
        spoken = f"{decimal(groups['amount'])} to {decimal(groups['end'])}{scale} {many}"
    else:
        if groups.get("scale") or "." not in groups["amount"]:
            many = one if _before_noun(found) else many
        spoken = _amount(groups["amount"], groups.get("scale"), (one, many, cent, cents))
    if groups.get("period"):
        spoken += f" per {PERIODS[groups['period']]}"
    return f"{'minus ' if groups.get('minus') else ''}{spoken}{' to' if groups.get('dash') else ''}"


def coded_money(found: re.Match[str], british: bool) -> str:
    """Returns the words for an amount with a currency's code or with its sign after it."""
    groups = found.groupdict()
    if groups.get("sign"):
        return money(found, british)
    one, many = CURRENCY_CODES[groups["code"]]
    cents = ("penny", "pence") if groups["code"] == "GBP" else ("cent", "cents")
    return _amount(groups["amount"], groups["scale"], (one, many, *cents))


def _amount(amount: str, scale: str | None, names: tuple[str, str, str, str]) -> str:
    one, many, cent, cents = names
    whole, _, part = amount.partition(".")
    if scale:
        return f"{decimal(amount)} {SCALES[scale]} {many}"
    if part.strip("0") == "":
        whole = whole or "0"
        return f"{_count(whole)} {one if whole == '1' else many}"
    if not cent or part[2:].strip("0"):
        return f"{decimal(amount)} {many}"
    hundredths = part[:2].ljust(2, "0").lstrip("0")
    spoken = f"{cardinal(hundredths)} {cent if hundredths == '1' else cents}"
    if whole.strip("0,"):
        spoken = f"{_count(whole)} {one if whole == '1' else many} and {spoken}"
    return spoken


def _count(whole: str) -> str:
    return cardinal(whole.lstrip("0,") or "0")


def measure(found: re.Match[str], british: bool) -> str:
    """Returns the words for one number or several with a unit."""
    number, unit = found["number"], UNITS[found["unit"]]
    spoken = decimal(number)
    if found["end"]:
        spoken += f" to {decimal(found['end'])}"
    for by in (found["by"], found["and_by"]):
        spoken += f" by {decimal(by)}" if by else ""
    if found["scale"]:
        spoken += f" {found['scale']}"
    single = number.lstrip("-−+") == "1" and not (found["end"] or found["by"] or found["scale"])
    # A 5-kilometer run.
    single = single or found["hyphen"] == "-" or _before_noun(found)
    if found["unit"] == "bps" and len(number) < len("1000"):
        # Bits come by thousands, interest does not.
        unit = "basis point"
    return f"{spoken} {unit if single else several(unit)}{_per(found)}"


def unit_alone(found: re.Match[str]) -> str:
    """Returns the words for several of a unit."""
    return several(UNITS[found["unit"]]) + _per(found)


def _per(found: re.Match[str]) -> str:
    """Returns what follows a unit: per second squared."""
    if not found["per"]:
        return ""
    power = {"2": " squared", "²": " squared", "3": " cubed", "³": " cubed"}.get(
        (found["power"] or "")[-1:], ""
    )
    return f" per {_per_unit(found['per'])}{power}"


def _before_noun(found: re.Match[str]) -> bool:
    """Returns True if an amount belongs to a noun that has an article: "a 5 km run"."""
    return bool(_ARTICLE.search(found.string, max(0, found.start() - 3), found.start())) and bool(
        _NOUN.match(found.string, found.end())
    )


def per(found: re.Match[str], british: bool) -> str:
    """Returns the words for a number of each unit."""
    return f"{decimal(found['number'])} per {_per_unit(found['per'])}"


def _per_unit(written: str) -> str:
    return UNITS.get(written) or PERIODS[written]


def feet(found: re.Match[str], british: bool) -> str:
    """Returns the words for feet, perhaps with inches."""
    feet, inches = found["feet"], found["inches"] or found["in"]
    one = feet == "1" or (not inches and _before_noun(found))
    return f"{cardinal(feet)} {'foot' if one else 'feet'}" + (f" {cardinal(inches)}" if inches else "")


def angle(found: re.Match[str], british: bool) -> str:
    """Returns the words for degrees, minutes and seconds, as of a place on the map."""
    parts = ((found[unit], unit) for unit in ("degrees", "minutes", "seconds"))
    return " ".join(
        [f"{decimal(number)} {unit[:-1] if number == '1' else unit}" for number, unit in parts if number]
    )


def inches(found: re.Match[str], british: bool) -> str:
    """Returns the words for inches."""
    return (
        f"{decimal(found['inches'])} {'inch' if found['inches'] == '1' or _before_noun(found) else 'inches'}"
    )


def mixed(found: re.Match[str], british: bool) -> str | None:
    """Returns the words for a fraction, perhaps with a whole number and a unit."""
    whole, above, below = found["whole"], found["above"], found["below"]
    if not whole and len(above) == 4 and len(below) > 2 and above[:2] in ("19", "20"):
        # The number of an invoice, 2024/117.
        return None
    if found.groupdict().get("unit") == "mmHg":
        return f"{cardinal(above)} over {cardinal(below)} {several(UNITS['mmHg'])}"
    return _mixed_number(whole, above, below) + _unit_of(found, whole)


def _unit_of(found: re.Match[str], whole: str | None) -> str:
    """Returns the unit after a fraction: half a pound, but two and a half pounds."""
    unit = UNITS.get(found.groupdict().get("unit") or "")
    return f" {several(unit) if whole else unit}" if unit else ""


def out_of(found: re.Match[str], british: bool) -> str:
    """Returns the words for a mark such as 4.5/5."""
    return f"{decimal(found['number'])} out of {cardinal(found['most'])}"


def count(found: re.Match[str], british: bool) -> str:
    """Returns the words for many of something: 2.5M views."""
    return f"{decimal(found['number'])} {SCALES[found['scale']]}"


def vulgar(found: re.Match[str], british: bool) -> str | None:
    """Returns the words for a fraction in one character."""
    above, slash, below = unicodedata.normalize("NFKC", found["fraction"]).partition("⁄")
    if not slash or not below:
        return None
    whole = (found["whole"] or "").strip()
    return _mixed_number(whole, above, below) + _unit_of(found, whole)


def _mixed_number(whole: str | None, above: str, below: str) -> str:
    spoken = fraction(above, below)
    if not whole:
        return spoken
    return f"{cardinal(whole)} and {'a half' if spoken == 'one half' else spoken}"


def number_range(found: re.Match[str], british: bool) -> str | None:
    """Returns the words for a range of numbers or of years, or for a score; None for other numbers."""
    start, end = found["start"], found["end"]
    if len(start) == 3 and len(end) == 4 and start[0] > "1" and not (start[1:] == "00" and end[2:] == "00"):
        return f"{digits(start)} {digits(end)}"
    if len(start) == len(end) == 4 or (len(start) == 4 and len(end) == 2 and end > start[2:]):
        return f"{_year_or_count(start)} to {_year_or_count(end)}"
    ascends = float(start.replace(",", "")) < float(end.replace(",", ""))
    score = found["dash"] in "-–" and (start + end).isdecimal() and int(start) < 200
    if (ascends or score) and not (start.startswith("0") and len(start) > 1):
        return f"{decimal(start)} to {decimal(end)}"
    return None


def years(found: re.Match[str], british: bool) -> str | None:
    """Returns the words for a year such as 2013/14, or None if it is a fraction."""
    start, end = found["start"], found["end"]
    following = str(int(start) + 1)
    return f"{year(start)} {short_year(end)}" if following.endswith(end) else None


def _year_or_count(written: str) -> str:
    return year(written) if len(written) == 4 and written.isdecimal() else decimal(written)


def ratio(found: re.Match[str], british: bool) -> str:
    """Returns the words for a ratio or a score, or for a verse of the Bible."""
    if _BOOK.search(found.string, max(0, found.start() - 20), found.start()):
        return f"{cardinal(found['start'])} {cardinal(found['end'])}"
    return f"{cardinal(found['start'])} to {cardinal(found['end'])}"


def by(found: re.Match[str], british: bool) -> str:
    """Returns the words for sizes."""
    parts = [decimal(part) for part in (found["start"], found["end"], found["third"]) if part]
    return (" times " if found["equals"] is not None else " by ").join(parts)


def digit_groups(found: re.Match[str], british: bool) -> str:
    """Returns the words for a telephone number."""
    spoken = []
    for part in _GROUP.findall(found[0]):
        if part == "+":
            spoken.append("plus")
        elif part.isdecimal():
            spoken.append("eight hundred" if part == "800" else digits(part))
        else:
            # Letters that may be a word: FLOWERS.
            word = len(part) > 2 and re.search("[AEIOUY]", part[1:])
            spoken.append(part.lower() if word else part if len(part) > 2 else " ".join(part))
    return " ".join(spoken)
