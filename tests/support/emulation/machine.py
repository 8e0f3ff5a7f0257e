"""Machines of other processors on this one: qemu's user mode, Debian's Python, numpy and apache-tvm-ffi.

Everything comes from package registries into the user's cache, and nothing is installed on this machine: apt
works on a state of its own, that of an empty machine of the wanted processor family.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from exporter import directories
from tests.support.emulation import questions
from tests.support.paths import ROOT
from tests.support.shared import filled_once

Ask = Callable[[Any], Any]
_DEBIAN_NAMES = {"aarch64": "arm64", "x86_64": "amd64"}
NEEDED = (
    "emulated machines need apt-get and dpkg-deb with Debian's sources, pip with an index of Python packages "
    "(both over the network), and cc."
)
_KEYS = "/usr/share/keyrings/debian-archive-keyring.gpg"
_PYTHON = ("python3-minimal", "libpython3-stdlib", "libstdc++6")


@dataclass(frozen=True)
class EmulatedMachine:
    """A Python of another processor, with the two packages that a bundle needs."""

    family: str
    """Linux's name of it."""
    place: Path
    """Holds qemu, the machine's packages and its file system."""
    processor: str = ""
    """qemu's name of it; empty for qemu's default."""

    @property
    def system(self) -> Path:
        """The root of its file system; qemu takes missing files from this machine."""
        return self.place / (self.processor or "system")

    @property
    def emulator(self) -> list[str]:
        """Starts a program of its processor."""
        processor = ("-cpu", self.processor) if self.processor else ()
        qemu = self.place / "usr" / "bin" / f"qemu-{self.family}-static"
        return [str(qemu), *processor, "-L", str(self.system)]

    @property
    def command(self) -> list[str]:
        """Starts its Python."""
        return [*self.emulator, str(self.system / "usr" / "bin" / "python3")]

    @property
    def environment(self) -> dict[str, str]:
        """Variables of its processes: one thread, because those of TVM's pool spin while they wait."""
        return {"PATH": os.environ["PATH"], "PYTHONPATH": str(self.place / "site"), "TVM_NUM_THREADS": "1"}

    def run(self, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
        """Runs its Python to the end."""
        command = [*self.command, *map(str, arguments)]
        return subprocess.run(command, env=self.environment, cwd=self.place, capture_output=True, text=True)

    def serving(self, script: Path, *arguments: str | Path) -> AbstractContextManager[Ask]:
        """Starts a process with the function `answers` of `script`, and yields a function that asks it."""
        return questions.asking(self.command, script, *arguments, env=self.environment, cwd=self.place)

    def with_processor(self, processor: str) -> EmulatedMachine:
        """Returns this x86-64 machine with another processor, whose features are in its /proc/cpuinfo.

        qemu's user mode would show the file of the host. It is replaced by what the emulated processor itself
        answers to the instruction CPUID.
        """
        machine = EmulatedMachine(self.family, self.place, processor)
        shutil.rmtree(machine.system, ignore_errors=True)
        (machine.system / "proc").mkdir(parents=True)
        for entry in self.system.iterdir():
            (machine.system / entry.name).symlink_to(entry)
        cpuinfo = ask_processor(self.place, *machine.emulator)
        (machine.system / "proc" / "cpuinfo").write_text(cpuinfo, encoding="utf-8")
        return machine


def ask_processor(place: Path, *emulator: str) -> str:
    """Returns the part of /proc/cpuinfo that x86-64's CPU levels need, from the processor itself."""
    program = place / "cpuinfo"
    _run("cc", "-static", Path(__file__).with_name("cpuinfo.c"), "-o", program)
    return _run(*emulator, program)


def fetched_machine(family: str) -> EmulatedMachine:
    """Returns a machine from the user's cache, fetched if it is not there: 110 MB, 170 on the disk."""
    machines = directories.cache() / "machines"
    recipe = Path(__file__).read_bytes() + (ROOT / "constraints.txt").read_bytes()
    place = machines / f"{family}-{hashlib.sha256(recipe).hexdigest()[:16]}"
    return EmulatedMachine(
        family, filled_once(place, lambda unfinished: _fetch(EmulatedMachine(family, unfinished)))
    )


def _fetch(machine: EmulatedMachine) -> None:
    family, place = machine.family, machine.place
    (qemu,) = debian_packages(place / "qemu", "amd64", "download", ("qemu-user-static",))
    unpack(qemu, place, f"./usr/bin/qemu-{family}-static")
    for package in debian_packages(place / "apt", _DEBIAN_NAMES[family], "install", _PYTHON):
        unpack(package, machine.system)
    for downloads in ("qemu", "apt"):
        shutil.rmtree(place / downloads)
    version = machine.run("-c", "import sys; print(*sys.version_info[:2], sep='.')")
    assert version.returncode == 0, version.stderr
    _run(
        *(sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-compile"),
        *("--target", place / "site", "--constraint", ROOT / "constraints.txt", "--only-binary=:all:"),
        *("--implementation", "cp", "--python-version", version.stdout.strip()),
        *("--platform", f"manylinux_2_28_{family}", "numpy", "apache-tvm-ffi"),
    )


def debian_packages(
    place: Path, family: str, action: str, names: Sequence[str], release: str | None = None
) -> list[Path]:
    """Fetches Debian packages; ``install`` also fetches their dependencies.

    Args:
        place: directory for them.
        family: Debian's name of the processor.
        action: of apt-get.
        names: the packages.
        release: Debian's name of the release that has them; by default that of this machine's sources.
    """
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
    if release is not None:
        sources = place / "sources.list"
        sources.write_text(f"deb [signed-by={_KEYS}] {_debian()} {release} main\n", encoding="utf-8")
        options |= {"Dir::Etc::sourcelist": sources, "Dir::Etc::sourceparts": "-"}
    apt = ["apt-get", "--quiet", *(f"--option={name}={value}" for name, value in options.items())]
    _run(*apt, "update")
    _run(*apt, *(["--yes", "--download-only"] if action == "install" else []), action, *names, cwd=archives)
    return sorted(archives.glob("*.deb"))


def _debian() -> str:
    """Returns where this machine gets its Debian packages from."""
    listed = _run("apt-get", "indextargets", "--format", "$(COMPONENT) $(REPO_URI)", "Created-By: Packages")
    found = {line.partition(" ")[2] for line in listed.splitlines() if line.startswith("main ")}
    (source, *_) = sorted((each for each in found if each.rstrip("/").endswith("/debian")), key=len) or [""]
    assert source, f"none of the sources of apt is Debian's: {NEEDED}"
    return source


def unpack(package: Path, destination: Path, *members: str) -> None:
    """Unpacks a package, or only these files of it."""
    destination.mkdir(exist_ok=True)
    with subprocess.Popen(["dpkg-deb", "--fsys-tarfile", package], stdout=subprocess.PIPE) as content:
        subprocess.run(["tar", "-x", "-C", destination, *members], stdin=content.stdout, check=True)
    assert content.returncode == 0, f"{package} could not be unpacked"


def _run(*command: str | Path, cwd: Path | None = None) -> str:
    """Returns the standard output of a command."""
    try:
        done = subprocess.run(command, cwd=cwd, capture_output=True, text=True)
    except FileNotFoundError as error:
        raise AssertionError(f"{command[0]} is not installed: {NEEDED}") from error
    assert done.returncode == 0, f"{command[0]} failed: {NEEDED}\n{done.stdout}{done.stderr}"
    return done.stdout
