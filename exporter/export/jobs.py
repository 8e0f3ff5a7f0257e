"""Compiling many libraries: the plan, the worker processes, and what the cache already has."""

from __future__ import annotations

import errno
import multiprocessing
import signal
import warnings
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Executor, Future, ProcessPoolExecutor, wait
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from exporter.compiler.targets import CpuLevel
from exporter.errors import ExportError
from exporter.export.library_cache import CompiledLibrary, LibraryCache
from exporter.progress import Progress
from runtime_min.engine.vm import usable_cores
from runtime_min.format.signatures import signatures

if TYPE_CHECKING:
    from exporter.compiler.compile_stage import BuildRequest, BuildResult

Build = Callable[["BuildRequest"], "BuildResult"]
Attempt = Future["BuildResult | Failure"]
Pool = Callable[[int], AbstractContextManager[Executor]]

# Longest first, so that no worker is left alone with the decoder at the end.
_BY_COST = ("decoder", "f0n", "bert", "duration", "text_encoder", "source")
# A worker holds torch, TVM and the model: about 2 GB.
_MOST_WORKERS = 4


class StageError(ExportError):
    """A stage could not be compiled."""

    exit_code = 7


class ExportDiskFullError(ExportError):
    """There is no room for what the exporter writes."""

    exit_code = 6


@dataclass(frozen=True)
class Job:
    """One library to compile."""

    stage: str
    bucket: int
    """Largest length along the stage's axis."""
    level: CpuLevel

    def __str__(self) -> str:
        return f"{self.stage} {self.bucket} {self.level.name}"


@dataclass(frozen=True)
class Failure:
    """Why a worker could not compile, in a form that any process can read."""

    reason: str
    disk_full: bool


def plan_jobs(
    stages: Sequence[str], buckets: Mapping[str, Sequence[int]], levels: Sequence[CpuLevel]
) -> list[Job]:
    """Returns the libraries to compile, those that take longest first.

    Args:
        stages: names of the stages, in the order in which they run.
        buckets: for each length axis the largest lengths of the libraries.
        levels: the CPU levels, best first.
    """
    axes = {name: stage.axis for name, stage in signatures(1, 1, source_apart=True).items()}
    jobs = [
        Job(stage, bucket, level) for stage in stages for bucket in buckets[axes[stage]] for level in levels
    ]
    return sorted(jobs, key=lambda job: (_BY_COST.index(job.stage), -job.bucket))


def default_workers() -> int:
    """Returns how many libraries are compiled at a time unless the user says otherwise."""
    return min(_MOST_WORKERS, len(usable_cores()))


@contextmanager
def worker_processes(workers: int) -> Iterator[Executor]:
    """Yields a pool of fresh processes; they end at once when the body fails or is interrupted."""
    others = set(multiprocessing.active_children())
    pool = ProcessPoolExecutor(workers, multiprocessing.get_context("spawn"), _prepare_worker)
    try:
        yield pool
    except BaseException:
        pool.shutdown(wait=False, cancel_futures=True)
        for process in set(multiprocessing.active_children()) - others:
            process.terminate()
        raise
    finally:
        pool.shutdown()


def compile_libraries(
    requests: Mapping[Job, BuildRequest],
    keys: Mapping[Job, str],
    build: Build,
    *,
    workers: int,
    progress: Progress,
    cache: LibraryCache | None = None,
    reuse: bool = True,
    pool: Pool = worker_processes,
) -> dict[Job, CompiledLibrary]:
    """Compiles every library that the cache does not have, and stores each as soon as it is done.

    Args:
        requests: what to compile, in the order in which to start.
        keys: the name of each library's entry in the cache.
        build: compiles one library; runs in a worker process, so it must be importable by its name.
        workers: how many run at a time.
        progress: takes the start and the end of each library.
        cache: where libraries are kept; None keeps nothing.
        reuse: whether to take libraries from the cache.
        pool: makes the workers.

    Returns:
        The libraries, in the order of `requests`.

    Raises:
        StageError: a library could not be compiled; the other workers are stopped.
        ExportDiskFullError: a worker found no room.
    """
    compiled: dict[Job, CompiledLibrary] = {}
    if cache and reuse:
        compiled.update(_restore(requests, keys, cache, progress))
    missing = {job: request for job, request in requests.items() if job not in compiled}
    for job, library in _compile(missing, build, min(workers, max(len(missing), 1)), progress, pool):
        compiled[job] = library
        if cache:
            _store(cache, keys[job], library, progress)
        progress.finished(str(job), library.seconds, False)
    return {job: compiled[job] for job in requests}


def _restore(
    requests: Mapping[Job, BuildRequest], keys: Mapping[Job, str], cache: LibraryCache, progress: Progress
) -> Iterator[tuple[Job, CompiledLibrary]]:
    """Yields what the cache has, put where a worker would have written it."""
    for job, request in requests.items():
        library = cache.restore(keys[job], Path(request.output))
        if library is not None:
            progress.finished(str(job), library.seconds, True)
            yield job, library


def _compile(
    requests: Mapping[Job, BuildRequest], build: Build, workers: int, progress: Progress, pool: Pool
) -> Iterator[tuple[Job, CompiledLibrary]]:
    """Yields each library as it is done; no job waits in the pool, so that the one that broke it is known."""
    waiting = deque(requests.items())
    running: dict[Attempt, Job] = {}
    if not waiting:
        return
    with pool(workers) as executor:
        while waiting or running:
            while waiting and len(running) < workers:
                job, request = waiting.popleft()
                progress.started(str(job))
                running[executor.submit(run_build, build, request)] = job
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                library = _result(future, running)
                yield running.pop(future), library


def run_build(build: Build, request: BuildRequest) -> BuildResult | Failure:
    """Compiles in a worker; a failure comes back as text, because not every exception can be pickled."""
    try:
        return build(request)
    except Exception as error:
        reason = str(error) if isinstance(error, ExportError) else f"{type(error).__name__}: {error}"
        return Failure(reason, isinstance(error, OSError) and error.errno == errno.ENOSPC)


def _result(future: Attempt, running: Mapping[Attempt, Job]) -> CompiledLibrary:
    try:
        result = future.result()
    except BrokenExecutor as error:
        raise StageError(
            f"A worker process ended without a word while these were compiled: "
            f"{'; '.join(map(str, running.values()))}. The system may have run out of memory: try --jobs 1."
        ) from error
    if isinstance(result, Failure):
        job = running[future]
        if result.disk_full:
            raise ExportDiskFullError(f"No room to compile {job}: {result.reason}. Make room and run again.")
        raise StageError(
            f"Stage {job.stage}, bucket {job.bucket}, CPU level {job.level.name} could not be compiled: "
            f"{result.reason}\n"
            f"To look at it alone: --stages {job.stage} --jobs 1 --dump-ir DIR. What was compiled is kept."
        )
    return CompiledLibrary(Path(result.library), result.function, tuple(result.parameters), result.seconds)


def _store(cache: LibraryCache, key: str, library: CompiledLibrary, progress: Progress) -> None:
    try:
        cache.store(key, library)
    except OSError as error:
        progress.warning(f"A library could not be kept for the next export: {error}")


def _prepare_worker() -> None:
    # Ctrl-C reaches every process of the terminal; the parent decides what ends.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # torch.export warns of its own future, which no user can change.
    warnings.simplefilter("ignore", FutureWarning)
