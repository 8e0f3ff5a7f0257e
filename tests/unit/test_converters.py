"""Operators and converters belong together, and kernels are shared."""

import re
from pathlib import Path

import torch
from tvm.relax.frontend.torch.exported_program_translator import ExportedProgramImporter

from exporter import operators
from exporter.converters import converters
from tests.unit.kernel_testing import LEVELS, TILES


def operator_names() -> set[str]:
    """The operators that `exporter.operators` registers, by its own text and by torch's registry."""
    text = Path(operators.__file__).read_text()
    names = set(re.findall(r'custom_op\(f"\{NAMESPACE\}::(\w+)"', text))
    namespace = getattr(torch.ops, operators.NAMESPACE)
    assert all(hasattr(namespace, name) for name in names)
    return names


def test_every_operator_has_a_converter_and_every_converter_an_operator() -> None:
    assert set(converters(TILES[LEVELS[0]])) == {f"{name}.default" for name in operator_names()}


def test_no_operator_is_called_like_one_that_tvm_imports_itself() -> None:
    known = {name.split(".")[0] for name in ExportedProgramImporter().create_convert_map()}
    assert not operator_names() & known


def test_no_operator_is_called_like_one_of_torchs() -> None:
    assert not operator_names() & set(dir(torch.ops.aten))
