"""pt.dynamic: kokoro's own model in a process of its own, which everything is compared with.

with Reference(checkpoint.path, checkpoint.config_path, threads=2) as reference:
trace = reference.speak(ModelInput(token_ids, row))
"""

from __future__ import annotations

import copy
import os
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np

from exporter.compiler.library import ORIGINAL, StoredWeights
from exporter.compiler.long_lived import long_lived
from exporter.processes import Channel, Failure, Process
from exporter.reference.norm_statistics import norm_statistics
from exporter.reference.padded import Tail, static, static_decode
from exporter.reference.recording import Arithmetic, Arrays, RecordingModel
from exporter.reference.rounded_layers import rounded_layers
from exporter.reference.traces import Array, DecoderTrace, ModelInput, ReferenceTrace, SourceTrace, TextTrace

_OPERATIONS = {
    operation.__name__: operation
    for operation in (
        *(RecordingModel.speak, RecordingModel.text, RecordingModel.f0n, RecordingModel.decode),
        *(RecordingModel.source, norm_statistics, rounded_layers, static, static_decode),
    )
}


class Reference:
    """A process that runs kokoro, for as many utterances as wanted; not for several threads at once."""

    def __init__(
        self,
        checkpoint: Path,
        config: Path,
        threads: int = 1,
        arithmetic: Arithmetic = "float32",
        stored: StoredWeights = ORIGINAL,
        channel: Channel | None = None,
    ) -> None:
        """Starts the process; the first request waits until the model is loaded, or raises why it is not.

        Args:
            checkpoint: a file that `exporter.model.checkpoint.load` has accepted.
            config: the configuration that belongs to it.
            threads: number of threads for torch.
            arithmetic: float64 shows how far rounding carries float32.
            stored: how a bundle stores the weights.
            channel: that of another `Reference` with these files, whose process answers for this one too.
        """
        self.thread_count = threads
        """Threads of torch for each request from now on."""
        self._tapped: dict[str, list[Array]] = {}
        self._model = arithmetic, stored
        self._process = channel or Process(_serve, checkpoint, config, self._model)

    def other(self, arithmetic: Arithmetic = "float32", stored: StoredWeights = ORIGINAL) -> Reference:
        """Returns the same checkpoint in another arithmetic, or with weights stored otherwise.

        Both share a process. The first request loads it. Closing either ends both.
        """
        other = copy.copy(self)
        other._tapped, other._model = {}, (arithmetic, stored)
        return other

    @property
    def channel(self) -> Channel:
        """The channel to the process, for another process that asks in place of this one."""
        return self._process.shared()

    @contextmanager
    def tap(self, taps: Sequence[str]) -> Iterator[dict[str, list[Array]]]:
        """Records at modules of the model during every request made inside the context.

        Args:
            taps: ``output:PATH`` or ``input:PATH``, PATH as in ``KModel.named_modules()``. Of several tensors
                the first is taken. A packed sequence cannot be tapped: take the input of the module after it.

        Yields:
            By tap, one array for each time the module ran, in order; filled anew by each request. Those of
            `static` and `static_decode` have their padding.
        """
        before, self._tapped = self._tapped, {tap: [] for tap in taps}
        try:
            yield self._tapped
        finally:
            self._tapped = before

    def speak(self, request: ModelInput) -> ReferenceTrace:
        """Runs the whole chain."""
        return ReferenceTrace(**self._run("speak", request=request))

    def text(self, request: ModelInput) -> TextTrace:
        """Runs the stages along tokens."""
        return TextTrace(**self._run("text", request=request))

    def f0n(self, aligned_encoding: Array, prosody_style: Array) -> tuple[Array, Array]:
        """Returns F0 and energy, [1, 2 * frames], of an encoding [1, 640, frames] and a style [1, 128]."""
        found = self._run("f0n", aligned_encoding=aligned_encoding, prosody_style=prosody_style)
        return found["f0"], found["energy"]

    def decode(self, inputs: Arrays, spectrum: tuple[Array, Array] | None = None) -> DecoderTrace:
        """Runs the decoder.

        Args:
            inputs: ``asr`` [1, 512, frames], ``f0`` and ``energy`` [1, 2 * frames], ``decoder_style``
                [1, 128] and ``noise``, 600 * frames numbers.
            spectrum: magnitude and phase in place of the harmonic source's, each
                [1, 11, 120 * frames + 1].
        """
        return DecoderTrace(**self._run("decode", inputs=inputs, spectrum=spectrum))

    def source(self, f0: Array, noise: Array) -> SourceTrace:
        """Runs the harmonic source alone, on F0 [1, 2 * frames] and 600 * frames numbers of noise."""
        return SourceTrace(**self._run("source", f0=f0, noise=noise))

    def rounded_layers(self, request: ModelInput, stored: StoredWeights) -> dict[str, float]:
        """Rounds the weights of each layer alone.

        Returns:
            By the path of each layer that it changes, the decibels of its output, the worst layer first.
        """
        found = self._run("rounded_layers", request=request, stored=stored)
        return {path: float(value) for path, value in found.items()}

    def norm_statistics(self, requests: Sequence[ModelInput]) -> dict[str, Array]:
        """Takes the statistics of the decoder's instance norms over all frames of some utterances.

        Returns:
            Mean and standard deviation of each channel, [2, channels], by the norm's path in the decoder.
        """
        return self._run("norm_statistics", requests=requests)

    def static(
        self,
        request: ModelInput,
        text_length: int = 512,
        frame_length: int = 5120,
        packing: bool = True,
        prefix_f0n: bool = False,
    ) -> ReferenceTrace:
        """Runs the whole chain as pt.static: tokens and frames padded to fixed lengths, text masked.

        Args:
            request: the utterance; the padding has noise of its own.
            text_length: tokens with the padding.
            frame_length: frames with the padding.
            packing: let kokoro's packed LSTMs run over the n tokens only, as kokoro does.
            prefix_f0n: compute F0 and N from the m frames only, and pad them with zeros.

        Returns:
            The valid prefix of everything.

        Raises:
            ReferenceProcessError: the tokens or frames are more than the fixed lengths hold.
        """
        options = {"packing": packing, "prefix_f0n": prefix_f0n}
        lengths = {"text_length": text_length, "frame_length": frame_length}
        return ReferenceTrace(**self._run("static", request=request, **lengths, **options))

    def static_decode(self, inputs: Arrays, frame_length: int, tail: Tail = "zeros") -> DecoderTrace:
        """Runs the decoder on what `decode` takes, padded to `frame_length` frames; returns the valid prefix.

        Raises:
            ReferenceProcessError: the frames are more than the fixed length holds.
        """
        found = self._run("static_decode", inputs=inputs, frame_length=frame_length, tail=tail)
        return DecoderTrace(**found)

    def close(self) -> None:
        """Ends the process."""
        self._process.close()

    def __enter__(self) -> Reference:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _run(self, operation: str, **arguments: Any) -> Arrays:
        for values in self._tapped.values():
            values.clear()
        self._process.send((self._model, self.thread_count, operation, arguments, tuple(self._tapped)))
        found, tapped = self._process.receive()
        for tap, values in tapped.items():
            self._tapped[tap].extend(values)
        arrays: Arrays = found
        return arrays


def _serve(
    connection: Connection, checkpoint: Path, config: Path, first: tuple[Arithmetic, StoredWeights]
) -> None:
    """Loads a model, and others when they are asked for; answers until the other end is closed."""
    # Threads that wait must sleep: spinning ones take the cores from the bundle's.
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    with long_lived():
        import torch

    @cache
    def load(arithmetic: Arithmetic, stored: StoredWeights) -> RecordingModel:
        return RecordingModel(checkpoint, config, arithmetic, stored)

    load(*first)
    while True:
        wanted, threads, operation, arguments, taps = connection.recv()
        model = load(*wanted)
        try:
            torch.set_num_threads(threads)
            connection.send(model.run(_OPERATIONS[operation], arguments, taps))
        except (ValueError, RuntimeError, KeyError, IndexError, TypeError):
            connection.send(Failure(f"kokoro refused the request:\n{traceback.format_exc()}"))


def perturb(values: Array, relative: float, seed: int) -> Array:
    """Returns `values`, each changed by a seeded Gaussian of that relative size and rounded once."""
    change = 1 + relative * np.random.default_rng(seed).standard_normal(values.shape)
    return (values * change).astype(values.dtype)
