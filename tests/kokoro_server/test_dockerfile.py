"""The Dockerfile's commands, as far as they can be run without Docker."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from kokoro_server.__main__ import _parser
from tests.support.fakes.speech_server import Running
from tests.support.paths import ROOT


@pytest.fixture(scope="module")
def instructions() -> list[tuple[str, str]]:
    """Every instruction with its arguments on one line."""
    content = (ROOT / "Dockerfile").read_text(encoding="utf-8")
    lines = re.sub(r"^#.*\n|\\\n", "", content, flags=re.MULTILINE).splitlines()
    return [(word, rest.strip()) for word, _, rest in (line.partition(" ") for line in lines if line)]


def arguments_of(instructions: list[tuple[str, str]], word: str) -> list[str]:
    return [arguments for found, arguments in instructions if found == word]


def test_a_wheel_with_the_server_is_built_from_what_is_copied(
    instructions: list[tuple[str, str]], tmp_path: Path
) -> None:
    ignored = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
    stages = [number for number, (word, _) in enumerate(instructions) if word == "FROM"]
    source = tmp_path / "source"
    source.mkdir()
    for word, arguments in instructions[: stages[1]]:
        if word == "COPY":
            *names, place = arguments.split()
            for name in names:
                assert f"!{name}" in ignored
                if (ROOT / name).is_dir():
                    shutil.copytree(ROOT / name, source / place, ignore=shutil.ignore_patterns("__pycache__"))
                else:
                    shutil.copy(ROOT / name, source / place)
    (build,) = arguments_of(instructions[: stages[1]], "RUN")
    command = build.replace("/wheels", str(tmp_path)).split()
    assert command[:2] == ["pip", "wheel"]
    subprocess.run(
        [sys.executable, "-c", "from setuptools import build_meta; build_meta.build_wheel('..')"],
        cwd=source, check=True, capture_output=True,
    )  # fmt: skip
    (wheel,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        (metadata,) = (name for name in names if name.endswith("/METADATA"))
        (scripts,) = (name for name in names if name.endswith("/entry_points.txt"))
        extras = re.findall(r"^Provides-Extra: (\w+)", archive.read(metadata).decode(), re.MULTILINE)
        assert b"kokoro-server = kokoro_server.__main__:main" in archive.read(scripts)
    assert {"kokoro_server/app.py", "runtime_min/bundle.py"} <= set(names)
    (install, _) = arguments_of(instructions[stages[1] :], "RUN")
    assert set(re.search(r'"\$wheel\[(.*)\]"', install)[1].split(",")) <= set(extras)  # type: ignore[index]
    assert "!constraints.txt" in ignored


def test_the_packages_of_the_server_are_pinned() -> None:
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    extras = re.findall(r"^(?:espeak|server) = .*", project, re.MULTILINE)
    wanted = re.findall(r'"([\w-]+)>=', "".join(extras))
    pins = (ROOT / "constraints.txt").read_text(encoding="utf-8").lower().replace("_", "-")
    assert len(wanted) == 8 and all(f"\n{name}==" in pins for name in wanted)


def test_it_runs_for_a_user_of_no_rights_and_in_the_form_that_signals_reach(
    instructions: list[tuple[str, str]],
) -> None:
    assert arguments_of(instructions, "USER") == ["10001"]
    assert any("useradd" in command and "10001" in command for command in arguments_of(instructions, "RUN"))
    (entry,) = arguments_of(instructions, "ENTRYPOINT")
    command, *arguments = json.loads(entry)
    assert command == "kokoro-server"
    options = _parser().parse_args([*arguments, "--wyoming-port", "10200"])
    assert (options.bundle, options.host) == ("/bundle", "0.0.0.0")
    assert arguments_of(instructions, "EXPOSE") == [f"{options.port} {options.wyoming_port}"]


def test_its_check_of_health_tells_a_server_from_none(
    instructions: list[tuple[str, str]], server: Running
) -> None:
    (check,) = arguments_of(instructions, "HEALTHCHECK")
    command = json.loads(check.partition("CMD ")[2])

    def code(port: int) -> int:
        script = command[2].replace("8880", str(port))
        return subprocess.run([sys.executable, "-c", script], capture_output=True).returncode

    assert command[:2] == ["python", "-c"] and "8880" in command[2]
    assert code(server.port) == 0 and code(1) != 0
