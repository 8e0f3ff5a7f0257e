"""Speaks a book: a WAV file and subtitles for each chapter. Started again, it goes on where it was stopped.

python examples/audiobook.py BUNDLE BOOK.txt DIRECTORY --voice ef_dora --chapters "^Capítulo .*"
"""

from __future__ import annotations

import argparse
import hashlib
import json
import re
import sys
from pathlib import Path

from runtime_min import Bundle, KokoroError, Segment, Timing, audio_file, write_timings


def chapters_of(text: str, heading: str) -> list[str]:
    """Returns the parts of the text that begin with a heading, and what stands before the first."""
    starts = [found.start() for found in re.finditer(heading, text, re.MULTILINE)]
    parts = [text[start:end] for start, end in zip([0, *starts], [*starts, None], strict=True)]
    return [part.strip() for part in parts if part.strip()]


def speak(bundle: Bundle, chapter: str, path: Path, options: argparse.Namespace) -> None:
    """Writes a chapter's WAV file and subtitles. The WAV file comes last: if it exists, both are whole."""
    paragraphs = [Segment(part) for part in re.split(r"\n\s*\n", chapter) if part.strip()]
    words: list[Timing] = []
    tokens: list[Timing] = []
    with (
        bundle.stream(
            paragraphs,
            options.voice,
            speed=options.speed,
            language=options.language,
            sentence_pause=0.3,
        ) as stream,
        audio_file(path, bundle.manifest.audio.sample_rate) as file,
    ):
        for piece in stream:
            file.write(piece.samples)
            words += piece.words
            tokens += piece.tokens
        write_timings(path.with_suffix(".srt"), chapter, words, tokens)


def main() -> None:
    """Speaks the chapters that are not there yet."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("bundle", type=Path)
    parser.add_argument("book", type=Path)
    parser.add_argument("output", type=Path)
    parser.add_argument(
        "--chapters", default=r"^(Chapter|CHAPTER) .*", help="regular expression of a heading"
    )
    parser.add_argument("--voice", default="af_heart")
    parser.add_argument("--language")
    parser.add_argument("--speed", type=float, default=1.0)
    options = parser.parse_args()
    options.output.mkdir(parents=True, exist_ok=True)
    chapters = chapters_of(options.book.read_text(encoding="utf-8-sig"), options.chapters)

    # What each finished file was made of: a chapter that changed since is spoken again.
    record = options.output / "chapters.json"
    done = json.loads(record.read_text(encoding="utf-8")) if record.exists() else {}
    with Bundle.load(options.bundle) as bundle:
        for number, chapter in enumerate(chapters, 1):
            path = options.output / f"{number:03}.wav"
            made_of = repr(
                (chapter, options.voice, options.language, options.speed, bundle.manifest.model.sha256)
            )
            digest = hashlib.sha256(made_of.encode()).hexdigest()
            if done.get(path.name) == digest and path.exists():
                print(f"{path.name}: there already")
                continue
            speak(bundle, chapter, path, options)
            done[path.name] = digest
            part = record.with_suffix(".part")
            part.write_text(json.dumps(done, indent=1), encoding="utf-8")
            part.replace(record)
            print(f"{path.name}: {chapter.splitlines()[0]}")


if __name__ == "__main__":
    try:
        main()
    except KokoroError as error:
        sys.exit(f"error: {error}")
