"""The command ``kokoro-export``: it parses arguments and prints; the work is done elsewhere.

What a command needs is imported within it: torch and TVM take seconds, and most commands do without.
"""

from __future__ import annotations

import sys
from io import TextIOWrapper
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

try:
    import typer
    from rich.console import Console
except ModuleNotFoundError as error:
    # What an app installs is the runtime alone, but the command comes with it.
    print(f"error: {error.name} is missing: pip install 'kokoro-export[export]'", file=sys.stderr)
    sys.exit(5)

from exporter.cli.bench import bench
from exporter.cli.terminal import EPILOG, BundleArgument, ConsoleProgress, lengths, parts, reported_errors
from exporter.cli.validate import app as validate_app
from exporter.progress import Progress

if TYPE_CHECKING:
    from exporter.bundle.write import Parity
    from exporter.export.plan import Plan
    from exporter.parity.make_self_test import SelfTestFiles

DigestOption = Annotated[str | None, typer.Option(help="SHA-256 that the manifest must have.")]
KeyOption = Annotated[
    Path | None,
    typer.Option(help="Ed25519 public key in PEM; the bundle must be signed with its private key."),
]
SignatureOption = Annotated[
    Path | None, typer.Option(help="The signature; by default beside the bundle, with .sig after its name.")
]

app = typer.Typer(
    help="Compile the Kokoro text-to-speech model ahead of time into a bundle that speaks on its own.",
    epilog=EPILOG,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
app.add_typer(validate_app, name="validate")
app.command(epilog=EPILOG)(bench)


@app.command(epilog=EPILOG)
def bundle(
    output: Annotated[Path, typer.Option("--output", "-o", help="Directory to write.")],
    checkpoint: Annotated[
        str, typer.Option(help="hub (the official weights), synthetic (seeded, babbles), or a .pth file.")
    ] = "hub",
    config: Annotated[Path | None, typer.Option(help="The config.json that belongs to a .pth file.")] = None,
    voices: Annotated[
        str | None,
        typer.Option(help="Directory of .pt or .bin packs, hub or synthetic; by default the checkpoint's."),
    ] = None,
    target: Annotated[
        str, typer.Option(help="System that the bundle is for (see targets); host is this one.")
    ] = "host",
    lstm_device: Annotated[
        str, typer.Option(help="Where the encoders' LSTMs compute: cpu, or the target's device.")
    ] = "cpu",
    cpu_level: Annotated[
        str, typer.Option(help="CPU levels: all, host (this machine's best), or names joined by commas.")
    ] = "all",
    stages: Annotated[
        str | None, typer.Option(help="Only these stages, joined by commas; such a bundle cannot speak.")
    ] = None,
    text_buckets: Annotated[
        str | None, typer.Option(help="Largest numbers of tokens of the libraries, joined by commas.")
    ] = None,
    frame_buckets: Annotated[
        str | None, typer.Option(help="Largest numbers of frames (40 a second), joined by commas.")
    ] = None,
    runtime_library: Annotated[
        Path | None,
        typer.Option(
            help="The target's libtvm_runtime, or the wheel of apache-tvm that holds it; by default the "
            "installed one, and for another machine the package registry's."
        ),
    ] = None,
    jobs: Annotated[
        int | None,
        typer.Option(help="Libraries to compile at a time; by default one for each core, at most 4.", min=1),
    ] = None,
    cache_dir: Annotated[
        Path | None, typer.Option(help="Where compiled libraries are kept; by default the user's cache.")
    ] = None,
    no_cache: Annotated[
        bool, typer.Option("--no-cache", help="Keep and reuse no compiled libraries.")
    ] = False,
    no_validate: Annotated[
        bool,
        typer.Option(
            "--no-validate", help="Publish without comparing with kokoro (minutes); the manifest says so."
        ),
    ] = False,
    dump_ir: Annotated[
        Path | None, typer.Option(help="Directory for every stage's intermediate representation.")
    ] = None,
) -> None:
    """Export a bundle."""
    from exporter import directories
    from exporter.export.jobs import default_workers
    from exporter.export.plan import TEXT_BUCKETS, ExportOptions
    from exporter.export.run import export_bundle
    from runtime_min.format.signatures import STAGE_NAMES

    options = ExportOptions(
        output=output,
        checkpoint=checkpoint,
        config=config,
        voices=voices,
        target=target,
        lstm_device=lstm_device,
        cpu_level=cpu_level,
        stages=tuple(parts(stages)) if stages is not None else STAGE_NAMES,
        text_buckets=lengths("--text-buckets", text_buckets) or TEXT_BUCKETS,
        frame_buckets=lengths("--frame-buckets", frame_buckets) or None,
        runtime_library=runtime_library,
        jobs=jobs or default_workers(),
        cache=None if no_cache else cache_dir or directories.libraries(),
        dump_ir=dump_ir,
    )
    with reported_errors("interrupted: no bundle was written; what was compiled is kept for the next time"):
        measure, self_test = (None, None) if no_validate else (_measure, _self_test)
        with ConsoleProgress() as progress:
            written = export_bundle(options, progress, measure=measure, self_test=self_test)
        typer.echo(written)


@app.command(epilog=EPILOG)
def inspect(
    path: BundleArgument,
    json: Annotated[bool, typer.Option("--json", help="Print the whole manifest as JSON.")] = False,
) -> None:
    """Show what a bundle's manifest says, without checking the other files."""
    from exporter.cli.inspect import as_json, as_tables
    from runtime_min.engine.machine import this_machine
    from runtime_min.format.verify import read_manifest

    with reported_errors():
        manifest = read_manifest(path)
        if json:
            typer.echo(as_json(manifest))
        else:
            Console().print(as_tables(manifest, this_machine()))


@app.command(epilog=EPILOG)
def verify(
    path: BundleArgument,
    sha256: DigestOption = None,
    key: KeyOption = None,
    signature: SignatureOption = None,
) -> None:
    """Check the size and SHA-256 of every file of a bundle, that there are no others, and who signed it."""
    from exporter.bundle.sign import checks, signature_of, verify_bundle

    with reported_errors():
        manifest = verify_bundle(path, *checks(sha256, key, signature or signature_of(path)))
        signed = f", signed with the key of {key}" if key else ""
        typer.echo(f"{path}: {len(manifest.files)} files as the manifest lists them{signed}")


@app.command(epilog=EPILOG)
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
    """Check a bundle and sign it; who has the public key can verify who made it."""
    from exporter.bundle.sign import sign_bundle, signature_of

    with reported_errors():
        output = signature or signature_of(path)
        sign_bundle(path, key, output)
        typer.echo(output)


@app.command(epilog=EPILOG)
def pack(
    path: BundleArgument, output: Annotated[Path, typer.Option("--output", "-o", help="File to write.")]
) -> None:
    """Write a bundle into one file; the same bundle gives the same bytes."""
    from exporter.bundle.pack import pack_bundle

    with reported_errors():
        pack_bundle(path, output)
        typer.echo(output)


@app.command(epilog=EPILOG)
def unpack(
    archive: Annotated[Path, typer.Argument(metavar="ARCHIVE", help="What pack wrote.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="Directory to write.")],
    sha256: DigestOption = None,
    key: KeyOption = None,
    signature: SignatureOption = None,
) -> None:
    """Write the bundle that is in one file into a directory, and check it on the way."""
    from exporter.bundle.pack import unpack_archive
    from exporter.bundle.sign import checks, signature_of

    with reported_errors("interrupted: no bundle was written"):
        unpack_archive(archive, output, checks(sha256, key, signature or signature_of(archive)))
        typer.echo(output)


@app.command(epilog=EPILOG)
def add_voices(
    path: BundleArgument,
    packs: Annotated[
        list[Path],
        typer.Argument(metavar="VOICES...", help="Files NAME.pt or NAME.bin, or their directories."),
    ],
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Put them in the place of voices of the same name.")
    ] = False,
) -> None:
    """Add voice packs to a bundle, which gets a new manifest; a failure leaves it as it was."""
    from exporter.bundle.add_voices import add_voices
    from exporter.bundle.sign import signature_of
    from runtime_min.format.manifest import MANIFEST_NAME
    from runtime_min.format.verify import sha256_of

    with reported_errors("interrupted: the bundle is as it was"):
        added = add_voices(path, packs, overwrite=overwrite)
        typer.echo(f"{path}: added {', '.join(added)}; its manifest's SHA-256 is now")
        typer.echo(sha256_of(path / MANIFEST_NAME))
        if signature_of(path).exists():
            typer.echo(f"{signature_of(path)} is not of this manifest: sign the bundle again")


@app.command(epilog=EPILOG)
def doctor() -> None:
    """Check whether this machine can export: versions, linker, CPU, disk, memory."""
    from exporter.cli.doctor import as_table, examine, failed

    checks = examine()
    Console().print(as_table(checks))
    if failed(checks):
        raise typer.Exit(5)


@app.command(epilog=EPILOG)
def tune(
    cpu_level: Annotated[
        str, typer.Option(help="CPU levels: all that this machine runs, host (the best), or names.")
    ] = "all",
    write: Annotated[
        bool, typer.Option("--write", help="Write the table that exports use, not only show it.")
    ] = False,
) -> None:
    """Measure the sizes of kernels' jobs and register tiles on this machine; takes minutes."""
    from exporter.compiler.kernels.tiles import TABLE, read_table
    from exporter.compiler.targets import find_target
    from exporter.tune import as_tables, measurable_levels, tune, write_table
    from runtime_min.engine.machine import this_machine

    with reported_errors("interrupted: the table is as it was"):
        levels = measurable_levels(find_target("host"), cpu_level, this_machine())
        with ConsoleProgress() as progress:
            choices = tune(levels, progress.step)
        Console().print(as_tables(choices))
        if write:
            write_table(TABLE, read_table(), choices)
            typer.echo(TABLE)


@app.command(epilog=EPILOG)
def targets() -> None:
    """Show what bundles can be exported for, and what has been verified of each target."""
    from exporter.cli.targets import as_tables
    from runtime_min.engine.machine import this_machine

    Console().print(as_tables(this_machine()))


@app.command(epilog=EPILOG)
def version() -> None:
    """Print the version."""
    from exporter import __version__

    typer.echo(__version__)


def _measure(plan: Plan, progress: Progress, bundle: Path) -> Parity:
    from exporter.parity.publish import measure_bundle

    return measure_bundle(plan, progress, bundle)


def _self_test(plan: Plan, progress: Progress) -> SelfTestFiles | None:
    from exporter.parity.make_self_test import make_self_test

    return make_self_test(plan, progress)


def main() -> None:
    """Runs the command."""
    for stream in (sys.stdout, sys.stderr):
        # A name or a table that the terminal cannot show must not end the command.
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    app(prog_name="kokoro-export")


if __name__ == "__main__":
    main()
