"""Files of the wheels that other systems install."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

from tests.support.paths import ROOT


def unpacked_ffi(platform: str, place: Path) -> Path:
    """Fetches the wheel of apache-tvm-ffi for `platform` and unpacks it into `place`, which it returns."""
    constraints = ROOT / "constraints.txt"
    return unpacked_wheel("apache-tvm-ffi", place, "--platform", platform, "--constraint", constraints)


def unpacked_wheel(requirement: str, place: Path, *options: str | Path) -> Path:
    """Fetches a wheel without its dependencies and unpacks it into `place`, which it returns."""
    command = [
        *(sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps"),
        *("--only-binary=:all:", "--dest", str(place), *map(str, options), requirement),
    ]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, f"{requirement} could not be fetched: {done.stderr}"
    (wheel,) = place.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(place)
    return place
