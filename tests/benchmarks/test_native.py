"""Programs of C are driven line by line; the program here is a script that keeps to the same protocol."""

from __future__ import annotations

import sys
from dataclasses import replace

import pytest

from benchmarks.native.native_program import NativeProcess, NativeProgram
from exporter.measure.fresh_process import EngineError

PROGRAM = """#!{python}
import sys
if sys.argv[1:] != ["lines", "2", "a bundle"]:
    sys.exit("it has no such bundle")
print("loaded", flush=True)
for line in sys.stdin:
    if line == "?\\n":
        sys.exit("it cannot speak that")
    print(f"0.25 {{len(line.strip()) * 600}}", flush=True)
"""


@pytest.fixture
def program(tmp_path) -> NativeProgram:
    file = tmp_path / "program"
    file.write_text(PROGRAM.format(python=sys.executable), encoding="utf-8")
    file.chmod(0o700)
    return NativeProgram("the program", str(file), ("a bundle",), 2, 1, 1)


def test_a_program_speaks_each_line_and_its_memory_is_its_own(program):
    with NativeProcess(program) as process:
        assert process.speak("hˈɛlO") == (0.25, 0.25, 3000)
        assert process.speak("ə") == (0.25, 0.25, 600)
        assert 0 < process.private_memory() < process.resident_memory() <= process.peak_memory()
    assert process.process.returncode == 0


def test_a_program_that_fails_is_told_of_with_its_message(program):
    with pytest.raises(EngineError, match=r"the program ended with status 1: it has no such bundle"):
        NativeProcess(replace(program, arguments=("another bundle",)))
    with NativeProcess(program) as process, pytest.raises(EngineError, match="it cannot speak that"):
        process.speak("?")


def test_a_cold_start_names_the_utterance_and_the_file_before_what_the_engine_needs(program):
    assert program.command("ə", "a.wav") == [program.program, "once", "ə", "a.wav", "2", "a bundle"]
