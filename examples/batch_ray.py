"""Speaks a data set on Ray Data: one bundle in each worker process, the parameters' pages shared by all.

python examples/batch_ray.py BUNDLE LINES.jsonl DIRECTORY --workers 2

Each line is `{"id": "…", "text": "…", "voice": "af_heart"}`, or has "phonemes" in place of "text".
It becomes DIRECTORY/ID.wav.
"""

from __future__ import annotations

import argparse
import json
import logging
import os
from pathlib import Path
from typing import Any

import ray

from runtime_min import Bundle


class Speaker:
    """A loaded bundle, made once in each worker process."""

    def __init__(self, bundle: str, output: str) -> None:
        self.bundle = Bundle.load(bundle, threads=1)
        self.output = Path(output)

    def __call__(self, row: dict[str, Any]) -> dict[str, Any]:
        """Speaks a line."""
        given = {name: row[name] for name in ("text", "phonemes") if row.get(name)}
        audio = self.bundle.synthesize(**given, voice=row["voice"])
        audio.save(self.output / f"{row['id']}.wav")
        return {"id": row["id"], "seconds": len(audio.samples) / audio.sample_rate, **memory()}


def memory() -> dict[str, int]:
    """This process's memory in KiB: `Pss` counts a page that n processes share as an nth."""
    found = {"pid": os.getpid(), "parameters_rss": 0, "parameters_pss": 0}
    inside = False
    for line in Path("/proc/self/smaps").read_text(encoding="utf-8", errors="replace").splitlines():
        name, *values = line.split()
        if not name.endswith(":"):
            inside = line.endswith("/parameters.bin")
        elif inside and name in ("Rss:", "Pss:"):
            found[f"parameters_{name[:3].lower()}"] += int(values[0])
    for line in Path("/proc/self/smaps_rollup").read_text(encoding="ascii").splitlines():
        if line.startswith(("Rss:", "Pss:")):
            found[line[:3].lower()] = int(line.split()[1])
    return found


def main() -> None:
    """Speaks all lines, and shows what memory the workers have."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("bundle", type=Path)
    parser.add_argument("lines", type=Path)
    parser.add_argument("output", type=Path)
    parser.add_argument("--workers", type=int, default=2)
    options = parser.parse_args()
    options.output.mkdir(parents=True, exist_ok=True)

    ray.init(
        num_cpus=options.workers, include_dashboard=False, log_to_driver=False, logging_level=logging.ERROR
    )
    context = ray.data.DataContext.get_current()
    context.enable_progress_bars = False
    context.wait_for_min_actors_s = 300  # else the worker that is ready first may take all lines
    rows = [json.loads(line) for line in options.lines.read_text(encoding="utf-8").splitlines()]
    spoken = ray.data.from_items(rows, override_num_blocks=len(rows)).map(
        Speaker,  # type: ignore[arg-type]  # Ray makes one in each worker
        fn_constructor_args=(str(options.bundle.absolute()), str(options.output.absolute())),
        compute=ray.data.ActorPoolStrategy(size=options.workers),
    )
    latest = {}
    for row in spoken.iter_rows():
        latest[row["pid"]] = row
        print(f"{row['id']}.wav: {row['seconds']:.2f} s, by process {row['pid']}")
    for what in ("rss", "pss", "parameters_rss", "parameters_pss"):
        each = [row[what] // 1024 for row in latest.values()]
        print(f"{what}: {' + '.join(map(str, each))} = {sum(each)} MiB")


if __name__ == "__main__":
    main()
