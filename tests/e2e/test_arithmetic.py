"""A bundle whose decoder may compute in bfloat16: what changes by how much, and what does not change."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from exporter.compiler.targets import find_target
from exporter.parity.answers import Kokoro
from exporter.reference.utterances import Utterance
from runtime_min import Bundle
from runtime_min.engine.machine import levels_that_run, this_machine
from runtime_min.format.verify import read_manifest
from tests.e2e.conftest import PRECISION, Export, environment
from tests.e2e.test_length_is_data import arrays_of, assert_same_bits
from tests.e2e.test_precision import SENTENCES
from tests.support.emulation import amx, bundle_server, questions
from tests.support.emulation.bundle_server import EmulatedBundle
from tests.support.native.both_runtimes import both_runtimes
from tests.support.native.library import native_library
from tests.support.proof import assert_speaks_as_kokoro
from tests.support.utterances import phonemes_of

AMX, LEVEL = find_target("linux-x86_64").arithmetic_levels
pytestmark = [
    pytest.mark.e2e,
    pytest.mark.slow,
    pytest.mark.skipif(
        not levels_that_run([LEVEL], this_machine().features),
        reason=f"this processor does not run the CPU level {LEVEL.name}",
    ),
]


@pytest.fixture(scope="module")
def precision() -> str:
    return PRECISION


@pytest.fixture(scope="module")
def place(export: Export, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A bundle with float32 and bfloat16."""
    output = tmp_path_factory.mktemp("bfloat16") / "bundle"
    done = export(output, "--arithmetic", "bfloat16")
    assert done.returncode == 0, done.stderr
    return output


@pytest.fixture(scope="module")
def halves(place: Path) -> Iterator[Bundle]:
    """The bundle, loaded to compute in bfloat16."""
    with Bundle.load(place, threads=2, arithmetic="bfloat16") as bundle:
        assert (bundle.level.name, bundle.arithmetic) == (LEVEL.name, "bfloat16")
        yield bundle


@pytest.mark.parametrize("tokens", [3, 12, 44, 105, 512])
def test_every_length_is_spoken_as_the_arithmetic_may(halves: Bundle, rounded: Kokoro, tokens: int) -> None:
    assert_speaks_as_kokoro(halves, rounded, Utterance(phonemes_of(tokens), "am_michael", seed=tokens))


@pytest.mark.parametrize("said", SENTENCES, ids=lambda said: f"{len(said.phonemes) + 2} tokens")
def test_sentences_are_spoken_as_the_arithmetic_may(halves: Bundle, rounded: Kokoro, said: Utterance) -> None:
    assert_speaks_as_kokoro(halves, rounded, said)


@pytest.mark.parametrize("tokens", [3, 44, 219])
def test_all_but_the_audio_has_the_bits_of_float32(place: Path, halves: Bundle, tokens: int) -> None:
    with Bundle.load(place, threads=2) as exact:
        assert exact.arithmetic == "float32"
        one, other = (arrays_of(bundle.trace(phonemes_of(tokens), "af_heart")) for bundle in (exact, halves))
    assert one.pop("audio").tobytes() != other.pop("audio").tobytes()
    assert_same_bits(one, other)


@pytest.mark.parametrize("tokens", [12, 105])
def test_threads_change_no_bit(place: Path, halves: Bundle, tokens: int) -> None:
    with Bundle.load(place, threads=1, arithmetic="bfloat16") as single:
        one, other = (arrays_of(bundle.trace(phonemes_of(tokens), "af_heart")) for bundle in (single, halves))
    assert_same_bits(one, other)


@pytest.fixture(scope="module")
def amx_bundle(place: Path) -> Iterator[EmulatedBundle]:
    """The same on a processor with AMX, or one whose tiles are emulated."""
    given = (place, "bfloat16", *AMX.features)
    with questions.asking(
        [sys.executable], bundle_server.__file__, *given, env=environment(**amx.environment())
    ) as ask:
        bundle = EmulatedBundle(place, read_manifest(place), ask, "bfloat16")
        assert bundle.level() == AMX.name
        yield bundle


@pytest.mark.parametrize("tokens", [3, 44])
def test_on_amx_every_length_is_spoken_as_the_arithmetic_may(
    amx_bundle: EmulatedBundle, halves: Bundle, rounded: Kokoro, tokens: int
) -> None:
    said = Utterance(phonemes_of(tokens), "am_michael", seed=tokens)
    direct, transformed = (
        next(each.value for each in compared.figures if each.name == "decoder, dB")
        for compared in (assert_speaks_as_kokoro(bundle, rounded, said) for bundle in (amx_bundle, halves))
    )
    # Samples and taps are rounded as they are, which loses less than after a transform.
    assert direct > transformed + 10


def test_where_linux_refuses_tiles_the_next_level_speaks(place: Path) -> None:
    given = (place, "bfloat16", *AMX.features)
    variables = environment(**amx.environment("refused"))
    with questions.asking([sys.executable], bundle_server.__file__, *given, env=variables) as ask:
        assert EmulatedBundle(place, read_manifest(place), ask).level() == LEVEL.name


def test_the_c_library_gives_the_same_bits(place: Path) -> None:
    with both_runtimes(native_library(), place, LEVEL.name) as both:
        for tokens in (3, 44, 105):
            both.compare(phonemes=phonemes_of(tokens), voice="bf_emma")
