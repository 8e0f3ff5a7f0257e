"""Converts a stage's torch module to Relax: torch.export with a symbolic length, then TVM's importer."""

import torch
from torch import nn
from torch.export import Dim, export
from tvm import IRModule, relax
from tvm.relax.frontend.torch import from_exported_program

from exporter.compiler.converters import converters
from exporter.compiler.kernels.tiles import Tiles
from runtime_min.format.signatures import StageSignature, TensorSignature, offset_of

_EXAMPLE_LENGTH = 24


def import_stage(
    module: nn.Module, signature: StageSignature, bucket: int, tiles: Tiles | None, function: str
) -> IRModule:
    """Traces a stage and turns it into Relax; of its parameters only the shapes matter.

    The length is one symbol between the signature's minimum and `bucket`. The bound is what the memory
    planner works with, and the only difference between the libraries of two buckets.

    Args:
        module: the stage.
        signature: its inputs and their shapes.
        bucket: the largest length.
        tiles: register tiles of the CPU level; None for a GPU.
        function: name of the entry function.

    Returns:
        A module whose function takes the inputs in order, then the parameters as `stage_weights` lists them.
    """
    # TVM wants an input that carries the bare symbol, so it counts half frames where no input has fewer.
    unit = min(size[0] for tensor in signature.inputs for size in tensor.shape if not isinstance(size, int))
    length = Dim(signature.axis, min=unit * signature.minimum, max=unit * bucket)
    example = min(_EXAMPLE_LENGTH, bucket)
    arguments = tuple(
        torch.zeros(tensor.concrete(example), dtype=getattr(torch, tensor.dtype))
        for tensor in signature.inputs
    )
    shapes = tuple(_dynamic(tensor, length, unit) for tensor in signature.inputs)
    with torch.no_grad():
        program = export(module, arguments, dynamic_shapes=shapes)
    imported = from_exported_program(
        program,
        keep_params_as_input=True,
        unwrap_unit_return_tuple=True,
        custom_convert_map=converters(tiles),
    )
    detached, parameters = relax.frontend.detach_params(imported)
    expected = [tuple(value.shape) for _, value in module.named_parameters()]
    found = [tuple(int(size) for size in value.shape) for value in parameters["main"]]
    if expected != found:
        raise AssertionError(f"{signature.name}: the imported function's parameters are not the module's")
    return _rename(detached, function)


def _rename(module: IRModule, function: str) -> IRModule:
    """Returns the module with another name for its entry function, which the importer always calls main."""
    functions = {
        variable: body for variable, body in module.functions_items() if variable.name_hint != "main"
    }
    renamed = IRModule(functions, attrs=module.attrs)
    # TVM's memory plan then covers outputs too, with storages for the longest input. Its allocator keeps a
    # free block of every size that it has seen; of a large one, only pages that are written become resident.
    planned = module["main"].with_attr("relax.memory_plan_dynamic_func_output", True)
    renamed[function] = planned.with_attr("global_symbol", function)
    return renamed


def _dynamic(tensor: TensorSignature, length: Dim, unit: int) -> dict[int, Dim]:
    """Returns the size of each growing axis of an input, of which the stage's length is `unit` lengths."""
    dimensions = {}
    for axis, size in enumerate(tensor.shape):
        if not isinstance(size, int):
            multiple = length if size[0] == unit else size[0] // unit * length
            dimensions[axis] = multiple + offset_of(size) if offset_of(size) else multiple
    return dimensions
