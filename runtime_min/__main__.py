"""Speaks from a bundle on the command line.

Exit codes: 0 spoken; 1 the compiled code failed; 2 wrong usage; 3 the input cannot be spoken;
4 the bundle is incomplete, damaged or no bundle; 5 it is for another machine or another TVM;
6 the result cannot be written; 130 interrupted.
"""

from __future__ import annotations

import argparse
import io
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from .bundle import Bundle
from .errors import KokoroError
from .manifest import MANIFEST_NAME
from .wav import FORMATS, write_wav

_INTERRUPTED = 130


def main(arguments: Sequence[str] | None = None) -> int:
    """Speaks and returns the exit code."""
    options = _parser().parse_args(arguments)
    if isinstance(sys.stdout, io.TextIOWrapper):
        # A path may have characters that the terminal's encoding lacks.
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        _speak(options)
    except KokoroError as error:
        print(f"error: {error}", file=sys.stderr)
        return error.exit_code
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return _INTERRUPTED
    return 0


def _speak(options: argparse.Namespace) -> None:
    phonemes = _read_phonemes() if options.phonemes == "-" else options.phonemes
    with Bundle.load(
        options.bundle, threads=options.threads, level=options.level, manifest_sha256=options.manifest_sha256
    ) as bundle:
        if bundle.manifest.model.synthetic:
            print(
                "warning: THIS BUNDLE BABBLES: its weights are random (a synthetic checkpoint), not a voice.",
                file=sys.stderr,
            )
        start = time.perf_counter()
        audio = bundle.synthesize(phonemes, options.voice, options.speed, options.seed)
        taken = time.perf_counter() - start
        write_wav(options.output, audio.samples, audio.sample_rate, options.format)
        seconds = len(audio.samples) / audio.sample_rate
        print(f"{options.output}: {seconds:.2f} s of audio in {taken:.2f} s on {bundle.threads} threads")


def _read_phonemes() -> str:
    # UTF-8 wherever this runs; what is not becomes a phoneme that no vocabulary has.
    return sys.stdin.buffer.read().decode("utf-8", "replace").rstrip("\r\n")


def _parser() -> argparse.ArgumentParser:
    home = _own_bundle()
    parser = argparse.ArgumentParser(
        prog="runtime_min",
        description="Speak phonemes from a bundle that kokoro-export wrote.",
        epilog=(__doc__ or "").partition("\n\n")[2],
    )
    parser.add_argument(
        "bundle",
        nargs="?" if home else None,
        default=home,
        type=Path,
        metavar="BUNDLE",
        help="directory of the bundle; runtime_min.pyz inside a bundle knows its own",
    )
    parser.add_argument("--phonemes", required=True, help="what to speak; - reads it from standard input")
    parser.add_argument("--voice", default="af_heart", help="name of a voice (default: %(default)s)")
    parser.add_argument("--speed", type=float, default=1.0, help="0.25 to 4 (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="seed of the noise (default: %(default)s)")
    parser.add_argument("-o", "--output", type=Path, default=Path("speech.wav"), help="WAV file to write")
    parser.add_argument("--format", choices=FORMATS, default="float", help="of the samples (default: float)")
    parser.add_argument("--threads", type=int, help="default: TVM_NUM_THREADS, or else all cores")
    parser.add_argument("--level", help="CPU level (default: the best that this processor has)")
    parser.add_argument("--manifest-sha256", help="digest that the bundle's manifest must have")
    return parser


def _own_bundle() -> Path | None:
    """Returns the bundle in whose archive this module lies, if it runs from one."""
    archive = Path(__file__).resolve().parent.parent
    return archive.parent if archive.is_file() and (archive.parent / MANIFEST_NAME).is_file() else None


if __name__ == "__main__":
    sys.exit(main())
