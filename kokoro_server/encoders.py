"""Encoders of speech that give out bytes as samples come: PCM and WAV by the runtime, the others by PyAV."""

from __future__ import annotations

from typing import NamedTuple, Protocol

import av
import numpy as np
from numpy.typing import NDArray

from runtime_min import encode, wav_header

SAMPLE_RATE = 24_000
"""That of the model."""
RATES = (8_000, 16_000, 22_050, SAMPLE_RATE, 44_100, 48_000)


class Format(NamedTuple):
    """An audio format."""

    media_type: str
    container: str = ""
    """FFmpeg's name; none for PCM."""
    codec: str = ""
    bit_rate: int | None = None
    """Bits a second; None for a lossless format."""
    rates: tuple[int, ...] = RATES
    """Samples a second that a client may ask for; the model's is the default, or else the first."""

    @property
    def default_rate(self) -> int:
        """Samples a second of requests that name none."""
        return SAMPLE_RATE if SAMPLE_RATE in self.rates else self.rates[0]


FORMATS = {
    "mp3": Format("audio/mpeg", "mp3", "libmp3lame", 64_000),
    "opus": Format("audio/opus", "ogg", "libopus", 48_000, (8_000, 16_000, SAMPLE_RATE, 48_000)),
    "aac": Format("audio/aac", "adts", "aac", 64_000),
    "flac": Format("audio/flac", "flac", "flac"),
    "wav": Format("audio/wav"),
    "pcm": Format("audio/pcm"),
    "ulaw": Format("audio/basic", "mulaw", "pcm_mulaw", None, (8_000,)),
}
"""Formats by `response_format`; all are mono. `ulaw` is telephony's G.711, without a header."""
# The same samples give the same bytes: no random serial numbers, no dates.
_OPTIONS = {"fflags": "+bitexact"}


class Encoder(Protocol):
    """Encodes one speech."""

    def encode(self, samples: NDArray[np.float32]) -> bytes:
        """Returns the bytes that are final with these samples, float32 ``[n]``."""

    def finish(self) -> bytes:
        """Returns the last bytes."""

    def close(self) -> None:
        """Ends the encoder's threads, also before its last bytes."""


class _Pcm:
    """16-bit PCM, with or without a WAV header."""

    def __init__(self, header: bytes) -> None:
        self._header = header

    def encode(self, samples: NDArray[np.float32]) -> bytes:
        header, self._header = self._header, b""
        return header + encode(samples, "pcm16")

    def finish(self) -> bytes:
        return self._header

    def close(self) -> None:
        """Has nothing to end."""


class _Written:
    """A file without a place to seek, for PyAV."""

    def __init__(self) -> None:
        self._data = bytearray()

    def write(self, data: bytes) -> int:
        self._data += data
        return len(data)

    def take(self) -> bytes:
        """Returns the bytes that were written since the last call."""
        data, self._data = bytes(self._data), bytearray()
        return data


class _Av:
    """A format of FFmpeg."""

    def __init__(self, chosen: Format, rate: int) -> None:
        self._written = _Written()
        self._container = av.open(self._written, "w", chosen.container, options=dict(_OPTIONS))
        stream = self._container.add_stream(chosen.codec, rate, layout="mono")
        assert isinstance(stream, av.AudioStream)
        self._stream = stream
        if chosen.bit_rate is not None:
            self._stream.bit_rate = chosen.bit_rate
        self._rate = rate
        self._samples = 0

    def encode(self, samples: NDArray[np.float32]) -> bytes:
        if not len(samples):
            return b""
        frame = _frame(samples, self._rate)
        frame.pts = self._samples
        self._samples += len(samples)
        self._container.mux(self._stream.encode(frame))
        return self._written.take()

    def finish(self) -> bytes:
        self._container.mux(self._stream.encode(None))
        self.close()
        return self._written.take()

    def close(self) -> None:
        # PyAV's objects refer to each other, so without this the threads wait for Python to collect garbage.
        self._container.close()


class _Resampled:
    """Another encoder with samples of another rate, by FFmpeg's libswresample."""

    def __init__(self, inner: Encoder, rate: int) -> None:
        self._inner = inner
        self._resampler = av.AudioResampler("fltp", "mono", rate)

    def encode(self, samples: NDArray[np.float32]) -> bytes:
        return self._encode(_frame(samples, SAMPLE_RATE)) if len(samples) else b""

    def finish(self) -> bytes:
        # It holds the last samples back.
        return self._encode(None) + self._inner.finish()

    def close(self) -> None:
        self._inner.close()

    def _encode(self, frame: av.AudioFrame | None) -> bytes:
        return b"".join(self._inner.encode(each.to_ndarray()[0]) for each in self._resampler.resample(frame))


def _frame(samples: NDArray[np.float32], rate: int) -> av.AudioFrame:
    frame = av.AudioFrame.from_ndarray(samples[np.newaxis], "fltp", "mono")
    frame.sample_rate = rate
    return frame


def encoder(name: str, rate: int = SAMPLE_RATE) -> Encoder:
    """Returns a new encoder of the model's samples for a `response_format`, with `rate` samples a second."""
    chosen = FORMATS[name]
    made: Encoder
    if chosen.container:
        made = _Av(chosen, rate)
    else:
        made = _Pcm(wav_header(rate, "pcm16", None) if name == "wav" else b"")
    return made if rate == SAMPLE_RATE else _Resampled(made, rate)
