"""From Relax to an executable: one list of passes, with an optional dump of the module after each."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import tvm
from tvm import IRModule, relax
from tvm.relax import transform
from tvm.s_tir.dlight import ApplyDefaultSchedule
from tvm.s_tir.dlight.gpu import Fallback

from exporter.compiler.kernels.gpu.constants import exact_constants
from exporter.compiler.kernels.gpu.limits import LIMITS, launches


@tvm.transform.module_pass(opt_level=0, name="mark_noalias")  # type: ignore[untyped-decorator]
def _mark_noalias(module: IRModule, _: tvm.transform.PassContext) -> IRModule:
    """Says of every kernel, also of the one that computes lengths, that its buffers do not overlap.

    TVM's code generator takes the absence of this mark in one function for others too; LLVM then keeps no sum
    in a register, and linear layers run at 43 instead of 92 GFLOP/s (docs/upstream.md).
    """
    marked = module.clone()
    for variable, function in module.functions_items():
        if isinstance(function, tvm.tirx.PrimFunc):
            marked[variable] = function.with_attr("tirx.noalias", True)
    return marked


@relax.expr_functor.mutator
class _LargestStorage(relax.PyExprMutator):  # type: ignore[misc]
    """Replaces the length in the sizes of storages by its upper bound."""

    def __init__(self, module: IRModule, bounds: dict[str, int]) -> None:
        super().__init__(module)
        self.bounds = bounds

    def visit_call_(self, call: relax.Call) -> relax.Expr:
        """Rewrites `memory.alloc_storage`."""
        call = super().visit_call_(call)
        if call.op != tvm.ir.Op.get("relax.memory.alloc_storage"):
            return call
        (size,) = call.args[0].values
        analyzer = tvm.sym.Analyzer()
        for variable in tvm.tirx.analysis.undefined_vars(size):
            analyzer.bind(variable, tvm.ir.Range(1, self.bounds[variable.name] + 1))
        largest = relax.ShapeExpr([int(analyzer.const_int_bound(size).max_value)])
        return relax.Call(call.op, [largest, *call.args[1:]], call.attrs, call.ty_args)


@tvm.transform.module_pass(opt_level=0, name="bound_outputs")  # type: ignore[untyped-decorator]
def _bound_outputs(module: IRModule, _: tvm.transform.PassContext) -> IRModule:
    """Gives outputs, which no plan covers, storages of one size: that of the longest input.

    TVM's allocator keeps a free block of every size that it has seen. Only the pages that are written to
    become resident.
    """
    bounded = module.clone()
    for variable, function in module.functions_items():
        if isinstance(function, relax.Function) and "tir_var_upper_bound" in (function.attrs or {}):
            bounds = {str(name): int(bound) for name, bound in function.attrs["tir_var_upper_bound"].items()}
            bounded[variable] = _LargestStorage(module, bounds).visit_expr(function)
    return bounded


@tvm.transform.module_pass(opt_level=0, name="order_shapes")  # type: ignore[untyped-decorator]
def _order_shapes(module: IRModule, _: tvm.transform.PassContext) -> IRModule:
    """Sorts what the shape functions compute, which VMShapeLower orders by addresses in memory.

    Without it the same stage gives other bytes each time.
    """
    ordered = module.clone()
    for variable, function in module.functions_items():
        if variable.name_hint.startswith("shape_func") and isinstance(function.body, tvm.tirx.SeqStmt):
            stores = sorted(function.body.seq, key=lambda store: int(store.indices[0]))
            ordered[variable] = function.with_body(tvm.tirx.SeqStmt(stores))
    return ordered


@tvm.transform.module_pass(opt_level=0, name="bind_threads")  # type: ignore[untyped-decorator]
def _bind_threads(module: IRModule, _: tvm.transform.PassContext) -> IRModule:
    """Spreads what TVM has generated itself over a GPU's threads; kernels are, as they are written.

    Without it TVM builds such a function for the host without a word, and the host reads device memory.
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
    exact = module.clone()
    for variable, function in module.functions_items():
        if isinstance(function, tvm.tirx.PrimFunc):
            exact[variable] = exact_constants(function)
    return exact


def passes(kind: str = "llvm") -> Iterator[tuple[str, Any]]:
    """The passes in order, with the name under which each one's result is dumped.

    This is TVM's own CPU pipeline without dispatch to libraries (none is used) and without
    RewriteDataflowReshape (no reshape is left, and it fails on hand-written kernels: docs/upstream.md).
    Kernels are scheduled as written; what TVM generates itself is small, and scheduled for a GPU alone.

    Args:
        kind: TVM's name of what the kernels are for: ``llvm``, ``metal`` or ``cuda``.
    """
    yield "legalize", transform.LegalizeOps()
    yield "annotate", transform.AnnotateTIROpPattern()
    yield "fold_constants", transform.FoldConstant()
    yield "fuse_operators", transform.FuseOps()
    yield "fuse_kernels", transform.FuseTIR()
    if kind != "llvm":
        yield "bind_threads", _bind_threads
    if kind == "metal":
        yield "exact_constants", _exact_constants
    yield "leave_dataflow", transform.ToNonDataflow()
    yield "drop_purity", transform.RemovePurityChecking()
    yield "call_kernels", transform.CallTIRRewrite()
    yield "plan_memory", transform.StaticPlanBlockMemory()
    yield "allocate", transform.LowerAllocTensor()
    yield "bound_outputs", _bound_outputs
    yield "kill_after_use", transform.KillAfterLastUse()
    yield "lower_builtins", transform.LowerRuntimeBuiltin()
    yield "compute_scalars", transform.ComputePrimValue()
    yield "lower_shapes", transform.VMShapeLower()
    yield "order_shapes", _order_shapes
    yield "mark_noalias", _mark_noalias
    yield "attach_symbols", transform.AttachGlobalSymbol()


def compile_module(module: IRModule, target: tvm.target.Target, dump: Path | None = None) -> Any:
    """Lowers and compiles an imported stage.

    Args:
        module: Relax with its kernels.
        target: TVM's target.
        dump: a directory that gets the module as TVMScript after import and after each pass.

    Returns:
        TVM's `VMExecutable`, to be linked by `link`.
    """
    _dump(module, dump, 0, "imported")
    with target:
        for number, (name, run) in enumerate(passes(target.kind.name), start=1):
            module = run(module)
            _dump(module, dump, number, name)
    return relax.build(module, target=target, relax_pipeline=None)


def _dump(module: IRModule, directory: Path | None, number: int, name: str) -> None:
    if directory is not None:
        directory.mkdir(parents=True, exist_ok=True)
        (directory / f"{number:02}_{name}.py").write_text(module.script())
