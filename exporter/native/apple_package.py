"""Makes the package for Swift: ``python -m exporter.native.apple_package BUNDLE --output DIRECTORY``.

It has an XCFramework, with the bundle's framework for iOS and one for macOS, and the sources for Swift. The
other files of the bundle lie beside them, for the resources of an app. Equal bundles, sources and versions
give equal bytes.
"""

from __future__ import annotations

import argparse
import shutil
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from exporter.compiler.targets import Target, find_target
from exporter.errors import ExportError
from exporter.native.bindings import SWIFT
from exporter.native.build import library_objects, link
from exporter.native.framework import NAME, framework_files, plist
from runtime_min.errors import KokoroError, OutputError
from runtime_min.format.manifest import MANIFEST_NAME, Manifest, Module
from runtime_min.format.verify import verify_bundle
from runtime_min.output.staging import staged, write_errors

FRAMEWORK = f"{NAME}.framework"
XCFRAMEWORK = f"{NAME}.xcframework"
RESOURCES = "resources"
"""The files of the bundle that an app has among its resources, and not in the framework."""
MACOS = "macos-arm64"
IOS = "ios-arm64"
_SOURCES = ("Package.swift", "Sources", "README.md", "LICENSE")
_VERSION = "A"
"""Of the framework for macOS, where each has a directory and links to the current one."""
_ROOM = 16 << 20
"""Bytes that the package takes at most besides the bundle's files."""
_AT_THE_TOP = (NAME, "Headers", "Modules", "Resources")


class BundleKindError(ExportError):
    """The bundle has no framework."""

    exit_code = 2


class SwiftSourcesError(ExportError):
    """There are no sources of the Swift package."""

    exit_code = 5


def write_package(bundle: Path, output: Path) -> None:
    """Writes the package to a directory, whole or not at all.

    Args:
        bundle: a bundle for `IOS`.
        output: the directory, which must be empty or absent.

    Raises:
        BundleError: the bundle is damaged.
        BundleKindError: it is for another target.
        SwiftSourcesError: the sources for Swift are missing, because this is not a clone of the repository.
        LinkError: the library for macOS could not be built.
        OutputError: something is there, or the package cannot be written.
    """
    if not (SWIFT / "Package.swift").is_file():
        raise SwiftSourcesError(
            f"The sources of the package are not at {SWIFT}: run this in a clone of the repository."
        )
    manifest = verify_bundle(bundle)
    module = manifest.module
    if module is None:
        raise BundleKindError(
            f"{bundle} is a bundle for {manifest.target.name}: expected one for {IOS} (kokoro-export bundle "
            f"--target {IOS})."
        )
    with staged(output, manifest.content_bytes + _ROOM, _check_free) as place, write_errors(output):
        for name in _SOURCES:
            source = SWIFT / name
            (shutil.copytree if source.is_dir() else shutil.copyfile)(source, place / name)
        frameworks = place / XCFRAMEWORK
        shutil.copytree(bundle / module.folder, frameworks / IOS / FRAMEWORK)
        write_macos_framework(frameworks / MACOS / FRAMEWORK)
        (frameworks / "Info.plist").write_bytes(plist(_information()))
        for path in resources(manifest, module):
            (place / RESOURCES / path).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(bundle / path, place / RESOURCES / path)


def _check_free(output: Path) -> None:
    if output.exists() and (not output.is_dir() or any(output.iterdir())):
        raise OutputError(f"{output} is not empty: remove it, or choose another directory.")


def resources(manifest: Manifest, module: Module) -> Iterator[str]:
    """Yields the paths of the files that an app has among its resources."""
    yield MANIFEST_NAME
    yield from (entry.path for entry in manifest.files if not module.holds(entry.path))


def write_macos_framework(framework: Path) -> None:
    """Writes the C library for macOS as a framework, in the form that it has there.

    Raises:
        LinkError: the library could not be built.
    """
    target = find_target(MACOS)
    current = framework / "Versions" / _VERSION
    # iOS's frameworks have it beside the others.
    moved = {"Info.plist": "Resources/Info.plist", "PrivacyInfo.xcprivacy": "Resources/PrivacyInfo.xcprivacy"}
    for name, content in framework_files(target).items():
        path = current / moved.get(name, name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    link(target, NAME, library_objects(target), current / NAME, install_name())
    (framework / "Versions" / "Current").symlink_to(_VERSION)
    for name in _AT_THE_TOP:
        (framework / name).symlink_to(f"Versions/Current/{name}")


def install_name() -> str:
    """Returns where an app for macOS finds the framework's library."""
    return f"@rpath/{FRAMEWORK}/Versions/{_VERSION}/{NAME}"


def _information() -> dict[str, Any]:
    return {
        "AvailableLibraries": [_available(find_target(name)) for name in (IOS, MACOS)],
        "CFBundlePackageType": "XFWK",
        "XCFrameworkFormatVersion": "1.0",
    }


def _available(target: Target) -> dict[str, Any]:
    version = f"Versions/{_VERSION}/" if target.name == MACOS else ""
    return {
        "BinaryPath": f"{FRAMEWORK}/{version}{NAME}",
        "LibraryIdentifier": target.name,
        "LibraryPath": FRAMEWORK,
        "SupportedArchitectures": [target.machine],
        "SupportedPlatform": target.system,
    }


def main(arguments: Sequence[str] | None = None) -> None:
    """Writes the package."""
    parser = argparse.ArgumentParser(prog="python -m exporter.native.apple_package", description=__doc__)
    parser.add_argument("bundle", type=Path, metavar="BUNDLE", help=f"exported with --target {IOS}")
    parser.add_argument("--output", type=Path, default=Path("build/apple"), help="directory to write")
    given = parser.parse_args(arguments)
    try:
        write_package(given.bundle, given.output)
    except (ExportError, KokoroError) as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
