"""pt.static: the same weights on inputs padded to a bucket, as a naive port to static shapes runs them.

The modules are kokoro's own. The padding is masked where kokoro's text path has masks; everything along
frames takes it for speech.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import Any, Literal, get_args

import numpy as np

from exporter.reference.recording import Arrays, RecordingModel
from exporter.reference.traces import Array, ModelInput
from runtime_min.format.signatures import SAMPLES_PER_FRAME
from runtime_min.model.noise import gaussian_noise

Tail = Literal["zeros", "repeat", "noise", "nan"]
"""Padding past the end: zeros, the last value repeated, Gaussian noise as loud as the values, NaN."""
TAILS: tuple[Tail, ...] = get_args(Tail)
_SEED = 1
"""Seed of all random values past the end."""
_TOKEN_ARRAYS = ("hidden", "encoding", "durations", "text")
_PER_FRAME = {"aligned_encoding": 1, "asr": 1, "f0": 2, "energy": 2, "decoder_hidden": 2}
_SAMPLES = ("source", "audio")
_SPECTRUM = ("magnitude", "phase")
_COLUMNS_PER_FRAME = SAMPLES_PER_FRAME // 5


def padding(values: Array, count: int, tail: Tail) -> Array:
    """Returns the padding after the last axis of `values`: an array [..., count] of its type."""
    shape = (*values.shape[:-1], count)
    if tail == "repeat":
        return np.ascontiguousarray(np.broadcast_to(values[..., -1:], shape))
    if tail == "noise":
        loudness = np.sqrt(np.square(values, dtype=np.float64).mean())
        noise: Array = loudness * np.random.default_rng(_SEED).standard_normal(shape)
        return noise.astype(values.dtype)
    return np.full(shape, {"zeros": 0, "nan": np.nan}[tail], values.dtype)


def padded(values: Array, length: int, tail: Tail = "zeros") -> Array:
    """Returns `values` with padding that makes its last axis `length` long."""
    return np.concatenate([values, padding(values, length - values.shape[-1], tail)], axis=-1)


def static(
    recorded: RecordingModel,
    request: ModelInput,
    text_length: int,
    frame_length: int,
    packing: bool,
    prefix_f0n: bool,
) -> Arrays:
    """Runs the whole chain as `KModel.forward_with_tokens` does, on padded tokens and frames."""
    torch, model, predictor = recorded.torch, recorded.model, recorded.model.predictor
    tokens = request.token_ids.size
    _require_room(tokens, text_length, "tokens")
    token_ids = torch.from_numpy(padded(request.token_ids, text_length))[None]
    decoder_style, prosody_style = map(recorded.tensor, request.style)
    lengths = torch.tensor([tokens])
    mask = (torch.arange(text_length) >= tokens)[None]
    with nullcontext() if packing else _no_packing(torch):
        hidden = model.bert_encoder(model.bert(token_ids, attention_mask=(~mask).int())).transpose(1, 2)
        encoding = predictor.text_encoder(hidden, prosody_style, lengths, mask)
        logits = predictor.duration_proj(predictor.lstm(encoding)[0])
        text = model.text_encoder(token_ids, lengths, mask)
    frames = request.durations
    if frames is None:
        predicted = logits.sigmoid().sum(axis=2)[0, :tokens] / request.speed
        frames = predicted.round().clamp(min=1).long().numpy()
    count = int(frames.sum())
    _require_room(count, frame_length, "frames")
    alignment = torch.zeros(1, text_length, frame_length)
    alignment[0, torch.from_numpy(np.repeat(np.arange(tokens), frames)), torch.arange(count)] = 1
    aligned = encoding.transpose(1, 2) @ alignment
    curves = predictor.F0Ntrain(aligned[:, :, :count] if prefix_f0n else aligned, prosody_style)
    # Nothing is added where the curves already have the bucket's length.
    f0, energy = (torch.nn.functional.pad(curve, (0, 2 * frame_length - curve.shape[1])) for curve in curves)
    noise = _padded_noise(gaussian_noise(request.seed, SAMPLES_PER_FRAME * count), frame_length)
    with recorded.noise(lambda count: noise):
        audio = model.decoder(text @ alignment, f0, energy, decoder_style)[0]
    return _valid(recorded.record | {"audio": audio.numpy()}, tokens, count) | {"frames": frames}


def static_decode(recorded: RecordingModel, inputs: Arrays, frame_length: int, tail: Tail) -> Arrays:
    """Runs the decoder on what `RecordingModel.decode` takes, padded to `frame_length` with `tail`."""
    count = inputs["asr"].shape[2]
    _require_room(count, frame_length, "frames")
    lengths = {name: _PER_FRAME[name] * frame_length for name in ("asr", "f0", "energy")}
    long = {name: padded(inputs[name], length, tail) for name, length in lengths.items()}
    noise = _padded_noise(inputs["noise"], frame_length)
    return _valid(recorded.decode(inputs | long | {"noise": noise}), 0, count)


def _require_room(found: int, length: int, axis: str) -> None:
    if found > length:
        raise ValueError(f"expected at most {length} {axis}, the static length, found {found}")


def _padded_noise(noise: Array, frames: int) -> Array:
    """Returns the given noise, and standard normal numbers after it."""
    rest = SAMPLES_PER_FRAME * frames - noise.size
    more = np.random.default_rng(_SEED).standard_normal(rest, noise.dtype)
    return np.concatenate([noise.reshape(-1), more])


@contextmanager
def _no_packing(torch: Any) -> Iterator[None]:
    """Gives LSTMs the whole padded sequence."""
    rnn = torch.nn.utils.rnn
    original = rnn.pack_padded_sequence, rnn.pad_packed_sequence
    rnn.pack_padded_sequence = lambda sequence, *args, **kwargs: sequence
    rnn.pad_packed_sequence = lambda sequence, *args, **kwargs: (sequence, None)
    try:
        yield
    finally:
        rnn.pack_padded_sequence, rnn.pad_packed_sequence = original


def _valid(record: Arrays, tokens: int, frames: int) -> Arrays:
    """Returns every array without its padding."""
    ends = (
        dict.fromkeys(_TOKEN_ARRAYS, tokens)
        | {name: scale * frames for name, scale in _PER_FRAME.items()}
        | dict.fromkeys(_SAMPLES, SAMPLES_PER_FRAME * frames)
        | dict.fromkeys(_SPECTRUM, _COLUMNS_PER_FRAME * frames + 1)
    )
    cut = {name: array[..., : ends[name]] for name, array in record.items() if name != "sines"}
    if "sines" in record:
        cut["sines"] = record["sines"][:, : SAMPLES_PER_FRAME * frames]  # [1, time, harmonics]
    return cut
