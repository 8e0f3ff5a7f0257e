"""Compiling the libraries of an export with stand-ins: order, cache, workers that fail."""

from __future__ import annotations

import errno
import multiprocessing
import shutil
import threading
import time
from itertools import pairwise

import pytest

from exporter.errors import ExportError
from exporter.export.jobs import StageError, worker_processes
from exporter.export.library_cache import LibraryCache
from runtime_min.errors import OutputError
from runtime_min.format.signatures import STAGE_NAMES, signatures
from tests.support.fakes.builds import (
    LEVELS,
    build,
    compile_all,
    die,
    fail_on_bert,
    fail_on_bert_while_others_hang,
    some_jobs,
)


class TestPlan:
    def test_every_stage_bucket_and_level_is_compiled_once_the_longest_first(self):
        jobs = some_jobs()
        axes = {name: signature.axis for name, signature in signatures(1, 1).items()}
        buckets = {"tokens": (8, 12), "frames": (40,)}
        expected = {
            (stage, bucket, level)
            for stage in STAGE_NAMES
            for bucket in buckets[axes[stage]]
            for level in LEVELS
        }
        assert {(job.stage, job.bucket, job.level) for job in jobs} == expected
        assert len(jobs) == len(expected)
        assert jobs[0].stage == "decoder"
        for one, other in pairwise(jobs):
            assert one.stage != other.stage or one.bucket >= other.bucket


class TestCompiling:
    def test_libraries_come_in_the_order_of_the_jobs(self, tmp_path):
        compiled, _ = compile_all(some_jobs(), tmp_path, build, workers=4)
        assert [library.job for library in compiled] == some_jobs()
        for library in compiled:
            assert library.path.read_bytes().startswith(str(library.job).encode())

    def test_no_more_run_at_a_time_than_asked_for(self, tmp_path):
        running, most, lock = [0], [0], threading.Lock()

        def counted(*arguments):
            with lock:
                running[0] += 1
                most[0] = max(most[0], running[0])
            time.sleep(0.005)
            with lock:
                running[0] -= 1
            return build(*arguments)

        compile_all(some_jobs(), tmp_path, counted, workers=3)
        assert 1 <= most[0] <= 3

    def test_a_second_export_compiles_nothing(self, tmp_path):
        cache = LibraryCache(tmp_path / "cache")
        first, _ = compile_all(some_jobs(), tmp_path / "one", build, cache)
        second, progress = compile_all(some_jobs(), tmp_path / "two", die, cache)
        assert progress.all("started") == []
        assert len(progress.all("cached")) == len(first)
        assert [library.path.read_bytes() for library in first] == [
            library.path.read_bytes() for library in second
        ]

    def test_nothing_is_taken_from_the_cache_for_a_dump(self, tmp_path):
        cache = LibraryCache(tmp_path / "cache")
        compile_all(some_jobs(), tmp_path / "one", build, cache)
        _, progress = compile_all(some_jobs(), tmp_path / "two", build, cache, dump=tmp_path / "dump")
        assert progress.all("cached") == []

    def test_a_failing_stage_is_named_with_bucket_level_and_cause(self, tmp_path):
        with pytest.raises(
            StageError, match=r"bert, bucket 12, CPU level x86-64-v4 .*ValueError: symbolic shape"
        ) as error:
            compile_all(some_jobs(), tmp_path / "work", fail_on_bert, workers=1)
        assert "--stages bert" in str(error.value)

    def test_after_a_failure_the_next_export_goes_on_where_it_was(self, tmp_path):
        cache = LibraryCache(tmp_path / "cache")
        with pytest.raises(StageError):
            compile_all(some_jobs(), tmp_path / "one", fail_on_bert, cache, workers=1)
        _, progress = compile_all(some_jobs(), tmp_path / "two", build, cache)
        assert set(progress.all("cached")) == {
            f"{stage} 40 {level.name}" for stage in ("decoder", "f0n") for level in LEVELS
        }

    def test_errors_of_the_project_keep_their_own_words(self, tmp_path):
        def no_linker(*_):
            raise ExportError("No linker was found: install a C compiler.")

        with pytest.raises(StageError, match=r": No linker was found: install a C compiler\."):
            compile_all(some_jobs(), tmp_path / "work", no_linker, workers=1)

    def test_a_worker_without_room_is_a_full_disk(self, tmp_path):
        def full(*_):
            raise OSError(errno.ENOSPC, "No space left on device")

        with pytest.raises(OutputError, match=r"decoder 40 x86-64-v4.*No space left"):
            compile_all(some_jobs(), tmp_path / "work", full, workers=1)

    def test_a_cache_without_room_is_a_warning(self, tmp_path):
        (tmp_path / "cache").write_text("a file where the directory should be")
        compiled, progress = compile_all(
            some_jobs(), tmp_path / "work", build, LibraryCache(tmp_path / "cache")
        )
        assert len(progress.all("warning")) == len(compiled)


class TestWorkerProcesses:
    def test_the_others_are_stopped_at_once_when_one_fails(self, tmp_path):
        jobs = [job for job in some_jobs(("f0n", "bert")) if job.level == LEVELS[0] and job.bucket != 8]
        assert [job.stage for job in jobs] == ["f0n", "bert"]
        others = set(multiprocessing.active_children())
        with pytest.raises(StageError, match="symbolic shape"):
            compile_all(jobs, tmp_path, fail_on_bert_while_others_hang, pool=worker_processes)
        for worker in set(multiprocessing.active_children()) - others:
            # The one that hangs would take two minutes.
            worker.join(60)
            assert worker.exitcode is not None

    def test_a_worker_that_dies_of_a_full_temporary_directory_is_no_lack_of_memory(
        self, tmp_path, monkeypatch
    ):
        usage = shutil.disk_usage(tmp_path)._replace(free=4096)
        monkeypatch.setattr(shutil, "disk_usage", lambda path: usage)
        with pytest.raises(OutputError, match=r"decoder 40 x86-64-v4.*is full.*TMPDIR"):
            compile_all(some_jobs(("decoder",)), tmp_path, die, pool=worker_processes)

    def test_a_worker_that_dies_is_reported_with_its_job(self, tmp_path):
        with pytest.raises(StageError, match=r"decoder 40 x86-64-v4.*--jobs 1"):
            compile_all(some_jobs(("decoder",)), tmp_path, die, pool=worker_processes)
