"""The manifest of a bundle as frozen dataclasses.

Field names are the keys of the file, in the order of the file; `bundles/FORMAT.md` specifies them.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from .msgpack import Value
from .signatures import FRAMES_PER_SECOND, SAMPLE_RATE, SAMPLES_PER_FRAME, StageSignature, TensorSignature

FORMAT = "kokoro-bundle"
FORMAT_VERSION = 1
CPU = "cpu"
DEVICES = ("metal", "cuda")
"""Where a stage may compute other than on the CPU."""
DEVICES_REQUIRED = "devices"
"""Required by bundles that compute on other devices than the CPU, with the harmonic source as a stage."""
REQUIREMENTS: Mapping[str, tuple[str, ...]] = {DEVICES_REQUIRED: ("device_libraries",)}
"""What a manifest of this version may require of its reader, and the keys that come with it."""
MANIFEST_NAME = "manifest.msgpack"
RUNTIME_ARCHIVE = "runtime_min.pyz"
"""The runtime itself, which Python runs."""
ALIGNMENT = 64
"""Bytes: generated code assumes that every tensor starts at a multiple of this."""
TOKEN_IDS = "token_ids"
"""Input whose values are rows of the first parameter of the stages that take it."""
ITEM_SIZES = {"float32": 4, "int64": 8, "int32": 4}
"""Bytes of one element of every type that a tensor may have."""


@dataclass(frozen=True)
class ModelInfo:
    """Which model the bundle computes."""

    name: str
    source: str
    """``hub``, ``file`` or ``synthetic``."""
    sha256: str
    """Digest of the checkpoint."""
    config_sha256: str
    synthetic: bool
    """The weights are random: the bundle babbles."""
    hidden: int
    """Channels of the text features (``hidden_dim``)."""
    style: int
    """Channels of each half of a style row (``style_dim``)."""


@dataclass(frozen=True)
class Versions:
    """What the bundle was made with."""

    kokoro_export: str
    tvm: str
    tvm_ffi: str
    vm: str
    """Version of TVM's virtual machine; the runtime library accepts exactly its own."""


@dataclass(frozen=True)
class Materials:
    """What else the bundle was made with: with the same, the same bytes come out."""

    packages: Mapping[str, str]
    """Versions by name, of the packages that take part and are not in `Versions`."""
    tools: Mapping[str, str]
    """Versions by name: ``python``, ``llvm``, ``linker``."""
    sources: str
    """Digest of the exporter's and the runtime's source files."""
    commit: str
    """Of the checkout that exported; empty where there was none."""


@dataclass(frozen=True)
class CpuLevel:
    """A set of processor features for which the bundle has libraries of their own."""

    name: str
    features: tuple[str, ...]
    """As /proc/cpuinfo spells them."""


@dataclass(frozen=True)
class Target:
    """The machines that the bundle runs on."""

    name: str
    triple: str
    system: str
    """``linux``, ``macos``, ``windows`` or ``ios``."""
    machine: str
    """``x86_64``, ``aarch64`` or ``arm64``, as the system itself says."""
    minimum_os: str
    """Such as ``glibc 2.28`` or ``macos 13.0``."""
    levels: tuple[CpuLevel, ...]
    """Best first."""


@dataclass(frozen=True)
class AudioFormat:
    """Rates of the model's time axes."""

    sample_rate: int = SAMPLE_RATE
    samples_per_frame: int = SAMPLES_PER_FRAME
    frames_per_second: int = FRAMES_PER_SECOND


@dataclass(frozen=True)
class Library:
    """One compiled library of a stage."""

    level: str
    bucket: int
    """Largest length along the stage's axis."""
    file: str
    function: str
    """Entry point within the library."""


@dataclass(frozen=True)
class Stage:
    """A stage of the model and the libraries that compute it."""

    name: str
    device: str
    """``cpu``, or one of `DEVICES`."""
    axis: str
    minimum: int
    inputs: tuple[TensorSignature, ...]
    outputs: tuple[TensorSignature, ...]
    parameters: tuple[str, ...]
    """Tensors of the parameter table, in the order in which a call takes them after the inputs."""
    libraries: tuple[Library, ...]

    @property
    def signature(self) -> StageSignature:
        """What the stage takes and gives."""
        return StageSignature(self.name, self.axis, self.minimum, self.inputs, self.outputs)

    def buckets(self, level: str) -> dict[int, Library]:
        """Returns the libraries for a CPU level by their bucket, smallest first."""
        return {library.bucket: library for library in self.libraries if library.level == level}


@dataclass(frozen=True)
class Tensor:
    """A parameter's place in the parameter file."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    offset: int
    bytes: int
    layout: str
    """How `shape` orders the model's own axes, such as ``row-major`` or ``conv[co/8,ci,k,8]``."""


@dataclass(frozen=True)
class Parameters:
    """The parameter file and what lies in it."""

    file: str
    tensors: tuple[Tensor, ...]


@dataclass(frozen=True)
class Voice:
    """A table of style rows, one for each length of the input in phonemes."""

    name: str
    file: str
    rows: int
    columns: int


@dataclass(frozen=True)
class FileEntry:
    """A file of the bundle."""

    path: str
    bytes: int
    sha256: str


@dataclass(frozen=True)
class Manifest:
    """Everything that a bundle says about itself."""

    requires: tuple[str, ...]
    """What a reader must know besides this version of the format; see `REQUIREMENTS`."""
    model: ModelInfo
    versions: Versions
    materials: Materials
    target: Target
    audio: AudioFormat
    runtime_library: str
    """Path of the TVM runtime; empty where the app brings one."""
    stages: tuple[Stage, ...]
    parameters: Parameters
    vocabulary: Mapping[str, int]
    max_phonemes: int
    voices: tuple[Voice, ...]
    parity: Mapping[str, str | int | float | bool] = field(default_factory=dict)
    """How far this very bundle is from the reference, measured when it was made."""
    files: tuple[FileEntry, ...] = ()
    extensions: Mapping[str, Value] = field(default_factory=dict)
    """What readers may ignore, by names that are theirs who wrote it."""
    device_libraries: Mapping[str, str] = field(default_factory=dict)
    """Path of TVM's runtime for each of `DEVICES` that the target has; empty where the app brings them."""

    @property
    def source_apart(self) -> bool:
        """Whether the harmonic source is a stage of its own."""
        return DEVICES_REQUIRED in self.requires

    def loaded_files(self, level: str) -> frozenset[str]:
        """Returns the paths of all files that a process loads which computes with the CPU level `level`."""
        libraries = {
            library.file for stage in self.stages for library in stage.libraries if library.level == level
        }
        voices = {voice.file for voice in self.voices}
        runtimes = {self.runtime_library, *self.device_libraries.values()}
        return frozenset({self.parameters.file, *runtimes, *libraries, *voices})


def manifest_keys(requires: Collection[str]) -> tuple[str, ...]:
    """Returns the keys of a manifest, in their order: all fields but those of what it does not require."""
    absent = {key for name, keys in REQUIREMENTS.items() if name not in requires for key in keys}
    return tuple(name for name in Manifest.__dataclass_fields__ if name not in absent)
