"""pt.static: the same weights on inputs padded to a bucket, as a naive port to static shapes runs them.

Part of the process that `exporter.reference.worker` is. The modules are kokoro's own. The padding is masked
where kokoro's text path has masks; everything along frames takes it for speech.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from runtime_min.format.signatures import SAMPLES_PER_FRAME

if TYPE_CHECKING:
    from exporter.reference.worker import Worker

Array = NDArray[Any]
Message = dict[str, Array]
Tail = Literal["zeros", "repeat", "noise", "nan"]
"""What stands past the end: zeros, the last value repeated, Gaussian noise as loud as the values, NaN."""
TAILS: tuple[Tail, ...] = get_args(Tail)
_SEED = 1
"""Of everything random past the end."""
_TOKEN_ARRAYS = ("hidden", "encoding", "durations", "text")
_PER_FRAME = {"aligned_encoding": 1, "asr": 1, "f0": 2, "energy": 2, "decoder_hidden": 2}
_SAMPLES = ("source", "audio")
_SPECTRUM = ("magnitude", "phase")
_COLUMNS_PER_FRAME = SAMPLES_PER_FRAME // 5


def padding(values: Array, count: int, tail: Tail) -> Array:
    """What is put past the end of the last axis of `values`: an array [..., count] of its type."""
    shape = (*values.shape[:-1], count)
    if tail == "repeat":
        return np.ascontiguousarray(np.broadcast_to(values[..., -1:], shape))
    if tail == "noise":
        loudness = np.sqrt(np.square(values, dtype=np.float64).mean())
        noise: Array = loudness * np.random.default_rng(_SEED).standard_normal(shape)
        return noise.astype(values.dtype)
    return np.full(shape, {"zeros": 0, "nan": np.nan}[tail], values.dtype)


def padded(values: Array, length: int, tail: Tail = "zeros") -> Array:
    """`values` with as much padding at the end of the last axis as makes it `length` long."""
    return np.concatenate([values, padding(values, length - values.shape[-1], tail)], axis=-1)


def static(worker: Worker, request: Message) -> Message:
    """Run the whole chain as `KModel.forward_with_tokens` does, on padded tokens and frames.

    Takes what `Worker.speak` takes, and ``text_length``, ``frame_length``, ``packing``, ``prefix_f0n``.
    """
    torch, model, predictor = worker.torch, worker.model, worker.model.predictor
    tokens, length = request["token_ids"].size, int(request["text_length"])
    _require_room(tokens, length, "tokens")
    token_ids = torch.from_numpy(padded(request["token_ids"], length))[None]
    decoder_style, prosody_style = worker.tensor(request["voice_row"])[None].split(128, dim=1)
    lengths = torch.tensor([tokens])
    mask = (torch.arange(length) >= tokens)[None]
    with nullcontext() if request["packing"] else _no_packing(torch):
        hidden = model.bert_encoder(model.bert(token_ids, attention_mask=(~mask).int())).transpose(1, 2)
        encoding = predictor.text_encoder(hidden, prosody_style, lengths, mask)
        logits = predictor.duration_proj(predictor.lstm(encoding)[0])
        text = model.text_encoder(token_ids, lengths, mask)
    frames = request.get("durations_forced")
    if frames is None:
        predicted = logits.sigmoid().sum(axis=2)[0, :tokens] / float(request["speed"])
        frames = predicted.round().clamp(min=1).long().numpy()
    count, bucket = int(frames.sum()), int(request["frame_length"])
    _require_room(count, bucket, "frames")
    alignment = torch.zeros(1, length, bucket)
    alignment[0, torch.from_numpy(np.repeat(np.arange(tokens), frames)), torch.arange(count)] = 1
    aligned = encoding.transpose(1, 2) @ alignment
    curves = predictor.F0Ntrain(aligned[:, :, :count] if request["prefix_f0n"] else aligned, prosody_style)
    # Nothing is added where the curves already have the bucket's length.
    f0, energy = (torch.nn.functional.pad(curve, (0, 2 * bucket - curve.shape[1])) for curve in curves)
    with worker.noise(_padded_noise(worker.need_noise(SAMPLES_PER_FRAME * count), bucket)):
        audio = model.decoder(text @ alignment, f0, energy, decoder_style)[0]
    return _valid(worker.record | {"audio": audio.numpy()}, tokens, count) | {"frames": frames}


def static_decode(worker: Worker, request: Message) -> Message:
    """Run the decoder on what `Worker.decode` takes, padded to ``frame_length`` with ``tail``."""
    count, bucket = request["asr"].shape[2], int(request["frame_length"])
    _require_room(count, bucket, "frames")
    tail: Any = str(request["tail"])
    long = {name: padded(request[name], _PER_FRAME[name] * bucket, tail) for name in ("asr", "f0", "energy")}
    noise = _padded_noise(request["noise"], bucket)
    return _valid(worker.decode(request | long | {"noise": noise}), 0, count)


def _require_room(found: int, length: int, axis: str) -> None:
    if found > length:
        raise ValueError(f"expected at most {length} {axis}, the static length, found {found}")


def _padded_noise(noise: Array, frames: int) -> Array:
    """The given noise, and standard normal numbers after it."""
    rest = SAMPLES_PER_FRAME * frames - noise.size
    more = np.random.default_rng(_SEED).standard_normal(rest, noise.dtype)
    return np.concatenate([noise.reshape(-1), more])


@contextmanager
def _no_packing(torch: Any) -> Iterator[None]:
    """Give LSTMs the whole padded sequence."""
    rnn = torch.nn.utils.rnn
    original = rnn.pack_padded_sequence, rnn.pad_packed_sequence
    rnn.pack_padded_sequence = lambda sequence, *args, **kwargs: sequence
    rnn.pad_packed_sequence = lambda sequence, *args, **kwargs: (sequence, None)
    try:
        yield
    finally:
        rnn.pack_padded_sequence, rnn.pad_packed_sequence = original


def _valid(record: Message, tokens: int, frames: int) -> Message:
    """Every array without what stands past the utterance's end."""
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
