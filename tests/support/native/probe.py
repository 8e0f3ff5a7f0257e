"""Programs that answer questions with parts of the native runtime, a line each; they need nothing of TVM."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path

from exporter.native import build, zig
from tests.support.native.sanitised import compiled, flags, link
from tests.support.paths import ROOT

SOURCES = ROOT / "tests" / "runtime_native"


class Probe:
    """A program built from a source in `SOURCES`."""

    def __init__(self, name: str, directory: Path) -> None:
        """Builds the program in `directory`; unchanged parts come from the user's cache."""
        self._program = directory / name
        units = [each for each in build.library_units(flags()) if each.paths[0].is_relative_to(build.SOURCES)]
        own = zig.Unit((SOURCES / f"{name}.cpp",), (*units[0].flags, f"-I{build.SOURCES}"), units[0].facts)
        # What calls TVM is in no program, and is left out.
        link(["-Wl,--gc-sections", *map(str, compiled([own, *units]))], self._program)

    def ask(
        self, questions: Sequence[str], arguments: Sequence[str] = (), timeout: float | None = None
    ) -> list[str]:
        """Returns the answer to each question, a line."""
        content = "".join(f"{question}\n" for question in questions)
        command = [self._program, *arguments]
        done = subprocess.run(
            command, input=content, capture_output=True, text=True, check=True, timeout=timeout
        )
        found = done.stdout.splitlines()
        assert len(found) == len(questions)
        return found


def field(text: str | None) -> str:
    """Returns a text as a field of a question: its UTF-8 in hexadecimal digits."""
    return text.encode().hex() if text else "-"
