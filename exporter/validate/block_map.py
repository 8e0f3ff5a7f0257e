"""The blocks of every stage that can be compared one by one: the bundle's output and kokoro's.

A point pairs a block of the stage's torch module with taps on kokoro's modules (`Reference.tap`). Where the
bundle adds several of kokoro's outputs in one kernel, the taps are added too.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from exporter.reference.traces import Array
from exporter.validate.kernel_order import KERNEL, StageCalls


@dataclass(frozen=True)
class Point:
    """The output of one block."""

    name: str
    """kokoro's name of the block."""
    block: str
    """Path in the stage's torch module, or kernel, as `StageCalls.outputs` has it."""
    taps: tuple[str, ...]
    """Outputs of kokoro's whose sum is the same."""
    run: int = 0
    """Number of earlier runs of the block in an utterance."""
    scale: float = 1.0
    transposed: bool = False
    """True if kokoro has channels and time in the other order."""
    inside: tuple[Point, ...] = ()
    """Parts of the block, in order."""

    def call(self, calls: StageCalls) -> int:
        """Returns the index of the kernel call that writes the block's output."""
        return calls.outputs[self.block][self.run]

    def expected(self, tapped: Mapping[str, Sequence[Array]]) -> Array:
        """Returns kokoro's output in the kernels' order of axes."""
        total = sum(tapped[tap][self.run if len(tapped[tap]) > 1 else 0] for tap in self.taps)
        value = np.asarray(total, np.float32) * np.float32(self.scale)
        return value.swapaxes(1, 2) if self.transposed else value


def points(stage: str, calls: StageCalls) -> tuple[Point, ...]:
    """Returns the blocks of a stage in the order in which they run, coarse ones with their parts inside."""
    found = _POINTS[stage](calls)
    return tuple(sorted(found, key=lambda point: point.call(calls)))


def _count(calls: StageCalls, pattern: str) -> int:
    """Counts the blocks of a kind."""
    return sum(re.fullmatch(pattern, path) is not None for path in calls.outputs)


def _bert(calls: StageCalls) -> Iterator[Point]:
    group = "bert.encoder.albert_layer_groups.0.albert_layers.0"
    yield Point("embeddings", "embedding_norm", ("output:bert.embeddings",), transposed=True)
    yield Point("mapping", "widen", ("output:bert.encoder.embedding_hidden_mapping_in",), transposed=True)
    for layer in range(len(calls.outputs["layer_norm"])):
        attention = Point(
            f"layer {layer}: attention", "attention_norm", (f"output:{group}.attention",), layer, 1.0, True
        )
        yield Point(
            f"layer {layer}", "layer_norm", (f"output:{group}",), layer, transposed=True, inside=(attention,)
        )
    yield Point("bert_encoder", "encoder", ("output:bert_encoder",), transposed=True)


def _duration(calls: StageCalls) -> Iterator[Point]:
    encoder = "predictor.text_encoder.lstms"
    for layer in range(_count(calls, r"lstms\.\d+")):
        norm = f"{encoder}.{2 * layer + 1}"
        yield Point(f"{encoder}.{2 * layer}", f"lstms.{layer}", (f"input:{norm}",), transposed=True)
        yield Point(norm, f"norms.{layer}", (f"output:{norm}",), transposed=True)
    projection = "predictor.duration_proj"
    yield Point("predictor.lstm", "lstm", (f"input:{projection}",), transposed=True)
    yield Point(projection, "project", (f"output:{projection}",), transposed=True)


def _text_encoder(calls: StageCalls) -> Iterator[Point]:
    yield Point("embedding", f"{KERNEL}embedding", ("output:text_encoder.embedding",), transposed=True)
    for layer in range(_count(calls, r"norms\.\d+")):
        name = f"text_encoder.cnn.{layer}"
        conv = Point(f"{name}.0", f"convs.{layer}", (f"output:{name}.0",))
        yield Point(name, f"norms.{layer}", (f"output:{name}",), inside=(conv,))
    yield Point("text_encoder.lstm", "lstm", ("output:text_encoder",))


def _residual(name: str, block: str) -> Point:
    """Returns the point of kokoro's `AdainResBlk1d`."""
    conv = Point(f"{name}.conv1", f"{block}.conv1", (f"output:{name}.conv1",))
    return Point(name, block, (f"output:{name}",), inside=(conv,))


def _f0n(calls: StageCalls) -> Iterator[Point]:
    yield Point("predictor.shared", "shared", ("input:predictor.F0.0",))
    for name, block in (("F0", "f0"), ("N", "energy")):
        for layer in range(_count(calls, rf"{block}_blocks\.\d+")):
            yield _residual(f"predictor.{name}.{layer}", f"{block}_blocks.{layer}")
        yield Point(f"predictor.{name}_proj", f"{block}_project", (f"output:predictor.{name}_proj",))


def _generator_block(name: str, block: str, taps: tuple[str, ...], steps: int, scale: float = 1.0) -> Point:
    """Returns the point of kokoro's `AdaINResBlock1`."""
    inside = []
    for step in range(steps):
        conv = f"convs1.{step}"
        inside.append(Point(f"{name}.{conv}", f"{block}.{conv}", (f"output:{name}.{conv}",), transposed=True))
        if step < steps - 1:
            following = f"input:{name}.adain1.{step + 1}"
            inside.append(
                Point(f"{name}.convs2.{step}", f"{block}.convs2.{step}", (following,), transposed=True)
            )
    return Point(name, block, taps, scale=scale, transposed=True, inside=tuple(inside))


def _decoder(calls: StageCalls) -> Iterator[Point]:
    halves = ("decoder.F0_conv", "decoder.N_conv")
    for run, name in enumerate(halves):
        # Two modules of kokoro's, one kernel here that runs twice.
        yield Point(name, f"{KERNEL}halve", (f"output:{name}",), run)
    yield _residual("decoder.encode", "body.encode")
    yield Point("decoder.asr_res", "body.asr", ("output:decoder.asr_res",))
    for layer in range(_count(calls, r"body\.decode\.\d+")):
        yield _residual(f"decoder.decode.{layer}", f"body.decode.{layer}")
    yield from _generator(calls)


def _generator(calls: StageCalls) -> Iterator[Point]:
    name = "decoder.generator"
    ups, blocks = _count(calls, r"generator\.ups\.\d+"), _count(calls, r"generator\.blocks\.\d+")
    for up in range(ups):
        yield from _upsampling(calls, name, up, blocks // ups)
    yield Point(f"{name}.conv_post", "generator.last", (f"output:{name}.conv_post",))


def _upsampling(calls: StageCalls, generator: str, up: int, kernels: int) -> Iterator[Point]:
    """Yields the points of one upsampling: the source's branch, the sum, the residual blocks."""
    convolution, residual = f"{generator}.noise_convs.{up}", f"{generator}.noise_res.{up}"
    yield Point(convolution, f"generator.source_convs.{up}", (f"output:{convolution}",), transposed=True)
    block = f"generator.source_blocks.{up}"
    yield _generator_block(residual, block, (f"output:{residual}",), _steps(calls, block))
    first = up * kernels
    summed = (f"input:{generator}.resblocks.{first}",)
    yield Point(f"{generator}.ups.{up} + source", f"generator.ups.{up}", summed, transposed=True)
    # The kernels add each block's output to those before it, and divide the last sum.
    outputs = [f"output:{generator}.resblocks.{first + kernel}" for kernel in range(kernels)]
    for kernel in range(kernels):
        block = f"generator.blocks.{first + kernel}"
        scale = 1 / kernels if kernel == kernels - 1 else 1.0
        name, taps = f"{generator}.resblocks.{first + kernel}", tuple(outputs[: kernel + 1])
        yield _generator_block(name, block, taps, _steps(calls, block), scale)


def _steps(calls: StageCalls, block: str) -> int:
    """Counts the convolutions of a residual block of the generator."""
    return _count(calls, rf"{re.escape(block)}\.convs1\.\d+")


_POINTS: dict[str, Callable[[StageCalls], Iterator[Point]]] = {
    "bert": _bert,
    "duration": _duration,
    "text_encoder": _text_encoder,
    "f0n": _f0n,
    "decoder": _decoder,
}
