"""A loaded bundle: what an app uses."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

import numpy as np
from numpy.typing import NDArray

from .alignment import check_speed
from .errors import ClosedBundleError, MissingStagesError, ModelOutputError
from .manifest import CpuLevel, Manifest
from .noise import check_seed
from .pipeline import Choices, Trace, run_chain
from .platform import check_target, choose_level, this_machine
from .stage_runner import StageRunner
from .stages import STAGE_NAMES
from .tokens import BOUNDARIES, tokenise
from .verify import read_manifest, verify_files
from .vm import Worker, choose_threads, load_tvm, map_parameters
from .voices import open_voices, style_row


@dataclass(frozen=True)
class Audio:
    """Speech."""

    samples: NDArray[np.float32]
    """``[n]``, mono, full scale is 1."""
    sample_rate: int
    """Samples a second."""
    durations: NDArray[np.int64]
    """``[tokens]``, frames of each token: the boundary before, the phonemes, the boundary after."""


class Bundle:
    """A bundle that speaks. Make one with `Bundle.load`; any number of threads may use it."""

    def __init__(self, directory: Path, manifest: Manifest, level: CpuLevel, threads: int) -> None:
        """Loads a bundle that has been verified; apps call `Bundle.load`."""
        self.directory = directory
        self.manifest = manifest
        self.level = level
        """The CPU level whose libraries are used."""
        self._voices = open_voices(directory, manifest.voices)
        tvm_ffi = load_tvm(directory / manifest.runtime_library, manifest.versions)
        parameters = map_parameters(tvm_ffi, directory, manifest.parameters)
        self._worker = Worker(tvm_ffi, threads)
        self._stages = {
            stage.name: StageRunner(stage, stage.buckets(level.name), directory, parameters, self._worker)
            for stage in manifest.stages
        }

    @classmethod
    def load(
        cls,
        path: str | os.PathLike[str],
        *,
        threads: int | None = None,
        level: str | None = None,
        verify: bool = True,
        manifest_sha256: str | None = None,
    ) -> Bundle:
        """Verifies the bundle in the directory `path` and loads it.

        Args:
            path: the bundle.
            threads: how many threads compute; by default `TVM_NUM_THREADS`, or else all cores.
            level: name of the CPU level to use; by default the best that this processor has.
            verify: compare every file's SHA-256. Without it a damaged file can crash the process.
            manifest_sha256: digest that the manifest must have: pins this very bundle.

        Raises:
            BundleError: the bundle is incomplete, damaged or no bundle.
            MachineError: it is for another machine or another TVM.
            ThreadsError: `threads` is out of range.
        """
        directory = Path(os.path.abspath(path))
        count = choose_threads(threads)
        manifest = read_manifest(directory, sha256=manifest_sha256)
        machine = this_machine()
        check_target(manifest.target, machine)
        chosen = choose_level(manifest.target.levels, machine.features, level)
        if verify:
            verify_files(directory, manifest)
        return cls(directory, manifest, chosen, count)

    @property
    def voices(self) -> tuple[str, ...]:
        """Names of the voices."""
        return tuple(self._voices)

    @property
    def threads(self) -> int:
        """Number of threads that compute."""
        return self._worker.threads

    @property
    def max_phonemes(self) -> int:
        """Most phonemes that can be spoken at once: the model's limit or that of the largest bucket."""
        runners = [runner for runner in self._stages.values() if runner.stage.axis == "tokens"]
        capacities = [runner.buckets[-1] - BOUNDARIES for runner in runners]
        return min([self.manifest.max_phonemes, *capacities])

    def synthesize(self, phonemes: str, voice: str = "af_heart", speed: float = 1.0, seed: int = 0) -> Audio:
        """Speaks phonemes.

        Args:
            phonemes: what to speak, as kokoro's G2P (misaki) writes it.
            voice: name of a voice of the bundle.
            speed: from 0.25 to 4; 2 is twice as fast.
            seed: of the noise in unvoiced sounds, from 0 to 2**64 - 1; the same seed gives the same samples.

        Raises:
            InputError: something was asked for that cannot be spoken.
            MissingStagesError: this is a partial bundle.
            ModelOutputError: what was computed is no signal.
        """
        trace = self.trace(phonemes, voice, speed, seed)
        if not np.isfinite(trace.audio).all():
            raise ModelOutputError(
                "The stage 'decoder' computed samples that are not finite: expected numbers. "
                "The weights are damaged or the libraries wrong; verify the bundle or export it again."
            )
        # A copy, so that the samples do not keep TVM's memory.
        return Audio(trace.audio[0].copy(), self.manifest.audio.sample_rate, trace.durations)

    def trace(
        self,
        phonemes: str,
        voice: str = "af_heart",
        speed: float = 1.0,
        seed: int = 0,
        *,
        durations: NDArray[np.int64] | None = None,
        noise: NDArray[np.float32] | None = None,
        buckets: Mapping[str, int] | None = None,
    ) -> Trace:
        """Speaks phonemes as `synthesize` does and returns every tensor on the way, finite or not.

        Args:
            phonemes: what to speak.
            voice: name of a voice of the bundle.
            speed: from 0.25 to 4.
            seed: of the noise.
            durations: frames of each token, int64 ``[tokens]``, in place of the predicted ones.
            noise: float32 ``[1, 600 * frames]``, in place of the generated one.
            buckets: bucket by stage, in place of the smallest that holds the length.

        Raises:
            InputError: as in `synthesize`, or an array or bucket does not fit.
            MissingStagesError: this is a partial bundle.
        """
        self._require(STAGE_NAMES)
        checked_speed, checked_seed = check_speed(speed), check_seed(seed)
        token_ids = tokenise(phonemes, self.manifest.vocabulary, self.max_phonemes)
        style = style_row(self._voices, voice, len(phonemes))
        choices = Choices(durations, noise, buckets)
        return run_chain(self._stages, token_ids, style, checked_speed, checked_seed, choices)

    def stage(self, name: str) -> StageRunner:
        """Returns a single stage, to run it on arrays of one's own.

        Raises:
            MissingStagesError: the bundle does not have it.
        """
        self._require((name,))
        return self._stages[name]

    def close(self) -> None:
        """Lets go of the bundle's thread, memory and files; afterwards it cannot speak any more."""
        self._worker.close()
        self._stages.clear()
        self._voices.clear()

    def _require(self, names: Sequence[str]) -> None:
        # Every bundle has a stage until it is closed.
        if not self._stages:
            raise ClosedBundleError
        missing = [name for name in names if name not in self._stages]
        if missing:
            raise MissingStagesError(missing, self._stages)

    def __enter__(self) -> Bundle:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()
