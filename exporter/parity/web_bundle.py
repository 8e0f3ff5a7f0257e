"""A bundle for the web whose stages run in Node, in place of a `Bundle` that this machine can load."""

from __future__ import annotations

import json
import struct
import subprocess
from collections.abc import Callable, Mapping, Sequence
from importlib.resources import files as package_files
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from exporter.native.node import require_node
from exporter.parity.figures import Comparison
from exporter.reference.utterances import Utterance
from runtime_min import Bundle
from runtime_min.engine.machine import choose_level
from runtime_min.engine.stage_runner import StageRunner
from runtime_min.errors import ExecutionError
from runtime_min.format.bundle_files import BundleFiles
from runtime_min.format.manifest import CpuLevel, Library, Manifest, Stage
from runtime_min.format.verify import manifest_of, read_manifest
from runtime_min.model.distances import Figure
from runtime_min.model.statistics import VoiceStatistics
from runtime_min.model.voices import VoiceTables

SYSTEM = "web"
_LENGTH = struct.Struct("<I")


class _NodeProcess:
    """Node with a loaded bundle, which computes one stage at a time."""

    def __init__(self, directory: Path) -> None:
        """Starts Node, which compares the bundle's files.

        Raises:
            NodeMissingError: Node is not installed, or too old.
            ExecutionError: it cannot load the bundle.
        """
        program = require_node()
        script = package_files("exporter.parity") / "data" / "stages.mjs"
        self._process = subprocess.Popen(
            [program, str(script), str(directory)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        self._answer("the module")

    def call(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Calls a function, as a bundle's worker does on its thread."""
        return function(*arguments)

    def ask(self, what: str, message: Mapping[str, Any], arrays: Sequence[NDArray[Any]] = ()) -> list[bytes]:
        """Sends a request with arrays, and returns the arrays of the answer.

        Raises:
            ExecutionError: the module failed, or Node ended.
        """
        held = [np.ascontiguousarray(array) for array in arrays]
        text = json.dumps({**message, "sizes": [array.nbytes for array in held]}).encode()
        assert self._process.stdin is not None
        try:
            for part in (_LENGTH.pack(len(text)), text, *(array.tobytes() for array in held)):
                self._process.stdin.write(part)
            self._process.stdin.flush()
        except BrokenPipeError:
            raise ExecutionError(what, "Node has ended") from None
        return self._answer(what)

    def close(self) -> None:
        """Ends Node."""
        self._process.kill()
        self._process.communicate()

    def _answer(self, what: str) -> list[bytes]:
        message = json.loads(self._read(what, _LENGTH.unpack(self._read(what, _LENGTH.size))[0]))
        if "error" in message:
            raise ExecutionError(what, f"{message['error']}: {message['message']}")
        return [self._read(what, size) for size in message["sizes"]]

    def _read(self, what: str, size: int) -> bytes:
        assert self._process.stdout is not None
        found = self._process.stdout.read(size)
        if len(found) < size:
            raise ExecutionError(what, f"Node ended with status {self._process.wait()}")
        return found


class _NodeStage(StageRunner):
    """A stage that Node runs."""

    def __init__(
        self,
        stage: Stage,
        libraries: Mapping[int, Library],
        shapes: Mapping[str, tuple[int, ...]],
        node: _NodeProcess,
    ) -> None:
        """Takes the libraries by ascending bucket, and the shapes of the parameters by name."""
        self.stage = stage
        self.buckets = tuple(libraries)
        self._node = node
        self._table_rows = shapes[stage.parameters[0]][0] if stage.parameters else 0

    def run(
        self, inputs: Mapping[str, NDArray[Any]], bucket: int | None = None, **_: Any
    ) -> dict[str, NDArray[Any]]:
        """Computes the stage; arguments and errors are those of `StageRunner.run`."""
        length = self._check(inputs)
        self.choose_bucket(length, bucket)
        name, outputs = self.stage.name, self.stage.outputs
        message = {"stage": name, "length": length, "outputs": len(outputs)}
        found = self._node.ask(name, message, [inputs[tensor.name] for tensor in self.stage.inputs])
        return {
            tensor.name: np.frombuffer(data, np.float32).reshape(tensor.concrete(length)).copy()
            for tensor, data in zip(outputs, found, strict=True)
        }

    def _check_tokens(self, token_ids: NDArray[Any]) -> None:
        # They come from the bundle's own vocabulary.
        assert token_ids.size == 0 or 0 <= token_ids.min() <= token_ids.max() < self._table_rows


class WebBundle(Bundle):
    """A bundle for the web with the methods of `Bundle`; make one with `open`."""

    def __init__(self, files: BundleFiles, manifest: Manifest, level: CpuLevel, threads: int = 1) -> None:
        """Takes a bundle's files, which Node compares, and starts Node."""
        self.directory = files.directory
        self.manifest = manifest
        self.level = level
        self.voice_tables = VoiceTables(files, manifest)
        self.statistics = VoiceStatistics(files, manifest)
        self._files = files
        self._text = None
        node = _NodeProcess(files.directory)
        self._worker: Any = node
        shapes = {tensor.name: tensor.shape for tensor in manifest.parameters.tensors}
        self._stages = {
            stage.name: _NodeStage(stage, stage.buckets(level.name), shapes, node)
            for stage in manifest.stages
        }

    @classmethod
    def open(cls, path: Path, level: str | None = None) -> WebBundle:
        """Returns the bundle in a directory.

        Raises:
            NodeMissingError: Node is not installed.
            ExecutionError: Node cannot load the bundle.
        """
        files = BundleFiles(path)
        manifest = manifest_of(files)
        return cls(files, manifest, choose_level(manifest.target.levels, frozenset(), level))

    def samples(self, utterance: Utterance) -> NDArray[np.float32]:
        """Returns the samples of the module's own chain, from phonemes on."""
        request = {
            "phonemes": utterance.phonemes, "voice": utterance.voice, "speed": utterance.speed,
            "seed": str(utterance.seed), "stretch": False, "trim": False,
        }  # fmt: skip
        (data,) = self._worker.ask("the whole chain", {"speak": request})
        return np.frombuffer(data, np.float32)

    def compare_chains(self, utterance: Utterance) -> Comparison:
        """Compares the samples of the module's chain with those of Python's chain over the same stages."""
        said = (utterance.phonemes, utterance.voice, utterance.speed, utterance.seed)
        expected, found = self.trace(*said).audio[0], self.samples(utterance)
        equal = expected.shape == found.shape
        differing = float((expected != found).sum()) if equal else float(max(len(expected), len(found)))
        figure = Figure("the module's own chain: samples that differ", differing, 0)
        return Comparison(utterance, len(found) // 600, (figure,), level=self.level.name)


def is_for_web(path: Path) -> bool:
    """Returns whether a bundle is one that Node runs."""
    return read_manifest(path).target.system == SYSTEM
