"""Feeds one reader what reaches new code: ``python -m tests.fuzz.target READER [options of libFuzzer]``."""

from __future__ import annotations

import shlex
import sys
from contextlib import suppress
from random import Random

import atheris

with atheris.instrument_imports(include=["runtime_min", "exporter.bundle", "kokoro_books"]):
    from tests.fuzz.readers import READERS, REFUSED, mutate_bytes


def main(name: str, *options: str) -> None:
    reader = READERS[name]

    def read(data: bytes) -> None:
        with suppress(*REFUSED):
            reader.read(data)

    def mutate(data: bytes, most: int, seed: int) -> bytes:
        random = Random(seed)
        if random.random() < 0.5:
            return bytes(atheris.Mutate(data, most))
        try:
            return reader.mutate(random, data)[:most]
        except Exception:  # What is refused has nothing inside that could be changed.
            return mutate_bytes(random, data)[:most]

    # With this, libFuzzer starts processes that merge.
    command = shlex.join([sys.executable, "-m", "tests.fuzz.target", name])
    atheris.Setup([command, *options], read, custom_mutator=mutate)
    atheris.Fuzz()


if __name__ == "__main__":
    main(*sys.argv[1:])
