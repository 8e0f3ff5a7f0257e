"""``python -m benchmarks.gpu BUNDLE``: a bundle for CUDA beside kokoro in PyTorch, on a machine with a GPU.

It needs no compiler: the bundle was exported elsewhere. It writes docs/measured/gpu.md.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch
from loguru import logger

from exporter.compiler.library import ORIGINAL
from exporter.measure.utterances import phonemes_of
from exporter.model.config import OFFICIAL_CONFIG
from exporter.model.weight_packages import joined_file
from exporter.reference.recording import load_model
from exporter.validate.observe import stage_inputs
from runtime_min import Bundle
from runtime_min.engine.machine import processor_name
from runtime_min.format.signatures import SAMPLE_RATE

TOKENS = (12, 62, 200, 450)
ROUNDS = 7
VOICE = "af_heart"
REPORT = Path("docs/measured/gpu.md")
Speak = Callable[[str], Any]


def pytorch(checkpoint: Path, config: Path, voice: Any, device: str, tf32: bool) -> Speak:
    """Returns kokoro's own model on a device; `tf32` lets its convolutions round to 10 bits."""
    model = load_model(checkpoint, config, ORIGINAL).to(device)
    rows = torch.tensor(voice, device=device)

    def speak(phonemes: str) -> Any:
        torch.backends.cudnn.allow_tf32 = tf32
        with torch.inference_mode():
            return model(phonemes, rows[len(phonemes) - 1 : len(phonemes)].reshape(1, -1)).cpu()

    return speak


def interleaved(engines: dict[str, Speak], phonemes: str) -> dict[str, float]:
    """Returns the median seconds of each engine; the engines take turns, after one utterance each."""
    for speak in engines.values():
        speak(phonemes)
    seconds: dict[str, list[float]] = {name: [] for name in engines}
    for number in range(ROUNDS):
        names = list(engines)
        for name in names[number % len(names) :] + names[: number % len(names)]:
            started = time.perf_counter()
            engines[name](phonemes)
            seconds[name].append(time.perf_counter() - started)
    return {name: statistics.median(times) for name, times in seconds.items()}


def stage_seconds(bundle: Bundle, phonemes: str) -> dict[str, float]:
    """Returns the median seconds of each stage, with the copies to and from its device."""
    trace = bundle.trace(phonemes, VOICE)
    found = {}
    for stage in bundle.manifest.stages:
        runner = bundle.stage(stage.name)
        inputs, times = stage_inputs(runner, trace), []
        for _ in range(ROUNDS):
            started = time.perf_counter()
            runner.run(inputs)
            times.append(time.perf_counter() - started)
        found[stage.name] = statistics.median(times)
    return found


def rows_of(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Returns a table in Markdown."""
    return "".join(f"| {' | '.join(row)} |\n" for row in (header, ["---"] * len(header), *rows))


def report(bundle: Bundle, engines: dict[str, Speak], load_seconds: float, first_seconds: float) -> str:
    """Returns the report."""
    speed, stages = [], []
    for tokens in TOKENS:
        phonemes = phonemes_of(tokens, bundle.manifest.vocabulary)
        audio = bundle.synthesize(phonemes=phonemes, voice=VOICE).samples.size / SAMPLE_RATE
        seconds = interleaved(engines, phonemes)
        speed.append([str(tokens), f"{audio:.2f} s", *(f"{1000 * each:.1f} ms" for each in seconds.values())])
        parts = stage_seconds(bundle, phonemes)
        stages.append([str(tokens), *(f"{1000 * each:.1f} ms" for each in parts.values())])
    devices = ", ".join(f"{stage.name} on {stage.device}" for stage in bundle.manifest.stages)
    return f"""# A bundle for CUDA beside PyTorch

`python -m benchmarks.gpu` wrote this file on {time.strftime("%Y-%m-%d")}: {torch.cuda.get_device_name()},
PyTorch {torch.__version__}, {processor_name()}, {bundle.threads} threads of the bundle and
{torch.get_num_threads()} of PyTorch's. Medians of {ROUNDS} rounds in which the engines take turns.
The bundle's stages: {devices}.
Loading with verification took {load_seconds:.2f} s, the first utterance {first_seconds:.2f} s.

{rows_of(["tokens", "audio", *engines], speed)}
## Stages of the bundle

{rows_of(["tokens", *(stage.name for stage in bundle.manifest.stages)], stages)}"""


def main() -> None:
    """Measures and writes the report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("bundle", type=Path)
    parser.add_argument("--checkpoint", type=Path, help="by default the weights of the packages")
    parser.add_argument("--output", type=Path, default=REPORT)
    options = parser.parse_args()
    checkpoint = options.checkpoint or joined_file()
    # kokoro writes every tensor of durations to the terminal, which takes milliseconds.
    logger.disable("kokoro")
    started = time.perf_counter()
    with Bundle.load(options.bundle) as bundle:
        loaded = time.perf_counter()
        bundle.synthesize(phonemes=phonemes_of(62, bundle.manifest.vocabulary), voice=VOICE)
        spoken = time.perf_counter()
        voice, files = bundle.voice_tables[VOICE], (checkpoint, OFFICIAL_CONFIG)
        engines: dict[str, Speak] = {
            "bundle": lambda phonemes: bundle.synthesize(phonemes=phonemes, voice=VOICE),
            "PyTorch on the GPU": pytorch(*files, voice, "cuda", tf32=False),
            "PyTorch on the GPU, TF32": pytorch(*files, voice, "cuda", tf32=True),
            "PyTorch on the CPU": pytorch(*files, voice, "cpu", tf32=False),
        }
        written = report(bundle, engines, loaded - started, spoken - loaded)
        options.output.write_text(written, encoding="utf-8")


if __name__ == "__main__":
    main()
