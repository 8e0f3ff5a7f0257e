"""The final waveform only: compares a bundle with kokoro over a set of utterances, on every CPU level."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path

from exporter.parity.answers import Kokoro
from exporter.parity.figures import Comparison, compare
from exporter.parity.web_bundle import WebBundle, is_for_web
from exporter.reference.utterances import Utterance
from runtime_min import Bundle
from runtime_min.engine.machine import choose_level, levels_that_run, this_machine
from runtime_min.format.manifest import Manifest
from runtime_min.model.distances import Figure

Progress = Callable[[str], None]
"""A function that takes a description of the next computation."""


def levels_here(manifest: Manifest, only: str | None = None) -> tuple[str, ...]:
    """Returns the names of the bundle's CPU levels that this machine runs, best first.

    Args:
        manifest: the bundle's.
        only: the one to take.

    Raises:
        CpuLevelError: it runs none, or not that one.
    """
    features = this_machine().features
    best = choose_level(manifest.target.levels, features, only).name
    if only is not None:
        return (best,)
    return tuple(level.name for level in levels_that_run(manifest.target.levels, features))


@contextmanager
def loaded_levels(
    path: Path, levels: Sequence[str], threads: int | None = None
) -> Iterator[tuple[Bundle, ...]]:
    """Yields the bundle at `path`, verified and loaded once for each of these CPU levels."""
    with ExitStack() as stack:
        if is_for_web(path):
            yield tuple(stack.enter_context(WebBundle.open(path, level)) for level in levels)
            return
        yield tuple(
            stack.enter_context(Bundle.load(path, level=level, threads=threads, verify=number == 0))
            for number, level in enumerate(levels)
        )


def compare_waveforms(
    bundles: Sequence[Bundle],
    kokoro: Kokoro,
    utterances: Sequence[Utterance],
    progress: Progress = lambda doing: None,
) -> tuple[Comparison, ...]:
    """Compares the final waveform of every utterance on every CPU level.

    Args:
        bundles: one bundle, loaded once for each level.
        kokoro: answers for its checkpoint; each is computed once for all levels.
        utterances: accepted by `exporter.reference.utterances.check_utterances`.
        progress: called before each utterance.

    Returns:
        By utterance, then by level.
    """
    found: list[Comparison] = []
    for number, utterance in enumerate(utterances, start=1):
        said = f"{utterance.voice}, {len(utterance.phonemes)} phonemes, speed {utterance.speed:g}"
        progress(f"utterance {number} of {len(utterances)}: {said}")
        for bundle in bundles:
            comparison = compare(bundle, kokoro, utterance, stages=False)
            found.append(replace(comparison, level=bundle.level.name))
    return tuple(found)


def verdict(comparisons: Sequence[Comparison], bundle: Path) -> str:
    """Returns the outcome in one line; for a missed limit, the figure, the place and the remedy."""
    levels = ", ".join(dict.fromkeys(each.level for each in comparisons))
    count = len({each.utterance for each in comparisons})
    missed = [each for each in comparisons if not each.holds]
    if not missed:
        said = "1 utterance is" if count == 1 else f"{count} utterances are"
        return f"{bundle} matches kokoro: {said} within every threshold on {levels}."
    worst = missed[0]
    return (
        f"{bundle} differs from kokoro: {len(missed)} of {len(comparisons)} waveforms miss a threshold, "
        f"the first is {worst}: {'; '.join(map(expectation, worst.missed))}. To see where it comes from: "
        f"kokoro-export validate steps {bundle} {_options(worst.utterance)} --cpu-level {worst.level}"
    )


def _options(said: Utterance) -> str:
    """Returns an utterance as a shell takes it."""
    values = {
        "phonemes": said.phonemes,
        "voice": said.voice,
        "speed": f"{said.speed:g}",
        "seed": str(said.seed),
    }
    return " ".join(f"--{option} {shlex.quote(value)}" for option, value in values.items())


def expectation(figure: Figure) -> str:
    """Returns a figure that misses its limit, in words."""
    relation = "at least" if figure.at_least else "at most"
    return f"{figure.name} is {figure.value:.4g}, expected {relation} {figure.limit:.4g}"
