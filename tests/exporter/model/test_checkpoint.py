"""The loader takes every weight of a file, or says what is wrong with it."""

from __future__ import annotations

import hashlib
import pickle
from collections.abc import Callable
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
import torch

from exporter.compiler.kokoro_model import build_model
from exporter.errors import CheckpointError, CheckpointUnreachableError
from exporter.model import checkpoint
from exporter.model.config import OFFICIAL_CONFIG, PARTS, read_config

States = dict[str, Any]


@pytest.fixture(scope="module")
def model(config_path: Path) -> Any:
    model = build_model(read_config(config_path))
    for module in model.modules():
        if hasattr(module, "weight_v"):
            module.weight = module.weight.detach()  # Or it cannot be copied.
    return model


@pytest.fixture
def prebuilt(model: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Building a model is slow, and every load overwrites all of a copy."""
    monkeypatch.setattr(checkpoint, "build_model", lambda config: deepcopy(model))


@pytest.fixture
def states(model: Any) -> States:
    """A file of the official layout in which every tensor is one number of its own, and takes no memory."""
    states: States = {}
    for part in PARTS:
        names = getattr(model, part).state_dict()
        states[part] = {
            f"module.{name}": torch.tensor(0.01 + 0.001 * index).expand(tensor.shape)
            for index, (name, tensor) in enumerate(names.items())
        }
    return states


def _save(states: object, directory: Path) -> str:
    path = directory / "model.pth"
    torch.save(states, path)
    return str(path)


@pytest.mark.usefixtures("prebuilt")
def test_every_weight_of_the_file_is_in_the_model(states: States, config_path: Path, tmp_path: Path) -> None:
    source = _save(states, tmp_path)
    loaded = checkpoint.load(source, config_path)
    for part in PARTS:
        state = getattr(loaded.model, part).state_dict()
        expected = {name.removeprefix("module."): value for name, value in states[part].items()}
        for name in [name.removesuffix("_v") for name in expected if name.endswith("weight_v")]:
            # weight_norm is applied once and for all.
            expected[name] = torch._weight_norm(expected.pop(f"{name}_v"), expected.pop(f"{name}_g"), 0)
        assert state.keys() == expected.keys()
        assert all(torch.equal(value, expected[name]) for name, value in state.items())
    assert (loaded.source, loaded.name, loaded.synthetic) == ("file", "model", False)
    assert loaded.sha256 == hashlib.sha256(Path(source).read_bytes()).hexdigest()
    assert loaded.config_sha256 == hashlib.sha256(config_path.read_bytes()).hexdigest()
    assert not loaded.model.training
    assert loaded.vocabulary == {"a": 1, "ㄅ": 199}


@pytest.mark.usefixtures("prebuilt")
def test_norms_may_be_left_out_as_in_the_official_file_and_old_position_ids_are_harmless(
    states: States, config_path: Path, tmp_path: Path
) -> None:
    kept = {
        part: {name: value for name, value in state.items() if ".norm." not in name}
        for part, state in states.items()
    }
    assert kept["decoder"].keys() < states["decoder"].keys()
    kept["bert"]["module.embeddings.position_ids"] = torch.arange(512)[None]
    loaded = checkpoint.load(_save(kept, tmp_path), config_path)
    for norm in (module for module in loaded.model.modules() if isinstance(module, torch.nn.InstanceNorm1d)):
        assert torch.all(norm.weight == 1) and torch.all(norm.bias == 0)


@pytest.mark.usefixtures("prebuilt")
def test_parameters_and_numbers_of_two_or_eight_bytes_are_weights_too(
    states: States, config_path: Path, tmp_path: Path
) -> None:
    state = states["bert_encoder"]
    expected = {name: value.clone() for name, value in state.items()}
    state["module.bias"] = torch.nn.Parameter(state["module.bias"].half())
    state["module.weight"] = state["module.weight"].double()
    loaded = checkpoint.load(_save(states, tmp_path), config_path).model.bert_encoder
    torch.testing.assert_close(loaded.weight, expected["module.weight"], rtol=0, atol=0)
    torch.testing.assert_close(loaded.bias, expected["module.bias"].half().float(), rtol=0, atol=0)


def test_a_description_is_compared_without_reading_weights(
    states: States, config_path: Path, tmp_path: Path
) -> None:
    source = Path(_save(states, tmp_path))
    content = bytearray(source.read_bytes())
    content[content.index(torch.tensor(0.05).numpy().tobytes())] ^= 1
    source.write_bytes(content)
    checkpoint.check(source, config_path)
    with pytest.raises(CheckpointError, match="is damaged: Bad CRC-32"):
        checkpoint.load(str(source), config_path)
    drop("bert", 0)(states)
    with pytest.raises(CheckpointError, match="lacks 1 tensors of bert"):
        checkpoint.check(Path(_save(states, tmp_path)), config_path)


def test_a_file_that_is_too_large_is_not_read(config_path: Path, tmp_path: Path) -> None:
    path = tmp_path / "model.pth"
    with path.open("wb") as file:
        file.truncate(1 << 43)
    with pytest.raises(CheckpointError, match=r"8,796,093,022,208 bytes, expected at most"):
        checkpoint.load(str(path), config_path)


def put(part: str, name: str, value: object) -> Callable[[States], None]:
    return lambda states: states[part].__setitem__(f"module.{name}", value)


def drop(part: str, *names: str | int) -> Callable[[States], object]:
    """Drops tensors by their names, or by their places in the file."""

    def spoil(states: States) -> None:
        known = list(states[part])
        for name in names:
            del states[part][known[name] if isinstance(name, int) else f"module.{name}"]

    return spoil


def without_prefix(state: dict[str, Any], but: str) -> dict[str, Any]:
    return {name.removeprefix("module."): value for name, value in state.items() if but not in name}


@pytest.mark.usefixtures("prebuilt")
def test_the_models_names_need_no_prefix(states: States, config_path: Path, tmp_path: Path) -> None:
    plain = {part: without_prefix(state, but="?") for part, state in states.items()}
    loaded = checkpoint.load(_save(plain, tmp_path), config_path)
    assert torch.equal(loaded.model.bert_encoder.bias, plain["bert_encoder"]["bias"])


@pytest.mark.usefixtures("prebuilt")
@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (drop("predictor", *range(7)), r"lacks 7 tensors of predictor: .*and 2 more"),
        (
            drop("decoder", "encode.norm1.norm.weight"),
            r"lacks 1 tensors of decoder: encode\.norm1\.norm\.weight",
        ),
        (put("bert", "surprise", torch.zeros(1)), r"the model lacks, 1 tensors of bert: surprise"),
        (
            put("text_encoder", "embedding.weight", torch.zeros(178, 512)),
            r"text_encoder\.embedding\.weight has shape \[178, 512\].*asks for \[200, 512\]",
        ),
        *(
            (
                put("bert_encoder", "bias", torch.full((512,), value)),
                r"not finite numbers in 1 tensors of bert_encoder: bias",
            )
            for value in (float("nan"), float("inf"))
        ),
        (put("decoder", "encode.conv1.bias", 3.0), "expected a dict of tensors under 'decoder'"),
        *(
            (
                put("bert_encoder", "bias", torch.zeros(512, dtype=dtype)),
                r"another type than a float in 1 tensors of bert_encoder: bias",
            )
            for dtype in (torch.complex64, torch.int8, torch.bool)
        ),
        (
            put("bert_encoder", "bias", torch.full((512,), 1e300, dtype=torch.float64)),
            "not finite numbers in 1 tensors of bert_encoder: bias",
        ),
        (
            put("decoder", "encode.conv1.weight_v", torch.zeros(1).expand(1024, 514, 3)),
            r"directions of length zero .* in 1 tensors of decoder: encode\.conv1\.weight\.",
        ),
        *(
            (put("bert_encoder", "bias", value), "not a torch checkpoint of dense tensors")
            for value in (
                torch.zeros(512).to_sparse(),
                torch.empty(512, device="meta"),
            )
        ),
        (put("bert_encoder", "bias", torch.zeros(1).expand(1 << 33)), r"bias has shape \[8589934592\]"),
        (
            lambda states: states["bert_encoder"].update(bias=torch.zeros(512)),
            r"1 tensors of bert_encoder without the prefix 'module\.': bias\. Kokoro's own loader silently",
        ),
        (
            lambda states: states.update(decoder=without_prefix(states["decoder"], but=".norm.")),
            r"tensors of decoder without the prefix 'module\.': .* and 3.. more",
        ),
        (put("bert", "\x1b[2J" + "x" * 500, torch.zeros(1)), r"of bert: \\x1b\[2Jx{90,100}\. "),
        (
            lambda states: states.pop("decoder"),
            "not a Kokoro checkpoint.*found bert, bert_encoder, predictor, text_encoder",
        ),
        (lambda states: states.update(optimizer={}), "not a Kokoro checkpoint"),
    ],
)
def test_what_does_not_fit_is_named(
    states: States, config_path: Path, tmp_path: Path, spoil: Callable[[States], object], message: str
) -> None:
    spoil(states)
    with pytest.raises(CheckpointError, match=message):
        checkpoint.load(_save(states, tmp_path), config_path)


class _Malice:
    """Pickled code that would leave a file behind."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return (Path.touch, (self.path,))


def test_pickled_code_is_refused_and_does_not_run(config_path: Path, tmp_path: Path) -> None:
    evidence = tmp_path / "evidence"
    with pytest.raises(CheckpointError, match=r"loading it would run code"):
        checkpoint.load(_save({"bert": _Malice(evidence)}, tmp_path), config_path)
    assert not evidence.exists()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        *(
            (content, r"not a torch checkpoint|not a Kokoro checkpoint")
            for content in (b"", b"hello", pickle.dumps({"a": 1}, protocol=2))
        ),
        *((share, "damaged or cut off") for share in (0.1, 0.5, 0.99)),
    ],
)
def test_what_is_no_checkpoint_or_a_part_of_one_is_refused(
    states: States, content: bytes | float, message: str, config_path: Path, tmp_path: Path
) -> None:
    path = Path(_save(states, tmp_path))
    whole = path.read_bytes()
    path.write_bytes(content if isinstance(content, bytes) else whole[: int(content * len(whole))])
    with pytest.raises(CheckpointError, match=message):
        checkpoint.load(str(path), config_path)


@pytest.mark.parametrize(
    ("source", "config", "message"),
    [
        ("absent.pth", OFFICIAL_CONFIG, r"no checkpoint file at absent\.pth"),
        ("model.pth", None, r"--config PATH.*hub, packages and synthetic"),
        ("hub", OFFICIAL_CONFIG, "leave out --config"),
    ],
)
def test_a_wrong_choice_says_what_to_choose(source: str, config: Path | None, message: str) -> None:
    with pytest.raises(CheckpointError, match=message):
        checkpoint.load(source, config)


def test_an_unreachable_hub_is_named_with_the_other_choices(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path))
    monkeypatch.setattr(constants, "ENDPOINT", "http://127.0.0.1:9")
    with pytest.raises(CheckpointUnreachableError, match=r"--checkpoint PATH --config PATH.*synthetic"):
        checkpoint.load("hub")


def test_building_a_model_leaves_the_random_state_and_the_streams_alone(
    config_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    before = torch.get_rng_state()
    build_model(read_config(config_path))
    assert torch.equal(torch.get_rng_state(), before)
    assert capfd.readouterr() == ("", "")
