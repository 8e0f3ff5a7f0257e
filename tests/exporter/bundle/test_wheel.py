"""A bundle as wheels: pip installs it, its name loads it, and what is damaged is refused as ever."""

from __future__ import annotations

import base64
import csv
import hashlib
import os
import re
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from packaging.metadata import Metadata
from packaging.tags import sys_tags
from packaging.utils import parse_wheel_filename
from typer.testing import CliRunner

from exporter.bundle.sign import sign_bundle
from exporter.bundle.wheel import platform_tag, write_wheels
from exporter.cli.main import app
from exporter.compiler.targets import TARGETS
from runtime_min import Bundle
from runtime_min.errors import (
    BundleError,
    DamagedFileError,
    DestinationExistsError,
    ManifestDigestError,
    MissingFileError,
    NotRegularFileError,
    SignatureError,
    UnexpectedFileError,
    UsageError,
)
from runtime_min.format.bundle_files import BundleFiles, part_names
from runtime_min.format.manifest import Target
from runtime_min.format.verify import read_manifest, sha256_of, verify_bundle
from tests.exporter.bundle.test_sign import make_key
from tests.support.paths import ROOT

NAME, MODULE = "Kokoro-Tiny.x", "kokoro_tiny_x"
PARAMETERS = "parameters.bin"


def installed(wheels: Sequence[Path], place: Path) -> Path:
    """Installs wheels into a folder as pip does, and returns it."""
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-index", "--no-deps", "--no-compile"]
    subprocess.run([*command, "--target", place, *wheels], check=True)
    return place


@pytest.fixture(scope="module")
def signed(speaking_bundle: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, bytes]:
    """A signed bundle, and the public key of its maker."""
    place = tmp_path_factory.mktemp("signed")
    shutil.copytree(speaking_bundle, place / "bundle")
    private, public = make_key(place, "key")
    sign_bundle(place / "bundle", private, place / "bundle.sig")
    return place / "bundle", public.read_bytes()


@pytest.fixture(scope="module", params=[10**9, None], ids=["one wheel", "parts"])
def wheels(
    request: pytest.FixtureRequest, signed: tuple[Path, bytes], tmp_path_factory: pytest.TempPathFactory
) -> list[Path]:
    most = request.param or least(signed[0])
    return write_wheels(
        signed[0], tmp_path_factory.mktemp("wheels"), name=NAME, version="1.2", most_bytes=most
    )


def least(bundle: Path) -> int:
    """The least size of wheels: what the bundle has besides its parameters."""
    manifest = read_manifest(bundle)
    parameters = (bundle / PARAMETERS).stat().st_size
    return manifest.content_bytes - parameters


def test_a_wheel_is_what_its_record_says(wheels: list[Path], tmp_path: Path) -> None:
    names = [parse_wheel_filename(path.name) for path in wheels]
    assert [str(name) for name, *_ in names] == [
        "kokoro-tiny-x",
        *(f"kokoro-tiny-x-part{n}" for n in range(1, len(wheels))),
    ]
    for path, (_, version, _, tags) in zip(wheels, names, strict=True):
        assert str(version) == "1.2" and tags & set(sys_tags())
        with zipfile.ZipFile(path) as wheel:
            assert wheel.testzip() is None
            (record,) = (each for each in wheel.namelist() if each.endswith("/RECORD"))
            rows = list(csv.reader(wheel.read(record).decode().splitlines()))
            assert [row[0] for row in rows] == wheel.namelist()
            for name, digest, size in rows[:-1]:
                content = wheel.read(name)
                hashed = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
                assert (digest, size) == (f"sha256={hashed}", str(len(content)))
            metadata = Metadata.from_email(wheel.read(record.replace("RECORD", "METADATA")), validate=True)
        if path == wheels[0]:
            needed = {each.name for each in metadata.requires_dist or ()}
            assert needed == {"kokoro-export-runtime", *(f"{NAME}-part{n}" for n in range(1, len(wheels)))}


def test_the_same_bundle_gives_the_same_bytes(signed: tuple[Path, bytes], tmp_path: Path) -> None:
    first, again = (
        write_wheels(signed[0], tmp_path / name, name=NAME, version="1", most_bytes=least(signed[0]))
        for name in ("a", "b")
    )
    assert [path.read_bytes() for path in first] == [path.read_bytes() for path in again]


def test_an_installed_bundle_is_found_by_its_name_and_writes_nothing(
    wheels: list[Path], signed: tuple[Path, bytes], tmp_path: Path
) -> None:
    place = installed(wheels, tmp_path / "site")
    bundle, key = signed
    program = "\n".join([
        "import os, sys",
        "def refuse(event, arguments):",
        "    writes = os.O_WRONLY | os.O_RDWR",
        "    if event == 'open' and isinstance(arguments[2], int) and arguments[2] & writes:",
        "        if str(arguments[0]).startswith(sys.argv[1]): raise SystemExit(f'wrote {arguments}')",
        "    if event in ('os.rename', 'os.mkdir', 'os.remove'): raise SystemExit(event)",
        "sys.addaudithook(refuse)",
        "from runtime_min import Bundle",
        "for name in ('kokoro-tiny-x', 'Kokoro_Tiny.X'):",
        "    with Bundle.load(name, key=bytes.fromhex(sys.argv[2]), manifest_sha256=sys.argv[3]) as bundle:",
        "        found = bundle.synthesize(phonemes='abc abc').samples",
        "assert 'kokoro_tiny_x' not in sys.modules",
        "print(str(bundle.directory), found.tobytes().hex())",
    ])  # fmt: skip
    pin = sha256_of(bundle / "manifest.msgpack")
    command = [sys.executable, "-c", program, str(place), key.hex(), pin]
    environment = {**os.environ, "PYTHONPATH": f"{place}:{ROOT}", "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(command, env=environment, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    directory, samples = done.stdout.split()
    assert Path(directory) == place / MODULE / "bundle"
    with Bundle.load(bundle) as expected:
        assert samples == expected.synthesize(phonemes="abc abc").samples.tobytes().hex()


def test_digest_and_signature_are_checked(
    wheels: list[Path], signed: tuple[Path, bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(installed(wheels, tmp_path / "site"))
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ManifestDigestError):
        Bundle.load(NAME, manifest_sha256="0" * 64)
    with pytest.raises(SignatureError):
        Bundle.load(NAME, key=make_key(tmp_path, "other")[1].read_bytes())
    runner = CliRunner()
    assert runner.invoke(app, ["verify", NAME, "--strict"]).exit_code == 0
    large = next((tmp_path / "site" / MODULE / "bundle").glob(f"{PARAMETERS}*"))
    large.write_bytes(bytes(large.stat().st_size))
    with pytest.raises(DamagedFileError, match=PARAMETERS):
        Bundle.load(NAME)
    # A directory of this name comes first.
    (tmp_path / NAME).mkdir()
    with pytest.raises(MissingFileError, match="not a bundle"):
        Bundle.load(NAME)


@pytest.mark.parametrize("name", ["nowhere-to-be-found", "numpy", "os", "__main__", "a..b", "x/y", "ü"])
def test_a_name_that_is_not_installed_is_no_bundle(name: str) -> None:
    with pytest.raises(MissingFileError):
        Bundle.load(name)


@given(st.lists(st.integers(0, 1 << 30), max_size=6), st.data())
def test_a_file_in_parts_is_the_file_or_is_refused(
    speaking_bundle: Path, tmp_path_factory: pytest.TempPathFactory, cuts: list[int], data: st.DataObject
) -> None:
    bundle = tmp_path_factory.mktemp("parts") / "bundle"
    shutil.copytree(speaking_bundle, bundle, symlinks=True)
    path = data.draw(st.sampled_from([PARAMETERS, "voices/am_adam.bin", "LICENSE"]))
    content = (bundle / path).read_bytes()
    (bundle / path).unlink()
    places = [0, *sorted(cut % (len(content) + 1) for cut in cuts), len(content)]
    names = [bundle / name for name, _ in zip(part_names(path), pairwise(places), strict=False)]
    for name, (start, end) in zip(names, pairwise(places), strict=True):
        name.write_bytes(content[start:end])
    damage = data.draw(st.sampled_from(["none", "flip", "lost", "longer", "directory", "whole too"]))
    hurt = data.draw(st.sampled_from(names))
    expected: type[BundleError] | None = None
    if damage == "flip" and (old := hurt.read_bytes()):
        hurt.write_bytes(bytes([old[0] ^ 1]) + old[1:])
        expected = DamagedFileError
    elif damage == "lost":
        lost = [name.read_bytes() for name in names[names.index(hurt) :]]
        hurt.unlink()
        expected = MissingFileError if hurt == names[0] else DamagedFileError if any(lost) else None
    elif damage == "longer":
        hurt.write_bytes(hurt.read_bytes() + b"x")
        expected = DamagedFileError
    elif damage == "directory":
        hurt.unlink()
        hurt.mkdir()
        expected = NotRegularFileError
    elif damage == "whole too":
        (bundle / path).write_bytes(content)
    if expected:
        with pytest.raises(expected):
            verify_bundle(bundle)
        return
    manifest = verify_bundle(bundle, ignored=()) if damage == "none" else verify_bundle(bundle)
    with BundleFiles(bundle) as files:
        files.expect(manifest)
        assert bytes(files.map(path)) == files.read(path) == content


@pytest.mark.parametrize("page", [True, False])
def test_parts_are_mapped_as_one_and_noticed_when_they_change(
    speaking_bundle: Path, tmp_path: Path, page: bool
) -> None:
    shutil.copytree(speaking_bundle, bundle := tmp_path / "bundle")
    path = max(verify_bundle(bundle).files, key=lambda entry: entry.bytes).path
    content = (bundle / path).read_bytes()
    size = 1 << 16 if page else 99_991
    (bundle / path).unlink()
    for name, start in zip(part_names(path), range(0, len(content), size), strict=False):
        (bundle / name).write_bytes(content[start : start + size])
    with BundleFiles(bundle) as files:
        files.expect(read_manifest(bundle))
        memory = files.map(path)
        assert bytes(memory) == content
        memory[0] = bytes([content[0] ^ 1])
        files.check_unchanged()
        assert (bundle / f"{path}.part1").read_bytes()[0] == content[0]
        with (bundle / f"{path}.part2").open("r+b") as file:
            file.truncate(5)
        with pytest.raises(BundleError):
            files.check_unchanged()


def test_what_is_no_part_is_not_listed(speaking_bundle: Path, tmp_path: Path) -> None:
    shutil.copytree(speaking_bundle, bundle := tmp_path / "bundle")
    for name in ("x.part1", "LICENSE.part0", "LICENSE.part100"):
        (bundle / name).write_bytes(b"")
        with pytest.raises(UnexpectedFileError, match=re.escape(name)):
            verify_bundle(bundle, ignored=())
        (bundle / name).unlink()


@pytest.mark.parametrize(
    ("name", "version", "most"),
    [("-x", "1.0", 10**9), ("a b", "1.0", 10**9), ("x", "one", 10**9), ("x", "1.0", 1), ("x", "1.0", 0)],
)
def test_what_makes_no_wheel_is_refused_and_nothing_is_written(
    speaking_bundle: Path, tmp_path: Path, name: str, version: str, most: int
) -> None:
    with pytest.raises(UsageError):
        write_wheels(speaking_bundle, tmp_path / "out", name=name, version=version, most_bytes=most)
    assert not list(tmp_path.iterdir())


def test_a_damaged_bundle_makes_no_wheel(speaking_bundle: Path, tmp_path: Path) -> None:
    shutil.copytree(speaking_bundle, bundle := tmp_path / "bundle")
    (bundle / PARAMETERS).write_bytes(bytes((bundle / PARAMETERS).stat().st_size))
    for most in (10**9, least(bundle)):
        with pytest.raises(DamagedFileError):
            write_wheels(bundle, tmp_path / "out", name="x", version="1", most_bytes=most)
        assert not list((tmp_path / "out").iterdir())


def test_the_command_writes_and_replaces_when_asked(speaking_bundle: Path, tmp_path: Path) -> None:
    arguments = ["wheel", str(speaking_bundle), "-o", str(tmp_path), "--name", "kokoro-x", "--release", "2"]
    runner = CliRunner()
    first = runner.invoke(app, arguments)
    assert first.exit_code == 0 and Path(first.output.strip()).is_file()
    again = runner.invoke(app, arguments)
    assert again.exit_code == DestinationExistsError(tmp_path).exit_code
    assert runner.invoke(app, [*arguments, "--force"]).exit_code == 0


def test_targets_have_the_tags_of_their_systems() -> None:
    for target in TARGETS:
        found = Target(target.name, target.triple, target.system, target.machine, target.minimum_os, ())
        if target.system in ("ios", "android", "web"):
            with pytest.raises(UsageError, match="no wheels"):
                platform_tag(found)
        else:
            # TVM's own wheels are for an older macOS.
            expected = "macosx_13_0_arm64" if target.system == "macos" else target.wheel_platform
            assert platform_tag(found) == expected
