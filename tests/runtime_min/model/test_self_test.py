"""A bundle compares itself with what kokoro said: in the right row, and whatever the bundle claims."""

from __future__ import annotations

import copy
import json
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import asdict
from itertools import product
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest

from exporter.bundle.write import write_bundle
from runtime_min.errors import ManifestError
from runtime_min.format.manifest import Manifest
from runtime_min.format.verify import read_manifest
from runtime_min.model.self_test import (
    ARITHMETIC_CHECKS,
    EXTENSION,
    NoSelfTestError,
    SelfTestFailedError,
    read_self_test,
)
from tests.support.fuzzing.bundles import damaged_document
from tests.support.fuzzing.manifest_changes import Change, assign
from tests.support.tiny.bundle import MAX_PHONEMES, contents, dummy_contents
from tests.support.tiny.model import compiled_libraries
from tests.support.tiny.runtime_alone import environment, run_alone
from tests.support.tiny.self_test import extension, give, give_its_own, made_up, rewrite, stored

FRAMES = [2, 1, 3, 4, 2, 5, 1]

# What a bundle may say.


@pytest.fixture(scope="module")
def manifest(tmp_path_factory: pytest.TempPathFactory) -> Manifest:
    """The manifest of a bundle that has a sound self-test, and that nothing can load."""
    directory = tmp_path_factory.mktemp("self_test")
    bundle = write_bundle(directory / "bundle", dummy_contents(directory))
    tensors = made_up(FRAMES)
    give(bundle, extension(tensors, FRAMES), stored(tensors))
    return read_manifest(bundle)


def test_what_was_written_is_read(manifest: Manifest) -> None:
    test = read_self_test(manifest)
    assert json.loads(json.dumps(asdict(test))) == manifest.extensions[EXTENSION]


def test_checks_of_an_arithmetic_take_the_place_of_those_of_the_audio(manifest: Manifest) -> None:
    usual = read_self_test(manifest)
    own = [{**asdict(usual.checks[-1]), "stages": [], "limit": 0.5}]
    entries = {**manifest.extensions, ARITHMETIC_CHECKS: {"bfloat16": own}}
    found = read_self_test(manifest._replace(extensions=entries), "bfloat16")
    before = [check for check in usual.checks if check.stages and check.stages[-1] != "decoder"]
    assert len(before) < len(usual.checks)
    assert found.checks[:-1] == tuple(before)
    assert asdict(found.checks[-1]) == {**own[0], "stages": ()}
    assert read_self_test(manifest._replace(extensions=entries)) == usual
    for wrong in ({}, {"bfloat16": []}, {"bfloat16": [{**own[0], "output": "hidden"}]}, {"bfloat16": [1]}):
        entries[ARITHMETIC_CHECKS] = wrong
        with pytest.raises(ManifestError, match=ARITHMETIC_CHECKS):
            read_self_test(manifest._replace(extensions=entries), "bfloat16")


WRONG: list[tuple[str, Change]] = [
    ("missing", lambda document: document.pop("seed")),
    ("unknown", assign("offset", 0)),
    ("phonemes", assign("phonemes", "abc x")),
    ("phonemes", assign("phonemes", "")),
    ("phonemes", assign("phonemes", "a" * (MAX_PHONEMES + 1))),
    ("phonemes", assign("phonemes", 7)),
    ("seed", assign("seed", -1)),
    ("seed", assign("seed", 1 << 64)),
    ("frames", assign("frames", FRAMES[:-1])),
    ("frames", assign("frames", 0, 0)),
    ("frames", assign("frames", 0, -3)),
    ("frames", assign("frames", 0, (1 << 64) - 1)),
    ("frames", assign("frames", 0, 60_000)),
    ("frames", assign("frames", "2134251")),
    ("file", assign("file", "../self_test.bin")),
    ("file", assign("file", "/etc/passwd")),
    ("file", assign("file", "nothing.bin")),
    ("file", assign("file", "parameters.bin")),
    ("file", assign("frames", 0, 3)),
    ("tensors", assign("tensors", [])),
    ("tensors", assign("tensors", 0, "hidden")),
    ("tensors", assign("tensors", 1, "nonsense")),
    ("tensors", assign("tensors", 7, "token_ids")),
    ("tensors", assign("tensors", 7, {"name": "f0.exact", "offset": -64})),
    ("tensors", lambda document: document["tensors"].remove("audio")),
    ("file", lambda document: document["tensors"].append("energy.exact")),
    ("checks", assign("checks", [])),
    ("stages", assign("checks", 0, "stages", ["vocoder"])),
    ("stages", assign("checks", 0, "stages", ["bert"] * 3)),
    ("output", assign("checks", 0, "output", "audio")),
    ("output", assign("checks", 0, "stages", [])),
    ("reference", assign("checks", 0, "reference", "text")),
    ("reference", assign("checks", 0, "reference", "hidden.exact")),
    ("measure", assign("checks", 0, "measure", "correlation")),
    ("measure", assign("checks", 0, "measure", "turned phases")),
    ("limit", assign("checks", 0, "limit", "1e-5")),
    ("limit", assign("checks", 0, "limit", True)),
]


@pytest.mark.parametrize(("place", "damage"), WRONG)
def test_every_rule_is_checked_before_anything_is_read(
    manifest: Manifest, place: str, damage: Change
) -> None:
    document = copy.deepcopy(manifest.extensions[EXTENSION])
    assert isinstance(document, dict)
    damage(document)
    with pytest.raises(ManifestError, match=rf"extensions\.self_test(.|\n)*{place}"):
        read_self_test(manifest._replace(extensions={EXTENSION: document}))


@pytest.mark.parametrize("document", [[], "self-test", 5, True, {}])
def test_something_else_than_a_self_test_is_refused(manifest: Manifest, document: Any) -> None:
    with pytest.raises(ManifestError, match="self_test"):
        read_self_test(manifest._replace(extensions={EXTENSION: document}))


def test_a_bundle_without_one_says_why(manifest: Manifest) -> None:
    with pytest.raises(NoSelfTestError, match="--no-validate") as caught:
        read_self_test(manifest._replace(extensions={}))
    assert caught.value.exit_code == 3


# Speaking.


@pytest.fixture(scope="module")
def tested(speaking_bundle: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A bundle that speaks and has a self-test; never to be written to."""
    directory = tmp_path_factory.mktemp("tested")
    return give_its_own(Path(shutil.copytree(speaking_bundle, directory / "bundle")), directory)


@pytest.fixture(scope="module")
def apart(tmp_path_factory: pytest.TempPathFactory, speaking_bundle: Path) -> Path:
    """The same with the harmonic source as a stage of its own."""
    directory = tmp_path_factory.mktemp("apart")
    libraries = compiled_libraries(directory, "no-stage=metal")
    runtime = speaking_bundle / read_manifest(speaking_bundle).runtime_library
    bundle = write_bundle(directory / "bundle", contents(libraries, runtime, device_libraries={}))
    return give_its_own(bundle, directory, separate_source=True)


RUN = """
from runtime_min import Bundle
bundle = Bundle.load(sys.argv[1])
result = []
for name, defect in {cases!r}:
    if name:
        runner, change = bundle.stage(name), eval("lambda values: " + defect)
        sound = runner.run
        runner.run = lambda *given, **more: {{
            key: change(values) for key, values in sound(*given, **more).items()
        }}
    rows = bundle.self_test()
    result.append([[stages, figure.name, figure.value, figure.holds] for stages, figure in rows])
    if name:
        runner.run = sound
"""
SOUND = ("", "")
STAGES = ("bert", "duration", "text_encoder", "f0n", "decoder")
DEFECTS = {
    "slightly off": "(values * 1.001).astype('float32')",
    "not a number": "(values * float('nan')).astype('float32')",
}
DEFECTIVE_SOURCE = ("source", "values * values.dtype.type(1.01)")
Case = tuple[str, str]
"""A stage and a change of its outputs."""
Rows = list[tuple[str, str, float, bool]]


def rows_of(bundle: Path, cases: Sequence[Case]) -> dict[Case, Rows]:
    """The figures of the self-test in each case, from one process: its start takes most of the time."""
    found = run_alone(bundle, RUN.format(cases=cases))
    return {case: [tuple(row) for row in rows] for case, rows in zip(cases, found, strict=True)}


@pytest.fixture(scope="module")
def rows(tested: Path) -> dict[Case, Rows]:
    return rows_of(tested, [SOUND, *product(STAGES, DEFECTS.values())])


@pytest.fixture(scope="module")
def rows_apart(apart: Path) -> dict[Case, Rows]:
    return rows_of(apart, [SOUND, DEFECTIVE_SOURCE])


def test_a_sound_bundle_holds_in_every_row(rows: dict[Case, Rows]) -> None:
    found = rows[SOUND]
    assert [stages for stages, *_ in found] == [
        *("bert", "duration", "duration", "text_encoder", "f0n", "f0n", "decoder"),
        *["whole chain"] * 3,
    ]
    assert all(holds for *_, holds in found)
    assert found[-3][1:3] == ("durations that differ", 0)


def test_a_source_of_its_own_is_judged_alone_and_with_what_follows(rows_apart: dict[Case, Rows]) -> None:
    found = rows_apart[SOUND]
    assert {"source", "decoder", "source, decoder", "whole chain"} <= {stages for stages, *_ in found}
    assert all(holds for *_, holds in found)


@pytest.mark.parametrize("defect", DEFECTS.values(), ids=DEFECTS.keys())
@pytest.mark.parametrize("name", STAGES)
def test_a_defective_stage_fails_in_its_row_and_in_no_other_stages(
    rows: dict[Case, Rows], name: str, defect: str
) -> None:
    found = rows[name, defect]
    missed = [stages for stages, *_, holds in found if not holds]
    own = [stages for stages, *_ in found if stages == name]
    assert missed[: len(own)] == own
    assert set(missed) == {name, "whole chain"}


def test_a_defective_source_fails_in_the_rows_that_it_is_part_of(rows_apart: dict[Case, Rows]) -> None:
    found = rows_apart[DEFECTIVE_SOURCE]
    assert {stages for stages, *_, holds in found if not holds} == {
        "source",
        "source, decoder",
        "whole chain",
    }


# The command.


def command(bundle: Path, *options: str) -> subprocess.CompletedProcess[str]:
    arguments = [sys.executable, str(bundle / "runtime_min.pyz"), "--self-test", *options]
    return subprocess.run(
        arguments, env=environment(), cwd=bundle.parent, capture_output=True, text=True, check=False
    )


def test_the_command_prints_a_row_for_each_figure_and_how_long_it_took(tested: Path) -> None:
    done = command(tested, "--threads", "1")
    assert done.returncode == 0, done.stderr
    first, *table, last = done.stdout.splitlines()
    assert first.startswith("tiny for here, baseline, on ") and first.endswith("1 threads")
    assert len(table) == 10 and all(row.endswith("ok") for row in table)
    assert last.startswith("This bundle matches kokoro: 10 figures, ") and last.endswith(" s.")


def test_damaged_parameters_end_the_command_with_a_code_of_their_own(tested: Path, tmp_path: Path) -> None:
    bundle = Path(shutil.copytree(tested, tmp_path / "bundle"))
    manifest = read_manifest(bundle)
    (lengths,) = (tensor for tensor in manifest.parameters.tensors if tensor.name == "lengths")
    parameters = np.fromfile(bundle / manifest.parameters.file, "<f4")
    # Only the stage duration has it; the digests are those of the damaged file.
    parameters[lengths.offset // 4] += 2
    parameters.tofile(bundle / manifest.parameters.file)
    rewrite(bundle, manifest)
    done = command(bundle)
    assert done.returncode == SelfTestFailedError.exit_code == 8
    missed = [row.split()[0] for row in done.stdout.splitlines() if row.endswith("MISSED")]
    assert missed == ["duration", "whole", "whole", "whole"]
    assert done.stderr == f"error: {SelfTestFailedError(4, 10)}\n"


def test_a_damaged_file_is_a_damaged_bundle(tested: Path, tmp_path: Path) -> None:
    bundle = Path(shutil.copytree(tested, tmp_path / "bundle"))
    path = bundle / read_self_test(read_manifest(bundle)).file
    data = bytearray(path.read_bytes())
    data[100] ^= 1
    path.write_bytes(data)
    done = command(bundle)
    assert done.returncode == 4 and "SHA-256" in done.stderr


def test_the_command_refuses_a_bundle_that_has_none(speaking_bundle: Path) -> None:
    done = command(speaking_bundle)
    assert (done.returncode, done.stderr) == (3, f"error: {NoSelfTestError()}\n")


def test_whatever_a_bundle_claims_ends_in_figures_or_a_typed_error(tested: Path, tmp_path: Path) -> None:
    sound = read_manifest(tested).extensions[EXTENSION]
    assert isinstance(sound, dict)
    documents = [damaged_document(Random(seed), copy.deepcopy(sound)) for seed in range(300)]
    # Extreme numbers in the place of kokoro's reach every stage.
    (tmp_path / "documents.json").write_text(json.dumps(documents))
    outcomes = run_alone(
        tested,
        f"""
        import json
        from runtime_min import Bundle
        from runtime_min.errors import KokoroError
        from runtime_min.model.self_test import run_self_test
        bundle = Bundle.load(sys.argv[1])
        result = {{}}
        for document in json.load(open({str(tmp_path / "documents.json")!r})):
            manifest = bundle.manifest._replace(extensions={{"self_test": document}})
            try:
                outcome = str(len(list(run_self_test(manifest, bundle._files, bundle._stages))) > 0)
            except KokoroError as error:
                outcome = type(error).__name__
            result[outcome] = result.get(outcome, 0) + 1
        """,
    )
    assert set(outcomes) <= {"True", "ManifestError", "UnknownPhonemesError"}
    assert outcomes["True"] > 10 and outcomes["ManifestError"] > 100


@pytest.mark.parametrize("value", [np.nan, np.inf, 0.0, 3e38])
def test_whatever_numbers_a_bundle_holds_every_figure_is_shown(
    tested: Path, tmp_path: Path, value: float
) -> None:
    bundle = Path(shutil.copytree(tested, tmp_path / "bundle"))
    manifest = read_manifest(bundle)
    test = read_self_test(manifest)
    size = (bundle / test.file).stat().st_size
    give(bundle, manifest.extensions[EXTENSION], np.full(size // 4, value, "<f4").tobytes())
    done = command(bundle)
    assert done.returncode == 8, done.stderr
    assert len(done.stdout.splitlines()) == 11
    assert done.stderr.startswith("error: ") and done.stderr.count("\n") == 1
