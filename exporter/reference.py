"""pt.dynamic: what the bundle is measured against, kokoro's own model in a process of its own.

    with Reference(checkpoint.path, checkpoint.config_path, threads=2) as reference:
        trace = reference.speak(token_ids, voice_row, 1.0, partial(gaussian_noise, seed))

All arrays are float32, or float64 from a reference of that dtype; n tokens, m frames.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from exporter.errors import ReferenceProcessError
from exporter.reference_worker import receive, send

Array = NDArray[Any]
Noise = Callable[[int], NDArray[np.float32]]
"""Returns that many standard normal numbers."""
SPREAD_SEEDS = range(8)
"""Of the changes of F0 that say how far the reference is from itself."""


@dataclass(frozen=True)
class SourceTrace:
    """The harmonic source and its spectrum."""

    sines: Array
    """[1, 600m, 9], before voicing and noise."""
    source: Array
    """[1, 600m], merged and through tanh."""
    magnitude: Array
    """[1, 11, 120m + 1]."""
    phase: Array
    """[1, 11, 120m + 1], radians."""


@dataclass(frozen=True)
class DecoderTrace(SourceTrace):
    """What the decoder computed."""

    asr: Array
    """[1, 512, m], its input."""
    decoder_hidden: Array
    """[1, 512, 2m], before the generator."""
    audio: Array
    """[1, 600m]."""


@dataclass(frozen=True)
class TextTrace:
    """What the stages along tokens computed."""

    hidden: Array
    """[1, 512, n], kokoro's d_en."""
    encoding: Array
    """[1, 640, n], kokoro's d transposed."""
    durations: Array
    """[1, n], frames at speed 1, not rounded."""
    text: Array
    """[1, 512, n], output of the text encoder."""


@dataclass(frozen=True)
class Trace(TextTrace, DecoderTrace):
    """Everything that an utterance computed on its way."""

    frames: NDArray[np.int64]
    """[n], frames of each token after speed, rounding and the least of 1."""
    aligned_encoding: Array
    """[1, 640, m]."""
    f0: Array
    """[1, 2m], Hz."""
    energy: Array
    """[1, 2m], kokoro's N."""


class Reference:
    """A process that runs kokoro, for as many utterances as wanted; not for several threads at once."""

    def __init__(
        self,
        checkpoint: Path,
        config: Path,
        threads: int = 1,
        dtype: Literal["float32", "float64"] = "float32",
    ) -> None:
        """Start the process and load the model into it.

        Args:
            checkpoint: a file that `exporter.checkpoint.load` has accepted.
            config: the configuration that belongs to it.
            threads: how many threads torch may use.
            dtype: float64 shows how far rounding carries float32.

        Raises:
            ReferenceProcessError: kokoro could not load the checkpoint.
        """
        command = [sys.executable, "-W", "ignore", "-m", "exporter.reference_worker"]
        package_root = str(Path(__file__).parent.parent)
        search = os.pathsep.join(filter(None, (package_root, os.environ.get("PYTHONPATH"))))
        self._process = subprocess.Popen(
            [*command, str(checkpoint), str(config), str(threads), dtype],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=os.environ | {"PYTHONPATH": search},
        )
        try:
            self._receive()
        except BaseException:
            self.close()
            raise

    def speak(
        self,
        token_ids: Sequence[int] | NDArray[np.int64],
        voice_row: Array,
        speed: float,
        noise: Noise,
        durations: Sequence[int] | NDArray[np.int64] | None = None,
    ) -> Trace:
        """Run the whole chain.

        Args:
            token_ids: n ids with the 0 at each end.
            voice_row: [256], or [1, 256].
            speed: divides the durations.
            noise: called once with 600m.
            durations: frames of each token, instead of the predicted ones; `speed` then means nothing.
        """
        request: dict[str, Any] = {
            "token_ids": np.asarray(token_ids, np.int64).reshape(-1),
            "voice_row": np.asarray(voice_row).reshape(-1),
            "speed": speed,
        }
        if durations is not None:
            request["durations_forced"] = np.asarray(durations, np.int64)
        return Trace(**self._ask("speak", request, noise))

    def text(self, token_ids: NDArray[np.int64], voice_row: Array) -> TextTrace:
        """Run the stages along tokens on n ids with the 0 at each end and a row of a voice, [256]."""
        request = {"token_ids": token_ids.reshape(-1), "voice_row": np.asarray(voice_row).reshape(-1)}
        return TextTrace(**self._ask("text", request))

    def f0n(self, aligned_encoding: Array, prosody_style: Array) -> tuple[Array, Array]:
        """F0 and energy, each [1, 2m], of an aligned encoding [1, 640, m] and a style [1, 128]."""
        answer = self._ask("f0n", {"aligned_encoding": aligned_encoding, "prosody_style": prosody_style})
        return answer["f0"], answer["energy"]

    def decode(
        self, asr: Array, f0: Array, energy: Array, decoder_style: Array, noise: NDArray[np.float32]
    ) -> DecoderTrace:
        """Run the decoder on [1, 512, m], [1, 2m], [1, 2m], [1, 128] and noise of 600m numbers."""
        request = {
            "asr": asr,
            "f0": f0,
            "energy": energy,
            "decoder_style": decoder_style,
            "noise": noise,
        }
        return DecoderTrace(**self._ask("decode", request))

    def source(self, f0: Array, noise: NDArray[np.float32]) -> SourceTrace:
        """Run the harmonic source on F0 [1, 2m] and noise of 600m numbers, and nothing else."""
        return SourceTrace(**self._ask("source", {"f0": f0, "noise": noise}))

    def generate(self, decoder_hidden: Array, decoder_style: Array, magnitude: Array, phase: Array) -> Array:
        """Audio [1, 600m] of the generator on a given source spectrum [1, 11, 120m + 1]."""
        request = {
            "decoder_hidden": decoder_hidden,
            "decoder_style": decoder_style,
            "magnitude": magnitude,
            "phase": phase,
        }
        return self._ask("generate", request)["audio"]

    def close(self) -> None:
        """End the process."""
        process = self._process
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                pipe.close()
        process.wait()

    def __enter__(self) -> Reference:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _ask(
        self, operation: str, request: Mapping[str, Any], noise: Noise | None = None
    ) -> dict[str, Array]:
        self._send({"operation": operation, **request})
        answer = self._receive()
        if "need" in answer and noise is not None:
            self._send({"noise": noise(int(answer["need"]))})
            answer = self._receive()
        return answer

    def _send(self, message: Mapping[str, Any]) -> None:
        assert self._process.stdin is not None
        try:
            send(self._process.stdin, message)
        except (BrokenPipeError, ValueError) as error:
            raise ReferenceProcessError(self._ended()) from error

    def _receive(self) -> dict[str, Array]:
        assert self._process.stdout is not None
        try:
            answer = receive(self._process.stdout)
        except (EOFError, ValueError) as error:
            raise ReferenceProcessError(self._ended()) from error
        if "error" in answer:
            raise ReferenceProcessError(f"kokoro refused the request:\n{answer['error']}")
        return answer

    def _ended(self) -> str:
        self.close()
        return (
            f"the process that runs kokoro ended (exit status {self._process.returncode}); what it wrote to "
            "the standard error stream says why"
        )


def perturb(values: Array, relative: float, seed: int) -> Array:
    """Change every value by a seeded Gaussian of that relative size, rounding once."""
    change = 1 + relative * np.random.default_rng(seed).standard_normal(values.shape)
    return (values * change).astype(values.dtype)


def relative_rms(values: Array, reference: Array) -> float:
    """RMS of the difference over the RMS of the reference; 0.01 is 40 dB."""
    difference = values.astype(np.float64) - reference
    return float(np.sqrt(np.square(difference).mean() / np.square(reference, dtype=np.float64).mean()))
