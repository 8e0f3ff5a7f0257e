"""The data with which a bundle turns text into phonemes."""

from __future__ import annotations

from dataclasses import asdict
from functools import cache
from importlib.resources import files as package_files

from exporter.bundle.write import ExtensionFiles
from exporter.text.lexicon_file import LEXICONS, pack_lexicon
from runtime_min.text.bundled import EXTENSION, EnglishFiles

LANGUAGES = tuple(LEXICONS)
"""Languages that a bundle can have data for."""


@cache
def text_files(languages: tuple[str, ...]) -> ExtensionFiles:
    """Returns the extension for some of `LANGUAGES` and its files; nothing for none.

    Raises:
        LexiconError: misaki's lexicons are not installed.
    """
    data = package_files("exporter.text") / "data"
    files: dict[str, bytes] = {}
    entries: dict[str, dict[str, str]] = {}
    for language in languages:
        weights = ("tagger.bin", "homographs.bin", f"{language}.spelling.bin")
        files |= {f"text/{name}": (data / name).read_bytes() for name in weights}
        lexicon = f"text/{language}.lexicon.bin"
        files[lexicon] = pack_lexicon(language)
        entries[language] = asdict(EnglishFiles(lexicon, *(f"text/{name}" for name in weights)))
    return ExtensionFiles({EXTENSION: entries} if entries else {}, files)
