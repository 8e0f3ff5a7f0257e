"""Counts the parallel parts of every kernel, from the compiler's own loops: ``python -m benchmarks.parts``.

TVM gives each thread an equal number of a loop's parts, rounded up. So the work of a call, over the threads
and the greatest share, follows from the number of parts alone. Nothing runs and nothing is timed.
"""

from __future__ import annotations

import json
import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from tvm import IRModule, relax, tirx
from tvm.ir.expr import TensorLoad

from benchmarks.work import Shape, work_of
from exporter.compiler.compile_stage import tvm_target
from exporter.compiler.import_stage import import_stage
from exporter.compiler.kernels.tiles import tiles_of
from exporter.compiler.kokoro_model import model_without_weights
from exporter.compiler.passes import phases
from exporter.compiler.stages import make_stage
from exporter.compiler.targets import CpuLevel, find_target
from exporter.measure.figure_table import FigureTable
from exporter.measure.profile import family_of
from exporter.measure.results import Tensors
from exporter.model.config import OFFICIAL_CONFIG, read_config
from runtime_min.format.signatures import StageSignature, signatures

THREADS = (2, 4, 8, 16)
LENGTHS = {12: 17, 62: 119, 450: 1_273}
"""Frames of an utterance by its tokens, as the benchmark's utterances have them."""
_BUCKETS = {"tokens": 510, "frames": 2_048}
_SMALL = 0.001
"""Part of all work below which a family does not matter."""
_OPERATIONS: Mapping[type, Callable[..., int]] = {
    tirx.Add: operator.add,
    tirx.Sub: operator.sub,
    tirx.Mul: operator.mul,
    tirx.FloorDiv: operator.floordiv,
    tirx.FloorMod: operator.mod,
    tirx.Min: min,
    tirx.Max: max,
    tirx.EQ: operator.eq,
    tirx.NE: operator.ne,
    tirx.LT: operator.lt,
    tirx.LE: operator.le,
    tirx.GT: operator.gt,
    tirx.GE: operator.ge,
}


@dataclass(frozen=True)
class Call:
    """A call of a kernel in one utterance."""

    kernel: str
    tensors: Tensors
    parts: tuple[int, ...]
    """Parts of each of its parallel loops; none if the kernel runs on one thread."""

    @property
    def work(self) -> float:
        """Operations, or bytes of a kernel that only moves numbers."""
        counted = work_of(self.kernel, self.tensors)
        return counted.flop or counted.bytes

    def share(self, threads: int) -> float:
        """Returns the part of the work that the busiest thread has; all its loops count as equal work."""
        if not self.parts:
            return 1.0
        return sum(-(-parts // threads) / parts for parts in self.parts) / len(self.parts)


class _Values:
    """Integers of a kernel's call by variable, and by place of the buffers that plan it."""

    def __init__(self, known: Mapping[Any, int]) -> None:
        self.known: dict[Any, int] = {**known}

    def __call__(self, expression: Any) -> int:
        if isinstance(expression, int):
            return expression
        if isinstance(expression, tirx.IntImm):
            return int(expression.value)
        if isinstance(expression, tirx.Var):
            return self.known[expression]
        if isinstance(expression, tirx.Cast):
            return self(expression.value)
        if isinstance(expression, TensorLoad):
            return self.known[_place(expression.source, expression.indices)]
        if isinstance(expression, relax.Call):
            # `if_then_else` is the one function that plans call.
            condition, yes, no = expression.args
            return self(yes if self(condition) else no)
        return int(_OPERATIONS[type(expression)](self(expression.a), self(expression.b)))


def _place(buffer: Any, indices: Sequence[Any]) -> tuple[Any, ...]:
    return (buffer, *map(int, indices))


def parallel_parts(function: Any, shapes: Sequence[Shape | int]) -> tuple[int, ...]:
    """Returns the number of parts of each parallel loop of a kernel, in their order.

    Args:
        function: the kernel, a PrimFunc before it is lowered.
        shapes: shapes of its arguments, the output last, and the values of those that are integers.
    """
    values, found = _Values(bound(function, shapes)), []

    def taken(node: Any) -> Any:
        try:
            return node.then_case if values(node.condition) else node.else_case
        except KeyError:
            # A condition on samples, which decide no plan.
            return None

    def visit(node: Any) -> None:
        if isinstance(node, tirx.SeqStmt):
            for each in node.seq:
                visit(each)
        elif isinstance(node, tirx.For) and node.kind == tirx.ForKind.PARALLEL:
            found.append(values(node.extent))
        elif isinstance(node, tirx.BufferStore) and str(node.buffer.dtype) == "int64":
            values.known[_place(node.buffer, node.indices)] = values(node.value)
        elif isinstance(node, tirx.Bind):
            values.known[node.var] = values(node.value)
        elif isinstance(node, tirx.IfThenElse):
            visit(taken(node))
        elif hasattr(node, "body"):
            # A serial loop makes no plan, so the parts are the same in each of its iterations.
            values.known[getattr(node, "loop_var", None)] = 0
            visit(node.body)

    visit(function.body)
    return tuple(found)


def bound(function: Any, shapes: Sequence[Shape | int]) -> dict[Any, int]:
    """Returns the value of each variable in the shapes of a kernel's arguments."""
    known: dict[Any, int] = {}
    for parameter, shape in zip(function.params, shapes, strict=True):
        if isinstance(shape, int):
            known[parameter] = shape
        else:
            sizes = zip(parameter.shape, shape, strict=True)
            known |= {size: actual for size, actual in sizes if isinstance(size, tirx.Var)}
    return known


def calls(module: IRModule, stage: str, length: int) -> Iterator[Call]:
    """Yields the calls of a stage's kernels for one length, in their order.

    Args:
        module: the stage after the phase ``fuse``.
        stage: its name.
        length: tokens or frames.
    """
    function = module[stage]
    sizes = [size for parameter in function.params for size in parameter.ty.shape]
    values = _Values({size: length for size in sizes if isinstance(size, tirx.Var)})
    for binding in (each for block in function.body.blocks for each in block.bindings):
        call = binding.value
        if not (isinstance(call, relax.Call) and getattr(call.op, "name", "") == "relax.call_tir"):
            continue
        results = call.ty_args[0]
        outputs = list(results.fields) if isinstance(results, relax.TupleType) else [results]
        arguments = [*call.args[1].fields, *outputs]
        kinds = [getattr(each, "ty", each) for each in arguments]
        shapes = [
            tuple(map(values, kind.shape)) if hasattr(kind, "shape") else values(each)
            for kind, each in zip(kinds, arguments, strict=True)
        ]
        tensors = tuple(
            (shape, np.dtype(str(kind.dtype)).itemsize)
            for kind, shape in zip(kinds, shapes, strict=True)
            if isinstance(shape, tuple)
        )
        yield Call(call.args[0].name_hint, tensors, parallel_parts(module[call.args[0]], shapes))


def fused_stage(signature: StageSignature, bucket: int, config: str, level: CpuLevel) -> IRModule:
    """Returns a stage as kernels and their calls, as the export makes it for a CPU level of this machine."""
    module = make_stage(signature.name, model_without_weights(config), False, "float32")
    module.to_empty(device="cpu")
    imported = import_stage(module, signature, bucket, tiles_of(level), signature.name)
    with tvm_target(find_target("host"), level):
        for run in phases()["fuse"].values():
            imported = run(imported)
    return imported


def balance_table(tokens: int, found: Sequence[Call]) -> FigureTable:
    """Returns the balance of every family of kernels that matters, the one with the most work first."""
    families: dict[str, list[Call]] = {}
    for call in found:
        families.setdefault(family_of(call.kernel), []).append(call)
    least = _SMALL * sum(call.work for call in found)
    works = {family: sum(call.work for call in group) for family, group in families.items()}
    ordered = sorted((family for family in works if works[family] >= least), key=lambda each: -works[each])
    return FigureTable(
        f"{tokens} tokens",
        ("family", "calls", "fewest parts", "most parts", *(f"{threads} threads" for threads in THREADS)),
        (*(_row(family, families[family]) for family in ordered), _row("all", found)),
    )


def _row(family: str, group: Sequence[Call]) -> tuple[str, ...]:
    parts = [min(call.parts, default=1) for call in group]
    work = sum(call.work for call in group)
    shares = [sum(call.work * call.share(threads) for call in group) for threads in THREADS]
    balances = [work / (threads * share) for threads, share in zip(THREADS, shares, strict=True)]
    return (family, *map(str, (len(group), min(parts), max(parts))), *(f"{each:.2f}" for each in balances))


def main() -> None:
    """Prints a table for each length, as docs/threads.md has them; takes a few minutes."""
    config = read_config(OFFICIAL_CONFIG)
    stages = signatures(config["hidden_dim"], config["style_dim"])
    level = find_target("host").levels[0]
    modules = {
        name: fused_stage(stage, _BUCKETS[stage.axis], json.dumps(config), level)
        for name, stage in stages.items()
    }
    for tokens, frames in LENGTHS.items():
        lengths = {"tokens": tokens, "frames": frames}
        found = [call for name in stages for call in calls(modules[name], name, lengths[stages[name].axis])]
        print(balance_table(tokens, found).markdown())


if __name__ == "__main__":
    main()
