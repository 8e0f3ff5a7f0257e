"""Text to phonemes by the rules of a language, which are data of a bundle (`bundles/FORMAT.md`).

"guerra" -> letters to sounds "geRa" -> stress "gˈeRa" -> in its clause "la ɣˈera"
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import islice

from ..errors import BundleError, TextDataError
from ..format.msgpack import unpack
from ..format.schema import Node
from ..speech.words import OwnWords, Word
from .clauses import Token, read_clauses
from .lexicon import own_phonemes
from .own_words import WithOwnWords
from .rewriting import EDGE, PRIMARY, SECONDARY, Pass, Sets, Stress, text_of
from .written_words import WrittenWords, texts_of

_MARKS = (PRIMARY, SECONDARY, "")
"""What the stress of a word in its clause is marked with."""


class _Step:
    """Rules for words of some stress, which may depend on each other's results."""

    def __init__(self, node: Node, sets: Sets) -> None:
        levels, unless, once, passes, stress = node.elements(5, 5)
        self._levels = levels.integer(0, 7)
        """The stresses of words that it is for, a bit each, in the order of `_MARKS`."""
        self._unless, self._once = sets.numbered(unless), once.boolean()
        self._passes = [Pass(each, sets) for each in passes.elements()]
        self._stress = [Stress(each, sets) for each in stress.elements(0, 1)]

    def apply(self, text: str, level: int) -> str:
        if not self._levels >> level & 1 or (self._unless and any(map(self._unless.contains, text))):
            return text
        text = f"{EDGE}{text}{EDGE}"
        for each in self._passes:
            if each.only not in text:
                continue
            before, text = text, each.apply(text, once=self._once)
            if self._once and before != text:
                break
        for stress in self._stress:
            text = stress.apply(text, _MARKS[level])
        return text[1:-1]


class Rules:
    """A language whose spelling, together with a list of other words, decides its sounds."""

    def __init__(self, data: bytes) -> None:
        """Takes the file's content.

        Raises:
            TextDataError: it is no such file.
        """
        try:
            self._read(Node(unpack(data), ""))
        except BundleError as failure:
            raise TextDataError("the rules", failure) from None
        self._spoken = lru_cache(maxsize=4096)(self._spoken_word)

    def _read(self, node: Node) -> None:
        sets, respelling, sounds, clause, endings, words, weak, respelled, written = node.fields(
            "sets", "respelling", "sounds", "clause", "endings", "words", "weak", "respelled", "written"
        )
        own = Sets(sets)
        self._respelling, self._sounds, self._clause = (
            [_Step(each, own) for each in steps.elements()] for steps in (respelling, sounds, clause)
        )
        self._endings = [
            (text_of(ending), least.integer(0, 255), text_of(phonemes))
            for ending, least, phonemes in (each.elements(3, 3) for each in endings.elements(0, 16))
        ]
        self._words, self._stressed_words = map(texts_of, words.elements(2, 2))
        self._weak, self._unstressed = (
            frozenset(map(text_of, each.elements())) for each in weak.elements(2, 2)
        )
        letters, plain, lists = respelled.elements(3, 3)
        self._irregular = _respelled_words(text_of(letters), text_of(plain), map(text_of, lists.elements()))
        self.written = WrittenWords(written)

    def __call__(self, text: str) -> list[Word]:
        """Returns the words and marks of a text with their phonemes."""
        return read_clauses(text, self._words_of, self.written.abbreviations)

    def adapted(self, words: OwnWords, *, skip_emoji: bool) -> WithOwnWords:
        """Returns the same G2P with words of an app.

        Raises:
            SpokenTypeError: a word or its phonemes are no text.
        """
        return WithOwnWords(self, own_phonemes(words), skip_emoji=skip_emoji)

    def _words_of(self, clause: Sequence[Token]) -> Iterator[Word]:
        tokens, texts = zip(*self._joined(clause), strict=True)
        written = [self.written.words(text) for text in texts]
        words: list[str] = []
        for parts in written:
            words += parts
        # The last word of a clause is stressed, whatever it is.
        last = len(words) - 1
        sounds = " ".join([self._spoken(word, number == last) for number, word in enumerate(words)])
        for step in self._clause:
            sounds = step.apply(sounds, 0)
        spoken = iter(sounds.split(" "))
        for token, own in zip(tokens, written, strict=True):
            yield Word(token.word, " ".join(islice(spoken, len(own))), token.space)

    def _joined(self, clause: Sequence[Token]) -> Iterator[tuple[Token, str]]:
        """Yields the tokens of a clause, and their texts; a number or form that has spaces is one of them."""
        tokens = iter(clause)
        for count in self.written.counts([token.word for token in clause]):
            *before, last = islice(tokens, count)
            if not before:
                yield last, last.word
                continue
            text = "".join([token.word + token.space for token in before]) + last.word
            yield Token(None, text, last.space), " ".join([token.word for token in (*before, last)])

    def _spoken_word(self, word: str, is_last: bool) -> str:
        level = 0 if is_last else 2 if word in self._unstressed else 1 if word in self._weak else 0
        known = self._words.get(word) or (self._stressed_words.get(word) if level == 0 else None)
        if known:
            return known
        for ending, least, phonemes in self._endings:
            if word.endswith(ending) and len(word) >= len(ending) + least:
                return self.sounds(self.respelled(word[: -len(ending)]), level) + phonemes
        return self.sounds(self.respelled(word), level)

    def sounds(self, respelled: str, level: int = 0) -> str:
        """Returns the phonemes of a word in the spelling of `respelled`; `level` is a place in `_MARKS`."""
        for step in self._sounds:
            respelled = step.apply(respelled, level)
        return respelled

    def respelled(self, word: str) -> str:
        """Returns a word in the spelling that the sounds follow; after an apostrophe it is another word."""
        known = self._irregular.get(word)
        if known:
            return known
        apostrophe = self.written.apostrophe
        start = word.rfind(apostrophe) + 1 if apostrophe else 0
        if start:
            return word[:start] + self.respelled(word[start:])
        for step in self._respelling:
            word = step.apply(word, 0)
        return word


def _respelled_words(letters: str, plain: str, lists: Iterable[str]) -> dict[str, str]:
    """Returns words that the rules would misread, and how they are spelled for them.

    Args:
        letters: letters that are not in the words as people write them.
        plain: those that people write.
        lists: words between spaces, each in the spelling for the rules, or ``word=spelling``.
    """
    written = str.maketrans(dict(zip(letters, plain, strict=False)))
    pairs = [word.partition("=")[::2] for words in lists for word in words.split(" ")]
    return {word.translate(written): spelling or word for word, spelling in pairs}
