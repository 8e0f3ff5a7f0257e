"""Commands for a bundle that exists: verify, sign, pack, unpack, wheel, add-voices."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from exporter.bundle.pack import pack_bundle
from exporter.bundle.sign import sign_bundle
from exporter.bundle.wheel import PART_MEGABYTES, write_wheels
from exporter.cli.terminal import BundleArgument, BundleOrArchive, reported_errors
from runtime_min.bundle_command import commands
from runtime_min.format.origin import signature_of
from runtime_min.output.console import print_line

DigestOption = Annotated[
    str | None,
    typer.Option("--manifest-sha256", "--sha256", help="SHA-256 that the manifest must have."),
]
KeyOption = Annotated[
    Path | None,
    typer.Option(help="File of an Ed25519 public key, whose owner must have signed the bundle."),
]
ForceOption = Annotated[bool, typer.Option("--force", help="Replace what an earlier run wrote.")]
SignatureOption = Annotated[
    Path | None,
    typer.Option(
        help="The signature that --key checks; by default beside the bundle, with .sig after its name."
    ),
]


def verify(
    path: BundleOrArchive,
    sha256: DigestOption = None,
    key: KeyOption = None,
    signature: SignatureOption = None,
    strict: Annotated[
        bool, typer.Option("--strict", help="Refuse files that the manifest does not list.")
    ] = False,
) -> None:
    """Check the size and SHA-256 of every file that a bundle's manifest lists, and who signed it."""
    with reported_errors():
        commands.verify(path, sha256, key, signature, strict=strict)


def sign(
    path: BundleArgument,
    key: Annotated[
        Path, typer.Option(help="Ed25519 private key in PEM (openssl genpkey -algorithm ed25519).")
    ],
    signature: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="File to write; by default BUNDLE.sig beside the bundle."),
    ] = None,
) -> None:
    """Check a bundle and sign it, so that others can verify with the public key who made it."""
    with reported_errors():
        signature = signature or signature_of(path)
        sign_bundle(path, key, signature)
        print_line(signature)


def pack(
    path: BundleArgument,
    output: Annotated[Path, typer.Option("--output", "-o", help="File to write.")],
    force: ForceOption = False,
) -> None:
    """Write a bundle into one file; the same bundle gives the same bytes."""
    with reported_errors():
        pack_bundle(path, output, force=force)
        print_line(output)


def unpack(
    archive: Annotated[Path, typer.Argument(metavar="ARCHIVE", help="The file that pack wrote.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="Directory to write.")],
    sha256: DigestOption = None,
    key: KeyOption = None,
    signature: SignatureOption = None,
    force: ForceOption = False,
) -> None:
    """Check a packed bundle and write it into a directory."""
    with reported_errors("interrupted: no bundle was written"):
        commands.unpack(archive, output, sha256, key, signature, force=force)


def wheel(
    path: BundleArgument,
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder to write the wheels into.")],
    name: Annotated[
        str, typer.Option(help="Name of the package, by which Bundle.load finds it: kokoro-heart.")
    ],
    release: Annotated[str, typer.Option(help="Version of the package.")] = "1.0",
    most: Annotated[
        int, typer.Option("--most-megabytes", min=1, help="Most megabytes of files in one wheel.")
    ] = PART_MEGABYTES,
    force: ForceOption = False,
) -> None:
    """Write a bundle as wheels, so that pip and a registry distribute it."""
    with reported_errors("interrupted: no wheel was written"):
        size = most * 1_000_000
        for written in write_wheels(path, output, name=name, version=release, most_bytes=size, force=force):
            print_line(written)


def add_voices(
    path: BundleArgument,
    packs: Annotated[
        list[Path],
        typer.Argument(metavar="VOICES...", help="Files NAME.pt or NAME.bin, or their directories."),
    ],
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace voices of the same name.")] = False,
) -> None:
    """Add voice packs to a bundle, which gets a new manifest; a failure leaves it unchanged."""
    with reported_errors("interrupted: the bundle is unchanged"):
        from exporter.bundle.add_voices import add_voices
        from exporter.bundle.loudness import measure_loudness

        added, sha256 = add_voices(path, packs, overwrite=overwrite, measure_loudness=measure_loudness)
        print_line(f"{path}: added {', '.join(added)}; its manifest's SHA-256 is now")
        print_line(sha256)
        if signature_of(path).exists():
            print_line(f"{signature_of(path)} belongs to the earlier manifest: sign the bundle again")
