"""Length is data: memory beyond an utterance, an earlier one, the bucket and the threads change no bit."""

from __future__ import annotations

import json
import struct
import subprocess
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from runtime_min import Bundle
from runtime_min.format.signatures import STAGE_NAMES
from runtime_min.model.chain import Trace
from tests.e2e.conftest import FRAME_BUCKETS, ROOT, TEXT_BUCKETS, run_python
from tests.support.utterances import HELLO, phonemes_of

pytestmark = pytest.mark.e2e

SUPPORT = ROOT / "tests" / "support"
PATTERNS = {"NaN": float("nan"), "1e9": 1e9}
every_pattern = pytest.mark.parametrize("pattern", PATTERNS.values(), ids=PATTERNS)
every_stage = pytest.mark.parametrize("stage", STAGE_NAMES)
# More than this lies in one activation of the decoder's largest bucket.
MEGABYTES = 50 << 20


def arrays_of(trace: Trace) -> dict[str, NDArray[Any]]:
    return {name: value for name, value in trace._asdict().items() if isinstance(value, np.ndarray)}


def assert_same_bits(one: Mapping[str, NDArray[Any]], other: Mapping[str, NDArray[Any]]) -> None:
    assert one.keys() == other.keys()
    differing = [name for name in one if one[name].tobytes() != other[name].tobytes()]
    assert not differing, f"these differ: {differing}"


def inputs_of(stage: str, trace: Trace) -> dict[str, NDArray[Any]]:
    """Inputs of `stage` in the chain."""
    inputs: dict[str, dict[str, NDArray[Any]]] = {
        "bert": {"token_ids": trace.token_ids},
        "duration": {"hidden": trace.hidden, "prosody_style": trace.style.prosody},
        "text_encoder": {"token_ids": trace.token_ids},
        "f0n": {"aligned_encoding": trace.aligned_encoding, "prosody_style": trace.style.prosody},
        "decoder": {
            "asr": trace.asr,
            "f0": trace.f0,
            "energy": trace.energy,
            "decoder_style": trace.style.decoder,
            "noise": trace.noise,
        },
    }
    return inputs[stage]


@pytest.fixture(scope="module")
def hello(bundle: Bundle) -> Trace:
    """A short utterance, which every bucket holds."""
    trace = bundle.trace(HELLO)
    assert trace.token_ids.size <= TEXT_BUCKETS[0]
    assert trace.durations.sum() <= FRAME_BUCKETS[0]
    return trace


# Fresh memory.


@pytest.fixture(scope="module")
def fill_memory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A library that fills what the allocator hands out."""
    library = tmp_path_factory.mktemp("shim") / "fill_memory.so"
    options = ("-O2", "-fno-builtin", "-shared", "-fPIC", "-ldl")
    command = ["cc", str(SUPPORT / "programs" / "fill_memory.c"), *options, "-o", str(library)]
    subprocess.run(command, check=True)
    return library


def spoken_alone(directory: Path, **environment: str) -> Any:
    """Digests of a short utterance through every bucket, from a process of its own."""
    done = run_python(SUPPORT / "programs" / "speak_for_digests.py", directory, HELLO, "ə", **environment)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def untouched(directory: Path) -> Any:
    """Digests without a changed allocator."""
    return spoken_alone(directory)


@every_pattern
def test_what_fresh_memory_holds_changes_no_bit(
    directory: Path, fill_memory: Path, untouched: Any, pattern: float
) -> None:
    (word,) = struct.unpack("<I", struct.pack("<f", pattern))
    filled = spoken_alone(directory, LD_PRELOAD=str(fill_memory), FILL_PATTERN=str(word))
    assert untouched["filled"] == 0
    assert filled["filled"] > MEGABYTES
    assert filled["fresh"] == word
    assert filled["spoken"] == untouched["spoken"]


@pytest.mark.slow
def test_every_bucket_gives_the_same_bits_in_fresh_memory(untouched: Any) -> None:
    for phonemes, by_bucket in untouched["spoken"].items():
        assert len(by_bucket) == len(TEXT_BUCKETS) * len(FRAME_BUCKETS)
        assert len({json.dumps(digests) for digests in by_bucket.values()}) == 1, phonemes


# Memory beside the inputs.


def surrounded(array: NDArray[Any], fill: float) -> NDArray[Any]:
    """A copy of `array` at a multiple of 64 bytes, with a page of `fill` before and behind it."""
    page = 4096
    memory = np.empty(array.nbytes + 3 * page, np.uint8)
    start = -memory.ctypes.data % 64
    around = memory[start : start + array.nbytes + 2 * page].view(array.dtype)
    # A token beyond the vocabulary would be read from outside the table: another one's number will do.
    around[:] = 7 if array.dtype == np.int64 else fill
    inner = around[page // array.itemsize :][: array.size].reshape(array.shape)
    inner[:] = array
    return inner


@every_pattern
@every_stage
def test_what_lies_beside_the_inputs_changes_no_bit(
    bundle: Bundle, hello: Trace, stage: str, pattern: float
) -> None:
    runner, inputs = bundle.stage(stage), inputs_of(stage, hello)
    expected = runner.run(inputs)
    around = {name: surrounded(array, pattern) for name, array in inputs.items()}
    assert_same_bits(runner.run(around), expected)


# Memory that an earlier utterance has left.


@pytest.mark.parametrize("tokens", [3, 60, 219])
def test_what_was_spoken_before_changes_no_bit(bundle: Bundle, hello: Trace, tokens: int) -> None:
    before = bundle.trace(phonemes_of(tokens), "am_michael", 2.0, seed=3)
    assert before.durations.sum() != hello.durations.sum()
    assert_same_bits(arrays_of(bundle.trace(HELLO)), arrays_of(hello))


@every_pattern
def test_an_earlier_call_that_computed_nonsense_changes_no_bit(
    bundle: Bundle, hello: Trace, pattern: float
) -> None:
    """NaN in a stage's inputs reaches all of the memory that the next call uses again."""
    for stage in ("duration", "f0n", "decoder"):
        nonsense = {name: np.full_like(array, pattern) for name, array in inputs_of(stage, hello).items()}
        outputs = bundle.stage(stage).run(nonsense)
        assert not np.array_equal(next(iter(outputs.values())), getattr(hello, next(iter(outputs))))
    assert_same_bits(arrays_of(bundle.trace(HELLO)), arrays_of(hello))


# The bucket and the threads.


@pytest.mark.slow
@every_stage
def test_every_bucket_of_a_stage_gives_the_same_bits(bundle: Bundle, hello: Trace, stage: str) -> None:
    runner, inputs = bundle.stage(stage), inputs_of(stage, hello)
    first, *others = [runner.run(inputs, bucket) for bucket in runner.buckets]
    assert len(others) == len(TEXT_BUCKETS if runner.stage.axis == "tokens" else FRAME_BUCKETS) - 1
    for other in others:
        assert_same_bits(other, first)


@pytest.fixture(scope="module")
def single(directory: Path) -> Iterator[Callable[[int], Trace]]:
    """Utterances by their tokens, spoken on one thread, each once."""
    with Bundle.load(directory, threads=1, verify=False) as loaded:
        assert loaded.threads == 1
        yield cache(lambda tokens: loaded.trace(phonemes_of(tokens)))


@pytest.mark.parametrize("threads", [2, 3])
def test_any_number_of_threads_gives_the_same_bits(
    directory: Path, single: Callable[[int], Trace], threads: int
) -> None:
    with Bundle.load(directory, threads=threads, verify=False) as several:
        assert several.threads == threads
        for tokens in (3, 15, 62):
            assert_same_bits(arrays_of(several.trace(phonemes_of(tokens))), arrays_of(single(tokens)))


# What it costs.

COST = """
import statistics, sys, time
from runtime_min import Bundle

STAGES = {"text": ("bert", "duration", "text_encoder"), "frames": ("f0n", "decoder")}

def buckets(bundle, position):
    return {name: bundle.stage(name).buckets[position] for names in STAGES.values() for name in names}

def cost(bundle, position):
    started = time.process_time()
    bundle.trace(sys.argv[2], buckets=buckets(bundle, position))
    return time.process_time() - started

with Bundle.load(sys.argv[1], threads=1) as bundle:
    for position in (0, -1):
        cost(bundle, position)
    pairs = [(cost(bundle, 0), cost(bundle, -1)) for _ in range(9)]
smallest, largest = (statistics.median(times) for times in zip(*pairs))
print(smallest, largest)
"""


@pytest.mark.slow
def test_a_short_utterance_in_the_largest_bucket_costs_hardly_more_than_in_the_smallest(
    directory: Path,
) -> None:
    # Processor time, interleaved, on one thread: another process that takes the cores away changes little.
    done = run_python("-c", COST, directory, HELLO)
    assert done.returncode == 0, done.stderr
    smallest, largest = map(float, done.stdout.split())
    assert largest < 1.5 * smallest
