"""Encoders of speech that give out bytes as samples come: PCM and WAV by the runtime, the others by PyAV."""

from __future__ import annotations

from typing import NamedTuple, Protocol

import av
import numpy as np
from numpy.typing import NDArray

from runtime_min import encode, wav_header

SAMPLE_RATE = 24_000


class Format(NamedTuple):
    """An audio format."""

    media_type: str
    container: str = ""
    """FFmpeg's name; none for PCM."""
    codec: str = ""
    bit_rate: int | None = None
    """Bits a second; None for a lossless format."""


FORMATS = {
    "mp3": Format("audio/mpeg", "mp3", "libmp3lame", 64_000),
    "opus": Format("audio/opus", "ogg", "libopus", 48_000),
    "aac": Format("audio/aac", "adts", "aac", 64_000),
    "flac": Format("audio/flac", "flac", "flac"),
    "wav": Format("audio/wav"),
    "pcm": Format("audio/pcm"),
}
"""Formats by `response_format`; all are mono, with 24,000 samples a second."""
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

    def __init__(self, chosen: Format) -> None:
        self._written = _Written()
        self._container = av.open(self._written, "w", chosen.container, options=dict(_OPTIONS))
        stream = self._container.add_stream(chosen.codec, SAMPLE_RATE, layout="mono")
        assert isinstance(stream, av.AudioStream)
        self._stream = stream
        if chosen.bit_rate is not None:
            self._stream.bit_rate = chosen.bit_rate
        self._samples = 0

    def encode(self, samples: NDArray[np.float32]) -> bytes:
        if not len(samples):
            return b""
        frame = av.AudioFrame.from_ndarray(samples[np.newaxis], "fltp", "mono")
        frame.sample_rate = SAMPLE_RATE
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


def encoder(name: str) -> Encoder:
    """Returns a new encoder for a `response_format`."""
    chosen = FORMATS[name]
    if chosen.container:
        return _Av(chosen)
    return _Pcm(wav_header(SAMPLE_RATE, "pcm16", None) if name == "wav" else b"")
