"""The sanitisers of g++ find no defect in the native runtime, also when many threads use it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from exporter.bundle.write import write_bundle
from exporter.native.build import HEADER, LIBRARY
from exporter.text.files import LANGUAGES, text_files
from tests.support.fakes.text_bundle import PHONEMES
from tests.support.native import sanitised
from tests.support.paths import ROOT
from tests.support.tiny.bundle import VOCABULARY, contents, with_entries

HERE = Path(__file__).parent
ALL_BUT = (
    *("test_sanitisers.py", "test_examples.py", "test_in_bundle.py", "test_lifetimes.py"),
    *("test_fuzz.py", "test_web.py", "test_web_package.py", "test_node_package.py", "test_rust_crate.py"),
)
"""Files of tests that build a library of their own."""
TEXTS = (
    "Dr. O'Qux read 3/4 of 1,905 résumés on May 5, 2020 for $4.50; the U.S. wound was live!",
    "😀 [Kokoro](/kˈOkəɹO/) C++ ½ 10^6 \u202e\u200d\x07 世界 ﬁ " + "a'" * 300,
)


@pytest.mark.slow
def test_no_wrong_address_undefined_behaviour_or_leak(tmp_path: Path) -> None:
    options = f"log_path={tmp_path / 'report'}"
    environment = {
        "KOKORO_EXPORT_SANITISERS": "address,undefined",
        "LD_PRELOAD": " ".join(map(sanitised.runtime_of, ("asan", "ubsan"))),
        "ASAN_OPTIONS": options,
        "UBSAN_OPTIONS": f"print_stacktrace=1:halt_on_error=1:{options}",
        "LSAN_OPTIONS": "exitcode=0",
    }
    tests = [str(path) for path in sorted(HERE.glob("test_*.py")) if path.name not in ALL_BUT]
    # What the sanitisers keep of freed memory would count as kept.
    chosen = ["-m", "not machines and not slow", "-k", "not keeps_nothing", "-p", "no:cacheprovider", "-qs"]
    # The compilers that it starts are not what is looked at.
    start = "import os, pytest, sys; del os.environ['LD_PRELOAD']; sys.exit(pytest.main(sys.argv[1:]))"
    done = subprocess.run(
        [sys.executable, "-c", start, *chosen, *tests],
        cwd=ROOT, env=os.environ | environment, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-10_000:] + done.stderr[-10_000:]
    for path in tmp_path.glob("report.*"):
        report = path.read_text(errors="replace")
        # The interpreter itself keeps memory until its end.
        assert set(re.findall(r"ERROR: (\w+)|(runtime error)", report)) <= {("LeakSanitizer", "")}, report
        assert not re.search(f"{LIBRARY}|runtime_native", report), report


@pytest.fixture(scope="module")
def talking_bundle(
    libraries: dict[str, Path], runtime_library: Path, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """A bundle that speaks text."""
    made = contents(libraries, runtime_library).extended(text_files(LANGUAGES))
    phonemes = sorted({*PHONEMES, *VOCABULARY})
    vocabulary = {phoneme: 1 + number % 4 for number, phoneme in enumerate(phonemes)}
    return write_bundle(
        tmp_path_factory.mktemp("talking") / "bundle", with_entries(made, vocabulary=vocabulary)
    )


@pytest.mark.slow
@pytest.mark.parametrize("sanitisers", ["address,undefined", "thread"])
def test_many_threads(talking_bundle: Path, tmp_path: Path, sanitisers: str) -> None:
    library, program = tmp_path / LIBRARY, tmp_path / "many_threads"
    sanitised.build_sanitised(library, sanitisers)
    arguments = [f"-I{HEADER.parent}", f"-Wl,-rpath,{tmp_path}", str(HERE / "many_threads.cpp"), str(library)]
    sanitised.link(arguments, program, sanitisers)
    # The thread sanitiser knows no addresses as random as those of today's kernels.
    command = ["setarch", "-R", program, talking_bundle, "100", "8", *TEXTS]
    done = subprocess.run(command, capture_output=True, text=True)
    print(f"\n{sanitisers}: {done.stdout}")
    assert done.returncode == 0, done.stdout + done.stderr
    assert all(map(int, re.findall(r"\d+", done.stdout)))
