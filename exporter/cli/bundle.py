"""``kokoro-export bundle``: exports a bundle."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from exporter import directories
from exporter.cli.terminal import ConsoleProgress, comma_separated, lengths, reported_errors
from runtime_min.format.signatures import STAGE_NAMES
from runtime_min.output.console import print_line


def bundle(
    output: Annotated[Path, typer.Option("--output", "-o", help="Directory to write.")],
    checkpoint: Annotated[
        str,
        typer.Option(
            help="hub (official weights), packages (the same rounded to 8 bits, from the package registry), "
            "synthetic (random ones, for tests), or a .pth, .safetensors or .onnx file."
        ),
    ] = "hub",
    config: Annotated[Path | None, typer.Option(help="The config.json that belongs to a file.")] = None,
    voices: Annotated[
        str | None,
        typer.Option(
            help="official (54 voices that come with the exporter), a directory of .pt or .bin packs, hub or "
            "synthetic; by default the checkpoint's."
        ),
    ] = None,
    target: Annotated[
        str, typer.Option(help="System that the bundle is for (see targets); host is this one.")
    ] = "host",
    precision: Annotated[
        str | None,
        typer.Option(
            help="How the bundle stores its large weights: float16; float32, exactly, in twice the bytes, "
            "which is the default for CUDA; or int8, a little smaller and less exact."
        ),
    ] = None,
    lstm_device: Annotated[
        str, typer.Option(help="Where the encoders' LSTMs compute: cpu, or the target's device.")
    ] = "cpu",
    cpu_level: Annotated[
        str, typer.Option(help="CPU levels: all, host (this machine's best), or names joined by commas.")
    ] = "all",
    arithmetic: Annotated[
        str,
        typer.Option(
            help="Arithmetic that apps may choose for the decoder: float32; or bfloat16 beside it, which is "
            "faster and less exact, on processors with AMX, AVX512-BF16 or Arm's BF16."
        ),
    ] = "float32",
    stages: Annotated[
        str | None,
        typer.Option(help="Only these stages, joined by commas; such a bundle cannot speak."),
    ] = None,
    text_buckets: Annotated[
        str | None, typer.Option(help="Largest numbers of tokens of the libraries, joined by commas.")
    ] = None,
    frame_buckets: Annotated[
        str | None, typer.Option(help="Largest numbers of frames (40 a second), joined by commas.")
    ] = None,
    languages: Annotated[
        str,
        typer.Option(
            help="Languages whose text the bundle can speak, joined by commas, or all, or none. Those that "
            "need rules alone, such as es, are always there."
        ),
    ] = "all",
    native: Annotated[
        bool | None,
        typer.Option(
            help="Add the C library and its header, for apps without Python; by default where zig is "
            "installed and links it."
        ),
    ] = None,
    runtime_library: Annotated[
        Path | None,
        typer.Option(
            help="The target's libtvm_runtime, or the wheel of apache-tvm that holds it; by default the "
            "installed one, or for another machine the one in the package registry."
        ),
    ] = None,
    jobs: Annotated[
        int | None,
        typer.Option(
            help="Libraries to compile at a time; by default one for each core, at most 4. With 1, kokoro "
            "speaks afterwards and not meanwhile, which takes less memory.",
            min=1,
        ),
    ] = None,
    cache_dir: Annotated[
        Path | None, typer.Option(help="Where compiled libraries are kept; by default the user's cache.")
    ] = None,
    no_cache: Annotated[
        bool, typer.Option("--no-cache", help="Store and reuse neither libraries nor results of kokoro.")
    ] = False,
    no_validate: Annotated[
        bool,
        typer.Option(
            "--no-validate",
            help="Publish without the comparison with kokoro, which takes minutes; the manifest records it.",
        ),
    ] = False,
    loudness: Annotated[
        bool,
        typer.Option(
            help="Store how loud each voice is, so that apps can ask for a loudness; half a second for "
            "each that is not official."
        ),
    ] = True,
    statistics: Annotated[
        bool,
        typer.Option(
            help="Store what the decoder's norms find in each voice, so that streams begin sooner; some "
            "seconds for each that is not official."
        ),
    ] = True,
    dump_ir: Annotated[
        Path | None, typer.Option(help="Directory for every stage's intermediate representation.")
    ] = None,
) -> None:
    """Export a bundle."""
    from exporter.export.jobs import default_workers
    from exporter.export.plan import TEXT_BUCKETS, ExportOptions
    from exporter.export.run import export_bundle
    from exporter.parity.publish import Gate
    from exporter.text.files import LANGUAGES

    options = ExportOptions(
        output=output,
        checkpoint=checkpoint,
        config=config,
        voices=voices,
        target=target,
        lstm_device=lstm_device,
        precision=precision,
        cpu_level=cpu_level,
        arithmetic=arithmetic,
        stages=tuple(comma_separated(stages)) if stages is not None else STAGE_NAMES,
        text_buckets=lengths("--text-buckets", text_buckets) or TEXT_BUCKETS,
        frame_buckets=lengths("--frame-buckets", frame_buckets) or None,
        languages={"all": LANGUAGES, "none": ()}.get(languages, tuple(comma_separated(languages))),
        native=native,
        runtime_library=runtime_library,
        jobs=jobs or default_workers(),
        cache=None if no_cache else cache_dir or directories.libraries(),
        answers=None if no_cache else directories.answers(),
        dump_ir=dump_ir,
    )
    with reported_errors("interrupted: no bundle was written; compiled libraries are kept"):
        with ConsoleProgress() as progress, Gate() as gate:
            written = export_bundle(
                options,
                progress,
                measure=None if no_validate else gate.measure,
                self_test=None if no_validate else gate.self_test,
                loudness=gate.loudness if loudness else None,
                statistics=gate.statistics if statistics else None,
                planned=None if no_validate else gate.answer_ahead,
            )
        print_line(written)
