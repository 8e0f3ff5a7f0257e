"""Text to phonemes with the data of a bundle, which `bundles/FORMAT.md` specifies."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

from ..errors import G2PMissingError, ManifestError, NoTextError, SpokenTypeError, TextDataError
from ..format.bundle_files import BundleFiles
from ..format.manifest import Manifest
from ..format.schema import Node, RelativePath, reader_of
from ..model.voices import VoiceLike, voice_language
from ..speech.sentences import find_sentences
from ..speech.words import Segment
from .english import English
from .homographs import Homographs
from .installed_g2p import find_g2p, language_code
from .letter_to_sound import LetterToSound
from .lexicon import Lexicon, Words
from .pauses import read_pauses
from .tagger import Tagger

EXTENSION = "text"
ENGLISH = ("en-us", "en-gb")
_FIRST_PART, _PART, _WINDOW = 300, 1_000, 3_000
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
        self._lock = threading.Lock()

    def find_g2p(self, language: str, lexicon: Words | None = None) -> tuple[str, Callable[[str], Any]]:
        """Returns the name of the best G2P for a language, and the G2P: the bundle's own if it has one.

        Args:
            language: as `installed_g2p.misaki` takes it.
            lexicon: phonemes by word, for the bundle's own G2P.

        Raises:
            NoTextError: neither the bundle nor a package can turn the language into phonemes, or a lexicon
                is given for another G2P than the bundle's.
            LanguageError: there is no such language.
            BundleError: the bundle's data are damaged.
        """
        code = language_code(language)
        with self._lock:
            if code not in self._found:
                self._found[code] = self._find(code)
        name, g2p = self._found[code]
        if not lexicon:
            return name, g2p
        if not isinstance(g2p, English):
            raise NoTextError(code, english_files(self._manifest))
        return name, g2p.with_words(lexicon)

    def _find(self, language: str) -> tuple[str, Callable[[str], Any]]:
        languages, read = english_files(self._manifest), self._files.read
        if language not in languages:
            try:
                return find_g2p(language)
            except G2PMissingError as failure:
                raise (NoTextError(language, languages) if language in ENGLISH else failure) from failure
        paths = languages[language]
        lexicon = Lexicon(read(paths.lexicon))
        try:
            tagger = Tagger(read(paths.tagger))
            homographs = Homographs(read(paths.homographs))
            letter_to_sound = LetterToSound(read(paths.letter_to_sound))
        except (ValueError, TypeError) as failure:
            raise TextDataError("the weights", failure) from None
        return f"the bundle ({language})", English(
            lexicon, language == "en-gb", tagger.tag, homographs.choose, letter_to_sound.phonemes
        )

    def parts(
        self, content: Any, voice: VoiceLike, language: str | None, lexicon: Words | None
    ) -> Iterator[list[Segment]]:
        """Yields segments of words for text or segments of text, each in `language` or that of its voice.

        A long text comes in parts, so that its beginning can be spoken before its end is read.

        Raises:
            SpokenTypeError: the content is not text.
            VoiceLanguageError: the language of a voice is not known.
            NoTextError: as `find_g2p` does.
            MarkupError: a pause is wrong.
        """
        given = [Segment(content)] if isinstance(content, str) else content
        segments = isinstance(given, Sequence) and all(isinstance(each, Segment) for each in given)
        if not segments or not all(isinstance(each.phonemes, str) for each in given):
            raise SpokenTypeError("text as str, or a sequence of segments of text", content)
        if isinstance(content, str):
            for part in _parts(content):
                yield self._words([Segment(part)], voice, language, lexicon)
        else:
            yield self._words(given, voice, language, lexicon)

    def _words(
        self, segments: Sequence[Segment], voice: VoiceLike, language: str | None, lexicon: Words | None
    ) -> list[Segment]:
        spoken = []
        for segment in chain.from_iterable(map(read_pauses, segments)):
            own = voice if segment.voice is None else segment.voice
            _, g2p = self.find_g2p(language or voice_language(own), lexicon)
            spoken.append(replace(segment, phonemes=g2p(str(segment.phonemes))))
        return spoken


def english_files(manifest: Manifest) -> Mapping[str, EnglishFiles]:
    """Returns a bundle's files for text, by language.

    Raises:
        ManifestError: the extension breaks its schema, or names a file that the manifest does not list.
    """
    node = Node(manifest.extensions.get(EXTENSION, {}), f"extensions.{EXTENSION}")
    found: dict[str, EnglishFiles] = reader_of(Mapping[str, EnglishFiles])(node)
    listed = {entry.path for entry in manifest.files}
    for language, files in found.items():
        if missing := sorted({*vars(files).values()} - listed):
            raise ManifestError(f"{node.path}.{language}", "files of the bundle", ", ".join(missing))
    return found


def _parts(text: str) -> Iterator[str]:
    """Yields the parts of a text, which end with sentences; the first is the shortest."""
    start, wanted = 0, _FIRST_PART
    while len(text) - start > _WINDOW:
        window = text[start : start + _WINDOW]
        # The last one may go on after the window.
        ends = [next_start for next_start, _ in find_sentences(window)[1:]]
        end = next((end for end in ends if end >= wanted), 0) or window.rfind(" ") + 1 or len(window)
        yield window[:end]
        start, wanted = start + end, _PART
    yield text[start:]
