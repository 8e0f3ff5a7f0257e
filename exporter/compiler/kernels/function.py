"""The frame of every kernel: a TIR function of buffers whose shapes depend on one length."""

import inspect
import sys
from collections.abc import Callable, Mapping
from types import FrameType, SimpleNamespace
from typing import Any

from tvm.script import tirx as T
from tvm.script.ir_builder import IRBuilder
from tvm.script.parser.core.parser import ScriptMacro
from tvm.tirx import PrimFunc, Var
from tvm.tirx.script.parser import entry


def _running_parser(macro: ScriptMacro) -> Any:
    """Returns the parser that expands a macro: a global of one of the frames below."""
    frame: FrameType | None = sys._getframe()
    while frame is not None:
        parser = frame.f_globals.get(ScriptMacro.parser_object_name)
        if parser is not None:
            return parser
        frame = frame.f_back
    raise RuntimeError("a macro of TIR script was called outside of a kernel")


# TVM's own method reads the source file of every frame, a third of the time that compiling took.
ScriptMacro._find_parser_def = _running_parser
# TVM's decorator looks at all frames to find out whether it decorates a method, which takes a process with
# many modules 0.2 s for each kernel.
entry.inspect = SimpleNamespace(**vars(inspect) | {"stack": list})


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
