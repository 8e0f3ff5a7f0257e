"""The native runtime's C interface, called with ctypes."""

from __future__ import annotations

import ctypes
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from ctypes import POINTER, byref, c_char_p, c_double, c_float, c_int, c_int64, c_size_t, c_uint64, c_void_p
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tests.support.paths import ROOT


def _names() -> dict[int, str]:
    """The class of Python's errors by the code of `kokoro.h`."""
    header = ROOT / "runtime_native" / "include" / "kokoro.h"
    found = re.findall(r"KOKORO_(\w+) = (\d+)", header.read_text(encoding="utf-8"))
    return {int(code): "".join(part.title() for part in name.split("_")) for name, code in found}


NAMES = _names()


class NativeError(Exception):
    """The error of a function of the library, under the name of Python's error."""

    def __init__(self, code: int, message: str) -> None:
        self.name = NAMES[code]
        super().__init__(f"{self.name}: {message}")


class Options(ctypes.Structure):
    _fields_ = [
        ("size", c_size_t),
        ("threads", c_int),
        ("skip_verify", c_int),
        ("level", c_char_p),
        ("manifest_sha256", c_char_p),
        ("arithmetic", c_char_p),
    ]


class Request(ctypes.Structure):
    _fields_ = [
        ("size", c_size_t),
        ("text", c_char_p),
        ("phonemes", c_char_p),
        ("voice", c_char_p),
        ("speed", c_double),
        ("seed", c_uint64),
        ("ssml", c_int),
        ("skip_emoji", c_int),
        ("trim", c_int),
        ("steady", c_int),
        ("language", c_char_p),
        ("sentence_pause", c_double),
        ("clause_pause", c_double),
        ("end_pause", c_double),
        ("loudness", c_double),
        ("no_stretch", c_int),
        ("one_pass", c_int),
    ]


class _Timing(ctypes.Structure):
    _fields_ = [("text", c_char_p), ("start", c_double), ("end", c_double)]


class _Audio(ctypes.Structure):
    _fields_ = [
        ("samples", POINTER(c_float)),
        ("sample_count", c_size_t),
        ("sample_rate", c_int),
        ("start", c_double),
        ("phonemes", c_char_p),
        ("tokens", POINTER(_Timing)),
        ("token_count", c_size_t),
        ("words", POINTER(_Timing)),
        ("word_count", c_size_t),
        ("durations", POINTER(c_int64)),
        ("duration_count", c_size_t),
        ("lead", c_double),
    ]


CALLBACK = ctypes.CFUNCTYPE(c_int, POINTER(_Audio), c_void_p)


class Spoken(NamedTuple):
    """A copy of an audio."""

    samples: NDArray[np.float32]
    start: float
    phonemes: str
    tokens: list[tuple[str, float, float]]
    words: list[tuple[str, float, float]]
    durations: list[int]
    lead: float


def _copied(audio: _Audio) -> Spoken:
    def timings(first: Any, count: int) -> list[tuple[str, float, float]]:
        return [(each.text.decode(), each.start, each.end) for each in first[:count]]

    return Spoken(
        np.ctypeslib.as_array(audio.samples, (audio.sample_count,)).copy(),
        audio.start,
        audio.phonemes.decode(),
        timings(audio.tokens, audio.token_count),
        timings(audio.words, audio.word_count),
        audio.durations[: audio.duration_count],
        audio.lead,
    )


def request(phonemes: str | bytes | None = None, **fields: Any) -> Request:
    """A request with the defaults of the fields that are not given."""
    given = {"phonemes": phonemes, **fields}
    # Zero is the default of the function.
    given |= {name: -1 for name in ("trim", "end_pause") if given.get(name) == 0}
    values = {name: value.encode() if isinstance(value, str) else value for name, value in given.items()}
    return Request(size=ctypes.sizeof(Request), **values)


class NativeLibrary:
    """The functions of a libkokoro."""

    def __init__(self, path: Path) -> None:
        # ctypes loads it with RTLD_LOCAL, as most apps do.
        self.functions = ctypes.CDLL(str(path))
        self.functions.kokoro_last_error.restype = c_char_p
        self.functions.kokoro_voice_name.restype = self.functions.kokoro_level.restype = c_char_p
        self.functions.kokoro_version.restype = self.functions.kokoro_model_name.restype = c_char_p
        self.functions.kokoro_voice_count.restype = self.functions.kokoro_max_phonemes.restype = c_size_t

    def call(self, name: str, *arguments: Any) -> None:
        """Calls a function that may fail; raises `NativeError`."""
        if code := getattr(self.functions, name)(*arguments):
            raise NativeError(code, self.functions.kokoro_last_error().decode())

    def load(self, directory: Path, **options: Any) -> c_void_p:
        return self.load_at(str(directory).encode(), **options)

    def load_at(self, path: bytes, **options: Any) -> c_void_p:
        bundle = c_void_p()
        chosen = Options(size=ctypes.sizeof(Options), **options)
        self.call("kokoro_load", path, byref(chosen), byref(bundle))
        return bundle

    @contextmanager
    def loaded(self, directory: Path, **options: Any) -> Iterator[c_void_p]:
        bundle = self.load(directory, **options)
        try:
            yield bundle
        finally:
            self.functions.kokoro_free(bundle)

    def synthesize(self, bundle: c_void_p, phonemes: str | bytes | None = None, **fields: Any) -> Spoken:
        audio = POINTER(_Audio)()
        self.call("kokoro_synthesize", bundle, byref(request(phonemes, **fields)), byref(audio))
        try:
            return _copied(audio.contents)
        finally:
            self.functions.kokoro_audio_free(audio)

    def stream(
        self,
        bundle: c_void_p,
        phonemes: str | bytes | None = None,
        take: Callable[[Spoken], bool] = lambda piece: True,
        **fields: Any,
    ) -> list[Spoken]:
        """Returns the pieces of a stream, which ends when `take` returns False."""
        pieces: list[Spoken] = []

        def receive(piece: Any, _: Any) -> int:
            pieces.append(_copied(piece.contents))
            return not take(pieces[-1])

        self.call("kokoro_stream", bundle, byref(request(phonemes, **fields)), CALLBACK(receive), None)
        return pieces

    @contextmanager
    def opened(
        self, bundle: c_void_p, phonemes: str | bytes | None = None, **fields: Any
    ) -> Iterator[Iterator[Spoken]]:
        """Yields the pieces of a speech, each computed when it is taken."""
        speech = c_void_p()
        self.call("kokoro_pieces_open", bundle, byref(request(phonemes, **fields)), byref(speech))

        def pieces() -> Iterator[Spoken]:
            while True:
                audio = POINTER(_Audio)()
                self.call("kokoro_pieces_next", speech, byref(audio))
                if not audio:
                    return
                try:
                    yield _copied(audio.contents)
                finally:
                    self.functions.kokoro_audio_free(audio)

        try:
            yield pieces()
        finally:
            self.functions.kokoro_pieces_free(speech)


class NativeSpeech:
    """A speech whose text is pushed."""

    def __init__(self, library: NativeLibrary, bundle: c_void_p, **fields: Any) -> None:
        self._library = library
        self.handle = c_void_p()
        library.call("kokoro_live_open", bundle, byref(request(**fields)), byref(self.handle))

    def push(self, text: str | bytes) -> None:
        self._library.call("kokoro_live_push", self.handle, text.encode() if isinstance(text, str) else text)

    def flush(self) -> None:
        self._library.call("kokoro_live_flush", self.handle)

    def end(self) -> None:
        self._library.call("kokoro_live_end", self.handle)

    def pieces(
        self, take: Callable[[Spoken], bool] = lambda piece: True, *, wait: bool = False
    ) -> list[Spoken]:
        """Returns what can be spoken; with `wait` all up to the end."""
        pieces: list[Spoken] = []

        def receive(piece: Any, _: Any) -> int:
            pieces.append(_copied(piece.contents))
            return not take(pieces[-1])

        self._library.call("kokoro_live_stream", self.handle, int(wait), CALLBACK(receive), None)
        return pieces

    def free(self) -> None:
        self._library.functions.kokoro_live_free(self.handle)

    def __enter__(self) -> NativeSpeech:
        return self

    def __exit__(self, *exception: object) -> None:
        self.free()


@cache
def native_library() -> NativeLibrary:
    """The library for this machine; unchanged parts come from the user's cache."""
    # Emulated machines lack what building needs.
    from exporter.compiler.targets import find_target
    from exporter.native.build import LIBRARY, build_library
    from tests.support.native.sanitised import SANITISERS, build_sanitised

    with TemporaryDirectory() as place:
        library = Path(place, LIBRARY)
        if SANITISERS:
            build_sanitised(library)
        else:
            build_library(find_target("host"), library)
        # The loaded library needs no file.
        return NativeLibrary(library)
