"""Load a Kokoro checkpoint so that every weight is the file's, or say why not.

kokoro's own loader falls back to ``strict=False`` and then speaks with random weights; this one names what is
missing, left over or misshapen and stops.
"""

from __future__ import annotations

import hashlib
import pickle
import urllib.error
import urllib.request
import zipfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal

import torch

from exporter.compiler.kokoro_model import build_model
from exporter.errors import CheckpointError, CheckpointUnreachableError
from exporter.model.config import Config, read_config

HUB_REPOSITORY = "hexgrad/Kokoro-82M"
HUB_REVISION = "f3ff3571791e39611d31c381e3a41a3af07b4987"
HUB_SHA256 = {
    "kokoro-v1_0.pth": "496dba118d1a58f5f3db2efc88dbdc216e0483fc89fe6e47ee1f2c53f18ad1e4",
    "config.json": "5abb01e2403b072bf03d04fde160443e209d7a0dad49a423be15196b9b43c17f",
}
HUB_TIMEOUT_SECONDS = 10.0
OFFICIAL_CONFIG = Path(__file__).parent / "data" / "config.json"
PARTS = ("bert", "bert_encoder", "predictor", "decoder", "text_encoder")
# transformers before 4.31 saved this constant with the weights of ALBERT; the model makes its own.
HARMLESS_LEFTOVERS = {"bert": {"embeddings.position_ids"}}
State = dict[str, torch.Tensor]


@dataclass(frozen=True)
class Checkpoint:
    """A loaded model and where it came from."""

    model: Any
    """kokoro.KModel in eval mode, float32, disable_complex=False, every weight from the file."""
    config: Config
    """The configuration, validated."""
    name: str
    """What to call the model in a manifest: the repository on the hub or the file's stem."""
    source: Literal["hub", "file", "synthetic"]
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
        """Whether the weights are made up, so that the model babbles."""
        return self.source == "synthetic"

    @property
    def vocabulary(self) -> dict[str, int]:
        """Phoneme to token id."""
        return dict(self.config["vocab"])


def load(source: str, config: Path | None = None, cache: Path | None = None) -> Checkpoint:
    """Load a checkpoint.

    Args:
        source: ``hub``, ``synthetic``, or the path of a file of the official layout.
        config: the configuration; needed with a path, optional with ``synthetic``, not allowed with ``hub``.
        cache: directory for the synthetic checkpoint; by default `exporter.directories.cache()`.

    Raises:
        CheckpointUnreachableError: the hub did not deliver.
        CheckpointError: the file is not a checkpoint of the model that the configuration describes.
        ConfigError: the configuration is not one of a Kokoro model.
    """
    if source == "hub":
        if config is not None:
            raise CheckpointError(
                "--checkpoint hub brings its own configuration: leave out --config, or name a local file"
            )
        path, config_path = download("kokoro-v1_0.pth"), download("config.json")
        return _load_file(path, config_path, "hub", HUB_REPOSITORY)
    if source == "synthetic":
        from exporter.model import synthetic  # imports this module

        config_path = config or OFFICIAL_CONFIG
        return _load_file(synthetic.ensure_file(config_path, cache), config_path, "synthetic", "synthetic")
    if config is None:
        raise CheckpointError(
            f"the checkpoint {source} needs its configuration: add --config PATH. "
            "The other choices of --checkpoint are hub and synthetic."
        )
    return _load_file(Path(source), config, "file", Path(source).stem)


def sha256_of_file(path: Path) -> str:
    """Hex SHA-256 of a file's bytes."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _load_file(
    path: Path, config_path: Path, source: Literal["hub", "file", "synthetic"], name: str
) -> Checkpoint:
    if not path.is_file():
        raise CheckpointError(
            f"no checkpoint file at {path}. --checkpoint takes hub, synthetic or the path of a .pth file."
        )
    config = read_config(config_path)
    states = _read_states(path)
    model = build_model(config)
    for part in PARTS:
        _load_part(path, part, getattr(model, part), states[part])
    _refresh_normed_weights(model)
    return Checkpoint(
        model=model,
        config=config,
        name=name,
        source=source,
        path=path,
        config_path=config_path,
        sha256=sha256_of_file(path),
        config_sha256=sha256_of_file(config_path),
    )


def _read_states(path: Path) -> dict[str, State]:
    """Read the five parts' state dicts, with DataParallel's ``module.`` prefix taken off."""
    try:
        content = torch.load(path, map_location="cpu", weights_only=True)
    except (pickle.UnpicklingError, RuntimeError, EOFError, ValueError, KeyError, OSError) as error:
        raise CheckpointError(_unreadable(path, error)) from error
    if not isinstance(content, dict) or set(content) != set(PARTS):
        found = sorted(map(str, content)) if isinstance(content, dict) else [type(content).__name__]
        raise CheckpointError(
            f"{path} is not a Kokoro checkpoint: expected a dict of {', '.join(sorted(PARTS))}; "
            f"found {_few(found)}. A training checkpoint has to be reduced to these five first."
        )
    return {part: _plain_state(path, part, content[part]) for part in PARTS}


def _unreadable(path: Path, error: Exception) -> str:
    """Say what is wrong with a file that torch.load refuses."""
    reason = _first_line(error)
    if isinstance(error, pickle.UnpicklingError) and zipfile.is_zipfile(path):
        return (
            f"{path} holds pickled Python objects besides tensors, and loading it would run code: {reason} "
            "Save only the state dicts' tensors."
        )
    return f"{path} is not a torch checkpoint, or it is damaged or cut off: {reason} Get the file again."


def _plain_state(path: Path, part: str, state: object) -> State:
    if not isinstance(state, Mapping) or not all(isinstance(value, torch.Tensor) for value in state.values()):
        raise CheckpointError(f"{path}: expected a dict of tensors under {part!r}, found something else")
    return {str(name).removeprefix("module."): tensor for name, tensor in state.items()}


def _load_part(path: Path, part: str, module: torch.nn.Module, state: State) -> None:
    """Copy a state dict into a module after proving that they fit."""
    state = {name: value for name, value in state.items() if name not in HARMLESS_LEFTOVERS.get(part, ())}
    expected = module.state_dict()
    state = _instance_norm_identity(module, state) | state
    for problem, names in (
        ("lacks", expected.keys() - state.keys()),
        ("has, and the model lacks,", state.keys() - expected.keys()),
        ("has values that are not finite numbers in", _not_finite(state)),
    ):
        if names:
            raise CheckpointError(
                f"{path} {problem} {len(names)} tensors of {part}: {_few(sorted(names))}. "
                "Is it damaged, or does its configuration belong to another model?"
            )
    for name, value in expected.items():
        if value.shape != state[name].shape:
            raise CheckpointError(
                f"{path}: {part}.{name} has shape {list(state[name].shape)}, and the configuration asks for "
                f"{list(value.shape)}. Give the configuration that belongs to this checkpoint."
            )
    module.load_state_dict(state)


def _not_finite(state: State) -> set[str]:
    return {name for name, value in state.items() if not bool(torch.isfinite(value).all())}


def _instance_norm_identity(module: torch.nn.Module, state: State) -> State:
    """Weights 1 and biases 0 for AdaIN's instance norms, where a checkpoint has none of them.

    Kokoro was trained with ``InstanceNorm1d(affine=False)``, and kokoro's code says ``affine=True`` only
    for an old ONNX exporter. The official file therefore holds 548 tensors, not the model's 688: with the
    other 140 it would be larger than its 327,212,226 bytes.
    """
    identity: State = {}
    for name, norm in module.named_modules():
        if isinstance(norm, torch.nn.InstanceNorm1d):
            identity[f"{name}.weight"] = torch.ones(norm.num_features)
            identity[f"{name}.bias"] = torch.zeros(norm.num_features)
    return {} if identity.keys() & state.keys() else identity


def _refresh_normed_weights(model: torch.nn.Module) -> None:
    """Compute each ``weight`` from its ``weight_g`` and ``weight_v``, as the first forward pass would."""
    for module in model.modules():
        for hook in module._forward_pre_hooks.values():
            if hasattr(
                hook, "compute_weight"
            ):  # WeightNorm, whose module hides behind a function of its name
                module.weight = hook.compute_weight(module)


def _few(names: Iterable[str], limit: int = 5) -> str:
    """The first few of many names."""
    names = list(names)
    return ", ".join(names[:limit]) + (f" and {len(names) - limit} more" if len(names) > limit else "")


def download(filename: str) -> Path:
    """Fetch a file of the pinned revision, or take it from the hub's own cache.

    Raises:
        CheckpointUnreachableError: the hub did not deliver.
        CheckpointError: the digest is not the known one.
    """
    from huggingface_hub import hf_hub_download

    fetch = partial(hf_hub_download, HUB_REPOSITORY, filename, revision=HUB_REVISION)
    try:
        try:
            fetched = fetch(local_files_only=True)
        except FileNotFoundError:
            _check_reachable()
            fetched = fetch(etag_timeout=HUB_TIMEOUT_SECONDS)
    except OSError as error:  # the hub's client derives all its errors from it
        raise CheckpointUnreachableError(
            f"could not get {filename} of {HUB_REPOSITORY} from the hub ({type(error).__name__}: "
            f"{_first_line(error)}). Choose local files with --checkpoint PATH --config PATH --voices "
            "DIRECTORY, or weights that babble with --checkpoint synthetic."
        ) from error
    path = Path(fetched)
    if filename in HUB_SHA256 and (found := sha256_of_file(path)) != HUB_SHA256[filename]:
        raise CheckpointError(
            f"{path} has SHA-256 {found}, and {filename} of revision {HUB_REVISION[:8]} has "
            f"{HUB_SHA256[filename]}. Delete it and try again."
        )
    return path


def _check_reachable() -> None:
    """Fail at once where there is no network: the hub's client tries for half a minute."""
    from huggingface_hub import constants

    try:
        with urllib.request.urlopen(constants.ENDPOINT, timeout=HUB_TIMEOUT_SECONDS):
            pass
    except urllib.error.HTTPError:
        pass  # it answers


def _first_line(error: Exception) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0]
