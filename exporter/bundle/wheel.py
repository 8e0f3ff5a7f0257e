"""Writes a bundle as wheels, which pip and a registry distribute; `runtime_min.format.installed` finds it."""

from __future__ import annotations

import base64
import hashlib
import io
import re
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

from runtime_min import __version__
from runtime_min.errors import DestinationExistsError, UsageError
from runtime_min.format.bundle_files import BundleFiles, part_names
from runtime_min.format.installed import FOLDER, module_name
from runtime_min.format.manifest import MANIFEST_NAME, Manifest, Target
from runtime_min.format.origin import signature_of
from runtime_min.format.verify import manifest_of
from runtime_min.output.writer import Output

PART_MEGABYTES = 95
"""PyPI takes 100 MB."""
_ALIGNMENT = 1 << 20
"""Bytes: a part begins with a page of memory on every system."""
_VERSION = re.compile(r"\d+(?:\.\d+)*(?:(?:a|b|rc)\d+)?(?:\.post\d+)?(?:\.dev\d+)?")
_DATE = (1980, 1, 1, 0, 0, 0)
"""The same bundle gives the same bytes."""


def write_wheels(
    bundle: Path,
    folder: Path,
    *,
    name: str,
    version: str,
    most_bytes: int = PART_MEGABYTES * 1_000_000,
    force: bool = False,
) -> list[Path]:
    """Checks a bundle and writes it as one wheel, or as several if one would be too large.

    With several the parameters lie in parts, each in a wheel of its own, which the first one requires.

    Args:
        bundle: the directory. Its signature, if it lies beside it, comes along.
        folder: where to write; it is made.
        name: the distribution's name, such as ``kokoro-heart``.
        version: the distribution's version.
        most_bytes: most bytes of files that a wheel holds.
        force: replace wheels that exist.

    Returns:
        The wheels; the first is the one to install.

    Raises:
        BundleError: the bundle is damaged.
        UsageError: the name or the version is none, or no wheel fits.
        DestinationExistsError: a wheel exists.
        OutputError: they cannot be written; then none is.
    """
    module = _checked_module(name, version)
    with BundleFiles(bundle) as files, ExitStack() as outputs:
        found: list[bytes] = []
        manifest = manifest_of(files, [found.append])
        files.check_contents()
        tag = platform_tag(manifest.target)
        lengths = _part_lengths(bundle, manifest, most_bytes)
        names = [name, *(f"{name}-part{number}" for number in range(1, len(lengths) + 1))]
        paths = [folder / f"{module_name(each)}-{version}-py3-none-{tag}.whl" for each in names]
        if not force and (there := next((path for path in paths if path.exists()), None)):
            raise DestinationExistsError(there)
        folder.mkdir(parents=True, exist_ok=True)
        wheels = [outputs.enter_context(_Wheel(path)) for path in paths]
        place = f"{module}/{FOLDER}"
        for path, text in _package(module, name).items():
            wheels[0].add(path, [text.encode()])
        wheels[0].add(f"{place}/{MANIFEST_NAME}", found)
        if (signature := signature_of(bundle)).is_file():
            wheels[0].add(f"{module}/{FOLDER}.sig", [signature.read_bytes()])
        for entry in manifest.files:
            content = files.content(entry.path)
            if lengths and entry.path == manifest.parameters.file:
                parts = _divided(content, lengths)
                for wheel, path, part in zip(wheels[1:], part_names(entry.path), parts, strict=False):
                    wheel.add(f"{place}/{path}", part)
                # Its digest is compared behind its last byte.
                next(parts, None)
            else:
                wheels[0].add(f"{place}/{entry.path}", content)
        entry_point = f"[pyinstaller40]\nhook-dirs = {module}.__pyinstaller:get_hook_dirs\n"
        needed = [f"kokoro-export-runtime>={__version__}", *(f"{each}=={version}" for each in names[1:])]
        wheels[0].finish(name, version, tag, needed, {"entry_points.txt": entry_point})
        for wheel, each in zip(wheels[1:], names[1:], strict=True):
            wheel.finish(each, version, tag, [], {})
    return paths


def platform_tag(target: Target) -> str:
    """Returns the platform tag of a target's wheels.

    Raises:
        UsageError: there are no wheels for its system.
    """
    numbers = "_".join(re.findall(r"\d+", target.minimum_os)[:2])
    if target.system == "linux":
        return f"manylinux_{numbers}_{target.machine}"
    if target.system == "macos":
        return f"macosx_{numbers}_{target.machine}"
    if target.system == "windows":
        return "win_amd64"
    raise UsageError(f"There are no wheels for {target.system}: ship the bundle's directory with the app.")


class _Wheel:
    """A wheel that is written; it appears whole at the end of the context, or not at all."""

    def __init__(self, path: Path) -> None:
        self._output = Output(path)
        self._record: list[str] = []
        self._archive: zipfile.ZipFile

    def __enter__(self) -> _Wheel:
        self._output.__enter__()
        self._archive = zipfile.ZipFile(_Stream(self._output), "w")
        return self

    def __exit__(self, *exception: object) -> None:
        # After an error nobody reads the archive.
        with suppress(Exception):
            self._archive.close()
        self._output.__exit__(*exception)  # type: ignore[arg-type]

    def add(self, path: str, content: Iterable[bytes]) -> None:
        """Adds a file."""
        member = zipfile.ZipInfo(path, _DATE)
        member.compress_type, member.external_attr = zipfile.ZIP_DEFLATED, 0o644 << 16
        digest, size = hashlib.sha256(), 0
        with self._archive.open(member, "w", force_zip64=True) as file:
            for piece in content:
                digest.update(piece)
                size += len(piece)
                file.write(piece)
        hashed = base64.urlsafe_b64encode(digest.digest()).rstrip(b"=").decode()
        self._record.append(f"{path},sha256={hashed},{size}")

    def finish(
        self, name: str, version: str, tag: str, needed: Iterable[str], more: Mapping[str, str]
    ) -> None:
        """Adds what pip wants to know, and ends the archive."""
        place = f"{module_name(name)}-{version}.dist-info"
        lines = ["Metadata-Version: 2.1", f"Name: {name}", f"Version: {version}"]
        lines += ["Summary: A bundle of kokoro-export: speech from text", "Requires-Python: >=3.10"]
        lines += [f"Requires-Dist: {each}" for each in needed]
        wheel = f"Wheel-Version: 1.0\nGenerator: kokoro-export {__version__}\nRoot-Is-Purelib: false\n"
        texts = {"METADATA": "\n".join([*lines, ""]), "WHEEL": f"{wheel}Tag: py3-none-{tag}\n", **more}
        for each, text in texts.items():
            self.add(f"{place}/{each}", [text.encode()])
        self.add(f"{place}/RECORD", ["\n".join([*self._record, f"{place}/RECORD,,", ""]).encode()])
        self._archive.close()
        self._output.synchronise()


class _Stream(io.RawIOBase):
    """What `zipfile` writes to: it tells no place, so nothing is written twice."""

    def __init__(self, output: Output) -> None:
        self._output = output

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        self._output.write(data)
        return len(data)


def _checked_module(name: str, version: str) -> str:
    """Returns the name of the package."""
    if not _VERSION.fullmatch(version):
        raise UsageError(f"{version!r} is not a version of a package: expected one such as 1.0 or 2.1.post1.")
    try:
        return module_name(name)
    except ValueError:
        raise UsageError(
            f"{name!r} is not a name of a package: expected letters, digits and hyphens."
        ) from None


def _part_lengths(bundle: Path, manifest: Manifest, most: int) -> list[int]:
    """Returns the bytes of each part of the parameters; none if all of the bundle fits into one wheel."""
    parameters = sum(entry.bytes for entry in manifest.files if entry.path == manifest.parameters.file)
    rest = manifest.content_bytes - parameters
    if manifest.content_bytes <= most:
        return []
    if rest > most:
        raise UsageError(
            f"{bundle} has {rest:,} bytes besides its parameters, and a wheel may have {most:,}: allow more."
        )
    size = most // _ALIGNMENT * _ALIGNMENT or most
    lengths = [min(size, parameters - start) for start in range(0, parameters, size)]
    if len(lengths) > (limit := sum(1 for _ in part_names(""))):
        raise UsageError(
            f"The parameters would lie in {len(lengths)} parts, at most {limit} can be: allow more."
        )
    return lengths


def _divided(content: Iterator[bytes], lengths: Iterable[int]) -> Iterator[Iterator[bytes]]:
    """Yields the parts of a content, each to be read before the next; behind them it is read to its end."""
    rest = b""

    def part(length: int) -> Iterator[bytes]:
        nonlocal rest
        while length and (piece := rest or next(content, b"")):
            rest = piece[length:]
            length -= len(piece[:length])
            yield piece[: len(piece) - len(rest)]

    for length in lengths:
        yield part(length)
    for _ in content:
        pass


def _package(module: str, name: str) -> dict[str, str]:
    """Returns the Python files of the package, by path: their hook lets PyInstaller collect the bundle."""
    hook = (
        '"""Collects the bundle as it is."""\n\n'
        "from pathlib import Path\n\n"
        "from PyInstaller.utils.hooks import get_module_file_attribute\n\n"
        f'package = Path(get_module_file_attribute("{module}")).parent\n'
        f'found = [*package.glob("{FOLDER}.sig"), *(package / "{FOLDER}").rglob("*")]\n'
        "files = [path for path in found if path.is_file()]\n"
        "datas = [(str(path), str(path.parent.relative_to(package.parent))) for path in files]\n"
    )
    hooks = (
        '"""Tells PyInstaller where the hook is."""\n\n'
        "import os\n\n\n"
        "def get_hook_dirs() -> list[str]:\n"
        '    """Returns the directory with the hook."""\n'
        "    return [os.path.dirname(__file__)]\n"
    )
    loads = f'"""A bundle for speech: `runtime_min.Bundle.load("{name}")` loads it."""\n'
    return {
        f"{module}/__init__.py": loads,
        f"{module}/__pyinstaller/__init__.py": hooks,
        f"{module}/__pyinstaller/hook-{module}.py": hook,
    }
