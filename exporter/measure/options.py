"""The options of a benchmark, checked before anything slow begins."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from exporter.errors import ExportError
from exporter.measure.utterances import phonemes_of, text_of
from runtime_min.engine.machine import check_target, choose_level, this_machine
from runtime_min.errors import MissingStagesError
from runtime_min.format.manifest import Manifest
from runtime_min.format.signatures import MINIMUM_LENGTH, STAGE_NAMES
from runtime_min.format.verify import read_manifest

HEADLINE, LONGEST = 62, 450
"""The lengths at which memory and cold starts are measured, if they are among the lengths."""
_LONG_TEXT = 3_000
"""Phonemes of the text that is spoken piece by piece."""


class LengthError(ExportError):
    """The bundle cannot speak an utterance of a length."""

    exit_code = 2


@dataclass(frozen=True)
class Options:
    """The bundle and the figures to measure."""

    bundle: Path
    manifest: Manifest
    level: str
    tokens: tuple[int, ...]
    threads: tuple[int, ...]
    rounds: int
    profile: bool = False
    stream: bool = False
    """True if a long text is also measured, piece by piece."""

    def phonemes(self, tokens: int) -> str:
        """Returns the utterance of this length."""
        return phonemes_of(tokens, self.manifest.vocabulary)

    def long_text(self) -> str:
        """Returns the phonemes of the text that is spoken piece by piece."""
        return text_of(_LONG_TEXT, self.manifest.vocabulary)

    def headline(self) -> int:
        """Returns the length of the figures that are measured at one length only."""
        return HEADLINE if HEADLINE in self.tokens else self.tokens[0]


def check_bundle(path: Path, level: str | None) -> tuple[Manifest, str]:
    """Returns the manifest of a bundle that can speak on this machine, and the CPU level to measure.

    Args:
        path: the bundle's directory.
        level: the wanted CPU level; None for the best of this machine.

    Raises:
        BundleError: the directory contains no sound bundle.
        MachineError: it is for another machine.
        MissingStagesError: it is a partial bundle.
    """
    manifest = read_manifest(path)
    machine = this_machine()
    check_target(manifest.target, machine)
    chosen = choose_level(manifest.target.levels, machine.features, level)
    present = [stage.name for stage in manifest.stages]
    if missing := [name for name in STAGE_NAMES if name not in present]:
        raise MissingStagesError(missing, present)
    return manifest, chosen.name


def check_lengths(manifest: Manifest, tokens: tuple[int, ...]) -> None:
    """Refuses lengths that the bundle cannot speak.

    Raises:
        LengthError: with the lengths that it can.
    """
    stages = (stage for stage in manifest.stages if stage.axis == "tokens")
    most = min(max(library.bucket for library in stage.libraries) for stage in stages)
    if not MINIMUM_LENGTH <= min(tokens) <= max(tokens) <= most:
        raise LengthError(
            f"The bundle can speak {MINIMUM_LENGTH} to {most} tokens, the two boundary tokens counted, found "
            f"{','.join(map(str, tokens))}: name other lengths, or export with larger --text-buckets."
        )
