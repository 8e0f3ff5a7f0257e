"""A checkpoint in ONNX gives the model's weights, however it was made, or says what is wrong with it."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from pathlib import Path

import numpy as np
import onnx
import pytest
import torch
from onnx import numpy_helper

from exporter.errors import CheckpointError
from exporter.model import checkpoint
from exporter.model.config import OFFICIAL_CONFIG
from tests.support.tiny import onnx_models
from tests.support.tiny.onnx_models import AsKokoro, AsKokoroOnnx, TinyKokoro

WRAPPERS = pytest.mark.parametrize("wrapper", [AsKokoro, AsKokoroOnnx])
# weight_norm rounds the norm, the quotient and the product; torch and its export do so in another order.
FOLDED = 4e-7


@pytest.fixture(scope="module")
def model() -> TinyKokoro:
    return TinyKokoro()


@pytest.fixture(autouse=True)
def tiny(model: TinyKokoro, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checkpoint, "build_model", lambda config: deepcopy(model))
    monkeypatch.setattr(checkpoint, "model_without_weights", lambda config: model)


@pytest.fixture(scope="module")
def files(model: TinyKokoro, tmp_path_factory: pytest.TempPathFactory) -> dict[type, Path]:
    """The model in float32, by its wrapper."""
    place = tmp_path_factory.mktemp("onnx")
    return {
        wrapper: onnx_models.export(model, place / f"{wrapper.__name__}.onnx", wrapper)
        for wrapper in (AsKokoro, AsKokoroOnnx)
    }


def differences(model: TinyKokoro, path: Path) -> dict[str, float]:
    """Returns the greatest difference of each tensor that is not equal to the bit, of its largest number."""
    loaded = checkpoint.load(str(path), OFFICIAL_CONFIG).model.state_dict()
    expected = onnx_models.plain_state(model)
    assert loaded.keys() == expected.keys()
    # The graph does not have them, and nothing computes with them.
    unused = {"bert.pooler.weight", "bert.pooler.bias"}
    return {
        name: float((loaded[name] - value).abs().max() / value.abs().max())
        for name, value in expected.items()
        if name not in unused and not torch.equal(loaded[name], value)
    }


def normed(model: TinyKokoro) -> set[str]:
    return {name.removesuffix("_g") for name in model.state_dict() if name.endswith("weight_g")}


@WRAPPERS
@pytest.mark.parametrize("level", [None, "ORT_ENABLE_BASIC", "ORT_ENABLE_EXTENDED"])
def test_all_but_folded_weights_are_equal_to_the_bit(
    model: TinyKokoro, files: dict[type, Path], wrapper: type, level: str | None
) -> None:
    path = onnx_models.optimised(files[wrapper], level) if level else files[wrapper]
    found = differences(model, path)
    assert found.keys() <= normed(model)
    assert max(found.values()) < FOLDED


@WRAPPERS
def test_weights_that_are_not_folded_are_equal_to_the_bit(
    model: TinyKokoro, wrapper: type, tmp_path: Path
) -> None:
    path = onnx_models.export(model, tmp_path / "model.onnx", wrapper, do_constant_folding=False)
    assert differences(model, path) == {}


@WRAPPERS
def test_weights_in_float16_are_rounded_once(
    model: TinyKokoro, files: dict[type, Path], wrapper: type
) -> None:
    path = onnx_models.in_float16(files[wrapper])
    found = checkpoint.load(str(path), OFFICIAL_CONFIG)
    assert found.rounded == {}
    wide = checkpoint.load(str(files[wrapper]), OFFICIAL_CONFIG).model.state_dict()
    for name, value in found.model.state_dict().items():
        # ONNX Runtime keeps what its operators take in float32 only.
        assert torch.equal(value, wide[name]) or torch.equal(value, wide[name].half().float()), name


@WRAPPERS
@pytest.mark.parametrize("unsigned", [False, True])
@pytest.mark.parametrize("per_channel", [False, True])
@pytest.mark.parametrize("level", [None, "ORT_ENABLE_EXTENDED"])
def test_weights_in_8_bits_differ_by_half_a_step(
    model: TinyKokoro,
    files: dict[type, Path],
    wrapper: type,
    unsigned: bool,
    per_channel: bool,
    level: str | None,
) -> None:
    path = onnx_models.quantised(files[wrapper], unsigned, per_channel=per_channel)
    path = onnx_models.optimised(path, level) if level else path
    loaded = checkpoint.load(str(path), OFFICIAL_CONFIG)
    # A signed range is symmetric: its step is a 127th of the largest number.
    assert max(differences(model, path).values()) < 1.01 / 254
    assert sum(loaded.rounded.values()) == 26
    assert set(loaded.rounded) <= {"int8", "uint8"}


def test_a_fine_tune_reads_as_well(tmp_path: Path, model: TinyKokoro) -> None:
    other = TinyKokoro(seed=1)
    found = differences(other, onnx_models.export(other, tmp_path / "model.onnx"))
    assert found.keys() <= normed(other) and max(found.values()) < FOLDED


def test_rows_that_rounding_made_zero_are_zero(model: TinyKokoro, tmp_path: Path) -> None:
    small = deepcopy(model)
    conv = small.predictor.F0[0].conv1
    conv.weight_g[2:5] *= 1e-4
    path = onnx_models.quantised(onnx_models.export(small, tmp_path / "model.onnx"))
    weight = checkpoint.load(str(path), OFFICIAL_CONFIG).model.predictor.F0[0].conv1.weight
    assert not weight[2:5].any() and weight[[0, 1, 5]].any(dim=2).all()


def changed(path: Path, place: Path, change: Callable[[onnx.GraphProto], object]) -> str:
    loaded = onnx.load(path)
    change(loaded.graph)
    made = place / "changed.onnx"
    onnx.save(loaded, made)
    return str(made)


def initializer(graph: onnx.GraphProto, end: str) -> onnx.TensorProto:
    return next(each for each in graph.initializer if each.name.endswith(end))


def node(graph: onnx.GraphProto, name: str) -> onnx.NodeProto:
    return next(each for each in graph.node if each.name.endswith(name))


def put(end: str, values: np.ndarray) -> Callable[[onnx.GraphProto], object]:
    def change(graph: onnx.GraphProto) -> None:
        found = initializer(graph, end)
        found.CopyFrom(numpy_helper.from_array(values.astype(np.float32), found.name))

    return change


def drop(end: str) -> Callable[[onnx.GraphProto], object]:
    return lambda graph: graph.initializer.remove(initializer(graph, end))


def add(name: str) -> Callable[[onnx.GraphProto], object]:
    values = np.zeros(3, np.float32)
    return lambda graph: graph.initializer.append(numpy_helper.from_array(values, name))


def rename(name: str, other: str) -> Callable[[onnx.GraphProto], object]:
    return lambda graph: setattr(node(graph, name), "name", other)


def cycle(graph: onnx.GraphProto) -> None:
    """Makes a weight the transpose of itself."""
    product = node(graph, "bert_encoder/MatMul")
    product.input[1] = "one"
    graph.node.append(onnx.helper.make_node("Transpose", ["other"], ["one"]))
    graph.node.append(onnx.helper.make_node("Transpose", ["one"], ["other"]))


def untie(graph: onnx.GraphProto) -> None:
    """Gives the second call of a layer other numbers."""
    product = node(graph, "query_1/MatMul")
    graph.initializer.append(numpy_helper.from_array(np.eye(8, dtype=np.float32), "others"))
    product.input[1] = "others"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (drop("alpha1.0"), r"lacks 1 tensors of predictor: F0\.0\.alpha1\.0\."),
        (drop("F0_proj.bias"), r"lacks 1 tensors of predictor: F0_proj\.bias\."),
        (add("kmodel.decoder.2.weight"), r"the model lacks, 1 tensors .*: kmodel\.decoder\.2\.weight\."),
        (
            rename("cnn.0.0/Conv", "/text_encoder/cnn.1/cnn.1.0/Conv"),
            r"lacks, 1 .*: text_encoder\.cnn\.1\.0\.weight\.",
        ),
        (rename("lstm/LSTM", "/text_encoder/rnn/LSTM"), r"lacks, 4 tensors .*text_encoder\.rnn\.weight_hh"),
        (put("F0_proj.bias", np.zeros(2)), r"predictor\.F0_proj\.bias has shape \[2\].*asks for \[1\]"),
        (
            put("F0_proj.weight", np.zeros((1, 8, 3))),
            r"F0_proj\.weight has shape \[1, 8, 3\].*for \[1, 8, 1\]",
        ),
        (put("F0_proj.bias", np.full(1, np.nan)), r"not finite numbers in 1 .* of predictor: F0_proj\.bias"),
        (put("F0_proj.bias", np.full(1, np.inf)), r"not finite numbers in 1 .* of predictor: F0_proj\.bias"),
        (cycle, r"lacks 1 tensors of bert_encoder: weight"),
        (untie, r"different numbers for bert\.encoder\.albert_layers\.0\.query\.weight in different places"),
        (lambda graph: graph.node.append(graph.node[-1]), "two of its nodes have the output"),
        (lambda graph: graph.ClearField("node"), r"lacks \d+ tensors of bert:"),
    ],
)
def test_what_does_not_fit_is_named(
    files: dict[type, Path], tmp_path: Path, change: Callable[[onnx.GraphProto], object], message: str
) -> None:
    with pytest.raises(CheckpointError, match=message):
        checkpoint.load(changed(files[AsKokoro], tmp_path, change), OFFICIAL_CONFIG)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (put("F0_proj.weight_scale", np.ones(3)), r"shapes of its tensor .*F0_proj\.weight_scale and of the"),
        (drop("F0_proj.weight_scale"), r"no scale for the numbers of .*F0_proj\.weight_quantized"),
        (put("F0_proj.weight_quantized", np.ones((1, 8, 1))), r"or not 8 bits in each"),
        (
            put("F0_proj.weight_scale", np.array(np.nan)),
            r"not finite .* in 1 .* of predictor: F0_proj\.weight",
        ),
    ],
)
def test_scales_that_do_not_fit_are_named(
    files: dict[type, Path], tmp_path: Path, change: Callable[[onnx.GraphProto], object], message: str
) -> None:
    path = onnx_models.quantised(files[AsKokoro])
    with pytest.raises(CheckpointError, match=message):
        checkpoint.load(changed(path, tmp_path, change), OFFICIAL_CONFIG)


def test_norms_may_be_left_out(files: dict[type, Path], tmp_path: Path, model: TinyKokoro) -> None:
    def remove(graph: onnx.GraphProto) -> None:
        for each in [each for each in graph.initializer if ".norm." in each.name]:
            graph.initializer.remove(each)

    loaded = checkpoint.load(changed(files[AsKokoro], tmp_path, remove), OFFICIAL_CONFIG).model
    for norm in (module for module in loaded.modules() if isinstance(module, torch.nn.InstanceNorm1d)):
        assert torch.all(norm.weight == 1) and torch.all(norm.bias == 0)


@pytest.mark.parametrize("share", [0.0, 0.1, 0.5, 0.99])
def test_a_part_of_a_file_is_refused(files: dict[type, Path], tmp_path: Path, share: float) -> None:
    whole = files[AsKokoro].read_bytes()
    path = tmp_path / "part.onnx"
    path.write_bytes(whole[: int(share * len(whole))])
    with pytest.raises(CheckpointError, match="damaged or cut off"):
        checkpoint.load(str(path), OFFICIAL_CONFIG)


def test_external_data_and_other_formats_are_refused(
    files: dict[type, Path], tmp_path: Path, model: TinyKokoro
) -> None:
    path = tmp_path / "external.onnx"
    onnx.save(onnx.load(files[AsKokoro]), path, save_as_external_data=True, size_threshold=0)
    with pytest.raises(
        CheckpointError, match=r"lie in another file \(external data\): save the model as one"
    ):
        checkpoint.load(str(path), OFFICIAL_CONFIG)
    torch.save(model.state_dict(), tmp_path / "torch.onnx")
    with pytest.raises(CheckpointError, match="not an ONNX file with Kokoro's weights"):
        checkpoint.load(str(tmp_path / "torch.onnx"), OFFICIAL_CONFIG)
    with pytest.raises(CheckpointError, match="no checkpoint file"):
        checkpoint.load(str(tmp_path), OFFICIAL_CONFIG)
