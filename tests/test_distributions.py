"""Two distributions of one version: the runtime for apps, and the exporter that needs it.

`make dist` names the folder of those that it built. It also runs the slow tests, which need a registry.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
import tomllib
from packaging.metadata import Metadata
from packaging.specifiers import SpecifierSet

import exporter
from exporter.bundle.wheel import write_wheels
from runtime_min import __version__
from tests.e2e.test_clean_machine import PYTHONS, THIS
from tests.exporter.bundle.test_wheel import least
from tests.support.paths import ROOT

RUNTIME, EXPORTER = "kokoro-export-runtime", "kokoro-export"
PLACES = {RUNTIME: ROOT, EXPORTER: ROOT / "exporter"}
PACKAGES = {
    RUNTIME: ("kokoro_adapters", "kokoro_books", "kokoro_server", "runtime_min"),
    EXPORTER: ("exporter",),
}
MADE = os.environ.get("KOKORO_EXPORT_DIST")
"""The folder of distributions that `make dist` made."""
NEEDED = ("numpy", "numpy.libs", "tvm_ffi", "typing_extensions.py")
"""Files of the two dependencies of the runtime."""


def described(name: str) -> dict[str, Any]:
    return tomllib.loads((PLACES[name] / "pyproject.toml").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the wheels and the source archives."""
    if MADE:
        return ROOT / MADE
    place = tmp_path_factory.mktemp("built")
    unwanted = shutil.ignore_patterns(".*", "__pycache__", "*.egg-info", "build", "bundles", "tests", "docs")
    shutil.copytree(ROOT, place / "sources", ignore=unwanted)
    for folder in ("", "exporter"):
        # An environment of its own for the build would need a registry.
        command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", place / "dist"]
        run([*command, place / "sources" / folder])
    return place / "dist"


def run(command: list[str | Path], **settings: Any) -> str:
    clean = {key: value for key, value in os.environ.items() if not key.startswith(("PYTHON", "PIP_"))}
    done = subprocess.run(command, env=clean, capture_output=True, text=True, **settings)
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    return done.stdout


def native_sources() -> Iterator[Path]:
    """Sources of the C library."""
    folder = ROOT / "exporter" / "native"
    yield folder / "exported.map"
    yield from (path for path in (folder / "stand_ins").rglob("*") if path.is_file())
    sources = [path for path in (folder / "sources").rglob("*") if path.is_file()]
    yield from (path for path in sources if "examples" not in path.parts and path.name != ".clang-format")


def file_of(built: Path, name: str, end: str) -> Path:
    (path,) = built.glob(f"{name.replace('-', '_')}-{__version__}{end}")
    return path


def environment(place: Path, packages: Path) -> Path:
    """Makes an environment that finds what lies in the folder `packages`, and returns its Python."""
    run([sys.executable, "-m", "venv", "--without-pip", place])
    (site,) = place.glob("lib/python*/site-packages")
    (site / "packages.pth").write_text(str(packages))
    return place / "bin" / "python"


def install(python: Path, *files: Path) -> None:
    pip = [sys.executable, "-m", "pip", "--python", python, "--disable-pip-version-check", "install"]
    run([*pip, "--quiet", "--no-index", "--no-deps", "--no-build-isolation", *files])


def installed_here() -> Path:
    """The folder of this environment's packages."""
    found = find_spec("numpy")
    assert found is not None and found.origin is not None
    return Path(found.origin).parents[1]


@pytest.fixture(scope="module")
def alone(built: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Python of an environment with the runtime's wheel and what it needs."""
    place = tmp_path_factory.mktemp("alone")
    (place / "needed").mkdir()
    for name in NEEDED:
        (place / "needed" / name).symlink_to(installed_here() / name)
    python = environment(place / "environment", place / "needed")
    install(python, file_of(built, RUNTIME, "-*.whl"))
    return python


def test_both_have_one_version_and_the_exporter_says_what_it_needs() -> None:
    project = described(EXPORTER)["project"]
    assert project["version"] == __version__
    assert f"{RUNTIME}=={__version__}" in project["dependencies"]
    able = SpecifierSet(project["requires-python"])
    assert [(3, minor) for minor in range(8, 20) if f"3.{minor}" in able] == list(exporter.PYTHONS)


def test_every_folder_of_the_exporter_is_a_package_of_its_distribution() -> None:
    folders = {path.parent.relative_to(ROOT) for path in (ROOT / "exporter").rglob("__init__.py")}
    packages = described(EXPORTER)["tool"]["setuptools"]["packages"]
    assert packages == sorted(".".join(folder.parts) for folder in folders)


@pytest.mark.parametrize("name", PLACES)
def test_the_metadata_are_complete(built: Path, name: str) -> None:
    with zipfile.ZipFile(file_of(built, name, "-*.whl")) as wheel:
        (path,) = (path for path in wheel.namelist() if path.endswith(".dist-info/METADATA"))
        metadata = Metadata.from_email(wheel.read(path), validate=True)
        licences = {f"{Path(path).parent}/licenses/{each}" for each in metadata.license_files or ()}
        assert licences <= set(wheel.namelist()) and len(licences) == 2
    assert (metadata.name, str(metadata.version)) == (name, __version__)
    assert metadata.description_content_type == "text/markdown" and metadata.description
    assert metadata.license_expression == "Apache-2.0"
    assert metadata.summary and metadata.requires_python and "Typing :: Typed" in (metadata.classifiers or ())
    with tarfile.open(file_of(built, name, ".tar.gz")) as archive:
        sources = {each.name.partition("/")[2] for each in archive}
    assert {"pyproject.toml", "README.md", *(metadata.license_files or ())} <= sources
    assert not any(each.startswith("tests") for each in sources)


@pytest.mark.parametrize("name", PLACES)
def test_a_wheel_holds_all_files_of_its_packages_and_no_others(built: Path, name: str) -> None:
    def sources() -> Iterator[str]:
        for package in PACKAGES[name]:
            for pattern in ("*.py", "py.typed", "data/*", "languages/*/*.txt"):
                yield from (str(path.relative_to(ROOT)) for path in (ROOT / package).rglob(pattern))
        if name == EXPORTER:
            yield from (str(path.relative_to(ROOT)) for path in native_sources())

    with zipfile.ZipFile(file_of(built, name, "-*.whl")) as wheel:
        held = {path for path in wheel.namelist() if ".dist-info/" not in path}
    assert held == set(sources())
    assert {f"{package}/py.typed" for package in PACKAGES[name]} <= held


def test_a_bundle_has_the_runtime_of_the_wheel(built: Path, speaking_bundle: Path) -> None:
    copy = zipfile.ZipFile(speaking_bundle / "runtime_min.pyz")
    with copy, zipfile.ZipFile(file_of(built, RUNTIME, "-*.whl")) as wheel:
        held = {path: wheel.read(path) for path in wheel.namelist() if path.startswith("runtime_min/")}
        assert {path: copy.read(path) for path in copy.namelist() if path != "__main__.py"} == held


def speaks(python: Path, bundle: Path, place: Path) -> None:
    """Fails unless the installed commands check a bundle and speak from it, and the exporter is absent."""
    for command in (["kokoro-bundle", "verify"], ["kokoro-bundle", "inspect"]):
        run([python.parent / command[0], *command[1:], bundle], cwd=place)
    run([python.parent / "kokoro-speak", bundle, "--phonemes", "abc", "-o", "speech.wav"], cwd=place)
    assert (place / "speech.wav").stat().st_size > 1000
    absent = "import importlib.util; print(importlib.util.find_spec('exporter'))"
    assert run([python, "-c", absent], cwd=place) == "None\n"


def test_the_runtime_alone_speaks(alone: Path, speaking_bundle: Path, tmp_path: Path) -> None:
    speaks(alone, speaking_bundle, tmp_path)


def test_both_together_can_export(built: Path, tmp_path: Path) -> None:
    """They are installed beside what they need, and the exporter is imported as a whole.

    What `make dist` made is installed from the source archives, from which `built` has just made the wheels.
    """
    python = environment(tmp_path / "both", installed_here())
    end = ".tar.gz" if MADE else "-*.whl"
    install(python, *(file_of(built, name, end) for name in PLACES))
    program = (
        "import exporter, importlib, pkgutil\n"
        "for each in pkgutil.walk_packages(exporter.__path__, 'exporter.'):\n"
        "    each.name.endswith('__main__') or importlib.import_module(each.name)\n"
        "assert exporter.native.build.HEADER.is_file()\n"
        "print(exporter.__file__)"
    )
    assert run([python, "-c", program], cwd=tmp_path).startswith(str(tmp_path))
    assert run([python.parent / "kokoro-export", "version"], cwd=tmp_path) == f"{__version__}\n"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("version", "end"), [(THIS, ".tar.gz"), *((version, "-*.whl") for version in PYTHONS)]
)
def test_a_registry_has_what_the_runtime_needs(
    built: Path, speaking_bundle: Path, tmp_path: Path, version: str, end: str
) -> None:
    run([PYTHONS[version], "-m", "venv", tmp_path / "empty"])
    python = tmp_path / "empty" / "bin" / "python"
    pins = ["--constraint", ROOT / "constraints.txt"] if version == THIS else []
    run([python, "-m", "pip", "install", "--quiet", *pins, file_of(built, RUNTIME, end)])
    speaks(python, speaking_bundle, tmp_path)


@pytest.mark.slow
def test_an_app_that_pyinstaller_made_speaks_and_holds_no_torch(
    built: Path, reading_bundle: Path, tmp_path: Path
) -> None:
    run([sys.executable, "-m", "venv", tmp_path / "build"])
    python = tmp_path / "build" / "bin" / "python"
    wheel = file_of(built, RUNTIME, "-*.whl")
    run([python, "-m", "pip", "install", "--quiet", wheel, "pyinstaller>=6,<7"])
    most = least(reading_bundle)
    wheels = write_wheels(reading_bundle, tmp_path, name="kokoro-app", version="1", most_bytes=most)
    assert len(wheels) > 1
    install(python, *wheels)
    (tmp_path / "app.py").write_text(
        "import sys\nfrom runtime_min import Bundle\nimport kokoro_app\n"
        "for text, voice in (('Hello', 'af_heart'), ('Hola', 'ef_dora'), ('Ciao', 'if_sara')):\n"
        "    print(len(Bundle.load(sys.argv[1]).synthesize(text, voice)))\n"
    )
    run([python.parent / "pyinstaller", "--noconfirm", "app.py"], cwd=tmp_path)
    app = tmp_path / "dist" / "app"
    for bundle in (reading_bundle, "kokoro-app"):
        assert all(int(line) > 0 for line in run([app / "app", bundle], cwd=tmp_path / "dist").split())
    assert not any(path.name.startswith("libtorch") for path in app.rglob("*"))
