"""``kokoro-export inspect``: shows a bundle's manifest, as tables or as JSON."""

from __future__ import annotations

from typing import Annotated

import typer

from exporter.cli.terminal import BundleOrArchive, reported_errors
from runtime_min.bundle_command import commands


def inspect(
    path: BundleOrArchive,
    as_json: Annotated[bool, typer.Option("--json", help="Print the whole manifest as JSON.")] = False,
) -> None:
    """Show the manifest of a bundle or of a packed one, without checking the other files."""
    with reported_errors():
        commands.inspect(path, as_json=as_json)
