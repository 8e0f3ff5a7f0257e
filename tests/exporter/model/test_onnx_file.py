"""The reader of ONNX files sees what the onnx package sees, and refuses everything else by a typed error."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import numpy as np
import onnx
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from onnx import TensorProto, helper, numpy_helper

from exporter.model import onnx_file
from exporter.model.onnx_file import OnnxFile, OnnxFileError

TYPES = ("float32", "float64", "float16", "int8", "uint8", "int32", "int64")
ANY_ARRAY = st.sampled_from(TYPES).flatmap(
    lambda name: arrays.arrays(
        np.dtype(name),
        arrays.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=5),
        elements={"allow_nan": False} if name.startswith("float") else None,
    )
)
ANY_NAME = st.text(st.characters(codec="utf-8"), max_size=20)


def tensor(name: str, values: np.ndarray, raw: bool) -> TensorProto:
    if raw:
        return numpy_helper.from_array(values, name)
    kind = helper.np_dtype_to_tensor_dtype(values.dtype)
    return helper.make_tensor(name, kind, values.shape, values.flatten().tolist())


def model(nodes: list[onnx.NodeProto], tensors: list[TensorProto]) -> onnx.ModelProto:
    return helper.make_model(helper.make_graph(nodes, "graph", [], [], tensors), producer_name="a test")


@settings(max_examples=60, deadline=None)
@given(values=st.dictionaries(ANY_NAME, st.tuples(ANY_ARRAY, st.booleans()), max_size=4))
def test_numbers_are_those_of_the_onnx_package(
    values: dict[str, tuple[np.ndarray, bool]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("onnx") / "model.onnx"
    onnx.save(model([], [tensor(name, array, raw) for name, (array, raw) in values.items()]), path)
    expected = {each.name: numpy_helper.to_array(each) for each in onnx.load(path).graph.initializer}
    with OnnxFile(path) as file:
        found = {name: file.read(each).numpy() for name, each in file.tensors.items()}
    assert found.keys() == expected.keys()
    for name, array in expected.items():
        assert found[name].dtype == array.dtype
        np.testing.assert_array_equal(found[name], array)


@settings(max_examples=60, deadline=None)
@given(
    names=st.lists(ANY_NAME, max_size=5),
    attributes=st.dictionaries(
        st.from_regex(r"[a-z]{1,8}", fullmatch=True),
        st.integers(-(2**63), 2**63 - 1) | st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1, max_size=4),
        max_size=4,
    ),
)
def test_nodes_are_those_of_the_onnx_package(
    names: list[str], attributes: dict[str, int | list[int]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("onnx") / "model.onnx"
    made = helper.make_node("Custom", names, names[::-1], "/a node", doc_string="ignored", **attributes)
    constant = helper.make_node("Constant", [], ["c"], value=tensor("", np.arange(3, dtype=np.float32), True))
    onnx.save(model([made, constant], []), path)
    with OnnxFile(path) as file:
        node, other = file.nodes
        assert file.read(other.tensor).tolist() == [0, 1, 2]  # type: ignore[arg-type]
    assert (node.operator, node.name, node.inputs, node.outputs) == ("Custom", "/a node", names, names[::-1])
    wanted = {name: value if isinstance(value, list) else [value] for name, value in attributes.items()}
    assert node.integers == wanted


def test_bfloat16_is_read_from_bits_and_from_integers(tmp_path: Path) -> None:
    numbers = torch.tensor([1.0, -2.5, 3e30], dtype=torch.bfloat16)
    bits = numbers.view(torch.int16).numpy().astype(np.uint16)
    raw = TensorProto(name="raw", data_type=16, dims=[3], raw_data=bits.tobytes())
    packed = TensorProto(name="packed", data_type=16, dims=[3], int32_data=bits.tolist())
    onnx.save(model([], [raw, packed]), tmp_path / "model.onnx")
    with OnnxFile(tmp_path / "model.onnx") as file:
        for each in file.tensors.values():
            assert torch.equal(file.read(each), numbers)


@settings(max_examples=200, deadline=None)
@given(data=st.binary(max_size=200))
def test_any_bytes_are_read_or_refused(data: bytes, tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.getbasetemp() / "any.onnx"
    path.write_bytes(data)
    with suppress(OnnxFileError):
        OnnxFile(path).close()


FLOATS = {"name": "w", "data_type": 1}


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        (FLOATS | {"dims": [2], "raw_data": b"1234"}, "has 4 bytes of numbers, expected 8"),
        (FLOATS | {"dims": [1 << 40]}, "impossible shape"),
        (FLOATS | {"dims": [-1]}, "impossible shape"),
        (FLOATS | {"dims": [1] * 9}, "impossible shape"),
        (FLOATS | {"dims": [1 << 20, 1 << 20]}, "impossible shape"),
        (FLOATS | {"dims": [1], "data_location": 1}, r"external data.*as one file"),
        (FLOATS | {"dims": [1], "raw_data": b"1234", "float_data": [1.0]}, "its numbers twice"),
        (FLOATS | {"dims": [1], "double_data": [1.0]}, "or in another type"),
        ({"name": "w", "data_type": 3, "dims": [2], "int32_data": [1, 2, 3]}, "has 3 numbers, expected 2"),
        ({"name": "w", "data_type": 8, "dims": [1]}, "is not one of numbers"),
        ({"name": "\x1b[2J" + "x" * 300, "data_type": 1, "dims": [1]}, r"tensor \\x1b\[2Jx{90,100} has 0"),
        ({"name": "x" * 5000, "data_type": 1}, "a name of 5,000 bytes"),
    ],
)
def test_a_tensor_that_cannot_be_is_refused(fields: dict[str, object], message: str, tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    path.write_bytes(model([], [TensorProto(**fields)]).SerializeToString())
    with pytest.raises(OnnxFileError, match=message), OnnxFile(path) as file:
        file.read(*file.tensors.values())


def test_a_model_has_one_graph_and_each_tensor_one_name(tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    one = tensor("w", np.zeros(1, np.float32), True)
    sound = model([], [one]).SerializeToString()
    sparse = model([], [])
    sparse.graph.sparse_initializer.add()
    for data, message in (
        (b"", "expected one graph, found 0"),
        (sound + sound, "expected one graph, found 2"),
        (model([], [one, one]).SerializeToString(), "two of its tensors have the name w"),
        (sparse.SerializeToString(), "not dense"),
        (b"\x3a\xff\xff\xff\xff\x0f", "cut off"),
        (b"\x3f", "damaged at byte"),
    ):
        path.write_bytes(data)
        with pytest.raises(OnnxFileError, match=message):
            OnnxFile(path)


def test_a_file_that_describes_too_much_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "model.onnx"
    monkeypatch.setattr(onnx_file, "_MOST_FIELDS", 1000)
    path.write_bytes(model([onnx.NodeProto()] * 1000, []).SerializeToString())
    with pytest.raises(OnnxFileError, match="describes more than 1,000 things"):
        OnnxFile(path)
    path.write_bytes(model([onnx.NodeProto(op_type="x" * 4000)] * 10, []).SerializeToString())
    monkeypatch.setattr(onnx_file, "_MOST_TEXT", 20_000)
    with pytest.raises(OnnxFileError, match="more than 20,000 of names"):
        OnnxFile(path)


def test_a_file_that_shrinks_while_it_is_open_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    onnx.save(model([], [tensor("w", np.zeros(1000, np.float32), True)]), path)
    with OnnxFile(path) as file:
        with path.open("r+b") as shrunk:
            shrunk.truncate(100)
        with pytest.raises(OnnxFileError, match="cut off at byte 100"):
            file.read(file.tensors["w"])
