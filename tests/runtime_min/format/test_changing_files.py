"""Files of a loaded bundle that somebody writes to."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from runtime_min.errors import ChangedFileError
from tests.support.tiny.runtime_alone import run_alone

CHANGES = {
    "truncated": "os.truncate(PATH, 0)",
    "truncated to a page": "os.truncate(PATH, 64)",
    "longer": "open(PATH, 'ab').write(b'x')",
    "rewritten": "f = open(PATH, 'r+b'); f.write(bytes(64)); f.close()",
    "by another name": "os.link(PATH, PATH + '2'); f = open(PATH + '2', 'r+b'); f.write(b'x'); f.close()",
}


@pytest.mark.parametrize("name", CHANGES)
def test_parameters_changed_under_the_map_are_noticed_before_they_are_touched(
    speaking_bundle: Path, tmp_path: Path, name: str
) -> None:
    """A page that the file no longer has would end the process with SIGBUS."""
    copy = Path(shutil.copytree(speaking_bundle, tmp_path / "bundle"))
    # So that no clock is too coarse to tell the change.
    os.utime(copy / "parameters.bin", (1, 1))
    assert run_alone(
        copy,
        f"""
        import os
        from runtime_min import Bundle, KokoroError
        bundle = Bundle.load(sys.argv[1])
        bundle.synthesize(phonemes="abc")
        PATH = sys.argv[1] + "/parameters.bin"
        {CHANGES[name]}
        try:
            bundle.synthesize(phonemes="abc")
            result = ["spoke"]
        except KokoroError as error:
            result = [type(error).__name__, "written to while the bundle was open" in str(error)]
        bundle.close()
        """,
    ) == [ChangedFileError.__name__, True]


def test_parameters_whose_time_alone_changes_are_used_further(speaking_bundle: Path, tmp_path: Path) -> None:
    """As long as they are what they were: a later write is noticed all the same."""
    copy = Path(shutil.copytree(speaking_bundle, tmp_path / "bundle"))
    assert run_alone(
        copy,
        """
        import os
        from runtime_min import Bundle
        from runtime_min.errors import ChangedFileError
        bundle = Bundle.load(sys.argv[1])
        path = sys.argv[1] + "/parameters.bin"
        before = bundle.synthesize(phonemes="abc").samples.tobytes()
        result = []
        for time in (1, 2):
            os.utime(path, (time, time))
            result.append(bundle.synthesize(phonemes="abc").samples.tobytes() == before)
        with open(path, "r+b") as file:
            file.write(bytes(64))
        for _ in range(2):
            try:
                bundle.synthesize(phonemes="abc")
            except ChangedFileError:
                result.append("changed")
        """,
    ) == [True, True, "changed", "changed"]


def test_libraries_and_voices_do_not_change_once_they_are_used(speaking_bundle: Path, tmp_path: Path) -> None:
    copy = Path(shutil.copytree(speaking_bundle, tmp_path / "bundle"))
    assert run_alone(
        copy,
        """
        import os
        from pathlib import Path
        from runtime_min import Bundle, KokoroError
        bundle = Bundle.load(sys.argv[1])
        before = bundle.synthesize(phonemes="abc").samples.tobytes()
        for path in [*Path(sys.argv[1]).glob("lib/*/*.so"), *Path(sys.argv[1]).glob("voices/*")]:
            os.truncate(path, 0)
        result = [bundle.synthesize(phonemes="abc").samples.tobytes() == before]
        bundle.synthesize(phonemes="abcabcabcabc")
        try:
            bundle.synthesize(phonemes="abc", voice="am_adam")
        except KokoroError as error:
            result.append(type(error).__name__)
        """,
    ) == [True, ChangedFileError.__name__]
