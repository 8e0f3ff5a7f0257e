"""``make demo``: exports a bundle, and synthesises a sentence with it.

The weights are the official ones where the hub can be reached, and otherwise synthetic ones.
"""

from __future__ import annotations

import shlex
import subprocess
import sys
import time
import wave
from pathlib import Path

from rich.filesize import decimal

from exporter.errors import CheckpointError
from exporter.model.hub import MODEL_FILES, REPOSITORY, download
from runtime_min.format.manifest import RUNTIME_ARCHIVE, Manifest
from runtime_min.format.verify import read_manifest

BUNDLE = Path("bundles/demo")
SPEECH = Path("hello.wav")
TEXT = "On 3 May 2025 she read it for $4.50: the quick brown fox jumps over the lazy dog."


def main() -> None:
    """Runs the demonstration in the current directory."""
    checkpoint = choose_checkpoint()
    exporting = _run(
        *("-m", "exporter", "bundle", "--checkpoint", checkpoint, "--cpu-level", "host", "--no-native"),
        *("-o", str(BUNDLE)),
    )
    # The bundle's own runtime in a process of its own: what a machine without this project would run.
    speaking = _run(
        *(str(BUNDLE / RUNTIME_ARCHIVE), str(BUNDLE), "--text", TEXT, "--voice", "af_heart"),
        *("--seed", "0", "-o", str(SPEECH)),
    )
    with wave.open(str(SPEECH)) as file:
        seconds = file.getnframes() / file.getframerate()
    manifest = read_manifest(BUNDLE)
    size = decimal(manifest.content_bytes)
    print(f"\nexported   {BUNDLE}, {size}, in {exporting:.1f} s")
    print(f"spoke      {SPEECH}, {seconds:.2f} s of audio, in {speaking:.2f} s with start and verification")
    print(f"validated  {_validation(manifest)}")
    if manifest.model.synthetic:
        print("The weights are synthetic, so this babbles; --checkpoint hub exports the official ones.")


def choose_checkpoint() -> str:
    """Fetches the official model, or names the synthetic one where the hub cannot be reached."""
    print(f"The official weights are fetched once: 327 MB of {REPOSITORY}.", flush=True)
    try:
        for filename in MODEL_FILES:
            download(filename)
    except CheckpointError as error:
        print(f"{error}\nThe demo goes on with synthetic weights, which babble.", flush=True)
        return "synthetic"
    return "hub"


def _validation(manifest: Manifest) -> str:
    """Returns the manifest's figures of the comparison with kokoro, in a line."""
    parity = manifest.parity
    if not parity.get("validated"):
        return f"no: {parity.get('why not', 'not recorded')}"
    level = manifest.target.levels[0].name
    return (
        f"{parity['utterances']} utterances, {parity['seconds']:.0f} s: at least "
        f"{parity[f'{level}: chain, dB']:.1f} dB to kokoro, and at most "
        f"{parity[f'{level}: chain, distance over own spread']:.2g} of the 2 own spreads that are allowed"
    )


def _run(*arguments: str) -> float:
    """Runs Python, shows the command, and returns the seconds that it took."""
    print("$ python", shlex.join(arguments), flush=True)
    started = time.perf_counter()
    done = subprocess.run([sys.executable, *arguments])
    if done.returncode != 0:
        sys.exit(done.returncode)
    return time.perf_counter() - started


if __name__ == "__main__":
    main()
