"""Windows on this machine: Wine, from Debian's packages, and the libraries of the Windows wheels.

No package registry has a Python for Windows, so a small C program calls the stages there. Nothing is
installed on this machine: Wine runs from where its packages are unpacked.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import tvm_ffi
from numpy.typing import NDArray

from exporter.compiler.link import find_linker
from exporter.compiler.targets import find_target
from exporter.export.runtime_wheel import runtime_libraries
from exporter.parity.figures import voice_pack
from runtime_min.format.manifest import Manifest, Stage
from runtime_min.model.chain import Choices, Trace, run_chain
from runtime_min.model.tokens import tokenise
from runtime_min.model.voices import style_row
from tests.support.emulation.library_files import unpacked_ffi
from tests.support.emulation.machine import debian_packages, unpack

TARGET = find_target("windows-x86_64")
# zlib1.dll is one of Windows's own in Wine's eyes, and Debian has it in a package of its own.
_PACKAGES = ("wine64", "libwine", "libz-mingw-w64", "libunwind8")
_CODES = {"int64": (0, 64), "int8": (0, 8), "float32": (2, 32), "float16": (2, 16)}
_TYPES = {numbers: np.dtype(name) for name, numbers in _CODES.items()}


@dataclass(frozen=True)
class WindowsMachine:
    """Runs compiled stages under Wine."""

    place: Path
    """Holds Wine, its Windows, and the programs."""

    def run(self, library: Path, function: str, arguments: Sequence[NDArray[Any]]) -> list[NDArray[Any]]:
        """Calls `function` of a compiled library in a process of its own and returns its results."""
        given, results = self.place / "arguments", self.place / "results"
        with given.open("wb") as file:
            for array in arguments:
                file.write(_head(array))
                file.write(np.ascontiguousarray(array).data)
        wine = self.place / "usr" / "lib" / "wine" / "wine64"
        files = (self._name(library), function, self._name(given), self._name(results))
        command = [str(wine), "run_stage.exe", "tvm_ffi.dll", "tvm_runtime.dll", *files]
        done = subprocess.run(
            command, cwd=self.place / "program", env=self._environment, capture_output=True, text=True
        )
        assert done.returncode == 0, f"{done.stdout}{done.stderr}"
        return list(_read(results.read_bytes()))

    @property
    def _environment(self) -> dict[str, str]:
        return {
            "PATH": os.environ["PATH"],
            "LD_LIBRARY_PATH": str(self.place / "usr" / "lib" / "x86_64-linux-gnu"),
            "WINEPREFIX": str(self.place / "prefix"),
            "WINEPATH": self._name(self.place / "usr" / "x86_64-w64-mingw32" / "lib"),
            "WINEDEBUG": "-all",
            # Microsoft's own C++ library, which comes with the wheel; no browser and no .NET.
            "WINEDLLOVERRIDES": "msvcp140=n;mscoree,mshtml=",
            "TVM_NUM_THREADS": "1",
        }

    def _name(self, path: Path) -> str:
        return "Z:" + str(path).replace("/", "\\")


def make_windows(place: Path) -> WindowsMachine:
    """Fetches Wine and the wheels into `place`: about 110 MB, which become 1.5 GB on the disk."""
    for package in debian_packages(place / "wine", "amd64", "download", _PACKAGES):
        unpack(package, place)
    # Debian's is a script that looks for the program in /usr/lib.
    server = place / "usr" / "lib" / "wine" / "wineserver"
    server.unlink()
    server.symlink_to("wineserver64")
    program = place / "program"
    program.mkdir()
    ffi = unpacked_ffi(TARGET.wheel_platform, place / "ffi")
    installed = (ffi / "tvm_ffi" / "lib" / "tvm_ffi.dll", *(ffi / "apache_tvm_ffi.libs").glob("*.dll"))
    for library in (*installed, *runtime_libraries(TARGET).values()):
        shutil.copyfile(library, program / library.name)
    source = Path(__file__).with_name("run_stage.c")
    include = Path(tvm_ffi.__file__).parent / "include"
    command = [*find_linker(TARGET), "-O1", f"-I{include}", str(source), "-o", str(program / "run_stage.exe")]
    subprocess.run(command, check=True)
    return WindowsMachine(place)


def _head(array: NDArray[Any]) -> bytes:
    return np.array([*_CODES[array.dtype.name], array.ndim, *array.shape], "<i8").tobytes()


def _read(data: bytes) -> Iterator[NDArray[Any]]:
    position = 0
    while position < len(data):
        code, bits, dimensions = np.frombuffer(data, "<i8", 3, position).tolist()
        shape = np.frombuffer(data, "<i8", dimensions, position + 24)
        values = np.frombuffer(data, _TYPES[code, bits], int(np.prod(shape)), position + 24 + 8 * dimensions)
        yield values.reshape(shape)
        position += 24 + 8 * dimensions + values.nbytes


@dataclass(frozen=True)
class WindowsBundle:
    """A bundle whose stages run on Windows, with the part of `Bundle` that `figures.compare` needs."""

    directory: Path
    manifest: Manifest
    machine: WindowsMachine
    arithmetic: str = "float32"

    def trace(
        self,
        phonemes: str,
        voice: str,
        speed: float = 1.0,
        seed: int = 0,
        *,
        durations: NDArray[np.int64] | None = None,
    ) -> Trace:
        """Speaks one utterance, as `runtime_min.Bundle.trace` does."""
        tables = {voice: voice_pack(self.directory, self.manifest, voice)}
        token_ids = tokenise(phonemes, self.manifest.vocabulary)
        style = style_row(tables, voice, len(phonemes))
        stages: Any = {stage.name: WindowsStage(self, stage) for stage in self.manifest.stages}
        return run_chain(stages, token_ids, style, speed, seed, Choices(durations))

    def stage(self, name: str) -> WindowsStage:
        """Returns a stage of the bundle on Windows."""
        return WindowsStage(self, next(stage for stage in self.manifest.stages if stage.name == name))


@dataclass(frozen=True)
class WindowsStage:
    """A stage on Windows, with the best level's libraries and the part of `StageRunner` that is needed."""

    bundle: WindowsBundle
    stage: Stage

    @property
    def buckets(self) -> tuple[int, ...]:
        """Largest length of each library, ascending."""
        return tuple(self.stage.buckets(self.bundle.manifest.target.levels[0].name))

    def run(
        self,
        inputs: Mapping[str, NDArray[Any]],
        bucket: int | None = None,
        *,
        parameters: Mapping[str, NDArray[np.float32]] | None = None,
    ) -> dict[str, NDArray[Any]]:
        """Runs the stage there, in its largest bucket unless another is named."""
        libraries = self.stage.buckets(self.bundle.manifest.target.levels[0].name)
        library = libraries[bucket or self.buckets[-1]]
        arguments = [inputs[tensor.name] for tensor in self.stage.inputs]
        file = self.bundle.directory / library.file
        stored = self._parameters() | dict(parameters or {})
        results = self.bundle.machine.run(file, library.function, [*arguments, *stored.values()])
        return {tensor.name: array for tensor, array in zip(self.stage.outputs, results, strict=True)}

    def _parameters(self) -> dict[str, NDArray[Any]]:
        listed = self.bundle.manifest.parameters
        data = np.memmap(self.bundle.directory / listed.file, np.uint8, "r")
        tensors = {tensor.name: tensor for tensor in listed.tensors}
        chosen = {name: tensors[name] for name in self.stage.parameters}
        return {
            name: np.ndarray(each.shape, each.dtype, buffer=data, offset=each.offset)
            for name, each in chosen.items()
        }
