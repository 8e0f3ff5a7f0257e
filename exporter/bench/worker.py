"""One engine in a process of its own; started by `exporter.bench.engines`.

``python -m exporter.bench.worker ENGINE`` (JSON of `speakers.Engine`) answers requests over pipes, a JSON
object a line; with ``PHONEMES FILE`` after it, it speaks once into a WAV file, for cold starts; with
``stream`` after it, it speaks piece by piece.
"""

from __future__ import annotations

import json
import os
import sys
import time
import traceback
import wave
from collections.abc import Callable
from typing import IO, Any

import numpy as np

from exporter.bench.speakers import Engine, Samples, Speak, Streamed, load, load_stream
from runtime_min.format.signatures import SAMPLE_RATE


def answer(speak: Speak | Streamed, request: dict[str, Any]) -> dict[str, Any]:
    """Answers ``{"speak": phonemes}`` with seconds and samples, ``{"memory": field}`` with bytes.

    What streams is also asked for the seconds until its first piece.
    """
    if "memory" in request:
        return {"bytes": memory(request["memory"])}
    started = time.perf_counter()
    spoken = speak(request["speak"])
    pieces = [spoken] if isinstance(spoken, np.ndarray) else spoken
    ends, samples = [], 0
    for piece in pieces:
        ends.append(time.perf_counter() - started)
        samples += piece.size
    return {"first": ends[0], "seconds": time.perf_counter() - started, "samples": samples}


def memory(field: str) -> int:
    """Bytes of this process: ``VmHWM`` is the most that was resident, ``VmRSS`` what is."""
    with open("/proc/self/status", encoding="ascii") as status:
        line = next(line for line in status if line.startswith(f"{field}:"))
    return int(line.split()[1]) * 1024


def serve(loading: Callable[[], Speak | Streamed], requests: IO[str], answers: IO[str]) -> None:
    """Loads an engine, says so, and answers until the other end closes its pipe.

    An error is answered with its text, and with its exit code where it is one of the project's own; it is the
    last answer.
    """
    try:
        speak = loading()
        _tell(answers, {"ready": True})
        for line in requests:
            _tell(answers, answer(speak, json.loads(line)))
    except Exception as error:
        code = getattr(error, "exit_code", None)
        _tell(answers, {"error": str(error) if code else traceback.format_exc(), "exit_code": code})


def _tell(answers: IO[str], message: dict[str, Any]) -> None:
    answers.write(json.dumps(message) + "\n")
    answers.flush()


def write_pcm16(path: str, samples: Samples) -> None:
    """Writes a WAV file with nothing but the standard library and numpy."""
    with wave.open(path, "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(SAMPLE_RATE)
        file.writeframes((samples.clip(-1, 1) * 32767).astype("<i2").tobytes())


def main(description: str, *once: str) -> None:
    """Serves, or speaks once."""
    engine = Engine(**json.loads(description))
    stream = once == ("stream",)
    if once and not stream:
        phonemes, path = once
        write_pcm16(path, load(engine)(phonemes))
        return
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # whatever a library prints must not get among the answers
    serve(lambda: load_stream(engine) if stream else load(engine), sys.stdin, answers)


if __name__ == "__main__":
    main(*sys.argv[1:])
