"""The native runtime speaks as the Python runtime does, to the bit, and fails as it does."""

from __future__ import annotations

import ctypes
import os
import shutil
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from ctypes import Structure, byref, c_size_t, c_void_p, sizeof
from itertools import zip_longest
from pathlib import Path
from typing import Any

import pytest

from exporter.bundle.write import write_bundle
from exporter.compiler.targets import find_target
from runtime_min import Bundle, KokoroError
from runtime_min.engine.machine import levels_that_run, this_machine
from runtime_min.format.verify import sha256_of
from tests.support.native.both_runtimes import BothRuntimes, assert_equal, both_runtimes, utterances
from tests.support.native.library import (
    CALLBACK,
    NativeError,
    NativeLibrary,
    Options,
    Request,
    Spoken,
    native_library,
    request,
)
from tests.support.paths import PROVING
from tests.support.tiny.bundle import MAX_PHONEMES
from tests.support.tiny.model import contents_with_levels

MEASURED = {"af_heart": -1_234, "af_bella": -507, "am_adam": -2_001}
LEVELS = [level.name for level in levels_that_run(find_target("host").levels, this_machine().features)]


@pytest.fixture(scope="module")
def library() -> NativeLibrary:
    return native_library()


@pytest.fixture(scope="module")
def native(library: NativeLibrary, speaking_bundle: Path) -> Iterator[c_void_p]:
    with library.loaded(speaking_bundle) as bundle:
        yield bundle


@pytest.fixture(scope="module")
def python(speaking_bundle: Path) -> Iterator[Bundle]:
    with Bundle.load(speaking_bundle) as bundle:
        yield bundle


@pytest.fixture(scope="module")
def every_level(runtime_library: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A bundle of the tiny model that is compiled for every CPU level."""
    place = tmp_path_factory.mktemp("levels")
    contents = contents_with_levels(place, find_target("host"), runtime_library)
    return write_bundle(place / "bundle", contents, measure_loudness=lambda bundle: MEASURED)


@pytest.fixture(scope="module", params=LEVELS)
def both(request: pytest.FixtureRequest, library: NativeLibrary, every_level: Path) -> Iterator[BothRuntimes]:
    with both_runtimes(library, every_level, request.param) as loaded:
        yield loaded


def test_utterances_are_equal_to_the_bit(both: BothRuntimes) -> None:
    for phonemes, options in utterances(200 if PROVING else 100, MAX_PHONEMES):
        both.compare(phonemes=phonemes, **options)


def test_streams_are_equal_to_the_bit(both: BothRuntimes) -> None:
    for phonemes, options in utterances(20 if PROVING else 12, 8 * MAX_PHONEMES):
        both.compare_streams(phonemes=phonemes, **options)


def test_utterances_of_a_loudness_are_equal_to_the_bit(both: BothRuntimes) -> None:
    for number, (phonemes, options) in enumerate(utterances(40 if PROVING else 20, 3 * MAX_PHONEMES)):
        options["loudness"] = -14 - number * 2 / 3
        assert abs(both.compare(phonemes=phonemes, **options).samples).max() < 1


def test_a_steady_stream_is_the_same_speech_and_both_tell_their_lead(both: BothRuntimes) -> None:
    phonemes = "abc abc abcabc " * 30
    expected = both.library.synthesize(both.native, phonemes, trim=True)
    steady = both.library.stream(both.native, phonemes, steady=1)
    pieces = both.library.stream(both.native, phonemes)
    for found in (steady, pieces):
        assert b"".join(piece.samples.tobytes() for piece in found) == expected.samples.tobytes()
        assert found[0].lead == 0 and all(piece.lead != 0 for piece in found[1:])
    assert len(pieces) > 2


def test_pieces_are_those_of_a_stream_and_their_speeches_take_turns(both: BothRuntimes) -> None:
    said = ("abc abc abcabc " * 30, "cab " * 40)
    streams = [both.library.stream(both.native, phonemes) for phonemes in said]
    with both.library.opened(both.native, said[0]) as one, both.library.opened(both.native, said[1]) as other:
        taken: list[list[Spoken]] = [[], []]
        for pair in zip_longest(one, other):
            for pieces, piece in zip(taken, pair, strict=True):
                pieces += [piece] if piece else []
    for found, expected in zip(taken, streams, strict=True):
        samples = [piece.samples.tobytes() for piece in expected]
        assert [piece.samples.tobytes() for piece in found] == samples
        assert [piece.start for piece in found] == [piece.start for piece in expected]


def test_pieces_end_with_a_cancellation_or_the_bundle(library: NativeLibrary, speaking_bundle: Path) -> None:
    bundle = library.load(speaking_bundle)
    with library.opened(bundle, "abc " * 40) as pieces, library.opened(bundle, "abc " * 40) as others:
        assert next(pieces).samples.size
        library.functions.kokoro_cancel(bundle)
        with pytest.raises(NativeError) as cancelled:
            next(pieces)
        library.functions.kokoro_free(bundle)
        with pytest.raises(NativeError) as closed:
            next(others)
    assert (cancelled.value.name, closed.value.name) == ("Cancelled", "ClosedBundleError")
    with pytest.raises(NativeError):
        library.call("kokoro_pieces_next", None, None)
    library.functions.kokoro_pieces_free(None)


def test_the_default_of_every_field_is_zero(library: NativeLibrary, native: c_void_p, python: Bundle) -> None:
    assert_equal(library.synthesize(native, "abc"), python.synthesize(phonemes="abc"))
    pieces = zip(library.stream(native, "abc " * 20), python.stream(phonemes="abc " * 20), strict=True)
    for piece, expected in pieces:
        assert_equal(piece, expected)


def test_what_a_bundle_says_about_itself(
    library: NativeLibrary, native: c_void_p, python: Bundle, speaking_bundle: Path
) -> None:
    functions = library.functions
    voices = [functions.kokoro_voice_name(native, number) for number in range(4)]
    assert voices == [*(name.encode() for name in python.voices), None]
    assert functions.kokoro_voice_count(native) == 3
    assert functions.kokoro_max_phonemes(native) == python.max_phonemes
    assert functions.kokoro_level(native) == python.level.name.encode()
    assert functions.kokoro_model_name(native) == b"tiny"
    assert functions.kokoro_is_synthetic(native) == 1


@pytest.mark.parametrize(
    "wrong",
    [
        {"phonemes": ""},
        {"phonemes": "abXc"},
        {"phonemes": "a", "voice": "nobody"},
        {"phonemes": "a", "voice": "af_heart*x"},
        {"phonemes": "a", "voice": "af_heart*0"},
        {"phonemes": "a", "voice": "af_heart+"},
        {"phonemes": "a", "speed": 0.1},
        {"phonemes": "a", "speed": float("nan")},
        {"phonemes": "a", "clause_pause": -1.0},
        {"phonemes": "a", "sentence_pause": 61.0},
        {"phonemes": "a", "end_pause": 61.0},
        {"phonemes": "a", "loudness": -13.0},
        {"phonemes": "a", "loudness": float("nan")},
        # Its loudness was not measured.
        {"phonemes": "a", "loudness": -18.0},
    ],
    ids=str,
)
def test_wrong_input_is_refused_for_the_same_reason(
    library: NativeLibrary, native: c_void_p, python: Bundle, wrong: dict[str, Any]
) -> None:
    with pytest.raises(KokoroError) as expected:
        python.synthesize(**wrong)
    for function in (library.synthesize, library.stream):
        with pytest.raises(NativeError) as found:
            function(native, **wrong)
        assert found.value.name == type(expected.value).__name__
    with pytest.raises(NativeError, match=type(expected.value).__name__):
        library.call("kokoro_check", native, byref(request(**wrong)))


def test_misuse_of_the_interface_is_an_error(
    library: NativeLibrary, native: c_void_p, speaking_bundle: Path
) -> None:
    sound, other, audio = request("abc"), request("abc"), c_void_p()
    other.size = 72
    place = str(speaking_bundle).encode()
    for function, arguments in [
        ("kokoro_load", (None, None, byref(audio))),
        ("kokoro_load", (place, None, None)),
        ("kokoro_load", (place, byref(Options()), byref(audio))),
        ("kokoro_synthesize", (None, byref(sound), byref(audio))),
        ("kokoro_synthesize", (native, None, byref(audio))),
        ("kokoro_synthesize", (native, byref(sound), None)),
        ("kokoro_synthesize", (native, byref(other), byref(audio))),
        ("kokoro_stream", (native, byref(sound), None, None)),
        ("kokoro_check", (native, None)),
        ("kokoro_write_wav", (None, b"x.wav")),
    ]:
        with pytest.raises(NativeError, match=r"^ArgumentTypeError: .*(NULL|sizeof)"):
            library.call(function, *arguments)
    for wrong in (request(), request("abc", text="abc"), request("abc", ssml=1)):
        with pytest.raises(NativeError, match=r"^UsageError: .*phonemes"):
            library.call("kokoro_check", native, byref(wrong))
    sound.phonemes = b"a\xff"
    with pytest.raises(NativeError, match=r"TextEncodingError: .* byte 1"):
        library.call("kokoro_check", native, byref(sound))
    library.functions.kokoro_free(None)
    library.functions.kokoro_audio_free(None)


@pytest.mark.parametrize(("unknown", "accepted"), [(0, True), (1, False)])
def test_structs_of_a_newer_header(
    library: NativeLibrary, native: c_void_p, unknown: int, accepted: bool
) -> None:
    class Newer(Structure):
        _fields_ = (("known", Request), ("unknown", c_size_t))

    newer = Newer(request("abc"), unknown)
    newer.known.size = sizeof(Newer)
    with nullcontext() if accepted else pytest.raises(NativeError, match="does not know"):
        library.call("kokoro_check", native, byref(newer))


def flip(name: str) -> Callable[[Path], object]:
    def change(bundle: Path) -> None:
        content = bytearray((bundle / name).read_bytes())
        content[len(content) // 2] ^= 1
        (bundle / name).write_bytes(content)

    return change


def replace_by_pipe(bundle: Path) -> None:
    (bundle / "parameters.bin").unlink()
    os.mkfifo(bundle / "parameters.bin")


DAMAGES: dict[str, Callable[[Path], object]] = {
    "no manifest": lambda bundle: (bundle / "manifest.msgpack").unlink(),
    "a flipped bit in a library": flip("lib/baseline/decoder-100.so"),
    "a flipped bit in the parameters": flip("parameters.bin"),
    "a flipped bit in a voice": flip("voices/am_adam.bin"),
    "a flipped bit in a text": flip("LICENSE"),
    "a longer file": lambda bundle: (bundle / "NOTICE").write_bytes(b"x" + (bundle / "NOTICE").read_bytes()),
    "a missing file": lambda bundle: (bundle / "voices/am_adam.bin").unlink(),
    "a pipe": replace_by_pipe,
    "a link that leads nowhere": lambda bundle: (
        (bundle / "NOTICE").unlink(),
        (bundle / "NOTICE").symlink_to("x"),
    ),
}


@pytest.mark.parametrize("name", DAMAGES)
def test_damaged_bundles_are_refused_for_the_same_reason(
    library: NativeLibrary, speaking_bundle: Path, tmp_path: Path, name: str
) -> None:
    bundle = tmp_path / "bundle"
    shutil.copytree(speaking_bundle, bundle)
    DAMAGES[name](bundle)
    with pytest.raises(KokoroError) as expected:
        Bundle.load(bundle)
    with pytest.raises(NativeError) as found:
        library.load(bundle)
    assert found.value.name == type(expected.value).__name__


def test_options(library: NativeLibrary, speaking_bundle: Path, tmp_path: Path) -> None:
    pin = sha256_of(speaking_bundle / "manifest.msgpack")
    with library.loaded(speaking_bundle, manifest_sha256=pin.upper().encode(), threads=1, level=b"baseline"):
        pass
    for options, name in [
        ({"manifest_sha256": b"0" * 64}, "ManifestDigestError"),
        ({"threads": -1}, "ThreadsError"),
        ({"threads": 1025}, "ThreadsError"),
        ({"level": b"x86-64-v9"}, "UsageError"),
    ]:
        with pytest.raises(NativeError, match=f"^{name}: "):
            library.load(speaking_bundle, **options)
    with pytest.raises(NativeError, match=r"^MissingFileError: .* is not a bundle"):
        library.load(tmp_path / "nothing")


def test_what_changes_while_a_bundle_is_loaded_is_noticed(
    library: NativeLibrary, speaking_bundle: Path, tmp_path: Path
) -> None:
    bundle = tmp_path / "bundle"
    shutil.copytree(speaking_bundle, bundle)
    with library.loaded(bundle) as loaded:
        expected = library.synthesize(loaded, "abc").samples
        flip("voices/am_adam.bin")(bundle)
        with pytest.raises(NativeError, match=r"^ChangedFileError: "):
            library.synthesize(loaded, "abc", voice="am_adam")
        os.utime(bundle / "parameters.bin", (1, 1))
        assert (library.synthesize(loaded, "abc").samples == expected).all()
        flip("parameters.bin")(bundle)
        with pytest.raises(NativeError, match=r"^ChangedFileError: "):
            library.synthesize(loaded, "abc")


def test_a_callback_stops_its_stream_and_cancelling_stops_all(
    library: NativeLibrary, native: c_void_p
) -> None:
    phonemes = "abc abc " * 30
    pieces: list[Spoken] = []
    with pytest.raises(NativeError, match=r"^Cancelled: "):
        library.stream(native, phonemes, lambda piece: bool(pieces.append(piece)))
    assert len(pieces) == 1

    def cancel(piece: Spoken) -> bool:
        library.functions.kokoro_cancel(native)
        return True

    with pytest.raises(NativeError, match=r"^Cancelled: "):
        library.stream(native, phonemes, cancel)
    assert len(library.stream(native, phonemes)) > 2


def test_threads_share_a_bundle(library: NativeLibrary, native: c_void_p) -> None:
    inputs = [(phonemes, {**each, "trim": False}) for phonemes, each in utterances(24, 3 * MAX_PHONEMES)]

    def speak(number: int) -> Spoken:
        phonemes, options = inputs[number]
        return library.synthesize(native, phonemes, **options)

    expected = [*map(speak, range(24))]
    with ThreadPoolExecutor(8) as pool:
        found = [*pool.map(speak, range(24))]
    for one, other in zip(found, expected, strict=True):
        assert one.samples.tobytes() == other.samples.tobytes()


@pytest.mark.parametrize("count", [10, pytest.param(10_000, marks=pytest.mark.slow)])
def test_loading_and_freeing_keeps_nothing(library: NativeLibrary, speaking_bundle: Path, count: int) -> None:
    def held() -> tuple[int, int, int]:
        with open("/proc/self/maps") as maps:
            mapped = sum("kokoro" in line or "baseline" in line for line in maps)
        return len(os.listdir("/proc/self/fd")), len(os.listdir("/proc/self/task")), mapped

    def cycle() -> None:
        with library.loaded(speaking_bundle, threads=2) as bundle:
            library.synthesize(bundle, "abc")

    for _ in range(5):
        cycle()
    before, resident = held(), resident_bytes()
    for _ in range(count):
        cycle()
    assert held() == before
    assert resident_bytes() - resident < 2**20


def resident_bytes() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGESIZE")


def test_the_mode_of_floating_point_decides_nothing(library: NativeLibrary, native: c_void_p) -> None:
    """Apps that play audio flush subnormal numbers to zero, or round in another direction."""
    system = ctypes.CDLL("libm.so.6")
    upward, nearest = (0x800, 0) if os.uname().machine == "x86_64" else (0x400000, 0)
    expected = library.synthesize(native, "abc abc", speed=1.7)
    system.fesetround(upward)
    try:
        found = library.synthesize(native, "abc abc", speed=1.7)
        assert system.fegetround() == upward
    finally:
        system.fesetround(nearest)
    assert found.samples.tobytes() == expected.samples.tobytes()


def test_a_wav_file_holds_the_samples(
    library: NativeLibrary, native: c_void_p, python: Bundle, tmp_path: Path
) -> None:
    python.synthesize(phonemes="abc", trim=True).save(tmp_path / "python.wav")

    def save(piece: Any, _: Any) -> int:
        library.call("kokoro_write_wav", piece, str(tmp_path / "native.wav").encode())
        return 0

    library.call("kokoro_stream", native, byref(request("abc")), CALLBACK(save), None)
    assert (tmp_path / "native.wav").read_bytes() == (tmp_path / "python.wav").read_bytes()
