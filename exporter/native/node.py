"""Finds Node, which runs bundles for the web on the exporting machine."""

from __future__ import annotations

import os
import re
import shutil
import subprocess

from exporter.errors import ExportError

OLDEST = 20
"""First version of Node with all that a module uses."""
_ADVICE = "install it (Debian, Ubuntu: apt install nodejs), or name it in the variable NODE"


class NodeMissingError(ExportError):
    """A bundle for the web cannot run here."""

    exit_code = 5


def find_node() -> str | None:
    """Returns the path of Node, which ``NODE`` may name; None where there is none."""
    return shutil.which(os.environ.get("NODE", "node"))


def require_node() -> str:
    """Returns the path of Node.

    Raises:
        NodeMissingError: there is none, or it is too old.
    """
    program = find_node()
    if program is None:
        raise NodeMissingError(
            f"A bundle for the web runs in Node {OLDEST} or later, and there is none: {_ADVICE}."
        )
    found = _version(program)
    if int(found.partition(".")[0]) < OLDEST:
        raise NodeMissingError(
            f"A bundle for the web runs in Node {OLDEST} or later, found {found}: {_ADVICE}."
        )
    return program


def _version(program: str) -> str:
    """Returns the version of Node, such as 20.1.0; 0 where it does not tell."""
    try:
        done = subprocess.run([program, "--version"], capture_output=True, text=True, errors="replace")
    except OSError:
        return "0"
    found = re.match(r"v(\d+\.[\d.]+)", done.stdout)
    return found[1] if found else "0"
