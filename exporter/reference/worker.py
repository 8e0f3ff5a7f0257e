"""kokoro itself, as its users run it, answering requests over pipes; started by `exporter.reference.process`.

The model is `kokoro.KModel`, loaded by kokoro's own loader, with ``disable_complex=False``. Nothing in its
code is changed: forward hooks and wrapped attributes record what flows between its parts, and a wrapped
``torch.randn_like`` supplies the one noise that reaches the audio.

A message is eight bytes of length and a numpy archive, see `send` and `receive`. A request names its
operation; the answer holds arrays, or ``error``, or ``need``: how many numbers of noise to send before it
can go on.
"""

from __future__ import annotations

import io
import os
import struct
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from itertools import count, takewhile
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from exporter.reference.padded import static, static_decode
from runtime_min.format.signatures import HARMONICS

Array = NDArray[Any]
Message = dict[str, Array]
PARENT_ENDED = "the other end of the pipe is closed"


class _Recorded(Exception):
    """Stops kokoro's forward once everything that was asked for is recorded."""


def send(pipe: IO[bytes], message: Mapping[str, Any]) -> None:
    """Write named arrays, numbers or strings."""
    buffer = io.BytesIO()
    np.savez(buffer, **{name: np.asarray(value) for name, value in message.items()})  # type: ignore[arg-type]
    pipe.write(struct.pack("<Q", buffer.tell()))
    pipe.write(buffer.getbuffer())
    pipe.flush()


def receive(pipe: IO[bytes]) -> Message:
    """Read named arrays.

    Raises:
        EOFError: the other end is closed.
    """
    header = pipe.read(8)
    if len(header) < 8:
        raise EOFError(PARENT_ENDED)
    (length,) = struct.unpack("<Q", header)
    content = pipe.read(length)
    if len(content) < length:
        raise EOFError(PARENT_ENDED)
    with np.load(io.BytesIO(content), allow_pickle=False) as archive:
        return dict(archive)


def take_tapped(answer: Message, index: int) -> list[Array]:
    """Remove and return what the tap of that index recorded, in order."""
    names = (_tap_name(index, occurrence) for occurrence in count())
    return [answer.pop(name) for name in takewhile(answer.__contains__, names)]


def _tap_name(index: int, occurrence: int) -> str:
    return f"tap:{index}:{occurrence}"


class Worker:
    """The model with its taps, and the operations on it."""

    def __init__(self, model: Any, dtype: Any, need_noise: Callable[[int], Array]) -> None:
        """Take a KModel in eval mode; `need_noise` fetches that many standard normal numbers."""
        import torch

        self.torch: Any = torch
        self.model, self.dtype = model, dtype
        self.need_noise = need_noise
        self.generator = model.decoder.generator
        self.record: Message = {}
        self.stop_after_spectrum = False
        self.stop_after_text = False
        self.spectrum: tuple[Any, Any] | None = None
        self.forced_durations: Array | None = None
        self._attach()

    def _attach(self) -> None:
        """Attach every hook, once."""
        model, predictor, generator = self.model, self.model.predictor, self.generator
        model.bert_encoder.register_forward_hook(
            lambda _, args, out: self._keep("hidden", out.transpose(1, 2))
        )
        predictor.text_encoder.register_forward_hook(
            lambda _, args, out: self._keep("encoding", out.transpose(1, 2))
        )
        predictor.duration_proj.register_forward_hook(lambda _, args, out: self._durations(out))
        model.text_encoder.register_forward_hook(lambda _, args, out: self._text(out))
        predictor.F0Ntrain = self._wrap(predictor.F0Ntrain, ("aligned_encoding",), ("f0", "energy"))
        model.decoder.register_forward_pre_hook(lambda _, args: self._keep("asr", args[0]))
        generator.register_forward_pre_hook(lambda _, args: self._keep("decoder_hidden", args[0]))
        sine_generator = generator.m_source.l_sin_gen
        sine_generator._f02sine = self._wrap(sine_generator._f02sine, (), ("sines",))
        generator.m_source.register_forward_hook(
            lambda _, args, out: self._keep("source", out[0].transpose(1, 2)[:, 0])
        )
        transform = self._wrap(generator.stft.transform, (), ("magnitude", "phase"))
        generator.stft.transform = lambda signal: self._transform(transform, signal)

    def _keep(self, name: str, tensor: Any) -> None:
        self.record[name] = tensor.detach().numpy().copy()

    def _wrap(
        self, function: Callable[..., Any], inputs: tuple[str, ...], outputs: tuple[str, ...]
    ) -> Callable[..., Any]:
        """The same function, which also records its first inputs and its outputs."""

        def recording(*args: Any) -> Any:
            result = function(*args)
            results = result if isinstance(result, tuple) else (result,)
            for name, tensor in (*zip(inputs, args, strict=False), *zip(outputs, results, strict=True)):
                self._keep(name, tensor)
            return result

        return recording

    def _transform(self, transform: Callable[[Any], Any], signal: Any) -> Any:
        if self.spectrum is not None:
            for name, tensor in zip(("magnitude", "phase"), self.spectrum, strict=True):
                self._keep(name, tensor)
            return self.spectrum
        result = transform(signal)
        if self.stop_after_spectrum:
            raise _Recorded
        return result

    def _text(self, features: Any) -> None:
        """Record the last of the stages along tokens: kokoro runs the text encoder after F0 and N."""
        self._keep("text", features)
        if self.stop_after_text:
            raise _Recorded

    def _durations(self, logits: Any) -> Any:
        """Record the durations as kokoro sums them; force them by sigmoids that are exactly 1 and 0."""
        self._keep("durations", self.torch.sigmoid(logits).sum(axis=-1))
        if self.forced_durations is None:
            return None
        wanted = self.torch.from_numpy(self.forced_durations)[None, :, None]
        ones = self.torch.arange(int(self.forced_durations.max()))[None, None] < wanted
        return self.torch.where(ones, 1e3, -1e3).to(logits.dtype)

    def speak(self, request: Message) -> Message:
        """Run the whole chain on ``token_ids`` [n], ``voice_row`` [256] and ``speed``."""
        self.forced_durations = request.get("durations_forced")
        speed = 1.0 if self.forced_durations is not None else float(request["speed"])
        with self.noise(None):
            audio, frames = self.model.forward_with_tokens(
                self.torch.from_numpy(request["token_ids"])[None],
                self.tensor(request["voice_row"])[None],
                speed,
            )
        return self.record | {"audio": audio.numpy()[None], "frames": np.atleast_1d(frames.numpy())}

    def text(self, request: Message) -> Message:
        """Run the stages along tokens on ``token_ids`` [n] and ``voice_row`` [256]."""
        self.stop_after_text = True
        with suppress(_Recorded):
            self.speak(request | {"speed": np.ones(())})
        return {name: self.record[name] for name in ("hidden", "encoding", "durations", "text")}

    def f0n(self, request: Message) -> Message:
        """F0 and energy from ``aligned_encoding`` [1,640,m] and ``prosody_style`` [1,128]."""
        self.model.predictor.F0Ntrain(
            self.tensor(request["aligned_encoding"]), self.tensor(request["prosody_style"])
        )
        return {name: self.record[name] for name in ("f0", "energy")}

    def decode(self, request: Message) -> Message:
        """Run the decoder on the names of its inputs, ``noise``, and perhaps ``magnitude`` and ``phase``."""
        if "magnitude" in request:
            self.spectrum = (self.tensor(request["magnitude"]), self.tensor(request["phase"]))
        inputs = [self.tensor(request[name]) for name in ("asr", "f0", "energy", "decoder_style")]
        with self.noise(request["noise"]):
            audio = self.model.decoder(*inputs)
        return self.record | {"audio": audio.numpy()[0]}

    def source(self, request: Message) -> Message:
        """Run the harmonic source and its spectrum on ``f0`` [1,2m] and ``noise``."""
        f0 = self.tensor(request["f0"])
        # The generator looks at its input and the style only after the source.
        unused = self.torch.zeros(1, 1, 1)
        self.stop_after_spectrum = True
        with self.noise(request["noise"]), suppress(_Recorded):
            self.generator(unused, unused, f0)
        return {name: self.record[name] for name in ("sines", "source", "magnitude", "phase")}

    def generate(self, request: Message) -> Message:
        """Run the generator on ``decoder_hidden``, ``decoder_style``, ``magnitude`` and ``phase``."""
        hidden = self.tensor(request["decoder_hidden"])
        self.spectrum = (self.tensor(request["magnitude"]), self.tensor(request["phase"]))
        f0 = self.torch.zeros(1, hidden.shape[2])  # its source is computed and then not used
        audio = self.generator(hidden, self.tensor(request["decoder_style"]), f0)
        return {"audio": audio.numpy()[0]}

    def threads(self, request: Message) -> Message:
        """Let torch use ``count`` threads."""
        self.torch.set_num_threads(int(request["count"]))
        return {}

    def answer(self, request: Message) -> Message:
        """Run one operation from a clean state, recording at the modules named in ``taps``, if any."""
        operations: dict[str, Callable[[Message], Message]] = {
            "threads": self.threads,
            "speak": self.speak,
            "text": self.text,
            "f0n": self.f0n,
            "decode": self.decode,
            "static": partial(static, self),
            "static_decode": partial(static_decode, self),
            "source": self.source,
            "generate": self.generate,
        }
        self.record, self.spectrum, self.forced_durations = {}, None, None
        self.stop_after_spectrum = self.stop_after_text = False
        tapped: Message = {}
        with self.torch.no_grad(), ExitStack() as hooks:
            for index, tap in enumerate(map(str, request.get("taps", ()))):
                hooks.enter_context(self._tap(tap, index, tapped))
            return operations[str(request["operation"])](request) | tapped

    def _tap(self, tap: str, index: int, tapped: Message) -> Any:
        """Attach a hook that records each occurrence; returns its handle."""
        side, _, path = tap.partition(":")
        modules = dict(self.model.named_modules(remove_duplicate=False))
        if path not in modules or side not in ("input", "output"):
            raise ValueError(f"expected output:PATH or input:PATH of a module of KModel, found {tap!r}")
        occurrences = count()

        def keep(values: Any) -> None:
            parts = tuple(values.values()) if isinstance(values, dict) else values
            parts = parts if isinstance(parts, tuple) else (parts,)
            tensor = next((part for part in parts if isinstance(part, self.torch.Tensor)), None)
            if tensor is None:
                found = ", ".join(type(part).__name__ for part in parts)
                raise TypeError(f"expected a tensor at {tap}, found {found}")
            tapped[_tap_name(index, next(occurrences))] = tensor.detach().numpy().copy()

        if side == "input":
            return modules[path].register_forward_pre_hook(
                lambda _, args, named: keep((*args, *named.values())), with_kwargs=True
            )
        # Before the hook that forces durations.
        return modules[path].register_forward_hook(lambda _, args, out: keep(out), prepend=True)

    def tensor(self, array: Array) -> Any:
        """The array in the model's precision."""
        return self.torch.from_numpy(array).to(self.dtype)

    @contextmanager
    def noise(self, noise: Array | None) -> Iterator[None]:
        """Give SineGen's call of randn_like the channels w_k / |w| times z, and leave every other call alone.

        w merges the nine channels, so their sum is |w| z: one Gaussian instead of nine, of the same
        distribution.
        """
        torch: Any = self.torch
        original = torch.randn_like
        weight = self.generator.m_source.l_linear.weight.detach().double()[0]
        share = weight / weight.norm()

        def randn_like(like: Any, *args: Any, **kwargs: Any) -> Any:
            if like.dim() != 3 or like.shape[2] != HARMONICS:
                return original(like, *args, **kwargs)
            z = self.need_noise(like.shape[1]) if noise is None else noise
            if z.shape[-1] != like.shape[1]:
                raise ValueError(f"expected {like.shape[1]} numbers of noise, found {z.shape[-1]}")
            return torch.from_numpy(z).reshape(1, -1, 1).to(like.dtype) * share.to(like.dtype)

        torch.randn_like = randn_like
        try:
            yield
        finally:
            torch.randn_like = original


def main(checkpoint: str, config: str, threads: str, dtype: str) -> None:
    """Load the model and answer requests until the other end closes the pipe."""
    requests, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # whatever a library prints must not get among the answers
    try:
        worker = _load(checkpoint, config, int(threads), dtype, requests, answers)
        send(answers, {})
        while True:
            try:
                answer = worker.answer(receive(requests))
            except (ValueError, RuntimeError, KeyError, IndexError, TypeError):
                answer = {"error": np.asarray(traceback.format_exc())}
            send(answers, answer)
    except (EOFError, BrokenPipeError):
        return


def _load(
    checkpoint: str, config: str, threads: int, dtype: str, requests: IO[bytes], answers: IO[bytes]
) -> Worker:
    import torch
    from kokoro.model import KModel

    torch.set_num_threads(threads)
    model = KModel(
        repo_id="hexgrad/Kokoro-82M", config=config, model=checkpoint, disable_complex=False
    ).eval()
    precision = {"float32": torch.float32, "float64": torch.float64}[dtype]
    if dtype == "float64":
        torch.set_default_dtype(precision)  # kokoro makes tensors of the default type on its way
        model.double()
        model.decoder.generator.stft.window = model.decoder.generator.stft.window.double()

    def need_noise(count: int) -> Array:
        send(answers, {"need": count})
        return receive(requests)["noise"]

    return Worker(model, precision, need_noise)


if __name__ == "__main__":
    main(*sys.argv[1:])
