"""Speaks a dialogue into a WAV file, each speaker in another voice and all equally loud.

python examples/dialogue.py BUNDLE DIALOGUE.txt dialogue.wav af_heart am_michael bf_emma

A line is `NAME: what is said`. The first speaker gets the first voice.
"""

import sys
from pathlib import Path

from runtime_min import Bundle, KokoroError, Segment

LOUDNESS = -18


def main(path: str, dialogue: str, output: str, *voices: str) -> None:
    """Speaks each line in the voice of its speaker."""
    lines = [line.partition(":") for line in Path(dialogue).read_text(encoding="utf-8-sig").splitlines()]
    speakers = list(dict.fromkeys(name for name, colon, _ in lines if colon))
    if len(speakers) > len(voices):
        sys.exit(f"error: {len(speakers)} speakers ({', '.join(speakers)}) need as many voices")
    parts = [Segment(said.strip(), voices[speakers.index(name)]) for name, colon, said in lines if colon]
    with Bundle.load(path) as bundle:
        bundle.synthesize(parts, trim=True, loudness=LOUDNESS).save(output)


if __name__ == "__main__":
    try:
        main(*sys.argv[1:])
    except KokoroError as error:
        sys.exit(f"error: {error}")
