"""Interrupts each phase of the product at random moments, each time in a process of its own.

    python -c "from tests.support.programs.interruptions import main; main()" COUNT BUNDLE PLACE

PLACE is an empty directory for temporary files. Prints the outcomes as JSON, by phase. As a module that
Python runs it would be imported by every worker of an export.
"""

from __future__ import annotations

import atexit
import json
import os
import random
import re
import signal
import sys
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import psutil

from exporter.export.jobs import compile_libraries
from exporter.export.run import _temporary_files
from runtime_min import Bundle
from runtime_min.__main__ import main as speak_from
from runtime_min.engine.tvm_ffi_package import import_tvm_ffi
from runtime_min.speech.stream import Stream
from tests.support.fakes.builds import Recorder, some_jobs
from tests.support.fakes.worker_builds import slow_build

SPAN = 1.1
"""Longest delay, as a share of the time that the phase takes if nobody interrupts it."""
PATIENCE = 120.0
"""Seconds after which a process hangs."""
_EXPECTED = (
    *("Traceback ", " ", "KeyboardInterrupt", "Exception ignored in"),
    *("interrupted", "warning: THIS BUNDLE BABBLES"),
)
"""Beginnings of lines that may be on standard error."""
_CONTEXT = "During handling of the above exception, another exception occurred:"


def loading(bundle: Path) -> Callable[[], object]:
    return lambda: Bundle.load(bundle)


def opening(bundle: Path) -> Callable[[], Stream]:
    loaded = Bundle.load(bundle)
    return lambda: loaded.stream(phonemes="abc abc")


def streaming(bundle: Path) -> Callable[[], object]:
    stream = Bundle.load(bundle).stream(phonemes="abc abc " * 20)
    return lambda: list(stream)


def speaking(bundle: Path) -> Callable[[], object]:
    """The command; a file that it has written is whole."""
    file = Path(tempfile.gettempdir(), "speech.wav")
    sys.argv[1:] = [str(bundle), "--phonemes", "abc abc " * 20, "-o", str(file), "-q"]

    atexit.register(file.unlink, missing_ok=True)
    return speak_from


def exporting(bundle: Path) -> Callable[[], object]:
    def export() -> None:
        with _temporary_files() as work:
            compile_libraries(some_jobs(), work, slow_build, workers=2, progress=Recorder())

    return export


PHASES = {phase.__name__: phase for phase in (loading, speaking, opening, streaming, exporting)}


def work(phase: str, bundle: Path, delay: float, number: int, done: int) -> None:
    """Is interrupted after `delay` seconds; writes to `done` how long it took."""
    # The tiny model's phonemes look like text.
    warnings.simplefilter("ignore")
    for each in (signal.SIGINT, signal.SIGTERM):
        signal.signal(each, signal.default_int_handler)

    def interrupt(_: int, frame: object) -> None:
        handler = signal.getsignal(number)
        if callable(handler):
            handler(number, frame)

    signal.signal(signal.SIGALRM, interrupt)
    prepared = PHASES[phase](bundle)
    start = time.perf_counter()
    # The command ends the process itself.
    atexit.register(lambda: os.write(done, str(time.perf_counter() - start).encode()))
    signal.setitimer(signal.ITIMER_REAL, delay)
    kept = prepared()
    signal.setitimer(signal.ITIMER_REAL, 0)
    del kept


def wait_for(process: int) -> int | None:
    """Returns the exit status of a process, None if it hangs."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        found, status = os.waitpid(process, os.WNOHANG)
        if found:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.002)
    os.killpg(process, signal.SIGKILL)
    os.waitpid(process, 0)
    return None


def others_live(session: int) -> bool:
    """Waits until no process of a session lives; returns True if one stays."""
    end = time.monotonic() + PATIENCE
    while any(lives_in(each, session) for each in psutil.process_iter()):
        if time.monotonic() > end:
            os.killpg(session, signal.SIGKILL)
            return True
        time.sleep(0.01)
    return False


def lives_in(process: psutil.Process, session: int) -> bool:
    try:
        return os.getsid(process.pid) == session and process.status() != psutil.STATUS_ZOMBIE
    except (ProcessLookupError, psutil.NoSuchProcess):
        return False


def is_interrupt(errors: str) -> bool:
    """Returns True if nothing but `KeyboardInterrupt` was reported."""
    last = errors.rpartition(_CONTEXT)[2]
    return all(line.startswith(_EXPECTED) for line in last.splitlines() if line)


def outcome(status: int | None, errors: str, session: int, place: Path) -> str:
    if status is None:
        return "hung"
    if others_live(session):
        return "left a process"
    if left := sorted(path.name for path in place.iterdir()):
        return f"left {left}"
    if not is_interrupt(errors) or status not in (0, 1, 130, -signal.SIGINT):
        return f"ended with {status}: {errors}"
    return "interrupted" if re.search("KeyboardInterrupt|^interrupted", errors, re.M) else "completed"


def interrupted_often(phase: str, count: int, bundle: Path, place: Path) -> Counter[str]:
    """Returns how often each outcome came."""
    random.seed(count)
    outcomes: Counter[str] = Counter()
    longest = 0.0
    # The first ones, which nobody interrupts, show how long it takes.
    for index in range(-2, count):
        delay = random.uniform(1e-6, SPAN * longest) if index >= 0 else 0.0
        reader, writer = os.pipe()
        with tempfile.TemporaryFile(dir="/tmp") as errors:
            process = os.fork()
            if process == 0:
                os.setsid()
                os.dup2(errors.fileno(), 2)
                work(phase, bundle, delay, random.choice([signal.SIGINT, signal.SIGTERM]), writer)
                sys.exit()
            os.close(writer)
            status = wait_for(process)
            errors.seek(0)
            outcomes[outcome(status, errors.read().decode(), process, place) if index >= 0 else ""] += 1
        with os.fdopen(reader) as took:
            longest = max(longest, float(took.read() or 0)) if index < 0 else longest
    del outcomes[""]
    return outcomes


def main() -> None:
    count, bundle, place = int(sys.argv[1]), Path(sys.argv[2]), Path(sys.argv[3])
    os.environ["TMPDIR"] = tempfile.tempdir = str(place)
    outcomes = {}
    for phase in PHASES:
        if phase == opening.__name__:
            # Nobody interrupts the import in the phases that follow, so their processes need not repeat it.
            import_tvm_ffi()
        outcomes[phase] = interrupted_often(phase, count, bundle, place)
    print(json.dumps(outcomes))
