"""Helpers of the reproductions: importing a torch function, building, calling, asserting an obstacle."""

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import torch
import tvm
from torch import Tensor
from torch.export import Dim, export
from tvm import relax
from tvm.relax.frontend.torch import from_exported_program

BASELINE = tvm.target.Target({"kind": "llvm"})
"""Code for this machine without any CPU feature beyond its architecture's first."""

X86_V3 = tvm.target.Target({"kind": "llvm", "mtriple": "x86_64-linux-gnu", "mcpu": "x86-64-v3"})
"""For looking at code, on whatever machine; FMA and 8 lanes."""

LENGTH = Dim("t", min=6, max=64)
TIME = {2: LENGTH}
"""The dynamic shape of [1, channels, time]."""

SHORT, LONG = torch.linspace(-1, 1, 40).reshape(1, 4, 10), torch.linspace(-2, 1, 68).reshape(1, 4, 17)
"""The example that is exported, and another length to call with."""


class FunctionModule(torch.nn.Module):
    """A module around a plain function."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        self.function = function

    def forward(self, *arguments: Tensor) -> Any:
        return self.function(*arguments)


def exported(function: Callable[..., Any], arguments: tuple[Tensor, ...], dynamic: Any = None) -> Any:
    """torch.export of a function or module; `dynamic` has one entry per argument."""
    is_module = isinstance(function, torch.nn.Module)
    module = function if is_module else FunctionModule(function)
    shapes = dynamic if is_module or dynamic is None else (dynamic,)
    return export(module.eval(), arguments, dynamic_shapes=shapes)


def imported(
    function: Callable[..., Any], arguments: tuple[Tensor, ...], dynamic: Any = None, **options: Any
) -> Any:
    """The Relax module of a function; `options` go to `from_exported_program`."""
    return from_exported_program(
        exported(function, arguments, dynamic), unwrap_unit_return_tuple=True, **options
    )


def built(module: Any, target: Any = BASELINE) -> Any:
    """The executable, by the pipeline that the exporter uses."""
    return relax.build(module, target=target, relax_pipeline=relax.get_default_pipeline(target))


def called(executable: Any, *arguments: Tensor | np.ndarray) -> np.ndarray:
    """Result of the entry function `main`."""
    machine = relax.VirtualMachine(executable, tvm.cpu())
    result: np.ndarray = machine["main"](*(tvm.runtime.tensor(np.asarray(a)) for a in arguments)).numpy()
    return result


def both(
    function: Callable[..., Any],
    arguments: tuple[Tensor, ...],
    dynamic: Any = None,
    at: tuple[Tensor, ...] | None = None,
    **options: Any,
) -> tuple[np.ndarray, np.ndarray]:
    """TVM's result and torch's, for the arguments `at` (default: those of the export)."""
    values = arguments if at is None else at
    module = imported(function, arguments, dynamic, **options)
    with torch.no_grad():
        wanted = function(*values).numpy()
    return called(built(module), *values), wanted


def assert_works(
    function: Callable[..., Any],
    arguments: tuple[Tensor, ...],
    dynamic: Any = None,
    at: tuple[Tensor, ...] | None = None,
    **options: Any,
) -> None:
    """The repaired obstacle stays repaired: TVM's result is torch's, but for rounding."""
    found, wanted = both(function, arguments, dynamic, at, **options)
    assert found.shape == wanted.shape
    np.testing.assert_allclose(found, wanted, rtol=1e-6, atol=2e-6)


def entry(shapes: Callable[[Any], list[list[Any]]], body: Callable[..., Any]) -> Any:
    """`main` takes float32 tensors of `shapes(symbol)` and returns `body(builder, symbol, *tensors)`."""
    symbol, builder = tvm.tirx.Var("m", "int64"), relax.BlockBuilder()
    inputs = [
        relax.Var(f"x{index}", relax.TensorType(shape, "float32"))
        for index, shape in enumerate(shapes(symbol))
    ]
    with builder.function("main", inputs):
        with builder.dataflow():
            result = builder.emit_output(body(builder, symbol, *inputs))
        builder.emit_func_output(result)
    return builder.get()


def source(executable: Any, kind: str) -> str:
    """LLVM IR ("ll") or assembly ("asm") of all kernels in an executable."""

    def collect(module: Any) -> str:
        own = module.inspect_source(kind) if module.kind == "llvm" else ""
        return own + "".join(collect(part) for part in module.imports)

    return collect(executable.mod)


@contextlib.contextmanager
def still_fails(error: type[BaseException], message: str, workaround: str) -> Iterator[None]:
    """The obstacle stands: the block raises `error` with `message`; if not, `workaround` can go."""
    try:
        yield
    except error as found:
        assert message in str(found), f"fails in another way now: {found}"
    else:
        pytest.fail(f"works now: remove {workaround}")
