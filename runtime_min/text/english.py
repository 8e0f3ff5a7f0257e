"""English text to words with phonemes.

text → controls → written forms → tokens → tags → phonemes, from right to left → words
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache, partial
from itertools import pairwise

from ..speech.sentences import find_sentences
from ..speech.words import OwnWords, Word
from .compounds import Part, compound, following, is_silent, joined, parts_of
from .controls import Control, read_controls, silence_emoji
from .lexicon import Lexicon
from .pronunciation import Context, Pronunciation
from .stress import restressed
from .tokens import UNKNOWN, Token, tokenise
from .written_forms import find_written_forms
from .written_forms.numbers import with_flags

_PLAIN = {ord("’"): "'", ord("ʼ"): "'", ord("‐"): "-", ord("‑"): "-", ord("－"): "-"}
_PLAIN |= {code: chr(code - 0xFEE0) for code in range(0xFF01, 0xFF5F)}
"""Characters that stand for another one, such as letters of full width."""
_BASE = str.maketrans({"ß": "ss", "æ": "ae", "Æ": "Ae", "œ": "oe", "Œ": "Oe", "ø": "o", "Ø": "O", "ł": "l",
                       "Ł": "L", "đ": "d", "ð": "d", "þ": "th", "Þ": "Th", "ı": "i", "ŋ": "ng"})  # fmt: skip
"""Letters that Unicode does not decompose."""
_RESPELLED = str.maketrans({"ñ": "ny", "Ñ": "Ny", "ç": "s", "Ç": "S"})
"""Letters of unknown words whose accent changes their sound."""
_LATIN = re.compile("LATIN (?:SMALL|CAPITAL) LETTER ([A-Z]+)")
_OUTPUT = str.maketrans("ɾʔ", "Tt")
"""Phonemes as Kokoro has them."""
_LONGEST_KEPT = 64
"""Characters of a written form's words whose phonemes are kept."""
_WEAK = {"point": -2, "dot": -0.5}
"""Stress of the words of a written form that have less than in a sentence."""
_LONG_RUN = re.compile(r"\S{250,}")
"""A run that is too long for a word or an address: its unknown words are spelled."""
_IRISH = re.compile("O'[A-Z][a-z]")
_CONSONANTS = re.compile(r"(?i)(?!.*(.)\1)[b-df-hj-np-tv-xz]{2,5}|(?i:omg|idk|imh?o|iirc|afaik|fyi)")
"""Letters that are spelled: btw, but not brr."""
_ACUTE = re.compile("(?<=.)ée?(s?)$")
_AY = re.compile("[Ai]z?$")
_REDUCED = ("ə", "ən")
"""Words of a written form that are phonemes already, of misaki's flags."""
_LETTERS_OR_WORD = re.compile(r"(?<!\S)[A-Z](?: [A-Z])*(?!\S)|\S+")
Tag = Callable[[Sequence[Sequence[str]]], Sequence[Sequence[str]]]
Choose = Callable[[Sequence[str], Sequence[str], int], "str | None"]


class English:
    """A G2P for one dialect, for ``g2p=``."""

    def __init__(
        self,
        lexicon: Lexicon,
        british: bool,
        tag: Tag,
        choose: Choose,
        spell_out: Callable[[str], str],
        *,
        skip_emoji: bool = False,
    ) -> None:
        """Takes the parts.

        Args:
            lexicon: the words of the dialect.
            british: British, not American.
            tag: returns the Penn Treebank's tag of each token of each sentence.
            choose: returns which pronunciation of a homograph is meant, from the tokens of a sentence, their
                tags and its place: a key of its entry, or phonemes; None for any other word.
            spell_out: returns the phonemes of a word that the lexicon lacks.
            skip_emoji: leave emoji out, instead of saying their names.
        """
        self._lexicon = lexicon
        self._british = british
        self._pronunciation = Pronunciation(lexicon, british)
        self._tag = tag
        self._choose = choose
        self._spell_out = spell_out
        self._skip_emoji = skip_emoji
        # Bounded, for texts of ever new numbers and signs.
        self._kept = lru_cache(4_096)(self._alone)

    def adapted(self, words: OwnWords, *, skip_emoji: bool) -> English:
        """Returns the same G2P with words of an app; a word in lower case is meant in any case.

        Raises:
            SpokenTypeError: a word or its phonemes are no text.
        """
        lexicon = self._lexicon.with_words(words)
        parts = (lexicon, self._british, self._tag, self._choose, self._spell_out)
        return English(*parts, skip_emoji=skip_emoji)

    def __call__(self, text: str) -> list[Word]:
        """Returns the words of a text.

        The words and the white space after each make up the text without its controls. The phonemes of a
        word that cannot be spoken are None.
        """
        return self.read(text)[0]

    def read(self, text: str) -> tuple[list[Word], list[int]]:
        """Returns the words of a text, and where in it, without its controls, sentences follow on others."""
        shown, controls = read_controls(silence_emoji(text) if self._skip_emoji else text)
        spans = find_sentences(shown)
        plain = shown.translate(_PLAIN)
        given = [_controlled(plain, control) for control in controls if control.phonemes is not None]
        at = {place: control for control in controls for place in range(control.start, control.end)}
        known = _apart(given, _written(plain, self._british, at))
        in_run = bytearray(len(plain))
        for run in _LONG_RUN.finditer(plain):
            in_run[run.start() : run.end()] = bytes([True]) * len(run[0])
        words: list[Word] = []
        end = len(shown)
        sentences = list(_divided(tokenise(plain, known), spans))
        for sentence, tags in zip(reversed(sentences), reversed(self._tags(sentences)), strict=True):
            for first, last, phonemes in self._sentence(self._tagged(sentence, tags), at, in_run):
                words.append(Word(shown[first:last], phonemes, shown[last:end]))
                end = first
        if end:
            words.append(Word("", "", shown[:end]))
        return words[::-1], [start for start, _ in spans[1:]]

    def _sentence(
        self, tokens: Sequence[Token], controls: Mapping[int, Control], in_run: bytearray
    ) -> Iterator[tuple[int, int, str | None]]:
        """Yields start, end and phonemes of each word, from the last to the first."""
        context = Context()
        for group in reversed(list(_groups(tokens))):
            start, last = group[0].start, group[-1]
            phonemes, context = self._phonemes(group, context, in_run)
            if phonemes is not None:
                if start in controls:
                    phonemes = restressed(phonemes, controls[start].stress)
                phonemes = phonemes.translate(_OUTPUT)
                # The full stop of an abbreviation is that of its sentence too.
                if last is tokens[-1] and last.text.endswith(".") and last.phonemes is None:
                    phonemes += "."
            yield start, last.end, phonemes

    def _tags(self, sentences: Sequence[Sequence[Token]]) -> Sequence[Sequence[str]]:
        return self._tag([[token.text for token in sentence] for sentence in sentences])

    def _tagged(self, sentence: Sequence[Token], tags: Sequence[str]) -> list[Token]:
        """Returns the tokens with their tags; that of a homograph is the key of its pronunciation."""
        words = [token.text for token in sentence]
        tokens: list[Token] = []
        for place, (token, tag) in enumerate(zip(sentence, tags, strict=True)):
            given = token.phonemes or token.spoken or self._lexicon.own(token.text)
            key = None if given or self._lexicon.own(token.text.lower()) else self._choose(words, tags, place)
            if key is not None and not key.isascii():
                tokens.append(token._replace(tag=tag, phonemes=key))
            else:
                tokens.append(token if token.tag else Token(*token[:3], key or tag, *token[4:]))
        return tokens

    def _phonemes(
        self, group: Sequence[Token], context: Context, in_run: bytearray
    ) -> tuple[str | None, Context]:
        """Returns the phonemes of a word of one or more tokens, and the context before it."""
        token = group[0]
        if token.phonemes is not None:
            phonemes = None if token.tag == UNKNOWN else token.phonemes
            return phonemes, following(token.phonemes, "", context)
        if len(group) == 1 and token.spoken is None:
            known = self._pronunciation.word(token.text, token.tag, context)
            if known is not None:
                return known, following(known, token.text, context)
        if len(group) > 1 and group[-1].text in ("'s", "'S") and not self._is_known(group, context):
            stem, before = self._phonemes(group[:-1], context, in_run)
            if stem:
                return self._pronunciation.possessive(stem), before
        parts = [part for token in group for part in parts_of(token.text, token.tag, token.spoken)]
        longest = max([len(part.spoken or part.text) for part in parts])
        alone = partial(self._kept if longest <= _LONGEST_KEPT else self._alone, bool(in_run[token.start]))
        if len(parts) == 1:
            phonemes = alone(parts[0], context)
            return phonemes, following(phonemes or "", parts[0].text, context)
        spoken, context = compound(parts, context, self._pronunciation, alone)
        whole = joined(parts, spoken)
        return (None if None in spoken and not whole else whole), context

    def _is_known(self, group: Sequence[Token], context: Context) -> bool:
        written = "".join([token.text for token in group])
        said = self._pronunciation.word(written, group[0].tag, context)
        return group[0].spoken is None and said is not None

    def _alone(self, in_run: bool, part: Part, context: Context) -> str | None:
        """Returns the phonemes of a part that is a word; in a long run, an unknown part is spelled."""
        known = None if part.spoken else self._pronunciation.word(part.text, part.tag, context)
        if known is not None:
            return known
        spell_out = self._pronunciation.spelled if in_run else self._spell_out
        return "" if is_silent(part) else self._other(spell_out, part, context)

    def _other(self, spell_out: Callable[[str], str | None], part: Part, context: Context) -> str | None:
        """Returns the phonemes of a part that is no word of the lexicon; None if it cannot be spoken."""
        if part.spoken is not None:
            return self._said(part.spoken, context)
        letters = _without_accents(part.text)
        if not letters.replace("'", "").isalpha():
            return None
        if _IRISH.match(letters):
            name = self._other(spell_out, part._replace(text=letters[2:]), context)
            return f"{restressed(self._pronunciation.spelled('O') or '', -0.5)}{name}"
        written = unicodedata.normalize("NFC", part.text)
        if (known := self._pronunciation.word(written, part.tag, context)) is not None:
            return known
        known = self._pronunciation.word(letters, part.tag, context)
        if (acute := _ACUTE.search(written)) and not _AY.search(known or ""):
            # A résumé does not resume.
            stem = re.sub("c(h?)$", r"s\1", letters[: acute.start()])
            phonemes = spell_out(f"{stem}ay")
            return self._pronunciation.possessive(phonemes) if acute[1] and phonemes else phonemes
        if known is None and _CONSONANTS.fullmatch(letters):
            return self._pronunciation.spelled(letters)
        return known or spell_out(_without_accents(written.translate(_RESPELLED)))

    def _said(self, words: str, context: Context) -> str:
        """Returns the phonemes of the words of a written form."""
        spoken: list[str] = []
        for word in reversed(_LETTERS_OR_WORD.findall(words)):
            if word in _REDUCED:
                phonemes = word
            elif word.isupper():
                phonemes = self._pronunciation.spelled(word) or ""
            else:
                tag = "DT" if word == "a" else ""
                phonemes = self._pronunciation.word(word, tag, context) or self._spell_out(word)
            phonemes = restressed(phonemes, _WEAK.get(word))
            spoken.append(phonemes)
            context = following(phonemes, word, context)
        return " ".join(reversed(spoken)).replace(" ən", "ən")


def _without_accents(text: str) -> str:
    """Returns the ASCII letters that the letters of a text come from, with its other ASCII characters."""
    decomposed = unicodedata.normalize("NFKD", text.translate(_BASE))
    return "".join([letter if letter.isascii() else _base(letter) for letter in decomposed])


def _base(letter: str) -> str:
    """Returns the ASCII letters that a Latin letter comes from; nothing for another character."""
    found = _LATIN.match(unicodedata.name(letter, ""))
    return found[1].lower() if found else ""


def _flags(controls: Mapping[int, Control], place: int) -> str:
    return controls[place].flags if place in controls else ""


def _controlled(text: str, control: Control) -> Token:
    return Token(text[control.start : control.end], control.start, control.end, "", control.phonemes)


def _written(text: str, british: bool, controls: Mapping[int, Control]) -> list[Token]:
    """Returns the written forms; the 2 of B2B is a word to `tokenise`."""
    return [
        Token(text[start:end], start, end, "", None, with_flags(spoken, _flags(controls, start)))
        for start, end, spoken in find_written_forms(text, british)
        if text[start:end] != "2" or not (text[start - 1 : start] + text[end : end + 1]).isalpha()
    ]


def _apart(first: Sequence[Token], others: Sequence[Token]) -> list[Token]:
    """Returns the tokens of both in order, without those of the others that overlap one of the first."""
    if not first:
        return list(others)
    taken = {place for token in first for place in range(token.start, token.end)}
    free = [token for token in others if taken.isdisjoint(range(token.start, token.end))]
    return sorted([*first, *free], key=lambda token: token.start)


def _divided(tokens: Sequence[Token], sentences: Iterable[tuple[int, int]]) -> Iterator[Sequence[Token]]:
    """Yields the tokens of each sentence."""
    first, starts = 0, [token.start for token in tokens]
    for _, end in sentences:
        last = bisect_left(starts, end, first)
        if last > first:
            yield tokens[first:last]
        first = last


def _groups(tokens: Sequence[Token]) -> Iterator[Sequence[Token]]:
    """Yields the tokens of each word: marks stand alone, others extend to white space."""
    first = 0
    for number, (token, after) in enumerate(pairwise(tokens), 1):
        if after.start > token.end or token.phonemes is not None or after.phonemes is not None:
            yield tokens[first:number]
            first = number
    if tokens:
        yield tokens[first:]
