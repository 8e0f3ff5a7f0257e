"""Speaks text into a WAV file, piece by piece, with nothing but Python's standard library.

python speak.py BUNDLE/native/libkokoro.so BUNDLE "Hello, world!" hello.wav
"""

import ctypes
import sys
import wave
from array import array
from ctypes import POINTER, byref, c_char_p, c_double, c_float, c_int, c_size_t, c_uint64, c_void_p

TYPES = {"int": c_int, "size": c_size_t, "uint64": c_uint64, "double": c_double, "text": c_char_p}
TYPES["samples"] = POINTER(c_float)


def fields(declared: str) -> list[tuple[str, type]]:
    return [(name, TYPES[kind]) for kind, name in (field.split() for field in declared.split(","))]


class Request(ctypes.Structure):
    _fields_ = fields(
        "size size,text text,text phonemes,text voice,double speed,uint64 seed,int ssml,int skip_emoji,"
        "int trim,int steady,text language,double sentence_pause,double clause_pause,double end_pause,"
        "double loudness,int no_stretch,int one_pass"
    )


class Audio(ctypes.Structure):
    # Timings and durations follow.
    _fields_ = fields("samples samples,size sample_count,int sample_rate,double start,text phonemes")


def main(path: str, directory: str, text: str, output: str) -> None:
    library = ctypes.CDLL(path)
    library.kokoro_last_error.restype = c_char_p

    def call(function: str, *arguments: object) -> None:
        if library[function](*arguments):
            raise RuntimeError(library.kokoro_last_error().decode())

    bundle = c_void_p()
    call("kokoro_load", directory.encode(), None, byref(bundle))
    request = Request(ctypes.sizeof(Request), text.encode())
    call("kokoro_check", bundle, byref(request))
    with wave.open(output, "wb") as file:
        file.setparams((1, 2, 24_000, 0, "NONE", ""))

        @ctypes.CFUNCTYPE(c_int, POINTER(Audio), c_void_p)
        def write_piece(piece, _user):  # type: ignore[no-untyped-def]
            audio = piece.contents
            samples = audio.samples[: audio.sample_count]
            scaled = array("f", [32767 * max(-1.0, min(1.0, sample)) for sample in samples])
            file.writeframes(array("h", map(round, scaled)).tobytes())
            print(f"from {audio.start:.2f} s on: {audio.phonemes.decode()}")
            return 0

        call("kokoro_stream", bundle, byref(request), write_piece, None)
    library.kokoro_free(bundle)


main(*sys.argv[1:])
