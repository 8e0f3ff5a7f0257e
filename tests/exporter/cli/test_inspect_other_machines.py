"""A bundle of every target on every other machine: one sentence, which `inspect` shows beforehand."""

from __future__ import annotations

from pathlib import Path

import pytest

from exporter.bundle.write import write_bundle
from exporter.compiler.targets import TARGETS, Target, find_target
from runtime_min.bundle_command.manifest_tables import as_text
from runtime_min.engine.machine import Machine
from runtime_min.format import manifest
from runtime_min.format.verify import read_manifest
from runtime_min.speak_arguments import run as main
from tests.support.tiny.bundle import dummy_contents, with_entries, with_levels


def machine_of(target: Target, missing: frozenset[str] = frozenset()) -> Machine:
    """The oldest machine that runs the best level of a target, or one that lacks some features of it."""
    return Machine(
        target.system, target.machine, target.minimum_os, frozenset(target.levels[0].features) - missing
    )


def pairs() -> list[tuple[Target, Machine]]:
    """Every target with every other kind of machine."""
    kinds = {(target.system, target.machine): machine_of(target) for target in TARGETS}
    return [(target, machine) for target in TARGETS for machine in kinds.values() if not target.fits(machine)]


PAIRS = pairs()
LINUX = find_target("linux-x86_64")
V4, V3 = LINUX.levels


@pytest.fixture(scope="module")
def bundles(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A bundle of the tiny model for every target, by its name."""
    return {target.name: bundle_for(target, tmp_path_factory.mktemp(target.name)) for target in TARGETS}


def bundle_for(target: Target, place: Path) -> Path:
    levels = tuple(manifest.CpuLevel(level.name, level.features) for level in target.levels)
    made = with_levels(dummy_contents(place), levels)
    written = manifest.Target(
        target.name, target.triple, target.system, target.machine, target.minimum_os, levels
    )
    return write_bundle(place / "bundle", with_entries(made, target=written))


def inspected(bundle: Path, machine: Machine) -> str:
    """The output of `inspect` about a machine."""
    rest = as_text(read_manifest(bundle), machine).partition("\n  this machine ")[2]
    return " ".join(rest.partition("\n  made with ")[0].split())


@pytest.mark.parametrize(
    ("target", "machine"),
    PAIRS,
    ids=[f"{target.name} on {each.system}-{each.machine}" for target, each in PAIRS],
)
def test_a_bundle_on_another_machine_says_in_one_sentence_which_is_which(
    bundles: dict[str, Path],
    target: Target,
    machine: Machine,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
) -> None:
    monkeypatch.setattr("runtime_min.loading.this_machine", lambda: machine)
    output = tmp_path / "speech.wav"
    code = main([str(bundles[target.name]), "--phonemes", "a", "-o", str(output)])
    (line,) = capsys.readouterr().err.splitlines()
    assert code == 5
    assert f"This bundle is for {target.name} ({target.system} on {target.machine})" in line
    assert f"this machine is {machine.system} on {machine.machine}" in line
    assert not output.exists()
    assert line.removeprefix("error: ") in inspected(bundles[target.name], machine)


@pytest.mark.parametrize(
    ("missing", "expected"),
    [
        (frozenset(), f"takes {V4.name}"),
        (frozenset(V4.features) - set(V3.features), f"takes {V3.name}"),
        (frozenset({"avx512f"}), f"takes {V3.name}"),
        (frozenset({"avx512f", "fma"}), f"{V4.name} needs avx512f, fma; {V3.name} needs fma"),
    ],
    ids=["all features", "no avx512", "a part of avx512", "less than every level"],
)
def test_inspect_shows_the_level_that_a_machine_takes(
    bundles: dict[str, Path], missing: frozenset[str], expected: str
) -> None:
    assert expected in inspected(bundles[LINUX.name], machine_of(LINUX, missing))


def test_inspect_shows_what_rounding_does_apart_from_what_compiling_does(tmp_path: Path) -> None:
    figures = {"validated": True, f"{V4.name}: chain, dB": 41.5, f"{manifest.ROUNDING}decoder, dB": 46.25}
    made = with_levels(dummy_contents(tmp_path), (manifest.CpuLevel(V4.name, V4.features),))
    shown = as_text(
        read_manifest(write_bundle(tmp_path / "bundle", with_entries(made, parity=figures))),
        machine_of(LINUX),
    )
    assert "weights stored as float32, computed in float32" in " ".join(shown.split())
    compared, rounded = (
        shown.partition(f"\n{title}")[2].partition("\n\n")[0]
        for title in ("Compared with kokoro", "float32 compared with the original weights")
    )
    assert compared.split() == ["worst", "figure", V4.name, "chain,", "dB", "41.5"]
    assert rounded.split() == ["decoder,", "dB", "46.25"]
    assert manifest.ROUNDING not in shown
