"""Compares a finished bundle with kokoro itself; the numbers go into the bundle's manifest.

The bundle speaks in a process of its own, because the exporter's already holds TVM's compiler:
``python -m exporter.measure BUNDLE CHECKPOINT CONFIG`` prints the numbers as JSON.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from exporter.errors import ReferenceProcessError
from exporter.parity import Comparison, Utterance, compare
from exporter.plan import Plan
from exporter.reference import Reference
from runtime_min import Bundle
from runtime_min.platform import this_machine
from runtime_min.stages import STAGE_NAMES

Numbers = dict[str, str | int | float | bool]

# "The quick brown fox jumps over the lazy dog."
PHONEMES = "ðə kwˈɪk bɹˈWn fˈɑks ʤˈʌmps ˌOvəɹ ðə lˈAzi dˈɔɡ."
# Stands for equality to the bit, which has no finite number of decibels.
_MOST_DECIBELS = 200.0


def measure_bundle(plan: Plan, bundle: Path) -> Numbers:
    """Returns how far `bundle` is from kokoro; nothing where this machine cannot speak from it.

    Raises:
        ReferenceProcessError: the measurement failed.
    """
    machine = this_machine()
    runs_here = plan.target.fits(machine) and any(
        machine.features.issuperset(level.features) for level in plan.levels
    )
    if not runs_here or set(plan.options.stages) != set(STAGE_NAMES) or not plan.voices:
        return {}
    files = (bundle, plan.checkpoint.path, plan.checkpoint.config_path)
    command = [sys.executable, "-m", "exporter.measure", *map(str, files)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        raise ReferenceProcessError(f"The bundle could not be compared with kokoro:\n{done.stderr.strip()}")
    numbers: Numbers = json.loads(done.stdout.splitlines()[-1])
    return numbers


def numbers_of(comparison: Comparison, level: str) -> Numbers:
    """A comparison as the manifest's flat map."""
    return {
        "reference": "kokoro.KModel, float32, same weights and noise",
        "cpu_level": level,
        "tokens": comparison.tokens,
        "frames": comparison.frames,
        "thresholds missed": len(comparison.missed),
        **{figure.name: min(figure.value, _MOST_DECIBELS) for figure in comparison.figures},
    }


def main(bundle: str, checkpoint: str, config: str) -> None:
    """Prints the numbers of a bundle."""
    files = (Path(checkpoint), Path(config))
    with (
        Bundle.load(bundle) as ours,
        Reference(*files) as theirs,
        Reference(*files, dtype="float64") as precise,
    ):
        voice = "af_heart" if "af_heart" in ours.voices else ours.voices[0]
        phonemes = "".join(phoneme for phoneme in PHONEMES if phoneme in ours.manifest.vocabulary)
        comparison = compare(ours, theirs, precise, Utterance(phonemes, voice))
        print(json.dumps(numbers_of(comparison, ours.level.name)))


if __name__ == "__main__":
    main(*sys.argv[1:])
