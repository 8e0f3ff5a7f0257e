"""With the statistics of a voice the native runtime speaks as Python does, and refuses as it does."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from runtime_min import Bundle, KokoroError
from runtime_min.format.verify import read_manifest
from tests.support.native.both_runtimes import BothRuntimes, assert_equal, both_runtimes, utterances
from tests.support.native.library import NativeError, NativeSpeech, native_library
from tests.support.tiny.bundle import NORM
from tests.support.tiny.self_test import rewrite
from tests.support.tiny.statistics import BOTH, FILE, OTHER, ROWS, VOICE, lengthened, stored, with_statistics

LONG = "abc abc abcabc " * 20


def known(bundle: Path, place: Path, *content: bytes, entry: object = None) -> Path:
    return lengthened(with_statistics(bundle, place, *content, entry=entry))


@pytest.fixture(scope="module")
def both(speaking_bundle: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[BothRuntimes]:
    bundle = known(speaking_bundle, tmp_path_factory.mktemp("known") / "bundle")
    with both_runtimes(native_library(), bundle) as loaded:
        yield loaded


@pytest.fixture(scope="module")
def reading(reading_bundle: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[BothRuntimes]:
    bundle = known(reading_bundle, tmp_path_factory.mktemp("reading") / "bundle")
    with both_runtimes(native_library(), bundle) as loaded:
        yield loaded


def test_streams_are_equal_to_the_bit(both: BothRuntimes) -> None:
    for phonemes, options in utterances(7, 2 * ROWS):
        both.compare_streams(phonemes=phonemes, **options)
        both.compare(phonemes=phonemes, **options)


def test_parts_of_long_texts_alone_are_decoded_with_them(
    both: BothRuntimes, speaking_bundle: Path, tmp_path: Path
) -> None:
    bundle = known(speaking_bundle, tmp_path / "without", entry={})
    said = [("abc", VOICE), (LONG[:129], VOICE), (LONG, OTHER), (LONG, f"{VOICE}+{OTHER}"), (LONG, VOICE)]
    with Bundle.load(bundle) as without:
        alike = [
            b"".join(piece.samples.tobytes() for piece in both.library.stream(both.native, text, voice=voice))
            == b"".join(piece.samples.tobytes() for piece in without.stream(phonemes=text, voice=voice))
            for text, voice in said
        ]
    assert alike == [True, True, True, True, False]


@pytest.mark.parametrize("blend", [f"{VOICE}+{OTHER}", f"{OTHER}*0.3,{VOICE}*0.123", f"{VOICE}+af_bella"])
def test_blends_are_equal_to_the_bit(speaking_bundle: Path, tmp_path: Path, blend: str) -> None:
    bundle = known(speaking_bundle, tmp_path / "bundle", entry=BOTH)
    with both_runtimes(native_library(), bundle) as loaded:
        loaded.compare_streams(phonemes=LONG, voice=blend)


@pytest.mark.parametrize(
    "pushed",
    [
        ["Good evening, Dr. Smith. ", "It is 5 p.m. here, and ", "we go on and on. ", "Shall we begin?"],
        ["[pause:1s]\n\n", "So it is, ", "and so it goes on, and on."],
        ["Yes."],
    ],
    ids=["sentences", "nothing spoken first", "one"],
)
@pytest.mark.parametrize("voice", [VOICE, OTHER])
def test_a_text_that_arrives_is_spoken_with_the_bits_of_python(
    reading: BothRuntimes, pushed: list[str], voice: str
) -> None:
    python, found, expected = reading.python.live(voice=voice), [], []
    with NativeSpeech(reading.library, reading.native, voice=voice) as native:
        for part in pushed:
            native.push(part)
            python.push(part)
            found += native.pieces()
            expected += python.pieces()
        native.end()
        python.end()
        found += native.pieces()
        expected += python.pieces()
    for piece, other in zip(found, expected, strict=True):
        assert_equal(piece, other)


def refusals(bundle: Path, **said: Any) -> tuple[str, str]:
    """Returns the errors of the native and the Python runtime, with their messages."""
    library = native_library()
    with pytest.raises(NativeError) as native, library.loaded(bundle) as loaded:
        library.stream(loaded, **said)
    with pytest.raises(KokoroError) as python, Bundle.load(bundle) as here:
        list(here.stream(**said))
    return str(native.value), f"{type(python.value).__name__}: {python.value}"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "should have 2 numbers of 2 bytes and has 0 bytes"),
        (stored()[:3], "should have 2 numbers of 2 bytes and has 3 bytes"),
        (stored() * 2, "should have 2 numbers of 2 bytes and has 8 bytes"),
        (stored(float("nan")), "should have finite numbers and has others"),
        (stored(0, float("inf")), "should have finite numbers and has others"),
        (stored(float("-inf")), "should have finite numbers and has others"),
    ],
    ids=["empty", "short", "long", "not a number", "infinite", "minus infinity"],
)
def test_a_hostile_file_is_refused_when_it_is_needed(
    speaking_bundle: Path, tmp_path: Path, content: bytes, message: str
) -> None:
    bundle = known(speaking_bundle, tmp_path / "bundle", content)
    native, python = refusals(bundle, phonemes=LONG)
    assert native == python
    assert native.startswith("DamagedFileError: ") and message in native
    with both_runtimes(native_library(), bundle) as loaded:
        loaded.compare(phonemes="abc")
        loaded.compare(phonemes=LONG, voice=OTHER)


@pytest.mark.parametrize(
    ("mean", "deviation"), [(0, 6e-8), (65504, 65504), (-0.0, 0), (6e-8, 1), (-3e-5, -2)]
)
def test_every_finite_number_is_read_as_in_python(
    speaking_bundle: Path, tmp_path: Path, mean: float, deviation: float
) -> None:
    bundle = known(speaking_bundle, tmp_path / "bundle", stored(mean, deviation))
    with both_runtimes(native_library(), bundle) as loaded:
        loaded.compare_streams(phonemes=LONG)


@pytest.mark.parametrize(
    "entry",
    [
        [],
        "",
        3,
        {"": FILE},
        {VOICE: 1},
        {VOICE: ""},
        {VOICE: f"/{FILE}"},
        {VOICE: "../x"},
        {VOICE: "other.bin"},
    ],
    ids=str,
)
def test_a_hostile_entry_is_refused_by_both(speaking_bundle: Path, tmp_path: Path, entry: object) -> None:
    bundle = known(speaking_bundle, tmp_path / "bundle", entry=entry)
    native, python = refusals(bundle, phonemes=LONG)
    assert native.startswith("ManifestError: ") and python.startswith("ManifestError: ")
    assert "extensions.statistics" in native


@pytest.mark.parametrize(("dtype", "shape"), [("float32", (1, 2)), ("float32", (2,)), ("float16", (2, 2))])
def test_a_norm_of_another_shape_is_refused_by_both(
    speaking_bundle: Path, tmp_path: Path, dtype: str, shape: tuple[int, ...]
) -> None:
    bundle = known(speaking_bundle, tmp_path / "bundle")
    manifest = read_manifest(bundle)
    tensors = tuple(
        tensor._replace(dtype=dtype, shape=shape) if tensor.name == NORM else tensor
        for tensor in manifest.parameters.tensors
    )
    required = ("precision",) if dtype == "float16" else ()
    parameters = manifest.parameters._replace(tensors=tensors)
    rewrite(bundle, manifest._replace(parameters=parameters, requires=required))
    native, python = refusals(bundle, phonemes=LONG)
    assert native.startswith("ManifestError: ") and python.startswith("ManifestError: ")
    assert NORM in native and NORM in python
