"""The adapters beside the real packages, each in an environment of its own; a registry is needed."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import tomllib

from runtime_min import Audio
from tests.support.fakes.speech_server import FakeBundle, serving
from tests.support.paths import ROOT

PROGRAMS = Path(__file__).parent / "programs"
CONFIGURATION = ROOT / "examples" / "speech-dispatcher" / "kokoro.conf"
PACKAGES = {
    "livekit": ["livekit-agents==1.8.9"],
    "pipecat": ["pipecat-ai==1.14.0"],
    "pipecat_own": ["pipecat-ai==1.14.0 requests onnxruntime", "--no-deps kokoro-onnx==0.6.1"],
    "ovos": ["ovos-plugin-manager==2.2.0"],
    # What it needs beside is for its player, which needs a sound card.
    "realtime_tts": ["--no-deps realtimetts==0.8.10"],
}
"""Arguments of each run of pip, by the name of the program."""


@pytest.mark.machines
@pytest.mark.parametrize("name", PACKAGES)
def test_an_adapter_speaks_through_its_framework(reading_bundle: Path, tmp_path: Path, name: str) -> None:
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", tmp_path / "env"], check=True)
    python = tmp_path / "env" / "bin" / "python"
    install = [sys.executable, "-m", "pip", "--python", python, "install", "--quiet", "--no-compile"]
    subprocess.run([*install, ROOT], check=True)
    for packages in PACKAGES[name]:
        subprocess.run([*install, *packages.split()], check=True)
    command = [python, PROGRAMS / f"speak_{name}.py", reading_bundle, tmp_path]
    environment = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}
    environment |= {"HOME": str(tmp_path), "XDG_CONFIG_HOME": str(tmp_path)}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0 and done.stdout.endswith("spoken\n"), done.stdout + done.stderr


def test_ovos_finds_the_plugin_by_its_entry_point() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["entry-points"]["opm.tts"] == {"kokoro-bundle": "kokoro_adapters.ovos:KokoroPlugin"}


class AskedBundle(FakeBundle):
    """Remembers what it was asked for."""

    asked: tuple[Any, str, float] | None = None

    def pieces(
        self, text: Any = None, voice: str = "af_heart", speed: float = 1.0, **options: Any
    ) -> Iterator[Audio]:
        self.asked = (text, voice, speed)
        return super().pieces(text, voice, speed, **options)


@pytest.mark.skipif(
    not all(map(shutil.which, ("curl", "jq"))), reason="needs curl and jq, as the module does"
)
def test_the_command_of_speech_dispatcher_speaks_through_the_server(tmp_path: Path) -> None:
    """The command is filled in as speech-dispatcher does; that itself was not run."""
    written = CONFIGURATION.read_text(encoding="utf-8")
    (quoted,) = re.findall(r'^GenericExecuteSynth "(.*)"$', written, re.MULTILINE)
    command = re.sub(r"\\(.)", r"\1", quoted)
    text = 'It\'s "late" & dark; $HOME `x`.'
    bundle = AskedBundle()
    with serving(bundle) as server:
        made = tmp_path / "made.wav"
        values = {
            "$PLAY_COMMAND": f"cat > {shlex.quote(str(made))}",
            "$RATE": "50.000000",
            "$VOICE": "af_heart",
            "$DATA": text.replace("'", "'\\''"),
            "http://localhost:8880": server.url,
        }
        for name, value in values.items():
            assert name in command
            command = command.replace(name, value)
        subprocess.run(["sh", "-c", command], check=True)
        assert made.read_bytes().startswith(b"RIFF") and made.stat().st_size > 1_000
        assert bundle.asked == (text, "af_heart", 1.25)
