"""A model of one-line stages, compiled by TVM with symbolic lengths, and the same in numpy.

Every output depends on every input and parameter, so that a swapped argument, a wrong half of a style row
or a wrong alignment changes the samples.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from exporter.bundle.write import BundleContents
from exporter.compiler import targets
from exporter.compiler.link import link_library
from exporter.compiler.targets import Target, find_target
from runtime_min.format.manifest import CpuLevel
from runtime_min.format.signatures import (
    F0_PER_FRAME,
    SAMPLES_PER_FRAME,
    SPECTRA_PER_FRAME,
    SPECTRUM_CHANNELS,
    TensorSignature,
    offset_of,
    signatures,
    stage_names,
)
from tests.support.tiny.bundle import (
    HIDDEN,
    PARAMETERS,
    STYLE,
    contents,
    tensors,
    with_entries,
    with_levels,
)
from tests.support.tiny.compiled import compile_into

_SYSTEM = "linux-x86_64"
SAMPLES_PER_F0 = SAMPLES_PER_FRAME // F0_PER_FRAME
SAMPLES_PER_SPECTRUM = SAMPLES_PER_FRAME // SPECTRA_PER_FRAME


def bert(token_ids: Any, table: Any) -> tuple[Any, ...]:
    from tvm import te

    shape = (1, HIDDEN, token_ids.shape[1])
    return (te.compute(shape, lambda _, c, t: table[token_ids[0, t], c]),)


def duration(hidden: Any, style: Any, table: Any, lengths: Any) -> tuple[Any, ...]:
    from tvm import te, tirx

    tokens = hidden.shape[2]
    encoding = te.compute(
        (1, HIDDEN + STYLE, tokens),
        lambda _, c, t: tirx.if_then_else(
            c < HIDDEN, hidden[0, tirx.min(c, HIDDEN - 1), t] * table[1, 1], style[0, tirx.max(c - HIDDEN, 0)]
        ),
    )
    durations = te.compute(
        (1, tokens), lambda _, t: tirx.abs(hidden[0, 0, t]) * lengths[2] + lengths[0] + tirx.abs(style[0, 0])
    )
    return encoding, durations


def text_encoder(token_ids: Any, table: Any) -> tuple[Any, ...]:
    from tvm import te

    shape = (1, HIDDEN, token_ids.shape[1])
    return (te.compute(shape, lambda _, c, t: table[token_ids[0, t], c] * 3.0),)


def f0n(aligned: Any, style: Any, gain: Any) -> tuple[Any, ...]:
    from tvm import te

    shape = (1, aligned.shape[2] * F0_PER_FRAME)
    f0 = te.compute(shape, lambda _, i: aligned[0, 0, i // F0_PER_FRAME] * gain[0] + style[0, 1])
    energy = te.compute(shape, lambda _, i: aligned[0, HIDDEN + 1, i // F0_PER_FRAME] + style[0, 0])
    return f0, energy


def normed(sample: Any, norm: Any) -> Any:
    """Changes a sample by the statistics of a voice, if they are given."""
    from tvm import tirx

    return tirx.if_then_else(norm[1, 0] < 0, sample, sample * norm[1, 0] + norm[0, 0])


def decoder(asr: Any, f0: Any, energy: Any, style: Any, noise: Any, gain: Any, norm: Any) -> tuple[Any, ...]:
    from tvm import te

    shape = (1, asr.shape[2] * SAMPLES_PER_FRAME)
    audio = te.compute(
        shape,
        lambda _, i: normed(
            asr[0, 0, i // SAMPLES_PER_FRAME]
            + f0[0, i // SAMPLES_PER_F0] * 2.0
            + energy[0, i // SAMPLES_PER_F0] * 3.0
            + style[0, 1] * gain[0]
            + noise[0, i] * 0.125,
            norm,
        ),
    )
    return (audio,)


def source(f0: Any, noise: Any, gain: Any) -> tuple[Any, ...]:
    """Puts the noise of a spectrum's samples into its first channels, and F0 into the last one."""
    from tvm import te, tirx

    columns = noise.shape[1] // SAMPLES_PER_SPECTRUM + 1
    f0_columns = SAMPLES_PER_F0 // SAMPLES_PER_SPECTRUM
    spectrum = te.compute(
        (1, SPECTRUM_CHANNELS, columns),
        lambda _, c, t: tirx.if_then_else(
            c < SPECTRUM_CHANNELS - 1,
            noise[
                0,
                tirx.min(t, columns - 2) * SAMPLES_PER_SPECTRUM + tirx.min(c, SAMPLES_PER_SPECTRUM - 1),
            ],
            f0[0, tirx.min(t, columns - 2) // f0_columns] * gain[0],
        ),
    )
    return (spectrum,)


def decoder_of_source(
    asr: Any, f0: Any, energy: Any, style: Any, spectrum: Any, gain: Any, norm: Any
) -> tuple[Any, ...]:
    """The decoder where the source is apart."""
    from tvm import te

    shape = (1, asr.shape[2] * SAMPLES_PER_FRAME)
    audio = te.compute(
        shape,
        lambda _, i: normed(
            asr[0, 0, i // SAMPLES_PER_FRAME]
            + f0[0, i // SAMPLES_PER_F0]
            + spectrum[0, SPECTRUM_CHANNELS - 1, i // SAMPLES_PER_SPECTRUM] / gain[0]
            + energy[0, i // SAMPLES_PER_F0] * 3.0
            + style[0, 1] * gain[0]
            + spectrum[0, i % SAMPLES_PER_SPECTRUM, i // SAMPLES_PER_SPECTRUM] * 0.125,
            norm,
        ),
    )
    return (audio,)


STAGES: dict[str, Callable[..., tuple[Any, ...]]] = {
    "bert": bert,
    "duration": duration,
    "text_encoder": text_encoder,
    "f0n": f0n,
    "source": source,
    "decoder": decoder,
}


def compile_stages(
    directory: Path,
    devices: Mapping[str, str] | None = None,
    system: str = _SYSTEM,
    processor: str = "",
) -> None:
    """Compiles every stage into a library of its own.

    Args:
        directory: of the libraries.
        devices: device by stage; the source is then apart.
        system: a target's name.
        processor: LLVM's name of a CPU level; by default what every processor of the target has.
    """
    import tvm
    from tvm import relax

    row = find_target(system)
    host = {"kind": "llvm", "mtriple": row.triple, **({"mcpu": processor} if processor else {})}
    directory.mkdir(parents=True, exist_ok=True)
    for name in stage_names(devices is not None):
        device = (devices or {}).get(name)
        target = tvm.target.Target({"kind": device, "host": host} if device else host)
        module = _module(name, devices is not None)
        if device:
            module = _on_gpu(module, target)
        link_library(relax.build(module, target=target), directory / f"{name}.so", row)


def _on_gpu(module: Any, target: Any) -> Any:
    """Gives every element a thread of its own."""
    from tvm.s_tir import dlight

    with target:
        return dlight.ApplyDefaultSchedule(dlight.gpu.Fallback())(module)


def _module(name: str, separate_source: bool, finish: Callable[..., Any] | None = None) -> Any:
    """Returns a stage; `finish` emits more code with a builder, the output and the stage's arguments."""
    from tvm import relax, tirx

    signature = signatures(HIDDEN, STYLE, separate_source)[name]
    stage = decoder_of_source if separate_source and name == "decoder" else STAGES[name]
    values = tensors()
    # TVM takes a length from an input that has it bare, so the unit is the smallest multiple that one has.
    scales = [dim[0] for tensor in signature.inputs for dim in tensor.shape if not isinstance(dim, int)]
    unit, length = min(scales), tirx.Var("length", "int64")
    arguments = [_variable(tensor, length, unit) for tensor in signature.inputs] + [
        relax.Var(key, relax.TensorType(values[key].shape, "float32")) for key in PARAMETERS[name]
    ]
    builder = relax.BlockBuilder()
    with builder.function(name, arguments):
        with builder.dataflow():
            outputs = builder.emit_te(stage, *arguments)
            outputs = (
                [outputs[i] for i in range(len(signature.outputs))] if len(signature.outputs) > 1 else outputs
            )
            outputs = finish(builder, outputs, arguments) if finish else outputs
            result = builder.emit_output(outputs)
        builder.emit_func_output(result)
    return builder.get()


def _variable(tensor: TensorSignature, length: Any, unit: int) -> Any:
    from tvm import relax

    shape = [
        dim if isinstance(dim, int) else dim[0] // unit * length + offset_of(dim) for dim in tensor.shape
    ]
    return relax.Var(tensor.name, relax.TensorType(shape, tensor.dtype))


def reference(
    token_ids: np.ndarray, style_row: np.ndarray, speed: float, noise: Callable[[int], np.ndarray]
) -> tuple[np.ndarray, np.ndarray]:
    """Durations and samples of the tiny model in numpy, from `bundles/FORMAT.md` alone."""
    table, lengths, gain = (tensors()[name] for name in ("table", "lengths", "gain"))
    decoder_style, prosody = style_row[:STYLE], style_row[STYLE:]
    hidden = table[token_ids].T
    encoding = np.concatenate([hidden * table[1, 1], np.repeat(prosody[:, None], len(token_ids), axis=1)])
    predicted = np.abs(hidden[0]) * lengths[2] + lengths[0] + np.abs(prosody[0])
    durations = np.maximum(np.rint(predicted / np.float32(speed)), 1).astype(np.int64)
    aligned = np.repeat(encoding, durations, axis=1)
    f0 = np.repeat(aligned[0] * gain[0] + prosody[1], SAMPLES_PER_FRAME)
    energy = np.repeat(aligned[HIDDEN + 1] + prosody[0], SAMPLES_PER_FRAME)
    asr = np.repeat(np.repeat(table[token_ids, 0] * 3, durations), SAMPLES_PER_FRAME)
    return durations, asr + 2 * f0 + 3 * energy + decoder_style[1] * gain[0] + 0.125 * noise(len(asr))


def compiled_libraries(directory: Path, *devices: str) -> dict[str, Path]:
    """Compiles the tiny model's stages, with the source apart where `devices` has any STAGE=DEVICE."""
    compile_into(directory, "model", *devices, target=find_target(_SYSTEM))
    return libraries_in(directory)


def libraries_in(directory: Path) -> dict[str, Path]:
    """Returns the compiled stages of a directory by their names."""
    return {path.stem: path for path in directory.glob("*.so")}


def contents_with_levels(directory: Path, target: Target, runtime_library: Path) -> BundleContents:
    """A bundle of the tiny model, compiled in `directory` for every CPU level of `target`."""
    compile_into(directory, "model", f"--target={target.name}", target=target)
    return contents_of_levels(directory, target, target.levels, runtime_library)


def contents_of_levels(
    directory: Path, target: Target, compiled_for: Sequence[targets.CpuLevel], runtime_library: Path
) -> BundleContents:
    """A bundle of libraries that are in folders of `directory` with the names of CPU levels."""
    levels = tuple(CpuLevel(level.name, level.features) for level in compiled_for)
    stages = {path.stem: path for path in (directory / levels[0].name).glob("*.so")}
    made = with_levels(contents(stages, runtime_library), levels)
    copies = dict(made.copies)
    for stage in made.manifest.stages:
        for library in stage.libraries:
            copies[library.file] = directory / library.level / f"{stage.name}.so"
    facts = {name: getattr(target, name) for name in ("system", "machine", "minimum_os")}
    return with_entries(replace(made, copies=copies), target=made.manifest.target._replace(**facts))


if __name__ == "__main__":
    # A process of its own: what compiled has TVM's compiler loaded, what speaks must not.
    directory, *arguments = sys.argv[1:]
    apart = dict(argument.split("=") for argument in arguments)
    if name := apart.pop("--target", None):
        for level in find_target(name).levels:
            compile_stages(Path(directory, level.name), None, name, level.mcpu)
    else:
        compile_stages(Path(directory), apart or None)
