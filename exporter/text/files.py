"""The data with which a bundle turns text into phonemes."""

from __future__ import annotations

from dataclasses import asdict
from functools import cache
from importlib.resources import files as package_files

from exporter.bundle.write import ExtensionFiles
from exporter.text.lexicon_file import LEXICONS, pack_lexicon
from runtime_min.text.bundled import ACCENTS, EXTENSION, EnglishFiles

_ITALIAN = "it"
LANGUAGES = (*LEXICONS, _ITALIAN)
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
    weights = ("tagger.bin", "homographs.bin", "spelling.bin")
    for language in [each for each in languages if each in LEXICONS]:
        files |= {f"text/{name}": (data / name).read_bytes() for name in weights}
        lexicon = f"text/{language}.lexicon.bin"
        files[lexicon] = pack_lexicon(language)
        entries[language] = asdict(EnglishFiles(lexicon, *(f"text/{name}" for name in weights)))
    extensions: dict[str, object] = {EXTENSION: entries} if entries else {}
    if _ITALIAN in languages:
        accents = f"{_ITALIAN}.accents.txt"
        files[f"text/{accents}"] = (data / accents).read_bytes()
        extensions[ACCENTS] = {_ITALIAN: f"text/{accents}"}
    return ExtensionFiles(extensions, files)
