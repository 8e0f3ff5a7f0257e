"""pt.dynamic: what the bundle is measured against, kokoro's own model in a process of its own.

    with Reference(checkpoint.path, checkpoint.config_path, threads=2) as reference:
        trace = reference.speak(token_ids, voice_row, 1.0, partial(gaussian_noise, seed))

All arrays are float32, or float64 from a reference of that dtype; n tokens, m frames.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from exporter.errors import ReferenceProcessError
from exporter.reference.padded import Tail
from exporter.reference.worker import receive, send, take_tapped

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
            checkpoint: a file that `exporter.model.checkpoint.load` has accepted.
            config: the configuration that belongs to it.
            threads: how many threads torch may use.
            dtype: float64 shows how far rounding carries float32.

        Raises:
            ReferenceProcessError: kokoro could not load the checkpoint.
        """
        command = [sys.executable, "-W", "ignore", "-m", "exporter.reference.worker"]
        package_root = str(Path(__file__).parents[2])
        search = os.pathsep.join(filter(None, (package_root, os.environ.get("PYTHONPATH"))))
        self._process = subprocess.Popen(
            [*command, str(checkpoint), str(config), str(threads), dtype],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=os.environ | {"PYTHONPATH": search},
        )
        self.thread_count = threads
        self._taps: tuple[str, ...] = ()
        self._tapped: dict[str, list[Array]] = {}
        try:
            self._receive()
        except BaseException:
            self.close()
            raise

    def threads(self, count: int) -> None:
        """Let torch use that many threads from now on."""
        self._exchange({"operation": "threads", "count": count})
        self.thread_count = count

    @contextmanager
    def tap(self, taps: Sequence[str]) -> Iterator[dict[str, list[Array]]]:
        """Record at modules of the model during every request made inside the context.

        Args:
            taps: ``output:PATH`` or ``input:PATH``, PATH as in ``KModel.named_modules()``. Of several tensors
                the first is taken. A packed sequence cannot be tapped: take the input of the module after it.

        Yields:
            By tap, one array for each time the module ran, in order; filled anew by each request. Those of
            `static` and `static_decode` have their padding.
        """
        before = self._taps, self._tapped
        self._taps, self._tapped = tuple(dict.fromkeys(taps)), {}
        try:
            yield self._tapped
        finally:
            self._taps, self._tapped = before

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
        request = _utterance(token_ids, voice_row, speed, durations)
        return Trace(**self._ask("speak", request, noise))

    def static(
        self,
        token_ids: Sequence[int] | NDArray[np.int64],
        voice_row: Array,
        speed: float,
        noise: Noise,
        text_length: int = 512,
        frame_length: int = 5120,
        packing: bool = True,
        prefix_f0n: bool = False,
        durations: Sequence[int] | NDArray[np.int64] | None = None,
    ) -> Trace:
        """Run the whole chain as pt.static: tokens and frames padded to fixed lengths, text masked.

        Args:
            token_ids: n ids with the 0 at each end.
            voice_row: [256], or [1, 256].
            speed: divides the durations.
            noise: called once with 600m; the padding has noise of its own.
            text_length: tokens with the padding.
            frame_length: frames with the padding.
            packing: let kokoro's packed LSTMs run over the n tokens only, as kokoro does.
            prefix_f0n: compute F0 and N from the m frames only, and pad them with zeros.
            durations: frames of each token, instead of the predicted ones.

        Returns:
            The valid prefix of everything.

        Raises:
            ReferenceProcessError: the tokens or frames are more than the fixed lengths hold.
        """
        request = _utterance(token_ids, voice_row, speed, durations) | {
            "text_length": text_length,
            "frame_length": frame_length,
            "packing": packing,
            "prefix_f0n": prefix_f0n,
        }
        return Trace(**self._ask("static", request, noise))

    def text(self, token_ids: NDArray[np.int64], voice_row: Array) -> TextTrace:
        """Run the stages along tokens on n ids with the 0 at each end and a row of a voice, [256]."""
        request = {"token_ids": token_ids.reshape(-1), "voice_row": np.asarray(voice_row).reshape(-1)}
        return TextTrace(**self._ask("text", request))

    def f0n(self, aligned_encoding: Array, prosody_style: Array) -> tuple[Array, Array]:
        """F0 and energy, each [1, 2m], of an aligned encoding [1, 640, m] and a style [1, 128]."""
        answer = self._ask("f0n", {"aligned_encoding": aligned_encoding, "prosody_style": prosody_style})
        return answer["f0"], answer["energy"]

    def decode(
        self,
        asr: Array,
        f0: Array,
        energy: Array,
        decoder_style: Array,
        noise: NDArray[np.float32],
        magnitude: Array | None = None,
        phase: Array | None = None,
    ) -> DecoderTrace:
        """Run the decoder on [1, 512, m], [1, 2m], [1, 2m], [1, 128] and noise of 600m numbers.

        `magnitude` and `phase`, [1, 11, 120m + 1] each, replace the harmonic source's.
        """
        request = {
            "asr": asr,
            "f0": f0,
            "energy": energy,
            "decoder_style": decoder_style,
            "noise": noise,
        }
        if magnitude is not None and phase is not None:
            request |= {"magnitude": magnitude, "phase": phase}
        return DecoderTrace(**self._ask("decode", request))

    def static_decode(
        self,
        asr: Array,
        f0: Array,
        energy: Array,
        decoder_style: Array,
        noise: NDArray[np.float32],
        frame_length: int,
        tail: Tail = "zeros",
    ) -> DecoderTrace:
        """Run the decoder on what `decode` takes, padded to `frame_length` frames; returns the valid prefix.

        Raises:
            ReferenceProcessError: the frames are more than the fixed length holds.
        """
        request = {
            "asr": asr,
            "f0": f0,
            "energy": energy,
            "decoder_style": decoder_style,
            "noise": noise,
            "frame_length": frame_length,
            "tail": tail,
        }
        return DecoderTrace(**self._ask("static_decode", request))

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
        self._tapped.clear()
        message: dict[str, Any] = {"operation": operation, **request}
        if self._taps:
            message["taps"] = np.array(self._taps)
        answer = self._exchange(message)
        if "need" in answer and noise is not None:
            answer = self._exchange({"noise": noise(int(answer["need"]))})
        for index, tap in enumerate(self._taps):
            self._tapped[tap] = take_tapped(answer, index)
        return answer

    def _exchange(self, message: Mapping[str, Any]) -> dict[str, Array]:
        self._send(message)
        return self._receive()

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


def _utterance(
    token_ids: Sequence[int] | NDArray[np.int64],
    voice_row: Array,
    speed: float,
    durations: Sequence[int] | NDArray[np.int64] | None,
) -> dict[str, Any]:
    request: dict[str, Any] = {
        "token_ids": np.asarray(token_ids, np.int64).reshape(-1),
        "voice_row": np.asarray(voice_row).reshape(-1),
        "speed": speed,
    }
    if durations is not None:
        request["durations_forced"] = np.asarray(durations, np.int64)
    return request


def perturb(values: Array, relative: float, seed: int) -> Array:
    """Change every value by a seeded Gaussian of that relative size, rounding once."""
    change = 1 + relative * np.random.default_rng(seed).standard_normal(values.shape)
    return (values * change).astype(values.dtype)
