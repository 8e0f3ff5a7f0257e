"""The work of ``kokoro-export validate``, from options to the comparisons and the report."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from exporter.compiler.library import StoredWeights
from exporter.compiler.targets import FLOAT32
from exporter.export.plan import OptionError
from exporter.parity.answers import Kokoro
from exporter.parity.figures import Comparison
from exporter.parity.waveforms import Progress, compare_waveforms, levels_here, loaded_levels
from exporter.reference.files import reference_files
from exporter.reference.phonemes import phonemes_of_text
from exporter.reference.utterance_file import UtterancesError, read_utterances
from exporter.reference.utterances import Utterance, built_in, check_utterances, default_voice
from exporter.validate.kernel_order import stage_calls
from exporter.validate.results import Report, SpokenSteps
from exporter.validate.steps import Extras, trace_steps
from exporter.validate.utterance_runs import Executions
from runtime_min import Bundle
from runtime_min.format.manifest import Manifest
from runtime_min.format.verify import read_manifest
from runtime_min.model.tokens import BOUNDARIES

_SHORT = "həlˈO wˈɜɹld!"
"""The utterance that is compared if the options name none: "Hello world"."""


@dataclass(frozen=True)
class Options:
    """The options of both commands."""

    bundle: Path
    utterances: Path | None = None
    """File of utterances."""
    cpu_level: str | None = None
    checkpoint: str | None = None
    config: Path | None = None
    threads: int | None = None
    answers: Path | None = None
    """Directory of stored answers; None computes all of them."""


@dataclass(frozen=True)
class StepsOptions(Options):
    """The options of ``validate steps``."""

    phonemes: tuple[str, ...] = ()
    text: str | None = None
    voice: str | None = None
    """Voice of `phonemes` and `text`; `speed` and `seed` are theirs too."""
    speed: float | None = None
    seed: int | None = None
    static_tokens: int = 512
    static_frames: int = 5120
    extras: Extras = field(default_factory=Extras)


def compare_end_to_end(options: Options, progress: Progress) -> tuple[Comparison, ...]:
    """Compares the final waveform of every utterance on every CPU level.

    Raises:
        KokoroError: something that the options name cannot be used.
    """
    named = read_utterances(options.utterances) if options.utterances else ()
    manifest = read_manifest(options.bundle)
    levels = levels_here(manifest, options.cpu_level)
    with loaded_levels(options.bundle, levels, options.threads) as bundles:
        utterances = named or built_in(bundles[0])
        if not utterances:
            raise UtterancesError(
                "The bundle's buckets hold none of the built-in utterances: name shorter ones with "
                "--utterances FILE."
            )
        check_utterances(bundles[0], utterances)
        files = reference_files(manifest, options.checkpoint, options.config)
        stored = StoredWeights(manifest.precision, manifest.separate_source)
        with Kokoro(files, options.threads, options.answers, stored) as kokoro:
            return compare_waveforms(bundles, kokoro, utterances, progress)


def compare_steps(options: StepsOptions, progress: Progress) -> Report:
    """Compares every step of every utterance, and runs the requested experiments.

    Raises:
        KokoroError: something that the options name cannot be used.
    """
    manifest = read_manifest(options.bundle)
    utterances = tuple(_utterances(options, manifest))
    with Bundle.load(options.bundle, level=options.cpu_level, threads=options.threads) as bundle:
        if options.extras.rounding and manifest.precision == bundle.arithmetic == FLOAT32:
            raise OptionError("--rounding: expected rounded weights or another arithmetic, found float32.")
        files = reference_files(manifest, options.checkpoint, options.config)
        _check_static_lengths(options, manifest, utterances, check_utterances(bundle, utterances))
        stored = StoredWeights(manifest.precision, manifest.separate_source)
        with Kokoro(files, bundle.threads, options.answers, stored) as kokoro:
            progress("the kernels of the stages")
            lengths = options.static_tokens, options.static_frames
            executions = Executions(bundle, kokoro, stage_calls(files[1], manifest.precision), *lengths)
            found = tuple(_traced(executions, utterances, options.extras, progress))
        return Report(str(bundle.directory), _facts(bundle, executions), found)


def _utterances(options: StepsOptions, manifest: Manifest) -> Iterator[Utterance]:
    """Yields the utterances that the options name, or a short one."""
    voice = options.voice or default_voice([known.name for known in manifest.voices])
    phonemes = options.phonemes
    if options.text is not None:
        phonemes += phonemes_of_text(options.text, voice)
    if not phonemes and options.utterances is None:
        phonemes = ("".join(phoneme for phoneme in _SHORT if phoneme in manifest.vocabulary),)
    speed = 1.0 if options.speed is None else options.speed
    yield from (Utterance(each, voice, speed, options.seed or 0) for each in phonemes)
    if options.utterances is not None:
        yield from read_utterances(options.utterances)


def _traced(
    executions: Executions, utterances: Sequence[Utterance], extras: Extras, progress: Progress
) -> Iterator[SpokenSteps]:
    for number, utterance in enumerate(utterances, start=1):

        def doing(what: str, number: int = number) -> None:
            progress(f"utterance {number} of {len(utterances)}: {what}")

        yield trace_steps(replace(executions, progress=doing), utterance, extras)


def _check_static_lengths(
    options: StepsOptions, manifest: Manifest, utterances: Sequence[Utterance], frames: Sequence[int]
) -> None:
    """Refuses lengths of pt.static that do not hold an utterance, or that the model does not have."""
    needed = max(len(utterance.phonemes) for utterance in utterances) + BOUNDARIES
    most = manifest.max_phonemes + BOUNDARIES
    if not needed <= options.static_tokens <= most:
        raise OptionError(
            f"--static-text-len: expected {needed} to {most}, so that pt.static holds every utterance, "
            f"found {options.static_tokens}."
        )
    if options.static_frames < max(frames):
        raise OptionError(
            f"--static-frames: expected {max(frames)} or more, so that pt.static holds every utterance, "
            f"found {options.static_frames}."
        )


def _facts(bundle: Bundle, executions: Executions) -> dict[str, str]:
    """Returns the facts of a comparison, for the head of a report."""
    model, packages = bundle.manifest.model, bundle.manifest.materials.packages
    versions = (f"{name} {packages.get(name, 'unknown')}" for name in ("kokoro", "torch"))
    return {
        "model": f"{model.name}, checkpoint {model.sha256[:16]}, weights in {bundle.manifest.precision}",
        "CPU level": f"{bundle.level.name}, threads: {bundle.threads}",
        "pt.static": f"{executions.static_tokens} tokens, {executions.static_frames} frames",
        "versions": f"{', '.join(versions)}, tvm {bundle.manifest.versions.tvm}",
    }
