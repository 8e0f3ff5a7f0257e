"""Writes AAC in MP4 files: an audiobook with chapter marks, title, authors and cover, or one chapter."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from runtime_min.errors import InstallationError

from .epub import Book

if TYPE_CHECKING:
    from av.audio.stream import AudioStream
    from av.container import OutputContainer

BITS_A_SECOND = 64_000
"""Enough for a voice."""
_OPTIONS = {"movflags": "+faststart", "fflags": "+bitexact"}
_FRAME = 1024
"""Samples of a frame of AAC."""


class Mark(NamedTuple):
    """The beginning and end of a chapter."""

    title: str
    start: int
    """Samples from the beginning of the book."""
    end: int


def require_av() -> None:
    """Checks that PyAV is installed.

    Raises:
        InstallationError: it is not.
    """
    try:
        import av  # noqa: F401
    except ImportError:
        raise InstallationError(
            "Audiobooks need the package av: pip install 'kokoro-export-runtime[books]'."
        ) from None


def write_m4b(
    path: Path, rate: int, samples: Iterable[NDArray[np.int16]], book: Book, marks: Sequence[Mark]
) -> None:
    """Writes the file; the same samples give the same bytes.

    Args:
        path: the file; a half one is left if this fails.
        rate: samples a second.
        samples: all samples, in pieces of any length.
        book: title, authors, language and cover.
        marks: the chapters.

    Raises:
        OSError: it cannot be written.
    """
    import av

    with av.open(str(path), "w", format="mp4", options={"brand": "M4B ", **_OPTIONS}) as container:
        authors = ", ".join(book.authors)
        tags = {"title": book.title, "album": book.title, "artist": authors, "album_artist": authors}
        container.metadata.update(
            {name: text for name, text in tags.items() if text} | {"genre": "Audiobook"}
        )
        container.set_chapters([
            {
                "id": number,
                "start": mark.start,
                "end": mark.end,
                "time_base": Fraction(1, rate),
                "metadata": {"title": mark.title},
            }
            for number, mark in enumerate(marks)
        ])  # fmt: skip
        stream = _add_voice(container, rate)
        if book.cover:
            _add_cover(container, book)
        _encode(container, stream, samples)


def write_m4a(path: Path, rate: int, samples: Iterable[NDArray[np.int16]]) -> None:
    """Writes the audio of one chapter; see `write_m4b`."""
    import av

    with av.open(str(path), "w", format="mp4", options={"brand": "M4A ", **_OPTIONS}) as container:
        _encode(container, _add_voice(container, rate), samples)


def _add_voice(container: OutputContainer, rate: int) -> AudioStream:
    stream = container.add_stream("aac", rate=rate, layout="mono")
    # One thread, so that the bytes do not depend on the machine.
    stream.codec_context.thread_count = 1
    stream.bit_rate = BITS_A_SECOND
    return stream


def _encode(container: OutputContainer, stream: AudioStream, samples: Iterable[NDArray[np.int16]]) -> None:
    import av

    position = 0
    for piece in _frames(samples):
        frame = av.AudioFrame.from_ndarray(piece[None, :], format="s16", layout="mono")
        frame.sample_rate, frame.pts, frame.time_base = stream.rate, position, Fraction(1, stream.rate)
        position += len(piece)
        container.mux(stream.encode(frame))
    container.mux(stream.encode(None))


def _add_cover(container: OutputContainer, book: Book) -> None:
    import av
    from av.stream import Disposition

    # The size is not written: players take it from the picture.
    cover = container.add_mux_stream("mjpeg" if book.cover_kind == "jpeg" else "png", width=16, height=16)
    cover.disposition = Disposition.attached_pic
    cover.time_base = Fraction(1, 1000)
    packet = av.Packet(book.cover)
    packet.stream, packet.pts, packet.dts, packet.is_keyframe = cover, 0, 0, True
    packet.time_base = cover.time_base
    container.start_encoding()
    container.mux(packet)


def _frames(samples: Iterable[NDArray[np.int16]]) -> Iterator[NDArray[np.int16]]:
    """Yields the samples in frames of one length; the last may be shorter."""
    rest = np.zeros(0, np.int16)
    for piece in samples:
        rest = np.concatenate([rest, piece])
        whole = len(rest) // _FRAME * _FRAME
        yield from rest[:whole].reshape(-1, _FRAME)
        rest = rest[whole:]
    if len(rest):
        yield rest
