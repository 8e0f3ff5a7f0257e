"""Compiling many libraries: worker processes, and the cache of compiled libraries."""

from __future__ import annotations

import errno
import gc
import multiprocessing
import shutil
import signal
import tempfile
import warnings
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import BrokenExecutor, Executor, Future, ProcessPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from queue import SimpleQueue

from exporter.compiler.library import CompiledLibrary, Job
from exporter.errors import ExportError
from exporter.export.library_cache import LibraryCache
from exporter.processes import end_with_parent, uninterrupted
from exporter.progress import Progress
from runtime_min.errors import OutputError
from runtime_min.threads import usable_cores

Build = Callable[[Job, Path, Path | None], CompiledLibrary]
"""Compiles a job to a file, with a directory for the module after each pass."""
Attempt = Future["CompiledLibrary | Failure"]
Pool = Callable[[int], AbstractContextManager[Executor]]

# A worker holds torch and TVM: 0.7 GB, for the decoder 1 GB.
_MOST_WORKERS = 4
_LITTLE_ROOM = 4 << 20
"""Bytes; more than the object file of a library."""


class StageError(ExportError):
    """A stage could not be compiled."""

    exit_code = 7


@dataclass(frozen=True)
class Failure:
    """A worker's error, in a form that any process can read."""

    reason: str
    disk_full: bool


def default_workers() -> int:
    """Returns the default of ``--jobs``, the number of libraries compiled at a time."""
    return min(_MOST_WORKERS, len(usable_cores()))


@contextmanager
def worker_processes(workers: int) -> Iterator[Executor]:
    """Yields a pool of fresh processes; they end at once when the body fails or is interrupted."""
    others = set(multiprocessing.active_children())
    pool = ProcessPoolExecutor(workers, multiprocessing.get_context("spawn"), _prepare_worker)
    try:
        yield pool
    except BaseException:
        for process in set(multiprocessing.active_children()) - others:
            process.terminate()
        raise
    finally:
        pool.shutdown()


def compile_libraries(
    jobs: Sequence[Job],
    directory: Path,
    build: Build,
    *,
    workers: int,
    progress: Progress,
    cache: LibraryCache | None = None,
    dump: Path | None = None,
    pool: Pool = worker_processes,
) -> list[CompiledLibrary]:
    """Compiles every library that the cache does not have, and stores each as soon as it is done.

    Args:
        jobs: the libraries to compile, in the order in which to start.
        directory: place of the libraries' files.
        build: compiles one library; runs in a worker process, so it must be importable by its name.
        workers: number of worker processes at a time.
        progress: takes the start and the end of each library.
        cache: directory of stored libraries; None stores nothing.
        dump: a directory for the intermediate representation; nothing is then taken from the cache.
        pool: makes the workers.

    Returns:
        The libraries, in the order of `jobs`.

    Raises:
        StageError: a library could not be compiled; the other workers are stopped.
        OutputError: a worker found no room.
    """
    compiled: dict[Job, CompiledLibrary] = {}
    for job in jobs:
        path = _path(job, directory)
        path.parent.mkdir(parents=True, exist_ok=True)
        if cache and dump is None and (library := cache.restore(job, path)) is not None:
            progress.finished(str(job), library.seconds, True)
            compiled[job] = library
    missing = [job for job in jobs if job not in compiled]
    work = partial(run_build, build, directory, dump)
    for library in _compile(missing, work, min(workers, max(len(missing), 1)), progress, pool):
        compiled[library.job] = library
        if cache:
            _store(cache, library, progress)
        progress.finished(str(library.job), library.seconds, False)
    return [compiled[job] for job in jobs]


def _path(job: Job, directory: Path) -> Path:
    """Returns the file of a library, which some systems' libraries bear as their name."""
    return directory / job.level.name / f"{job.stage}-{job.bucket}{job.target.library_suffix}"


def _compile(
    jobs: Sequence[Job],
    work: Callable[[Job], CompiledLibrary | Failure],
    workers: int,
    progress: Progress,
    pool: Pool,
) -> Iterator[CompiledLibrary]:
    """Yields each library as it is done; no job waits in the pool, so that the one that broke it is known."""
    waiting = deque(jobs)
    running: dict[Attempt, Job] = {}
    # Waiting for a queue leaves no lock behind if it is interrupted, as waiting for futures does.
    done: SimpleQueue[Attempt] = SimpleQueue()
    if not waiting:
        return
    with pool(workers) as executor:
        while waiting or running:
            while waiting and len(running) < workers:
                job = waiting.popleft()
                progress.started(str(job))
                with uninterrupted():
                    future = executor.submit(work, job)
                    future.add_done_callback(done.put)
                running[future] = job
            future = done.get()
            library = _result(future, running)
            del running[future]
            yield library


def run_build(build: Build, directory: Path, dump: Path | None, job: Job) -> CompiledLibrary | Failure:
    """Compiles in a worker; a failure comes back as text, because not every exception can be pickled."""
    if not gc.isenabled():
        # All that the first job has imported stays.
        gc.freeze()
        gc.enable()
    try:
        return build(job, _path(job, directory), dump and dump / f"{job.level.name}-{job.stage}-{job.bucket}")
    except Exception as error:
        reason = str(error) if isinstance(error, ExportError) else f"{type(error).__name__}: {error}"
        return Failure(reason, isinstance(error, OSError) and error.errno == errno.ENOSPC)


def _result(future: Attempt, running: Mapping[Attempt, Job]) -> CompiledLibrary:
    try:
        result = future.result()
    except BrokenExecutor as error:
        jobs = "; ".join(map(str, running.values()))
        # LLVM ends the process where it cannot write.
        if shutil.disk_usage(place := tempfile.gettempdir()).free < _LITTLE_ROOM:
            raise OutputError(
                f"No room to compile {jobs}: temporary files are in {place}, which is full. Make room there, "
                "or name another directory in the variable TMPDIR."
            ) from error
        raise StageError(
            f"A worker process ended without an error message while these were compiled: {jobs}. "
            "The system may have run out of memory: try --jobs 1."
        ) from error
    if isinstance(result, Failure):
        job = running[future]
        if result.disk_full:
            raise OutputError(f"No room to compile {job}: {result.reason}. Make room and run again.")
        raise StageError(
            f"Stage {job.stage}, bucket {job.bucket}, CPU level {job.level.name} could not be compiled: "
            f"{result.reason}\n"
            f"To look at it alone: --stages {job.stage} --jobs 1 --dump-ir DIR. What was compiled is kept."
        )
    return result


def _store(cache: LibraryCache, library: CompiledLibrary, progress: Progress) -> None:
    try:
        cache.store(library)
    except (OSError, OutputError) as error:
        progress.warning(f"A library could not be kept for the next export: {error}")


def _prepare_worker() -> None:
    # Ctrl-C reaches every process of the terminal; the parent decides what ends.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    end_with_parent()
    # Importing torch and TVM, for the first job, leaves no garbage.
    gc.disable()
    # torch.export warns of its own future, which no user can change.
    warnings.simplefilter("ignore", FutureWarning)
