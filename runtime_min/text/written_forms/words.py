"""Numbers alone and within words, Roman numerals, abbreviations and signs."""

from __future__ import annotations

import re
import unicodedata

from ...speech.abbreviations import FIRST_WORDS
from .amounts import NUMBER, WHOLE
from .numbers import as_ordinal, cardinal, decimal, digits, ordinal, roman, year
from .tables import (
    AMBIGUOUS_STATES,
    ANYWHERE,
    BEFORE_NAMES,
    BEFORE_NUMBERS,
    BEFORE_WORDS,
    BEFORE_YEARS,
    EMOJI_NAMES,
    STATES,
    STREETS,
    one_of,
)


def _names(table: str) -> frozenset[str]:
    return frozenset(table.split())


ORDINAL = rf"(?<![\w.,])(?P<number>{WHOLE})(?P<suffix>st|nd|rd|th|ST|ND|RD|TH)(?![A-Za-z0-9])"
PLAIN = rf"(?<![\w.])(?<![A-Za-z]-)(?P<sign>(?<![\w)\].,])[-−+±](?=[\d.]))?(?P<number>{NUMBER})(?!\d)"
SAID_OTHERWISE = {
    "24/7": "twenty four seven", "9/11": "nine eleven", "50/50": "fifty fifty", "20/20": "twenty twenty",
    "401(k)": "four oh one k", "403(b)": "four oh three b", "C++": "C plus plus", "C#": "C sharp",
    "F#": "F sharp", "and/or": "and or", "TL;DR": "T L D R", "WWI": "World War one", "WWII": "World War two",
    "VS Code": "V S Code", "b/c": "because", ".NET": "dot net", "ASP.NET": "A S P dot net",
}  # fmt: skip
SAID = rf"(?<![\w./-])(?:C\+\+(?=\d)|(?:{one_of(SAID_OTHERWISE)})(?![\w/+#-]))"
INITIALS = r"(?<![\w&])[A-Z]{1,2}(?:&[A-Z]{1,2}){1,2}(?![\w&])"
_WORD = re.compile(r" ?([A-Za-z]{1,20})")
INNER = r"\d+(?:\.\d+(?![\w.]))?"
MATH = (
    r"(?<=[\w)]) ?(?P<sign>[=!<>]=|[-=]>|[=≤≥≠≈×÷±]|[<>](?=\.?\d)|[-−](?= ?\w{1,3} ?=)"
    r"|(?<=[\d ])[<>+*](?=[ \d])) ?(?=[\w(+−-]|\.\d)"
)
HOUSE = (
    rf"(?<![\w.,/])(?P<number>\d{{1,5}}) (?P<before>(?:[NSEW]\.? )?(?:[A-Z0-9][\w'’]{{0,20}} ){{1,3}})"
    rf"(?P<street>(?!Dr\b\.? [A-Z])(?:{one_of(STREETS)}|hwy|st|ave|rd))\b"
    rf"(?P<dot>\.?)(?: (?P<end>[NS][EW])\b)?"
)
STATE = rf"(?<=, )(?P<state>{one_of(STATES)})\b(?:,? (?P<code>\d{{5}})(?:-(?P<more>\d{{4}}))?)?(?![\w-])"
_STREET_NAME = "[A-Z][a-z]{1,20}(?: [A-Z][a-z]{1,20})?"
STREET = (
    rf"(?<=[A-Za-z0-9] )(?P<street>(?!Dr\b)(?:{one_of(STREETS)}))\."
    # On Elm Dr. near the park.
    r"|(?:(?:(?<=\bon )|(?<=\bat )|(?<=\bof )|(?<=\bto )|(?<=\bnear )|(?<=\bdown )"
    rf"|(?<=\boff )|(?<=\balong )|(?<=\bOn ))(?={_STREET_NAME} Dr\.(?: [a-z]|,|\s*\Z))"
    # Elm Dr. is closed.
    rf"|(?<![\w.-])(?={_STREET_NAME} Dr\. (?:near|is|was|between|at|from|toward|to)\b))"
    rf"(?P<name>{_STREET_NAME}) Dr\."
)
TITLE = rf"(?<!\w)(?:(?P<title>{one_of(BEFORE_NAMES)})\.(?= ?[A-Z])|Ms(?= [A-Z][a-z]))"
NUMBERED = (
    rf"(?<![\w.])(?:(?:(?P<since>{one_of(BEFORE_YEARS)})\."
    rf"(?= (?:(?:in )?(?:[12]\d{{3}}|(?<!t\. )\d{{3}})(?!\d|[,.]\d)"
    rf"|\d{{1,2}} [A-Z][a-z]{{2,8}}\.? [12]\d{{3}}\b))"
    rf"|(?!(?<=\d )(?:min|max))(?P<word>{one_of(BEFORE_NUMBERS)})\. ?(?=#?\d))"
    r"|N[°º]\.? ?(?=\d)|№ ?(?=\d)|§ ?(?=\d)|#(?=\d))"
    # ~10 and <5, but x <5 is an inequality.
    r"|(?:~|(?<![\w)])(?<![\w)] )[<>])(?=[$€£]?\d)"
)
_ANYWHERE = one_of(word for word in ANYWHERE if word not in BEFORE_WORDS)
ABBREVIATION = rf"(?<![\w.])(?P<word>(?:{_ANYWHERE})(?!\w)|(?:{one_of(BEFORE_WORDS)})(?= [a-z]))"
ROMAN_AFTER_NAME = r"(?<=[a-z] )(?P<roman>(?!I\b(?! (?:of|the)))(?:[IVX]{1,6}))\b(?!['’](?!s\b)\w|[.-]\w)"
_NUMBERED = (
    "chapter|part|volume|book|act|scene|section|article|phase|type|class|level|stage|appendix|war|grade|title|"
    "tier|mark|episode|version|psalm|step|unit"
)
_AFTER_ONE = (
    r"\s*(?:\Z|[.,;:!?)\]])|[-–/][IVX]| (?:of|is|are|has|does|requires|includes)\b"
    rf"| (?:and|or|to|through|vs\.?|versus) (?:(?:{_NUMBERED}) )?[IVX]{{1,8}}\b"
    "| (?:diabet|error|collagen|interferon|hypersens|supercond|supernova|civili[sz]ation|cancer|disease|"
    "melanoma|lung|breast|colon|hypertension|clinical|trial|stud(?:y|ies)|trauma|evidence|recommendation|device|recall|"
    "patient|tumou?r|fib(?:er|re)s|muscle)"
)
"""Pattern of text after the numeral I that does not follow the pronoun."""
_AFTER_PRONOUN = (
    "am|have|do|don['’]t|want|need|like|love|hate|think|know|see|say|mean|believe|hope|wish|guess|remember|prefer|"
    "recommend|use|play|read|wrote|bought|told|thought|just|never|ever|always|really|actually|personally|also|most"
)
ROMAN_AFTER_WORD = (
    # The book I read, The Book I Want, the part I've seen.
    # The first look ahead only saves time.
    rf"\b(?=[A-Za-z]{{1,8}}[ .])(?!(?:[a-z]{{1,8}}|Mark) I\b(?!{_AFTER_ONE}))"
    rf"(?!\w{{1,8}} I (?i:{_AFTER_PRONOUN})\b)"
    rf"(?P<word>(?i:{_NUMBERED}|super bowl|world war|(?:ch|vol|pt|fig|sec|art)\.)) "
    r"(?P<roman>[IVXLCDM]{1,8})\b(?!['’](?i:m|ve|d|ll)\b)"
)
_KINGS = _names(
    """
    Henry Louis Charles George Edward William James Richard Elizabeth Mary John Paul Pius Benedict
    Francis Leo Philip Ferdinand Alexander Nicholas Catherine Peter Ivan Frederick Wilhelm Napoleon
    Gregory Innocent Clement Urban Boniface Sam Robert Thomas Ramesses Rameses Ptolemy Cleopatra
    Constantine Otto Rudolf Leopold Joseph Christian Gustav Haakon Olav Carlos Alfonso Juan Felipe
    Margaret Anne Edmund David Darius Xerxes Antiochus Thutmose Amenhotep Seti Mehmed Murad
    Selim Suleiman Ahmed Mustafa Bayezid Mahmud Michael Basil Manuel Andronikos Magnus Harald Eric Valdemar
    Sigismund Casimir Maximilian Umberto Emmanuel Pedro Afonso Rama Shapur Sixtus Julius Callixtus Adrian
    """
)
_MATH = {
    "=": "equals", "<": "is less than", ">": "is greater than", "≤": "is at most", "≥": "is at least",
    "≠": "is not equal to", "≈": "is about", "×": "times", "÷": "divided by", "±": "plus or minus",
    "+": "plus", "-": "minus", "−": "minus", "*": "times", "√": "root", "∞": "infinity",
    "==": "equals", "!=": "is not equal to", "<=": "is at most", ">=": "is at least", "->": "to", "=>": "to",
    "∑": "sum", "∫": "integral",
}  # fmt: skip
SIGNS = _MATH | {
    "#": "hash", "€": "euro", "$": "dollar", "£": "pound", "¥": "yen", "₩": "won", "¢": "cents",
    "§": "section", "©": "copyright", "®": "registered", "™": "trademark", "°": "degrees", "№": "number",
    "†": "dagger", "¶": "paragraph", "→": "to", "/": "slash", "′": "prime", "″": "double prime",
    "‰": "per mille",
}  # fmt: skip
"""Names of signs that stand alone."""
MARKUP = r"(?<![^\n])(?:#(?= [A-Z0-9])|#{2,6}(?= )|>{1,4}(?= ))"
"""Signs of a heading and of a quote in Markdown, at the beginning of a line."""
SIGN = (
    rf"(?P<markup>{MARKUP})|(?P<hashtag>(?<!\w)#(?=[A-Za-z]))|(?P<sign>[€$£¥₩§©®™°№†¶=±×÷≈≠≤≥→∞√‰¢∑∫#−′″])"
    r"|(?P<apart>(?<!\S)[</>](?!\S))"
)


def ordinal_number(found: re.Match[str], british: bool) -> str | None:
    """Returns the words for digits with the ending of an ordinal number, if it is the right one."""
    written = found["number"].replace(",", "")
    teen = len(written) > 1 and written[-2] == "1"
    right = "th" if teen else {"1": "st", "2": "nd", "3": "rd"}.get(written[-1], "th")
    return ordinal(written) if found["suffix"].lower() == right else None


_CODES = (13, 16)
"""Digits of a book's number (ISBN) and of a bank card's."""


def plain(found: re.Match[str], british: bool) -> str:
    """Returns the words for a number: four digits are a year, as in misaki."""
    number, sign = found["number"], found["sign"]
    if len(number) in _CODES and number.isdecimal() and not number.endswith("000"):
        return digits(number)
    spoken = year(number) if len(number) == 4 and number.isdecimal() and number[0] != "0" else decimal(number)
    signs = {"-": "minus ", "−": "minus ", "+": "plus ", "±": "plus or minus "}
    return signs.get(sign or "", "") + spoken


def inner(found: re.Match[str], british: bool) -> str:
    """Returns the words for digits within a word such as B747 or COVID-19, as misaki does."""
    return decimal(found[0]) if "." in found[0] else _within_word(found[0])


def _within_word(number: str) -> str:
    if len(number) == 4 and number[0] != "0":
        return year(number)
    if number[0] == "0" or len(number) > 3:
        return digits(number)
    if len(number) == 3 and number[1:] != "00":
        rest = f"oh {digits(number[2])}" if number[1] == "0" else cardinal(number[1:])
        return f"{digits(number[0])} {rest}"
    return cardinal(number)


def house(found: re.Match[str], british: bool) -> str:
    """Returns the words for a house's number and its street."""
    directions = {"N": "North", "S": "South", "E": "East", "W": "West"}
    number = found["number"]
    said = _within_word(number)
    words = []
    for word in found["before"].split():
        ordinal_word = re.fullmatch(ORDINAL, word)
        name = directions.get(word.rstrip("."), word)
        words.append((ordinal_number(ordinal_word, british) if ordinal_word else None) or name)
    street = STREETS[found["street"].capitalize()]
    quarter = _QUARTERS[found["end"]] if found["end"] else ""
    return " ".join([said, *words, street, quarter]).strip()


_LONG_WORD = re.compile(r"[^\W\d]{4} ?\Z")
_QUARTERS = {"NE": "Northeast", "NW": "Northwest", "SE": "Southeast", "SW": "Southwest"}


def state(found: re.Match[str], british: bool) -> str | None:
    """Returns the words for a state of the USA and its postal code."""
    if found["state"] in AMBIGUOUS_STATES and not found["code"]:
        return None
    codes = [digits(code) for code in (found["code"], found["more"]) if code]
    return " ".join([STATES[found["state"]], *codes])


def street(found: re.Match[str], british: bool) -> str | None:
    """Returns the name of an abbreviated kind of street, with the street's before Dr."""
    return f"{found['name']} Drive" if found["name"] else STREETS[found["street"]]


def title(found: re.Match[str], british: bool) -> str | None:
    """Returns an abbreviation before a name."""
    if not found["title"]:
        # As it is in the lexicon.
        return "Ms."
    following = _WORD.match(found.string, found.end())
    # The name of a street may end a sentence.
    street = found["title"] == "St" and following is not None and following[1] in FIRST_WORDS
    return None if street else BEFORE_NAMES[found["title"]]


def numbered(found: re.Match[str], british: bool) -> str:
    """Returns an abbreviation before a number."""
    word = {"§": "section", "~": "about", "<": "less than", ">": "more than"}.get(found[0][0])
    if found["since"]:
        return BEFORE_YEARS[found["since"]]
    return word or BEFORE_NUMBERS.get(found["word"] or "", "number")


def abbreviation(found: re.Match[str], british: bool) -> str:
    """Returns the words that an abbreviation stands for."""
    return ANYWHERE[found["word"]]


def roman_after_name(found: re.Match[str], british: bool) -> str | None:
    """Returns the words for a Roman numeral after a name: ordinal for a king or pope."""
    before = found.string[max(0, found.start() - 20) : found.start()].split()
    value = roman(found["roman"])
    if not before or value is None:
        return None
    if before[-1] not in _KINGS:
        # Rocky III, but not Malcolm X.
        return cardinal(str(value)) if before[-1].istitle() and len(found["roman"]) > 1 else None
    return f"the {as_ordinal(cardinal(str(value)))}"


def roman_after_word(found: re.Match[str], british: bool) -> str | None:
    """Returns the words for a word such as "chapter" and its Roman numeral."""
    value = roman(found["roman"])
    word = BEFORE_NUMBERS.get(found["word"].rstrip("."), found["word"])
    if value is None or (found["roman"] in ("C", "D", "M", "L") and word.lower() != "chapter"):
        return None
    return f"{word} {cardinal(str(value))}"


def said(found: re.Match[str], british: bool) -> str:
    """Returns the words for a form that follows no rule."""
    return SAID_OTHERWISE[found[0]]


def initials(found: re.Match[str], british: bool) -> str:
    """Returns the letters of a name such as AT&T."""
    return " and ".join(" ".join(letters) for letters in found[0].split("&"))


def math(found: re.Match[str], british: bool) -> str:
    """Returns the name of a mathematical sign; a star between words is none."""
    if found["sign"] == "*" and _LONG_WORD.search(found.string, max(0, found.start() - 6), found.start()):
        return "star"
    return _MATH[found["sign"]]


def sign(found: re.Match[str], british: bool) -> str | None:
    """Returns the name of a sign that stands alone."""
    if found["markup"]:
        return None
    if found["hashtag"]:
        return "hashtag"
    return SIGNS[found[0]]


_PICTURE = "[\u2190-\u21ff\u2300-\u23ff\u2460-\u27bf\u2900-\u2bff\U0001f000-\U0001f1e5\U0001f200-\U0001faff]"
# A picture with its variants, such as colours of the skin, is one; two letters are the flag of a country.
EMOJI = (
    rf"(?P<flag>[\U0001f1e6-\U0001f1ff]{{2}})|"
    rf"{_PICTURE}(?:[\ufe0f\u20e3\U0001f3fb-\U0001f3ff]|\u200d{_PICTURE})*"
)
_FIRST_FLAG_LETTER = 0x1F1E6


def emoji(found: re.Match[str], british: bool) -> str | None:
    """Returns the name of an emoji or another symbol, digits as a number."""
    if found["flag"]:
        return "flag " + " ".join(
            chr(ord(letter) - _FIRST_FLAG_LETTER + ord("A")) for letter in found["flag"]
        )
    value = unicodedata.numeric(found[0][0], None)
    if value is not None:
        return cardinal(str(int(value)))
    if found[0][0] in EMOJI_NAMES:
        return EMOJI_NAMES[found[0][0]]
    return unicodedata.name(found[0][0], "").lower().replace("-", " ") or None
