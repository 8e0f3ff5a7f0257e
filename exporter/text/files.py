"""The data with which a bundle turns text into phonemes."""

from __future__ import annotations

from dataclasses import asdict
from functools import cache
from importlib.resources import files as package_files

from exporter.bundle.write import ExtensionFiles
from exporter.text.language_files import language_file, languages
from exporter.text.lexicon_file import LEXICONS, packed_lexicon
from runtime_min.text.bundled import EXTENSION, RULES, SEGMENTED, EnglishFiles

_DICTIONARIES = ("ja", "zh")
LANGUAGES = (*LEXICONS, *languages(), *_DICTIONARIES)
"""Languages that a bundle can have data for; the rules of those without a lexicon are in every bundle."""


@cache
def text_files(chosen: tuple[str, ...]) -> ExtensionFiles:
    """Returns the extensions for some of `LANGUAGES`, and their files.

    Raises:
        LexiconError: misaki's lexicons are not installed.
        LanguageFileError: a language's rules are wrong.
    """
    data = package_files("exporter.text") / "data"
    files: dict[str, bytes] = {}
    entries: dict[str, dict[str, str]] = {}
    weights = ("tagger.bin", "homographs.bin", "spelling.bin")
    for language in [each for each in chosen if each in LEXICONS]:
        files |= {f"text/{name}": (data / name).read_bytes() for name in weights}
        lexicon = f"text/{language}.lexicon.bin"
        files[lexicon] = packed_lexicon(language)
        entries[language] = asdict(EnglishFiles(lexicon, *(f"text/{name}" for name in weights)))
    extensions: dict[str, object] = {EXTENSION: entries} if entries else {}
    rules = {language: f"text/{language}.rules.bin" for language in languages()}
    files |= {path: language_file(language) for language, path in rules.items()}
    extensions[RULES] = rules
    dictionaries = {each: f"text/{each}.dictionary.bin" for each in _DICTIONARIES if each in chosen}
    files |= {path: (data / path.removeprefix("text/")).read_bytes() for path in dictionaries.values()}
    if dictionaries:
        extensions[SEGMENTED] = dictionaries
    return ExtensionFiles(extensions, files)
