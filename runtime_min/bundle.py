"""A loaded bundle: what an app uses."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from .engine.devices import load_devices
from .engine.machine import check_target, choose_level, this_machine
from .engine.stage_runner import StageRunner
from .engine.vm import Worker, choose_threads, load_tvm, map_parameters
from .errors import ClosedBundleError, MissingStagesError, ModelOutputError
from .format.bundle_files import BundleFiles
from .format.manifest import CpuLevel, Manifest
from .format.signatures import stage_names
from .format.verify import manifest_of
from .model.alignment import check_speed
from .model.chain import Choices, Trace, run_chain
from .model.noise import check_seed
from .model.tokens import BOUNDARIES, tokenise
from .model.voices import Style, VoiceLike, VoiceName, VoiceTables, style_row
from .speech.speak import Manner, Section, Synthesise, check_pauses, piece_seed, plan_ends, speak
from .speech.split import find_breaks
from .speech.stream import Stream
from .speech.timing import Audio
from .speech.words import G2P, Spoken, check_phonemes, read_spoken

if TYPE_CHECKING:
    from .model.self_test import StageFigure


class Bundle:
    """A bundle that speaks. Make one with `Bundle.load`; any number of threads may use it."""

    def __init__(self, files: BundleFiles, manifest: Manifest, level: CpuLevel, threads: int) -> None:
        """Loads a bundle that has been verified; apps call `Bundle.load`."""
        self.directory = files.directory
        self.manifest = manifest
        self.level = level
        """The CPU level whose libraries are used."""
        self.voice_tables: Mapping[str, NDArray[np.float32]] = VoiceTables(files, manifest.voices)
        """Style rows of every voice, float32 ``[rows, columns]``."""
        self._files = files
        tvm_ffi = load_tvm(files, manifest.runtime_library, manifest.versions)
        devices = load_devices(tvm_ffi, files, manifest)
        parameters = map_parameters(tvm_ffi, files, manifest.parameters)
        self._worker = Worker(tvm_ffi, threads)
        self._stages = {
            stage.name: StageRunner(
                stage, stage.buckets(level.name), files, parameters, self._worker, devices[stage.device]
            )
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
            verify: compare the directory's contents and every file's SHA-256 first. Without it, libraries
                and voices are compared when they are needed, and damaged parameters are used as they are.
            manifest_sha256: digest that the manifest must have: pins this very bundle.

        Raises:
            BundleError: the bundle is incomplete, damaged or no bundle.
            MachineError: it is for another machine or another TVM.
            ThreadsError: `threads` is out of range.
        """
        directory = Path(os.path.abspath(path))
        count = choose_threads(threads)
        files = BundleFiles(directory)
        try:
            manifest = manifest_of(files, sha256=manifest_sha256)
            machine = this_machine()
            check_target(manifest.target, machine)
            chosen = choose_level(manifest.target.levels, machine.features, level)
            if verify:
                files.verify(keep=manifest.loaded_files(chosen.name))
            return cls(files, manifest, chosen, count)
        except BaseException:
            files.close()
            raise

    @property
    def voices(self) -> tuple[VoiceName, ...]:
        """Names of the voices, which tell language and sex where they are named as kokoro names them."""
        return tuple(map(VoiceName, self.voice_tables))

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

    def synthesize(
        self,
        phonemes: Spoken,
        voice: VoiceLike = "af_heart",
        speed: float = 1.0,
        seed: int = 0,
        *,
        g2p: G2P | None = None,
        sentence_pause: float = 0.0,
        clause_pause: float = 0.0,
        trim: bool = False,
    ) -> Audio:
        """Speaks input of any length.

        What the model can take at once is one utterance. More is split between sentences, clauses or words,
        and the joined pieces of `stream` are returned.

            bundle.synthesize("həlˈO wˈɜɹld!", "af_heart*0.7+am_adam*0.3", speed=1.2)
            bundle.synthesize([Word("Hello", "həlˈO", " "), Word("world", "wˈɜɹld")]).words
            bundle.synthesize([Segment("həlˈO!"), Segment("həlˈO!", voice="am_adam", speed=0.8)])

        Args:
            phonemes: what to speak, as kokoro's G2P (misaki) writes it; or words with phonemes; or segments
                with a voice and speed of their own; with `g2p`, text or segments of text.
            voice: a name, a blend, names to average, or an array, see `voices.style_row`.
            speed: from 0.25 to 4; 2 is twice as fast.
            seed: of the noise in unvoiced sounds, from 0 to 2**64 - 1; the same seed gives the same samples.
            g2p: makes phonemes, or words with phonemes, of a text.
            sentence_pause: seconds of silence to add after each sentence but the last.
            clause_pause: the same after clauses that do not end a sentence.
            trim: leave out silence at the beginning and the end.

        Raises:
            InputError: something was asked for that cannot be spoken.
            MissingStagesError: this is a partial bundle.
            ModelOutputError: what was computed is no signal.
        """
        pauses = check_pauses(sentence_pause, clause_pause)
        sections = self._sections(phonemes, voice, speed, seed, g2p, whole=True)
        return Audio.join(speak(sections, Manner(self.max_phonemes, pauses, trim), self._synthesiser()))

    def stream(
        self,
        phonemes: Spoken,
        voice: VoiceLike = "af_heart",
        speed: float = 1.0,
        seed: int = 0,
        *,
        g2p: G2P | None = None,
        sentence_pause: float = 0.0,
        clause_pause: float = 0.0,
        trim: bool = False,
    ) -> Stream:
        """Speaks input of any length piece by piece: the first is a clause or a few words, later ones grow.

            with bundle.stream(phonemes) as stream:
                for piece in stream:
                    play(piece.samples)

        Computing starts at once. Arguments and errors are those of `synthesize`; wrong input is refused here,
        what goes wrong later when the piece is asked for.
        """
        pauses = check_pauses(sentence_pause, clause_pause)
        sections = self._sections(phonemes, voice, speed, seed, g2p, whole=False)
        spoken = "".join(section.passage.phonemes for section in sections)
        manner = Manner(self.max_phonemes, pauses, trim)
        return Stream(speak(sections, manner, self._synthesiser()), spoken)

    def trace(
        self,
        phonemes: str,
        voice: VoiceLike = "af_heart",
        speed: float = 1.0,
        seed: int = 0,
        *,
        durations: NDArray[np.int64] | None = None,
        noise: NDArray[np.float32] | None = None,
        buckets: Mapping[str, int] | None = None,
    ) -> Trace:
        """Speaks one utterance as `synthesize` does and returns every tensor on the way, finite or not.

        Args:
            phonemes: what to speak, at most `max_phonemes`.
            voice: as in `synthesize`.
            speed: from 0.25 to 4.
            seed: of the noise.
            durations: frames of each token, int64 ``[tokens]``, in place of the predicted ones.
            noise: float32 ``[1, 600 * frames]``, in place of the generated one.
            buckets: bucket by stage, in place of the smallest that holds the length.

        Raises:
            InputError: as in `synthesize`, or an array or bucket does not fit.
            MissingStagesError: this is a partial bundle.
        """
        self._require(stage_names(self.manifest.source_apart))
        checked_speed, checked_seed = check_speed(speed), check_seed(seed)
        token_ids = tokenise(phonemes, self.manifest.vocabulary, self.max_phonemes)
        style = style_row(self.voice_tables, voice, len(phonemes))
        choices = Choices(durations, noise, buckets)
        return run_chain(self._stages, token_ids, style, checked_speed, checked_seed, choices)

    def stage(self, name: str) -> StageRunner:
        """Returns a single stage, to run it on arrays of one's own.

        Raises:
            MissingStagesError: the bundle does not have it.
        """
        self._require((name,))
        return self._stages[name]

    def self_test(self) -> Iterator[StageFigure]:
        """Compares every stage, and then the whole chain, with what kokoro said when the bundle was exported.

            assert all(each.figure.holds for each in bundle.self_test())

        Yields:
            Every figure with its limit, as soon as it is measured.

        Raises:
            MissingStagesError: this is a partial bundle.
            NoSelfTestError: the bundle has nothing to compare with.
            BundleError: what it has is damaged.
        """
        from .model.self_test import run_self_test

        self._require(stage_names(self.manifest.source_apart))
        return run_self_test(self.manifest, self._files, dict(self._stages))

    def close(self) -> None:
        """Lets go of the bundle's thread, memory and files; afterwards it cannot speak any more."""
        self._worker.close()
        self._stages.clear()
        self.voice_tables = {}
        self._files.close()

    def _sections(
        self, spoken: Spoken, voice: VoiceLike, speed: float, seed: int, g2p: G2P | None, *, whole: bool
    ) -> list[Section]:
        """Checks everything that is asked for, and plans its pieces."""
        self._require(stage_names(self.manifest.source_apart))
        checked_seed, limit, given = check_seed(seed), self.max_phonemes, 0
        sections: list[Section] = []
        for passage in read_spoken(spoken, g2p):
            length = len(passage.phonemes)
            own_voice = voice if passage.voice is None else passage.voice
            check_phonemes(passage, self.manifest.vocabulary)
            breaks = find_breaks(passage.phonemes)
            sections.append(
                Section(
                    passage,
                    breaks,
                    plan_ends(passage.phonemes, breaks, limit, whole=whole, growing=not sections),
                    style_row(self.voice_tables, own_voice, min(length, limit)),
                    check_speed(speed if passage.speed is None else passage.speed),
                    piece_seed(checked_seed, given),
                )
            )
            given += length
        return sections

    def _synthesiser(self) -> Synthesise:
        """Returns what speaks one piece. It knows of nothing that `close` takes away but the worker."""
        stages, vocabulary = dict(self._stages), self.manifest.vocabulary

        def synthesise(
            phonemes: str, style: Style, speed: float, seed: int
        ) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
            token_ids = tokenise(phonemes, vocabulary, len(phonemes))
            trace = run_chain(stages, token_ids, style, speed, seed, Choices())
            if not np.isfinite(trace.audio).all():
                raise ModelOutputError(
                    "The stage 'decoder' computed samples that are not finite: expected numbers. "
                    "The weights are damaged or the libraries wrong; verify the bundle or export it again."
                )
            # A copy, so that the samples do not keep TVM's memory.
            return trace.audio[0].copy(), trace.durations

        return synthesise

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
