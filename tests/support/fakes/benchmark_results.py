"""The figures of a good run of the benchmark, for tests."""

from __future__ import annotations

from dataclasses import fields

from benchmarks.results import LIBKOKORO, ONNXRUNTIME_INT8, SHERPA, Comparison, Footprint, Peak, Quality
from exporter.measure.results import (
    LIBRARIES,
    Benchmark,
    ColdStart,
    KernelTime,
    PeakMemory,
    Profile,
    StageTime,
    StreamTiming,
    Timing,
)

TOKENS, THREADS = (12, 62, 200, 450), (1, 2)
RATES = {
    **{"bundle": 0.045, "bundle-float32": 0.05, "bundle-int8": 0.05, "bundle-bfloat16": 0.036},
    "onnxruntime": 0.20,
    **{ONNXRUNTIME_INT8: 0.25, "pytorch": 0.40, LIBKOKORO: 0.044, SHERPA: 0.22},
}
"""Seconds for a second of audio on two threads, the same at every length."""

LIBRARY_BYTES = {LIBKOKORO: 3_300_000, SHERPA: 31_900_000}


def timings() -> tuple[Timing, ...]:
    return tuple(
        Timing(
            engine,
            threads,
            tokens,
            tokens / 15,
            tuple(RATES[engine] * 2 / threads * tokens / 15 * noise for noise in (1.1, 1, 0.9)),
        )
        for threads in THREADS
        for tokens in TOKENS
        for engine in RATES
    )


def kernels() -> tuple[KernelTime, ...]:
    winograd = ((1, 14280, 128), 4), ((4, 20, 128, 32), 4), ((1, 14280, 128), 4)
    adain = ((1, 128, 14280), 4), ((1, 128), 4), ((256, 128), 4), ((3, 128), 4)
    conv1d = ((1, 768, 62), 4), ((96, 768, 1, 8), 4), ((1, 768, 62), 4)
    return (
        KernelTime("decoder", "winograd_128_11_1", "winograd", (winograd,) * 3, 0.100),
        KernelTime("decoder", "adain_affine", "adain_affine", (adain,) * 8, 0.020),
        KernelTime("bert", "conv1d_768_768_1", "conv1d", (conv1d,) * 12, 0.010),
        KernelTime("bert", "vm.builtin.make_shape", "TVM's virtual machine", ((),) * 89, 0.0001),
    )


def comparison(**changes: object) -> Comparison:
    stages = (StageTime("bert", 0.011, 0.012, 0.0101), StageTime("decoder", 0.125, 0.13, 0.120))
    found = {
        "facts": {"date": "2026-01-01", "machine": "a CPU | with a bar, 2 cores"},
        "precision": "float16",
        "tokens": TOKENS,
        "threads": THREADS,
        "rounds": 3,
        "timings": timings(),
        "cold_starts": tuple(ColdStart(name, 62, (2.0, 1.0, 3.0)) for name in RATES),
        "memory": tuple(PeakMemory(name, tokens, 480 << 20) for name in RATES for tokens in (62, 450)),
        "sizes": {LIBRARIES: 2_000_000, "parameters": 381_033_120},
        "peaks": (Peak(1, 110.0), Peak(2, 220.0)),
        "quality": tuple(Quality(name, 0.125, 0.9) for name in RATES if name not in LIBRARY_BYTES),
        "footprints": tuple(
            Footprint(name, 214_000_000, LIBRARY_BYTES.get(name), 250 << 20, 100 << 20) for name in RATES
        ),
        "idle_share": 0.001,
        "busy_before": 0.01,
        "busy_after": 0.02,
        "export_seconds": 230.0,
        "streams": (
            StreamTiming("bundle", 3000, 200.0, (0.1, 0.12, 0.11), (30.0, 31.0, 29.0), 900 << 20),
            StreamTiming("kokoro-onnx", 3000, 190.0, (8.0, 7.0, 9.0), (50.0, 58.0, 60.0), 1500 << 20),
        ),
        "profile": Profile(62, 2, 7, 4.1, 0.14, stages, kernels()),
    }
    return Comparison(**(found | changes))  # type: ignore[arg-type]


def benchmark(**changes: object) -> Benchmark:
    """Only the figures of the bundle."""
    whole = comparison(**changes)
    found = {field.name: getattr(whole, field.name) for field in fields(Benchmark)}
    for name in ("timings", "cold_starts", "memory", "streams"):
        found[name] = tuple(each for each in found[name] if each.engine == "bundle")
    return Benchmark(**found)
