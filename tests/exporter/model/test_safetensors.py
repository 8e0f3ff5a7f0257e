"""A safetensors file of the official layout gives the weights of torch's file, or a typed error."""

from __future__ import annotations

import struct
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest
import torch
from safetensors.torch import load_file, save_file

from exporter.compiler.kokoro_model import build_model
from exporter.errors import CheckpointError
from exporter.model import checkpoint
from exporter.model.config import PARTS, read_config
from tests.support.fuzzing.bundles import damaged_bytes

Tensors = dict[str, torch.Tensor]


@pytest.fixture(scope="module")
def tensors(config_path: Path) -> Tensors:
    model = build_model(read_config(config_path))
    return {
        f"{part}.module.{name}": tensor.contiguous()
        for part in PARTS
        for name, tensor in getattr(model, part).state_dict().items()
    }


def saved(tensors: Tensors, path: Path) -> Path:
    save_file(tensors, path)
    return path


def test_it_gives_the_weights_of_torchs_file(tensors: Tensors, config_path: Path, tmp_path: Path) -> None:
    states = {
        part: {
            name.removeprefix(f"{part}."): value
            for name, value in tensors.items()
            if name.startswith(f"{part}.")
        }
        for part in PARTS
    }
    torch.save(states, tmp_path / "model.pth")
    expected = checkpoint.load(str(tmp_path / "model.pth"), config_path)
    loaded = checkpoint.load(str(saved(tensors, tmp_path / "model.safetensors")), config_path)
    for part in PARTS:
        wanted = getattr(expected.model, part).state_dict()
        found = getattr(loaded.model, part).state_dict()
        assert found.keys() == wanted.keys()
        assert all(torch.equal(value, wanted[name]) for name, value in found.items())
    assert (loaded.source, loaded.name, loaded.rounded) == ("file", "model", {})


def test_names_need_no_prefix(tensors: Tensors, config_path: Path, tmp_path: Path) -> None:
    plain = {name.replace(".module.", ".", 1): value for name, value in tensors.items()}
    checkpoint.check(saved(plain, tmp_path / "model.SAFETENSORS"), config_path)


def dropped(tensors: Tensors) -> None:
    del tensors["bert.module.pooler.bias"]


def added(tensors: Tensors) -> None:
    tensors["decoder.module.surprise"] = torch.zeros(1)


def misshapen(tensors: Tensors) -> None:
    tensors["bert_encoder.module.bias"] = torch.zeros(3)


def of_another_layout(tensors: Tensors) -> None:
    tensors["embedding"] = torch.zeros(3)


def of_integers(tensors: Tensors) -> None:
    tensors["bert_encoder.module.bias"] = tensors["bert_encoder.module.bias"].int()


def infinite(tensors: Tensors) -> None:
    tensors["bert_encoder.module.bias"] = tensors["bert_encoder.module.bias"] / 0


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (dropped, r"lacks 1 tensors of bert: pooler\.bias"),
        (added, "the model lacks, 1 tensors of decoder: surprise"),
        (misshapen, r"bert_encoder\.bias has shape \[3\]"),
        (of_another_layout, "is not a Kokoro checkpoint.*embedding"),
        (of_integers, r"another type than a float in 1 tensors of bert_encoder: bias"),
        (infinite, "not finite numbers in 1 tensors of bert_encoder: bias"),
    ],
)
def test_what_does_not_fit_is_named(
    spoil: Callable[[Tensors], None], message: str, tensors: Tensors, config_path: Path, tmp_path: Path
) -> None:
    changed = dict(tensors)
    spoil(changed)
    with pytest.raises(CheckpointError, match=message):
        checkpoint.load(str(saved(changed, tmp_path / "model.safetensors")), config_path)


def test_damaged_files_are_refused_or_have_other_numbers(
    tensors: Tensors, config_path: Path, tmp_path: Path
) -> None:
    path = saved(tensors, tmp_path / "model.safetensors")
    with path.open("rb") as file:
        size = file.read(8)
        head = size + file.read(struct.unpack("<Q", size)[0])
    numbers = path.stat().st_size - len(head)
    random = Random(0)
    refused = 0
    for _ in range(16):
        damaged = damaged_bytes(random, head, head)
        # The check reads the header alone, so a sparse file's zeros stand for the numbers.
        with path.open("wb") as file:
            file.write(damaged)
            file.truncate(len(damaged) + numbers - random.choice((0, 1)))
        try:
            checkpoint.check(path, config_path)
        except CheckpointError:
            refused += 1
        else:
            assert load_file(path).keys() == tensors.keys()
    assert refused > 12


@pytest.mark.parametrize("content", [b"", b"\xff" * 100, struct.pack("<Q", 1 << 60) + b"{}"])
def test_what_is_no_safetensors_file_is_refused(content: bytes, config_path: Path, tmp_path: Path) -> None:
    path = tmp_path / "model.safetensors"
    path.write_bytes(content)
    with pytest.raises(CheckpointError, match="not a safetensors file"):
        checkpoint.load(str(path), config_path)
