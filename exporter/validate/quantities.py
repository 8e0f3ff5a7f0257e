"""One utterance's quantities by name, in each execution: pt.dynamic, pt.static and the bundle.

Every execution becomes a map from the names of `STEPS` to arrays of the same shapes, so that any two can be
compared. The bundle's come from the libraries that are shipped (`observe`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
from numpy.typing import NDArray

from exporter.parity.expected import decoder_inputs
from exporter.reference.traces import Array, DecoderTrace, ModelInput, ReferenceTrace
from exporter.validate.kernel_order import KERNEL, StageCalls
from exporter.validate.observe import observe
from exporter.validate.results import Quantity
from runtime_min import Bundle
from runtime_min.format.signatures import HARMONICS
from runtime_min.model import alignment
from runtime_min.model.chain import Trace
from runtime_min.model.voices import Style

Values = dict[str, Array]
_SINE_AMPLITUDE = 0.1
_VOICED_ABOVE = 10.0


STEPS = (
    Quantity("tokens", "the runtime", "tokens"),
    Quantity("style", "the runtime", "columns"),
    Quantity("bert", "bert", "tokens"),
    Quantity("duration encoding", "duration", "tokens"),
    Quantity("duration logits", "duration", "tokens"),
    Quantity("durations", "duration", "tokens"),
    Quantity("predicted frames", "the runtime", "tokens"),
    Quantity("text_encoder", "text_encoder", "tokens"),
    Quantity("aligned encoding", "the runtime", "frames"),
    Quantity("aligned asr", "the runtime", "frames"),
    Quantity("F0", "f0n", "frames", 2),
    Quantity("N", "f0n", "frames", 2),
    Quantity("decoder hidden", "decoder", "frames", 2),
    Quantity("sines", "decoder", "frames", 600),
    Quantity("source", "decoder", "frames", 600),
    Quantity("magnitude", "decoder", "frames", 120),
    Quantity("phase", "decoder", "frames", 120),
    Quantity("generator", "decoder", "frames", 600),
    Quantity("audio", "decoder", "frames", 600),
)
"""All quantities in the order of computation; `generator` is the audio on an equal source spectrum."""


def voiced_sines(sines: Array, f0: Array) -> NDArray[np.float64]:
    """Returns kokoro's sines [1, 600 * frames, 9], each alone through the tanh: [1, 9, 600 * frames]."""
    voiced = np.repeat(f0[0] > _VOICED_ABOVE, sines.shape[1] // f0.shape[1])
    return np.asarray(np.tanh(_SINE_AMPLITUDE * sines.astype(np.float64).swapaxes(1, 2) * voiced))


def of_decoder(trace: DecoderTrace, f0: Array) -> Values:
    """Returns the quantities within kokoro's decoder."""
    return {
        "decoder hidden": trace.decoder_hidden,
        "sines": voiced_sines(trace.sines, f0),
        "source": trace.source,
        "magnitude": trace.magnitude,
        "phase": trace.phase,
        "generator": trace.audio,
        "audio": trace.audio,
    }


def of_kokoro(request: ModelInput, trace: ReferenceTrace, logits: Array) -> Values:
    """Returns the quantities of a run of kokoro's; `logits` are [1, tokens or more, bins]."""
    return {
        "tokens": request.token_ids[None],
        "style": request.row,
        "bert": trace.hidden,
        "duration encoding": trace.encoding,
        "duration logits": logits[:, : trace.durations.shape[1]].swapaxes(1, 2),
        "durations": trace.durations,
        "predicted frames": trace.frames[None],
        "text_encoder": trace.text,
        "aligned encoding": trace.aligned_encoding,
        "aligned asr": trace.asr,
        "F0": trace.f0,
        "N": trace.energy,
        **of_decoder(trace, trace.f0),
    }


def _runtime(bundle_trace: Trace) -> Values:
    """Returns the quantities that the runtime looks up."""
    return {
        "tokens": bundle_trace.token_ids,
        "style": np.concatenate([bundle_trace.style.decoder, bundle_trace.style.prosody], axis=1),
    }


def _rounded(durations: Array, speed: float) -> NDArray[np.int64]:
    """Returns frames [1, tokens], zeros if the durations are no numbers."""
    if not np.isfinite(durations).all():
        return np.zeros(durations.shape, np.int64)
    return alignment.round_durations(durations, speed)[None]


class BundleSteps:
    """Takes the quantities out of a bundle."""

    def __init__(self, bundle: Bundle, calls: Mapping[str, StageCalls], bins: int) -> None:
        """Takes a bundle, the kernels of its stages, and the number of logits of a duration."""
        self._bundle, self._calls, self._bins = bundle, calls, bins

    def chain(self, bundle_trace: Trace, speed: float) -> Values:
        """Returns all quantities of the bundle's own chain; the caller may force durations."""
        return {
            **_runtime(bundle_trace),
            **self._tokens(bundle_trace.token_ids, bundle_trace.hidden, bundle_trace.style, speed),
            "aligned encoding": bundle_trace.aligned_encoding,
            "aligned asr": bundle_trace.asr,
            "F0": bundle_trace.f0,
            "N": bundle_trace.energy,
            **self._decoder(decoder_inputs(bundle_trace, bundle_trace.style, bundle_trace.noise)),
        }

    def on_equal_inputs(
        self, bundle_trace: Trace, request: ModelInput, trace: ReferenceTrace, speed: float
    ) -> Values:
        """Returns each quantity computed by the bundle from pt.dynamic's quantities before it."""
        style = request.style
        f0n = self._bundle.stage("f0n").run(
            {"aligned_encoding": trace.aligned_encoding, "prosody_style": style.prosody}
        )
        return {
            **_runtime(bundle_trace),
            **self._tokens(request.token_ids[None], trace.hidden, style, speed),
            "aligned encoding": alignment.align(trace.encoding, trace.frames),
            "aligned asr": alignment.align(trace.text, trace.frames),
            "F0": f0n["f0"],
            "N": f0n["energy"],
            **self._decoder(decoder_inputs(trace, style, bundle_trace.noise), trace),
        }

    def _tokens(self, token_ids: NDArray[np.int64], hidden: Array, style: Style, speed: float) -> Values:
        calls = self._calls["duration"]
        (projection,) = calls.outputs["project"]
        inputs = {"hidden": hidden, "prosody_style": style.prosody}
        found, seen = observe(self._bundle.stage("duration"), calls, inputs, [projection])
        (bert,) = self._bundle.stage("bert").run({"token_ids": token_ids}).values()
        (text,) = self._bundle.stage("text_encoder").run({"token_ids": token_ids}).values()
        return {
            "bert": bert,
            "duration encoding": found["encoding"],
            "duration logits": seen[projection][:, : self._bins],
            "durations": found["durations"],
            "predicted frames": _rounded(found["durations"], speed),
            "text_encoder": text,
        }

    def _decoder(self, inputs: Mapping[str, Array], equal: DecoderTrace | None = None) -> Values:
        """Returns the quantities within the decoder; with `equal`, each part reads pt.dynamic's inputs."""
        calls, runner = self._calls["decoder"], self._bundle.stage("decoder")
        hidden = max(calls.outputs[path][0] for path in calls.outputs if path.startswith("body.decode."))
        (source,) = calls.outputs[f"{KERNEL}harmonic_source"]
        (spectrum,) = calls.outputs[f"{KERNEL}source_spectrum"]
        replace = {}
        if equal is not None:
            both = np.concatenate([equal.magnitude, equal.phase], axis=1)
            replace = {hidden: equal.decoder_hidden, source: equal.source, spectrum: both}
        ends, seen = observe(runner, calls, inputs, [hidden, source, spectrum], replace)
        bins = seen[spectrum].shape[1] // 2
        audio = runner.run(inputs)["audio"] if equal is not None else ends["audio"]
        return {
            "decoder hidden": seen[hidden],
            "sines": np.concatenate([*self._sines(inputs, source)], axis=1),
            "source": seen[source],
            "magnitude": seen[spectrum][:, :bins],
            "phase": seen[spectrum][:, bins:],
            "generator": ends["audio"],
            "audio": audio,
        }

    def _sines(self, inputs: Mapping[str, Array], source: int) -> Iterator[Array]:
        """Yields each sine, [1, 1, 600 * frames], by merging with weights that pick one."""
        calls, runner = self._calls["decoder"], self._bundle.stage("decoder")
        silent = {**inputs, "noise": np.zeros_like(inputs["noise"])}
        for row in np.eye(HARMONICS, dtype=np.float32):
            picked = {"decoder.source.weight": row, "decoder.source.bias": np.zeros(1, np.float32)}
            _, seen = observe(runner, calls, silent, [source], parameters=picked, only=[source])
            yield seen[source][None]
