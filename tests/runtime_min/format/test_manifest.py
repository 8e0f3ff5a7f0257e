"""The manifest: what the writer writes is read back, and every way to break the schema is refused.

What is damaged at random is in `test_fuzz`."""

from __future__ import annotations

import gc
import math
import re
import sys
from collections.abc import Callable
from functools import reduce
from itertools import permutations
from operator import getitem
from typing import Any

import msgpack
import pytest

from exporter.bundle.write import encode_manifest, write_bundle
from runtime_min.errors import ManifestError, MsgpackError
from runtime_min.format.manifest import MANIFEST_NAME, PARAMETER_SIZES, CpuLevel, Manifest
from runtime_min.format.parse import parse_manifest
from runtime_min.format.signatures import STAGE_NAMES, signatures
from runtime_min.format.verify import read_manifest
from tests.support.fuzzing.manifest_changes import Change, assign, changed
from tests.support.tiny.bundle import HIDDEN, STYLE, dummy_contents, dummy_contents_on, with_levels

LEVELS = (CpuLevel("v4", ("avx512f",)), CpuLevel("v3", ("avx2",)))


@pytest.fixture(scope="module")
def manifest(tmp_path_factory: pytest.TempPathFactory) -> Manifest:
    directory = tmp_path_factory.mktemp("manifest")
    return read_manifest(write_bundle(directory / "bundle", with_levels(dummy_contents(directory), LEVELS)))


@pytest.fixture(scope="module")
def raw(manifest: Manifest) -> dict[str, Any]:
    decoded: dict[str, Any] = msgpack.unpackb(encode_manifest(manifest))
    return decoded


@pytest.fixture(scope="module")
def raw_on_device(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The manifest of a bundle whose decoder is on a GPU."""
    directory = tmp_path_factory.mktemp("device")
    bundle = write_bundle(directory / "bundle", dummy_contents_on("cuda", directory))
    decoded: dict[str, Any] = msgpack.unpackb((bundle / MANIFEST_NAME).read_bytes())
    return decoded


def test_what_is_written_is_read_back(manifest: Manifest) -> None:
    assert parse_manifest(encode_manifest(manifest)) == manifest


def test_reading_a_manifest_again_keeps_no_memory(manifest: Manifest) -> None:
    data = encode_manifest(manifest)

    def blocks_after(times: int) -> int:
        """Blocks of memory that Python holds after `data` was read so often."""
        for _ in range(times):
            parse_manifest(data)
        gc.collect()
        return sys.getallocatedblocks()

    before = blocks_after(10)
    assert blocks_after(100) - before < 100


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
    apart, together = signatures(512, 128, separate_source=True), signatures(512, 128)
    assert tuple(apart) == (*STAGE_NAMES[:-1], "source", "decoder")
    assert {name: apart[name] for name in STAGE_NAMES[:-1]} == {n: together[n] for n in STAGE_NAMES[:-1]}
    spectrum, noise = apart["source"].outputs[0], apart["source"].inputs[1]
    assert spectrum.concrete(7) == (1, 22, 841)
    assert noise == together["decoder"].inputs[-1]
    assert apart["decoder"].inputs == (*together["decoder"].inputs[:-1], spectrum)


# A place in the manifest, a value to put there, and what is expected there instead.
REPLACED: list[tuple[str, Any, str]] = [
    ("format", "gguf", "one of kokoro-bundle"),
    ("version", "1", "an integer"),
    ("version", True, "an integer"),
    ("requires", {}, "an array"),
    ("model", [], "a map"),
    ("model.source", "web", "one of hub, packages, file, synthetic"),
    ("model.sha256", "0" * 63, "64 lower-case"),
    ("model.sha256", "A" * 64, "64 lower-case"),
    ("model.synthetic", 1, "true or false"),
    ("versions.tvm", "", "a string of 1 to"),
    ("materials.commit", "a" * 65, "a string of 0 to 64"),
    ("materials.packages['torch']", "", "a string of 1 to"),
    # A terminal takes it for a command.
    ("target.name", "\x1b[2J", r"a string of printable characters, found '\\x1b\[2J'"),
    ("target.levels", [], "an array of 1 to"),
    ("runtime_library", "lib/x.so", "a file of the list"),
    ("stages", [], "an array of 1 to"),
    ("stages[0].name", "vocoder", "one of bert"),
    ("stages[0].device", "npu", "one of cpu"),
    ("stages[0].device", "metal", "one of cpu, found"),
    ("stages[0].axis", "samples", "one of tokens, frames"),
    ("stages[0].inputs[0].dtype", "float16", "one of float32, int64, int32"),
    ("stages[0].outputs[0].shape[1]", 0, "an integer from 1"),
    ("stages[0].inputs[0].shape[1][0]", 0, "an integer from 1"),
    ("stages[0].outputs[0].shape[2][1]", "bytes", "one of tokens, frames"),
    ("stages[0].parameters", ["weight"], "names of the parameter table, found 'weight'"),
    ("stages[0].parameters", ["gain"], "first a table of two dimensions"),
    ("stages[0].parameters", [], "first a table"),
    ("stages[0].libraries", [], "an array of 1"),
    ("stages[0].libraries[0].bucket", 1 << 62, "an integer from 1"),
    ("parameters.file", "weights.bin", "a file of the list"),
    ("parameters.tensors[0].bytes", 84, "80"),
    ("parameters.tensors[0].dtype", "bfloat16", "one of float32, int64, int32, float16, int8, found"),
    ("parameters.tensors[0].dtype", "int8", "one of float32, int64, int32 without the requirement 'prec"),
    ("parameters.tensors[0].shape[0]", 0, "an integer from 1"),
    # Tensors without alignment, that overlap, that are the same, and that leave a hole.
    *(
        ("parameters.tensors[1].offset", offset, "128, the first multiple of 64 from 80 on")
        for offset in (100, 64, 0, 192)
    ),
    ("parameters.tensors[2].offset", 1 << 40, "192, the first multiple of 64 from 148 on"),
    ("parameters.tensors[2].offset", (1 << 63) - 64, "192, the first multiple of 64 from 148 on"),
    ("parameters.tensors[2].offset", (1 << 64) - 64, "an integer from 0"),
    ("vocabulary['a']", -1, "an integer from 0"),
    ("max_phonemes", 0, "an integer from 1"),
    ("max_phonemes", 1 << 62, "an integer from 1"),
    ("model.hidden", 1 << 62, "an integer from 1"),
    ("voices[0].rows", 0, "an integer from 1"),
    ("voices[0].file", "voices/x.bin", "a file of the list"),
    ("voices[0].file", "LICENSE", "a file of 320 bytes"),
    ("parity['x']", [1], "a string, a number"),
    ("files[0].bytes", -1, "an integer from 0"),
    ("files[0].bytes", 1 << 63, "an integer from 0"),
    ("extensions", [], "a map"),
]


def keys_of(place: str) -> list[str | int]:
    return [int(key) if key.isdigit() else key for key in re.findall(r"[a-z_0-9]+", place)]


@pytest.mark.parametrize(("place", "value", "expected"), REPLACED)
def test_every_wrong_value_is_refused_by_place(
    raw: dict[str, Any], place: str, value: Any, expected: str
) -> None:
    with pytest.raises(ManifestError, match=f"{re.escape(place)}: expected {expected}"):
        parse_manifest(changed(raw, assign(*keys_of(place), value)))


@pytest.mark.parametrize("dtype", PARAMETER_SIZES)
@pytest.mark.parametrize("shape", [(1 << 31, 1 << 31, 4), (1 << 31,) * 8, (1 << 31, 1 << 31, 2, 20)])
def test_sizes_that_overflow_are_refused_for_every_stored_type(
    raw: dict[str, Any], dtype: str, shape: tuple[int, ...]
) -> None:
    """In 64 bits the tensor would have as many bytes as it states."""
    size = math.prod(shape) * PARAMETER_SIZES[dtype]

    def change(entries: dict[str, Any]) -> None:
        entries.update(requires=["precision"], voice_ranks={})
        wrapped = size % (1 << 64) % (1 << 63) or 80
        entries["parameters"]["tensors"][0].update(dtype=dtype, shape=[*shape], bytes=wrapped)

    with pytest.raises(ManifestError, match=rf"parameters.tensors\[0\].bytes: expected {size} for {dtype}"):
        parse_manifest(changed(raw, change))


def of_libraries(change: Callable[[dict[str, Any]], object]) -> Change:
    return lambda raw: [change(library) for library in raw["stages"][0]["libraries"]]


def of_parameter_file(size: int) -> Change:
    return lambda raw: [file.update(bytes=size) for file in raw["files"] if file["path"] == "parameters.bin"]


SIGNATURE = r"stages\[0\]: expected StageSignature"
BREAKS: dict[str, tuple[Change, str]] = {
    "unknown key": (assign("extra", 1), r"top level: expected exactly the keys .* unknown \['extra'\]"),
    "missing key": (lambda m: m.pop("voices"), r"missing \['voices'\]"),
    "unknown key inside": (assign("model", "extra", 1), r"model: expected exactly .* unknown \['extra'\]"),
    "level twice": (assign("target", "levels", 1, "name", "v4"), "target.levels: expected every name once"),
    "another sample rate": (assign("audio", "sample_rate", 22_050), "audio: expected"),
    "stages out of order": (
        lambda m: m["stages"].reverse(),
        "stages: expected stages once each, in the order",
    ),
    "stage twice": (assign("stages", 1, "name", "bert"), "stages: expected stages once each"),
    "source without the requirement": (assign("stages", 4, "name", "source"), "stages: expected stages once"),
    "wrong axis": (assign("stages", 0, "axis", "frames"), SIGNATURE),
    "wrong minimum": (assign("stages", 0, "minimum", 2), SIGNATURE),
    "wrong dtype": (assign("stages", 0, "inputs", 0, "dtype", "int32"), SIGNATURE),
    "wrong shape": (assign("stages", 0, "outputs", 0, "shape", 1, HIDDEN + 1), SIGNATURE),
    "level without libraries": (
        lambda m: m["stages"][0]["libraries"].pop(),
        r"stages\[0\].libraries: expected the same buckets for each of the levels v4, v3",
    ),
    "library of an unknown level": (
        lambda m: m["stages"][0]["libraries"].append({**m["stages"][0]["libraries"][0], "level": "v9"}),
        r"stages\[0\].libraries: expected the same buckets",
    ),
    "bucket twice": (
        of_libraries(lambda library: library.update(bucket=8)),
        r"stages\[0\].libraries: expected ascending buckets from 3",
    ),
    "buckets descending": (
        of_libraries(lambda library: library.update(bucket={8: 22, 22: 8}[library["bucket"]])),
        r"stages\[0\].libraries: expected ascending buckets",
    ),
    "bucket below the minimum": (
        of_libraries(lambda library: library.update(bucket={8: 2, 22: 22}[library["bucket"]])),
        r"stages\[0\].libraries: expected ascending buckets from 3",
    ),
    "library not listed": (
        assign("stages", 0, "libraries", 0, "file", "lib/other.so"),
        r"stages\[0\].libraries: expected a file of the list 'files'",
    ),
    "tensor twice": (
        assign("parameters", "tensors", 1, "name", "table"),
        "parameters.tensors: expected every name once, found 'table'",
    ),
    "bytes after the last tensor": (
        of_parameter_file(4096),
        "parameters.tensors: expected tensors that fill the 4096 bytes of .*, found .*ends at 264",
    ),
    "tensors without a file": (
        of_parameter_file(0),
        "parameters.tensors: expected tensors that fill the 0 bytes",
    ),
    "manifest that lists itself": (
        lambda m: m["files"].insert(
            [file["path"] for file in m["files"]].index("parameters.bin"),
            {**m["files"][0], "path": "manifest.msgpack"},
        ),
        "files: expected every file but the manifest",
    ),
    "parity that a terminal takes for a command": (
        assign("parity", "x\x07", 1),
        r"parity\['x\\x07'\]: expected a string of printable characters",
    ),
    "token without a row": (
        assign("vocabulary", "a", 5),
        r"stages\[0\].parameters: expected first a table of two dimensions with a row for each token up to 5",
    ),
    "empty phoneme": (assign("vocabulary", "", 4), "vocabulary: expected phonemes of at least one"),
    "voice twice": (assign("voices", 1, "name", "af_bella"), "voices: expected every name once"),
    "voice of another shape": (
        assign("voices", 0, "columns", 6),
        r"voices\[0\]: expected 20 rows of 4 columns",
    ),
    "voice with too few rows": (assign("voices", 0, "rows", 19), r"voices\[0\]: expected 20 rows"),
    "file twice": (lambda m: m["files"].insert(0, m["files"][0]), "files: expected every path once"),
    "files out of order": (
        lambda m: m["files"].reverse(),
        "files: expected every path once, in ascending order",
    ),
}


NOISE = {"name": "noise", "dtype": "float32", "shape": [1, [600, "frames"]]}
DECODER = r"stages\[5\]: expected StageSignature"
BREAKS_ON_DEVICE: dict[str, tuple[Change, str]] = {
    "unknown device": (assign("stages", 5, "device", "npu"), "device: expected one of cpu, metal, cuda"),
    "device without a runtime": (
        assign("stages", 5, "device", "metal"),
        r"stages\[5\].device: expected one of cpu, cuda, found 'metal'",
    ),
    "source on a device": (
        assign("stages", 4, "device", "cuda"),
        r"stages\[4\].device: expected one of cpu, fo",
    ),
    "F0 on a device": (assign("stages", 3, "device", "cuda"), r"stages\[3\].device: expected one of cpu"),
    "runtime of an unknown device": (
        assign("device_libraries", {"npu": "lib/libtvm_runtime_cuda.so"}),
        "device_libraries: expected some of metal, cuda, found 'npu'",
    ),
    "runtime of a device that is not listed": (
        assign("device_libraries", "cuda", "lib/x.so"),
        r"device_libraries\['cuda'\]: expected a file of the list",
    ),
    "runtime of a device that leaves the directory": (
        assign("device_libraries", "cuda", "../x.so"),
        r"device_libraries\['cuda'\]: expected a relative path",
    ),
    "half of the runtime": (assign("runtime_library", ""), "runtime_library: expected a path beside those"),
    "decoder that takes noise": (assign("stages", 5, "inputs", 4, NOISE), DECODER),
    "offset of zero": (
        assign("stages", 5, "inputs", 4, "shape", 2, [120, "frames", 0]),
        r"shape\[2\]\[2\]: expected an integer from 1",
    ),
    "another offset": (assign("stages", 5, "inputs", 4, "shape", 2, [120, "frames", 2]), DECODER),
    "source after the decoder": (
        lambda m: m["stages"].reverse(),
        "stages: expected stages once each, in the order bert, duration, text_encoder, f0n, source, decoder",
    ),
}


@pytest.mark.parametrize(
    ("fixture", "change", "message"),
    [("raw", *row) for row in BREAKS.values()]
    + [("raw_on_device", *row) for row in BREAKS_ON_DEVICE.values()],
    ids=[*BREAKS, *BREAKS_ON_DEVICE],
)
def test_every_broken_manifest_is_refused_by_place(
    request: pytest.FixtureRequest, fixture: str, change: Change, message: str
) -> None:
    sound = request.getfixturevalue(fixture)
    parse_manifest(changed(sound, lambda entries: None))
    with pytest.raises(ManifestError, match=message):
        parse_manifest(changed(sound, change))


USES: dict[str, tuple[Any, ...]] = {
    "runtime": ("runtime_library",),
    "device": ("device_libraries", "cuda"),
    "stage": ("stages", 0, "libraries", 0, "file"),
    "parameters": ("parameters", "file"),
    "voice": ("voices", 0, "file"),
}


@pytest.mark.parametrize(("one", "other"), [*permutations(USES, 2)])
def test_no_file_has_two_uses_even_as_a_copy(raw_on_device: dict[str, Any], one: str, other: str) -> None:
    """A stage's library that is TVM's runtime once more would end the process."""
    files = {use: reduce(getitem, USES[use], raw_on_device) for use in (one, other)}
    with pytest.raises(ManifestError):
        parse_manifest(changed(raw_on_device, assign(*USES[one], files[other])))
    listed = [entry["path"] for entry in raw_on_device["files"]]
    places = {use: listed.index(file) for use, file in files.items()}
    copied = assign("files", places[one], "sha256", raw_on_device["files"][places[other]]["sha256"])
    with pytest.raises(ManifestError, match="expected files with another content than those of"):
        parse_manifest(changed(raw_on_device, copied))


UNSAFE = [
    *("/etc/passwd", "../outside", "lib/../../outside", "lib//x", "lib/./x", "./x", "lib/", "", "lib\\x"),
    *("C:x", "c:/x", ".hidden", "x.", "x ", "lib/nul.so", "COM1", "a\x00b", "a\nb", "ü", "~/x", "x" * 201),
    "a/b/c/d/e/f/g/h/i",
]


@pytest.mark.parametrize("path", filter(None, UNSAFE), ids=repr)
def test_unsafe_paths_are_refused(raw: dict[str, Any], path: str) -> None:
    with pytest.raises(
        ManifestError,
        match=r"runtime_library: expected a (relative path|path of at most|string|file of the list)",
    ):
        parse_manifest(changed(raw, assign("runtime_library", path)))


CLASHING = "LIB/x.so Lib/deeper/x.so README.TXT Manifest.msgpack manifest.MSGPACK/x lib LICENSE/x".split()


@pytest.mark.parametrize("path", CLASHING)
def test_paths_that_cannot_exist_at_once_on_every_system_are_refused(raw: dict[str, Any], path: str) -> None:
    def add(entries: dict[str, Any]) -> None:
        entries["files"].append({**entries["files"][0], "path": path})
        entries["files"].sort(key=lambda entry: entry["path"])

    with pytest.raises(ManifestError, match="upper and lower case"):
        parse_manifest(changed(raw, add))


def test_what_is_no_msgpack_is_refused() -> None:
    with pytest.raises(MsgpackError):
        parse_manifest(b"PK\x03\x04")
