"""A bundle of each precision speaks as kokoro does with the same weights, on any threads, in any bucket."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import product
from pathlib import Path

import pytest

from exporter.model.config import OFFICIAL_CONFIG
from exporter.parity.answers import Kokoro
from exporter.parity.figures import request_for
from exporter.parity.rounding import rounding_figures
from exporter.reference.utterances import Utterance
from exporter.validate.kernel_order import stage_calls
from exporter.validate.probe import probe
from exporter.validate.rounding_table import rounding_tables
from exporter.validate.utterance_runs import Executions, run_utterance
from runtime_min import Bundle
from runtime_min.format.signatures import STAGE_NAMES
from tests.e2e.conftest import PRECISION, Export
from tests.e2e.test_fidelity import assert_holds_at
from tests.e2e.test_length_is_data import arrays_of, assert_same_bits
from tests.support.paths import PROVING
from tests.support.proof import assert_speaks_as_kokoro, record_equal_bits, record_rounding
from tests.support.utterances import phonemes_of, recorded_phonemes

pytestmark = pytest.mark.e2e

# The bundle of the other files is of float16, and kernels have tests of all types of weights.
ROUNDED = ("float16", pytest.param("int8", marks=pytest.mark.slow))
PRECISIONS = (*ROUNDED, pytest.param("float32", marks=pytest.mark.slow))
every_rounding = pytest.mark.parametrize("precision", ROUNDED, indirect=True, scope="module")

VOICES = ("af_heart", "am_michael", "bf_emma", "zm_yunxi")
TOKENS = (3, 12, 44, 62, 105, 219, 512)
SPEEDS = (0.5, 1.0, 2.0)
SAID = [Utterance(phonemes_of(3), "af_heart", seed=3), Utterance(phonemes_of(12), "bf_emma", seed=12)]
SENTENCES = [
    Utterance(phonemes, "af_heart")
    for phonemes in recorded_phonemes() or [phonemes_of(tokens) for tokens in (14, 44, 66, 105)]
]


def tokens_of(said: Utterance) -> str:
    return f"{len(said.phonemes) + 2} tokens"


@pytest.fixture(scope="module", params=PRECISIONS)
def precision(request: pytest.FixtureRequest) -> str:
    """Precision of the bundle's weights."""
    return str(request.param)


@pytest.fixture(scope="module")
def place(directory: Path, export: Export, precision: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A bundle of them, on the disk."""
    if precision == PRECISION:
        return directory
    output = tmp_path_factory.mktemp(precision) / "bundle"
    done = export(output, "--precision", precision)
    assert done.returncode == 0, done.stderr
    return output


@pytest.fixture(scope="module")
def bundle(place: Path) -> Iterator[Bundle]:
    """The bundle, loaded."""
    with Bundle.load(place, threads=2) as loaded:
        yield loaded


def test_nearly_all_weights_are_stored_in_the_types_of_the_precision(bundle: Bundle, precision: str) -> None:
    sizes = Counter[str]()
    for tensor in bundle.manifest.parameters.tensors:
        sizes[tensor.dtype] += tensor.bytes
    assert bundle.manifest.precision == precision
    expected = {"float32": {"float32"}, "float16": {"float16"}, "int8": {"float16", "int8"}}[precision]
    assert {dtype for dtype, size in sizes.items() if size > 0.03 * sizes.total()} == expected


@pytest.mark.slow
@pytest.mark.parametrize("said", SAID, ids=tokens_of)
def test_an_utterance_is_spoken_as_kokoro_speaks_it_with_the_same_weights(
    bundle: Bundle, rounded: Kokoro, said: Utterance
) -> None:
    assert_speaks_as_kokoro(bundle, rounded, said)


@pytest.mark.slow
@pytest.mark.parametrize("speed", SPEEDS)
@pytest.mark.parametrize("tokens", TOKENS)
def test_every_length_at_every_speed_is_spoken_as_kokoro_speaks_it(
    bundle: Bundle, rounded: Kokoro, tokens: int, speed: float
) -> None:
    # The long ones take minutes: a voice each. Over all lengths and speeds every voice has its turn.
    turn = TOKENS.index(tokens) + SPEEDS.index(speed)
    voices = VOICES if tokens <= 44 else (VOICES[turn % len(VOICES)],)
    for voice in voices:
        said = Utterance(phonemes_of(tokens), voice, speed, seed=turn)
        assert_speaks_as_kokoro(bundle, rounded, said)


@pytest.mark.slow
@pytest.mark.parametrize("said", SENTENCES, ids=tokens_of)
def test_real_sentences_are_spoken_as_kokoro_speaks_them(
    bundle: Bundle, rounded: Kokoro, said: Utterance
) -> None:
    assert_speaks_as_kokoro(bundle, rounded, said)


@pytest.mark.slow
@pytest.mark.parametrize(("tokens", "frames"), [(62, 512), (512, 1024), (512, 5120)])
def test_at_the_end_of_the_larger_buckets_and_one_past_it_nothing_is_different(
    bundle: Bundle, rounded: Kokoro, tokens: int, frames: int
) -> None:
    assert_holds_at(bundle, rounded, tokens, frames)


@pytest.mark.slow
@every_rounding
def test_every_block_does_what_kokoros_does_with_rounded_weights(bundle: Bundle, rounded: Kokoro) -> None:
    executions = Executions(bundle, rounded, stage_calls(OFFICIAL_CONFIG, rounded.stored.precision))
    runs = run_utterance(executions, SAID[0])
    for stage in STAGE_NAMES:
        table = probe(runs, stage)
        assert table.holds, table.conclusion
    worst = {"float16": "decoder.generator.", "int8": "decoder.decode."}[rounded.stored.precision]
    (table,) = rounding_tables(runs)
    assert worst in table.conclusion


def assert_rounding_changes_little(bundle: Bundle, rounded: Kokoro, said: list[Utterance], name: str) -> None:
    found = [rounded.rounding(request_for(bundle, each)) for each in said]
    figures = rounding_figures(found, rounded.stored.precision)
    record_rounding(rounded.stored.precision, name, figures)
    assert [str(figure) for figure in figures if not figure.holds] == []


@every_rounding
def test_rounding_changes_little(bundle: Bundle, rounded: Kokoro) -> None:
    assert_rounding_changes_little(bundle, rounded, SAID[1:], tokens_of(SAID[1]))


@pytest.mark.slow
@every_rounding
def test_rounding_changes_little_in_real_sentences(bundle: Bundle, rounded: Kokoro) -> None:
    assert_rounding_changes_little(bundle, rounded, SENTENCES, f"{len(SENTENCES)} sentences")


@pytest.mark.parametrize("tokens", [12, *(pytest.param(n, marks=pytest.mark.slow) for n in (62, 219))])
def test_threads_and_buckets_change_no_bit(place: Path, bundle: Bundle, tokens: int) -> None:
    expected, threads = arrays_of(bundle.trace(phonemes_of(tokens))), (1, 3, 8) if PROVING else (1, 3)
    frames = expected["durations"].sum()
    text_buckets, frame_buckets = (bundle.stage(name).buckets for name in ("bert", "decoder"))
    sizes = [
        {"tokens": text, "frames": audio}
        for text, audio in product(text_buckets, frame_buckets)
        if tokens <= text and frames <= audio
    ]
    for number in threads:
        with Bundle.load(place, threads=number, verify=False) as other:
            for size in sizes:
                buckets = {name: size[other.stage(name).stage.axis] for name in STAGE_NAMES}
                assert_same_bits(arrays_of(other.trace(phonemes_of(tokens), buckets=buckets)), expected)
    record_equal_bits(bundle.manifest.precision, tokens, (*threads, bundle.threads), sizes)
