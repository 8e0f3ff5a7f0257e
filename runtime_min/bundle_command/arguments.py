"""The arguments of ``kokoro-bundle``; `commands` does the work."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from ..command_line import Parser, exit_code
from . import commands

_EPILOG = """\
  kokoro-bundle verify bundles/kokoro --key public.pem
  kokoro-bundle unpack kokoro.tar -o bundles/kokoro --manifest-sha256 DIGEST

Exit codes: 0 done; 2 wrong usage; 3 not a key; 4 damaged bundle, or of another origin; 5 too little
memory or too few open files; 6 the bundle cannot be written; 130 interrupted.
"""
_EITHER = "directory of a bundle, or a packed bundle"


def run(arguments: Sequence[str] | None = None) -> int:
    """Runs the command and returns the exit code."""

    def task() -> None:
        options = vars(_parser().parse_args(arguments))
        options.pop("command")(**options)

    return exit_code(task)


def _parser() -> argparse.ArgumentParser:
    parser = Parser(
        prog="kokoro-bundle", description="Look into a bundle, check it and unpack it.", epilog=_EPILOG
    )
    add = parser.add_subparsers(required=True, metavar="COMMAND").add_parser
    inspect = add("inspect", help="show a bundle's manifest, without checking the other files")
    inspect.add_argument("path", type=Path, metavar="BUNDLE", help=_EITHER)
    inspect.add_argument("--json", action="store_true", dest="as_json", help="print the manifest as JSON")
    inspect.set_defaults(command=commands.inspect)
    verify = add("verify", help="check every file that a bundle's manifest lists, and who signed it")
    verify.add_argument("path", type=Path, metavar="BUNDLE", help=_EITHER)
    _add_origin(verify)
    verify.add_argument("--strict", action="store_true", help="refuse files that the manifest does not list")
    verify.set_defaults(command=commands.verify)
    unpack = add("unpack", help="check a packed bundle and write it into a directory")
    unpack.add_argument("path", type=Path, metavar="FILE", help="the packed bundle")
    unpack.add_argument("-o", "--output", type=Path, required=True, metavar="DIR", help="directory to write")
    _add_origin(unpack)
    unpack.add_argument("--force", action="store_true", help="replace an earlier bundle")
    unpack.set_defaults(command=commands.unpack)
    return parser


def _add_origin(command: argparse.ArgumentParser) -> None:
    """Adds the options that tell who must have made the bundle."""
    add = command.add_argument
    add("--manifest-sha256", dest="sha256", metavar="D", help="digest that the manifest must have")
    add("--key", type=Path, metavar="FILE", help="Ed25519 public key whose owner must have signed the bundle")
    add("--signature", type=Path, metavar="FILE", help="signature for --key; by default BUNDLE.sig")
