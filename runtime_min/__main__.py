"""The arguments of ``python -m runtime_min``; `command` does the work."""

from __future__ import annotations

import argparse
import io
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from types import FrameType

from .command import list_voices, self_test, speak
from .errors import KokoroError
from .format.manifest import MANIFEST_NAME
from .output.subtitles import SUFFIXES
from .output.wav import FORMATS

HELP = """\
usage: python -m runtime_min [BUNDLE] [options]   (runtime_min.pyz in a bundle knows BUNDLE)

Speak from a bundle that kokoro-export wrote; audio is written as it is produced.

  --phonemes P, --text T   what to speak; - is standard input (--text needs misaki or espeak-ng)
  --phonemes-file FILE, --text-file FILE    what to speak, from a file in UTF-8
  --language L             of the text: en-us, es, fr-fr, hi, ja ... (default: the voice's)
  --voice V                name, or a blend "af_heart*0.7+am_adam*0.3" (default: af_heart)
  --speed S                0.25 to 4 (default: 1)
  --pause S                seconds of silence added after sentences, half of it after clauses
  --trim                   without the silence at both ends
  --seed N                 of the noise; the same seed gives the same samples (default: 0)
  -o FILE, --output FILE   what to write (default: speech.wav); - is standard output
  --format F               of the samples: float (default) or pcm16
  --raw                    samples alone, without the header of a WAV file
  --timings FILE           when each word is heard: .srt, .vtt or .json
  --threads N, --level L   number of threads (default: all cores) and CPU level (default: the best)
  --manifest-sha256 D      digest that the bundle's manifest must have
  --list-voices            show the bundle's voices
  --self-test              compare every stage with what kokoro's gave, which the bundle holds
  -q, --quiet              no progress on standard error

  python -m runtime_min bundles/kokoro --phonemes "həlˈO wˈɜɹld!" -o hello.wav
  python -m runtime_min bundles/kokoro --text-file book.txt --timings book.srt -o book.wav
  echo "¡Hola!" | python -m runtime_min bundles/kokoro --text - --voice ef_dora -o - | aplay

Exit codes: 0 spoken; 1 the compiled code failed; 2 wrong usage; 3 input that cannot be spoken;
4 damaged bundle; 5 another machine or TVM, or no G2P; 6 unwritable output; 8 the self-test found
something; 130 interrupted.
"""
_INTERRUPTED = 130


def main(arguments: Sequence[str] | None = None) -> int:
    """Speaks and returns the exit code."""
    options = parse(arguments)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # A path may have characters that the terminal's encoding lacks.
            stream.reconfigure(errors="backslashreplace")
    earlier = signal.signal(signal.SIGTERM, _interrupt)
    try:
        if options.list_voices:
            list_voices(options)
        elif options.self_test:
            self_test(options)
        else:
            speak(options)
    except KokoroError as error:
        print(f"error: {error}", file=sys.stderr)
        return error.exit_code
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return _INTERRUPTED
    finally:
        signal.signal(signal.SIGTERM, earlier)
    return 0


def _interrupt(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt


class _Parser(argparse.ArgumentParser):
    def format_help(self) -> str:
        return HELP

    def format_usage(self) -> str:
        return HELP.partition("\n")[0] + "\n"


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Returns the options, or ends the process with what is wrong about them."""
    made = parser()
    options = made.parse_args(arguments)
    given = (options.phonemes, options.phonemes_file, options.text, options.text_file)
    if options.bundle is None:
        made.error("the following arguments are required: BUNDLE")
    if not (options.list_voices or options.self_test) and all(each is None for each in given):
        made.error(
            "one of --phonemes, --text, --phonemes-file, --text-file, --list-voices, --self-test is required"
        )
    if options.timings is not None and options.timings.suffix.lower() not in SUFFIXES:
        made.error(f"argument --timings: expected a name that ends with {', '.join(SUFFIXES)}")
    return options


def parser() -> argparse.ArgumentParser:
    """The options, as `HELP` describes them."""
    made = _Parser(prog="runtime_min", allow_abbrev=False)
    made.add_argument("bundle", nargs="?", default=_own_bundle(), type=Path, metavar="BUNDLE")
    made.add_argument("--list-voices", action="store_true")
    made.add_argument("--self-test", action="store_true")
    spoken = made.add_mutually_exclusive_group()
    spoken.add_argument("--phonemes")
    spoken.add_argument("--phonemes-file", type=Path)
    spoken.add_argument("--text")
    spoken.add_argument("--text-file", type=Path)
    made.add_argument("--language")
    made.add_argument("--voice", default="af_heart")
    made.add_argument("--speed", type=float, default=1.0)
    made.add_argument("--pause", type=float, default=0.0)
    made.add_argument("--trim", action="store_true")
    made.add_argument("--seed", type=int, default=0)
    made.add_argument("-o", "--output", type=Path, default=Path("speech.wav"))
    made.add_argument("--format", choices=FORMATS, default="float")
    made.add_argument("--raw", action="store_true")
    made.add_argument("--timings", type=Path)
    made.add_argument("--threads", type=int)
    made.add_argument("--level")
    made.add_argument("--manifest-sha256")
    made.add_argument("-q", "--quiet", action="store_true")
    return made


def _own_bundle() -> Path | None:
    """Returns the bundle in whose archive this module lies, if it runs from one."""
    archive = Path(__file__).resolve().parent.parent
    return archive.parent if archive.is_file() and (archive.parent / MANIFEST_NAME).is_file() else None


if __name__ == "__main__":
    sys.exit(main())
