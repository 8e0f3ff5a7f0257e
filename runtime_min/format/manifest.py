"""The manifest of a bundle as named tuples.

Field names are the keys of the file, in the order of the file, and annotations are the rules for their values
(see `schema`); `bundles/FORMAT.md` specifies them.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from types import MappingProxyType
from typing import Annotated, Any, NamedTuple

from .schema import Digest, Length, Node, Offset, RelativePath, Text, array, integer, one_of, reader_of
from .signatures import (
    AXES,
    FRAMES_PER_SECOND,
    SAMPLE_RATE,
    SAMPLES_PER_FRAME,
    Dim,
    StageSignature,
    TensorSignature,
    stage_names,
)

FORMAT = "kokoro-bundle"
FORMAT_VERSION = 1
CPU = "cpu"
DEVICES = ("metal", "cuda")
"""Devices other than the CPU on which a stage may compute."""
DEVICES_REQUIRED = "devices"
"""Required by bundles that compute on other devices than the CPU, with the harmonic source as a stage."""
PRECISION_REQUIRED = "precision"
"""Required by bundles with parameters of the types `STORED_SIZES`, or with voices as factors."""
TRANSFORMS_REQUIRED = "transforms"
"""Required by bundles with weights that are transformed while they are loaded."""
MODULE_REQUIRED = "module"
"""Required by bundles whose stages are one module with the C library, which an app ships."""
REQUIREMENTS: Mapping[str, tuple[str, ...]] = {
    DEVICES_REQUIRED: ("device_libraries",),
    PRECISION_REQUIRED: ("voice_ranks",),
    TRANSFORMS_REQUIRED: ("transforms",),
    MODULE_REQUIRED: ("module",),
}
"""Requirements that a manifest of this version may have of its reader, and the keys that come with each."""
MANIFEST_NAME = "manifest.msgpack"
RUNTIME_ARCHIVE = "runtime_min.pyz"
"""The runtime itself, which Python runs."""
NATIVE_FOLDER = "native"
"""Folder of the C library and its header."""
ALIGNMENT = 64
"""Generated code assumes that every tensor starts at a multiple of so many bytes."""
TOKEN_IDS = "token_ids"
"""Input whose values are rows of the first parameter of the stages that take it."""
ROUNDING = "rounding: "
"""Begins the names of parity figures that compare the stored weights with the model's own."""
ITEM_SIZES = {"float32": 4, "int64": 8, "int32": 4}
"""Bytes of one element of every type that the stages' inputs, outputs and parameters may have."""
STORED_SIZES = {"float16": 2, "int8": 1}
"""Bytes of one element of the types that only parameters may have, and only with `PRECISION_REQUIRED`."""
PARAMETER_SIZES = {**ITEM_SIZES, **STORED_SIZES}
SCALED_LAYOUT = "conv["
"""Begins the layout of convolutions' weights, which have scales if their type is int8."""
SCALES = "_scales"
"""Ends the name of the tensor of scales, after the name of the weight."""


_Rate = Annotated[int, integer(1, 1 << 20)]
_Size = Annotated[int, integer(1, 1 << 31)]
_ParameterType = Annotated[str, one_of(PARAMETER_SIZES)]
_Names = Annotated[tuple[Text, ...], array(0, 8_192)]
_Scalar = Annotated[str | int | float | bool, Node.scalar]
_Row = Annotated[tuple[Annotated[float, Node.number], ...], array(1, 64)]
_Matrix = Annotated[tuple[_Row, ...], array(1, 64)]
_NOTHING: Mapping[str, Any] = MappingProxyType({})


def _dim(node: Node) -> Dim:
    if isinstance(node.value, list):
        scale, axis, *offset = node.elements(2, 3)
        growing = scale.integer(1, 1 << 16), axis.one_of(AXES)
        return (*growing, offset[0].integer(1, 1 << 16)) if offset else growing
    return node.integer(1, 1 << 31)


def _signature(node: Node) -> TensorSignature:
    name, dtype, shape = node.fields("name", "dtype", "shape")
    dims = tuple(_dim(dim) for dim in shape.elements(1, 8))
    return TensorSignature(name.text(), dtype.one_of(ITEM_SIZES), dims)


_Signatures = Annotated[tuple[Annotated[TensorSignature, _signature], ...], array(1, 16)]


def _vocabulary(node: Node) -> dict[str, int]:
    """Returns token numbers by phoneme, which may be any character, printable or not."""
    return {phoneme: token.integer(0, 1 << 20) for phoneme, token in node.entries()}


def _optional_path(node: Node) -> str:
    return "" if node.value == "" else node.relative_path()


class ModelInfo(NamedTuple):
    """The model that the bundle computes."""

    name: Text
    source: Annotated[str, one_of(("hub", "packages", "file", "synthetic"))]
    sha256: Digest
    """Digest of the checkpoint."""
    config_sha256: Digest
    synthetic: bool
    """True if the weights are random, so that the bundle babbles."""
    hidden: Length
    """Channels of the text features (``hidden_dim``)."""
    style: Length
    """Channels of each half of a style row (``style_dim``)."""


class Versions(NamedTuple):
    """The versions that the bundle was made with."""

    kokoro_export: Text
    tvm: Text
    tvm_ffi: Text
    vm: Text
    """Version of TVM's virtual machine; the runtime library accepts exactly its own."""


class Materials(NamedTuple):
    """Everything else that the bundle was made with: the same materials give the same bytes."""

    packages: Mapping[str, Text]
    """Versions by name, of the packages that take part and are not in `Versions`."""
    tools: Mapping[str, Text]
    """Versions by name: ``python``, ``llvm``, ``linker``."""
    sources: Digest
    """Digest of the exporter's and the runtime's source files."""
    commit: Annotated[str, lambda node: node.text(0, 64)]
    """Commit of the exporter's checkout; empty if it had none."""


class CpuLevel(NamedTuple):
    """A set of processor features for which the bundle has libraries of their own."""

    name: Text
    features: Annotated[tuple[Text, ...], array(0, 256)]
    """Names of processor features in /proc/cpuinfo; on Apple's systems those of ``sysctl hw.optional``."""


class Target(NamedTuple):
    """The machines that the bundle runs on."""

    name: Text
    triple: Text
    system: Text
    """``linux``, ``macos``, ``windows``, ``ios``, ``android`` or ``web``."""
    machine: Text
    """``x86_64``, ``aarch64`` or ``arm64``, in the system's own spelling."""
    minimum_os: Text
    """Oldest system, such as ``glibc 2.28`` or ``macos 13.0``."""
    levels: Annotated[tuple[CpuLevel, ...], array(1, 16)]
    """Best first."""


class AudioFormat(NamedTuple):
    """Rates of the model's time axes."""

    sample_rate: _Rate = SAMPLE_RATE
    samples_per_frame: _Rate = SAMPLES_PER_FRAME
    frames_per_second: _Rate = FRAMES_PER_SECOND


class Library(NamedTuple):
    """One compiled library of a stage."""

    level: Text
    bucket: Length
    """Largest length along the stage's axis."""
    file: RelativePath
    function: Text
    """Entry point within the library."""


class Stage(NamedTuple):
    """A stage of the model and the libraries that compute it."""

    name: Annotated[str, one_of(stage_names(separate_source=True))]
    device: Annotated[str, one_of((CPU, *DEVICES))]
    axis: Annotated[str, one_of(AXES)]
    minimum: Length
    inputs: _Signatures
    outputs: _Signatures
    parameters: _Names
    """Tensors of the parameter table, in the order in which a call takes them after the inputs."""
    libraries: Annotated[tuple[Library, ...], array(1, 256)]

    @property
    def signature(self) -> StageSignature:
        """The stage's inputs and outputs."""
        return StageSignature(self.name, self.axis, self.minimum, self.inputs, self.outputs)

    def buckets(self, level: str) -> dict[int, Library]:
        """Returns the libraries for a CPU level by their bucket, smallest first."""
        return {library.bucket: library for library in self.libraries if library.level == level}


class Tensor(NamedTuple):
    """A parameter's place in the parameter file."""

    name: Text
    dtype: _ParameterType
    shape: Annotated[tuple[_Size, ...], array(0, 8)]
    offset: Offset
    bytes: Annotated[int, integer(1, (1 << 63) - 1)]
    layout: Text
    """Order of the model's own axes in `shape`, such as ``row-major`` or ``conv[co/8,ci,k,8]``."""


class Parameters(NamedTuple):
    """The parameter file and its tensors."""

    file: RelativePath
    tensors: Annotated[tuple[Tensor, ...], array(0, 8_192)]


class Voice(NamedTuple):
    """A table of style rows, one for each length of the input in phonemes."""

    name: Text
    file: RelativePath
    rows: Length
    columns: Length


class Module(NamedTuple):
    """All stages and the C library as one module, which an app ships apart from the other files."""

    folder: RelativePath
    """Directory of the module and of what belongs to it."""
    identity: Digest
    """Digest of the module's file as it was before anybody signed it, with zeros in place of the identity."""

    def holds(self, path: str) -> bool:
        """Returns whether a file is in the folder."""
        return path.startswith(f"{self.folder}/")


_read_module = reader_of(Module)


class FileEntry(NamedTuple):
    """A file of the bundle."""

    path: RelativePath
    bytes: Offset
    sha256: Digest


class Manifest(NamedTuple):
    """The contents of ``manifest.msgpack``."""

    requires: Annotated[tuple[Text, ...], array(0, 64)]
    """Features that a reader must support besides this version of the format; see `REQUIREMENTS`."""
    model: ModelInfo
    versions: Versions
    materials: Materials
    target: Target
    audio: AudioFormat
    runtime_library: Annotated[str, _optional_path]
    """Path of the TVM runtime; empty where the app brings one."""
    stages: Annotated[tuple[Stage, ...], array(1, 6)]
    parameters: Parameters
    vocabulary: Annotated[Mapping[str, int], _vocabulary]
    max_phonemes: Length
    voices: Annotated[tuple[Voice, ...], array(0, 4_096)]
    parity: Mapping[str, _Scalar] = _NOTHING
    """Distances of this bundle from the reference, measured when it was exported."""
    files: Annotated[tuple[FileEntry, ...], array(1, 4_096)] = ()
    extensions: Mapping[str, Annotated[Any, lambda node: node.value]] = _NOTHING
    """Values that readers may ignore, by names that their writers chose."""
    device_libraries: Mapping[str, RelativePath] = _NOTHING
    """Path of TVM's runtime for each of `DEVICES` that the target has; empty where the app brings them."""
    voice_ranks: Mapping[str, Length] = _NOTHING
    """Rank of each voice whose file holds two factors of its table in place of the table."""
    transforms: Mapping[str, _Matrix] = _NOTHING
    """Matrix ``[products, taps]`` for the weights of each layout that are transformed; see `transforms`."""
    module: Annotated[Module | None, _read_module] = None

    @property
    def precision(self) -> str:
        """The smallest type in which weights are stored: ``float32``, ``float16`` or ``int8``."""
        found = STORED_SIZES.keys() & {tensor.dtype for tensor in self.parameters.tensors}
        return min(found, key=STORED_SIZES.__getitem__, default="float32")

    @property
    def parameter_bytes(self) -> int:
        """Size of the parameters in memory, where those that are transformed are there twice."""
        tensors = self.parameters.tensors
        made = (
            tensor.bytes // tensor.shape[1] * len(self.transforms[tensor.layout])
            for tensor in tensors
            if tensor.layout in self.transforms
        )
        return sum(tensor.bytes for tensor in tensors) + sum(made)

    @property
    def content_bytes(self) -> int:
        """Size of all listed files."""
        return sum(entry.bytes for entry in self.files)

    @property
    def separate_source(self) -> bool:
        """True if the harmonic source is a stage of its own."""
        return DEVICES_REQUIRED in self.requires

    def loaded_files(self, level: str) -> set[str]:
        """Returns the paths of all code that is loaded for a CPU level."""
        buckets = [stage.buckets(level).values() for stage in self.stages]
        stages = {library.file for libraries in buckets for library in libraries}
        return {self.runtime_library, *self.device_libraries.values(), *stages}


def manifest_keys(requires: Collection[str]) -> tuple[str, ...]:
    """Returns the keys of a manifest in order, without the keys of requirements that it lacks."""
    absent = {key for name, keys in REQUIREMENTS.items() if name not in requires for key in keys}
    return tuple(name for name in Manifest._fields if name not in absent)


def manifest_entries(manifest: Manifest) -> dict[str, Any]:
    """Returns the manifest's entries by the keys of the format."""
    return {key: _entry(getattr(manifest, key)) for key in manifest_keys(manifest.requires)}


def _entry(value: Any) -> Any:
    """Returns a value with maps in the place of named tuples, at any depth."""
    if isinstance(value, tuple) and hasattr(value, "_asdict"):
        value = value._asdict()
    if isinstance(value, Mapping):
        return {key: _entry(each) for key, each in value.items()}
    return [_entry(each) for each in value] if isinstance(value, (tuple, list)) else value
