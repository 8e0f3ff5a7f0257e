"""``kokoro-export measure``: the time, memory and sizes of a bundle on this machine."""
