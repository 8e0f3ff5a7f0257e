"""Speech of a text that arrives bit by bit, such as the tokens of a language model.

A run of the text is read between its neighbours: the model sees up to 100 phonemes before it, and the word
after it. Without that word the end of a clause would be as long as the end of a text.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator

from .errors import EmptyInputError, SpokenTypeError, UsageError
from .model.synthesiser import Synthesiser
from .speech.incoming import Incoming
from .speech.plan import Planner, Section
from .speech.speak import Narrator, as_one
from .speech.timing import Audio
from .speech.words import Flush, Portion
from .text.arriving import ArrivingText, Run

_SLICE = 1_000
"""Characters that are looked at before what is certain by then is spoken."""
LONGEST_SILENT = 100_000
"""Characters without anything to speak that are kept until speech follows."""


class LiveSpeech:
    """A speech whose text is pushed; nothing here waits. `Bundle.live` makes one.

    speech.push("Dr. Smith is here. He")
    for piece in speech.pieces():
        play(piece.samples)
    """

    def __init__(
        self, read: Callable[[Run], Iterator[Portion]], planner: Planner, synthesiser: Synthesiser
    ) -> None:
        """Takes what makes phonemes of a text, plans them and computes their speech."""
        self._read = read
        self._planner = planner
        self._synthesiser = synthesiser
        self._text = ArrivingText()
        self._runs: deque[Run] = deque()
        self._narrator: Narrator | None = None
        self._silent: list[Section] = []
        """What follows the last section that was spoken, without phonemes."""
        self._silent_length = 0
        """Characters of it, and of what comes before anything is spoken."""
        self._ended = False
        self._over = False
        """All was spoken."""

    @property
    def is_ready(self) -> bool:
        """True if `pieces` has something to speak."""
        return bool(self._runs) or (self._ended and not self._over)

    @property
    def has_rest(self) -> bool:
        """True if there is text whose sentence may go on."""
        return self._text.has_rest

    def push(self, text: str) -> None:
        """Takes the next part of the text, cut anywhere.

        Raises:
            SpokenTypeError: it is not text.
            UsageError: the text has ended.
        """
        if not isinstance(text, str):
            raise SpokenTypeError("pieces of text as str", text)
        self._check_open()
        self._runs += self._text.push(text)

    def flush(self) -> None:
        """Has all that is there spoken, although its sentence may go on.

        Raises:
            UsageError: the text has ended.
        """
        self._check_open()
        self._runs += self._text.flush()

    def end(self) -> None:
        """Ends the text; what is there is the end of the speech.

        Raises:
            UsageError: the text has ended.
        """
        self._check_open()
        self._runs += self._text.end()
        self._ended = True

    def _check_open(self) -> None:
        if self._ended:
            raise UsageError("The text has ended: begin another speech.")

    def pieces(self) -> Iterator[Audio]:
        """Yields the pieces of what is certain to be complete; each is computed when it is taken.

        Raises:
            InputError: the text cannot be spoken; `EmptyInputError` if it ended without anything to speak, or
                has nothing to speak within `LONGEST_SILENT` characters.
            ModelOutputError: as in `Bundle.synthesize`.
        """
        while self._runs:
            run = self._runs.popleft()
            self._silent_length += len(run.text)
            for portion in self._read(run):
                if plan := self._planner.plan(portion):
                    self._narrator = self._narrator or Narrator(plan, self._synthesiser)
                    for section in plan.sections:
                        yield from self._speak(self._narrator, section)
            if self._silent_length > LONGEST_SILENT:
                raise EmptyInputError(run.text.strip())
        if self._ended and not self._over:
            self._over = True
            self._planner.end()
            if self._narrator:
                yield self._narrator.end(self._silent)

    def _speak(self, narrator: Narrator, section: Section) -> Iterator[Audio]:
        self._silent.append(section)
        if section.passage.phonemes:
            found, self._silent, self._silent_length = as_one(self._silent), [], 0
            self._over = found.link is not None and found.link.is_last
            yield from narrator.speak(found, is_last=self._over)


def speak_incoming(speech: LiveSpeech, incoming: Incoming, flush_after: float | None) -> Iterator[Audio]:
    """Yields the pieces of a text while it arrives.

    Args:
        speech: the speech.
        incoming: its text.
        flush_after: seconds without text after which what is there is spoken; None waits for ever.
    """
    try:
        while (found := incoming.take(flush_after if speech.has_rest else None)) is not None:
            if isinstance(found, Flush):
                speech.flush()
                yield from speech.pieces()
            else:
                for start in range(0, len(found), _SLICE):
                    speech.push(found[start : start + _SLICE])
                    yield from speech.pieces()
        speech.end()
        yield from speech.pieces()
    finally:
        incoming.close()
