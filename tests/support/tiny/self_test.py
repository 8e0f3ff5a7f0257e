"""Gives a bundle another manifest, and bundles of the tiny model a self-test, whatever it says."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from exporter.bundle.write import list_files, write_manifest
from exporter.parity.make_self_test import FILE
from runtime_min.format.manifest import MANIFEST_NAME, Manifest
from runtime_min.format.signatures import SAMPLES_PER_FRAME, signatures
from runtime_min.format.verify import read_manifest
from runtime_min.model.self_test import EXTENSION, Check
from tests.support.tiny.bundle import HIDDEN, STYLE
from tests.support.tiny.runtime_alone import run_alone

PHONEMES = "abc a"
Tensors = Mapping[str, np.ndarray]


def extension(tensors: Tensors, frames: list[int], separate_source: bool = False) -> dict[str, Any]:
    """The manifest's entry for `tensors`, with a check of every output of every stage and of the chain."""
    checks = [
        ([stage.name], output.name, "maximum", 1e-5)
        for stage in signatures(HIDDEN, STYLE, separate_source).values()
        for output in stage.outputs
    ]
    if separate_source:
        checks += [
            (["source"], "spectrum", "spectrum decibels", 100.0),
            (["source", "decoder"], "audio", "decibels", 100.0),
        ]
    checks += [([], "audio", "decibels", 100.0), ([], "audio", "log-mel", 1e-3)]
    keys = tuple(Check.__dataclass_fields__)
    return {
        "phonemes": PHONEMES,
        "voice": "af_heart",
        "seed": 3,
        "frames": frames,
        "file": FILE,
        "tensors": list(tensors),
        "checks": [
            dict(zip(keys, (stages, output, output, measure, limit), strict=True))
            for stages, output, measure, limit in checks
        ],
    }


def made_up(frames: list[int]) -> dict[str, np.ndarray]:
    """Tensors of the right sizes."""
    tokens, length = len(frames), sum(frames)
    shapes = {
        "style": (1, 2 * STYLE),
        "hidden": (1, HIDDEN, tokens),
        "encoding": (1, HIDDEN + STYLE, tokens),
        "durations": (1, tokens),
        "text": (1, HIDDEN, tokens),
        "f0": (1, 2 * length),
        "energy": (1, 2 * length),
        "f0.exact": (1, 2 * length),
        "audio": (1, SAMPLES_PER_FRAME * length),
    }
    random = np.random.default_rng(5)
    return {name: random.standard_normal(shape, np.float32) for name, shape in shapes.items()}


def give_its_own(bundle: Path, directory: Path, separate_source: bool = False) -> Path:
    """Makes a bundle's own results its self-test, and returns the bundle."""
    tensors, frames = tensors_of(bundle, directory)
    give(bundle, extension(tensors, frames, separate_source), stored(tensors))
    return bundle


def tensors_of(bundle: Path, directory: Path) -> tuple[dict[str, np.ndarray], list[int]]:
    """Returns the tensors and frames that the bundle computes, in place of kokoro's."""
    run_alone(
        bundle,
        f"""
        import numpy as np
        from runtime_min import Bundle
        trace = Bundle.load(sys.argv[1]).trace({PHONEMES!r}, seed=3)
        found = {{name: getattr(trace, name) for name in "hidden encoding text f0 energy audio".split()}}
        if trace.spectrum is not None:
            found["spectrum"] = trace.spectrum
        style = np.concatenate(trace.style, axis=1)
        np.savez({str(directory / "trace.npz")!r}, style=style, durations=trace.predicted_durations, **found)
        result = trace.durations.tolist()
        np.save({str(directory / "frames.npy")!r}, trace.durations)
        """,
    )
    frames: list[int] = np.load(directory / "frames.npy").tolist()
    return dict(np.load(directory / "trace.npz")), frames


def stored(tensors: Tensors) -> bytes:
    """The file that holds `tensors`."""
    return b"".join(values.astype("<f4").tobytes() for values in tensors.values())


def give(bundle: Path, document: Any, data: bytes) -> Manifest:
    """Puts a self-test into a bundle, and returns its new manifest."""
    (bundle / FILE).write_bytes(data)
    return rewrite(bundle, read_manifest(bundle)._replace(extensions={EXTENSION: document}))


def rewrite(bundle: Path, manifest: Manifest) -> Manifest:
    """Puts `manifest` in the place of a bundle's own, made one of the files that are there."""
    (bundle / MANIFEST_NAME).unlink()
    made = manifest._replace(files=list_files(bundle))
    write_manifest(bundle, made)
    return made
