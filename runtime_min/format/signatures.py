"""The stages of the model: their names, order, length axes, inputs and outputs.

This is the one home of these facts. The exporter reads it to trace and compile the stages, the
manifest repeats it for readers in other languages, and the runtime checks the one against the other.

Activations are channel-major, ``[1, channels, time]``, float32; the batch is always 1. A dimension is
an ``int`` when it is fixed and a pair ``(scale, axis)`` when it grows with the utterance: ``(2, "frames")``
means twice the number of frames, and ``(120, "frames", 1)`` one more than 120 times that.

Where the decoder runs on another device than the CPU, the harmonic source is a stage of its own before it,
because its phase must round as PyTorch's does, which only a CPU guarantees.
"""

from __future__ import annotations

from typing import NamedTuple

GrowingDim = tuple[int, str] | tuple[int, str, int]
"""``(scale, axis)``, or ``(scale, axis, offset)`` with an offset that is not 0."""
Dim = int | GrowingDim
"""A fixed size, or one that grows with the utterance."""

STAGE_NAMES: tuple[str, ...] = ("bert", "duration", "text_encoder", "f0n", "decoder")
"""The stages of a bundle that computes everything on the CPU."""
SOURCE = "source"
"""The harmonic source as a stage of its own, between `f0n` and `decoder`."""
AXES: tuple[str, ...] = ("tokens", "frames")
MINIMUM_LENGTH = 3
"""Shortest utterance on either axis: one phoneme between two boundary tokens, one frame each."""

SAMPLE_RATE = 24_000
SAMPLES_PER_FRAME = 600
FRAMES_PER_SECOND = 40
F0_PER_FRAME = 2
HARMONICS = 9
"""Sines of the harmonic source: the fundamental and eight overtones."""
SPECTRUM_CHANNELS = 22
"""Channels of the harmonic source's spectrum: 11 magnitudes, then 11 phases."""
SPECTRA_PER_FRAME = 120


class TensorSignature(NamedTuple):
    """Name, type and shape of one argument or result of a stage."""

    name: str
    dtype: str
    """``float32`` or ``int64``."""
    shape: tuple[Dim, ...]

    def concrete(self, length: int) -> tuple[int, ...]:
        """Returns the shape when the stage's length axis has `length` elements."""
        # A list: `tuple(generator)` grows CPython's free lists, up to 2,000 tuples of a size.
        return tuple([size_of(dim, length) for dim in self.shape])


class StageSignature(NamedTuple):
    """The inputs and outputs of a stage, and the axis of its length."""

    name: str
    axis: str
    """``tokens`` or ``frames``."""
    minimum: int
    """Smallest length along `axis` that the compiled libraries accept."""
    inputs: tuple[TensorSignature, ...]
    outputs: tuple[TensorSignature, ...]


def size_of(dim: Dim, length: int) -> int:
    """Returns the size of a dimension when the length axis has `length` elements."""
    if isinstance(dim, int):
        return dim
    return dim[0] * length + offset_of(dim)


def offset_of(dim: GrowingDim) -> int:
    """Returns the constant term of a dimension, beyond the multiple of the length."""
    return dim[2] if len(dim) == 3 else 0


def stage_names(separate_source: bool = False) -> tuple[str, ...]:
    """Returns the names of the stages in the order in which they run.

    Args:
        separate_source: the harmonic source is a stage of its own.
    """
    return (*STAGE_NAMES[:-1], SOURCE, STAGE_NAMES[-1]) if separate_source else STAGE_NAMES


def signatures(hidden: int, style: int, separate_source: bool = False) -> dict[str, StageSignature]:
    """Returns the signature of every stage, in the order in which they run.

    Args:
        hidden: channels of the text features (``hidden_dim`` of the model's configuration, 512).
        style: channels of each half of a voice's style row (``style_dim``, 128).
        separate_source: the harmonic source is a stage of its own, and the decoder takes its spectrum.
    """
    tokens: Dim = (1, "tokens")
    frames: Dim = (1, "frames")
    token_ids = TensorSignature("token_ids", "int64", (1, tokens))
    prosody_style = _activation("prosody_style", style)
    f0 = _activation("f0", (F0_PER_FRAME, "frames"))
    energy = _activation("energy", (F0_PER_FRAME, "frames"))
    samples: Dim = (SAMPLES_PER_FRAME, "frames")
    noise = _activation("noise", samples)
    spectrum = _activation("spectrum", SPECTRUM_CHANNELS, (SPECTRA_PER_FRAME, "frames", 1))
    hidden_features = _activation("hidden", hidden, tokens)
    stages = {
        stage.name: stage
        for stage in (
            _stage("bert", "tokens", (token_ids,), (hidden_features,)),
            _stage(
                "duration",
                "tokens",
                (hidden_features, prosody_style),
                (_activation("encoding", hidden + style, tokens), _activation("durations", tokens)),
            ),
            _stage("text_encoder", "tokens", (token_ids,), (_activation("text", hidden, tokens),)),
            _stage(
                "f0n",
                "frames",
                (_activation("aligned_encoding", hidden + style, frames), prosody_style),
                (f0, energy),
            ),
            _stage(SOURCE, "frames", (f0, noise), (spectrum,)),
            _stage(
                "decoder",
                "frames",
                (
                    _activation("asr", hidden, frames),
                    f0,
                    energy,
                    _activation("decoder_style", style),
                    spectrum if separate_source else noise,
                ),
                (_activation("audio", samples),),
            ),
        )
    }
    return {name: stages[name] for name in stage_names(separate_source)}


def _activation(name: str, *shape: Dim) -> TensorSignature:
    return TensorSignature(name, "float32", (1, *shape))


def _stage(
    name: str, axis: str, inputs: tuple[TensorSignature, ...], outputs: tuple[TensorSignature, ...]
) -> StageSignature:
    return StageSignature(name, axis, MINIMUM_LENGTH, inputs, outputs)
