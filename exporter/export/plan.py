"""The plan of an export: its options, checked, with the model and the voices that they name."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from exporter.compiler import cuda
from exporter.compiler.levels import arithmetic_levels, choose_levels
from exporter.compiler.library import Job, StoredWeights
from exporter.compiler.link import LinkerMissingError, find_linker
from exporter.compiler.targets import CpuLevel, Target, find_target
from exporter.directories import refuse_shared
from exporter.errors import ExportError
from exporter.export.runtime_wheel import runtime_libraries
from exporter.native.build import require_compiler
from exporter.progress import Progress
from exporter.text.files import LANGUAGES
from runtime_min.engine.machine import this_machine
from runtime_min.format.arithmetic import FLOAT32
from runtime_min.format.manifest import CPU
from runtime_min.format.signatures import (
    MINIMUM_LENGTH,
    SOURCE,
    STAGE_NAMES,
    StageSignature,
    signatures,
    stage_names,
)
from runtime_min.output.staging import write_errors

if TYPE_CHECKING:
    from exporter.model.checkpoint import Checkpoint
    from exporter.model.voice_packs import Voices

TEXT_BUCKETS = (512,)
FRAME_BUCKETS = (5120,)
# A GPU's memory is taken whole, where that of a CPU is only reserved: 13 seconds of speech take a tenth.
GPU_FRAME_BUCKETS = (512, 5120)
# 32 seconds of one passage: the memory of a module for the web holds no more, and an app on a phone has less.
MODULE_FRAME_BUCKETS = (1280,)
# Longest first, so that no worker is left alone with the decoder at the end.
_BY_COST = ("decoder", "f0n", "bert", "duration", "text_encoder", "source")
# 27 minutes; beyond it the index arithmetic of the widest activation leaves 32 bits.
LARGEST_FRAME_BUCKET = 1 << 16


class OptionError(ExportError):
    """The options of an export contradict themselves or the model."""

    exit_code = 2


@dataclass(frozen=True)
class ExportOptions:
    """The options of an export."""

    output: Path
    checkpoint: str = "hub"
    """``hub``, ``packages``, ``synthetic``, or the path of a ``.pth`` or ``.onnx`` file."""
    config: Path | None = None
    """Configuration that belongs to a checkpoint of one's own."""
    voices: str | None = None
    """``official``, a directory, ``hub`` or ``synthetic``; None takes the checkpoint's own voices."""
    target: str = "host"
    lstm_device: str = CPU
    """Device of the encoders' LSTMs: ``cpu``, or the target's."""
    cpu_level: str = "all"
    arithmetic: str = FLOAT32
    """Arithmetic for which there are CPU levels beside those of float32."""
    stages: tuple[str, ...] = STAGE_NAMES
    text_buckets: tuple[int, ...] = TEXT_BUCKETS
    precision: str | None = None
    """Type in which the bundle stores its large weights; None takes the target's default."""
    frame_buckets: tuple[int, ...] | None = None
    """None takes `FRAME_BUCKETS`, `MODULE_FRAME_BUCKETS`, or `GPU_FRAME_BUCKETS` for a decoder on a GPU."""
    languages: tuple[str, ...] = LANGUAGES
    """Languages whose text the bundle turns into phonemes."""
    native: bool | None = None
    """Put the C library into the bundle, for apps without Python; None does so where it can be built."""
    runtime_library: Path | None = None
    """TVM's runtime for the target, or the wheel that holds it; None takes this machine's, or fetches it."""
    jobs: int = 1
    """Libraries compiled at a time."""
    cache: Path | None = None
    """Directory of compiled libraries; None keeps none."""
    answers: Path | None = None
    """Directory of kokoro's answers, which validation compares with; None keeps none."""
    dump_ir: Path | None = None
    """Directory for the intermediate representation of every stage; nothing then comes from the cache."""


@dataclass(frozen=True)
class Plan:
    """All that is known of an export before anything is compiled."""

    options: ExportOptions
    checkpoint: Checkpoint
    target: Target
    levels: tuple[CpuLevel, ...]
    voices: Voices
    runtime_libraries: Mapping[str, Path] = field(default_factory=dict)
    """Parts of TVM's runtime for the target, by file name; the installed TVM has the others."""
    native: bool = False
    """The C library goes into the bundle."""

    @property
    def stages(self) -> tuple[str, ...]:
        """Names of the stages to export, as they run one after another; the source comes with the decoder."""
        chosen = set(self.options.stages)
        chosen |= {SOURCE} if "decoder" in chosen else set()
        return tuple(name for name in stage_names(self.target.separate_source) if name in chosen)

    @property
    def frame_buckets(self) -> tuple[int, ...]:
        """Most frames that each library of the stages along frames takes, ascending."""
        if self.options.frame_buckets is not None:
            return self.options.frame_buckets
        if self.target.one_module:
            return MODULE_FRAME_BUCKETS
        return FRAME_BUCKETS if self.target.device == CPU else GPU_FRAME_BUCKETS

    @property
    def precision(self) -> str:
        """Type in which the bundle stores its large weights."""
        return self.options.precision or self.target.precision

    @property
    def signatures(self) -> dict[str, StageSignature]:
        """Returns inputs, outputs and length axis of every stage of the model."""
        config = self.checkpoint.config
        return signatures(config["hidden_dim"], config["style_dim"], self.target.separate_source)

    @property
    def jobs(self) -> list[Job]:
        """Returns the libraries to compile, the slowest first."""
        config = json.dumps(self.checkpoint.config, sort_keys=True)
        buckets = {"tokens": self.options.text_buckets, "frames": self.frame_buckets}
        jobs = [
            Job(config, signature, bucket, self.target, level, self.device_of(name), self.precision)
            for name, signature in self.signatures.items()
            if name in self.stages
            for bucket in buckets[signature.axis]
            for level in self.levels
            if level.arithmetic == FLOAT32 or name == "decoder"
        ]
        return sorted(jobs, key=lambda job: (_BY_COST.index(job.stage), -job.bucket))

    @property
    def stored(self) -> StoredWeights:
        """Returns how the bundle stores the weights."""
        return StoredWeights(self.precision, self.target.separate_source)

    @property
    def is_whole(self) -> bool:
        """True if the bundle has all stages, so that it can synthesise."""
        return self.stages == stage_names(self.target.separate_source)

    def device_of(self, stage: str) -> str:
        """Returns the device of a stage."""
        return self.target.device_of(stage, self.options.lstm_device)


def make_plan(options: ExportOptions, progress: Progress) -> Plan:
    """Checks the options and loads the checkpoint and the voices.

    Raises:
        ExportError: the options cannot be exported.
    """
    _check_options(options)
    for directory in (options.cache, options.answers):
        if directory is not None:
            refuse_shared(directory)
    if options.dump_ir is not None:
        with write_errors(options.dump_ir):
            options.dump_ir.mkdir(parents=True, exist_ok=True)
    machine = this_machine()
    target = find_target(options.target, machine)
    _check_lstm_device(options.lstm_device, target)
    if options.precision is not None:
        _check_precision(options.precision, target)
    levels = choose_levels(target, options.cpu_level, machine)
    levels += arithmetic_levels(target, levels, options.arithmetic)
    find_linker(target)
    cuda.versions(target.device)
    native = _native(options, target, progress)
    runtimes: dict[str, Path] = {}
    if options.runtime_library is not None or not target.fits(machine):
        progress.step(f"find the runtime library for {target.name}")
        runtimes = runtime_libraries(target, options.runtime_library)
    # From here on torch is needed, which takes seconds to import.
    from exporter.model.checkpoint import load
    from exporter.model.voice_packs import load_voices

    progress.step(f"load the checkpoint: {options.checkpoint}")
    # Voices that are not there are found before the checkpoint is read, which takes seconds.
    given = None if options.voices is None else load_voices(options.voices)
    checkpoint = load(options.checkpoint, options.config)
    _check_buckets("--text-buckets", options.text_buckets, positions(checkpoint))
    if checkpoint.synthetic:
        progress.warning(
            "These weights are synthetic: the bundle babbles. It is for tests, not for listeners."
        )
    voices = load_voices(None, checkpoint) if given is None else given
    return Plan(options, checkpoint, target, levels, voices, runtimes, native)


def _check_options(options: ExportOptions) -> None:
    unknown = sorted(set(options.stages) - set(STAGE_NAMES))
    if unknown or not options.stages:
        raise OptionError(
            f"--stages: expected some of {', '.join(STAGE_NAMES)}, found {', '.join(unknown) or 'nothing'}."
        )
    unknown = sorted(set(options.languages) - set(LANGUAGES))
    if unknown:
        raise OptionError(
            f"--languages: expected some of {', '.join(LANGUAGES)}, or none, found {', '.join(unknown)}."
        )
    _check_buckets("--text-buckets", options.text_buckets)
    if options.frame_buckets is not None:
        _check_buckets("--frame-buckets", options.frame_buckets, LARGEST_FRAME_BUCKET)
    if options.jobs < 1:
        raise OptionError(f"--jobs: expected 1 or more, found {options.jobs}.")


def _native(options: ExportOptions, target: Target, progress: Progress) -> bool:
    """Returns True if the C library goes into the bundle; one without all stages cannot speak anyway.

    A module has it always.
    """
    if target.one_module:
        if options.native is False:
            raise OptionError(f"--no-native: a bundle for {target.name} is nothing without the C library.")
        require_compiler(target)
        return True
    if options.native is False or (options.native is None and set(options.stages) != set(STAGE_NAMES)):
        return False
    try:
        require_compiler(target)
    except LinkerMissingError as error:
        if options.native:
            raise
        progress.step(f"leave out the C library: {error}")
        return False
    return True


def _check_lstm_device(device: str, target: Target) -> None:
    devices = dict.fromkeys((CPU, target.device))
    if device not in devices:
        raise OptionError(
            f"--lstm-device: expected {' or '.join(devices)} for {target.name}, found {device!r}."
        )


def _check_precision(precision: str, target: Target) -> None:
    # It needs torch, which takes seconds to import.
    from exporter.compiler.precision import PRECISIONS, check_device

    if precision not in PRECISIONS:
        raise OptionError(f"--precision: expected one of {', '.join(PRECISIONS)}, found {precision!r}.")
    check_device(precision, target.device)


def _check_buckets(option: str, buckets: Sequence[int], largest: int | None = None) -> None:
    limit = f" to {largest}" if largest else ""
    if (
        not buckets
        or list(buckets) != sorted(set(buckets))
        or buckets[0] < MINIMUM_LENGTH
        or (largest and buckets[-1] > largest)
    ):
        raise OptionError(
            f"{option}: expected ascending lengths from {MINIMUM_LENGTH}{limit}, such as 128,512, "
            f"found {','.join(map(str, buckets)) or 'nothing'}."
        )


def positions(checkpoint: Checkpoint) -> int:
    """Returns the most tokens that a model was trained with, the two boundary tokens among them."""
    found: int = checkpoint.config["plbert"]["max_position_embeddings"]
    return found
