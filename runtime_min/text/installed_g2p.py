"""Text to phonemes, with the G2P that the app has installed: misaki, or espeak-ng through phonemizer.

Nothing is imported before it is asked for. Kokoro's phonemes are those of misaki: IPA, with one letter for
each diphthong and affricate.
"""

from __future__ import annotations

import os
import re
import threading
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from itertools import islice
from typing import Any

from ..errors import G2PMissingError, LanguageError, TextEncodingError, check_type
from ..speech.words import Word
from .clauses import MARKS, Token, read_clauses

LANGUAGES = {
    "a": "en-us", "b": "en-gb", "e": "es", "f": "fr-fr", "h": "hi", "i": "it", "j": "ja", "p": "pt-br",
    "z": "zh",
}  # fmt: skip
"""Language by the first letter of kokoro's voices."""
_SUBTAGS = {
    "en": "en-us", "eng": "en-us", "es": "es", "spa": "es", "fr": "fr-fr", "fra": "fr-fr", "fre": "fr-fr",
    "hi": "hi", "hin": "hi", "it": "it", "ita": "it", "ja": "ja", "jpn": "ja", "pt": "pt-br", "por": "pt-br",
    "zh": "zh", "zho": "zh", "chi": "zh", "cmn": "zh",
}  # fmt: skip
"""Language by its names in ISO 639."""
_AMERICAN_REGIONS = ("us", "as", "ca", "gu", "mh", "mp", "ph", "pr", "um", "vi")
"""Regions whose English Unicode's CLDR takes for nearer to American than to British."""
_TIE = "^"
_LETTERS = {
    "a^ɪ": "I", "a^ʊ": "W", "e^ɪ": "A", "ɔ^ɪ": "Y", "o^ʊ": "O", "ə^ʊ": "Q",
    "t^ʃ": "ʧ", "d^ʒ": "ʤ", "t^s": "ʦ", "d^z": "ʣ", "s^s": "S",
}  # fmt: skip
_ENGLISH = {
    "ʔˌn\u0329": "tn", "ʔn\u0329": "tn", "n\u0329": "ᵊn", "l\u0329": "ᵊl", "ə^l": "ᵊl",
    "ɚ": "əɹ", "r": "ɹ", "x": "k", "ç": "k", "ɐ": "ə", "ɬ": "l", "\u0303": "",
    "ʲə": "jə", "ʲ": "", "o": "ɔ",
}  # fmt: skip
_AMERICAN = {"ɜːɹ": "ɜɹ", "ɜː": "ɜɹ", "ɪə": "iə", "ː": "", "ɾ": "T", "ʔ": "t"}
_BRITISH = {"e^ə": "ɛː", "iə": "ɪə", "ɾ": "T", "ʔ": "t"}
_ESPEAK, _MISAKI_ENGLISH = ("phonemizer", "espeakng_loader"), ("misaki", "spacy", "en_core_web_sm")
_NEEDED = {
    "en-us": (_ESPEAK, _MISAKI_ENGLISH), "en-gb": (_ESPEAK, _MISAKI_ENGLISH), "fr-fr": (_ESPEAK,),
    "es": (_ESPEAK,), "hi": (_ESPEAK,), "it": (_ESPEAK,), "pt-br": (_ESPEAK,),
    "ja": (("misaki", "pyopenjtalk"),),
    "zh": (("misaki", "jieba", "ordered_set", "pypinyin", "cn2an"),),
}  # fmt: skip
"""Packages by language, each of several that will do."""
_EXTRAS = {"ja": "ja", "zh": "zh"}
# espeak-ng keeps its state in the process.
_lock = threading.Lock()


def misaki(language: str) -> Callable[[str], Any]:
    """Returns misaki's G2P, which kokoro was trained with.

    Args:
        language: as in `language_code`.

    Returns:
        A function for ``g2p=``. English gives words, the other languages phonemes alone.

    Raises:
        G2PMissingError: a package or its data is not installed; nothing is fetched from a network.
        LanguageError: misaki has no such language.
    """
    code = language_code(language)
    if code not in LANGUAGES.values():
        raise LanguageError(language, LANGUAGES.values())
    with _packages_named("misaki", f"'misaki[{_EXTRAS.get(code, 'en')}]'"):
        if code in ("en-us", "en-gb"):
            return _guarded(_misaki_english(british=code == "en-gb"))
        if code == "ja":
            g2p = _misaki_japanese()
        elif code == "zh":
            from misaki.zh import ZHG2P

            g2p = ZHG2P()
        else:
            from misaki.espeak import EspeakG2P

            g2p = EspeakG2P(language=code)
    return _guarded(lambda text: _known(g2p(" ".join(text.split("\n")))[0]))


def espeak(language: str) -> Callable[[str], list[Word]]:
    """Returns a G2P of espeak-ng alone, which needs no model and no dictionary of words.

    Where espeak-ng joins words ("of the"), they are one `Word`.

    Args:
        language: as in `misaki`, or another language of espeak-ng; its phonemes may be unknown to Kokoro.

    Raises:
        G2PMissingError: phonemizer or espeak-ng is not installed.
        LanguageError: espeak-ng has no such language.
    """
    code = language_code(language)
    with _packages_named("espeak-ng", "phonemizer espeakng-loader"):
        phonemize = _espeak_backend("cmn" if code == "zh" else code, language)
    letters = dict(_LETTERS)
    if code.startswith("en"):
        letters |= _ENGLISH | (_BRITISH if code == "en-gb" else _AMERICAN)

    def speak(clause: Sequence[Token]) -> Iterator[Word]:
        return _words(clause, phonemize, letters)

    return _guarded(lambda text: read_clauses(text, speak))


def find_g2p(language: str) -> tuple[str, Callable[[str], Any]]:
    """Returns the name of the best G2P that is there, and the G2P.

    misaki where it is better than espeak-ng; otherwise espeak-ng, which gives words too.

    Raises:
        G2PMissingError: there is none.
        LanguageError: there is no such language.
    """
    code = language_code(language)
    if code in ("ja", "zh"):
        return f"misaki ({code})", misaki(code)
    if code in ("en-us", "en-gb"):
        try:
            return f"misaki ({code})", misaki(code)
        except G2PMissingError:
            pass
    return f"espeak-ng ({code})", espeak(code)


def is_installed(language: str) -> bool:
    """Returns True if `find_g2p` has what it needs for one of `LANGUAGES`; imports nothing for it."""
    code = language_code(language)
    needed = _NEEDED.get(code, ())
    return any(all(find_spec(package) for package in packages) for packages in needed)


def language_code(language: str) -> str:
    """Returns the one of `LANGUAGES` that is nearest to a language; other languages in lower case.

    >>> [language_code(name) for name in ("a", "en_US", "en-AU", "es-MX", "pt", "zh-Hans-CN", "cmn", "tlh")]
    ['en-us', 'en-us', 'en-gb', 'es', 'pt-br', 'zh', 'zh', 'tlh']

    Args:
        language: a letter of kokoro's, or a tag of BCP 47, also with underscores, such as ``es-MX``.

    Raises:
        ArgumentTypeError: it is not a str.
    """
    check_type("language", language, str, "a tag such as es-MX")
    tag = language.lower().replace("_", "-")
    if tag in LANGUAGES:
        return LANGUAGES[tag]
    primary, *rest = tag.split("-")
    if rest and len(rest[0]) == 3 and rest[0][0] not in "0123456789":
        # An extended language such as zh-yue, which is Cantonese.
        primary, *rest = rest
    code = _SUBTAGS.get(primary, tag)
    region = next((part for part in rest if len(part) == 2 or part == "001"), "us")
    return "en-gb" if code == "en-us" and region not in _AMERICAN_REGIONS else code


def _words(
    clause: Sequence[Token], phonemize: Callable[[list[str]], list[str]], letters: Mapping[str, str]
) -> Iterator[Word]:
    """Yields the words of a clause with their phonemes; as one where espeak-ng joins some of them."""
    text = " ".join(token.word for token in clause)
    # In its clause a word may have other phonemes than alone, but as many parts: 42 has two.
    whole, *alone = [each.split() for each in phonemize([text, *(token.word for token in clause)])]
    parts = iter(_known(_replaced(part, letters)) for part in whole)
    counts = [len(word) for word in alone]
    if sum(counts) != len(whole):
        clause, counts = [Token(None, text, clause[-1].space)], [len(whole)]
    for token, count in zip(clause, counts, strict=True):
        yield Word(token.word, " ".join(islice(parts, count)), token.space)


def _replaced(phonemes: str, letters: Mapping[str, str]) -> str:
    longest_first = sorted(letters, key=len, reverse=True)
    pattern = "|".join(map(re.escape, longest_first))
    return re.sub(pattern, lambda found: letters[found[0]], phonemes).replace(_TIE, "").replace("-", "")


def _known(phonemes: str) -> str:
    """Leaves out punctuation that Kokoro lacks, and marks on a letter but the one of nasals."""
    return "".join(
        phoneme
        for phoneme in phonemes
        if phoneme in MARKS.values() or phoneme == "\u0303" or unicodedata.category(phoneme)[0] not in "PM"
    )


def _guarded(g2p: Callable[[str], Any]) -> Callable[[str], Any]:
    """Runs one call at a time, and refuses text that a library in C would not take or would cut off."""

    def guarded(text: str) -> Any:
        try:
            text.encode()
        except UnicodeEncodeError as error:
            raise TextEncodingError("The text", len(text[: error.start].encode())) from None
        with _lock:
            return g2p(text.replace("\0", " "))

    return guarded


def _misaki_english(british: bool) -> Callable[[str], Any]:
    import spacy

    if not spacy.util.is_package("en_core_web_sm"):
        # misaki would fetch it by itself.
        raise G2PMissingError(
            "misaki's English needs spaCy's model en_core_web_sm: python -m spacy download en_core_web_sm"
        )
    from misaki import en, espeak

    g2p = en.G2P(trf=False, british=british, fallback=espeak.EspeakFallback(british=british), unk="")

    def words(text: str) -> list[Any]:
        """Keeps the line breaks, which may end sentences and mean nothing to misaki."""
        found: list[Any] = []
        for line in text.split("\n"):
            if found:
                found[-1].whitespace = "\n"
            found += g2p(line)[1] if line.strip() else []
        return found

    return words


def _misaki_japanese() -> Callable[[str], Any]:
    import pyopenjtalk

    dictionary = os.fsdecode(pyopenjtalk.OPEN_JTALK_DICT_DIR)
    if not os.path.isdir(dictionary):
        raise G2PMissingError(
            f"misaki's Japanese needs Open JTalk's dictionary, and {dictionary} does not exist: put it there "
            "(pyopenjtalk fetches it when it first speaks)."
        )
    from misaki.ja import JAG2P

    made: Callable[[str], Any] = JAG2P()
    return made


def _espeak_backend(code: str, language: str) -> Callable[[list[str]], list[str]]:
    import espeakng_loader
    from phonemizer.backend import EspeakBackend
    from phonemizer.backend.espeak.wrapper import EspeakWrapper

    EspeakWrapper.set_library(espeakng_loader.get_library_path())
    EspeakWrapper.set_data_path(espeakng_loader.get_data_path())
    languages = EspeakBackend.supported_languages()
    if code not in languages:
        raise LanguageError(language, languages)
    # The marks are separated already; phonemizer requires at least one.
    backend = EspeakBackend(
        code, punctuation_marks="…", with_stress=True, tie=_TIE, language_switch="remove-flags"
    )
    made: Callable[[list[str]], list[str]] = backend.phonemize
    return made


@contextmanager
def _packages_named(what: str, packages: str) -> Iterator[None]:
    """Replaces the errors of a missing package or library by one that names what to install."""
    try:
        yield
    except (ImportError, RuntimeError, OSError) as error:
        raise G2PMissingError(
            f"{what} cannot be used here ({error!s:.200}): pip install {packages}, or give phonemes."
        ) from error
