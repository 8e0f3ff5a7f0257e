"""The arguments of the command, its help and its errors; `speak_command` does the work."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING

from .command_line import STANDARD, Parser, exit_code, is_text
from .engine.tvm_ffi_package import import_tvm_ffi
from .format.manifest import MANIFEST_NAME
from .format.origin import read_key
from .loading import load_bundle
from .output import formats
from .process import importing

if TYPE_CHECKING:
    from .bundle import Bundle
    from .format.bundle_files import BundleFiles
    from .format.manifest import CpuLevel, Manifest

_EPILOG = """\
  {command} bundles/kokoro --book book.epub --timings book.srt -o book.m4b
  echo "¡Hola!" | {command} bundles/kokoro --text - --voice ef_dora -o - | aplay
Exit codes: 1 code failed; 2 usage; 3 input; 4 bundle; 5 machine; 6 output; 8 self-test; 130 break"""
_OUTPUT = Path("speech.wav")
DEFAULT_VOICE = "af_heart"


def run(arguments: Sequence[str] | None = None) -> int:
    """Speaks and returns the exit code."""

    def task() -> None:
        options = parse(arguments)
        with _load(options) as bundle:
            from . import speak_command

            tasks = (speak_command.list_voices, speak_command.self_test, speak_command.print_phonemes)
            usual = speak_command.speak if options.book is None else speak_command.speak_book
            chosen = next((task for task in tasks if getattr(options, task.__name__)), usual)
            chosen(options, bundle)

    return exit_code(task)


def _load(options: argparse.Namespace) -> Bundle:
    return load_bundle(
        _bundle,
        options.bundle,
        meanwhile=_import_speech,
        threads=options.threads,
        level=options.level,
        arithmetic=options.arithmetic,
        manifest_sha256=options.manifest_sha256,
        key=None if options.key is None else read_key(options.key),
    )


def _import_speech() -> None:
    """Imports numpy, TVM and all that speaks."""
    with importing():
        from . import bundle, speak_command  # noqa: F401

        import_tvm_ffi(alone=True)


def _bundle(files: BundleFiles, manifest: Manifest, level: CpuLevel, threads: int) -> Bundle:
    from .bundle import Bundle  # already imported by then

    return Bundle(files, manifest, level, threads)


def parse(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """Returns the options.

    Raises:
        UsageError: they are wrong.
        SystemExit: they asked for the help or the version, which was printed.
    """
    parser = _parser()
    options = parser.parse_args(arguments)
    if options.bundle is None:
        parser.error("the following arguments are required: BUNDLE")
    if options.print_phonemes and options.ssml:
        parser.error("argument --print-phonemes: not allowed with argument --ssml")
    if not is_text(options):
        for option in ("--print-phonemes", "--ssml", "--skip-emoji"):
            if getattr(options, option[2:].replace("-", "_")):
                parser.error(f"argument {option}: expected --text or --text-file")
    if options.timings is not None:
        formats.timings_format(options.timings)
    if options.book is not None:
        _check_book(parser, options)
    elif options.output != STANDARD:
        formats.audio_format(options.output, options.format, raw=options.raw)
    options.voice = options.voice or DEFAULT_VOICE
    _check_different(parser, options)
    return options


def _check_book(parser: argparse.ArgumentParser, options: argparse.Namespace) -> None:
    """Refuses what does not go with a book, and chooses its voice later if none is given."""
    if options.output.suffix.lower() not in (".m4b", ".epub"):
        parser.error(f"argument --book: expected --output FILE.m4b or FILE.epub, found {options.output}")
    for option in ("--print-phonemes", "--ssml", "--raw", "--end-pause"):
        if getattr(options, option[2:].replace("-", "_")):
            parser.error(f"argument {option}: not allowed with argument --book")
    options.voice_of_book = options.voice is None


def _check_different(parser: argparse.ArgumentParser, options: argparse.Namespace) -> None:
    """Refuses to write two files, or a file and the input, in one place."""
    files = (options.output, options.timings, options.text_file, options.phonemes_file, options.book)
    for first, second in combinations([file for file in files if file not in (None, STANDARD)], 2):
        place = os.path.realpath(first)
        if place == os.path.realpath(second) and (os.path.isfile(place) or not os.path.exists(place)):
            parser.error(f"{first} and {second} are one file: name different ones")


def _parser() -> argparse.ArgumentParser:
    command = _command()
    parser = Parser(
        prog=command,
        usage=f"{command} [BUNDLE] [options]   (runtime_min.pyz in a bundle needs no BUNDLE)",
        description="Speak from a bundle that kokoro-export wrote; audio is written as it is produced.",
        epilog=_EPILOG.format(command=command),
    )
    add, add_task = parser.add_argument, parser.add_mutually_exclusive_group(required=True).add_argument
    add("bundle", nargs="?", default=_own_bundle(), type=Path, metavar="BUNDLE", help=argparse.SUPPRESS)
    add_task("--phonemes", metavar="P", help="phonemes to speak; - is standard input")
    add_task("--phonemes-file", type=Path, metavar="FILE", help="the same from a file in UTF-8")
    add_task(
        "--text", metavar="T", help="text to speak, English without any other package; - is standard input"
    )
    add_task("--text-file", type=Path, metavar="FILE", help="the same from a file in UTF-8")
    add_task(
        "--book",
        type=Path,
        metavar="FILE",
        help="an EPUB; -o BOOK.m4b gets chapters, -o READ.epub overlays (extra: books)",
    )
    add_task("--list-voices", action="store_true", help="show the bundle's voices")
    add_task("--self-test", action="store_true", help="compare every stage with kokoro's stored values")
    add("--ssml", action="store_true", help="the text is an SSML document")
    add("--notes", action="store_true", help="read the notes and page numbers of a book, too")
    add("--skip-emoji", action="store_true", help="leave emoji out of an English text")
    add("--print-phonemes", action="store_true", help="print a line of phonemes for each line of text alone")
    add("--lexicon", type=Path, metavar="FILE", help="words of an English text with phonemes: GIF ʤˈɪf")
    add("--language", metavar="L", help="of the text: en-us, es, fr-fr, hi, ja ... (default: the voice's)")
    add(
        "--voice",
        metavar="V",
        help=f'or a blend "af_heart*0.7+am_adam*0.3" (default: {DEFAULT_VOICE}, or by the book)',
    )
    add("--speed", type=float, default=1.0, metavar="S", help="0.25 to 4 (default: 1)")
    add("--no-stretch", action="store_true", help="leave the speed to the model, as kokoro does")
    add("--pause", type=float, default=0.0, metavar="S", help="seconds after sentences, half after clauses")
    add("--end-pause", type=float, metavar="S", help="begin at once, and end with S seconds of silence")
    add("--loudness", type=float, metavar="L", help="LUFS of every voice, such as -18 (default: its own)")
    add("--seed", type=int, default=0, metavar="N", help="of the noise; the same seed gives the same samples")
    add(
        "-o",
        "--output",
        type=Path,
        default=_OUTPUT,
        metavar="FILE",
        help=f"{', '.join(formats.AUDIO)} (default: speech.wav); - is standard output",
    )
    add(
        "--format",
        choices=formats.SAMPLES,
        default=formats.SAMPLES[0],
        help="of a WAV file's samples (default: pcm16)",
    )
    add("--raw", action="store_true", help="write samples alone, without the header of a WAV file")
    add("--timings", type=Path, metavar="FILE", help="write when each word is heard: .srt, .vtt or .json")
    add("--threads", type=int, metavar="N", help="number of threads (default: all cores)")
    add("--level", metavar="L", help="CPU level (default: the best)")
    add("--arithmetic", metavar="A", help="arithmetic of the decoder (default: float32)")
    add("--manifest-sha256", metavar="D", help="digest that the bundle's manifest must have")
    add("--key", type=Path, metavar="FILE", help="Ed25519 public key with which BUNDLE.sig must verify")
    add("-q", "--quiet", action="store_true", help="show no progress on standard error")
    return parser


def _own_bundle() -> Path | None:
    """Returns the bundle in whose archive this module lies, if it runs from one."""
    archive = Path(__file__).resolve().parent.parent
    return archive.parent if archive.is_file() and (archive.parent / MANIFEST_NAME).is_file() else None


def _command() -> str:
    """Returns the command as it was called."""
    name = Path(sys.argv[0]).name
    if name == "__main__.py":
        return "python -m runtime_min"
    return f"python {name}" if name.endswith(".pyz") else Path(name).stem
