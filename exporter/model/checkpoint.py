"""Loading of a Kokoro checkpoint so that every weight is the file's, or an error says why not.

kokoro's own loader falls back to ``strict=False`` and then computes with random weights; this one names the
tensors that are missing, left over or misshapen and stops. Checkpoints are files of the official layout, of
torch or safetensors, and ONNX files.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import torch
from safetensors import SafetensorError, safe_open

from exporter.compiler.kokoro_model import build_model, make_weights_plain, model_without_weights
from exporter.errors import CheckpointError
from exporter.model import hub, synthetic, weight_packages
from exporter.model.config import OFFICIAL_CONFIG, PARTS, Config, read_config
from exporter.model.file_format import file_format
from exporter.model.onnx_file import OnnxFile, OnnxFileError
from exporter.model.onnx_weights import OnnxWeights, Weight
from exporter.model.torch_file import StoredTensor, TorchFile, TorchFileError
from runtime_min.format.verify import sha256_of

Source = Literal["hub", "packages", "file", "synthetic"]
State = Mapping[str, StoredTensor | Weight]
Rounded = Mapping[str, int]
"""Number of weights that a file has in each type of 8 bits, ``int8`` or ``uint8``."""

_SAFETENSORS = {"F64": torch.float64, "F32": torch.float32, "F16": torch.float16, "BF16": torch.bfloat16}
"""safetensors' names of the types that a checkpoint may have."""
_FLOATS = (torch.float64, torch.float32, torch.float16, torch.bfloat16)
_MOST_BYTES_OUTSIDE_TENSORS = 16 << 20

# transformers before 4.31 saved this constant with the weights of ALBERT; the model makes its own.
_HARMLESS_LEFTOVERS = {"bert": {"embeddings.position_ids"}}


@dataclass(frozen=True)
class Checkpoint:
    """A loaded model and where it came from."""

    model: Any
    """kokoro.KModel in eval mode, float32, disable_complex=False, every weight from the file; weight_norm is
    applied and removed."""
    config: Config
    """The configuration, validated."""
    name: str
    """The model's name in a manifest: the repository on the hub or the file's stem."""
    source: Source
    path: Path
    """The checkpoint file that was loaded."""
    config_path: Path
    """The configuration file that was loaded."""
    sha256: str
    """Hex digest of the checkpoint file."""
    config_sha256: str
    """Hex digest of the configuration file."""
    rounded: Rounded = field(default_factory=dict)
    """Weights that the file has in 8 bits."""

    @property
    def synthetic(self) -> bool:
        """True if the weights are made up, so that the model babbles."""
        return self.source == "synthetic"

    @property
    def vocabulary(self) -> dict[str, int]:
        """Token id of each phoneme."""
        return dict(self.config["vocab"])


def load(source: str, config: Path | None = None, cache: Path | None = None) -> Checkpoint:
    """Loads a checkpoint.

    Args:
        source: ``hub``, ``packages``, ``synthetic``, or the path of a file, see `file_format`.
        config: the configuration; needed with a path, optional with ``synthetic``, otherwise not allowed.
        cache: directory for files that are made; by default `exporter.directories.cache()`.

    Raises:
        CheckpointUnreachableError: the hub did not deliver, or a package is not installed.
        CheckpointError: the file is not a checkpoint of the model that the configuration describes.
        ConfigError: the configuration is not one of a Kokoro model.
    """
    path, config_path = checkpoint_files(source, config, cache)
    if not os.path.isfile(path):  # Path.is_file fails in a directory that may not be read.
        raise CheckpointError(
            f"no checkpoint file at {path}. --checkpoint takes hub, packages, synthetic or the path of a "
            ".pth, .safetensors or .onnx file."
        )
    model, rounded = load_model(path, config_path)
    names: dict[str, tuple[str, Source]] = {
        "hub": (hub.REPOSITORY, "hub"),
        "packages": (weight_packages.NAME, "packages"),
        "synthetic": ("synthetic", "synthetic"),
    }
    name, kind = names.get(source, (path.stem, "file"))
    digests = sha256_of(path), sha256_of(config_path)
    return Checkpoint(model, read_config(config_path), name, kind, path, config_path, *digests, rounded)


def load_model(path: Path, config_path: Path) -> tuple[Any, Rounded]:
    """Returns the model of a checkpoint, and how many of its weights the file has in 8 bits.

    Raises:
        CheckpointError, ConfigError: as `load` does.
    """
    config = read_config(config_path)
    with _described(path, config) as described:
        model = build_model(config)
        if described.plain:
            make_weights_plain(model)
        for part in PARTS:
            _load_part(path, part, getattr(model, part), described)
    make_weights_plain(model)
    for part in PARTS:
        state = getattr(model, part).state_dict()
        infinite = [name for name, value in state.items() if not _is_finite(value)]
        if infinite:
            problem = "has directions of length zero (weight_v), so values that are not numbers, in"
            raise _misfit(path, problem, part, infinite)
    return model, described.rounded


def checkpoint_files(source: str, config: Path | None = None, cache: Path | None = None) -> tuple[Path, Path]:
    """Returns the paths of a checkpoint and its configuration, fetched or made if necessary.

    The arguments and errors are those of `load`.
    """
    if source in ("hub", "packages") and config is not None:
        raise CheckpointError(
            f"--checkpoint {source} brings its own configuration: leave out --config, or name a local file"
        )
    if source == "hub":
        config_file, weights = map(hub.download, hub.MODEL_FILES)
        return weights, config_file
    if source == "packages":
        return weight_packages.joined_file(cache), OFFICIAL_CONFIG
    if source == "synthetic":
        config = config or OFFICIAL_CONFIG
        return synthetic.ensure_file(config, cache), config
    if config is None:
        raise CheckpointError(
            f"the checkpoint {source} needs its configuration: add --config PATH. "
            "The other choices of --checkpoint are hub, packages and synthetic."
        )
    return Path(source), config


def check(path: Path, config_path: Path) -> None:
    """Compares a checkpoint's description with its configuration, for kokoro's own loader; reads no weights.

    Raises:
        CheckpointError, ConfigError: as `load` does.
    """
    with _described(path, read_config(config_path)):
        pass


@dataclass(frozen=True)
class _Described:
    """The tensors that a file describes, compared with the configuration."""

    states: Mapping[str, State]
    """Tensors by part and name."""
    read: Callable[[str], Iterator[tuple[str, torch.Tensor]]]
    """Yields the tensors of a part."""
    plain: bool = False
    """The file has the weights that weight_norm makes, not their directions and magnitudes."""
    rounded: Rounded = field(default_factory=dict)


@contextmanager
def _described(path: Path, config: Config) -> Iterator[_Described]:
    """Opens a checkpoint, and yields its description after comparing it with the configuration."""
    shapes = model_without_weights(json.dumps(config, sort_keys=True))
    try:
        with _READERS[file_format(path)](path, shapes) as described:
            for part in PARTS:
                _compare(path, part, getattr(shapes, part), described)
            yield described
    except OSError as error:
        raise CheckpointError(f"cannot read the checkpoint {path}: {error.strerror}") from error


@contextmanager
def _described_torch(path: Path, shapes: Any) -> Iterator[_Described]:
    # The widest numbers have eight bytes.
    most_bytes = 8 * sum(tensor.numel() for tensor in shapes.state_dict().values())
    try:
        with TorchFile(path, most_bytes + _MOST_BYTES_OUTSIDE_TENSORS) as file:
            states = _plain_states(path, file.content, shapes)
            yield _Described(states, lambda part: file.read(states[part]))
    except TorchFileError as error:
        raise CheckpointError(
            f"{path} is damaged or cut off, or not a torch checkpoint of dense tensors: {error}. "
            "Get the file again, or save only the tensors of the state dicts."
        ) from error


@contextmanager
def _described_safetensors(path: Path, shapes: Any) -> Iterator[_Described]:
    """Takes names like ``bert.module.embeddings.word_embeddings.weight``, with or without ``module.``."""
    try:
        with safe_open(path, "pt") as file:
            content: dict[str, dict[str, StoredTensor]] = {}
            for key in file.keys():  # noqa: SIM118  (it is no mapping)
                part, _, name = key.partition(".")
                stored = file.get_slice(key)
                shape = tuple(stored.get_shape())
                dtype = _SAFETENSORS.get(stored.get_dtype(), torch.uint8)
                content.setdefault(part, {})[name] = StoredTensor(key, dtype, math.prod(shape), 0, shape)
            states = _plain_states(path, content, shapes)

            def read(part: str) -> Iterator[tuple[str, torch.Tensor]]:
                return ((name, file.get_tensor(each.key)) for name, each in states[part].items())

            yield _Described(states, read)
    except SafetensorError as error:
        raise CheckpointError(
            f"{path} is damaged or cut off, or not a safetensors file: {error}. Get the file again."
        ) from error


@contextmanager
def _described_onnx(path: Path, shapes: Any) -> Iterator[_Described]:
    expected = {
        f"{part}.{name}": shape
        for part in PARTS
        for name, shape in _shapes(getattr(shapes, part), plain=True).items()
    }
    try:
        with OnnxFile(path) as file:
            weights = OnnxWeights(file, expected)
            if weights.unexpected:
                raise _misfit(path, "has, and the model lacks,", "the model", weights.unexpected)
            states: dict[str, dict[str, Weight]] = {part: {} for part in PARTS}
            for name, weight in weights.found.items():
                part, _, name_in_part = name.partition(".")
                states[part][name_in_part] = weight
            yield _Described(states, weights.read_part, plain=True, rounded=weights.rounded)
    except OnnxFileError as error:
        raise CheckpointError(
            f"{path} is damaged or cut off, or not an ONNX file with Kokoro's weights: {error}. "
            "Get the file again, or export it again."
        ) from error


_READERS = {"torch": _described_torch, "safetensors": _described_safetensors, "onnx": _described_onnx}


def _plain_states(path: Path, content: object, shapes: Any) -> dict[str, dict[str, StoredTensor]]:
    """Returns the five parts' state dicts, without DataParallel's prefix ``module.``."""
    if not isinstance(content, dict) or set(content) != set(PARTS):
        found = list(map(str, content)) if isinstance(content, dict) else [type(content).__name__]
        raise CheckpointError(
            f"{path} is not a Kokoro checkpoint: expected a dict of {', '.join(sorted(PARTS))}; "
            f"found {_few(found)}. A training checkpoint has to be reduced to these five first."
        )
    return {part: _plain_state(path, part, content[part], getattr(shapes, part)) for part in PARTS}


def _plain_state(path: Path, part: str, state: object, module: torch.nn.Module) -> dict[str, StoredTensor]:
    if not isinstance(state, dict) or not all(isinstance(value, StoredTensor) for value in state.values()):
        raise CheckpointError(f"{path}: expected a dict of tensors under {part!r}, found something else")
    names = list(map(str, state))
    without = [name for name in names if not name.startswith("module.")]
    if without and set(names) != module.state_dict().keys():
        raise CheckpointError(
            f"{path} has {len(without)} tensors of {part} without the prefix 'module.': {_few(without)}. "
            "Kokoro's own loader silently drops them, unless the names are exactly the model's. Add it."
        )
    plain = {name.removeprefix("module."): tensor for name, tensor in zip(names, state.values(), strict=True)}
    for name in _HARMLESS_LEFTOVERS.get(part, ()):
        plain.pop(name, None)
    return plain


def _shapes(module: torch.nn.Module, plain: bool) -> dict[str, tuple[int, ...]]:
    """Returns the shapes of a module's tensors by name; those of `make_weights_plain` if they are plain."""
    shapes = {name: tuple(tensor.shape) for name, tensor in module.state_dict().items()}
    if not plain:
        return shapes
    return {
        name.removesuffix("_v") if name.endswith("weight_v") else name: shape
        for name, shape in shapes.items()
        if not name.endswith("weight_g")
    }


def _compare(path: Path, part: str, module: torch.nn.Module, described: _Described) -> None:
    """Compares names, types and shapes of a part's tensors with those of the model."""
    expected, state = _shapes(module, described.plain), described.states[part]
    for problem, names in (
        ("lacks", expected.keys() - _known_weights(part, module, described).keys() - state.keys()),
        ("has, and the model lacks,", state.keys() - expected.keys()),
        (
            "has numbers of another type than a float in",
            {name for name in state if state[name].dtype not in _FLOATS},
        ),
    ):
        if names:
            raise _misfit(path, problem, part, names)
    for name, tensor in state.items():
        if tensor.shape != expected[name]:
            raise CheckpointError(
                f"{path}: {part}.{name} has shape {list(tensor.shape)}, and the configuration asks for "
                f"{list(expected[name])}. Give the configuration that belongs to this checkpoint."
            )


def _misfit(path: Path, problem: str, part: str, names: Collection[str]) -> CheckpointError:
    return CheckpointError(
        f"{path} {problem} {len(names)} tensors of {part}: {_few(names)}. "
        "Is it damaged, or does its configuration belong to another model?"
    )


def _load_part(path: Path, part: str, module: torch.nn.Module, described: _Described) -> None:
    """Copies the tensors of a part that fits into a module, one by one."""
    targets = module.state_dict()
    infinite = []
    for name, value in _known_weights(part, module, described).items():
        targets[name].copy_(value)
    for name, value in described.read(part):
        # A float64 may exceed float32.
        if not _is_finite(value.float()):
            infinite.append(name)
        targets[name].copy_(value)
    if infinite:
        raise _misfit(path, "has values that are not finite numbers in", part, infinite)


def _is_finite(value: torch.Tensor) -> bool:
    # The least and the greatest are NaN if any number is.
    return bool(torch.stack(value.aminmax()).isfinite().all())


def _known_weights(part: str, module: torch.nn.Module, described: _Described) -> dict[str, torch.Tensor]:
    """Returns the values of tensors that a checkpoint need not have.

    Kokoro was trained with ``InstanceNorm1d(affine=False)``, and kokoro's code has ``affine=True`` only
    for an old ONNX exporter. The official file therefore holds 548 tensors, not the model's 688: with the
    other 140 it would be larger than its 327,212,226 bytes. If a file has none of these weights and biases,
    they are 1 and 0. An ONNX file lacks ALBERT's pooler, too, which kokoro never asks for its result.
    """
    known = {}
    for name, norm in module.named_modules():
        if isinstance(norm, torch.nn.InstanceNorm1d):
            known[f"{name}.weight"] = torch.ones(norm.num_features)
            known[f"{name}.bias"] = torch.zeros(norm.num_features)
    if known.keys() & described.states[part].keys():
        known = {}
    if part == "bert" and described.plain:
        unused = (name for name in _shapes(module, plain=True) if name.startswith("pooler."))
        known |= {name: torch.zeros(module.state_dict()[name].shape) for name in unused}
    return known


def _few(names: Collection[str], limit: int = 5) -> str:
    """Returns the first few of many names."""
    # A file's names may be of any length, and of characters that a terminal takes for commands.
    shown = ", ".join(ascii(name)[1:-1][:100] for name in sorted(names)[:limit])
    return shown + (f" and {len(names) - limit} more" if len(names) > limit else "")
