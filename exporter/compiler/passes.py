"""Compiles Relax to an executable: passes in four phases, with an optional dump of the module after each."""

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import tvm
import tvm_ffi
from tvm import IRModule, relax
from tvm.relax import transform
from tvm.s_tir.dlight import ApplyDefaultSchedule
from tvm.s_tir.dlight.gpu import Fallback
from tvm.tirx import address_of, call_intrin

from exporter.compiler.kernels.gpu.constants import exact_constants
from exporter.compiler.kernels.gpu.limits import LIMITS, launches
from exporter.compiler.kernels.wasm import for_wasm
from exporter.errors import ExportError


def _with_kernels(module: IRModule, change: Callable[[str, tvm.tirx.PrimFunc], Any]) -> IRModule:
    """Returns a module with another function in the place of each kernel; `change` takes its name too."""
    changed = module.clone()
    for variable, function in module.functions_items():
        if isinstance(function, tvm.tirx.PrimFunc):
            changed[variable] = change(variable.name_hint, function)
    return changed


@tvm.transform.module_pass(opt_level=0, name="mark_noalias")  # type: ignore[untyped-decorator]
def _mark_noalias(module: IRModule, _: tvm.transform.PassContext) -> IRModule:
    """Marks every kernel, also the one that computes lengths, as free of overlapping buffers.

    TVM's code generator takes the absence of this mark in one function for others too; LLVM then keeps no sum
    in a register, and linear layers run at 43 instead of 92 GFLOP/s (docs/upstream.md).
    """
    return _with_kernels(module, lambda _, kernel: kernel.with_attr("tirx.noalias", True))


_ALLOC_STORAGE = tvm.ir.Op.get("relax.memory.alloc_storage")
_SHARED = 4
"""Storages of a stage that others use too: the generator holds an input, a sum, a state and a temporary."""
_SHARED_UNIT = 1 << 16
"""Bytes of a shared storage for each frame or token; each of those four takes 60 KiB for a frame."""


@relax.expr_functor.mutator
class _SizeClasses(relax.PyExprMutator):  # type: ignore[misc]
    """Rounds the sizes of a function's storages up."""

    def __init__(self, module: IRModule, sizes: Iterable[int], bound: int) -> None:
        """Takes all sizes, and the largest length."""
        super().__init__(module)
        least, unit = sorted(sizes)[-_SHARED:][0], bound * _SHARED_UNIT
        self._classes = {
            size: -(-size // unit) * unit if size >= least else 1 << (size - 1).bit_length() for size in sizes
        }

    def visit_call_(self, call: relax.Call) -> relax.Expr:
        """Replaces one allocation."""
        if call.op != _ALLOC_STORAGE:
            return call
        (size,) = call.args[0].values
        shape = relax.ShapeExpr([self._classes[int(size)]])
        return relax.Call(call.op, [shape, *call.args[1:]], call.attrs, call.ty_args)


@tvm.transform.module_pass(opt_level=0, name="share_storages")  # type: ignore[untyped-decorator]
def _share_storages(module: IRModule, _: tvm.transform.PassContext) -> IRModule:
    """Gives storages of different stages the same sizes, so that one stage reuses those of another.

    TVM's allocator keeps a free block for requests of its very size, with the pages that were written. Sizes
    are address space: other pages take no memory.
    """
    shared = module.clone()
    for variable, function in module.functions_items():
        if isinstance(function, relax.Function):
            sizes: list[int] = []

            def visit(call: Any, sizes: list[int] = sizes) -> None:
                if isinstance(call, relax.Call) and call.op == _ALLOC_STORAGE:
                    sizes.append(int(call.args[0].values[0]))

            relax.analysis.post_order_visit(function, visit)
            if sizes:
                bound = max(map(int, function.attrs["tir_var_upper_bound"].values()))
                shared[variable] = _SizeClasses(module, sizes, bound).visit_expr(function)
    return shared


@tvm.transform.module_pass(opt_level=0, name="order_shapes")  # type: ignore[untyped-decorator]
def _order_shapes(module: IRModule, _: tvm.transform.PassContext) -> IRModule:
    """Sorts the results of shape functions, which VMShapeLower orders by addresses in memory.

    Without this pass each compilation of a stage gives other bytes.
    """
    ordered = module.clone()
    for variable, function in module.functions_items():
        if variable.name_hint.startswith("shape_func") and isinstance(function.body, tvm.tirx.SeqStmt):
            stores = sorted(function.body.seq, key=lambda store: int(store.indices[0]))
            ordered[variable] = function.with_body(tvm.tirx.SeqStmt(stores))
    return ordered


@tvm.transform.module_pass(opt_level=0, name="bind_threads")  # type: ignore[untyped-decorator]
def _bind_threads(module: IRModule, _: tvm.transform.PassContext) -> IRModule:
    """Spreads functions that TVM has generated itself over a GPU's threads; our kernels are written so.

    Without this pass TVM builds them for the host, with no error, and the host reads device memory.
    """
    kernels = {
        variable: function
        for variable, function in module.functions_items()
        if isinstance(function, tvm.tirx.PrimFunc)
    }
    unbound = {variable: function for variable, function in kernels.items() if not launches(function)}
    bound = kernels | dict(ApplyDefaultSchedule(Fallback())(IRModule(unbound)).functions_items())
    scheduled = module.clone()
    for variable, function in bound.items():
        used = launches(function)
        if not used or not all(launch.fits() for launch in used):
            raise AssertionError(f"{variable.name_hint} does not fit every GPU: {used}, allowed: {LIMITS}")
        scheduled[variable] = function
    return scheduled


@tvm.transform.module_pass(opt_level=0, name="exact_constants")  # type: ignore[untyped-decorator]
def _exact_constants(module: IRModule, _: tvm.transform.PassContext) -> IRModule:
    """Keeps the digits of constants that Metal's source would lose."""
    return _with_kernels(module, lambda _, kernel: exact_constants(kernel))


_ROUNDED_ONCE = ("adaptive_layer_norm", "harmonic_source", "layer_norm", "source_spectrum")
"""Kernels whose fused multiply-adds must not round twice: phases and bert amplify what they round."""


@tvm.transform.module_pass(opt_level=0, name="for_wasm")  # type: ignore[untyped-decorator]
def _for_wasm(module: IRModule, _: tvm.transform.PassContext) -> IRModule:
    """Replaces what WebAssembly has no instructions for.

    The harmonic source and its spectrum must round as everywhere: one rounding more moves a phase of ten
    thousand radians by 0.001, and turns angles near pi to minus pi.
    """
    return _with_kernels(module, lambda name, kernel: for_wasm(kernel, exact=name.startswith(_ROUNDED_ONCE)))


_PREFETCH = tvm.ir.Op.get("tirx.prefetch")
_CALL_EXTERN = tvm.ir.Op.get("tirx.call_extern")
_STAND_IN = "kokoro_prefetch"


@tvm.transform.module_pass(opt_level=0, name="attach_symbols")  # type: ignore[untyped-decorator]
def _attach_symbols(module: IRModule, _: tvm.transform.PassContext) -> IRModule:
    """Names the functions, in a module of several libraries with the prefix of this one.

    TVM fails to rename in functions with addresses (docs/upstream.md), which prefetches take. So each
    prefetch is another call while the functions get their names.
    """
    if module.get_attr("system_lib_prefix") is None:
        return transform.AttachGlobalSymbol()(module)
    hidden = _replaced(module, lambda call: call.op == _PREFETCH, _hidden)
    return _replaced(transform.AttachGlobalSymbol()(hidden), _is_hidden, _shown)


def _replaced(module: IRModule, holds: Callable[[Any], bool], make: Callable[[Any], Any]) -> IRModule:
    """Returns a module with others in the place of its calls as statements for which `holds`."""

    def replace(statement: tvm.tirx.Evaluate) -> Any:
        call = statement.value
        # Constants have no operation.
        return tvm.tirx.Evaluate(make(call)) if hasattr(call, "op") and holds(call) else statement

    def with_replaced(_: str, kernel: tvm.tirx.PrimFunc) -> Any:
        return kernel.with_body(tvm_ffi.structural_map(kernel.body, (tvm.tirx.Evaluate, replace)))

    return _with_kernels(module, with_replaced)


def _hidden(call: Any) -> Any:
    address, *rest = call.args
    (place,) = address.args
    return tvm.tirx.call_extern("int32", _STAND_IN, place, *rest)


def _is_hidden(call: Any) -> bool:
    return call.op == _CALL_EXTERN and str(call.args[0].value) == _STAND_IN


def _shown(call: Any) -> Any:
    _, place, *rest = call.args
    return call_intrin("void", _PREFETCH, address_of(place), *rest)


def phases(kind: str = "llvm", *, wasm: bool = False) -> dict[str, dict[str, Any]]:
    """Returns the passes by phase and name, in order.

    This is TVM's own CPU pipeline without dispatch to libraries (none is used) and without
    RewriteDataflowReshape (no reshape is left, and it fails on hand-written kernels: docs/upstream.md).
    Kernels are scheduled as written; what TVM generates itself is small, and scheduled for a GPU alone.

    Args:
        kind: TVM's name of the device that the kernels are for: ``llvm``, ``metal`` or ``cuda``.
        wasm: True for kernels of WebAssembly.
    """
    return {
        "fuse": {
            "legalize": transform.LegalizeOps(),
            "annotate": transform.AnnotateTIROpPattern(),
            "fold_constants": transform.FoldConstant(),
            "fuse_operators": transform.FuseOps(),
            "fuse_kernels": transform.FuseTIR(),
        },
        "schedule": {
            **({"bind_threads": _bind_threads} if kind != "llvm" else {}),
            **({"exact_constants": _exact_constants} if kind == "metal" else {}),
            **({"for_wasm": _for_wasm} if wasm else {}),
        },
        "lower": {
            "leave_dataflow": transform.ToNonDataflow(),
            "drop_purity": transform.RemovePurityChecking(),
            "call_kernels": transform.CallTIRRewrite(),
            "plan_memory": transform.StaticPlanBlockMemory(),
            # A GPU's memory is resident from its allocation on.
            **({"share_storages": _share_storages} if kind == "llvm" else {}),
            "allocate": transform.LowerAllocTensor(),
            "kill_after_use": transform.KillAfterLastUse(),
            "lower_builtins": transform.LowerRuntimeBuiltin(),
            "compute_scalars": transform.ComputePrimValue(),
            "lower_shapes": transform.VMShapeLower(),
        },
        "finish": {
            "order_shapes": _order_shapes,
            "mark_noalias": _mark_noalias,
            "attach_symbols": _attach_symbols,
        },
    }


class PassError(ExportError):
    """A pass failed; the message names its phase and the passes before it."""

    exit_code = 7


def compile_module(module: IRModule, target: tvm.target.Target, dump: Path | None = None) -> Any:
    """Lowers and compiles an imported stage.

    Args:
        module: Relax with its kernels.
        target: TVM's target.
        dump: a directory that gets the module as TVMScript after import and after each pass.

    Returns:
        TVM's `VMExecutable`, to be linked by `link`.

    Raises:
        PassError: a pass failed.
    """
    wasm = str(target.attrs.get("mtriple", "")).startswith("wasm32")
    done = ["imported"]
    _dump(module, dump, done)
    with target:
        for phase, passes in phases(target.kind.name, wasm=wasm).items():
            for name, run in passes.items():
                try:
                    module = run(module)
                except Exception as error:
                    raise PassError(
                        f"The pass {name} (phase {phase}) failed after {', '.join(done)}: "
                        f"{type(error).__name__}: {error}"
                    ) from error
                done.append(name)
                _dump(module, dump, done)
    return relax.build(module, target=target, relax_pipeline=None)


def _dump(module: IRModule, directory: Path | None, done: Sequence[str]) -> None:
    """Writes the module after the last of the passes that are done."""
    if directory is not None:
        directory.mkdir(parents=True, exist_ok=True)
        (directory / f"{len(done) - 1:02}_{done[-1]}.py").write_text(module.script())
