"""Builds a `Manifest` from the bytes of a manifest file.

Every key is named here once, with its type and range; nothing of the file is taken over unchecked and an
unknown key is an error. What the parts of a manifest say about each other is checked in `consistency`.
"""

from __future__ import annotations

from ..errors import FormatVersionError, RequirementError
from .cross_checks import check_consistency
from .manifest import (
    CPU,
    DEVICES,
    DEVICES_REQUIRED,
    FORMAT,
    FORMAT_VERSION,
    ITEM_SIZES,
    REQUIREMENTS,
    AudioFormat,
    CpuLevel,
    FileEntry,
    Library,
    Manifest,
    Materials,
    ModelInfo,
    Parameters,
    Stage,
    Target,
    Tensor,
    Versions,
    Voice,
    manifest_keys,
)
from .msgpack import unpack
from .schema import Node
from .signatures import AXES, Dim, TensorSignature, stage_names

_LARGEST = (1 << 63) - 1
_LARGEST_LENGTH = 1 << 16
_MOST_FILES = 4_096
_MOST_TENSORS = 8_192


def parse_manifest(data: bytes) -> Manifest:
    """Decodes and checks a manifest.

    Raises:
        MsgpackError: `data` is no canonical msgpack.
        FormatVersionError: it follows another version of the format.
        RequirementError: it requires what this runtime does not know.
        ManifestError: it breaks the schema.
    """
    root = Node(unpack(data), "")
    root.child("format").one_of((FORMAT,))
    version = root.child("version").integer(0, _LARGEST)
    # The version comes before the other keys: another version may have other ones.
    if version != FORMAT_VERSION:
        raise FormatVersionError(version, FORMAT_VERSION)
    # So do requirements: what they bring may stand under keys of its own.
    requires = tuple(part.text() for part in root.child("requires").elements(0, 64))
    if unknown := [name for name in requires if name not in REQUIREMENTS]:
        raise RequirementError(unknown, REQUIREMENTS)
    names = ("format", "version", *manifest_keys(requires))
    node = dict(zip(names, root.fields(*names), strict=True))
    with_devices = DEVICES_REQUIRED in requires
    devices = node["device_libraries"].named() if with_devices else []
    manifest = Manifest(
        requires=requires,
        model=_model(node["model"]),
        versions=Versions(*(part.text() for part in node["versions"].fields(*Versions.__dataclass_fields__))),
        materials=_materials(node["materials"]),
        target=_target(node["target"]),
        audio=_audio(node["audio"]),
        runtime_library=_runtime_library(node["runtime_library"], with_devices),
        stages=_stages(node["stages"], with_devices),
        parameters=_parameters(node["parameters"]),
        vocabulary={key: part.integer(0, 1 << 20) for key, part in node["vocabulary"].entries()},
        max_phonemes=node["max_phonemes"].integer(1, _LARGEST_LENGTH),
        voices=tuple(_voice(part) for part in node["voices"].elements(0, _MOST_FILES)),
        parity={key: part.scalar() for key, part in node["parity"].named()},
        files=tuple(_file(part) for part in node["files"].elements(1, _MOST_FILES)),
        extensions={key: part.value for key, part in node["extensions"].named()},
        device_libraries={key: part.relative_path() for key, part in devices},
    )
    check_consistency(manifest)
    return manifest


def _model(node: Node) -> ModelInfo:
    name, source, sha256, config, synthetic, hidden, style = node.fields(*ModelInfo.__dataclass_fields__)
    return ModelInfo(
        name.text(),
        source.one_of(("hub", "file", "synthetic")),
        sha256.digest(),
        config.digest(),
        synthetic.boolean(),
        hidden.integer(1, 1 << 16),
        style.integer(1, 1 << 16),
    )


def _materials(node: Node) -> Materials:
    packages, tools, sources, commit = node.fields(*Materials.__dataclass_fields__)
    return Materials(
        {name: version.text() for name, version in packages.named()},
        {name: version.text() for name, version in tools.named()},
        sources.digest(),
        commit.text(0, 64),
    )


def _target(node: Node) -> Target:
    name, triple, system, machine, minimum_os, levels = node.fields(*Target.__dataclass_fields__)
    return Target(
        name.text(),
        triple.text(),
        system.text(),
        machine.text(),
        minimum_os.text(),
        tuple(_level(level) for level in levels.elements(1, 16)),
    )


def _level(node: Node) -> CpuLevel:
    name, features = node.fields("name", "features")
    return CpuLevel(name.text(), tuple(feature.text() for feature in features.elements(0, 256)))


def _audio(node: Node) -> AudioFormat:
    return AudioFormat(*(part.integer(1, 1 << 20) for part in node.fields(*AudioFormat.__dataclass_fields__)))


def _runtime_library(node: Node, with_devices: bool) -> str:
    return "" if with_devices and node.value == "" else node.relative_path()


def _stages(node: Node, with_devices: bool) -> tuple[Stage, ...]:
    names = stage_names(with_devices)
    devices = (CPU, *DEVICES) if with_devices else (CPU,)
    return tuple(_stage(part, names, devices) for part in node.elements(1, len(names)))


def _stage(node: Node, names: tuple[str, ...], devices: tuple[str, ...]) -> Stage:
    name, device, axis, minimum, inputs, outputs, parameters, libraries = node.fields(
        *Stage.__dataclass_fields__
    )
    return Stage(
        name.one_of(names),
        device.one_of(devices),
        axis.one_of(AXES),
        minimum.integer(1, _LARGEST_LENGTH),
        tuple(_signature(tensor) for tensor in inputs.elements(1, 16)),
        tuple(_signature(tensor) for tensor in outputs.elements(1, 16)),
        tuple(tensor.text() for tensor in parameters.elements(0, _MOST_TENSORS)),
        tuple(_library(library) for library in libraries.elements(1, 256)),
    )


def _signature(node: Node) -> TensorSignature:
    name, dtype, shape = node.fields("name", "dtype", "shape")
    return TensorSignature(
        name.text(), dtype.one_of(ITEM_SIZES), tuple(_dim(dim) for dim in shape.elements(1, 8))
    )


def _dim(node: Node) -> Dim:
    if isinstance(node.value, list):
        scale, axis, *offset = node.elements(2, 3)
        growing = scale.integer(1, 1 << 16), axis.one_of(AXES)
        return (*growing, offset[0].integer(1, 1 << 16)) if offset else growing
    return node.integer(1, 1 << 31)


def _library(node: Node) -> Library:
    level, bucket, file, function = node.fields(*Library.__dataclass_fields__)
    return Library(level.text(), bucket.integer(1, _LARGEST_LENGTH), file.relative_path(), function.text())


def _parameters(node: Node) -> Parameters:
    file, tensors = node.fields("file", "tensors")
    return Parameters(
        file.relative_path(), tuple(_tensor(tensor) for tensor in tensors.elements(0, _MOST_TENSORS))
    )


def _tensor(node: Node) -> Tensor:
    name, dtype, shape, offset, size, layout = node.fields(*Tensor.__dataclass_fields__)
    return Tensor(
        name.text(),
        dtype.one_of(ITEM_SIZES),
        tuple(dim.integer(1, 1 << 31) for dim in shape.elements(0, 8)),
        offset.integer(0, _LARGEST),
        size.integer(1, _LARGEST),
        layout.text(),
    )


def _voice(node: Node) -> Voice:
    name, file, rows, columns = node.fields(*Voice.__dataclass_fields__)
    return Voice(name.text(), file.relative_path(), rows.integer(1, 1 << 16), columns.integer(1, 1 << 16))


def _file(node: Node) -> FileEntry:
    path, size, sha256 = node.fields(*FileEntry.__dataclass_fields__)
    return FileEntry(path.relative_path(), size.integer(0, _LARGEST), sha256.digest())
