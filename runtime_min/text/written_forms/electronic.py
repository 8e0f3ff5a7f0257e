"""E-mail addresses, addresses on the web, versions and network addresses."""

from __future__ import annotations

import re

from .numbers import cardinal, digits

_NAMES = {
    ".": "dot", "@": "at", "/": "slash", "-": "dash", "_": "underscore", ":": "colon", "&": "ampersand",
    "#": "hash", "?": "question mark", "=": "equals", "+": "plus", "%": "percent", "~": "tilde",
    "*": "asterisk", "\\": "backslash",
}  # fmt: skip
_WORDS = frozenset("com org net edu gov info jpeg web site online shop blog pro name dev app".split(" "))
_TOP = (
    "com|org|net|edu|gov|mil|int|info|biz|io|ai|app|dev|co|me|tv|uk|us|ca|de|fr|it|es|nl|be|ch|at|au|nz|jp|cn|in|"
    "br|mx|ly|gg|ru|pl|se|no|fi|dk|ie|eu|pt|gr|cz|abc|sm|za|kr|tw|hk|sg"
)
_HOST = r"[A-Za-z0-9_-]{1,63}(?:\.[A-Za-z0-9_-]{1,63}){0,8}"
_PATH = r"(?:[/?#][A-Za-z0-9._~:/?#@!$&*+=%-]{0,2000})?"
ADDRESS = (
    rf"(?<![\w@/.-])(?:(?P<scheme>(?i:https?|ftp|file)://)/?{_HOST}(?::\d{{1,5}})?{_PATH}"
    rf"|www\.{_HOST}{_PATH}"
    rf"|[A-Za-z0-9._%+&-]{{1,64}}@(?=[\w.-]{{0,63}}[A-Za-z]){_HOST}{_PATH}"
    rf"|[A-Za-z0-9_-]{{1,63}}(?:\.[A-Za-z0-9_-]{{2,63}}){{0,3}}\.(?:{_TOP})(?![\w@])(?!\.\w){_PATH})"
)
_FILE_TYPES = (
    "bat|cfg|conf|cpp|css|csv|db|dll|docx?|exe|gif|gz|html?|in[if]|ipynb|java|jpe?g|jsonl?|jsx?|lock|log|md|mp[34]|"
    "pdf|php|png|pptx?|py|rb|rs|sh|sql|svg|tar|toml|tsx?|txt|wav|whl|xlsx?|xml|ya?ml|zip"
)
_FILE = rf"[A-Za-z0-9_+-]{{1,63}}(?:\.[A-Za-z0-9_-]{{1,63}}){{0,3}}\.(?:{_FILE_TYPES})(?![\w-]|\.\w)"
_STEP = r"[/\\][A-Za-z0-9._@][A-Za-z0-9._@+-]{0,63}"
PATH = (
    rf"(?<![\w@/.\\-])(?:(?:~|[A-Za-z]:(?=\\)|\.{{1,2}}(?=/))(?:{_STEP}){{1,20}}[/\\]?"
    rf"|(?:{_STEP}){{2,20}}[/\\]?|{_FILE}|(?<![^\s`(])\.[a-z][a-z_-]{{2,30}}(?![\w.]))"
)
VERSION = r"(?<![\w.,])[vV]?\d{1,6}(?:\.\d{1,6}){2,8}(?![\w]|\.\d)"
_PART = re.compile(r"\d+|[A-Z]?[a-z]+|[A-Z]+(?![a-z])|.")
_VOWEL = re.compile(r"[aeiouyAEIOUY]")


def address(found: re.Match[str], british: bool) -> str | None:
    """Returns the words for an address, without "https"."""
    written = found[0][len(found["scheme"] or "") :].rstrip(".,:;!?")
    if "@" not in written and not found["scheme"] and not re.search("[A-Za-z]", written.split(".")[0]):
        return None
    return _said(written.strip("/"))


def path(found: re.Match[str], british: bool) -> str:
    """Returns the words for the place or the name of a file."""
    return _said(found[0].rstrip("."))


def _said(written: str) -> str:
    spoken = []
    for part in _PART.findall(written):
        if part.isdecimal():
            spoken.append(digits(part))
        elif part.isalpha():
            spoken.append(_name(part))
        else:
            spoken.append(_NAMES.get(part, ""))
    return " ".join(filter(None, spoken))


def _name(part: str) -> str:
    """Returns a part of an address as a word or, if it cannot be one, as letters."""
    if part.lower() in _WORDS or (len(part) > 3 and _VOWEL.search(part)):
        return part.lower()
    if len(part) == 1 or (
        len(part) == 2 and part.lower() not in ("me", "my", "we", "go", "do", "to", "in", "on")
    ):
        return " ".join(part.upper())
    return part.lower() if _VOWEL.search(part) else " ".join(part.upper())


def version(found: re.Match[str], british: bool) -> str:
    """Returns the words for a version or a network address."""
    written = found[0].lstrip("vV")
    parts = written.split(".")
    say = digits if len(parts) == 4 and any(len(part) > 2 for part in parts) else cardinal
    spoken = (
        " dot ".join(say(part) for part in parts) if len(parts) == 4 else " point ".join(map(cardinal, parts))
    )
    return f"version {spoken}" if written != found[0] else spoken
