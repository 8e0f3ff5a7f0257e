"""A server of a fake bundle: tones for letters, after a chosen time for each piece.

``python -m tests.support.fakes.speech_server SECONDS OPTIONS...`` serves it as the command does. On SIGUSR1
it collects garbage and prints the number of its tasks.
"""

from __future__ import annotations

import asyncio
import gc
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import uvicorn

import kokoro_server.__main__
from kokoro_server.app import Options
from kokoro_server.serve import Settings, bound, configured
from runtime_min import Audio, LiveSpeech, VoiceName, Word
from runtime_min.errors import LanguageError
from runtime_min.speech.plan import Planner, check_manner, plan_portions
from runtime_min.speech.request import Capabilities, Request
from runtime_min.speech.speak import speak
from runtime_min.text.bundled import linked_portions
from tests.support.fakes.synthesiser import LETTERS, VOCABULARY, VOICE, Fake

VOICES = ("af_heart", "af_alloy", "am_adam", "ef_dora")


class FakeBundle:
    """The part of `Bundle` that a server uses."""

    def __init__(self, seconds: float = 0.0) -> None:
        self.seconds = seconds
        """Time to compute a piece."""
        self.gate = threading.Event()
        """Nothing is computed while it is not set."""
        self.gate.set()
        self.computed: list[str] = []
        """Phonemes of every piece."""
        self.voices = tuple(map(VoiceName, VOICES))
        self.closed = False
        tables = {name: np.full_like(VOICE, number) for number, name in enumerate(VOICES)}
        self._capabilities = Capabilities(tables, VOCABULARY, 60)

    def pieces(
        self, text: Any = None, voice: str = "af_heart", speed: float = 1.0, *, phonemes: str | None = None,
        **options: Any,
    ) -> Iterator[Audio]:  # fmt: skip
        g2p = fake_g2p if phonemes is None else None
        request = Request(text=text, phonemes=phonemes, voice=voice, speed=speed, g2p=g2p)
        plans = plan_portions(self._capabilities, request, [request.whole], whole=False)
        for audio in speak(next(plans), Fake()):
            self.gate.wait()
            time.sleep(self.seconds)
            self.computed.append(audio.phonemes)
            yield audio

    def live(self, voice: str = "af_heart", speed: float = 1.0, **options: Any) -> LiveSpeech:
        request = Request(text="", voice=voice, speed=speed)
        check_manner(self._capabilities, request)
        planner = Planner(self._capabilities, request, whole=False)
        return FakeLiveSpeech(partial(linked_portions, fake_g2p), planner, Fake(), self)

    def find_g2p(self, language: str) -> tuple[str, Any]:
        if language == "tlh":
            raise LanguageError(language, ("en-us",))
        return language, fake_g2p

    def speaks(self, language: str) -> bool:
        return language != "es"

    def close(self) -> None:
        self.closed = True


class FakeLiveSpeech(LiveSpeech):
    """Is as slow as the fake bundle."""

    def __init__(self, *parts: Any) -> None:
        *parts, self.bundle = parts  # type: ignore[assignment]
        super().__init__(*parts)

    def pieces(self) -> Iterator[Audio]:
        for audio in super().pieces():
            self.bundle.gate.wait()
            time.sleep(self.bundle.seconds)
            self.bundle.computed.append(audio.phonemes)
            yield audio


def fake_g2p(text: str) -> list[Word]:
    """Takes every character for one of the fake's letters, marks for themselves."""
    return [
        Word(word, "".join(c if c in ".," else LETTERS[ord(c) % len(LETTERS)] for c in word), " ")
        for word in text.split()
        if any(map(str.isalnum, word))
    ]


@dataclass
class Running:
    """A server in a thread of this process."""

    bundle: FakeBundle
    port: int
    wyoming_port: int

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"


@contextmanager
def serving(bundle: FakeBundle, options: Options = Options(), grace: int = 5) -> Iterator[Running]:  # noqa: B008
    config = configured(lambda: bundle, options, Settings(port=0, grace_seconds=grace, wyoming_port=0))  # type: ignore[arg-type,return-value]
    server, sockets = uvicorn.Server(config), bound(config)
    thread = threading.Thread(target=server.run, args=(sockets,))
    thread.start()
    while not server.started:
        assert thread.is_alive()
        time.sleep(0.01)
    assert isinstance(config.app, partial)
    try:
        yield Running(bundle, sockets[0].getsockname()[1], config.app.args[2].getsockname()[1])
    finally:
        server.should_exit = True
        thread.join()
    assert bundle.closed


def load(seconds: str, threads: int | None, arithmetic: str | None) -> FakeBundle:
    return FakeBundle(float(seconds))


def print_tasks(*_: object) -> None:
    gc.collect()
    print(f"{len(asyncio.all_tasks())} tasks", file=sys.stderr, flush=True)


if __name__ == "__main__":
    signal.signal(signal.SIGUSR1, print_tasks)
    kokoro_server.__main__.Bundle.load = load  # type: ignore[attr-defined]
    sys.exit(kokoro_server.__main__.main())
