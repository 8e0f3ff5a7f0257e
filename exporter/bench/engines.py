"""The engines that are compared: their packages, their processes, and their cold starts."""

from __future__ import annotations

import importlib.metadata
import subprocess
import sys
import time
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

from exporter.bench import engine as inside
from exporter.bench.engine import Engine, Spoken
from exporter.bench.fresh_process import EngineError, FreshProcess, environment
from exporter.bench.results import BUNDLE, ENGINES, KOKORO_ONNX, NAMES, ONNXRUNTIME
from exporter.errors import ExportError


class EngineMissingError(ExportError):
    """An engine's packages are not installed."""

    exit_code = 5


class EngineProcess(FreshProcess):
    """A process that has loaded an engine."""

    def __init__(self, engine: Engine, stream: bool = False) -> None:
        """Starts the process and waits until the engine is loaded.

        Args:
            engine: what to load.
            stream: whether it is to speak piece by piece.

        Raises:
            EngineError: it could not be loaded.
        """
        super().__init__(NAMES[engine.name], engine.threads)
        try:
            self.call(inside.load, engine, stream)
        except BaseException:
            self.close()
            raise

    def speak(self, phonemes: str) -> Spoken:
        """Speaks, and returns how long it took.

        Raises:
            EngineError: the engine failed.
        """
        return self.call(inside.speak, phonemes)


def check_installed(engines: Sequence[str]) -> None:
    """Refuses an engine that cannot be imported, before anything slow runs.

    Raises:
        EngineMissingError: with the packages to install, or the engines that are there.
    """
    needed = {ONNXRUNTIME: ("onnx", "onnxruntime"), KOKORO_ONNX: ("kokoro_onnx", "onnx", "onnxruntime")}
    for engine in engines:
        missing = [package for package in needed.get(engine, ()) if find_spec(package) is None]
        if missing:
            others = ",".join(name for name in ENGINES if name != ONNXRUNTIME)
            without = "without --stream" if engine == KOKORO_ONNX else f"without it: --engines {others}"
            raise EngineMissingError(
                f"{NAMES[engine]} is to be measured, and these packages are missing: {', '.join(missing)}. "
                f"Run pip install 'kokoro-export[bench]', or measure {without}."
            )


def versions(engines: Sequence[str]) -> str:
    """Returns the versions of what is compared, in a line."""
    packages = {"bundle": "apache-tvm", "pytorch": "torch"}
    named = [*(packages.get(engine, engine) for engine in engines), "kokoro", "numpy"]
    found = (f"{package} {importlib.metadata.version(package)}" for package in named)
    return ", ".join((*found, f"Python {sys.version.split()[0]}"))


def time_cold_start(engine: Engine, phonemes: str, wav: Path) -> float:
    """Returns the seconds of the process that a user would start to write a WAV file.

    Raises:
        EngineError: the process failed.
    """
    wav.unlink(missing_ok=True)
    started = time.perf_counter()
    done = subprocess.run(
        _cold_command(engine, phonemes, wav), capture_output=True, text=True, env=environment(engine.threads)
    )
    taken = time.perf_counter() - started
    if done.returncode != 0 or not wav.exists():
        raise EngineError(f"{NAMES[engine.name]} did not write a WAV file:\n{done.stderr.strip()}")
    return taken


def _cold_command(engine: Engine, phonemes: str, wav: Path) -> list[str]:
    if engine.name != BUNDLE:
        module = ("-W", "ignore", "-m", "exporter.bench.competitors")
        return [sys.executable, *module, engine.as_json(), phonemes, str(wav)]
    options = ("--voice", engine.voice, "--level", engine.level, "--threads", str(engine.threads))
    utterance = ("--phonemes", phonemes, "--format", "pcm16", "-o", str(wav))
    return [sys.executable, "-m", "runtime_min", engine.bundle, *options, *utterance]
