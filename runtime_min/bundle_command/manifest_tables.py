"""A manifest as tables of plain text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from textwrap import wrap

from ..engine.machine import Machine, check_target, choose_level
from ..errors import MachineError
from ..format.arithmetic import FLOAT32, arithmetic_of
from ..format.manifest import NATIVE_FOLDER, ROUNDING, Manifest, Target
from ..format.signatures import Dim, offset_of
from ..format.weights_source import read_weights_source

_WIDTH = 80
_UNITS = ("bytes", "kB", "MB", "GB")


def as_text(manifest: Manifest, machine: Machine) -> str:
    """Returns the manifest as tables, with the CPU level that `machine` would run."""
    tables = [
        _table("Bundle", (), _wrapped(_facts(manifest, machine))),
        *_validation(manifest),
        *_rounding(manifest),
        *(table(manifest) for table in (_stages, _tensors, _sizes)),
    ]
    if manifest.model.synthetic:
        tables.insert(0, "Synthetic weights: this bundle babbles.")
    return "\n\n".join(tables)


def _table(title: str, head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Returns a title above lines whose columns are aligned."""
    lines = [*([head] if head else []), *rows]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    aligned = (
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)) for line in lines
    )
    return "\n  ".join([title, *map(str.rstrip, aligned)])


def _wrapped(facts: Iterable[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    """Yields short rows: a bundle may have many voices."""
    for name, value in facts:
        for number, line in enumerate(wrap(value, _WIDTH) or [""]):
            yield "" if number else name, line


def _facts(manifest: Manifest, machine: Machine) -> Iterator[tuple[str, str]]:
    target, model, audio = manifest.target, manifest.model, manifest.audio
    yield "model", f"{model.name} ({model.source}), checkpoint {model.sha256[:16]}"
    yield "weights", f"stored as {manifest.precision}, computed in float32"
    if source := read_weights_source(manifest.extensions):
        yield "weights before", source.as_text()
    yield "target", f"{target.name} ({target.triple}), {target.minimum_os} or later"
    others = {name: each for name, each in arithmetic_of(manifest).items() if each != FLOAT32}
    yield "CPU levels", ", ".join(level.name for level in target.levels)
    if others:
        yield "arithmetic", ", ".join(f"{each} on {name}" for name, each in others.items())
    yield "this machine", _chosen(target, machine)
    materials = manifest.materials
    made_with = {**manifest.versions._asdict(), **materials.packages, **materials.tools}
    yield "made with", ", ".join(f"{name} {value}" for name, value in made_with.items())
    if materials.commit:
        yield "made from", f"commit {materials.commit}"
    if manifest.extensions:
        yield "extensions", ", ".join(manifest.extensions)
    if native := [entry.path for entry in manifest.files if entry.path.startswith(f"{NATIVE_FOLDER}/")]:
        yield "C library", ", ".join(native)
    yield "audio", f"{audio.sample_rate} Hz, {audio.frames_per_second} frames a second"
    yield "input", f"at most {manifest.max_phonemes} phonemes of a vocabulary of {len(manifest.vocabulary)}"
    yield "voices", f"{len(manifest.voices)}: {', '.join(voice.name for voice in manifest.voices)}"
    if ranks := sorted(manifest.voice_ranks.values()):
        yield "voices as factors", f"{len(ranks)}, of rank {ranks[0]} to {ranks[-1]}"
    for name, value in manifest.parity.items():
        if not _level_of(name, manifest) and not name.startswith(ROUNDING):
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


def _validation(manifest: Manifest) -> Iterator[str]:
    """Yields the worst figures of each CPU level, where the bundle was validated."""
    levels = [level.name for level in manifest.target.levels]
    figures: dict[str, dict[str, str]] = {}
    for name, value in manifest.parity.items():
        if level := _level_of(name, manifest):
            figures.setdefault(name.removeprefix(f"{level}: "), {})[level] = _readable(value)
    if figures:
        rows = (
            (figure, *(values.get(level, "not measured") for level in levels))
            for figure, values in figures.items()
        )
        yield _table("Compared with kokoro", ("worst figure", *levels), rows)


def _rounding(manifest: Manifest) -> Iterator[str]:
    """Yields the distances of the stored weights from the original ones, where they were measured."""
    rows = [
        (name.removeprefix(ROUNDING), _readable(value))
        for name, value in manifest.parity.items()
        if name.startswith(ROUNDING)
    ]
    if rows:
        yield _table(f"{manifest.precision} compared with the original weights", (), rows)


def _stages(manifest: Manifest) -> str:
    sizes = {tensor.name: tensor.bytes for tensor in manifest.parameters.tensors}
    rows = []
    for stage in manifest.stages:
        buckets = sorted({library.bucket for library in stage.libraries})
        rows.append(
            (
                stage.name,
                stage.device,
                f"{stage.minimum} to {buckets[-1]} {stage.axis}",
                ", ".join(map(str, buckets)),
                str(len(stage.libraries)),
                f"{len(stage.parameters)}, {_size(sum(sizes[name] for name in stage.parameters))}",
            )
        )
    return _table("Stages", ("stage", "device", "lengths", "buckets", "libraries", "parameters"), rows)


def _tensors(manifest: Manifest) -> str:
    rows = (
        (stage.name, direction, tensor.name, tensor.dtype, ", ".join(map(_dim, tensor.shape)))
        for stage in manifest.stages
        for direction, tensors in (("in", stage.inputs), ("out", stage.outputs))
        for tensor in tensors
    )
    return _table("Inputs and outputs", ("stage", "", "tensor", "type", "shape"), rows)


def _sizes(manifest: Manifest) -> str:
    groups: dict[str, list[int]] = {}
    for entry in manifest.files:
        groups.setdefault(entry.path.rpartition("/")[0] or entry.path, []).append(entry.bytes)
    largest_first = sorted(groups.items(), key=lambda item: -sum(item[1]))
    total = "all", [entry.bytes for entry in manifest.files]
    rows = ((name, str(len(sizes)), _size(sum(sizes))) for name, sizes in (*largest_first, total))
    return _table("Size", ("files", "number", "size"), rows)


def _size(count: float) -> str:
    """Returns a number of bytes in the largest unit that gives at least 1."""
    power = next((power for power in (3, 2, 1) if count >= 1000**power), 0)
    return f"{count / 1000**power:.{min(power, 1)}f} {_UNITS[power]}"


def _dim(dim: Dim) -> str:
    if isinstance(dim, int):
        return str(dim)
    scale, axis = dim[:2]
    growing = axis if scale == 1 else f"{scale}*{axis}"
    return f"{growing} + {offset}" if (offset := offset_of(dim)) else growing
