"""An aarch64 machine on this one: qemu's user mode, Debian's Python, the wheels of numpy and apache-tvm-ffi.

Everything comes from package registries into a directory, and nothing is installed on this machine: apt works
on a state of its own, whose machine is an empty one of the wanted processor family.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests import serve

Ask = Callable[[Any], Any]
ROOT = Path(__file__).parents[1]
_PYTHON = ("python3-minimal", "libpython3-stdlib", "libstdc++6")


@dataclass(frozen=True)
class EmulatedMachine:
    """A Python of another processor family, with the two packages that a bundle needs."""

    place: Path

    @property
    def command(self) -> list[str]:
        """Starts its Python."""
        return [
            *(str(self.place / "usr" / "bin" / "qemu-aarch64-static"), "-L", str(self.place / "system")),
            str(self.place / "system" / "usr" / "bin" / "python3"),
        ]

    @property
    def environment(self) -> dict[str, str]:
        """Of its processes; one thread, because those of TVM's pool spin while they wait."""
        return {"PATH": os.environ["PATH"], "PYTHONPATH": str(self.place / "site"), "TVM_NUM_THREADS": "1"}

    def run(self, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
        """Runs its Python to the end."""
        command = [*self.command, *map(str, arguments)]
        return subprocess.run(command, env=self.environment, cwd=self.place, capture_output=True, text=True)

    @contextmanager
    def serving(self, script: Path, *arguments: str | Path) -> Iterator[Ask]:
        """Starts a process that answers with the function `answers` of `script`, and yields how to ask it."""
        command = [*self.command, serve.__file__, str(script), *map(str, arguments)]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        with subprocess.Popen(command, env=self.environment, cwd=self.place, **pipes) as process:
            assert process.stdin is not None and process.stdout is not None
            questions, answers = process.stdin, process.stdout

            def ask(question: Any) -> Any:
                serve.send(questions, question)
                succeeded, answer = serve.receive(answers)
                assert succeeded, answer
                return answer

            yield ask


def make_machine(place: Path) -> EmulatedMachine:
    """Fetches a machine into `place`: about 110 MB, which become 170 on the disk."""
    machine = EmulatedMachine(place)
    (qemu,) = _packages(place / "qemu", "amd64", "download", ("qemu-user-static",))
    _unpack(qemu, place, "./usr/bin/qemu-aarch64-static")
    for package in _packages(place / "apt", "arm64", "install", _PYTHON):
        _unpack(package, place / "system")
    for downloads in ("qemu", "apt"):
        shutil.rmtree(place / downloads)
    told = machine.run("-c", "import sys; print(*sys.version_info[:2], sep='.')")
    assert told.returncode == 0, told.stderr
    _run(
        *(sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"),
        *(
            "--no-compile",
            "--target",
            place / "site",
            "--constraint",
            ROOT / "constraints.txt",
            "--only-binary=:all:",
        ),
        *("--implementation", "cp", "--python-version", told.stdout.strip()),
        *("--platform", "manylinux_2_28_aarch64", "numpy", "apache-tvm-ffi"),
    )
    return machine


def _packages(place: Path, family: str, action: str, names: Sequence[str]) -> list[Path]:
    """Fetches Debian packages; ``install`` fetches also what they depend on."""
    archives = place / "cache" / "archives"
    for directory in (place / "state" / "lists" / "partial", archives / "partial"):
        directory.mkdir(parents=True)
    options = {
        "Dir::State": place / "state",
        "Dir::State::status": "/dev/null",
        "Dir::Cache": place / "cache",
        "APT::Architecture": family,
        "APT::Architectures": family,
        "APT::Install-Recommends": "false",
        "APT::Sandbox::User": "",
        "Debug::NoLocking": "true",
    }
    apt = ["apt-get", "--quiet", *(f"--option={name}={value}" for name, value in options.items())]
    _run(*apt, "update")
    _run(*apt, *(["--yes", "--download-only"] if action == "install" else []), action, *names, cwd=archives)
    return sorted(archives.glob("*.deb"))


def _unpack(package: Path, destination: Path, *members: str) -> None:
    """Unpacks a package, or only these files of it."""
    destination.mkdir(exist_ok=True)
    with subprocess.Popen(["dpkg-deb", "--fsys-tarfile", package], stdout=subprocess.PIPE) as content:
        subprocess.run(["tar", "-x", "-C", destination, *members], stdin=content.stdout, check=True)
    assert content.returncode == 0, f"{package} could not be unpacked"


def _run(*command: str | Path, cwd: Path | None = None) -> None:
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True)
    assert done.returncode == 0, f"{command[0]} failed:\n{done.stdout}{done.stderr}"
