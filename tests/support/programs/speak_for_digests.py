"""Speaks through every bucket and prints a digest of every tensor on the way, as JSON.

    python speak_for_digests.py BUNDLE PHONEMES...

The tensors of each utterance are listed bucket by bucket; ``filled`` says how many bytes a preloaded
`fill_memory.c` has handed out to TVM, and is 0 without it; ``fresh`` is a word of a new array.
"""

from __future__ import annotations

import ctypes
import hashlib
import json
import sys
from itertools import product

import numpy as np

from runtime_min import Bundle
from runtime_min.model.chain import Trace


def digests(trace: Trace) -> dict[str, str]:
    """SHA-256 of the bytes of every array of `trace`."""
    return {
        name: hashlib.sha256(array.tobytes()).hexdigest()
        for name, array in trace._asdict().items()
        if isinstance(array, np.ndarray)
    }


def main(directory: str, *utterances: str) -> None:
    """Prints the digests."""
    spoken: dict[str, dict[str, dict[str, str]]] = {}
    with Bundle.load(directory, threads=2) as bundle:
        text_buckets, frame_buckets = bundle.stage("bert").buckets, bundle.stage("decoder").buckets
        # The largest first: what it allocates is fresh, and what it leaves is reused by the others.
        for phonemes in utterances:
            for text, frames in product(reversed(text_buckets), reversed(frame_buckets)):
                buckets = dict.fromkeys(("bert", "duration", "text_encoder"), text)
                buckets |= dict.fromkeys(("f0n", "decoder"), frames)
                trace = bundle.trace(phonemes, buckets=buckets)
                spoken.setdefault(phonemes, {})[f"{text}/{frames}"] = digests(trace)
    shim = getattr(ctypes.CDLL(None), "filled_aligned_bytes", None)
    if shim is not None:
        shim.restype = ctypes.c_size_t
    fresh = int(np.empty(1 << 20, np.uint32)[1 << 19])
    print(json.dumps({"spoken": spoken, "filled": shim() if shim else 0, "fresh": fresh}))


if __name__ == "__main__":
    main(*sys.argv[1:])
