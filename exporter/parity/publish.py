"""Validates a bundle before it is published; the numbers go into its manifest.

The bundle speaks in a process of its own, because the exporter's already holds TVM's compiler:
``python -m exporter.parity.publish BUNDLE CHECKPOINT CONFIG [ANSWERS]`` prints JSON objects,
``{"progress": ...}`` while it runs and ``{"waveforms": ...}`` or ``{"why not": ...}`` at its end.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from exporter.bundle.write import not_validated
from exporter.errors import ReferenceProcessError, ValidationFailedError
from exporter.export.plan import Plan
from exporter.parity.answers import Kokoro
from exporter.parity.figures import Comparison
from exporter.parity.waveforms import compare_waveforms, levels_here, loaded_levels, verdict
from exporter.progress import Progress
from exporter.reference.utterances import Utterance, built_in
from runtime_min import Bundle
from runtime_min.engine.machine import this_machine
from runtime_min.errors import DeviceError, KokoroError
from runtime_min.format.signatures import FRAMES_PER_SECOND
from runtime_min.format.verify import read_manifest
from runtime_min.model.distances import Figure
from runtime_min.model.self_test import EXTENSION, read_self_test

Numbers = dict[str, str | int | float | bool]
Measured = tuple[Comparison, ...] | str
"""What was measured, or why nothing could be."""
_MOST_DECIBELS = 200.0
"""Recorded for equal signals, which have no finite number of decibels."""
_OTHER_MACHINE = "it was made on a machine that cannot run it"


def measure_bundle(plan: Plan, progress: Progress, bundle: Path) -> Numbers:
    """Returns how far `bundle` is from kokoro, or why that is not known.

    Args:
        plan: what was exported.
        progress: told about every utterance.
        bundle: the finished bundle, where it waits to be published.

    Raises:
        ValidationFailedError: the bundle misses a threshold and must not be published.
        ReferenceProcessError: the measurement itself failed.
    """
    why = _cannot_be_validated(plan)
    if why is not None:
        progress.warning(f"The bundle is not validated: {why}.")
        return not_validated(why)
    waveforms = _measure(plan, progress, bundle)
    if isinstance(waveforms, str) or not waveforms:
        why = str(waveforms or "its buckets hold none of the built-in utterances")
        progress.warning(f"The bundle is not validated: {why}.")
        return not_validated(why)
    if not all(waveform.holds for waveform in waveforms):
        raise ValidationFailedError(
            f"No bundle was written: {verdict(waveforms, plan.options.output)}\n"
            "That needs the bundle: export it with --no-validate first."
        )
    return numbers_of(waveforms)


def _cannot_be_validated(plan: Plan) -> str | None:
    machine = this_machine()
    if not plan.is_whole:
        return "it has only a part of the stages"
    if not plan.voices:
        return "it has no voices"
    if not plan.target.fits(machine) or not any(
        machine.features.issuperset(level.features) for level in plan.levels
    ):
        return _OTHER_MACHINE
    return None


def _measure(plan: Plan, progress: Progress, bundle: Path) -> Measured:
    answers = (plan.options.answers,) if plan.options.answers else ()
    files = (bundle, plan.checkpoint.path, plan.checkpoint.config_path, *answers)
    command = [sys.executable, "-m", "exporter.parity.publish", *map(str, files)]
    # A file, and not a pipe, takes any amount of text while the other pipe is read.
    with (
        tempfile.TemporaryFile("w+") as complaints,
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=complaints, text=True) as process,
    ):
        try:
            waveforms = _read(process.stdout or (), progress)
        except BaseException:
            process.kill()
            raise
        if process.wait() != 0 or waveforms is None:
            complaints.seek(0)
            raise ReferenceProcessError(
                f"The bundle could not be compared with kokoro:\n{complaints.read().strip()}"
            )
    return waveforms


def _read(lines: Iterator[str] | Sequence[str], progress: Progress) -> Measured | None:
    waveforms: Measured | None = None
    for line in lines:
        message = json.loads(line)
        if "progress" in message:
            progress.step(f"  {message['progress']}")
        elif "why not" in message:
            waveforms = str(message["why not"])
        else:
            waveforms = tuple(map(_waveform, message["waveforms"]))
    return waveforms


def _waveform(entry: dict[str, Any]) -> Comparison:
    figures = tuple(Figure(**figure) for figure in entry["figures"])
    return Comparison(**entry | {"utterance": Utterance(**entry["utterance"]), "figures": figures})


def numbers_of(waveforms: Sequence[Comparison]) -> Numbers:
    """The validation as the manifest's flat map: of each figure the worst on each CPU level."""
    spoken = {waveform.utterance: waveform.frames for waveform in waveforms}
    numbers: Numbers = {
        "validated": True,
        "reference": "kokoro.KModel, float32, same weights and noise",
        "utterances": len(spoken),
        "seconds": sum(spoken.values()) / FRAMES_PER_SECOND,
        "thresholds missed": sum(len(waveform.missed) for waveform in waveforms),
    }
    for waveform in waveforms:
        for figure in waveform.figures:
            name = f"{waveform.level}: {figure.name}"
            worst: Callable[..., float] = min if figure.at_least else max
            value = min(float(figure.value), _MOST_DECIBELS)
            numbers[name] = worst(value, numbers.get(name, value))
    return numbers


def main(bundle: str, checkpoint: str, config: str, answers: str | None = None) -> None:
    """Prints how far a bundle is from kokoro."""
    path, files = Path(bundle), (Path(checkpoint), Path(config))
    with loaded_levels(path, levels_here(read_manifest(path))) as bundles:
        utterances = built_in(bundles[0])
        if not utterances:
            _tell({"waveforms": []})
            return

        def progress(done: int, what: str) -> None:
            if done < len(utterances):
                _tell({"progress": what})

        with Kokoro(files, store=Path(answers) if answers else None) as kokoro:
            compared = compare_waveforms(bundles, kokoro, utterances, progress, whole_spread=True)
        tested = [_self_test(bundle) for bundle in bundles if EXTENSION in bundle.manifest.extensions]
    _tell({"waveforms": [asdict(comparison) for comparison in (*compared, *tested)]})


def _self_test(bundle: Bundle) -> Comparison:
    """What the bundle finds when it compares itself, by the name of each stage."""
    test = read_self_test(bundle.manifest)
    figures = tuple(
        replace(figure, name=f"self-test, {stages}: {figure.name}") for stages, figure in bundle.self_test()
    )
    utterance = Utterance(test.phonemes, test.voice, seed=test.seed)
    return Comparison(utterance, sum(test.frames), figures, level=bundle.level.name)


def _tell(message: dict[str, Any]) -> None:
    print(json.dumps(message), flush=True)


if __name__ == "__main__":
    try:
        main(*sys.argv[1:])
    except DeviceError:
        _tell({"why not": _OTHER_MACHINE})
    except KokoroError as error:
        sys.exit(str(error))
