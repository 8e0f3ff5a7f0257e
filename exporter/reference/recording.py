"""Kokoro's own model with recorders: forward hooks and wrapped functions copy what flows between its parts.

Nothing in its code is changed. A wrapped ``torch.randn_like`` supplies the one noise that reaches the audio.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import fields
from functools import partial
from pathlib import Path
from typing import Any, Literal

import numpy as np

from exporter.compiler.library import StoredWeights
from exporter.model.file_format import file_format
from exporter.model.hub import REPOSITORY
from exporter.reference.traces import Array, ModelInput, SourceTrace, TextTrace
from runtime_min.format.signatures import HARMONICS
from runtime_min.model.noise import gaussian_noise

Arrays = dict[str, Array]
Arithmetic = Literal["float32", "float64"]


class _Recorded(Exception):
    """Stops kokoro's forward pass once everything that is wanted is recorded."""


def load_model(checkpoint: Path, config: Path, stored: StoredWeights) -> Any:
    """Returns kokoro's model, with weights as they are stored: from its own loader if they are torch's."""
    from exporter.compiler.kokoro_model import kokoro_class
    from exporter.model import checkpoint as checkpoints

    if file_format(checkpoint) == "torch":
        names = {"config": str(config), "model": str(checkpoint)}
        model = kokoro_class()(repo_id=REPOSITORY, **names, disable_complex=False)
    else:
        model, _ = checkpoints.load_model(checkpoint, config)
    if not stored.original:
        # It needs torch, which a process that only asks for answers does not import.
        from exporter.compiler.precision import round_as_stored

        round_as_stored(model, stored)
    return model.eval()


class RecordingModel:
    """A `kokoro.KModel` that records the tensors of a `ReferenceTrace` while it runs."""

    def __init__(self, checkpoint: Path, config: Path, arithmetic: Arithmetic, stored: StoredWeights) -> None:
        """Loads the model, with weights as they are stored."""
        import torch

        self.torch: Any = torch
        self.dtype = getattr(torch, arithmetic)
        torch.set_default_dtype(torch.float32)  # another model of this process may have changed it
        self.files = checkpoint, config
        self.model: Any = load_model(checkpoint, config, stored)
        self.generator = self.model.decoder.generator
        if arithmetic == "float64":
            self.model.double()
            self.generator.stft.window = self.generator.stft.window.double()
        self._reset()
        self._attach()

    def _reset(self) -> None:
        self.record: Arrays = {}
        self._stop_after: str | None = None
        self._spectrum: tuple[Any, Any] | None = None
        self._durations: Array | None = None

    def run(
        self, operation: Callable[..., Arrays], arguments: dict[str, Any], taps: Sequence[str]
    ) -> tuple[Arrays, dict[str, list[Array]]]:
        """Runs an operation on this model, from a clean state; returns its arrays and those of the taps."""
        self._reset()
        self.torch.set_default_dtype(self.dtype)  # kokoro makes tensors of the default type on its way
        tapped: dict[str, list[Array]] = {tap: [] for tap in taps}
        with self.torch.no_grad(), ExitStack() as hooks:
            for tap, values in tapped.items():
                hooks.enter_context(self._tap(tap, values))
            return operation(self, **arguments), tapped

    def _attach(self) -> None:
        """Attaches every recorder, once."""
        model, predictor, generator = self.model, self.model.predictor, self.generator
        self._record_output(model.bert_encoder, "hidden", lambda out: out.transpose(1, 2))
        self._record_output(predictor.text_encoder, "encoding", lambda out: out.transpose(1, 2))
        predictor.duration_proj.register_forward_hook(lambda _, args, out: self._force_durations(out))
        self._record_output(model.text_encoder, "text", lambda out: out)
        predictor.F0Ntrain = self._recording(predictor.F0Ntrain, ("aligned_encoding",), ("f0", "energy"))
        model.decoder.register_forward_pre_hook(lambda _, args: self._keep("asr", args[0]))
        generator.register_forward_pre_hook(lambda _, args: self._keep("decoder_hidden", args[0]))
        sines = generator.m_source.l_sin_gen
        sines._f02sine = self._recording(sines._f02sine, (), ("sines",))
        self._record_output(generator.m_source, "source", lambda out: out[0].transpose(1, 2)[:, 0])
        stft, transform = generator.stft, generator.stft.transform
        stft.transform = self._recording(
            lambda signal: self._spectrum or transform(signal), (), ("magnitude", "phase")
        )

    def _record_output(self, module: Any, name: str, part: Callable[[Any], Any]) -> None:
        module.register_forward_hook(lambda _, args, out: self._keep(name, part(out)))

    def _keep(self, name: str, tensor: Any) -> None:
        self.record[name] = tensor.detach().numpy().copy()
        if name == self._stop_after:
            raise _Recorded

    def _recording(
        self, function: Callable[..., Any], inputs: tuple[str, ...], outputs: tuple[str, ...]
    ) -> Callable[..., Any]:
        """Returns the same function, which also records its first inputs and its outputs."""

        def recording(*args: Any) -> Any:
            result = function(*args)
            results = result if isinstance(result, tuple) else (result,)
            for name, tensor in (*zip(inputs, args, strict=False), *zip(outputs, results, strict=True)):
                self._keep(name, tensor)
            return result

        return recording

    def _force_durations(self, logits: Any) -> Any:
        """Records the durations as kokoro sums them; forces them by sigmoids that are exactly 1 and 0."""
        self._keep("durations", self.torch.sigmoid(logits).sum(axis=-1))
        if self._durations is None:
            return None
        wanted = self.torch.from_numpy(self._durations)[None, :, None]
        ones = self.torch.arange(int(self._durations.max()))[None, None] < wanted
        return self.torch.where(ones, 1e3, -1e3).to(logits.dtype)

    def _tap(self, tap: str, values: list[Array]) -> Any:
        """Attaches a hook that records each time a module runs; returns its handle."""
        side, _, path = tap.partition(":")
        modules = dict(self.model.named_modules(remove_duplicate=False))
        if path not in modules or side not in ("input", "output"):
            raise ValueError(f"expected output:PATH or input:PATH of a module of KModel, found {tap!r}")

        def keep(found: Any) -> None:
            parts = tuple(found.values()) if isinstance(found, dict) else found
            parts = parts if isinstance(parts, tuple) else (parts,)
            tensor = next((part for part in parts if isinstance(part, self.torch.Tensor)), None)
            if tensor is None:
                names = ", ".join(type(part).__name__ for part in parts)
                raise TypeError(f"expected a tensor at {tap}, found {names}")
            values.append(tensor.detach().numpy().copy())

        if side == "input":
            return modules[path].register_forward_pre_hook(
                lambda _, args, named: keep((*args, *named.values())), with_kwargs=True
            )
        # Before the hook that forces durations.
        return modules[path].register_forward_hook(lambda _, args, out: keep(out), prepend=True)

    def tensor(self, array: Array) -> Any:
        """Returns the array in the model's arithmetic."""
        return self.torch.from_numpy(array).to(self.dtype)

    @contextmanager
    def noise(self, draw: Callable[[int], Array]) -> Iterator[None]:
        """Gives SineGen's call of randn_like the channels w_k / |w| times z; leaves every other call alone.

        w merges the nine channels, so their sum is |w| z: one Gaussian instead of nine, of the same
        distribution. `draw` returns that many numbers z.
        """
        torch = self.torch
        original = torch.randn_like
        weight = self.generator.m_source.l_linear.weight.detach().double()[0]
        share = weight / weight.norm()

        def randn_like(like: Any, *args: Any, **kwargs: Any) -> Any:
            if like.dim() != 3 or like.shape[2] != HARMONICS:
                return original(like, *args, **kwargs)
            z = draw(like.shape[1])
            if z.shape[-1] != like.shape[1]:
                raise ValueError(f"expected {like.shape[1]} numbers of noise, found {z.shape[-1]}")
            return torch.from_numpy(z).reshape(1, -1, 1).to(like.dtype) * share.to(like.dtype)

        torch.randn_like = randn_like
        try:
            yield
        finally:
            torch.randn_like = original

    # The operations, which `Reference` describes.

    def speak(self, request: ModelInput) -> Arrays:
        """Runs the whole chain."""
        self._durations = request.durations
        tokens, row = self.torch.from_numpy(request.token_ids)[None], self.tensor(request.row)
        speed = 1.0 if request.durations is not None else request.speed
        with self.noise(partial(gaussian_noise, request.seed)):
            audio, frames = self.model.forward_with_tokens(tokens, row, speed)
        return self.record | {"audio": audio.numpy()[None], "frames": np.atleast_1d(frames.numpy())}

    def text(self, request: ModelInput) -> Arrays:
        """Runs the stages along tokens: kokoro runs the text encoder last, after F0 and N."""
        self._stop_after = "text"
        with suppress(_Recorded):
            self.speak(request)
        return {field.name: self.record[field.name] for field in fields(TextTrace)}

    def f0n(self, aligned_encoding: Array, prosody_style: Array) -> Arrays:
        """Runs F0 and energy."""
        self.model.predictor.F0Ntrain(self.tensor(aligned_encoding), self.tensor(prosody_style))
        return {name: self.record[name] for name in ("f0", "energy")}

    def decode(self, inputs: Arrays, spectrum: tuple[Array, Array] | None = None) -> Arrays:
        """Runs the decoder."""
        if spectrum is not None:
            self._spectrum = (self.tensor(spectrum[0]), self.tensor(spectrum[1]))
        ordered = [self.tensor(inputs[name]) for name in ("asr", "f0", "energy", "decoder_style")]
        with self.noise(lambda count: inputs["noise"]):
            audio = self.model.decoder(*ordered)
        return self.record | {"audio": audio.numpy()[0]}

    def source(self, f0: Array, noise: Array) -> Arrays:
        """Runs the harmonic source and its spectrum."""
        # The generator looks at its input and the style only after the source.
        unused = self.torch.zeros(1, 1, 1)
        self._stop_after = "phase"
        with self.noise(lambda count: noise), suppress(_Recorded):
            self.generator(unused, unused, self.tensor(f0))
        return {field.name: self.record[field.name] for field in fields(SourceTrace)}
