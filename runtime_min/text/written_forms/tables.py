"""Tables of written forms of words: months, currencies, units, abbreviations."""

from __future__ import annotations

import re
from collections.abc import Iterable

MONTHS = {
    "jan": "January", "feb": "February", "mar": "March", "apr": "April", "may": "May", "jun": "June",
    "jul": "July", "aug": "August", "sep": "September", "oct": "October", "nov": "November",
    "dec": "December",
}  # fmt: skip
"""Months by their first three letters."""
CURRENCIES = {
    "$": ("dollar", "dollars", "cent", "cents"),
    "£": ("pound", "pounds", "penny", "pence"),
    "€": ("euro", "euros", "cent", "cents"),
    "¥": ("yen", "yen", "", ""),
    "￥": ("yen", "yen", "", ""),
    "₩": ("won", "won", "", ""),
    "₹": ("rupee", "rupees", "paisa", "paise"),
    "₽": ("ruble", "rubles", "kopek", "kopeks"),
    "₺": ("lira", "lira", "kurus", "kurus"),
    "₴": ("hryvnia", "hryvnias", "kopek", "kopeks"),
    "₪": ("shekel", "shekels", "agora", "agorot"),
    "₿": ("bitcoin", "bitcoins", "", ""),
    "₱": ("peso", "pesos", "centavo", "centavos"),
    "₫": ("dong", "dong", "", ""),
    "฿": ("baht", "baht", "satang", "satang"),
    "¢": ("cent", "cents", "", ""),
}
"""Singular and plural of the unit and of its hundredth, by the sign."""
COUNTRIES = {
    "US": "US", "U.S.": "US", "A": "Australian", "AU": "Australian", "C": "Canadian", "CA": "Canadian",
    "HK": "Hong Kong", "NZ": "New Zealand", "S": "Singapore", "SG": "Singapore", "MX": "Mexican",
}  # fmt: skip
"""Countries by the letters before a dollar sign."""
CURRENCY_CODES = {
    "USD": ("US dollar", "US dollars"), "EUR": ("euro", "euros"), "GBP": ("British pound", "British pounds"),
    "JPY": ("Japanese yen", "Japanese yen"), "CNY": ("yuan", "yuan"), "RMB": ("yuan", "yuan"),
    "CHF": ("Swiss franc", "Swiss francs"), "CAD": ("Canadian dollar", "Canadian dollars"),
    "AUD": ("Australian dollar", "Australian dollars"), "INR": ("Indian rupee", "Indian rupees"),
    "KRW": ("won", "won"),
}  # fmt: skip
SCALES = {
    "k": "thousand", "K": "thousand", "m": "million", "M": "million", "mn": "million", "mm": "million",
    "MM": "million", "b": "billion", "B": "billion", "bn": "billion", "Bn": "billion", "BN": "billion",
    "t": "trillion", "T": "trillion", "tn": "trillion", "trn": "trillion",
    **{word: word for word in ("hundred", "thousand", "million", "billion", "trillion", "quadrillion", "lakh",
                             "crore")},
}  # fmt: skip
PERIODS = {
    "s": "second", "sec": "second", "min": "minute", "h": "hour", "hr": "hour", "d": "day", "wk": "week",
    "mo": "month", "mth": "month", "yr": "year", "y": "year", "day": "day", "week": "week",
    "month": "month", "year": "year", "hour": "hour", "minute": "minute", "night": "night", "in": "inch",
    "lb": "pound", "oz": "ounce", "kg": "kilogram", "gal": "gallon", "mi": "mile", "kWh": "kilowatt hour",
    "GB": "gigabyte", "ton": "ton", "barrel": "barrel", "acre": "acre", "person": "person", "user": "user",
    "seat": "seat", "unit": "unit",
}  # fmt: skip
"""Periods and others by the letters that follow a slash after an amount."""


def one_of(words: Iterable[str]) -> str:
    """Returns a pattern of any of the words, the longest first."""
    return "|".join(sorted(map(re.escape, words), key=len, reverse=True))


_NAMES = {
    "m": "meter", "g": "gram", "l": "liter", "L": "liter", "W": "watt", "V": "volt", "Hz": "hertz",
    "J": "joule", "Pa": "pascal", "Ω": "ohm", "cal": "calorie", "mol": "mole", "Wh": "watt hour",
    "s": "second", "ms": "millisecond", "µs": "microsecond", "μs": "microsecond", "ns": "nanosecond",
    "h": "hour",
    "lb": "pound", "lbs": "pound", "lb.": "pound", "lbs.": "pound", "oz": "ounce", "oz.": "ounce",
    "ft": "foot", "ft.": "foot", "in.": "inch", "yd": "yard", "yds": "yard", "mi": "mile", "mi.": "mile",
    "gal": "gallon", "qt": "quart", "tbsp": "tablespoon", "tsp": "teaspoon",
    "tbsp.": "tablespoon", "tsp.": "teaspoon",
    "Tbsp": "tablespoon", "Tsp": "teaspoon", "Tbsp.": "tablespoon", "Tsp.": "teaspoon",
    "fl oz": "fluid ounce", "fl. oz.": "fluid ounce",
    "cc": "CC", "ha": "hectare",
    "sec": "second", "secs": "second", "sec.": "second", "min": "minute", "mins": "minute", "min.": "minute",
    "hr": "hour", "hrs": "hour", "hr.": "hour", "hrs.": "hour", "mph": "mile per hour",
    "mpg": "mile per gallon", "kph": "kilometer per hour", "fps": "frame per second",
    "bps": "bit per second", "kbps": "kilobit per second", "mbps": "megabit per second",
    "gbps": "gigabit per second", "rpm": "revolution per minute", "bpm": "beat per minute", "dB": "decibel",
    "px": "pixel", "pts": "point",
    "MP": "megapixel", "hp": "horsepower", "kb": "kilobyte", "KB": "kilobyte",
    "mb": "megabyte", "gb": "gigabyte", "tb": "terabyte", "KG": "kilogram", "KM": "kilometer", "hz": "hertz",
    "sqft": "square foot", "sq ft": "square foot", "sq. ft.": "square foot", "sq km": "square kilometer",
    "deg": "degree", "deg.": "degree", "deg F": "degree Fahrenheit", "deg. F": "degree Fahrenheit",
    "deg C": "degree Celsius", "deg. C": "degree Celsius",
    "°C": "degree Celsius", "° C": "degree Celsius", "℃": "degree Celsius", "ºC": "degree Celsius",
    "°F": "degree Fahrenheit", "° F": "degree Fahrenheit", "℉": "degree Fahrenheit",
    "ºF": "degree Fahrenheit", "°": "degree", "º": "degree", "%": "percent", "‰": "per mille",
    "ppm": "part per million", "atm": "atmosphere", "psi": "PSI", "mmHg": "millimeter of mercury",
}  # fmt: skip
_PREFIXES = {
    "T": "tera", "G": "giga", "M": "mega", "k": "kilo", "K": "kilo", "h": "hecto", "d": "deci", "c": "centi",
    "m": "milli", "µ": "micro", "μ": "micro", "n": "nano", "p": "pico",
}  # fmt: skip
_METRIC = {
    "m": "meter", "g": "gram", "l": "liter", "L": "liter", "W": "watt", "Wh": "watt hour", "V": "volt",
    "A": "amp", "Hz": "hertz", "hz": "hertz", "J": "joule", "cal": "calorie", "Pa": "pascal", "N": "newton",
    "B": "byte", "b": "bit", "bps": "bit per second", "Bps": "byte per second", "eV": "electron volt",
    "Ω": "ohm", "F": "farad", "mol": "mole",
}  # fmt: skip
_SEVERAL = {"foot": "feet", "inch": "inches"} | {
    word: word for word in ("percent", "CC", "PSI", "mille", "horsepower")
}


def several(unit: str) -> str:
    """Returns a unit's plural: "square feet", "degrees Celsius", "miles per hour"."""
    head, per, rest = unit.partition(" of " if " of " in unit else " per ")
    if head.startswith("degree"):
        return f"degrees{head[6:]}"
    before, space, last = head.rpartition(" ")
    return before + space + _SEVERAL.get(last, last if last.endswith("hertz") else f"{last}s") + per + rest


_SQUARE_AND_CUBIC = {"²": "square", "2": "square", "³": "cubic", "3": "cubic"}
_LENGTHS = [
    unit
    for unit, name in (_METRIC | _NAMES).items()
    if name.endswith(("meter", "foot", "inch", "yard", "mile")) and unit[-1] != "."
] + [f"{prefix}m" for prefix in _PREFIXES]


def _units() -> dict[str, str]:
    metric = {
        letter + unit: prefix + name for letter, prefix in _PREFIXES.items() for unit, name in _METRIC.items()
    }
    found = metric | _NAMES
    for sign, power in _SQUARE_AND_CUBIC.items():
        found |= {unit + sign: f"{power} {found[unit]}" for unit in _LENGTHS}
    return found


UNITS = _units()
"""Names of units, in the singular."""
EMOJI_NAMES = {
    "❤": "heart", "👍": "thumbs up", "👎": "thumbs down", "😂": "laughing with tears",
    "🤣": "laughing out loud", "😊": "smiling face", "☺": "smiling face", "🙂": "smiling face",
    "😄": "smiling face", "😃": "smiling face", "😁": "grinning face", "😍": "heart eyes", "😘": "kiss",
    "😭": "crying", "😢": "crying face", "😎": "cool face", "🙏": "folded hands", "👏": "clapping hands",
    "💪": "strong arm", "👌": "OK", "👋": "waving hand", "🙌": "raised hands", "🤷": "shrug",
    "🤦": "facepalm",
    "✅": "check mark", "✔": "check mark", "❌": "cross mark", "✖": "cross mark", "⭐": "star",
    "⚠": "warning",
    "💯": "one hundred", "➡": "right arrow", "⬅": "left arrow", "⬆": "up arrow", "⬇": "down arrow",
    "🎉": "party popper", "🥺": "pleading face", "💀": "skull", "🎂": "birthday cake", "☕": "coffee",
    "🌍": "globe", "🌎": "globe", "🌏": "globe", "📧": "email", "🐱": "cat", "🐶": "dog", "🏠": "house",
    "🎶": "music", "🎵": "music", "🙈": "covered eyes", "🥳": "party face", "😱": "screaming face",
    "🤯": "mind blown", "👀": "eyes", "🤗": "hug", "🤩": "starry eyes", "😋": "yummy", "😜": "winking face",
    "😏": "smirk", "😒": "unamused face", "🙄": "rolling eyes", "😔": "sad face", "😞": "sad face",
    "😤": "huffing face", "😩": "weary face", "😳": "flushed face", "🥰": "smiling face with hearts",
    "😇": "angel face", "😈": "devil face", "🤓": "nerd face", "🤑": "money face", "🤡": "clown face",
    "💩": "poop", "🤖": "robot", "👻": "ghost", "💕": "two hearts", "💖": "sparkling heart",
    "💚": "green heart", "💛": "yellow heart", "💜": "purple heart", "🖤": "black heart",
    "🧡": "orange heart",
    "✌": "peace sign", "🤞": "crossed fingers", "🤝": "handshake", "👊": "fist bump", "✊": "raised fist",
    "👉": "pointing right", "👈": "pointing left", "👇": "pointing down", "👆": "pointing up",
    "💡": "idea", "📱": "phone", "💻": "laptop", "📷": "camera", "📸": "camera", "🎁": "gift",
    "🎈": "balloon",
    "🏆": "trophy", "⚽": "soccer ball", "🏀": "basketball", "🌞": "sun", "🌈": "rainbow", "🌹": "rose",
    "🍕": "pizza", "🍺": "beer", "🍷": "wine", "🍎": "apple", "🚗": "car", "✈": "plane", "⏰": "alarm clock",
    "📅": "calendar", "📈": "rising chart", "📉": "falling chart", "💰": "money bag", "🔗": "link",
    "🔒": "lock",
    "⚡": "lightning", "❄": "snowflake", "🎄": "Christmas tree", "🎃": "pumpkin", "🆗": "OK", "🆕": "new",
    "‼": "exclamation marks", "💬": "speech bubble", "📝": "memo", "📚": "books", "🎓": "graduation cap",
    "💙": "blue heart", "😡": "angry face", "😅": "nervous laugh", "☀": "sun", "❗": "exclamation mark",
    "❓": "question mark", "✉": "envelope", "☎": "telephone", "📌": "pin",
}  # fmt: skip
"""Short names of common emoji, whose names in Unicode are long."""
UNIT = (
    rf"(?:{one_of(_LENGTHS)})[{''.join(_SQUARE_AND_CUBIC)}]|{one_of(_NAMES)}|"
    rf"[{''.join(_PREFIXES)}](?:{one_of(_METRIC)})"
)
"""A pattern of all of `UNITS`, much shorter than `one_of` them, which takes long to compile."""
AMBIGUOUS_STATES = frozenset("AL CT DE HI ID IN LA MA MD ME MI MO MS OH OK OR PA VA".split(" "))
"""Other words or titles too; states before a postal code only."""
STATES = {
    "AL": "Alabama", "AK": "Alaska", "AZ": "Arizona", "AR": "Arkansas", "CA": "California", "CO": "Colorado",
    "DC": "D C", "CT": "Connecticut", "DE": "Delaware", "FL": "Florida", "GA": "Georgia", "HI": "Hawaii",
    "ID": "Idaho",
    "IL": "Illinois", "IN": "Indiana", "IA": "Iowa", "KS": "Kansas", "KY": "Kentucky", "LA": "Louisiana",
    "ME": "Maine", "MD": "Maryland", "MA": "Massachusetts", "MI": "Michigan", "MN": "Minnesota",
    "MS": "Mississippi", "MO": "Missouri", "MT": "Montana", "NE": "Nebraska", "NV": "Nevada",
    "NH": "New Hampshire", "NJ": "New Jersey", "NM": "New Mexico", "NY": "New York", "NC": "North Carolina",
    "ND": "North Dakota", "OH": "Ohio", "OK": "Oklahoma", "OR": "Oregon", "PA": "Pennsylvania",
    "RI": "Rhode Island", "SC": "South Carolina", "SD": "South Dakota", "TN": "Tennessee", "TX": "Texas",
    "UT": "Utah", "VT": "Vermont", "VA": "Virginia", "WA": "Washington", "WV": "West Virginia",
    "WI": "Wisconsin", "WY": "Wyoming",
}  # fmt: skip
"""After a comma."""
STREETS = {
    "St": "Street", "Ave": "Avenue", "Av": "Avenue", "Blvd": "Boulevard", "Rd": "Road", "Hwy": "Highway",
    "Expy": "Expressway", "Ct": "Court", "Ln": "Lane", "Pkwy": "Parkway", "Sq": "Square", "Pl": "Place",
    "Ter": "Terrace", "Dr": "Drive", "Cir": "Circle", "Fwy": "Freeway",
}  # fmt: skip
"""After the number of a house and a name."""
BEFORE_NAMES = {
    "St": "Saint", "Mt": "Mount", "Ft": "Fort", "Gen": "General", "Gov": "Governor", "Sen": "Senator",
    "Rep": "Representative", "Rev": "Reverend", "Hon": "Honorable", "Capt": "Captain", "Lt": "Lieutenant",
    "Sgt": "Sergeant", "Col": "Colonel", "Maj": "Major", "Cmdr": "Commander", "Adm": "Admiral",
    "Pres": "President", "Messrs": "Messieurs", "Ste": "Sainte", "Mme": "Madame", "Supt": "Superintendent",
}  # fmt: skip
BEFORE_NUMBERS = {
    "No": "number", "no": "number", "Nos": "numbers", "nos": "numbers", "Nr": "number", "Vol": "volume",
    "vol": "volume", "Vols": "volumes", "Ch": "chapter", "ch": "chapter", "Fig": "figure", "fig": "figure",
    "Figs": "figures", "Eq": "equation", "eq": "equation", "p": "page", "pp": "pages", "pg": "page",
    "Sec": "section", "sec": "section", "Apt": "apartment", "apt": "apartment", "Art": "article",
    "art": "article", "Ext": "extension", "ext": "extension", "Rm": "room", "Ste": "suite",
    "Tel": "telephone",
    "ed": "edition", "Op": "opus", "op": "opus", "Pt": "part", "Bldg": "building", "ca": "circa",
    "est": "estimated", "Est": "estimated", "min": "minimum", "Min": "minimum", "max": "maximum",
    "Max": "maximum",
}  # fmt: skip
BEFORE_YEARS = {
    "c": "circa", "b": "born", "d": "died", "r": "reigned", "fl": "flourished", "est": "established",
    "Est": "established",
}  # fmt: skip
BEFORE_WORDS = {
    "max.": "maximum", "min.": "minimum", "est.": "estimated", "temp.": "temperature", "orig.": "originally",
    "pop.": "population", "cont.": "continued", "abbr.": "abbreviated",
}  # fmt: skip
"""Abbreviations that may be a word at the end of a sentence, but not before another word in lower case."""
ANYWHERE = BEFORE_WORDS | {
    "e.g.": "for example", "i.e.": "that is", "Jr.": "Junior", "Sr.": "Senior", "Inc.": "Incorporated",
    "Ltd.": "Limited", "Corp.": "Corporation", "Bros.": "Brothers", "Dept.": "Department",
    "dept.": "department", "approx.": "approximately", "Ave.": "Avenue", "Blvd.": "Boulevard",
    "Assn.": "Association", "Utd.": "United", "Univ.": "University", "w/o": "without", "w/": "with",
    "c/o": "care of", "Mon.": "Monday", "Tue.": "Tuesday", "Tues.": "Tuesday", "Wed.": "Wednesday",
    "Thu.": "Thursday", "Thur.": "Thursday", "Thurs.": "Thursday", "Fri.": "Friday",
    "govt.": "government", "avg.": "average",
    "ed. by": "edited by", "trans. by": "translated by", "illus. by": "illustrated by", "esp.": "especially",
    "et al.": "and others", "a.k.a.": "also known as", "viz.": "namely", "cf.": "compare",
    "Esq.": "Esquire", "Hwy.": "Highway", "Pkwy.": "Parkway", "incl.": "including", "misc.": "miscellaneous",
}  # fmt: skip
