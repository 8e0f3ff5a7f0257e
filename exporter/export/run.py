"""An export: plan, compile every stage, bucket and level, write the bundle."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from exporter import directories
from exporter.bundle.statistics import statistics_files
from exporter.bundle.write import ExtensionFiles, Parity, not_validated, write_bundle
from exporter.compiler.library import CompiledLibrary
from exporter.export.jobs import Build, Pool, compile_libraries, worker_processes
from exporter.export.library_cache import LibraryCache, compiler_facts
from exporter.export.native_files import linked_modules, native_files
from exporter.export.plan import ExportOptions, Plan, make_plan
from exporter.progress import Progress
from exporter.text.files import text_files
from runtime_min.errors import OutputError
from runtime_min.output.staging import check_destination

if TYPE_CHECKING:
    from exporter.model.voice_packs import NormStatistics


def export_bundle(
    options: ExportOptions,
    progress: Progress,
    *,
    measure: Callable[[Plan, Progress, Path], Parity] | None = None,
    self_test: Callable[[Plan, Progress], ExtensionFiles | None] | None = None,
    loudness: Callable[[Plan, Progress, Path], Mapping[str, int]] | None = None,
    statistics: Callable[[Plan, Progress], Mapping[str, NormStatistics]] | None = None,
    planned: Callable[[Plan], None] | None = None,
    build: Build | None = None,
    pool: Pool = worker_processes,
) -> Path:
    """Exports a bundle and returns its directory.

    Args:
        options: the inputs and the destination of the export.
        progress: takes the events of the export.
        measure: validates the finished bundle, as `parity.publish.Gate` does; its numbers go into the
            manifest. None records that it was left out by option.
        self_test: makes the files of the bundle's self-test. None leaves it out.
        loudness: measures the voices of the finished bundle. None leaves it out.
        statistics: takes the statistics of the voices. None leaves them out.
        planned: called with the plan before the first library is compiled.
        build: compiles one library; by default `exporter.compiler.compile_stage.compile_stage`.
        pool: makes the workers that compile.

    Raises:
        ExportError: the options cannot be exported; nothing new is at the destination.
        ValidationFailedError: the bundle misses a threshold.
        OutputError: the bundle could not be written.
    """
    if check_destination(Path(os.path.abspath(options.output))):
        progress.step(f"{options.output} holds a bundle, which the new one will replace")
    plan = make_plan(options, progress)
    if planned is not None:
        planned(plan)
    # TVM takes seconds to import.
    from exporter.export.assemble import bundle_contents

    with ExitStack() as stack:
        with _temporary_files_named():
            work = stack.enter_context(_temporary_files())
            libraries = _compile(plan, work, progress, build, pool)
            if plan.target.one_module:
                progress.step("link the module, which takes minutes the first time")
                libraries = linked_modules(libraries, work)
        contents = bundle_contents(plan, libraries).extended(text_files(options.languages))
        if plan.native:
            if not plan.target.one_module:
                progress.step("build the C library, which takes minutes the first time")
            contents = contents.extended(native_files(plan.target))
        if statistics is not None:
            parameters = [name for stage in contents.manifest.stages for name in stage.parameters]
            contents = contents.extended(statistics_files(parameters, statistics(plan, progress)))
        if self_test is not None and (test := self_test(plan, progress)) is not None:
            contents = contents.extended(test)
        heard = None if loudness is None else partial(loudness, plan, progress)
        if measure is None:
            progress.step("write the bundle, and do not validate it")
            manifest = contents.manifest._replace(parity=not_validated("--no-validate"))
            contents = replace(contents, manifest=manifest)
            return write_bundle(options.output, contents, measure_loudness=heard)
        progress.step("write the bundle, and compare it with kokoro before it is published")
        return write_bundle(options.output, contents, partial(measure, plan, progress), heard)


@contextmanager
def _temporary_files() -> Iterator[Path]:
    """Yields a directory for the temporary files of this process and of those that it starts."""
    variable, earlier = os.environ.get("TMPDIR"), tempfile.tempdir
    with directories.temporary("kokoro-export-") as work:
        os.environ["TMPDIR"] = tempfile.tempdir = str(work)
        try:
            yield work
        finally:
            tempfile.tempdir = earlier
            del os.environ["TMPDIR"]
            if variable is not None:
                os.environ["TMPDIR"] = variable


@contextmanager
def _temporary_files_named() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise OutputError(
            f"The libraries could not be compiled: {error}. That takes temporary files: make room for them, "
            "or name another directory in the variable TMPDIR."
        ) from error


def _compile(
    plan: Plan, work: Path, progress: Progress, build: Build | None, pool: Pool
) -> list[CompiledLibrary]:
    from exporter.compiler.compile_stage import compile_stage

    options = plan.options
    progress.planned(len(plan.jobs))
    return compile_libraries(
        plan.jobs,
        work,
        build or compile_stage,
        workers=options.jobs,
        progress=progress,
        cache=LibraryCache(options.cache, compiler_facts(plan.target)) if options.cache else None,
        dump=options.dump_ir,
        pool=pool,
    )
