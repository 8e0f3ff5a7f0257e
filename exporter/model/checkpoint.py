"""Loading of a Kokoro checkpoint so that every weight is the file's, or an error says why not.

kokoro's own loader falls back to ``strict=False`` and then computes with random weights; this one names the
tensors that are missing, left over or misshapen and stops.
"""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import torch

from exporter.compiler.kokoro_model import build_model, model_without_weights
from exporter.errors import CheckpointError
from exporter.model import hub, synthetic
from exporter.model.config import OFFICIAL_CONFIG, PARTS, Config, read_config
from exporter.model.torch_file import StoredTensor, TorchFile, TorchFileError
from runtime_min.format.verify import sha256_of

Source = Literal["hub", "file", "synthetic"]
State = dict[str, StoredTensor]

_FLOATS = (torch.float64, torch.float32, torch.float16, torch.bfloat16)
_MOST_BYTES_OUTSIDE_TENSORS = 16 << 20

# transformers before 4.31 saved this constant with the weights of ALBERT; the model makes its own.
_HARMLESS_LEFTOVERS = {"bert": {"embeddings.position_ids"}}


@dataclass(frozen=True)
class Checkpoint:
    """A loaded model and where it came from."""

    model: Any
    """kokoro.KModel in eval mode, float32, disable_complex=False, every weight from the file."""
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
        source: ``hub``, ``synthetic``, or the path of a file of the official layout.
        config: the configuration; needed with a path, optional with ``synthetic``, not allowed with ``hub``.
        cache: directory for the synthetic checkpoint; by default `exporter.directories.cache()`.

    Raises:
        CheckpointUnreachableError: the hub did not deliver.
        CheckpointError: the file is not a checkpoint of the model that the configuration describes.
        ConfigError: the configuration is not one of a Kokoro model.
    """
    path, config_path = checkpoint_files(source, config, cache)
    if not os.path.isfile(path):  # Path.is_file fails in a directory that may not be read.
        raise CheckpointError(
            f"no checkpoint file at {path}. --checkpoint takes hub, synthetic or the path of a .pth file."
        )
    checked = read_config(config_path)
    with _described(path, checked) as (file, states):
        model = build_model(checked)
        for part in PARTS:
            _load_part(path, part, getattr(model, part), dict(file.read(states[part])))
    _refresh_normed_weights(model)
    names: dict[str, tuple[str, Source]] = {
        "hub": (hub.REPOSITORY, "hub"),
        "synthetic": ("synthetic", "synthetic"),
    }
    name, kind = names.get(source, (path.stem, "file"))
    return Checkpoint(model, checked, name, kind, path, config_path, sha256_of(path), sha256_of(config_path))


def checkpoint_files(source: str, config: Path | None = None, cache: Path | None = None) -> tuple[Path, Path]:
    """Returns the paths of a checkpoint and its configuration, fetched or made if necessary.

    The arguments and errors are those of `load`.
    """
    if source == "hub":
        if config is not None:
            raise CheckpointError(
                "--checkpoint hub brings its own configuration: leave out --config, or name a local file"
            )
        config_file, weights = map(hub.download, hub.MODEL_FILES)
        return weights, config_file
    if source == "synthetic":
        config = config or OFFICIAL_CONFIG
        return synthetic.ensure_file(config, cache), config
    if config is None:
        raise CheckpointError(
            f"the checkpoint {source} needs its configuration: add --config PATH. "
            "The other choices of --checkpoint are hub and synthetic."
        )
    return Path(source), config


def check(path: Path, config_path: Path) -> None:
    """Compares a checkpoint's description with its configuration, for kokoro's own loader; reads no weights.

    Raises:
        CheckpointError, ConfigError: as `load` does.
    """
    with _described(path, read_config(config_path)):
        pass


@contextmanager
def _described(path: Path, config: Config) -> Iterator[tuple[TorchFile, dict[str, State]]]:
    """Opens a checkpoint, and yields it with its parts' tensors after comparing all that it describes."""
    shapes = model_without_weights(json.dumps(config, sort_keys=True))
    # The widest numbers have eight bytes.
    most_bytes = 8 * sum(tensor.numel() for tensor in shapes.state_dict().values())
    try:
        with _open(path, most_bytes + _MOST_BYTES_OUTSIDE_TENSORS) as file:
            states = _plain_states(path, file.content, shapes)
            for part in PARTS:
                _compare(path, part, getattr(shapes, part), states[part])
            yield file, states
    except TorchFileError as error:
        raise CheckpointError(
            f"{path} is damaged or cut off, or not a torch checkpoint of dense tensors: {error}. "
            "Get the file again, or save only the tensors of the state dicts."
        ) from error


def _open(path: Path, most_bytes: int) -> TorchFile:
    try:
        return TorchFile(path, most_bytes)
    except OSError as error:
        raise CheckpointError(f"cannot read the checkpoint {path}: {error.strerror}") from error


def _plain_states(path: Path, content: object, shapes: Any) -> dict[str, State]:
    """Returns the five parts' state dicts, without DataParallel's prefix ``module.``."""
    if not isinstance(content, dict) or set(content) != set(PARTS):
        found = list(map(str, content)) if isinstance(content, dict) else [type(content).__name__]
        raise CheckpointError(
            f"{path} is not a Kokoro checkpoint: expected a dict of {', '.join(sorted(PARTS))}; "
            f"found {_few(found)}. A training checkpoint has to be reduced to these five first."
        )
    return {part: _plain_state(path, part, content[part], getattr(shapes, part)) for part in PARTS}


def _plain_state(path: Path, part: str, state: object, module: torch.nn.Module) -> State:
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


def _compare(path: Path, part: str, module: torch.nn.Module, state: State) -> None:
    """Compares names, types and shapes of a state dict with those of the model."""
    expected = module.state_dict()
    for problem, names in (
        ("lacks", expected.keys() - _instance_norm_identity(module, state).keys() - state.keys()),
        ("has, and the model lacks,", state.keys() - expected.keys()),
        (
            "has numbers of another type than a float in",
            {name for name in state if state[name].dtype not in _FLOATS},
        ),
    ):
        if names:
            raise _misfit(path, problem, part, names)
    for name, tensor in state.items():
        if tensor.shape != expected[name].shape:
            raise CheckpointError(
                f"{path}: {part}.{name} has shape {list(tensor.shape)}, and the configuration asks for "
                f"{list(expected[name].shape)}. Give the configuration that belongs to this checkpoint."
            )


def _misfit(path: Path, problem: str, part: str, names: Collection[str]) -> CheckpointError:
    return CheckpointError(
        f"{path} {problem} {len(names)} tensors of {part}: {_few(names)}. "
        "Is it damaged, or does its configuration belong to another model?"
    )


def _load_part(path: Path, part: str, module: torch.nn.Module, state: Mapping[str, torch.Tensor]) -> None:
    """Copies a state dict that fits into a module."""
    # The least and the greatest are NaN if any number is; a float64 may exceed float32.
    infinite = [
        name for name, value in state.items() if not torch.stack(value.float().aminmax()).isfinite().all()
    ]
    if infinite:
        raise _misfit(path, "has values that are not finite numbers in", part, infinite)
    module.load_state_dict(_instance_norm_identity(module, state) | dict(state))


def _instance_norm_identity(module: torch.nn.Module, names: Collection[str]) -> dict[str, torch.Tensor]:
    """Returns weights 1 and biases 0 for AdaIN's instance norms, if a checkpoint has none of them.

    Kokoro was trained with ``InstanceNorm1d(affine=False)``, and kokoro's code has ``affine=True`` only
    for an old ONNX exporter. The official file therefore holds 548 tensors, not the model's 688: with the
    other 140 it would be larger than its 327,212,226 bytes.
    """
    identity = {}
    for name, norm in module.named_modules():
        if isinstance(norm, torch.nn.InstanceNorm1d):
            identity[f"{name}.weight"] = torch.ones(norm.num_features)
            identity[f"{name}.bias"] = torch.zeros(norm.num_features)
    return {} if identity.keys() & set(names) else identity


def _refresh_normed_weights(model: torch.nn.Module) -> None:
    """Computes each ``weight`` from its ``weight_g`` and ``weight_v``, as the first forward pass would."""
    for module in model.modules():
        for hook in module._forward_pre_hooks.values():
            # WeightNorm, whose module hides behind a function of its name.
            if hasattr(hook, "compute_weight"):
                module.weight = hook.compute_weight(module)


def _few(names: Collection[str], limit: int = 5) -> str:
    """Returns the first few of many names."""
    # A file's names may be of any length, and of characters that a terminal takes for commands.
    shown = ", ".join(ascii(name)[1:-1][:100] for name in sorted(names)[:limit])
    return shown + (f" and {len(names) - limit} more" if len(names) > limit else "")
