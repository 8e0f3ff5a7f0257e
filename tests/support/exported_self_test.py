"""Adds the self-test to a bundle that was exported without validation."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from exporter import directories
from exporter.bundle.write import ExtensionFiles
from exporter.compiler.targets import find_target
from exporter.export.plan import ExportOptions, Plan
from exporter.model.checkpoint import load
from exporter.model.voice_packs import load_voices
from exporter.parity.publish import Gate
from runtime_min.format.verify import read_manifest
from tests.support.paths import PROVING
from tests.support.tiny.self_test import rewrite

ANSWERS = None if PROVING else directories.answers()
"""Directory of kokoro's stored answers."""


def self_test(
    target: str, precision: str, text_buckets: Sequence[int], frame_buckets: Sequence[int]
) -> ExtensionFiles:
    """Returns the self-test of a bundle for `target` with the real weights and voices."""
    checkpoint, found = load("packages"), find_target(target)
    options = ExportOptions(
        Path(),
        "packages",
        target=target,
        precision=precision,
        text_buckets=tuple(text_buckets),
        frame_buckets=tuple(frame_buckets),
        answers=ANSWERS,
    )
    progress: Any = SimpleNamespace(step=print, warning=print)
    plan = Plan(options, checkpoint, found, found.levels, load_voices(None, checkpoint))
    with Gate() as gate:
        made = gate.self_test(plan, progress)
    assert made is not None
    return made


def give(bundle: Path, said: ExtensionFiles) -> None:
    """Writes a self-test into a bundle."""
    for path, data in said.files.items():
        (bundle / path).write_bytes(data)
    rewrite(bundle, read_manifest(bundle)._replace(extensions=said.extensions))
