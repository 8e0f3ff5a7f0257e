"""An app in ten lines; run it with the path of a bundle."""

import sys
from pathlib import Path

from runtime_min import Bundle, write_wav

with Bundle.load(sys.argv[1]) as bundle:
    audio = bundle.synthesize("həlˈO wˈɜɹld!", voice="af_heart*0.7+am_adam*0.3", speed=1.1)
    write_wav(Path("hello.wav"), audio.samples, audio.sample_rate)
    for phoneme, start, end in audio.tokens:
        print(f"{phoneme} {start:.3f} to {end:.3f} s")
