"""Exporting with stand-ins for torch, TVM and the model: failures, and what is left behind."""

from __future__ import annotations

import errno
import importlib.util
import re
from dataclasses import replace
from itertools import product
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from exporter.compiler.library import Weight
from exporter.compiler.link import LinkerMissingError
from exporter.compiler.precision import PrecisionError, check_device
from exporter.compiler.targets import TARGETS, find_target
from exporter.errors import ValidationFailedError
from exporter.export import assemble as contents
from exporter.export import native_files
from exporter.export import plan as plan_module
from exporter.export.jobs import StageError
from exporter.export.plan import ExportOptions, OptionError, Plan
from exporter.export.run import export_bundle
from exporter.model import checkpoint
from exporter.model import voice_packs as voices
from runtime_min.bundle_command.manifest_tables import as_text
from runtime_min.engine.machine import this_machine
from runtime_min.errors import OutputError
from runtime_min.format.arithmetic import EXTENSION as ARITHMETIC
from runtime_min.format.signatures import STAGE_NAMES, stage_names
from runtime_min.format.verify import read_manifest, verify_files
from tests.support.fakes.builds import LEVELS, Recorder, build, die, fail_on_bert, threads
from tests.support.files import bytes_of, fail_with

CONFIG = {"plbert": {"max_position_embeddings": 12}, "hidden_dim": 4, "style_dim": 2}


@pytest.fixture
def options(stand_ins, tmp_path):
    return ExportOptions(
        output=tmp_path / "bundles" / "demo",
        checkpoint="synthetic",
        target="linux-x86_64",
        text_buckets=(8, 12),
        frame_buckets=(40,),
        native=False,
        jobs=2,
        cache=tmp_path / "cache",
    )


@pytest.fixture
def stand_ins(monkeypatch, tmp_path):
    """Puts small stand-ins in the place of the model, its voices and the TVM package."""
    runtime = tmp_path / "tvm" / "lib" / "libtvm_runtime.so"
    runtime.parent.mkdir(parents=True)
    runtime.write_bytes(b"the runtime")
    header = tmp_path / "tvm" / "include" / "tvm" / "runtime" / "vm" / "executable.h"
    header.parent.mkdir(parents=True)
    header.write_text('#pragma once\n#define VM_VERSION "0.14"\n')
    loaded = SimpleNamespace(
        **{"name": "synthetic", "source": "synthetic", "synthetic": True, "path": Path("model.pth")},
        **{"config": CONFIG, "config_path": Path("config.json"), "vocabulary": {"a": 1}},
        **{"sha256": "0" * 64, "config_sha256": "1" * 64, "rounded": {}},
    )
    voice = np.ones((10, 4), np.float32)
    monkeypatch.setattr(checkpoint, "load", lambda source, config: loaded)
    monkeypatch.setattr(voices, "load_voices", lambda source, checkpoint: {"af_heart": voice})
    monkeypatch.setattr(contents, "stage_parameters", parameters)
    monkeypatch.setattr(contents, "_tvm_directory", lambda: tmp_path / "tvm")


def parameters(checkpoint, stage, stored):
    return [
        Weight(f"{stage}.weight", np.arange(6, dtype=np.float32).reshape(2, 3)),
        Weight(f"{stage}.bias", np.zeros(3, np.float32)),
    ]


def run(options, build=build, progress=None):
    return export_bundle(options, progress or Recorder(), build=build, pool=threads)


def left_behind(options):
    parent = options.output.parent
    return sorted(path.name for path in parent.iterdir()) if parent.exists() else []


class TestExport:
    def test_the_bundle_holds_what_was_asked_for(self, options):
        path = run(options)
        manifest = read_manifest(path)
        verify_files(path, manifest)
        assert [stage.name for stage in manifest.stages] == list(STAGE_NAMES)
        for stage in manifest.stages:
            assert [(library.level, library.bucket) for library in stage.libraries] == [
                (level.name, bucket)
                for level in LEVELS
                for bucket in (options.text_buckets if stage.axis == "tokens" else options.frame_buckets)
            ]
            assert stage.parameters == (f"{stage.name}.weight", f"{stage.name}.bias")
            for library in stage.libraries:
                content = (path / library.file).read_text()
                assert content.startswith(f"{stage.name} {library.bucket} {library.level} ")
        assert manifest.model.synthetic
        assert manifest.max_phonemes == 10
        assert manifest.versions.vm == "0.14"
        assert manifest.target.minimum_os == "glibc 2.28"

    def test_another_arithmetic_has_a_decoder_of_its_own_and_shares_all_else(self, options):
        path = run(replace(options, arithmetic="bfloat16"))
        manifest = read_manifest(path)
        verify_files(path, manifest)
        levels = find_target("linux-x86_64").arithmetic_levels
        assert [each.name for each in manifest.target.levels] == [each.name for each in (*LEVELS, *levels)]
        assert manifest.extensions[ARITHMETIC] == {level.name: "bfloat16" for level in levels}
        for level, stage in product(levels, manifest.stages):
            own, shared = stage.buckets(level.name), stage.buckets(level.base)
            assert own.keys() == shared.keys()
            if stage.name == "decoder":
                assert all(each.file.startswith(f"lib/{level.name}/") for each in own.values())
            else:
                assert [each.file for each in own.values()] == [each.file for each in shared.values()]
        assert ARITHMETIC not in read_manifest(run(options)).extensions

    def test_it_has_the_c_library_where_that_can_be_built(self, options, monkeypatch):
        monkeypatch.setattr(
            native_files, "build_library", lambda target, path: path.write_bytes(b"a library")
        )
        path = run(replace(options, native=None))
        manifest = read_manifest(path)
        verify_files(path, manifest)
        assert {"native/kokoro.h", "native/libkokoro.so"} <= {entry.path for entry in manifest.files}
        assert (path / "native" / "libkokoro.so").read_bytes() == b"a library"
        assert "cc -I native app.c native/libkokoro.so" in (path / "README.txt").read_text()
        assert "ziglang" in manifest.materials.packages
        assert re.search(
            r"C library +native/kokoro.h, native/libkokoro.so", as_text(manifest, this_machine())
        )

    @pytest.mark.parametrize("zig", [True, False])
    def test_it_tells_how_to_add_a_c_library_that_is_left_out(self, options, monkeypatch, zig):
        found = importlib.util.find_spec
        monkeypatch.setattr(
            importlib.util, "find_spec", lambda name: found(name) if zig or name != "ziglang" else None
        )
        progress = Recorder()
        path = run(replace(options, native=False if zig else None), progress=progress)
        assert not (path / "native").exists()
        assert "kokoro-export[cross]" in (path / "README.txt").read_text()
        (line,) = [step for step in progress.all("step") if "C library" in step] or [None]
        assert (line is None) if zig else "pip install 'kokoro-export[cross]'" in line
        if not zig:
            with pytest.raises(LinkerMissingError, match="needs zig"):
                run(replace(options, native=True), build=die)

    def test_a_part_for_development_has_no_c_library(self, options):
        assert not (run(replace(options, native=None, stages=("bert",))) / "native").exists()

    def test_the_same_export_gives_the_same_bytes_with_and_without_the_cache(self, options, tmp_path):
        progress = Recorder()
        first = run(options, progress=progress)
        assert any("babbles" in warning for warning in progress.all("warning"))
        again = run(replace(options, output=tmp_path / "again"), build=die)
        fresh = run(replace(options, output=tmp_path / "fresh", cache=None))
        assert bytes_of(first) == bytes_of(again) == bytes_of(fresh)

    def test_a_part_of_the_stages_makes_a_partial_bundle(self, options):
        # The small bucket for frames is a GPU's.
        options = replace(options, stages=("decoder", "bert"), cpu_level="x86-64-v3", frame_buckets=None)
        manifest = read_manifest(run(options))
        assert [stage.name for stage in manifest.stages] == ["bert", "decoder"]
        assert [level.name for level in manifest.target.levels] == ["x86-64-v3"]
        assert [library.bucket for library in manifest.stages[1].libraries] == [5120]

    def test_a_bundle_for_another_machine_carries_that_machines_runtime(self, options, monkeypatch, tmp_path):
        found = tmp_path / "libtvm_runtime.so"
        found.write_bytes(b"another machine's runtime")
        given = tmp_path / "wheel"
        monkeypatch.setattr(
            plan_module,
            "runtime_libraries",
            lambda target, named: {found.name: found} if named == given else None,
        )
        path = run(replace(options, target="linux-aarch64", runtime_library=given))
        manifest = read_manifest(path)
        assert (path / manifest.runtime_library).read_bytes() == found.read_bytes()
        assert (manifest.target.name, manifest.target.machine) == ("linux-aarch64", "aarch64")
        assert [level.name for level in manifest.target.levels] == ["armv8-a"]

    def test_a_bundle_for_a_gpu_has_a_separate_source_a_small_bucket_too_and_that_gpus_runtime(
        self, options, tmp_path
    ):
        runtime = tmp_path / "tvm" / "lib" / "libtvm_runtime_cuda.so"
        runtime.write_bytes(b"the runtime of CUDA")
        compiled = []

        def remembering(job, *arguments):
            compiled.append(job)
            return build(job, *arguments)

        lstms = {"duration", "text_encoder"}
        options = replace(options, target="cuda-linux", frame_buckets=None)
        for device, moved, again in (
            ("cpu", {"decoder"}, set(stage_names(separate_source=True))),
            ("cuda", {"decoder", *lstms}, lstms),
        ):
            compiled.clear()
            path = run(replace(options, lstm_device=device), remembering)
            manifest = read_manifest(path)
            assert tuple(stage.name for stage in manifest.stages) == stage_names(separate_source=True)
            devices = {stage.name: stage.device for stage in manifest.stages}
            assert {stage for stage, device in devices.items() if device == "cuda"} == moved
            # Libraries for another device are other entries of the cache.
            assert {job.stage for job in compiled} == again
            assert all(job.device == devices[job.stage] for job in compiled)
            buckets = {library.bucket for stage in manifest.stages for library in stage.libraries}
            assert buckets == {8, 12, 512, 5120}
            assert set(manifest.device_libraries) == {"cuda"}
            assert (path / manifest.device_libraries["cuda"]).read_bytes() == runtime.read_bytes()

    def test_libraries_for_an_app_that_brings_the_runtime_come_without_one(self, options):
        path = run(replace(options, target="metal-ios", stages=("bert", "decoder")))
        manifest = read_manifest(path)
        assert (manifest.runtime_library, manifest.device_libraries) == ("", {})
        assert [(stage.name, stage.device) for stage in manifest.stages] == [
            ("bert", "cpu"),
            ("source", "cpu"),
            ("decoder", "metal"),
        ]

    def test_a_bundle_for_ios_has_one_module_and_its_identity(self, options, monkeypatch):
        def link(libraries, work):
            module = work / "Kokoro"
            module.write_bytes(b"kokoro-module " + b"5" * 64)
            return [replace(library, path=module) for library in libraries]

        monkeypatch.setattr("exporter.export.run.linked_modules", link)
        path = run(replace(options, target="ios-arm64", native=None, frame_buckets=None))
        manifest = read_manifest(path)
        folder = "native/Kokoro.framework"
        assert manifest.module == (folder, "5" * 64) and "module" in manifest.requires
        libraries = [library for stage in manifest.stages for library in stage.libraries]
        assert {library.file for library in libraries} == {f"{folder}/Kokoro"}
        assert max(library.bucket for library in libraries) == 1280
        # Nothing of it is stored as for the web.
        assert (manifest.runtime_library, manifest.transforms) == ("", {})
        assert (path / folder / "Headers" / "kokoro.h").is_file()
        assert "SpeechBundle" in (path / "README.txt").read_text(encoding="utf-8")

    def test_what_was_measured_on_the_bundle_is_in_its_manifest(self, options):
        def measure(plan, progress, bundle):
            progress.step("measured")
            return {"level": plan.levels[0].name, "files": len(read_manifest(bundle).files)}

        assert read_manifest(run(options)).parity == {"validated": False, "why not": "--no-validate"}
        progress = Recorder()
        manifest = read_manifest(export_bundle(options, progress, measure=measure, build=build, pool=threads))
        assert manifest.parity == {"level": "x86-64-v4", "files": len(manifest.files)}
        assert "measured" in progress.all("step")

    def test_the_voices_are_measured_whether_or_not_the_bundle_is_compared(self, options):
        def loudness(plan, progress, bundle):
            assert read_manifest(bundle).voices
            return dict.fromkeys(plan.voices, -2_000)

        for measure in (None, lambda *given: {"validated": True}):
            given = {"measure": measure, "loudness": loudness, "build": build, "pool": threads}
            manifest = read_manifest(export_bundle(options, Recorder(), **given))
            assert manifest.extensions["loudness"] == {voice.name: -2_000 for voice in manifest.voices}

    def test_the_plan_is_told_before_a_library_is_compiled(self, options):
        done = []

        def recorded(job, path, dump):
            done.append(job.stage)
            return build(job, path)

        def planned(plan):
            done.append(f"{len(plan.jobs)} planned")

        export_bundle(options, Recorder(), planned=planned, build=recorded, pool=threads)
        assert done[0] == f"{len(done) - 1} planned" and len(done) > 1

    def test_a_library_that_needs_a_newer_libc_raises_what_the_bundle_needs(self, options):
        def newer(job, path, dump):
            library = build(job, path)
            path.write_bytes(b"GLIBC_2.38\0")
            return library

        assert read_manifest(run(options, newer)).target.minimum_os == "glibc 2.38"

    def test_a_library_with_other_parameters_than_the_bundle_is_refused(self, options):
        def other(*arguments):
            return replace(build(*arguments), parameters=(("weight", "packed"),))

        with pytest.raises(StageError, match=r"expected .*bert\.weight.*found .*packed.*--no-cache"):
            run(options, other)
        assert left_behind(options) == []

    def test_every_library_has_a_directory_of_its_own_for_its_dump_and_is_compiled(self, options, tmp_path):
        dumps = []

        def dumping(job, path, dump):
            dumps.append(dump)
            return build(job, path)

        for _ in range(2):
            run(replace(options, dump_ir=tmp_path / "ir"), dumping)
        assert len(dumps) == 2 * len(set(dumps))
        assert all(dump.parent == tmp_path / "ir" for dump in dumps)


class TestFailure:
    def test_a_place_that_cannot_be_written_is_named(self, options, tmp_path):
        (tmp_path / "file").write_text("")
        with pytest.raises(OutputError, match=r"file/demo cannot be written: File exists.*another directory"):
            run(replace(options, output=tmp_path / "file" / "demo"), die)

    def test_a_place_for_the_dump_that_cannot_be_written_is_named_at_once(self, options, tmp_path):
        (tmp_path / "file").touch()
        with pytest.raises(OutputError, match="file/ir cannot be written: Not a directory"):
            run(replace(options, dump_ir=tmp_path / "file" / "ir"), die)

    def test_a_full_temporary_directory_is_not_called_the_output(self, options, monkeypatch):
        error = OSError(errno.ENOSPC, "No space left on device")
        monkeypatch.setattr("tempfile.mkdtemp", fail_with(error))
        with pytest.raises(OutputError, match=r"No space left .*TMPDIR"):
            run(options)
        assert left_behind(options) == []

    def test_an_earlier_bundle_is_named_before_anything_is_compiled(self, options):
        progress = Recorder()
        run(options, progress=progress)
        assert not any("will replace" in step for step in progress.all("step"))
        with pytest.raises(StageError):
            run(replace(options, cache=None), fail_on_bert, progress=progress)
        assert any("will replace" in step for step in progress.all("step"))

    def test_a_failure_leaves_nothing_or_the_earlier_bundle_as_it_was(self, options):
        def refuse(plan, progress, bundle):
            raise ValidationFailedError("what to do")

        with pytest.raises(StageError):
            run(options, fail_on_bert)
        assert left_behind(options) == []
        before = bytes_of(run(options))
        with pytest.raises(StageError):
            run(replace(options, cache=None), fail_on_bert)
        with pytest.raises(ValidationFailedError):
            export_bundle(options, Recorder(), measure=refuse, build=build, pool=threads)
        assert bytes_of(options.output) == before
        assert left_behind(options) == ["demo"]

    def test_an_interruption_leaves_nothing_and_the_next_export_goes_on(self, options):
        def interrupt():
            raise KeyboardInterrupt

        progress = Recorder()
        progress.when_finished = lambda: interrupt() if len(progress.all("compiled")) == 3 else None
        with pytest.raises(KeyboardInterrupt):
            run(options, progress=progress)
        assert left_behind(options) == []
        again = Recorder()
        run(options, progress=again)
        assert len(again.all("cached")) == 3


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"stages": ("bert", "vocoder")}, r"--stages: expected some of bert, .*, found vocoder"),
        ({"stages": ()}, r"--stages: .* found nothing"),
        ({"text_buckets": (2, 8)}, r"--text-buckets: expected ascending lengths from 3, .* found 2,8"),
        ({"text_buckets": (12, 8)}, r"--text-buckets: .* found 12,8"),
        ({"text_buckets": (8, 8)}, r"--text-buckets: .* found 8,8"),
        (
            {"text_buckets": (8, 13)},
            r"--text-buckets: expected ascending lengths from 3 to 12, .* found 8,13",
        ),
        ({"frame_buckets": ()}, r"--frame-buckets: .* found nothing"),
        ({"frame_buckets": (40, 1 << 20)}, r"--frame-buckets: .* to 65536, .* found 40,1048576"),
        *(
            (
                {"precision": name},
                rf"--precision: expected one of float32, float16, int8, found '{re.escape(name)}'",
            )
            for name in ("", "Float16", "float16,float32", "bfloat16", "float64", "../float16")
        ),
        ({"jobs": 0}, r"--jobs: expected 1 or more, found 0"),
        ({"lstm_device": "cuda"}, "--lstm-device: expected cpu for linux-x86_64, found 'cuda'"),
        (
            {"target": "cuda-linux", "lstm_device": "metal"},
            r"--lstm-device: expected cpu or cuda for .*, found 'metal'",
        ),
    ],
)
def test_options_that_make_no_sense_are_refused_before_anything_is_compiled(options, changes, message):
    with pytest.raises(OptionError, match=message):
        run(replace(options, **changes), die)
    assert left_behind(options) == []


@pytest.mark.parametrize("target", TARGETS, ids=lambda target: target.name)
def test_a_bundle_is_as_small_by_default_as_its_device_can_read(options, target):
    check_device(target.precision, target.device)
    plan = Plan(options, SimpleNamespace(config=CONFIG), target, target.levels, {})
    assert plan.precision == target.precision == ("float32" if target.device == "cuda" else "float16")
    assert {job.precision for job in plan.jobs} == {plan.stored.precision} == {plan.precision}
    assert replace(plan, options=replace(options, precision="float32")).precision == "float32"


def test_a_device_that_cannot_read_a_precision_is_refused_before_anything_is_compiled(options):
    with pytest.raises(PrecisionError, match="--precision float32"):
        run(replace(options, target="cuda-linux", precision="float16"), die)
    assert left_behind(options) == []


def test_numbers_that_float16_does_not_hold_on_the_web_are_refused(options, monkeypatch):
    def halves(*of):
        return [Weight(each.name, np.full(each.values.shape, -64, np.float16)) for each in parameters(*of)]

    monkeypatch.setattr(contents, "stage_parameters", halves)
    monkeypatch.setattr("exporter.export.run.linked_modules", lambda libraries, work: libraries)
    with pytest.raises(PrecisionError, match=r"bert.weight reach 64: .* less than 64 .* --precision float32"):
        run(replace(options, target="web", native=None))
    assert left_behind(options) == []
