"""Files of the wheels that other systems install."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

from tests.support.paths import ROOT


def unpacked_ffi(platform: str, place: Path) -> Path:
    """Fetches the wheel of apache-tvm-ffi for `platform` and unpacks it into `place`, which it returns."""
    command = [
        *(sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps"),
        *("--only-binary=:all:", "--platform", platform, "--constraint", str(ROOT / "constraints.txt")),
        *("--dest", str(place), "apache-tvm-ffi"),
    ]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, f"apache-tvm-ffi for {platform} could not be fetched: {done.stderr}"
    (wheel,) = place.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(place)
    return place
