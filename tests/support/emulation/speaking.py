"""The program `speak.c`, which calls a C library on an emulated machine, and its requests."""

from __future__ import annotations

import os
import shutil
import subprocess
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from runtime_min import Audio, Bundle
from tests.support.tiny.runtime_alone import UTTERANCES

_MOST = 600
"""Seconds after which a program hangs."""
PROGRAM = Path(__file__).with_name("speak.c")


class Request(NamedTuple):
    """What an app asks the C library for."""

    mode: str
    """``text``, ``phonemes`` or ``stream``, which is of phonemes."""
    voice: str
    speed: float
    seed: int
    input: str


LONG = "abc abccba " * 12
REQUESTS = [
    *(Request("phonemes", voice, speed, seed, phonemes) for phonemes, voice, speed, seed in UTTERANCES),
    Request("stream", "af_heart", 1.0, 3, LONG),
]
"""All that a tiny bundle is asked for."""
REFUSED = [
    (Request("phonemes", "nobody", 1.0, 0, "a"), "nobody"),
    (Request("phonemes", "af_heart", 1.0, 0, "a¬"), "¬"),
    (Request("phonemes", "af_heart", -1.0, 0, "a"), "speed"),
    (Request("text", "af_heart", 1.0, 0, "Hello."), "text"),
]
"""What a tiny bundle without text refuses, with a word of its message."""


class SpeakingMachine(ABC):
    """An emulated machine with a program of `speak.c`."""

    @abstractmethod
    def command(self, *arguments: str | Path, **more: str) -> list[str]:
        """Returns what starts the program with these arguments and variables."""

    def start(
        self, bundle: Path, requests: Sequence[Request], threads: int = 1, **more: str
    ) -> subprocess.CompletedProcess[bytes]:
        """Runs the program to the end."""
        asked = [str(argument) for request in requests for argument in request]
        return self.run(bundle, str(threads), *asked, **more)

    def run(self, *arguments: str | Path, **more: str) -> subprocess.CompletedProcess[bytes]:
        """Runs the program, or another one in its place, to the end."""
        command = self.command(*arguments, **more)
        return subprocess.run(command, env={"PATH": os.environ["PATH"]}, capture_output=True, timeout=_MOST)

    def speak(self, bundle: Path, requests: Sequence[Request], threads: int = 1, **more: str) -> list[bytes]:
        """Returns the samples of each request, float32."""
        done = self.start(bundle, requests, threads, **more)
        assert done.returncode == 0, done.stderr.decode()
        return list(_samples(done.stdout))

    def refuses_a_changed_library(self, bundle: Path, place: Path) -> bool:
        """Returns whether a bundle is refused by the name of a library that was changed in a copy."""
        copy = Path(shutil.copytree(bundle, place))
        changed = next(copy.glob("lib/*/decoder-*.so"))
        content = bytearray(changed.read_bytes())
        content[len(content) // 2] ^= 1
        changed.write_bytes(content)
        done = self.start(copy, REQUESTS)
        return done.returncode == 1 and changed.name in done.stderr.decode()


def spoken_here(bundle: Path, requests: Sequence[Request]) -> list[bytes]:
    """Returns what Python speaks of a bundle for this machine, on x86-64-v3."""
    with Bundle.load(bundle, level="x86-64-v3") as loaded:
        return [_spoken(loaded, *request).samples.tobytes() for request in requests]


def _spoken(bundle: Bundle, mode: str, voice: str, speed: float, seed: int, said: str) -> Audio:
    if mode == "text":
        return bundle.synthesize(said, voice=voice, speed=speed, seed=seed)
    if mode == "phonemes":
        return bundle.synthesize(phonemes=said, voice=voice, speed=speed, seed=seed)
    with bundle.stream(phonemes=said, voice=voice, speed=speed, seed=seed) as stream:
        return Audio.join(list(stream))


def given_variables(variables: dict[str, str]) -> list[str]:
    """Returns qemu's arguments for the variables of its program."""
    return [argument for name, value in variables.items() for argument in ("-E", f"{name}={value}")]


def _samples(content: bytes) -> Iterator[bytes]:
    while content:
        end = 8 + 4 * int.from_bytes(content[:8], "little")
        yield content[8:end]
        content = content[end:]
