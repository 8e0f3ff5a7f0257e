"""A bundle for CUDA on a GPU of NVIDIA's. The only tests that need hardware that other machines lack.

Such a machine may lack TVM's compiler: the variable KOKORO_EXPORT_CUDA_BUNDLE names a bundle that was
exported elsewhere from the weights of the packages.
"""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from exporter.parity.answers import Kokoro
from exporter.reference.utterances import Utterance
from runtime_min.format.verify import read_manifest
from tests.e2e.conftest import Export, environment, run_python
from tests.support.emulation import bundle_server, questions
from tests.support.emulation.bundle_server import EmulatedBundle
from tests.support.proof import assert_speaks_as_kokoro
from tests.support.utterances import HELLO, phonemes_of


def why_not() -> str | None:
    """Why these tests cannot run here; None where they can."""
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return "no NVIDIA driver: libcuda.so.1 was not found"
    return None if driver.cuInit(0) == 0 else "NVIDIA's driver finds no GPU"


pytestmark = [
    pytest.mark.e2e,
    pytest.mark.machines,
    pytest.mark.skipif(why_not() is not None, reason=str(why_not())),
]


@pytest.fixture(scope="module")
def bundle(export: Export, tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmulatedBundle]:
    if exported := os.environ.get("KOKORO_EXPORT_CUDA_BUNDLE"):
        output = Path(exported)
    else:
        output = tmp_path_factory.mktemp("cuda") / "bundle"
        done = export(output, "--target", "cuda-linux", "--lstm-device", "cuda")
        assert done.returncode == 0, done.stderr
    with questions.asking([sys.executable], bundle_server.__file__, output, env=environment()) as ask:
        yield EmulatedBundle(output, read_manifest(output), ask)


@pytest.mark.parametrize(("tokens", "voice"), [(3, "am_michael"), (62, "af_heart"), (219, "bf_emma")])
def test_a_gpu_speaks_as_kokoro_speaks(
    bundle: EmulatedBundle, exact_kokoro: Kokoro, tokens: int, voice: str
) -> None:
    assert_speaks_as_kokoro(bundle, exact_kokoro, Utterance(phonemes_of(tokens), voice))


def test_the_same_input_gives_the_same_bits_in_every_bucket(bundle: EmulatedBundle) -> None:
    buckets = bundle.manifest.stages[-1].buckets(bundle.level())
    spoken = {bucket: bundle.trace(HELLO, buckets={"decoder": bucket}).audio.tobytes() for bucket in buckets}
    assert len(spoken) > 1 and len(set(spoken.values())) == 1


def test_the_command_speaks(bundle: EmulatedBundle, tmp_path: Path) -> None:
    output = tmp_path / "hello.wav"
    done = run_python("-m", "runtime_min", bundle.directory, "--phonemes", HELLO, "-o", output)
    assert done.returncode == 0, done.stderr
    assert output.stat().st_size > 10_000
