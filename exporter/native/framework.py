"""Makes the framework of a bundle for iOS: the stages, the C library and TVM's runtime as one file.

iOS loads no library that an app's signature does not cover. So an app embeds the framework and signs it. The
signature changes its bytes, so the bundle names it by an identity that is inside.
"""

from __future__ import annotations

import hashlib
import plistlib
import re
import tempfile
from collections.abc import Sequence
from pathlib import Path, PurePosixPath
from typing import Any

from exporter.compiler.link import LinkError
from exporter.compiler.targets import Target
from exporter.native.build import HEADER, library_objects, link
from exporter.native.zig import members
from runtime_min import __version__
from runtime_min.format.manifest import Module

NAME = "Kokoro"
"""Name of the framework, of its library and of what Swift imports."""
_IDENTIFIER = "kokoro.bundle.Kokoro"
_PLATFORMS = {"ios": ("iPhoneOS", "MinimumOSVersion"), "macos": ("MacOSX", "LSMinimumSystemVersion")}
"""Apple's name of a system, and the key of its oldest version."""
_IDENTITY = re.compile(rb"(?<=kokoro-module )[0-9a-f]{64}")
"""What `runtime_native/engine/modules.cpp` has in the place of the identity."""
_MODULE_MAP = f"""framework module {NAME} {{
    umbrella header "{HEADER.name}"
    export *
}}
"""
# Apple asks why an app reads the size and the time of change of files: a reader compares those of the bundle.
_PRIVACY = {
    "NSPrivacyTracking": False,
    "NSPrivacyTrackingDomains": [],
    "NSPrivacyCollectedDataTypes": [],
    "NSPrivacyAccessedAPITypes": [
        {
            "NSPrivacyAccessedAPIType": "NSPrivacyAccessedAPICategoryFileTimestamp",
            "NSPrivacyAccessedAPITypeReasons": ["C617.1"],
        }
    ],
}


def link_module(libraries: Sequence[Path], target: Target, output: Path) -> None:
    """Links the module of a framework with libraries of stages, which `compiler.link` has written.

    Raises:
        LinkError: the compiler or the linker failed.
    """
    path = PurePosixPath(target.module)
    with tempfile.TemporaryDirectory(prefix="kokoro-module-") as place:
        stages = members(libraries, Path(place))
        output.parent.mkdir(parents=True, exist_ok=True)
        install_name = f"@rpath/{path.parent.name}/{path.name}"
        link(target, path.name, [*library_objects(target), *stages], output, install_name)
    content = output.read_bytes()
    start = _place(content)
    identity = hashlib.sha256(content).hexdigest().encode()
    output.write_bytes(content[:start] + identity + content[start + len(identity) :])


def framework_entry(target: Target, module: Path) -> Module:
    """Returns what the manifest says of a module.

    Raises:
        LinkError: the file has no identity.
    """
    return Module(str(PurePosixPath(target.module).parent), identity_of(module))


def identity_of(module: Path) -> str:
    """Returns the identity in a module's file, signed or not.

    Raises:
        LinkError: the file has none.
    """
    content = module.read_bytes()
    start = _place(content)
    return content[start : start + 64].decode()


def _place(content: bytes) -> int:
    found = [match.start() for match in _IDENTITY.finditer(content)]
    if len(found) != 1:
        raise LinkError(
            f"A module should have one identity, and has {len(found)}: this is an error of the exporter."
        )
    return found[0]


def beside_module(target: Target) -> dict[str, bytes]:
    """Returns the files of a bundle's framework besides its module, by path in the bundle."""
    folder = PurePosixPath(target.module).parent
    return {str(folder / path): content for path, content in framework_files(target).items()}


def framework_files(target: Target) -> dict[str, bytes]:
    """Returns the files of a framework besides its library, by path in it."""
    return {
        f"Headers/{HEADER.name}": HEADER.read_bytes(),
        "Info.plist": plist(_information(target)),
        "Modules/module.modulemap": _MODULE_MAP.encode(),
        "PrivacyInfo.xcprivacy": plist(_PRIVACY),
    }


def _information(target: Target) -> dict[str, Any]:
    platform, oldest = _PLATFORMS.get(target.system, _PLATFORMS["ios"])
    return {
        "CFBundleDevelopmentRegion": "en",
        "CFBundleExecutable": NAME,
        "CFBundleIdentifier": _IDENTIFIER,
        "CFBundleInfoDictionaryVersion": "6.0",
        "CFBundleName": NAME,
        "CFBundlePackageType": "FMWK",
        "CFBundleShortVersionString": __version__,
        "CFBundleSupportedPlatforms": [platform],
        "CFBundleVersion": __version__,
        oldest: target.minimum_os.partition(" ")[2],
    }


def plist(value: dict[str, Any]) -> bytes:
    """Returns a property list, which has the same bytes each time."""
    return plistlib.dumps(value, sort_keys=True)
