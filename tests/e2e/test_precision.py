"""A bundle of rounded weights speaks as kokoro does with the same, on any threads, in any bucket."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from exporter.model.config import OFFICIAL_CONFIG
from exporter.parity.answers import Kokoro
from exporter.parity.figures import compare, request_for
from exporter.parity.rounding import rounding_figures
from exporter.reference.files import StoredWeights
from exporter.reference.utterances import Utterance
from exporter.validate.kernel_order import stage_calls
from exporter.validate.probe import probe
from exporter.validate.rounding_table import rounding_table
from exporter.validate.utterance_runs import Executions, run_utterance
from runtime_min import Bundle
from runtime_min.format.signatures import STAGE_NAMES
from tests.e2e.conftest import FRAME_BUCKETS, Export
from tests.e2e.test_length_is_data import arrays_of, assert_same_bits
from tests.support.exported_self_test import ANSWERS
from tests.support.proof import assert_all_hold
from tests.support.utterances import HELLO, phonemes_of

pytestmark = pytest.mark.e2e

SAID = [Utterance(phonemes_of(3), "af_heart", seed=3), Utterance(phonemes_of(12), "bf_emma", seed=12)]
LONGER = Utterance(phonemes_of(62), "af_heart", seed=62)


def tokens_of(said: Utterance) -> str:
    return f"{len(said.phonemes) + 2} tokens"


@pytest.fixture(scope="module", params=["float16", pytest.param("int8", marks=pytest.mark.slow)])
def stored(request: pytest.FixtureRequest) -> StoredWeights:
    """The weights of the bundle."""
    return StoredWeights(request.param)


@pytest.fixture(scope="module")
def place(export: Export, stored: StoredWeights, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A bundle of them with synthetic voices, on the disk."""
    output = tmp_path_factory.mktemp(stored.precision) / "bundle"
    done = export(output, "--precision", stored.precision)
    assert done.returncode == 0, done.stderr
    return output


@pytest.fixture(scope="module")
def bundle(place: Path) -> Iterator[Bundle]:
    """The bundle, loaded."""
    with Bundle.load(place, threads=2) as loaded:
        yield loaded


@pytest.fixture(scope="module")
def rounded(checkpoint_file: Path, stored: StoredWeights) -> Iterator[Kokoro]:
    """Kokoro's answers with weights as that bundle stores them."""
    with Kokoro((checkpoint_file, OFFICIAL_CONFIG), threads=2, store=ANSWERS, stored=stored) as answering:
        yield answering


def test_nearly_all_weights_are_stored_in_half_the_bytes(bundle: Bundle, stored: StoredWeights) -> None:
    sizes = Counter[str]()
    for tensor in bundle.manifest.parameters.tensors:
        sizes[tensor.dtype] += tensor.bytes
    assert bundle.manifest.precision == stored.precision
    assert sizes["float32"] < 0.03 * sizes["float16"]


@pytest.mark.parametrize("said", [*SAID, pytest.param(LONGER, marks=pytest.mark.slow)], ids=tokens_of)
def test_an_utterance_is_spoken_as_kokoro_speaks_it_with_rounded_weights(
    bundle: Bundle, rounded: Kokoro, said: Utterance
) -> None:
    assert_all_hold(compare(bundle, rounded, said), bundle.manifest.precision)


def test_every_block_does_what_kokoros_does_with_rounded_weights(bundle: Bundle, rounded: Kokoro) -> None:
    executions = Executions(bundle, rounded, stage_calls(OFFICIAL_CONFIG, rounded.stored.precision))
    runs = run_utterance(executions, SAID[0])
    for stage in STAGE_NAMES:
        table = probe(runs, stage)
        assert table.holds, table.conclusion
    worst = {"float16": "decoder.generator.", "int8": "decoder.decode."}[rounded.stored.precision]
    assert worst in rounding_table(runs).conclusion


def test_rounding_changes_little(rounded: Kokoro, bundle: Bundle) -> None:
    found = rounded.rounding(request_for(bundle, SAID[1]))
    figures = rounding_figures([found], rounded.stored.precision)
    assert [str(figure) for figure in figures if not figure.holds] == []


@pytest.mark.parametrize("threads", [1, 3])
def test_threads_and_buckets_change_no_bit(place: Path, bundle: Bundle, threads: int) -> None:
    expected = arrays_of(bundle.trace(HELLO))
    with Bundle.load(place, threads=threads, verify=False) as other:
        for position in range(len(FRAME_BUCKETS)):
            buckets = {name: other.stage(name).buckets[position] for name in STAGE_NAMES}
            assert_same_bits(arrays_of(other.trace(HELLO, buckets=buckets)), expected)
