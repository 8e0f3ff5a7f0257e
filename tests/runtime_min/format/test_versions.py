"""Changes of the format: a reader of one version and a bundle of another, from both sides."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import msgpack
import pytest
from hypothesis import given
from hypothesis import strategies as st

import runtime_min.format.parse
from exporter.bundle.write import encode_manifest
from runtime_min.errors import FormatVersionError, ManifestError, MsgpackError, RequirementError
from runtime_min.format.parse import parse_manifest
from runtime_min.format.signatures import STAGE_NAMES, stage_names
from runtime_min.format.verify import read_manifest, verify_files
from tests.support import golden
from tests.support.files import bytes_of

DIGESTS = {
    "whole": "a4b73dbd8cbecba29531e8691eca0edcfb331d8ee3c969eb0b6ac902d898eabd",
    "part": "0bf0a443fc94062b6a48befd63545c0a6fbfb83fb15ceedca8af99e2e281bb16",
    "devices": "498c81a4d052ac05570c6ece3b5b9563c63c47879b463b44329e4fb223b487a2",
    "devices-of-app": "47ead785fe57caf4c3a3981244f2460ccd61e7e3ef3eb3edd80b1064a0736b91",
    "rounded": "5b0771f22d212c67ac12b3738cd2a8b62e9884777960b05a5338cae3b7752c68",
    "transformed": "49e61fdaf6233cba841d7f6ab322ed6aa4df2ccc923452d00ef78546d6819d7d",
    "scaled": "cfeb0ce3ae8ae38936b4780c8edfd3559b2c19ca1e8205d023a0abcf8091a79e",
    "module": "c39ba8ad4afcd5fd95c98802e6f0f1d23c0322822d3860dee94ea66ae7b9367b",
}
"""Digests of the manifests. They never change: another one is another version of the format."""


@pytest.fixture(params=DIGESTS)
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def raw(name: str = "whole") -> dict[str, Any]:
    decoded: dict[str, Any] = msgpack.unpackb((golden.GOLDEN / name / "manifest.msgpack").read_bytes())
    return decoded


def packed(**changes: Any) -> bytes:
    data: bytes = msgpack.packb({**raw(), **changes})
    return data


def test_every_golden_bundle_is_pinned() -> None:
    assert {path.name for path in golden.GOLDEN.iterdir()} == set(DIGESTS)


def test_the_reader_accepts_the_golden_bundles(name: str) -> None:
    manifest = read_manifest(golden.GOLDEN / name, sha256=DIGESTS[name])
    verify_files(golden.GOLDEN / name, manifest)
    all_five = dict.fromkeys(("whole", "rounded", "scaled", "transformed", "module"), STAGE_NAMES)
    expected = {**all_five, "part": ("bert", "decoder")}.get(name, stage_names(separate_source=True))
    assert tuple(stage.name for stage in manifest.stages) == expected
    assert encode_manifest(manifest) == (golden.GOLDEN / name / "manifest.msgpack").read_bytes()


def test_the_writer_still_writes_the_golden_bundles(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert bytes_of(golden.write(name, tmp_path, monkeypatch)) == bytes_of(golden.GOLDEN / name)


@pytest.mark.parametrize(
    ("version", "advice"), [(0, "export the bundle again"), (2, "install a newer runtime")]
)
def test_another_version_is_refused_with_advice(version: int, advice: str) -> None:
    with pytest.raises(FormatVersionError, match=f"version {version}, this runtime reads 1: {advice}"):
        parse_manifest(packed(version=version))


def test_an_older_bundle_asks_for_a_new_export(monkeypatch: pytest.MonkeyPatch) -> None:
    # As the reader of the next version will meet today's bundles.
    monkeypatch.setattr(runtime_min.format.parse, "FORMAT_VERSION", 2)
    with pytest.raises(FormatVersionError, match="version 1, this runtime reads 2: export the bundle again"):
        parse_manifest(packed())


@pytest.mark.parametrize("changes", [{"new": 1}, {"requires": None}, {"files": "none"}], ids=str)
def test_the_version_comes_before_what_another_version_may_have_changed(changes: dict[str, Any]) -> None:
    entries = {key: value for key, value in {**raw(), **changes, "version": 2}.items() if value is not None}
    with pytest.raises(FormatVersionError):
        parse_manifest(msgpack.packb(entries))


def test_the_keys_of_a_requirement_come_only_with_it() -> None:
    libraries = {"metal": raw()["runtime_library"]}
    with pytest.raises(ManifestError, match=r"unknown \['device_libraries'\]"):
        parse_manifest(packed(device_libraries=libraries))
    with pytest.raises(ManifestError, match=r"missing \['device_libraries'\]"):
        parse_manifest(packed(requires=["devices"]))


def test_a_new_key_is_refused_wherever_it_stands() -> None:
    with pytest.raises(ManifestError, match=r"unknown \['streaming'\]"):
        parse_manifest(packed(streaming=True))
    stages = copy.deepcopy(raw()["stages"])
    stages[0]["streaming"] = True
    with pytest.raises(ManifestError, match=r"stages\[0\].*unknown \['streaming'\]"):
        parse_manifest(packed(stages=stages))


def test_an_unknown_requirement_is_refused_by_name() -> None:
    with pytest.raises(RequirementError, match=r"requires 'gpu', '\\u0259' .* supports devices, .*: install"):
        parse_manifest(packed(requires=["gpu", "ə"]))
    # What it brings may stand anywhere, and the name says more than the place.
    with pytest.raises(RequirementError):
        parse_manifest(packed(requires=["streaming"], streaming=True))


def test_a_known_requirement_is_accepted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runtime_min.format.parse, "REQUIREMENTS", {"gpu": ()})
    assert parse_manifest(packed(requires=["gpu"])).requires == ("gpu",)
    with pytest.raises(RequirementError, match="requires 'tpu' of its reader, this runtime supports gpu"):
        parse_manifest(packed(requires=["gpu", "tpu"]))


VALUES = st.recursive(
    st.booleans()
    | st.integers(-(1 << 63), (1 << 64) - 1)
    | st.text(max_size=20)
    | st.floats(allow_nan=False),
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(st.text(max_size=20), inner, max_size=5),
    max_leaves=20,
).filter(lambda value: "inf" not in repr(value))


@given(st.dictionaries(st.text(min_size=1, max_size=20).filter(str.isprintable), VALUES, max_size=5))
def test_unknown_extensions_change_nothing_else(extensions: dict[str, Any]) -> None:
    manifest = parse_manifest(packed(extensions=extensions))
    assert manifest.extensions == extensions
    plain = parse_manifest(packed())
    differing = {field for field in plain._fields if getattr(plain, field) != getattr(manifest, field)} - {
        "extensions"
    }
    assert not differing


def test_extensions_are_bounded_as_everything_else_is() -> None:
    deep: Any = 1
    for _ in range(12):
        deep = [deep]
    with pytest.raises(MsgpackError, match="levels of nesting"):
        parse_manifest(packed(extensions={"deep": deep}))
    with pytest.raises(MsgpackError, match="string of at most 4096 bytes"):
        parse_manifest(packed(extensions={"long": "x" * 5_000}))
