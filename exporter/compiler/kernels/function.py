"""The frame of every kernel: a TIR function of buffers whose shapes depend on one length."""

from collections.abc import Callable, Mapping
from typing import Any

from tvm.script import tirx as T
from tvm.script.ir_builder import IRBuilder
from tvm.tirx import PrimFunc, Var


def length(name: str = "n") -> Var:
    """Returns a symbolic length, for the shapes and the code of one kernel."""
    return Var(name, "int64")


def kernel_function(
    emit: Callable[..., None], shapes: Mapping[str, tuple[Any, ...]], dtypes: Mapping[str, str] | None = None
) -> PrimFunc:
    """Returns a kernel that declares its buffers and contains the code that `emit` emits.

    Args:
        emit: called with the buffers as keyword arguments.
        shapes: shape of each buffer by its name, in the order of the arguments; the output is the last.
        dtypes: types of the buffers that are not float32, by name.
    """

    def declare(name: str) -> Any:
        handle = T.arg(f"{name}_handle", T.handle())
        return IRBuilder.name(name, T.match_buffer(handle, shapes[name], (dtypes or {}).get(name, "float32")))

    def declare_and_emit() -> None:
        emit(**{name: declare(name) for name in shapes})

    @T.prim_func(private=True, s_tir=True)
    def function() -> None:
        T.func_attr({"tirx.noalias": True, "op_pattern": 8})
        declare_and_emit()

    return function


def kernel(
    dtypes: Mapping[str, str] | None = None, **shapes: tuple[Any, ...]
) -> Callable[[Callable[..., None]], PrimFunc]:
    """Returns a decorator that makes a kernel of a function in TIR script; see `kernel_function`."""
    return lambda body: kernel_function(T.inline(body), shapes, dtypes)
