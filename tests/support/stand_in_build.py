"""Stand-ins for torch and TVM in an export: a build that is done at once, and those that fail."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace

from exporter.compiler.targets import find_target
from exporter.export.jobs import compile_libraries, plan_jobs
from runtime_min.format.signatures import STAGE_NAMES

LEVELS = find_target("linux-x86_64").levels


@dataclass(frozen=True)
class BuildRequest:
    """As the exporter's, whose module needs torch."""

    checkpoint: str
    config: str | None
    stage: str
    bucket: int
    target: str
    level: str
    output: str
    dump_ir: str | None


def build(request):
    """Writes a library that says what it is."""
    Path(request.output).write_bytes(f"{request.stage} {request.bucket} {request.level} GLIBC_2.17".encode())
    return result_of(request)


def result_of(request):
    parameters = (("weight", "row-major"), ("bias", "row-major"))
    return SimpleNamespace(library=request.output, function=request.stage, parameters=parameters, seconds=0.5)


def fail_on_bert(request):
    if request.stage == "bert":
        raise ValueError("symbolic shape")
    return build(request)


def fail_on_bert_while_others_hang(request):
    if request.stage != "bert":
        time.sleep(120)
    raise ValueError("symbolic shape")


def die(request):
    os._exit(9)


@dataclass
class Recorder:
    """A progress that remembers, and that can do something when a library is done."""

    events: list[tuple[str, object]] = field(default_factory=list)
    when_finished: Callable[[], None] = lambda: None

    def planned(self, libraries):
        self.events.append(("planned", libraries))

    def started(self, library):
        self.events.append(("started", library))

    def finished(self, library, seconds, cached):
        self.events.append(("cached" if cached else "compiled", library))
        self.when_finished()

    def step(self, text):
        self.events.append(("step", text))

    def warning(self, text):
        self.events.append(("warning", text))

    def all(self, kind):
        return [what for name, what in self.events if name == kind]


@contextmanager
def threads(workers):
    """Workers that see the test's own stand-ins."""
    with ThreadPoolExecutor(workers) as pool:
        yield pool


def some_requests(directory: Path, stages=STAGE_NAMES):
    directory.mkdir(exist_ok=True)
    jobs = plan_jobs(stages, {"tokens": (8, 12), "frames": (40,)}, LEVELS)
    return {
        job: BuildRequest(
            "", None, job.stage, job.bucket, "", job.level.name, str(directory / f"{job}.so"), None
        )
        for job in jobs
    }


def compile_all(requests, build, cache=None, workers=2, pool=threads, **options):
    progress = Recorder()
    keys = {job: str(job).replace(" ", "-") for job in requests}
    compiled = compile_libraries(
        requests, keys, build, workers=workers, progress=progress, cache=cache, pool=pool, **options
    )
    return compiled, progress
