"""Plays text while the rest of it is still being computed.

echo "Hello there! How are you?" | python examples/play.py BUNDLE af_heart
echo "¡Hola! ¿Qué tal?" | python examples/play.py BUNDLE ef_dora ffplay -nodisp -autoexit -f f32le -ar 24000 -
"""

import subprocess
import sys
import time

from runtime_min import Bundle

ALSA = ["aplay", "-q", "-t", "raw", "-f", "FLOAT_LE", "-r", "24000", "-"]


def main(path: str, voice: str, *player: str) -> None:
    """Speaks standard input to the player's."""
    text = sys.stdin.read()
    with Bundle.load(path) as bundle:
        started = time.perf_counter()
        with (
            subprocess.Popen(player or ALSA, stdin=subprocess.PIPE) as process,
            bundle.stream(text, voice, sentence_pause=0.2) as stream,
        ):
            for piece in stream:
                if piece.start == 0:
                    print(f"first audio after {time.perf_counter() - started:.3f} s", file=sys.stderr)
                assert process.stdin is not None
                process.stdin.write(piece.samples.tobytes())
                process.stdin.flush()


if __name__ == "__main__":
    main(*sys.argv[1:])
