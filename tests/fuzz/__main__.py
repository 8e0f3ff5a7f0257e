"""Fuzzes the readers and the C library: ``python -m tests.fuzz SECONDS [NAME...] [--keep]``.

Coverage guides it. It begins with the stored corpus. With ``--keep`` the corpus becomes the smallest choice
of old and new inputs that reaches all code that they reach. What fails on an input stays in build/fuzz.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from tests.fuzz.corpus import CORPUS, load, save
from tests.fuzz.native import HARNESSES, Fuzzers, executed
from tests.fuzz.readers import READERS
from tests.support.paths import ROOT

FAILURES = ROOT / "build" / "fuzz"
# An input of the largest kind, an archive, has 30 kB.
LIMITS = ("-max_len=65536", "-timeout=10", "-rss_limit_mb=2048")


def fuzz(
    run: Callable[..., object], corpus: str, seeds: Sequence[bytes], seconds: int, place: Path, keep: bool
) -> object:
    """Feeds what `run` starts with options of libFuzzer, in files below `place`.

    Returns:
        what `run` returns.
    """
    known, found, chosen = (place / name for name in ("known", "found", "chosen"))
    for directory in (known, found, chosen):
        directory.mkdir()
    stored = load(corpus) if (CORPUS / f"{corpus}.tar.xz").exists() else []
    for number, data in enumerate([*seeds, *stored]):
        (known / str(number)).write_bytes(data)
    result = run(f"-max_total_time={seconds}", "-print_final_stats=1", found, known)
    if keep:
        run("-merge=1", chosen, known, found)
        save(corpus, [path.read_bytes() for path in chosen.iterdir()])
    return result


def run_reader(reader: str, *options: object) -> None:
    """Feeds a reader; raises `AssertionError` if an input failed."""
    command = [
        sys.executable,
        "-m",
        "tests.fuzz.target",
        reader,
        *LIMITS,
        f"-artifact_prefix={FAILURES}/{reader}-",
    ]
    assert subprocess.run([*command, *map(str, options)], cwd=ROOT).returncode == 0, reader


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    names = [*READERS, *HARNESSES]
    parser.add_argument("seconds", type=int, help="for each")
    parser.add_argument("names", nargs="*", choices=[*names, []], metavar="NAME", help=", ".join(names))
    parser.add_argument("--keep", action="store_true", help="store the corpus")
    options = parser.parse_args()
    FAILURES.mkdir(parents=True, exist_ok=True)
    failed = []
    with tempfile.TemporaryDirectory() as programs:
        fuzzers = Fuzzers(Path(programs))
        for name in options.names or names:
            if name in READERS:
                run, corpus, seeds = partial(run_reader, name), name, READERS[name].seeds()
            else:
                prefix = f"-artifact_prefix={FAILURES}/{name}-"
                run, corpus = partial(fuzzers.run, name, prefix), HARNESSES[name].corpus
                seeds = HARNESSES[name].seeds()
            try:
                with tempfile.TemporaryDirectory() as place:
                    report = fuzz(run, corpus, seeds, options.seconds, Path(place), options.keep)
                if name in HARNESSES:
                    print(f"{name}: {executed(str(report)):,} inputs", flush=True)
            except AssertionError as failure:
                print(failure)
                failed.append(name)
    print(f"failed: {', '.join(failed)}; see {FAILURES}" if failed else "every input was read or refused")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
