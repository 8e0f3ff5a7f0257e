"""Fuzzes the readers, guided by coverage: ``python -m tests.fuzz SECONDS [READER...] [--keep]``.

Begins with the stored corpus. With ``--keep`` the corpus becomes the smallest choice of old and new inputs
that reaches all code that they reach. What a reader fails on stays in build/fuzz.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.fuzz.corpus import CORPUS, load, save
from tests.fuzz.readers import READERS
from tests.support.paths import ROOT

FAILURES = ROOT / "build" / "fuzz"
# An input of the largest kind, an archive, has 30 kB.
LIMITS = ("-max_len=65536", "-timeout=10", "-rss_limit_mb=2048")


def fuzz(reader: str, seconds: int, keep: bool) -> bool:
    """Returns whether no input failed."""
    with tempfile.TemporaryDirectory() as place:
        known, found, chosen = (Path(place, name) for name in ("known", "found", "chosen"))
        for directory in (known, found, chosen):
            directory.mkdir()
        stored = load(reader) if (CORPUS / f"{reader}.tar.xz").exists() else []
        for number, data in enumerate([*READERS[reader].seeds(), *stored]):
            (known / str(number)).write_bytes(data)
        passed = run(reader, f"-max_total_time={seconds}", "-print_final_stats=1", found, known)
        if keep and passed:
            run(reader, "-merge=1", chosen, known, found)
            save(reader, [path.read_bytes() for path in chosen.iterdir()])
    return passed


def run(reader: str, *options: object) -> bool:
    command = [
        sys.executable,
        "-m",
        "tests.fuzz.target",
        reader,
        *LIMITS,
        f"-artifact_prefix={FAILURES}/{reader}-",
    ]
    return subprocess.run([*command, *map(str, options)], cwd=ROOT).returncode == 0


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("seconds", type=int, help="for each reader")
    parser.add_argument(
        "readers", nargs="*", choices=[*READERS, []], metavar="READER", help=", ".join(READERS)
    )
    parser.add_argument("--keep", action="store_true", help="store the corpus")
    options = parser.parse_args()
    FAILURES.mkdir(parents=True, exist_ok=True)
    failed = [name for name in options.readers or READERS if not fuzz(name, options.seconds, options.keep)]
    print(f"failed: {', '.join(failed)}; see {FAILURES}" if failed else "every input was read or refused")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
