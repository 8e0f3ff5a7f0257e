"""An app in ten lines; run it with the path of a bundle."""

import sys

from runtime_min import Bundle

with Bundle.load(sys.argv[1]) as bundle:
    audio = bundle.synthesize("Hello, world!", voice="af_heart*0.7+am_adam*0.3", speed=1.1)
    audio.save("hello.wav")
    for phoneme, start, end in audio.tokens:
        print(f"{phoneme} {start:.3f} to {end:.3f} s")
