"""The engines seen from outside: what they are told, their processes, and kokoro's own ONNX export."""

from __future__ import annotations

import importlib.metadata
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from types import TracebackType
from typing import Any

from exporter.bench.results import BUNDLE, ENGINES, KOKORO_ONNX, NAMES, ONNXRUNTIME
from exporter.bench.speakers import Engine
from exporter.errors import ExportError

_ROOT = str(Path(__file__).parents[2])
# The peers run as their makers ship them, whatever the environment of the benchmark says.
_THREAD_SETTINGS = (
    *("OMP_NUM_THREADS", "OMP_WAIT_POLICY", "OMP_PROC_BIND", "GOMP_SPINCOUNT", "KMP_BLOCKTIME"),
    *("MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "TVM_NUM_THREADS", "TVM_BIND_THREADS"),
)
_TICKS = os.sysconf("SC_CLK_TCK")


class EngineMissingError(ExportError):
    """An engine's packages are not installed."""

    exit_code = 5


class EngineError(ExportError):
    """An engine could not be loaded, could not speak, or ended."""

    exit_code = 5


def check_installed(engines: Sequence[str]) -> None:
    """Refuses an engine that cannot be imported, before anything slow runs.

    Raises:
        EngineMissingError: naming what to install, or which engines are there.
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
    """What is compared, in a line."""
    packages = {"bundle": "apache-tvm", "pytorch": "torch"}
    named = [*(packages.get(engine, engine) for engine in engines), "kokoro", "numpy"]
    found = (f"{package} {importlib.metadata.version(package)}" for package in named)
    return ", ".join((*found, f"Python {sys.version.split()[0]}"))


def environment(threads: int) -> dict[str, str]:
    """The environment of a process that is measured, without settings that would slow a peer down."""
    kept = {name: value for name, value in os.environ.items() if name not in _THREAD_SETTINGS}
    search = os.pathsep.join(filter(None, (_ROOT, os.environ.get("PYTHONPATH"))))
    return kept | {"PYTHONPATH": search, "TVM_NUM_THREADS": str(threads)}


def cold_command(engine: Engine, phonemes: str, wav: Path) -> list[str]:
    """What a user of an engine would start to have a WAV file."""
    if engine.name != BUNDLE:
        module = ("-W", "ignore", "-m", "exporter.bench.worker")
        return [sys.executable, *module, engine.as_json(), phonemes, str(wav)]
    options = ("--voice", engine.voice, "--level", engine.level, "--threads", str(engine.threads))
    said = ("--phonemes", phonemes, "--format", "pcm16", "-o", str(wav))
    return [sys.executable, "-m", "runtime_min", engine.bundle, *options, *said]


class EngineProcess:
    """An engine that is loaded, in a process of its own."""

    def __init__(self, engine: Engine, command: Sequence[str] | None = None) -> None:
        """Starts the process and waits until the engine is loaded.

        Args:
            engine: what to load.
            command: what to start instead of `exporter.bench.worker`.

        Raises:
            EngineError: it could not be loaded.
        """
        worker = (sys.executable, "-W", "ignore", "-m", "exporter.bench.worker", engine.as_json())
        self.engine = engine
        # A file, and not a pipe, takes any amount of text while nobody reads it.
        self._complaints = tempfile.TemporaryFile("w+")  # noqa: SIM115  open as long as the process
        self._process = subprocess.Popen(
            list(command or worker),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._complaints,
            text=True,
            encoding="utf-8",
            env=environment(engine.threads),
        )
        try:
            self._receive()
        except BaseException:
            self.close()
            raise

    def speak(self, phonemes: str) -> tuple[float, int]:
        """Seconds that it took to speak, and the number of samples.

        Raises:
            EngineError: the engine failed.
        """
        reply = self._ask({"speak": phonemes})
        return float(reply["seconds"]), int(reply["samples"])

    def stream(self, phonemes: str) -> tuple[float, float, int]:
        """Seconds until the first piece and until the last, and the number of samples.

        Raises:
            EngineError: the engine failed.
        """
        reply = self._ask({"speak": phonemes})
        return float(reply["first"]), float(reply["seconds"]), int(reply["samples"])

    def memory(self, field: str = "VmHWM") -> int:
        """Bytes of the process, by the field of /proc/PID/status."""
        return int(self._ask({"memory": field})["bytes"])

    def cpu_seconds(self) -> float:
        """CPU time that the process has used so far, in steps of the system's clock tick."""
        fields = (
            Path(f"/proc/{self._process.pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
        )
        user, system = fields[11:13]
        return (int(user) + int(system)) / _TICKS

    def close(self) -> None:
        """Ends the process."""
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                pipe.close()
        self._process.wait()
        self._complaints.close()

    def __enter__(self) -> EngineProcess:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _ask(self, request: Mapping[str, Any]) -> dict[str, Any]:
        assert self._process.stdin is not None
        try:
            print(json.dumps(request), file=self._process.stdin, flush=True)
        except (BrokenPipeError, ValueError) as error:
            raise EngineError(self._ended()) from error
        return self._receive()

    def _receive(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise EngineError(self._ended())
        reply: dict[str, Any] = json.loads(line)
        if "error" in reply:
            failure = EngineError(f"{NAMES[self.engine.name]} failed: {reply['error'].strip()}")
            failure.exit_code = reply["exit_code"] or EngineError.exit_code
            raise failure
        return reply

    def _ended(self) -> str:
        status = self._process.wait()
        self._complaints.seek(0)
        said = self._complaints.read().strip() or "it said nothing"
        return f"The process of {NAMES[self.engine.name]} ended with status {status}: {said}"


def export_onnx(checkpoint: Path, config: Path, output: Path) -> None:
    """Writes kokoro's own ONNX export, in a process of its own.

    Raises:
        EngineError: torch's exporter failed.
    """
    module = ("-W", "ignore", "-m", "exporter.bench.onnx_export")
    command = [sys.executable, *module, str(checkpoint), str(config), str(output)]
    done = subprocess.run(command, capture_output=True, text=True, env=environment(1))
    if done.returncode != 0:
        raise EngineError(f"kokoro could not be exported to ONNX:\n{done.stderr.strip()}")
