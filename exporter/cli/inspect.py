"""``kokoro-export inspect``: shows a bundle's manifest, as tables or as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict
from typing import Annotated

import typer
from rich.console import Group, RenderableType
from rich.filesize import decimal
from rich.table import Table
from rich.text import Text

from exporter.bundle.write import manifest_entries
from exporter.cli.terminal import BundleArgument, plain_console, reported_errors
from runtime_min.engine.machine import Machine, check_target, choose_level, this_machine
from runtime_min.errors import MachineError
from runtime_min.format.manifest import Manifest, Target
from runtime_min.format.signatures import Dim, offset_of
from runtime_min.format.verify import read_manifest


def inspect(
    path: BundleArgument,
    as_json: Annotated[bool, typer.Option("--json", help="Print the whole manifest as JSON.")] = False,
) -> None:
    """Show a bundle's manifest, without checking the other files."""
    with reported_errors():
        manifest = read_manifest(path)
        if as_json:
            typer.echo(json.dumps(manifest_entries(manifest), indent=2))
        else:
            plain_console().print(as_tables(manifest, this_machine()))


def as_tables(manifest: Manifest, machine: Machine) -> RenderableType:
    """Returns the manifest as tables, with the CPU level that `machine` would run."""
    parts: list[RenderableType] = [
        _summary(manifest, machine),
        *_validation(manifest),
        *(table(manifest) for table in (_stages, _tensors, _sizes)),
    ]
    if manifest.model.synthetic:
        parts.insert(0, Text("Synthetic weights: this bundle babbles.", style="bold yellow"))
    return Group(*parts)


def _summary(manifest: Manifest, machine: Machine) -> Table:
    table = Table("", "", title="Bundle", show_header=False, title_justify="left")
    for name, value in _facts(manifest, machine):
        table.add_row(name, value)
    return table


def _facts(manifest: Manifest, machine: Machine) -> Iterator[tuple[str, str]]:
    target, model, audio = manifest.target, manifest.model, manifest.audio
    yield "model", f"{model.name} ({model.source}), checkpoint {model.sha256[:16]}"
    yield "target", f"{target.name} ({target.triple}), {target.minimum_os} or later"
    yield "CPU levels", ", ".join(level.name for level in target.levels)
    yield "this machine", _chosen(target, machine)
    materials = manifest.materials
    made_with = {**asdict(manifest.versions), **materials.packages, **materials.tools}
    yield "made with", ", ".join(f"{name} {value}" for name, value in made_with.items())
    if materials.commit:
        yield "made from", f"commit {materials.commit}"
    if manifest.extensions:
        yield "extensions", ", ".join(manifest.extensions)
    yield "audio", f"{audio.sample_rate} Hz, {audio.frames_per_second} frames a second"
    yield "input", f"at most {manifest.max_phonemes} phonemes of a vocabulary of {len(manifest.vocabulary)}"
    yield "voices", f"{len(manifest.voices)}: {', '.join(voice.name for voice in manifest.voices)}"
    for name, value in manifest.parity.items():
        if not _level_of(name, manifest):
            yield f"parity: {name}", _readable(value)
    if not manifest.parity:
        yield "parity", "not measured"


def _chosen(target: Target, machine: Machine) -> str:
    """Returns the CPU level that `machine` takes, or why it takes none."""
    try:
        check_target(target, machine)
        return f"takes {choose_level(target.levels, machine.features).name}"
    except MachineError as error:
        return str(error)


def _level_of(name: str, manifest: Manifest) -> str | None:
    """Returns the CPU level whose figure a parity number is, as in ``x86-64-v4: chain, dB``."""
    level, colon, _ = name.partition(": ")
    return level if colon and level in {known.name for known in manifest.target.levels} else None


def _readable(value: str | int | float | bool) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _validation(manifest: Manifest) -> Iterator[Table]:
    """Yields the worst figures of each CPU level, where the bundle was validated."""
    levels = [level.name for level in manifest.target.levels]
    figures: dict[str, dict[str, str]] = {}
    for name, value in manifest.parity.items():
        if level := _level_of(name, manifest):
            figures.setdefault(name.removeprefix(f"{level}: "), {})[level] = _readable(value)
    if figures:
        table = Table("worst figure", *levels, title="Compared with kokoro", title_justify="left")
        for figure, values in figures.items():
            table.add_row(figure, *(values.get(level, "not measured") for level in levels))
        yield table


def _stages(manifest: Manifest) -> Table:
    table = Table(
        *("stage", "device", "lengths", "buckets", "libraries", "parameters"),
        title="Stages",
        title_justify="left",
    )
    sizes = {tensor.name: tensor.bytes for tensor in manifest.parameters.tensors}
    for stage in manifest.stages:
        buckets = sorted({library.bucket for library in stage.libraries})
        table.add_row(
            stage.name,
            stage.device,
            f"{stage.minimum} to {buckets[-1]} {stage.axis}",
            ", ".join(map(str, buckets)),
            str(len(stage.libraries)),
            f"{len(stage.parameters)}, {decimal(sum(sizes[name] for name in stage.parameters))}",
        )
    return table


def _tensors(manifest: Manifest) -> Table:
    table = Table("stage", "", "tensor", "type", "shape", title="Inputs and outputs", title_justify="left")
    for stage in manifest.stages:
        for direction, tensors in (("in", stage.inputs), ("out", stage.outputs)):
            for tensor in tensors:
                shape = ", ".join(map(_dim, tensor.shape))
                table.add_row(stage.name, direction, tensor.name, tensor.dtype, shape)
    return table


def _sizes(manifest: Manifest) -> Table:
    table = Table("files", "number", "size", title="Size", title_justify="left")
    groups: dict[str, list[int]] = {}
    for entry in manifest.files:
        groups.setdefault(entry.path.rpartition("/")[0] or entry.path, []).append(entry.bytes)
    for name, sizes in sorted(groups.items(), key=lambda item: -sum(item[1])):
        table.add_row(name, str(len(sizes)), decimal(sum(sizes)))
    table.add_row("all", str(len(manifest.files)), decimal(sum(entry.bytes for entry in manifest.files)))
    return table


def _dim(dim: Dim) -> str:
    if isinstance(dim, int):
        return str(dim)
    scale, axis = dim[:2]
    growing = axis if scale == 1 else f"{scale}·{axis}"
    return f"{growing} + {offset}" if (offset := offset_of(dim)) else growing
