"""Text to phonemes with the data of a bundle, which `bundles/FORMAT.md` specifies."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from itertools import chain, islice, pairwise
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from ..errors import G2PMissingError, NoTextError, SpokenTypeError, TextDataError
from ..format.bundle_files import BundleFiles
from ..format.extensions import check_listed, extension_files, read_extension
from ..format.manifest import Manifest
from ..format.schema import RelativePath
from ..model.voices import voice_language
from ..speech.plan import LOOKAHEAD
from ..speech.request import Request, check_segment
from ..speech.sentences import each_sentence
from ..speech.words import Link, OwnWords, Portion, Segment, Word
from .arriving import Run, cut
from .controls import parts_by_language
from .english import English
from .homographs import Homographs
from .installed_g2p import find_g2p, is_installed, language_code
from .letter_to_sound import LetterToSound
from .lexicon import Lexicon
from .pauses import read_pauses
from .scripts import MixedScripts
from .tagger import Tagger

_Data = TypeVar("_Data")
EXTENSION, RULES, SEGMENTED = "text", "rules", "segmented"
ENGLISH = ("en-us", "en-gb")
_WITH_DATA = (*ENGLISH, "zh", "ja")
"""Languages that need data of the bundle, or a package."""
_SHORTEST_FIRST, _SHORTEST, _WINDOW = 300, 1_000, 3_000
"""Characters of a text that are read together: at least, for the first part and the others, and at most."""


@dataclass(frozen=True)
class EnglishFiles:
    """The files for a dialect of English; the field names are the keys of the manifest."""

    lexicon: RelativePath
    tagger: RelativePath
    homographs: RelativePath
    letter_to_sound: RelativePath


class BundledText:
    """The G2Ps of a bundle, each made when it is first needed."""

    def __init__(self, manifest: Manifest, files: BundleFiles) -> None:
        """Takes the manifest and the files of an open bundle."""
        self._manifest = manifest
        self._files = files
        self._found: dict[str, tuple[str, Callable[[str], Any]]] = {}
        self._data: dict[str, Any] = {}
        self._lock = threading.Lock()

    def find_g2p(
        self, language: str, lexicon: OwnWords | None = None, *, skip_emoji: bool = False
    ) -> tuple[str, Callable[[str], Any]]:
        """Returns the name of the best G2P for a language, and the G2P: the bundle's own if it has one.

        Args:
            language: as in `installed_g2p.language_code`.
            lexicon: phonemes by word, for the bundle's own G2P.
            skip_emoji: leave emoji out, of which English says the names.

        Raises:
            NoTextError: neither the bundle nor a package can turn the language into phonemes, or a lexicon
                is given for another G2P than the bundle's.
            LanguageError: there is no such language.
            BundleError: the bundle's data are damaged.
        """
        code = language_code(language)
        name, found = self._g2p(code, lexicon, skip_emoji)
        is_own = hasattr(self._found[code][1], "adapted")
        if not is_own:
            return name, found

        def find_marked(tag: str) -> Callable[[str], Any]:
            return self.find_g2p(tag, lexicon, skip_emoji=skip_emoji)[1]

        return name, MixedScripts(found, cache(partial(self._other, lexicon)), cache(find_marked))

    def _g2p(
        self, code: str, lexicon: OwnWords | None, skip_emoji: bool = False
    ) -> tuple[str, Callable[[str], Any]]:
        with self._lock:
            if code not in self._found:
                self._found[code] = self._find(code)
        name, found = self._found[code]
        if hasattr(found, "adapted") and (lexicon or skip_emoji):
            return name, found.adapted(lexicon or {}, skip_emoji=skip_emoji)
        if lexicon:
            raise NoTextError(code, self._languages())
        return name, found

    def _other(self, lexicon: OwnWords | None, language: str) -> Callable[[str], Any] | None:
        """Returns the bundle's own G2P for words of another script, None if it has none."""
        return self._g2p(language, lexicon)[1] if language in self._languages() else None

    def speaks(self, language: str) -> bool:
        """Returns True if the bundle's data, or what is installed, can read a language; loads nothing.

        Raises:
            ManifestError: as `english_files` does.
        """
        code = language_code(language)
        return code in self._languages() or is_installed(code)

    def _languages(self) -> list[str]:
        """Returns the languages that the bundle has data for."""
        others = (extension_files(self._manifest, each) for each in (RULES, SEGMENTED))
        return [*chain(english_files(self._manifest), *others)]

    def _find(self, language: str) -> tuple[str, Callable[[str], Any]]:
        languages = english_files(self._manifest)
        if rules := extension_files(self._manifest, RULES).get(language):
            from .rules import Rules

            return f"the bundle ({language})", self._read(Rules, rules)
        if dictionary := extension_files(self._manifest, SEGMENTED).get(language):
            return f"the bundle ({language})", self._segmented(language, dictionary)
        if language not in languages:
            try:
                return find_g2p(language)
            except G2PMissingError as failure:
                known = language in _WITH_DATA
                raise (NoTextError(language, self._languages()) if known else failure) from failure
        paths = languages[language]
        lexicon = self._read(Lexicon, paths.lexicon)
        try:
            tagger = self._read(Tagger, paths.tagger)
            homographs = self._read(Homographs, paths.homographs)
            letter_to_sound = self._read(LetterToSound, paths.letter_to_sound)
        except (ValueError, TypeError) as failure:
            raise TextDataError("the weights", failure) from None
        british = language == "en-gb"
        return f"the bundle ({language})", English(
            lexicon,
            british,
            tagger.tag_all,
            homographs.choose,
            partial(letter_to_sound.phonemes, british=british),
        )

    def _segmented(self, language: str, path: str) -> Callable[[str], Any]:
        if language == "ja":
            from .japanese import Japanese
            from .japanese_dictionary import JapaneseDictionary

            return Japanese(self._read(JapaneseDictionary, path), self._find_english)
        from .chinese import Chinese
        from .chinese_dictionary import ChineseDictionary

        return Chinese(self._read(ChineseDictionary, path), self._find_english)

    def _find_english(self, lexicon: OwnWords) -> Callable[[str], Any] | None:
        """Returns the bundle's own G2P for English, None if it has none."""
        known = english_files(self._manifest)
        language = next((each for each in ENGLISH if each in known), None)
        return self._g2p(language, lexicon)[1] if language else None

    def _read(self, kind: Callable[[bytes], _Data], path: str) -> _Data:
        """Returns the content of a file; one that both dialects name is read once."""
        if path not in self._data:
            self._data[path] = kind(self._files.read(path))
        found: _Data = self._data[path]
        return found

    def portions(self, request: Request, voices: Mapping[str, NDArray[np.float32]]) -> Iterator[Portion]:
        """Yields the text of a request as words with phonemes.

        A long text comes in portions, so that its beginning can be spoken before its end is read. What is
        wrong with a later segment is told before all.

        Args:
            request: the request.
            voices: the bundle's tables by name.

        Raises:
            SpokenTypeError: the content is not text.
            VoiceLanguageError: the language of a voice is not known.
            NoTextError: as `find_g2p` does.
            InputError: the SSML, a pause, a voice, a speed or a language is wrong.
        """
        text: Any = request.text
        if request.ssml:
            from .ssml import read_ssml

            text = read_ssml(text, request.speed)
        given = [Segment(text)] if isinstance(text, str) else text
        if not isinstance(given, Sequence) or not all(
            isinstance(each, Segment) and isinstance(each.content, str) for each in given
        ):
            raise SpokenTypeError("text as str, or a sequence of segments of text", text)
        segments = list(chain.from_iterable(map(read_pauses, given)))
        for segment in segments:
            check_segment(voices, segment)
        own_voices = [request.voice if segment.voice is None else segment.voice for segment in segments]
        languages = [
            segment.language or request.language or voice_language(voice)
            for segment, voice in zip(segments, own_voices, strict=True)
        ]
        # Those of marked parts are looked up, too, so that errors come before all speech.
        marked = {tag for segment in segments for _, tag in parts_by_language(str(segment.content)) if tag}
        g2ps = {
            each: self.find_g2p(each, request.lexicon, skip_emoji=request.skip_emoji)[1]
            for each in {*languages, *marked}
        }
        for number, (segment, own) in enumerate(zip(segments, languages, strict=True), 1):
            yield from _portions(segment, g2ps[own], followed=number < len(segments))

    def g2p_of(self, request: Request) -> Callable[[str], Any]:
        """Returns the G2P for a text that arrives bit by bit.

        Raises:
            InputError: as `portions` does.
        """
        if request.g2p is not None:
            return request.g2p
        language = request.language or voice_language(request.voice)
        return self.find_g2p(language, request.lexicon, skip_emoji=request.skip_emoji)[1]


def linked_portions(g2p: Callable[[str], Any], run: Run) -> Iterator[Portion]:
    """Yields the portions of a run, each with the beginning of the word after it.

    Raises:
        MarkupError: as `read_pauses` does.
    """
    after = _phonemes(g2p, run.following)[:LOOKAHEAD] if run.following.strip() else ""
    segments = read_pauses(Segment(run.text))
    for number, segment in enumerate(segments, 1):
        at_end = number == len(segments)
        is_open = at_end and not run.is_last and not run.is_apart
        spaced = run.text[-1:].isspace()
        link = Link(after=after, is_open=is_open, is_spaced=spaced, is_last=at_end and run.is_last)
        for portion in _portions(segment, g2p, followed=not is_open and not link.is_last):
            yield replace(portion, link=link)


def _phonemes(g2p: Callable[[str], Any], text: str) -> str:
    found = g2p(text)
    if isinstance(found, str):
        return found
    return "".join([(word.phonemes or "") + (" " if word.whitespace else "") for word in found]).strip()


def _portions(segment: Segment, g2p: Callable[[str], Any], *, followed: bool) -> Iterator[Portion]:
    """Yields a segment with words in place of its text, in several if it is long."""
    for text, after in pairwise(chain(_divided(str(segment.content)), [None])):
        assert text is not None
        words, sentences = g2p.read(text) if isinstance(g2p, MixedScripts) else (g2p(text), None)
        spoken = replace(segment, content=words or [Word(text, None)], pause=0.0 if after else segment.pause)
        yield Portion([spoken], sentences, followed and not after)


def english_files(manifest: Manifest) -> Mapping[str, EnglishFiles]:
    """Returns a bundle's files for text in English, by language.

    Raises:
        ManifestError: the extension breaks its schema, or names a file that the manifest does not list.
    """
    found: dict[str, EnglishFiles] = read_extension(manifest, EXTENSION, EnglishFiles)
    for language, files in found.items():
        check_listed(manifest, f"{EXTENSION}.{language}", vars(files).values())
    return found


def _divided(text: str) -> Iterator[str]:
    """Yields a long text in runs of whole sentences; the first is the shortest."""
    start, wanted = 0, _SHORTEST_FIRST
    while len(text) - start > _WINDOW:
        window = text[start : start + _WINDOW]
        # The last one may go on after the window.
        starts = islice((begins for begins, _ in each_sentence(window)), 1, None)
        end = next((begins for begins in starts if begins >= wanted), 0) or cut(window)
        yield window[:end]
        start, wanted = start + end, _SHORTEST
    yield text[start:]
