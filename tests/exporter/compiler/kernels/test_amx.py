"""The instructions of Intel's matrix unit, which is emulated where there is none, by Intel's definition."""

from __future__ import annotations

import signal
import subprocess
import sys
from functools import cache
from typing import Any

import numpy as np
import pytest
import tvm
from numpy.typing import NDArray
from tvm.script import tirx as T

from exporter.compiler.compile_stage import tvm_target
from exporter.compiler.kernels.function import kernel_function
from exporter.compiler.targets import find_target
from tests.support.emulation import amx
from tests.support.kernels.on_cpu import call, compiled, without_subnormals

pytestmark = pytest.mark.skipif(not amx.can_run(), reason="this processor cannot emulate AMX")
ROWS, PAIRS, OUTPUTS = 16, 16, 16
Tile = NDArray[np.float32]


def emit_product(configuration: Any, first: Any, second: Any, sums: Any, y: Any) -> None:
    """One product of tiles, with each instruction that touches memory."""

    def emit(name: str, *arguments: Any) -> None:
        T.evaluate(T.call_llvm_intrin("void", f"llvm.x86.{name}", *arguments))

    emit("ldtilecfg", T.address_of(configuration[0]))
    emit("tilezero", T.int8(5))
    emit("tileloadd64", T.int8(3), T.address_of(sums[0, 0]), T.int64(64))
    emit("tileloaddt164", T.int8(7), T.address_of(first[0, 0]), T.int64(128))
    emit("tileloadd64", T.int8(0), T.address_of(second[0, 0]), T.int64(64))
    emit("tdpbf16ps", T.int8(3), T.int8(7), T.int8(0))
    emit("tilestored64", T.int8(3), T.address_of(y[0, 0]), T.int64(64))
    emit("tilerelease")


@cache
def product() -> Any:
    target = find_target("linux-x86_64")
    level = next(level for level in target.arithmetic_levels if level.name == "x86-64-v4-amx")
    shapes = {
        "configuration": (64,),
        # Every second row is read.
        "first": (2 * ROWS, 2 * PAIRS),
        "second": (PAIRS, 2 * OUTPUTS),
        "sums": (ROWS, OUTPUTS),
        "y": (ROWS, OUTPUTS),
    }
    kernel = kernel_function(
        emit_product, shapes, {"configuration": "uint8", "first": "uint16", "second": "uint16"}
    )
    return tvm.runtime.load_module(str(compiled(kernel, tvm_target(target, level), find_target("host"))))


def configuration(rows: int, pairs: int, outputs: int) -> NDArray[np.uint8]:
    """Tiles 3 += 7 @ 0 of these sizes; tile 5 exists."""
    found = np.zeros(64, np.uint8)
    found[0] = 1
    for tile, tile_rows, width in ((3, rows, outputs), (7, rows, pairs), (0, pairs, outputs), (5, 16, 16)):
        found[16 + 2 * tile] = 4 * width
        found[48 + tile] = tile_rows
    return found


def defined(first: Tile, second: Tile, sums: Tile) -> Tile:
    """TDPBF16PS as the Software Developer's Manual has it, a float32 for each bfloat16.

    A sum of float32 and the product of two bfloat16, in float64 and then rounded, is that of a fused
    multiply-add: float64 has more than twice the digits of float32, so that rounding twice changes nothing.
    """
    first, second, sums = map(without_subnormals, (first, second, sums))
    halves = np.zeros((2, *sums.shape), np.float32)
    for pair in range(first.shape[1] // 2):
        for which in range(2):
            factor = second[pair, which::2].astype(np.float64)
            added = first[:, 2 * pair + which, None].astype(np.float64) * factor
            halves[which] = without_subnormals((halves[which] + added).astype(np.float32))
    return without_subnormals(sums + without_subnormals(halves[0] + halves[1]))


def values_of(kind: str, random: np.random.Generator, shape: tuple[int, ...]) -> Tile:
    values = random.standard_normal(shape)
    if kind == "far apart":
        values *= 2.0 ** random.integers(-40, 40, shape)
    if kind == "subnormal and small":
        values *= 2.0 ** random.integers(-140, -50, shape)
    if kind == "infinite and large":
        values *= 2.0 ** random.integers(40, 120, shape)
        values[random.random(shape) < 0.02] = np.inf
    return values.astype(np.float32)


@pytest.mark.parametrize("kind", ["of one size", "far apart", "subnormal and small", "infinite and large"])
@pytest.mark.parametrize(("rows", "pairs", "outputs"), [(16, 16, 16), (5, 7, 9), (1, 16, 1)])
def test_a_product_has_the_bits_of_intels_definition(kind: str, rows: int, pairs: int, outputs: int) -> None:
    amx.install()
    random = np.random.default_rng([rows, pairs])
    for _ in range(20):
        first, second = (
            values_of(kind, random, shape).view(np.uint32) >> 16
            for shape in ((2 * ROWS, 2 * PAIRS), (PAIRS, 2 * OUTPUTS))
        )
        sums = values_of(kind, random, (ROWS, OUTPUTS))
        found = call(
            product(), (ROWS, OUTPUTS), configuration(rows, pairs, outputs), first.astype(np.uint16),
            second.astype(np.uint16), sums,
        )  # fmt: skip
        with np.errstate(over="ignore", invalid="ignore"):
            expected = defined(
                (first[: 2 * rows : 2, : 2 * pairs] << 16).view(np.float32),
                (second[:pairs, : 2 * outputs] << 16).view(np.float32),
                sums[:rows, :outputs],
            )
        # The sign and the payload of NaN are not compared.
        bits = [np.where(np.isnan(each), 0, each.view(np.int32)) for each in (found, expected)]
        np.testing.assert_array_equal(bits[0][:rows, :outputs], bits[1])
        np.testing.assert_array_equal(np.isnan(found[:rows, :outputs]), np.isnan(expected))
        # What is outside of the tile was not written.
        assert np.isnan(found[rows:]).all() and np.isnan(found[:, outputs:]).all()


CHILD = """
import ctypes, mmap, sys
asks, code, configuration = sys.argv[1] == "asks", *map(bytes.fromhex, sys.argv[2:])
if asks and ctypes.CDLL(None).syscall(158, 0x1023, 18) != 0:
    raise SystemExit("refused")
page = mmap.mmap(-1, mmap.PAGESIZE, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
page.write(code)
address = ctypes.addressof(ctypes.c_char.from_buffer(page))
ctypes.CFUNCTYPE(None, ctypes.c_char_p)(address)(configuration)
"""
"""Runs machine code on a configuration, having asked Linux for tiles or not."""
CONFIGURE, RELEASE, RETURN = "c4e2784907", "c4e27849c0", "c3"
CLEAR, CLEAR_UNCONFIGURED, MULTIPLY = "c4e27b49e8", "c4e27b49c8", "c4e27a5cdf"  # 5; 1; 3 += 7 @ 0
UNKNOWN = "0f0b"
SOUND = bytes(configuration(16, 16, 16))


def child(code: str, given: bytes = SOUND, asks: bool = True, permission: str = "granted") -> Any:
    command = [sys.executable, "-S", "-c", CHILD, "asks" if asks else "", code + RETURN, given.hex()]
    return subprocess.run(command, env=amx.environment(permission), capture_output=True, text=True)


@pytest.mark.parametrize(
    ("code", "change", "asks", "signals"),
    {
        "sound": (CONFIGURE + CLEAR + MULTIPLY + RELEASE, {}, True, 0),
        "no instruction": ("", {}, False, 0),
        "not asked for": (CONFIGURE + RELEASE, {}, False, signal.SIGILL),
        "not configured": (MULTIPLY, {}, True, signal.SIGILL),
        "released": (CONFIGURE + MULTIPLY + RELEASE + CLEAR, {}, True, signal.SIGILL),
        "a tile that is not configured": (CONFIGURE + CLEAR_UNCONFIGURED, {}, True, signal.SIGILL),
        "sizes that do not fit": (CONFIGURE + MULTIPLY, {48 + 7: 15}, True, signal.SIGILL),
        "another instruction": (CONFIGURE + UNKNOWN, {}, True, signal.SIGILL),
        "unknown palette": (CONFIGURE, {0: 2}, True, signal.SIGSEGV),
        "reserved byte": (CONFIGURE, {9: 1}, True, signal.SIGSEGV),
        "rows without bytes": (CONFIGURE, {48 + 2: 16}, True, signal.SIGSEGV),
        "more rows than there are": (CONFIGURE, {48 + 3: 17}, True, signal.SIGSEGV),
        "no palette": (CONFIGURE + CLEAR, {0: 0}, True, signal.SIGILL),
    }.values(),
)
def test_faults_end_the_process(code: str, change: dict[int, int], asks: bool, signals: int) -> None:
    given = bytearray(SOUND)
    for place, value in change.items():
        given[place] = value
    done = child(code, bytes(given), asks)
    assert done.returncode == -signals, done.stderr


@pytest.mark.skipif(amx.processor_has_amx(), reason="Linux refuses nobody")
def test_the_emulated_linux_may_refuse() -> None:
    done = child(CONFIGURE, permission="refused")
    assert (done.returncode, done.stderr.strip()) == (1, "refused")
