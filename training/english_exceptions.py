"""Lists English words that the letter model misreads, from CMUdict and by hand.

    python -m training.english_exceptions cmudict.dict FREQUENT.txt exporter/text/data/english_words.txt

A word of CMUdict is listed if it is frequent, misaki's American lexicon has neither it nor its stem, and the
letter model says none of its pronunciations. Words of `english_words.txt` beside this file come first.
"""

from __future__ import annotations

import argparse
import re
from collections import defaultdict
from collections.abc import Container, Iterable, Mapping, Sequence
from pathlib import Path

from exporter.text.lexicon_file import ABSENT, pack_lexicon
from runtime_min.text.letter_to_sound import LetterToSound
from runtime_min.text.lexicon import SILVER, Lexicon
from runtime_min.text.pronunciation import Context, Pronunciation

_DATA = Path(__file__).parents[1] / "exporter" / "text" / "data"
_BY_HAND = Path(__file__).with_name("english_words.txt")
_FREQUENT, _VERY_FREQUENT = 60_000, 35_000
"""Ranks of the last words that are listed with American and with British phonemes, which CMUdict lacks."""
_VOWELS = {
    "AA": "ɑ", "AE": "æ", "AH": "ʌ", "AO": "ɔ", "AW": "W", "AY": "I", "EH": "ɛ", "ER": "ɜɹ", "EY": "A",
    "IH": "ɪ", "IY": "i", "OW": "O", "OY": "Y", "UH": "ʊ", "UW": "u",
}  # fmt: skip
_CONSONANTS = {
    "B": "b", "CH": "ʧ", "D": "d", "DH": "ð", "F": "f", "G": "ɡ", "HH": "h", "JH": "ʤ", "K": "k", "L": "l",
    "M": "m", "N": "n", "NG": "ŋ", "P": "p", "R": "ɹ", "S": "s", "SH": "ʃ", "T": "t", "TH": "θ", "V": "v",
    "W": "w", "Y": "j", "Z": "z", "ZH": "ʒ",
}  # fmt: skip
_MARKS = {"0": "", "1": "ˈ", "2": "ˌ"}
_SYLLABIC_L = re.compile(r"(?<=[^AIOWYiuæɑəɛɪɔʊʌɜɹlwj])ə(?=l(?:$|[^AIOWYiuæɑəɛɪɔʊʌɜˈˌ]))")
_SYLLABIC_N = re.compile(r"(?<=[tdszʃʒʧ])ə(?=n(?:$|[^AIOWYiuæɑəɛɪɔʊʌɜˈˌ]))")
_FLAP = re.compile(r"(?<=[AIOWYiuæɑəɛɪɔʊʌɹ])t(?=[AIOWYiuæɑəɛɪɔʊʌɜᵊ])(?!ᵊn)")
_BRITISH = [
    (re.compile(pattern), sound)
    for pattern, sound in (
        ("ɾ", "t"), ("ᵻ", "ɪ"), ("jʊɹ(?=[AIOWYiuæɑəɛɪɔʊʌɜˈˌ])", "jʊəɹ"), ("ɜɹ", "ɜː"),
        ("(?<!ɜː)əɹ(?=[AIOWYiuæɑəɛɪɔʊʌɜᵊˈˌ])", "əR"), ("əɹ", "ə"),
        ("ɑɹ", "ɑːɹ"), ("ɔɹ", "ɔːɹ"), ("ɛɹ", "ɛːɹ"),
        ("ɪɹ", "ɪəɹ"), ("ʊɹ", "ʊəɹ"), ("(?<=[əː])ɹ(?![AIOWYiuæɑəɛɪɔʊʌɜᵊˈˌ])", ""), ("R", "ɹ"),
        ("ɔ(?!ː)(?=[fsθŋɡ])", "ɒ"), ("ɔ(?!ː)", "ɔː"), ("(?<=[ˈˌ])i", "iː"), ("i(?![ː]|$)", "ɪ"),
        ("jə(?=l)", "jʊ"), ("u", "uː"),
        ("O", "Q"), ("æ", "a"), ("(?<=[tdn])j?uː", "juː"),
    )
]  # fmt: skip
"""How American phonemes become British ones, in order; R is a ɹ that stays."""


def main() -> None:
    """Writes the list."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    for name in ("cmudict", "frequent", "output"):
        parser.add_argument(name, type=Path)
    options = parser.parse_args()
    by_hand = read_words(_BY_HAND)
    spoken = read_cmudict(options.cmudict)
    frequent = options.frequent.read_text("utf-8").split()[:_FREQUENT]
    lower = {word.lower() for word in by_hand}
    words = [word for word in frequent if word in spoken and word not in lower]
    misread = exceptions(words, spoken, frozenset(frequent[:_VERY_FREQUENT]))
    rows = {
        re.sub("^mc(.)", lambda found: "Mc" + found[1].upper(), word): both for word, both in misread.items()
    } | by_hand
    lines = [f"{word} {' '.join(rows[word])}" for word in sorted(rows)]
    options.output.write_text("\n".join(lines) + "\n", "utf-8")
    print(f"{len(misread):,} words of CMUdict and {len(by_hand):,} by hand")


def read_words(path: Path) -> dict[str, tuple[str, str]]:
    """Returns words with American and British phonemes; the British follow from the American if absent."""
    rows = [line.split() for line in path.read_text("utf-8").splitlines() if line and line[0] != "#"]
    return {
        word: (phonemes, given[0] if given else british(word, phonemes)) for word, phonemes, *given in rows
    }


def read_cmudict(path: Path) -> dict[str, list[str]]:
    """Returns the pronunciations of each word that is written with letters alone."""
    spoken: dict[str, list[str]] = defaultdict(list)
    for line in path.read_text("utf-8").splitlines():
        word, *sounds = line.partition(" #")[0].split()
        word = re.sub(r"\(\d\)$", "", word)
        if word.isascii() and word.isalpha() and len(word) > 3:
            spoken[word].append(american(sounds))
    return spoken


def american(sounds: Sequence[str]) -> str:
    """Returns the phonemes of CMUdict's sounds.

    >>> american(["G", "IH1", "T", "ER0"])
    'ɡˈɪɾəɹ'
    """
    phonemes = ""
    for sound in sounds:
        if sound in _CONSONANTS:
            phonemes += _CONSONANTS[sound]
        else:
            weak = {"AH0": "ə", "ER0": "əɹ"}
            phonemes += weak.get(sound) or _MARKS[sound[-1]] + _VOWELS[sound[:-1]]
    phonemes = _SYLLABIC_N.sub("ᵊ", _SYLLABIC_L.sub("ᵊ", phonemes))
    return _FLAP.sub("ɾ", phonemes)


def british(word: str, phonemes: str) -> str:
    """Returns the British phonemes that go with American ones.

    >>> british("garter", "ɡˈɑɹɾəɹ"), british("robot", "ɹˈObˌɑt")
    ('ɡˈɑːtə', 'ɹˈQbˌɒt')
    """
    phonemes = re.sub("ɑ(?!ɹ)", "ɒ" if "o" in word else "ɑː", phonemes)
    for pattern, sound in _BRITISH:
        phonemes = pattern.sub(sound, phonemes)
    return phonemes


def exceptions(
    words: Iterable[str], spoken: Mapping[str, Sequence[str]], in_both: Container[str]
) -> dict[str, tuple[str, str]]:
    """Returns the words that the letter model misreads, with their first pronunciation in both dialects.

    The British one is `ABSENT` if the model says it right, or for a word that is not `in_both`.
    """
    model = LetterToSound((_DATA / "spelling.bin").read_bytes())
    known = Pronunciation(Lexicon(pack_lexicon("en-us", added={})), british=False)
    context = Context(False)
    misread = [
        word
        for word in words
        if known.word(word, "NN", context) is None
        and known.word(word.capitalize(), "NNP", context) is None
        and reduced(model.phonemes(word, british=False)) not in map(reduced, spoken[word])
    ]
    rows = {}
    for word in misread:
        spelled, own = model.phonemes(word, british=True), british(word, spoken[word][0])
        needed = word in in_both and reduced(spelled) != reduced(own)
        rows[word] = (SILVER + spoken[word][0], SILVER + own if needed else ABSENT)
    return rows


def reduced(phonemes: str) -> str:
    """Returns phonemes without stress and without distinctions that dictionaries make otherwise."""
    return re.sub("[ˈˌ]", "", phonemes).translate(str.maketrans("ᵊᵻɪʌɜɔɒɾTʔ", "əəəəəɑɑttt"))


if __name__ == "__main__":
    main()
