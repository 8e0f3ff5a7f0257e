"""A bundle of the real architecture compares itself with kokoro, and finds the stage with damaged weights."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from exporter.bundle.write import ExtensionFiles
from exporter.compiler.targets import find_target
from exporter.parity import publish as measure
from runtime_min import Bundle
from runtime_min.engine.machine import this_machine
from runtime_min.format.manifest import MANIFEST_NAME, Manifest, Tensor
from runtime_min.format.signatures import STAGE_NAMES
from runtime_min.format.verify import read_manifest
from runtime_min.model.self_test import EXTENSION, SelfTestFailedError, read_self_test
from tests.e2e.conftest import FRAME_BUCKETS, PRECISION, TEXT_BUCKETS, run_python
from tests.support.exported_self_test import give, self_test
from tests.support.tiny.self_test import rewrite

pytestmark = pytest.mark.e2e


@pytest.fixture(scope="module")
def tested(
    directory: Path, kokoro_said: ExtensionFiles, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Path]:
    """The bundle with a self-test; a test that damages it repairs it."""
    place = tmp_path_factory.mktemp("tested")
    bundle = Path(shutil.copytree(directory, place / "bundle"))
    give(bundle, kokoro_said)
    yield bundle
    shutil.rmtree(place)


def test_a_sound_bundle_says_what_kokoro_says_in_every_stage(tested: Path) -> None:
    with Bundle.load(tested) as bundle:
        found = list(bundle.self_test())
    assert [str(figure) for _, figure in found if not figure.holds] == []
    assert list(dict.fromkeys(stages for stages, _ in found)) == [*STAGE_NAMES, "whole chain"]
    # The limits are kokoro's own distances, not so wide that anything holds.
    limits = {(stages, figure.name): figure.limit for stages, figure in found}
    assert limits["bert", "hidden, max over RMS"] < 5e-5
    assert limits["f0n", "f0, dB"] > 95
    assert 40 < limits["decoder", "audio, dB"] <= 70
    assert 20 < limits["whole chain", "audio, dB"] < 55


def test_it_is_about_a_second_of_speech_and_small(tested: Path) -> None:
    test = read_self_test(read_manifest(tested))
    assert 20 <= sum(test.frames) <= 80
    assert (tested / test.file).stat().st_size < 1 << 19


def largest(manifest: Manifest, stage: str) -> Tensor:
    """The largest parameter of a stage, which no other has."""
    tensors = [tensor for tensor in manifest.parameters.tensors if tensor.name.startswith(f"{stage}.")]
    return max(tensors, key=lambda tensor: tensor.bytes)


@pytest.mark.parametrize("stage", STAGE_NAMES)
def test_damaged_weights_are_found_in_the_row_of_their_stage(tested: Path, stage: str) -> None:
    manifest, before = read_manifest(tested), (tested / MANIFEST_NAME).read_bytes()
    tensor = largest(manifest, stage)
    weights = np.memmap(tested / manifest.parameters.file, "<u2", "r+", tensor.offset, (tensor.bytes // 2,))
    sound = weights.copy()
    try:
        # As many significant bits of float16 as bfloat16 has, 2e-3 off.
        weights &= 0xFFF8
        weights.flush()
        rewrite(tested, manifest)
        done = run_python("-m", "runtime_min", tested, "--self-test")
    finally:
        weights[:] = sound
        weights.flush()
        # The digests of the files are the earlier ones again.
        (tested / MANIFEST_NAME).write_bytes(before)
    assert done.returncode == SelfTestFailedError.exit_code, done.stdout + done.stderr
    missed = {row.split()[0] for row in done.stdout.splitlines() if row.endswith("MISSED")}
    assert missed - {"whole"} == {stage}


def test_publishing_takes_the_figures_of_the_self_test_too(tested: Path) -> None:
    with Bundle.load(tested) as bundle:
        waveform = measure._self_test(bundle)
    assert waveform.holds and len(waveform.figures) == 10
    numbers = measure.numbers_of([waveform])
    assert f"{waveform.level}: self-test, bert: hidden, max over RMS" in numbers


@pytest.mark.slow
def test_a_bundle_for_another_machine_gets_the_spectrum_of_its_source_too(tested: Path) -> None:
    assert not find_target("metal-macos").fits(this_machine())
    made = self_test("metal-macos", PRECISION, TEXT_BUCKETS, FRAME_BUCKETS)
    document: Any = made.extensions[EXTENSION]
    assert {check["stages"] for check in document["checks"]} >= {("source",), ("source", "decoder")}
    own = read_self_test(read_manifest(tested))
    # Besides, it is what a bundle for this machine gets.
    assert (document["phonemes"], document["frames"]) == (own.phonemes, own.frames)
    (data,) = made.files.values()
    place = document["tensors"].index("spectrum")
    assert own.tensors == document["tensors"][:place] + document["tensors"][place + 1 :]
    assert len(data) - (tested / own.file).stat().st_size == 4 * 22 * (120 * sum(own.frames) + 1)
