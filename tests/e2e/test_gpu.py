"""Bundles for Metal and CUDA speak on the CPU's stand-in for a GPU, with this machine as their host.

The stand-in runs the kernels' own source: for Metal with functions and divisions off by what its fast math
allows, for CUDA what the fatbin is compiled from.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from exporter.parity.answers import Kokoro
from exporter.reference.utterances import Utterance
from runtime_min.format.verify import read_manifest
from tests.e2e.conftest import Export, environment, run_python
from tests.support.emulation import bundle_server, questions
from tests.support.emulation.bundle_server import EmulatedBundle
from tests.support.gpu import stand_in
from tests.support.gpu.export_for_stand_in import FRAME_BUCKET, SHIPPED, TEXT_BUCKET
from tests.support.proof import assert_speaks_as_kokoro
from tests.support.utterances import HELLO, phonemes_of

pytestmark = [pytest.mark.e2e, pytest.mark.machines]

# By kind: whether its compiler uses fast math, and where the encoders' LSTMs compute.
KINDS = {"metal": (True, "metal"), "cuda": (False, "cpu")}


@pytest.fixture(scope="module")
def bundles(export: Export, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A bundle for each kind of device."""
    place = tmp_path_factory.mktemp("gpu")
    buckets = ("--text-buckets", str(TEXT_BUCKET), "--frame-buckets", str(FRAME_BUCKET))
    done = export(place / "cpu", "--precision", "float32", *buckets)
    assert done.returncode == 0, done.stderr
    for kind, (fast_math, lstm_device) in KINDS.items():
        library = stand_in.build(kind, fast_math)
        module, paths = "tests.support.gpu.export_for_stand_in", (library, place / "cpu", place / kind)
        done = run_python("-m", module, kind, lstm_device, *paths)
        assert done.returncode == 0, done.stderr
    return {kind: place / kind for kind in KINDS}


@pytest.fixture(scope="module", params=KINDS)
def on_gpu(request: pytest.FixtureRequest, bundles: dict[str, Path]) -> Iterator[EmulatedBundle]:
    """A bundle loaded by a process that has nothing of TVM's compiler."""
    path = bundles[request.param]
    with questions.asking([sys.executable], bundle_server.__file__, path, env=environment()) as ask:
        yield EmulatedBundle(path, read_manifest(path), ask)


def test_a_gpu_speaks_as_kokoro_speaks(on_gpu: EmulatedBundle, exact_kokoro: Kokoro) -> None:
    for phonemes, voice, speed in ((HELLO, "af_heart", 2.0), (phonemes_of(3), "am_michael", 1.0)):
        assert_speaks_as_kokoro(on_gpu, exact_kokoro, Utterance(phonemes, voice, speed))


def test_its_self_test_holds(on_gpu: EmulatedBundle) -> None:
    done = run_python("-m", "runtime_min", str(on_gpu.directory), "--self-test")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "source" in done.stdout


def test_only_what_the_target_says_is_on_the_gpu(on_gpu: EmulatedBundle) -> None:
    (kind,) = {stage.device for stage in on_gpu.manifest.stages} - {"cpu"}
    moved = {stage.name for stage in on_gpu.manifest.stages if stage.device == kind}
    lstm_stages = {"duration", "text_encoder"} if KINDS[kind][1] == kind else set()
    assert moved == {"decoder"} | lstm_stages
    assert on_gpu.manifest.target.name == SHIPPED[kind]


def test_the_same_input_gives_the_same_bits_again(on_gpu: EmulatedBundle) -> None:
    first, second = (on_gpu.trace(phonemes_of(3), "af_heart") for _ in range(2))
    np.testing.assert_array_equal(first.audio, second.audio)
