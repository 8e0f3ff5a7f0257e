"""Programs that answer questions with parts of the native runtime, a line each; they need nothing of TVM."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path

from exporter.native import build
from tests.support.native.sanitised import compiled, flags, link
from tests.support.paths import ROOT

SOURCES = ROOT / "tests" / "runtime_native"
_PARTS = (
    *("base", "speech", "text", "output", "model/blend.cpp", "model/noise.cpp", "engine/machine.cpp"),
    *("engine/native.cpp", "format/file_content.cpp", "model/loudness.cpp"),
    *("format/schema.cpp", "format/msgpack.cpp", "format/printable.cpp"),
)


class Probe:
    """A program built from a source in `SOURCES`."""

    def __init__(self, name: str, directory: Path) -> None:
        """Builds the program in `directory`; unchanged parts come from the user's cache."""
        self._program = directory / name
        parts = tuple(str(build.SOURCES / part) for part in _PARTS)
        objects = [each for each in build.library_sources(flags()) if str(each.path).startswith(parts)]
        own = build.Source(
            SOURCES / f"{name}.cpp", (*objects[0].flags, f"-I{build.SOURCES}"), objects[0].facts
        )
        link([*map(str, compiled([own, *objects]))], self._program)

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
