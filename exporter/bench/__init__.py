"""``kokoro-export bench``: the time, memory and sizes of a bundle on this machine."""
