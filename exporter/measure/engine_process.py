"""Processes of an engine: one that stays loaded, and one for each cold start."""

from __future__ import annotations

import subprocess
import time
from pathlib import Path

from exporter.measure import engine as inside
from exporter.measure.engine import Engine, Piece, Program, Spoken
from exporter.measure.fresh_process import EngineError, FreshProcess, environment


class EngineProcess(FreshProcess):
    """A process that has loaded an engine."""

    def __init__(self, engine: Engine) -> None:
        """Starts the process and waits until the engine is loaded.

        Raises:
            EngineError: it could not be loaded.
        """
        super().__init__(engine.name, engine.threads)
        try:
            self.call(inside.load, engine)
        except BaseException:
            self.close()
            raise

    def speak(self, phonemes: str) -> Spoken:
        """Speaks, and returns how long it took.

        Raises:
            EngineError: the engine failed.
        """
        return self.call(inside.speak, phonemes)

    def voiced(self, phonemes: str) -> Piece:
        """Speaks, and returns the audio.

        Raises:
            EngineError: the engine failed.
        """
        return self.call(inside.voiced, phonemes)


def time_cold_start(engine: Program, phonemes: str, wav: Path) -> float:
    """Returns the seconds of the process that a user would start to write a WAV file.

    Raises:
        EngineError: the process failed.
    """
    wav.unlink(missing_ok=True)
    command = engine.command(phonemes, str(wav))
    started = time.perf_counter()
    done = subprocess.run(command, capture_output=True, text=True, env=environment(engine.threads))
    taken = time.perf_counter() - started
    if done.returncode != 0 or not wav.exists():
        raise EngineError(f"{engine.name} did not write a WAV file:\n{done.stderr.strip()}")
    return taken
