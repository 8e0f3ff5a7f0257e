"""Stand-ins for torch and TVM in an export: a build that is done at once, and those that fail."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace

from exporter.compiler.targets import find_target
from exporter.export.jobs import compile_libraries
from exporter.export.plan import ExportOptions, Plan
from runtime_min.format.signatures import STAGE_NAMES
from tests.support.fakes.worker_builds import build

TARGET = find_target("linux-x86_64")
LEVELS = TARGET.levels


def fail_on_bert(job, path, dump):
    if job.stage == "bert":
        raise ValueError("symbolic shape")
    return build(job, path)


def fail_on_bert_while_others_hang(job, path, dump):
    if job.stage != "bert":
        time.sleep(120)
    raise ValueError("symbolic shape")


def hang(job, path, dump):
    Path(tempfile.gettempdir(), f"pid.{os.getpid()}").touch()
    time.sleep(120)


def die(job, path, dump):
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


def some_jobs(stages=STAGE_NAMES):
    """The jobs of an export with two buckets along tokens and one along frames."""
    config = {"hidden_dim": 4, "style_dim": 2, "plbert": {"max_position_embeddings": 12}}
    options = ExportOptions(Path(), stages=stages, text_buckets=(8, 12), frame_buckets=(40,))
    return Plan(options, SimpleNamespace(config=config), TARGET, LEVELS, {}).jobs


def compile_all(jobs, directory, build, cache=None, workers=2, pool=threads, **options):
    """Returns the libraries, and the events of compiling them."""
    progress = Recorder()
    compiled = compile_libraries(
        jobs, directory, build, workers=workers, progress=progress, cache=cache, pool=pool, **options
    )
    return compiled, progress
