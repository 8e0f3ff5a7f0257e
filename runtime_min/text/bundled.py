"""Text to phonemes with the data of a bundle, which `bundles/FORMAT.md` specifies."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ..errors import G2PMissingError, ManifestError, NoTextError, SpokenTypeError, TextDataError
from ..format.bundle_files import BundleFiles
from ..format.manifest import Manifest
from ..format.schema import Node, RelativePath, reader_of
from ..model.voices import VoiceLike, voice_language
from ..speech.words import Segment, SpeechInput
from .english import English
from .installed_g2p import find_g2p, language_code
from .lexicon import Lexicon, Words
from .pauses import read_pauses
from .tagger import Tagger

EXTENSION = "text"
ENGLISH = ("en-us", "en-gb")


@dataclass(frozen=True)
class EnglishFiles:
    """The files for a dialect of English; the field names are the keys of the manifest."""

    lexicon: RelativePath
    tagger: RelativePath


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
        except ValueError as failure:
            raise TextDataError("the tagger", failure) from None
        return f"the bundle ({language})", English(lexicon, language == "en-gb", tagger.tag)

    def words(self, text: SpeechInput, voice: VoiceLike, language: str | None, lexicon: Words | None) -> Any:
        """Returns the words of a text or of segments of text, each in `language` or that of its voice.

        Raises:
            VoiceLanguageError: the language of a voice is not known.
            NoTextError: as `find_g2p` does.
            SpokenTypeError: `text` is something else.
            MarkupError: a pause within the text is wrong.
        """
        given: Any = [Segment(text)] if isinstance(text, str) else text
        if not isinstance(given, Sequence) or not all(isinstance(each, Segment) for each in given):
            raise SpokenTypeError("text as str, or a sequence of segments of text", text)
        segments = [part for segment in given for part in read_pauses(segment)]
        spoken = [replace(each, phonemes=self._segment(each, voice, language, lexicon)) for each in segments]
        # One segment without settings of its own is the whole text.
        return spoken[0].phonemes if isinstance(text, str) and len(spoken) == 1 else spoken

    def _segment(self, segment: Any, voice: VoiceLike, language: str | None, lexicon: Words | None) -> Any:
        own = voice if segment.voice is None else segment.voice
        return self.find_g2p(language or voice_language(own), lexicon)[1](segment.phonemes)


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
