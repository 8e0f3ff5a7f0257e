"""Writes the file of the statistics of the 54 official voices with the official weights.

python -m training.official_statistics exporter/model/data/statistics.npz
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from rich.progress import track

from exporter.model.checkpoint import load
from exporter.model.voice_packs import load_voices
from exporter.reference.process import Reference
from exporter.reference.voice_statistics import measure_statistics
from runtime_min.threads import usable_cores

if __name__ == "__main__":
    checkpoint = load("packages")
    arrays: dict[str, np.ndarray] = {}
    with Reference(checkpoint.path, checkpoint.config_path, threads=len(usable_cores())) as kokoro:
        for name, pack in track(load_voices("official").items(), "voices"):
            (statistics,) = measure_statistics(kokoro, {name: pack}, checkpoint.vocabulary).values()
            arrays[name] = np.concatenate([values.ravel() for values in statistics.values()])
    arrays["norms"] = np.array(list(statistics))
    arrays["channels"] = np.array([values.shape[1] for values in statistics.values()])
    np.savez_compressed(Path(sys.argv[1]), allow_pickle=False, **arrays)
