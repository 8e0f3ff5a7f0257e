"""The manifest: what the writer writes is read back, and every way to break the schema is refused."""

from __future__ import annotations

from typing import Any

import msgpack
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exporter.bundle.write import encode_manifest, write_bundle
from runtime_min.errors import BundleError, FormatVersionError, ManifestError, MsgpackError
from runtime_min.format.manifest import CpuLevel, Manifest
from runtime_min.format.parse import parse_manifest
from runtime_min.format.signatures import STAGE_NAMES, signatures
from runtime_min.format.verify import read_manifest
from tests.support.broken_manifests import Change, assign, changed
from tests.support.tiny_bundle import HIDDEN, STYLE, dummy_contents, with_levels

LEVELS = (CpuLevel("v4", ("avx512f",)), CpuLevel("v3", ("avx2",)))


@pytest.fixture(scope="module")
def manifest(tmp_path_factory: pytest.TempPathFactory) -> Manifest:
    directory = tmp_path_factory.mktemp("manifest")
    return read_manifest(write_bundle(directory / "bundle", with_levels(dummy_contents(directory), LEVELS)))


@pytest.fixture(scope="module")
def raw(manifest: Manifest) -> dict[str, Any]:
    decoded: dict[str, Any] = msgpack.unpackb(encode_manifest(manifest))
    return decoded


def test_what_is_written_is_read_back(manifest: Manifest) -> None:
    assert parse_manifest(encode_manifest(manifest)) == manifest


def test_the_stages_stand_as_the_runtime_knows_them(manifest: Manifest) -> None:
    expected = signatures(HIDDEN, STYLE)
    assert tuple(stage.name for stage in manifest.stages) == STAGE_NAMES == tuple(expected)
    for stage in manifest.stages:
        assert stage.signature == expected[stage.name]


def test_shapes_grow_with_the_length() -> None:
    decoder = signatures(512, 128)["decoder"]
    shapes = {tensor.name: tensor.concrete(7) for tensor in (*decoder.inputs, *decoder.outputs)}
    assert shapes == {
        "asr": (1, 512, 7),
        "f0": (1, 14),
        "energy": (1, 14),
        "decoder_style": (1, 128),
        "noise": (1, 4200),
        "audio": (1, 4200),
    }


def test_outputs_feed_inputs_of_the_same_name_with_the_same_shape() -> None:
    stages = signatures(512, 128).values()
    produced = {tensor.name: tensor for stage in stages for tensor in stage.outputs}
    for stage in stages:
        for tensor in stage.inputs:
            assert produced.get(tensor.name, tensor) == tensor


def test_the_source_is_a_stage_of_its_own_where_the_decoder_is_on_a_device() -> None:
    apart, together = signatures(512, 128, source_apart=True), signatures(512, 128)
    assert tuple(apart) == (*STAGE_NAMES[:-1], "source", "decoder")
    assert {name: apart[name] for name in STAGE_NAMES[:-1]} == {n: together[n] for n in STAGE_NAMES[:-1]}
    spectrum, noise = apart["source"].outputs[0], apart["source"].inputs[1]
    assert spectrum.concrete(7) == (1, 22, 841)
    assert noise == together["decoder"].inputs[-1]
    assert apart["decoder"].inputs == (*together["decoder"].inputs[:-1], spectrum)


BREAKS: dict[str, tuple[Change, str]] = {
    "another format": (assign("format", "gguf"), "format: expected one of kokoro-bundle"),
    "version is no integer": (assign("version", "1"), "version: expected an integer"),
    "version is a boolean": (assign("version", True), "version: expected an integer"),
    "unknown key": (assign("extra", 1), r"top level: expected exactly the keys .* unknown \['extra'\]"),
    "missing key": (lambda m: m.pop("voices"), r"missing \['voices'\]"),
    "no map": (assign("model", []), "model: expected a map"),
    "unknown key inside": (assign("model", "extra", 1), r"model: expected exactly .* unknown \['extra'\]"),
    "unknown source": (
        assign("model", "source", "web"),
        "model.source: expected one of hub, file, synthetic",
    ),
    "digest too short": (assign("model", "sha256", "0" * 63), "model.sha256: expected 64 lower-case"),
    "digest in capitals": (assign("model", "sha256", "A" * 64), "model.sha256: expected 64 lower-case"),
    "synthetic is no boolean": (assign("model", "synthetic", 1), "model.synthetic: expected true or false"),
    "empty version": (assign("versions", "tvm", ""), "versions.tvm: expected a string of 1 to"),
    "no levels": (assign("target", "levels", []), "target.levels: expected an array of 1 to"),
    "level twice": (assign("target", "levels", 1, "name", "v4"), "target.levels: expected every name once"),
    "another sample rate": (assign("audio", "sample_rate", 22_050), "audio: expected"),
    "runtime not listed": (
        assign("runtime_library", "lib/x.so"),
        "runtime_library: expected a file of the list",
    ),
    "no stages": (assign("stages", []), "stages: expected an array of 1 to"),
    "unknown stage": (assign("stages", 0, "name", "vocoder"), r"stages\[0\].name: expected one of bert"),
    "stages out of order": (
        lambda m: m["stages"].reverse(),
        "stages: expected stages once each, in the order",
    ),
    "stage twice": (assign("stages", 1, "name", "bert"), "stages: expected stages once each"),
    "another device": (assign("stages", 0, "device", "npu"), r"stages\[0\].device: expected one of cpu"),
    "another axis": (
        assign("stages", 0, "axis", "samples"),
        r"stages\[0\].axis: expected one of tokens, frames",
    ),
    "wrong axis": (assign("stages", 0, "axis", "frames"), r"stages\[0\]: expected StageSignature"),
    "wrong minimum": (assign("stages", 0, "minimum", 2), r"stages\[0\]: expected StageSignature"),
    "wrong dtype": (
        assign("stages", 0, "inputs", 0, "dtype", "int32"),
        r"stages\[0\]: expected StageSignature",
    ),
    "unknown dtype": (
        assign("stages", 0, "inputs", 0, "dtype", "float16"),
        r"stages\[0\].inputs\[0\].dtype: expected one of float32, int64, int32",
    ),
    "wrong shape": (
        assign("stages", 0, "outputs", 0, "shape", [1, HIDDEN + 1, [1, "tokens"]]),
        r"stages\[0\]: expected StageSignature",
    ),
    "zero dimension": (
        assign("stages", 0, "outputs", 0, "shape", [1, 0, [1, "tokens"]]),
        r"stages\[0\].outputs\[0\].shape\[1\]: expected an integer from 1",
    ),
    "unknown length axis": (
        assign("stages", 0, "outputs", 0, "shape", [1, HIDDEN, [1, "bytes"]]),
        r"shape\[2\]\[1\]: expected one of tokens, frames",
    ),
    "unknown parameter": (
        assign("stages", 0, "parameters", ["weight"]),
        r"stages\[0\].parameters: expected names of the parameter table, found 'weight'",
    ),
    "no libraries": (assign("stages", 0, "libraries", []), r"stages\[0\].libraries: expected an array of 1"),
    "level without libraries": (
        lambda m: m["stages"][0]["libraries"].pop(),
        r"stages\[0\].libraries: expected the same buckets for each of the levels v4, v3",
    ),
    "library of an unknown level": (
        lambda m: m["stages"][0]["libraries"].append({**m["stages"][0]["libraries"][0], "level": "v9"}),
        r"stages\[0\].libraries: expected the same buckets",
    ),
    "bucket twice": (
        lambda m: [library.update(bucket=8) for library in m["stages"][0]["libraries"]],
        r"stages\[0\].libraries: expected ascending buckets from 3",
    ),
    "buckets descending": (
        lambda m: [
            library.update(bucket={8: 22, 22: 8}[library["bucket"]])
            for library in m["stages"][0]["libraries"]
        ],
        r"stages\[0\].libraries: expected ascending buckets",
    ),
    "bucket below the minimum": (
        lambda m: [
            library.update(bucket=2) for library in m["stages"][0]["libraries"] if library["bucket"] == 8
        ],
        r"stages\[0\].libraries: expected ascending buckets from 3",
    ),
    "library not listed": (
        assign("stages", 0, "libraries", 0, "file", "lib/other.so"),
        r"stages\[0\].libraries: expected a file of the list 'files'",
    ),
    "parameter file not listed": (
        assign("parameters", "file", "weights.bin"),
        "parameters.file: expected a file of the list",
    ),
    "tensor twice": (
        assign("parameters", "tensors", 1, "name", "table"),
        "parameters.tensors: expected every name once, found 'table'",
    ),
    "tensor of another size": (
        assign("parameters", "tensors", 0, "bytes", 84),
        r"parameters.tensors\[0\].bytes: expected 80",
    ),
    "tensor without alignment": (
        assign("parameters", "tensors", 1, "offset", 100),
        r"parameters.tensors\[1\].offset: expected 128, the first multiple of 64 from 80 on",
    ),
    "tensors that overlap": (
        assign("parameters", "tensors", 1, "offset", 64),
        r"parameters.tensors\[1\].offset: expected 128, the first multiple of 64 from 80 on",
    ),
    "tensor past the end": (
        assign("parameters", "tensors", 2, "offset", 1 << 40),
        r"parameters.tensors\[2\].offset: expected 192, the first multiple of 64 from 148 on",
    ),
    "tensors that leave a hole": (
        assign("parameters", "tensors", 1, "offset", 192),
        r"parameters.tensors\[1\].offset: expected 128",
    ),
    "bytes after the last tensor": (
        lambda m: next(file for file in m["files"] if file["path"] == "parameters.bin").update(bytes=4096),
        "parameters.tensors: expected tensors that fill the 4096 bytes of .*, found .*ends at 196",
    ),
    "tensors without a file": (
        lambda m: next(file for file in m["files"] if file["path"] == "parameters.bin").update(bytes=0),
        "parameters.tensors: expected tensors that fill the 0 bytes",
    ),
    "manifest that lists itself": (
        lambda m: m["files"].insert(
            [file["path"] for file in m["files"]].index("parameters.bin"),
            {**m["files"][0], "path": "manifest.msgpack"},
        ),
        "files: expected every file but the manifest",
    ),
    "name that a terminal takes for a command": (
        assign("target", "name", "\x1b[2J"),
        r"target.name: expected a string of printable characters, found '\\x1b\[2J'",
    ),
    "parity that a terminal takes for a command": (
        assign("parity", "x\x07", 1),
        r"parity\['x\\x07'\]: expected a string of printable characters",
    ),
    "tensor of zero elements": (
        assign("parameters", "tensors", 0, "shape", [0]),
        r"tensors\[0\].shape\[0\]: expected an integer from 1",
    ),
    "tensor whose size overflows": (
        assign("parameters", "tensors", 0, "shape", [1 << 31] * 8),
        r"tensors\[0\].bytes: expected \d{70,}",
    ),
    "token without a row": (
        assign("vocabulary", "a", 5),
        r"stages\[0\].parameters: expected first a table of two dimensions with a row for each token up to 5",
    ),
    "table of tokens that is no table": (
        assign("stages", 0, "parameters", ["gain"]),
        r"stages\[0\].parameters: expected first a table of two dimensions",
    ),
    "no table of tokens": (assign("stages", 0, "parameters", []), r"stages\[0\].parameters: expected first"),
    "commit that is too long": (
        assign("materials", "commit", "a" * 65),
        "materials.commit: expected a string",
    ),
    "package without a version": (
        assign("materials", "packages", "torch", ""),
        r"packages\['torch'\]: expected",
    ),
    "extensions are no map": (assign("extensions", []), "extensions: expected a map"),
    "requirements are no array": (assign("requires", {}), "requires: expected an array"),
    "empty phoneme": (assign("vocabulary", "", 4), "vocabulary: expected phonemes of at least one"),
    "negative token": (assign("vocabulary", "a", -1), r"vocabulary\['a'\]: expected an integer from 0"),
    "no phonemes allowed": (assign("max_phonemes", 0), "max_phonemes: expected an integer from 1"),
    "voice twice": (assign("voices", 1, "name", "af_bella"), "voices: expected every name once"),
    "voice of another shape": (
        assign("voices", 0, "columns", 6),
        r"voices\[0\]: expected 20 rows of 4 columns",
    ),
    "voice with too few rows": (assign("voices", 0, "rows", 19), r"voices\[0\]: expected 20 rows"),
    "voice not listed": (
        assign("voices", 0, "file", "voices/x.bin"),
        r"voices\[0\].file: expected a file of the list",
    ),
    "voice file of another size": (
        assign("voices", 0, "file", "LICENSE"),
        r"voices\[0\].file: expected a file of 320 bytes",
    ),
    "parity with structure": (assign("parity", "x", [1]), r"parity\['x'\]: expected a string, a number"),
    "file twice": (lambda m: m["files"].insert(0, m["files"][0]), "files: expected every path once"),
    "files out of order": (
        lambda m: m["files"].reverse(),
        "files: expected every path once, in ascending order",
    ),
    "negative size": (assign("files", 0, "bytes", -1), r"files\[0\].bytes: expected an integer from 0"),
    "size beyond 63 bits": (
        assign("files", 0, "bytes", 1 << 63),
        r"files\[0\].bytes: expected an integer from 0",
    ),
}


@pytest.mark.parametrize("change", [assign("stages", 0, "device", "metal"), assign("runtime_library", "")])
def test_a_bundle_for_the_cpu_has_neither_devices_nor_an_empty_runtime(
    raw: dict[str, Any], change: Change
) -> None:
    with pytest.raises(ManifestError):
        parse_manifest(changed(raw, change))


@pytest.mark.parametrize("name", BREAKS)
def test_every_broken_manifest_is_refused_by_place(raw: dict[str, Any], name: str) -> None:
    change, message = BREAKS[name]
    with pytest.raises(ManifestError, match=message):
        parse_manifest(changed(raw, change))


@pytest.mark.parametrize(
    "path",
    [
        "/etc/passwd",
        "../outside",
        "lib/../../outside",
        "lib//x",
        "lib/./x",
        "./x",
        "lib/",
        "",
        "lib\\x",
        "C:x",
        "c:/x",
        ".hidden",
        "x.",
        "x ",
        "lib/nul.so",
        "COM1",
        "a\x00b",
        "a\nb",
        "ü",
        "~/x",
        "x" * 201,
        "a/b/c/d/e/f/g/h/i",
    ],
    ids=repr,
)
def test_unsafe_paths_are_refused(raw: dict[str, Any], path: str) -> None:
    with pytest.raises(
        ManifestError,
        match=r"runtime_library: expected a (relative path|path of at most|string|file of the list)",
    ):
        parse_manifest(changed(raw, assign("runtime_library", path)))


@pytest.mark.parametrize(
    "path",
    [
        "LIB/x.so",
        "Lib/deeper/x.so",
        "README.TXT",
        "Manifest.msgpack",
        "manifest.MSGPACK/x",
        "lib",
        "LICENSE/x",
    ],
)
def test_paths_that_cannot_exist_at_once_on_every_system_are_refused(raw: dict[str, Any], path: str) -> None:
    def add(entries: dict[str, Any]) -> None:
        entries["files"].append({**entries["files"][0], "path": path})
        entries["files"].sort(key=lambda entry: entry["path"])

    with pytest.raises(ManifestError, match="upper and lower case"):
        parse_manifest(changed(raw, add))


@pytest.mark.parametrize(
    ("version", "advice"), [(0, "export the bundle again"), (2, "install a newer runtime")]
)
def test_another_version_is_refused_before_anything_else(version: int, advice: str) -> None:
    with pytest.raises(FormatVersionError, match=f"version {version}, this runtime reads 1: {advice}"):
        parse_manifest(msgpack.packb({"format": "kokoro-bundle", "version": version, "future": []}))


def test_what_is_no_msgpack_is_refused() -> None:
    with pytest.raises(MsgpackError):
        parse_manifest(b"PK\x03\x04")


def paths_of(value: Any) -> list[tuple[Any, ...]]:
    """The path of every value inside `value`."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [(key, *rest) for key, inner in items for rest in [(), *paths_of(inner)]]


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_no_replaced_value_escapes_the_typed_errors(raw: dict[str, Any], data: st.DataObject) -> None:
    path = data.draw(st.sampled_from(paths_of(raw)))
    value = data.draw(
        st.none()
        | st.booleans()
        | st.integers(-(1 << 63), (1 << 64) - 1)
        | st.text(max_size=5)
        | st.floats()
        | st.lists(st.integers(0, 3), max_size=3)
        | st.dictionaries(st.text(max_size=3), st.integers(0, 3), max_size=3)
    )
    packed = changed(raw, assign(*path, value))
    try:
        accepted = parse_manifest(packed)
    except BundleError:
        return
    assert msgpack.unpackb(encode_manifest(accepted)) == msgpack.unpackb(packed)
