"""Numbers, dates and other written forms are said as a careful reader says them."""

from __future__ import annotations

import re
import time
from itertools import chain, pairwise
from pathlib import Path
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime_min.text import written_forms
from runtime_min.text.written_forms import find_written_forms
from runtime_min.text.written_forms.tables import UNIT, UNITS
from runtime_min.text.written_forms.words import STATE
from tests.support.english_text import said
from tests.support.fuzzing import texts

CASES = {
    "cardinals": {
        "0 7 10 21 105 1000000": "zero seven ten twenty one one hundred five one million",
        "1,234 and 12,345,678": (
            "one thousand two hundred thirty four and twelve million three hundred forty five "
            "thousand six hundred seventy eight"
        ),
        "-3 +4 0007": "minus three plus four zero zero zero seven",
    },
    "ordinals": {
        "1st 22nd 103rd 1000th": "first twenty second one hundred third one thousandth",
        "11st": "eleven st",
    },
    "decimals": {
        "3.14 0.05 .5 2.50": "three point one four zero point zero five point five two point five zero",
    },
    "years": {
        "1066 1900 1905 2000 2001 2024": (
            "ten sixty six nineteen hundred nineteen oh five two thousand two thousand one twenty twenty four"
        ),
        "the 1980s and '90s": "the nineteen eighties and nineties",
    },
    "money": {
        "$4.50": "four dollars and fifty cents",
        "$0.01": "one cent",
        "£2.01": "two pounds and one penny",
        "€3 and ¥500": "three euros and five hundred yen",
        "$1.5 billion": "one point five billion dollars",
        "-$5": "minus five dollars",
        "US$20/mo": "twenty US dollars per month",
        "20 €": "twenty euros",
        "$5-$10": "five dollars to ten dollars",
        "EUR 5": "five euros",
        "$30bn": "thirty billion dollars",
    },
    "dates": {
        "On 3 May 2025": "On the third of May twenty twenty five",
        "May 3, 2025.": "May third twenty twenty five.",
        "2025-05-03": "May third twenty twenty five",
        "the 4th of July": "the fourth of July",
        "in March 1999": "in March nineteen ninety nine",
        "Jan. 5": "January fifth",
        "12/25/2024": "December twenty fifth twenty twenty four",
        "You may 5": "You may five",
        "in Sept. we": "in September we",
    },
    "times": {
        "3:30pm": "three thirty PM",
        "at 5 p.m. on": "at five PM on",
        "15:45": "fifteen forty five",
        "8:05": "eight oh five",
        "9:00": "nine o'clock",
        "1:01:01": "one hour one minute and one second",
        "5 p.m. He": "five PM. He",
        "9-10 a.m.": "nine to ten AM.",
    },
    "measures": {
        "5 kg": "five kilograms",
        "1 km": "one kilometer",
        "60 mph": "sixty miles per hour",
        "20°C": "twenty degrees Celsius",
        "a 5-km run": "a five kilometer run",
        "50%": "fifty percent",
        "3 m²": "three square meters",
        "10 m/s": "ten meters per second",
        "6'2\"": "six feet two",
        "2-5 lb": "two to five pounds",
        "-25 °F": "minus twenty five degrees Fahrenheit",
        "5G and 3D": "five G and three D",
        "2 Tbsp. oil, 1 Tsp salt": "two tablespoons oil, one teaspoon salt",
        "25 bps, 9600 bps": "twenty five basis points, nine thousand six hundred bits per second",
        'a 27" 4K screen, a 55" TV': "a twenty seven inch four K screen, a fifty five inch TV",
        "6' tall, a 6' fence, the 5' end": "six feet tall, a six foot fence, the five' end",
        "9.8 m/s², 2 m/s^2": "nine point eight meters per second squared, two meters per second squared",
        "10⁻³ mol/L": "ten to the power of minus three moles per liter",
    },
    "fractions": {
        "1/2 cup": "one half cup",
        "120/80 mmHg": "one hundred twenty over eighty millimeters of mercury",
        "2 3/4": "two and three quarters",
        "½ or 1½": "one half or one and a half",
        "24/7": "twenty four seven",
    },
    "ranges": {
        "pages 3-7": "pages three to seven",
        "1980-1986": "nineteen eighty to nineteen eighty six",
        "16:9": "sixteen to nine",
        "3x4": "three by four",
    },
    "telephones": {
        "1-800-FLOWERS, 1-800-ABC": "one eight hundred flowers, one eight hundred ABC",
        "555-123-4567": "five five five one two three four five six seven",
        "105 105 105 1905": "one hundred five one hundred five one hundred five nineteen oh five",
        "+1 (555) 123-4567": "plus one five five five one two three four five six seven",
    },
    "Roman numerals": {
        "Henry VIII": "Henry the eighth",
        "Charles III's": "Charles the third's",
        "Chapter IV": "Chapter four",
        "Vitamin C": "Vitamin C",
        "and I": "and I",
        "World War II": "World War two",
        "World War I ended; Act I, Scene II of Book I": "World War one ended; Act one, Scene two of Book one",
        "type I diabetes, phase I and phase II": "type one diabetes, phase one and phase two",
    },
    "abbreviations": {
        "No. 5, no. 6": "number five, number six",
        "St. John of 5 Main St.": "Saint John of five Main Street.",
        "e.g. a hat, e.g. The Hague": "for example a hat, for example The Hague",
        "Acme Inc. The": "Acme Incorporated. The",
        "Say no. Go": "Say no. Go",
        "Mt. Fuji": "Mount Fuji",
        "on Main St. The": "on Main Street. The",
        "Yes, OK. Reno, NV": "Yes, OK. Reno, Nevada",
        "at the Sun. It": "at the Sun. It",
        "#5": "number five",
        "on Elm Dr. near, 12 Elm Dr, Dr. Elm": "on Elm Drive near, twelve Elm Drive, Dr. Elm",
        "Ask Dr. who came. Of Old Mill Dr.": "Ask Dr. who came. Of Old Mill Dr.",
        "(b. 1952, d. 2001)": "(born nineteen fifty two, died two thousand one)",
        "c. 1500, r. 980, c. 5": "circa fifteen hundred, reigned nine hundred eighty, c. five",
        "est. 1990, est. in 1990, est. 500": (
            "established nineteen ninety, established in nineteen ninety, estimated five hundred"
        ),
        "min. 5, max. 10, 5 min. 10 s": "minimum five, maximum ten, five minutes ten seconds",
        "Elm Dr. near it, Oak Hill Dr. is shut": "Elm Drive near it, Oak Hill Drive is shut",
        "the max. load, at max. The": "the maximum load, at max. The",
        "the temp. was 30 deg. F": "the temperature was thirty degrees Fahrenheit",
        "ed. by Lee, esp. now": "edited by Lee, especially now",
        "VS Code": "V S Code",
        "Leeds Utd. lost b/c": "Leeds United lost because",
        "AT&T's R&D": "A T and T's R and D",
    },
    "addresses": {
        "bob.smith@example.com.": "bob dot smith at example dot com.",
        "https://www.example.co.uk/a-b": "W W W dot example dot C O dot U K slash A dash B",
        "10.0.0.1": "ten dot zero dot zero dot one",
        "v1.2.3": "version one point two point three",
        "Go.Now": "Go.Now",
        "and/or": "and or",
    },
    "mathematics": {
        "1-2=5": "one minus two equals five",
        "2 × 3 = 6": "two times three equals six",
        "x < y": "x is less than y",
        "±3": "plus or minus three",
    },
    "within words": {
        "COVID-19": "COVID- nineteen",
        "R2-D2": "R two -D two",
        "B747": "B seven forty seven",
        "F-150": "F- one fifty",
        "GPT-4.5 t2000": "GPT- four point five t two thousand",
        "MP3": "MP three",
        "C++ and C#": "C plus plus and C sharp",
    },
    "signs": {
        "#topic": "hashtag topic",
        "© 2024": "copyright twenty twenty four",
        "➀": "one",
        "😀": "grinning face",
        "❤️ 👍🏽 😂": "heart thumbs up laughing with tears",
        "🥺 ☕ 🌍 📧": "pleading face coffee globe email",
        "## Notes": "## Notes",
        "> 5 wrote": "> five wrote",
        "# Notes\n# of 5": "# Notes\nhash of five",
    },
}


@pytest.mark.parametrize("category", CASES)
def test_written_forms_are_said_as_a_careful_reader_says_them(category: str) -> None:
    assert {text: said(text) for text in CASES[category]} == CASES[category]


def test_text_as_people_write_it_is_said_as_a_careful_reader_says_it() -> None:
    lines = (Path(__file__).parent / "data/written_forms.txt").read_text("utf-8").splitlines()
    pairs = [line.split(" => ") for line in lines]
    assert [[text, said(text)] for text, _ in pairs] == pairs


@pytest.mark.parametrize(
    "noun", "book chapter part act scene type class level stage war version Mark".split()
)
@pytest.mark.parametrize("clause", ["I read", "I wrote it", "I have", "I’ve seen", "I'll take", "I was in"])
def test_a_pronoun_after_a_noun_is_no_numeral(noun: str, clause: str) -> None:
    assert said(f"The {noun} {clause}") == f"The {noun} {clause}"
    title = f"The {noun.title()} I Never Liked"
    assert said(title) == title


def test_the_british_say_dates_otherwise() -> None:
    assert said("3/5/2025 and May 3", british=True) == "the third of May twenty twenty five and May the third"


@given(st.text() | st.text("0123456789.,:/-$€%°#@'ºaAIVX \n()[]stPMkgmJan¾➀", max_size=40))
def test_forms_are_in_order_and_their_words_are_letters(text: str) -> None:
    for british in (True, False):
        forms = find_written_forms(text, british)
        assert all(before.end <= after.start for before, after in pairwise(forms))
        assert all(0 <= form.start < form.end <= len(text) for form in forms)
        assert all(form.spoken == " ".join(form.spoken.split()) != "" for form in forms)


@given(
    st.sampled_from([*chain(*CASES.values())])
    | st.text("01٣/⁄(+#.:@,$-−×=IVXkgMay½ ", max_size=20)
    | st.integers(0).map(lambda seed: texts.text(Random(seed)))
)
def test_a_text_with_a_form_has_one_of_its_characters(text: str) -> None:
    for needed, pattern, _ in written_forms._FORMS:
        for found in re.finditer(pattern, text):
            # Before a state stands a comma, which may be in another form.
            part = text[0 if pattern == STATE else found.start() :]
            present = {"0" if character.isdecimal() else character for character in part}
            assert all(present & {*characters} for characters in needed)


def test_the_pattern_of_units_fits_all_units() -> None:
    assert all(re.fullmatch(UNIT, unit) for unit in UNITS)
    assert not any(re.fullmatch(UNIT, word) for word in ("A", "kx", "kg²", "dollars", ""))


@given(st.integers(0, 10**40))
def test_every_number_is_said(number: int) -> None:
    (form,) = find_written_forms(str(number), british=False)
    assert (form.start, form.end) == (0, len(str(number)))


@pytest.mark.parametrize(
    "unit", ["1", "1.", "1,", "1-", "1/", "$1 ", "A.", "@a", "#1 ", "I ", "1:", "1 x ", "www.", "1 May "]
)
def test_hostile_text_takes_linear_time(unit: str) -> None:
    few, many = (min(_seconds(unit * (length // len(unit))) for _ in range(3)) for length in (1_000, 8_000))
    assert many < 24 * few


def _seconds(text: str) -> float:
    start = time.process_time()
    find_written_forms(text, british=False)
    return time.process_time() - start
