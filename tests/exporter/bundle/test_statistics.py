"""A bundle has the statistics of its voices, in the order of the decoder's parameters."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from exporter.bundle.add_voices import add_voices
from exporter.bundle.statistics import statistics_files
from exporter.bundle.write import BundleContents, ExtensionFiles, write_bundle
from exporter.model.voice_packs import NAMES, official_statistics
from exporter.reference.voice_statistics import PASSAGES, measure_statistics
from runtime_min.errors import ManifestError
from runtime_min.format.extensions import extension_files
from runtime_min.format.verify import read_manifest, verify_bundle
from runtime_min.model.statistics import EXTENSION
from tests.exporter.bundle.test_add_voices import packs  # noqa: F401
from tests.support.tiny.bundle import voices, with_entries

PARAMETERS = (
    "f0n.f0_blocks.0.norm1.weight",
    "decoder.body.encode.norm1.statistics",
    "decoder.body.decode.3.norm2.statistics",
    "decoder.generator.source_blocks.1.norms1.2.statistics",
    "decoder.generator.blocks.5.norms2.0.weight",
    "decoder.generator.blocks.5.norms2.0.statistics",
)
KOKOROS = (
    "encode.norm1",
    "decode.3.norm2",
    "generator.noise_res.1.adain1.2",
    "generator.resblocks.5.adain2.0",
)


def numbers(seed: int, channels: int = 3) -> np.ndarray:
    return np.random.default_rng(seed).random((2, channels)).astype(np.float16)


def test_the_numbers_of_each_norm_lie_in_the_order_of_the_parameters() -> None:
    found = {name: numbers(seed, seed + 1) for seed, name in enumerate(reversed(KOKOROS))}
    made = statistics_files(PARAMETERS, {"bm_b": found, "af_a": found})
    assert made.extensions == {"statistics": {voice: f"statistics/{voice}.bin" for voice in ("af_a", "bm_b")}}
    expected = b"".join(found[name].tobytes() for name in KOKOROS)
    assert set(made.files.values()) == {expected}
    assert statistics_files(PARAMETERS, {}) == ExtensionFiles({}, {})


def test_all_official_voices_have_the_statistics_of_all_norms() -> None:
    found = official_statistics()
    assert sorted(found) == sorted(NAMES)
    shapes = {name: values.shape for name, values in found["af_heart"].items()}
    assert len(shapes) == 58 and set(KOKOROS) < shapes.keys()
    assert sum(channels for _, channels in shapes.values()) == 18_698
    for each in found.values():
        assert {name: values.shape for name, values in each.items()} == shapes
        for values in each.values():
            assert values.dtype == np.float16 and np.isfinite(values).all() and (values[1] > 0).all()
    # Voices differ, which is why there are so many.
    assert len({values["encode.norm1"].tobytes() for values in found.values()}) == len(NAMES)


def test_each_voice_speaks_the_same_sentences() -> None:
    asked: list[Any] = []

    def norm_statistics(requests: list[Any]) -> dict[str, np.ndarray]:
        asked.append(requests)
        return {"encode.norm1": np.full((2, 3), requests[0].row[0, 0], np.float64)}

    rows = {name: np.full((510, 256), value, np.float32) for name, value in (("a", 1), ("b", 2))}
    vocabulary = {phoneme: number for number, phoneme in enumerate(sorted(set("".join(PASSAGES))), 1)}
    kokoro: Any = SimpleNamespace(norm_statistics=norm_statistics)
    found = measure_statistics(kokoro, rows, vocabulary)
    assert [values["encode.norm1"][0, 0] for values in found.values()] == [1, 2]
    one, two = ([request.token_ids.tolist() for request in requests] for requests in asked)
    assert one == two and len(one) == len(PASSAGES)


def test_a_voice_that_is_replaced_has_no_statistics_any_more(
    made: BundleContents,
    tmp_path: Path,
    packs: Path,  # noqa: F811
) -> None:
    found = {KOKOROS[0]: numbers(0)}
    both = statistics_files(PARAMETERS[:2], {"af_heart": found, "am_adam": found})
    bundle = write_bundle(tmp_path / "bundle", made.extended(both))
    assert set(extension_files(read_manifest(bundle), EXTENSION)) == {"af_heart", "am_adam"}
    voices()["am_adam"].tofile(packs / "af_heart.bin")
    add_voices(bundle, [packs], overwrite=True)
    manifest = read_manifest(bundle)
    assert extension_files(manifest, EXTENSION) == {"am_adam": "statistics/am_adam.bin"}
    assert not (bundle / "statistics" / "af_heart.bin").exists()
    verify_bundle(bundle)


@pytest.mark.parametrize(
    "wrong", [{"af_heart": 1}, {"af_heart": "../x"}, {"af_heart": "/x"}, {"\n": "x"}, [], 3], ids=str
)
def test_statistics_that_are_no_files_are_refused(
    made: BundleContents,
    tmp_path: Path,
    packs: Path,  # noqa: F811
    wrong: object,
) -> None:
    bundle = write_bundle(tmp_path / "bundle", with_entries(made, extensions={"statistics": wrong}))
    with pytest.raises(ManifestError, match=r"extensions\.statistics"):
        extension_files(read_manifest(bundle), EXTENSION)
    with pytest.raises(ManifestError):
        add_voices(bundle, [packs])
