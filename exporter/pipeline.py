"""From Relax to an executable: one list of passes, with an optional dump of the module after each."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import tvm
from tvm import IRModule, relax
from tvm.relax import transform


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


def passes() -> Iterator[tuple[str, Any]]:
    """The passes in order, with the name under which each one's result is dumped.

    This is TVM's own CPU pipeline without dispatch to libraries (none is used) and without
    RewriteDataflowReshape (no reshape is left, and it fails on hand-written kernels: docs/upstream.md). There
    is no scheduling: kernels are scheduled as written, and what TVM generates itself is small.
    """
    yield "legalize", transform.LegalizeOps()
    yield "annotate", transform.AnnotateTIROpPattern()
    yield "fold_constants", transform.FoldConstant()
    yield "fuse_operators", transform.FuseOps()
    yield "fuse_kernels", transform.FuseTIR()
    yield "leave_dataflow", transform.ToNonDataflow()
    yield "drop_purity", transform.RemovePurityChecking()
    yield "call_kernels", transform.CallTIRRewrite()
    yield "plan_memory", transform.StaticPlanBlockMemory()
    yield "allocate", transform.LowerAllocTensor()
    yield "kill_after_use", transform.KillAfterLastUse()
    yield "lower_builtins", transform.LowerRuntimeBuiltin()
    yield "compute_scalars", transform.ComputePrimValue()
    yield "lower_shapes", transform.VMShapeLower()
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
        for number, (name, run) in enumerate(passes(), start=1):
            module = run(module)
            _dump(module, dump, number, name)
    return relax.build(module, target=target, relax_pipeline=None)


def _dump(module: IRModule, directory: Path | None, number: int, name: str) -> None:
    if directory is not None:
        directory.mkdir(parents=True, exist_ok=True)
        (directory / f"{number:02}_{name}.py").write_text(module.script())
