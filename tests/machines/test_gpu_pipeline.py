"""The passes for a GPU alone: threads for TVM's own functions, limits, exact constants."""

import re
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from tvm import IRModule, relax
from tvm.script import tirx as T
from tvm.tirx import PrimFunc

from exporter.compiler.import_stage import import_stage
from exporter.compiler.kernels.gpu.constants import exact_constants
from exporter.compiler.kernels.gpu.limits import LIMITS, Launch, launches
from exporter.compiler.passes import compile_module, phases
from exporter.compiler.stages.layers import Conv
from runtime_min.format.signatures import StageSignature, TensorSignature
from tests.exporter.compiler.test_converters import CHANNELS, ChannelsLast
from tests.support.kernels.on_gpu import Gpu, every_device, target


class Joined(nn.Module):
    """Nothing but operators that TVM makes functions of itself."""

    SIGNATURE = StageSignature(
        "joined", "frames", 3,
        (
            TensorSignature("x", "float32", (1, 2, (1, "frames"))),
            TensorSignature("style", "float32", (1, 4)),
        ),
        (),
    )  # fmt: skip

    def forward(self, x: Tensor, style: Tensor) -> Tensor:
        """[1, 2, n] and [1, 4] to [1, 6, 2 * n]."""
        styles = style[:, :, None].expand(-1, -1, x.shape[2])
        return torch.cat([torch.sigmoid(x), styles], dim=1).repeat_interleave(2, dim=2)


def scheduled(device: str) -> dict[str, PrimFunc]:
    """The module's functions after the pass that spreads them over threads."""
    module = import_stage(Joined().eval(), Joined.SIGNATURE, 100, None, "joined")
    with target(device):
        for name, run in (named for passes in phases(device).values() for named in passes.items()):
            module = run(module)
            if name == "bind_threads":
                break
    return {
        variable.name_hint: function
        for variable, function in module.functions_items()
        if isinstance(function, PrimFunc)
    }


@every_device
def test_what_tvm_makes_itself_is_spread_over_threads(device: str) -> None:
    functions = scheduled(device)
    assert functions
    for name, function in functions.items():
        assert launches(function), name
        assert all(launch.fits() for launch in launches(function)), name


def sources(module: Any) -> list[str]:
    """Source of all device modules below one."""
    own = [module.inspect_source()] if module.kind == "metal" else []
    return own + [source for imported in module.imports for source in sources(imported)]


def test_no_function_stays_on_the_host() -> None:
    module = import_stage(Joined().eval(), Joined.SIGNATURE, 100, None, "joined")
    (source,) = sources(compile_module(module, target("metal")).mod)
    kernels = {re.sub(r"(_kernel)+(_\d+)?$", "", name) for name in re.findall(r"kernel void (\w+)\(", source)}
    assert kernels == set(scheduled("metal"))


def test_a_stage_of_kernels_compiles_as_it_is_for_every_device() -> None:
    class Body(ChannelsLast):
        """The same without Winograd's convolutions, of which there is none for a GPU."""

        def __init__(self) -> None:
            super().__init__(later=False)
            self.last = Conv.of(nn.Conv1d(CHANNELS, 22, 3, padding=1), reads_channels_last=True)

        def forward(self, x: Tensor, addend: Tensor, style: Tensor) -> Tensor:
            return self.last(self.up(self.first(x), self.source(addend), 0.1))

    for device in ("metal", "cuda"):
        module = import_stage(Body().eval(), ChannelsLast.SIGNATURE, 100, None, "small")
        assert isinstance(compile_module(module, target(device)), relax.VMExecutable)


@pytest.mark.parametrize(("threads", "elements"), [(512, 8), (256, 8193)])
def test_a_kernel_beyond_the_limits_is_refused(threads: int, elements: int) -> None:
    @T.prim_func(private=True, s_tir=True)
    def greedy(y_handle: T.handle) -> None:
        n = T.int64()
        y = T.match_buffer(y_handle, (n,), "float32")
        for block in T.thread_binding(n, thread="blockIdx.x"):
            for thread in T.thread_binding(threads, thread="threadIdx.x"):
                tile = T.alloc_buffer((elements,), "float32", scope="shared")
                tile[thread % elements] = T.float32(1)
                if thread == 0:
                    y[block] = tile[0]

    assert launches(greedy) == [Launch(threads, 4 * elements)]
    run = phases("metal")["schedule"]["bind_threads"]
    with target("metal"), pytest.raises(Exception, match="greedy does not fit every GPU"):
        run(IRModule({"greedy": greedy}))


def test_the_limits_are_metals_and_cudas() -> None:
    assert LIMITS["max_num_threads"] <= 1024
    assert LIMITS["max_shared_memory_per_block"] <= 32 * 1024


def constants(values: tuple[float, ...]) -> PrimFunc:
    """Writes constants."""

    def write_all(y: Any, thread: Any) -> None:
        for index, value in enumerate(values):
            T.buffer_store(y, T.float32(value), [index + thread])

    @T.prim_func(private=True, s_tir=True)
    def write(y_handle: T.handle) -> None:
        y = T.match_buffer(y_handle, (len(values),), "float32")
        for thread in T.thread_binding(1, thread="threadIdx.x"):
            write_all(y, thread)

    return write


@every_device
def test_constants_keep_their_bits(device: str, gpu: Gpu) -> None:
    values = np.random.default_rng(0).standard_normal(64).astype(np.float32) ** 5
    values = np.concatenate([values, np.array([0, 1, -0.2, 1 / 3, np.pi, 2e-38, 3e38], np.float32)])
    found = gpu.call(device, values.shape, (), constants, tuple(map(float, values)))
    np.testing.assert_array_equal(found, values)


def test_constants_that_seven_digits_give_stay_readable() -> None:
    assert "reinterpret" not in exact_constants(constants((0.0, 1.0, 0.2, -88.0))).script()
    assert exact_constants(constants((1 / 3,))).script().count("reinterpret") == 1
