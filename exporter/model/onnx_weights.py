"""Finds a Kokoro model's weights in the graph of an ONNX file.

A node's name is the path of the module that computes with it, and its operator says which of its inputs is
which parameter. Where no node says it, a tensor's own name does. Both may stand below names of wrappers. The
operators are those of torch's exporter, of ONNX Runtime's dynamic quantisation and of its graph optimisation.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace

import torch

from exporter.model.config import PARTS
from exporter.model.onnx_file import Node, OnnxFile, OnnxFileError, OnnxTensor, shown

_FLOATS = (torch.float64, torch.float32, torch.float16, torch.bfloat16)
_Found = Iterator[tuple[str, "Weight | None"]]
_BYTES = {torch.int8: "int8", torch.uint8: "uint8"}
# From a weight to its operator, and from the operator to the bias, there are a few nodes at most.
_MOST_STEPS = 8
# kokoro calls this part's modules one by one, so the part is missing from their nodes' names.
_CALLED_BY_MODULE = "predictor."
_MOST_WRAPPERS = 3
# The transform's constants, which the exporter makes itself, and constants of ALBERT's.
_NO_WEIGHTS = re.compile(r"(^|\.)i?stft\.|embeddings\.(position_ids|token_type_ids)$")
# ONNX has the gates of input, output, forgetting and the cell in this order, torch i, f, c, o.
_GATES = (0, 2, 3, 1)


@dataclass(frozen=True)
class Weight:
    """A parameter as the file has it."""

    shape: tuple[int, ...]
    dtype: torch.dtype
    read: Callable[[], torch.Tensor]
    """Returns the numbers, in `shape`."""
    places: tuple[str, ...]
    """Names of the tensors that they come from."""
    rounded: str = ""
    """The type of 8 bits in which the file has them, or nothing."""

    def flat(self) -> Weight | None:
        """Returns a bias, which may have axes of size 1 to be added to more than one; None if it is none."""
        size = max(self.shape, default=0)
        if math.prod(self.shape) != size:
            return None
        return replace(self, shape=(size,), read=lambda: self.read().reshape(size))

    def transposed(self) -> Weight:
        """Returns the weight with its two axes exchanged."""
        return replace(self, shape=self.shape[::-1], read=lambda: self.read().mT)


class OnnxWeights:
    """The weights of an open file by the names of the model's parameters, ``part.module.parameter``."""

    def __init__(self, file: OnnxFile, expected: Mapping[str, tuple[int, ...]]) -> None:
        """Finds the weights, of which no numbers are read.

        Args:
            file: stays open while weights are read.
            expected: shapes by name; where weight_norm is used, of the weight that it makes.

        Raises:
            OnnxFileError: the graph contradicts itself.
        """
        self._file, self._expected = file, expected
        self._modules = {name.rpartition(".")[0] for name in expected}
        self._makers: dict[str, Node] = {}
        self._users: dict[str, list[Node]] = {}
        for node in file.nodes:
            for output in filter(None, node.outputs):
                if output in self._makers:
                    raise OnnxFileError(f"two of its nodes have the output {shown(output)}")
                self._makers[output] = node
            for name in dict.fromkeys(node.inputs):
                self._users.setdefault(name, []).append(node)
        self.found: dict[str, Weight] = {}
        self.unexpected: set[str] = set()
        """Names of weights that the model does not have."""
        self._copies: dict[str, list[Weight]] = {}
        for node in file.nodes:
            self._take_from(node)
        self._take_by_name()

    @property
    def rounded(self) -> Counter[str]:
        """Number of weights that the file has in each type of 8 bits."""
        return Counter(weight.rounded for weight in self.found.values() if weight.rounded)

    def read_part(self, part: str) -> Iterator[tuple[str, torch.Tensor]]:
        """Yields the weights of one part by their names within it.

        Raises:
            OnnxFileError: the file has not the numbers that it describes, or two copies of a weight differ.
        """
        for name, weight in self.found.items():
            if name.startswith(f"{part}."):
                value = weight.read()
                if any(not torch.equal(copy.read(), value) for copy in self._copies.get(name, ())):
                    raise OnnxFileError(f"it has different numbers for {name} in different places")
                yield name.removeprefix(f"{part}."), value

    def _take_from(self, node: Node) -> None:
        """Takes the weights that an operator computes with."""
        if node.operator not in _PARAMETERS:
            return
        module = self._module_of(node)
        for parameter, weight in _PARAMETERS[node.operator](self, node):
            name = f"{module}.{parameter}"
            if weight is None:
                continue
            if name not in self._expected:
                self._note_unexpected(node, parameter, weight)
            elif name not in self.found:
                self.found[name] = weight
            elif self.found[name].places != weight.places:
                self._take_copy(name, weight)

    def _take_copy(self, name: str, copy: Weight) -> None:
        """Takes another copy of a weight if only that one is not rounded.

        Quantisation rounds the weights of a layer that is called several times only in the calls that read
        the tensor itself, not in those that read it through another node.
        """
        if bool(copy.rounded) == bool(self.found[name].rounded):
            self._copies.setdefault(name, []).append(copy)
        elif not copy.rounded:
            self.found[name] = copy
            self._copies.pop(name, None)

    def _note_unexpected(self, node: Node, parameter: str, weight: Weight) -> None:
        """Notes a weight that the model lacks, of an operator that has no other constants."""
        scope = _scope(node)
        names = ".".join((*scope, parameter)), *weight.places
        is_weight = node.operator in _WEIGHTS_ONLY and parameter.startswith("weight")
        if is_weight and not set(PARTS).isdisjoint(scope) and not any(map(_NO_WEIGHTS.search, names)):
            self.unexpected.add(names[0])

    def _take_by_name(self) -> None:
        """Takes the weights that no operator explains, by the names of tensors."""
        norms: dict[str, dict[str, Weight]] = {}
        used = {place for weight in self.found.values() for place in weight.places}
        used |= {place for copies in self._copies.values() for copy in copies for place in copy.places}
        for tensor in self._file.tensors.values():
            name = self._parameter_of(tensor.name)
            stem, _, end = name.rpartition("_")
            if name in self._expected:
                self.found.setdefault(name, self._weight(tensor))
            elif end in ("g", "v") and stem in self._expected:
                norms.setdefault(stem, {})[end] = self._weight(tensor)
            elif name and tensor.dtype in _FLOATS and not (tensor.name in used or _NO_WEIGHTS.search(name)):
                self.unexpected.add(tensor.name)
        for name, norm in norms.items():
            if len(norm) == 2:
                self.found.setdefault(name, _normed(norm["v"], norm["g"]))

    def _parameter_of(self, name: str) -> str:
        """Returns the name of a parameter below the names of wrappers; nothing for one of no part."""
        words = name.split(".")
        below = [
            ".".join(words[start:])
            for start in range(min(_MOST_WRAPPERS, len(words)))
            if words[start] in PARTS
        ]
        known = (each for each in below if each in self._expected or each[:-2] in self._expected)
        return next(known, below[-1] if below else "")

    def _module_of(self, node: Node) -> str:
        """Returns the path of the module that a node belongs to; nothing if there is none with weights."""
        scope = _scope(node)
        for end in range(len(scope), 0, -1):
            for start in range(end):
                path = ".".join(scope[start:end])
                for module in (path, _CALLED_BY_MODULE + path):
                    if module in self._modules:
                        return module
        return ""

    def _weight(self, tensor: OnnxTensor) -> Weight:
        dtype = tensor.dtype or torch.bool
        return Weight(tensor.shape, dtype, lambda: self._file.read(tensor), (tensor.name,))

    def _constant(self, name: str, steps: int = _MOST_STEPS) -> Weight | None:
        """Returns the tensor of a name, or of a constant expression; None if it depends on an input."""
        if name in self._file.tensors:
            return self._weight(self._file.tensors[name])
        node = self._makers.get(name)
        if node is None or not steps:
            return None
        if node.operator == "Constant" and node.tensor is not None:
            return self._weight(replace(node.tensor, name=name))
        value = self._constant(node.inputs[0], steps - 1) if node.inputs else None
        if value is None or node.operator in ("Identity", "Cast"):
            return value
        if node.operator == "Transpose" and len(value.shape) == 2:
            return value if node.integers.get("perm") == [0, 1] else value.transposed()
        if node.operator == "DequantizeLinear":
            return self._expanded(value, _input(node, 1), _input(node, 2), node.integer("axis", 1))
        return None

    def _floats(self, name: str) -> Weight | None:
        """Returns a constant of floats."""
        value = self._constant(name)
        return value if value is not None and value.dtype in _FLOATS else None

    def _expanded(self, value: Weight, scale: str, zero: str, axis: int) -> Weight | None:
        """Returns 8-bit numbers times their scale, which is one or has one for each index of an axis.

        Args:
            value: the numbers.
            scale: name of the scales.
            zero: name of the numbers that stand for zero; none is 0.
            axis: the axis of the scales, if they are several.
        """
        scales, zeros = self._floats(scale), self._constant(zero)
        if scales is None or (zeros is None and zero) or value.dtype not in _BYTES:
            return None
        scale_view = _view(scales, value.shape, axis)
        zero_view = () if zeros is None else _view(zeros, value.shape, axis)

        def read() -> torch.Tensor:
            numbers = value.read().float()
            if zeros is not None:
                numbers -= zeros.read().float().reshape(zero_view)
            return numbers.mul_(scales.read().float().reshape(scale_view))

        places = (*value.places, *scales.places)
        return Weight(value.shape, torch.float32, read, places, rounded=_BYTES[value.dtype])

    # The weights of each operator.

    def _of_convolution(self, node: Node) -> _Found:
        yield "weight", self._floats(_input(node, 1))
        yield "bias", self._floats(_input(node, 2))

    def _of_product(self, node: Node) -> _Found:
        weight = self._floats(_input(node, 1))
        if weight is not None and len(weight.shape) == 2:
            yield "weight", weight if node.integer("transB") else weight.transposed()
            yield "bias", self._floats(_input(node, 2)) or self._added_after(node)

    def _of_normalization(self, node: Node) -> _Found:
        yield "weight", self._floats(_input(node, 1))
        yield "bias", self._floats(_input(node, 2))

    def _of_integer_convolution(self, node: Node) -> _Found:
        yield "weight", self._integers(node, _input(node, 1), self._scale_after(node), _input(node, 3), 0)
        yield "bias", self._added_after(node)

    def _of_integer_product(self, node: Node) -> _Found:
        scale, zero, bias = {
            "MatMulInteger": ("", _input(node, 3), ""),
            "DynamicQuantizeMatMul": (_input(node, 2), _input(node, 3), _input(node, 4)),
            "MatMulIntegerToFloat": (_input(node, 3), _input(node, 5), _input(node, 6)),
        }[node.operator]
        weight = self._integers(node, _input(node, 1), scale or self._scale_after(node), zero, 1)
        if weight is not None and len(weight.shape) == 2:
            yield "weight", weight.transposed()
            yield "bias", self._floats(bias) or self._added_after(node)

    def _of_lookup(self, node: Node) -> _Found:
        table = self._constant(_input(node, 0))
        if table is None or len(table.shape) != 2 or node.integer("axis"):
            return
        if table.dtype in _FLOATS:
            yield "weight", table
            return
        for user in self._after(node, ("Transpose", "Reshape", "Unsqueeze")):
            if user.operator == "DequantizeLinear":
                yield "weight", self._expanded(table, _input(user, 1), _input(user, 2), -1)

    def _of_lstm(self, node: Node) -> _Found:
        bias = self._floats(_input(node, 3))
        if node.operator == "LSTM":
            weights = [self._floats(_input(node, place)) for place in (1, 2)]
        else:
            weights = [
                self._integers(node, _input(node, place), _input(node, scale), _input(node, scale + 1), 0)
                for place, scale in ((1, 8), (2, 10))
            ]
        for name, weight in zip(("weight_ih_l0", "weight_hh_l0"), weights, strict=True):
            for direction, end in enumerate(("", "_reverse")):
                yield name + end, weight and _gates(weight, direction, node.operator != "LSTM")
        for half, name in enumerate(("bias_ih_l0", "bias_hh_l0")):
            for direction, end in enumerate(("", "_reverse")):
                yield name + end, bias and _gates(bias, direction, half=half)

    def _integers(self, node: Node, name: str, scale: str, zero: str, axis: int) -> Weight | None:
        value = self._constant(name)
        if value is None:
            return None
        expanded = self._expanded(value, scale, zero, axis)
        if expanded is None:
            raise OnnxFileError(f"it has no scale for the numbers of {shown(name)}, or not 8 bits in each")
        return expanded

    def _scale_after(self, node: Node) -> str:
        """Returns the name of the weights' scale, by which an operator's sums of integers are multiplied."""
        for user in self._after(node):
            if user.operator == "Mul":
                factors = set(user.inputs)
                for maker in filter(None, map(self._makers.get, user.inputs)):
                    factors |= set(maker.inputs if maker.operator == "Mul" else ())
                constant = [factor for factor in factors if self._floats(factor)]
                # Two are the weights' and that of an input whose scale is a constant, too.
                return constant[0] if len(constant) == 1 else ""
        return ""

    def _added_after(self, node: Node) -> Weight | None:
        """Returns the bias that is added to the output of an operator, rounded to integers or not."""
        for user in self._after(node):
            if user.operator in ("FastGelu", "BiasGelu"):
                return self._floats(_input(user, 1))
            if user.operator == "Add":
                return next(filter(None, map(self._before_rounding, user.inputs)), None)
        return None

    def _after(self, node: Node, passed: tuple[str, ...] = ("Cast", "Mul", "Add")) -> Iterator[Node]:
        """Yields the only users, one after the other, of a node's output, up to one of another operator."""
        for _ in range(_MOST_STEPS):
            users = self._users.get(node.outputs[0], []) if node.outputs else []
            if len(users) != 1:
                return
            (node,) = users
            yield node
            if node.operator not in passed:
                return

    def _before_rounding(self, name: str) -> Weight | None:
        """Returns the bias that quantisation divides by the scale and rounds."""
        for _ in range(_MOST_STEPS):
            found, maker = self._floats(name), self._makers.get(name)
            if found is not None:
                return found.flat()
            if maker is None or maker.operator not in ("Reshape", "Cast", "Floor", "Round", "Div"):
                return None
            name = _input(maker, 0)
        return None


def _input(node: Node, place: int) -> str:
    """Returns the name of an input; nothing for one that is left out."""
    return node.inputs[place] if place < len(node.inputs) else ""


def _scope(node: Node) -> list[str]:
    """Returns the path of the module that a node belongs to, below those that call it.

    Torch numbers the calls of a module that is called several times, and repeats what it has said before:
    ``/bert/albert_layers.0_1/query_1/MatMul``, ``/text_encoder/cnn.0/cnn.0.1/Conv``.
    """
    words: list[str] = []
    for word in node.name.strip("/").split("/")[:-1]:
        word = re.sub(r"_\d+$", "", word)
        if words and word.startswith(f"{words[-1]}."):
            words.pop()
        words.append(word)
    return ".".join(words).split(".") if words else []


def _view(factors: Weight, shape: tuple[int, ...], axis: int) -> tuple[int, ...]:
    """Returns the shape in which scales or zeros broadcast to weights.

    Raises:
        OnnxFileError: they do not fit.
    """
    if factors.shape in ((), (1,)):
        return ()
    if -len(shape) <= axis < len(shape) and factors.shape == (shape[axis],):
        return tuple(size if at == axis % len(shape) else 1 for at, size in enumerate(shape))
    # A recurrent layer has a scale for each direction and gate.
    if len(shape) == 3 and factors.shape == (shape[0], shape[2]):
        return shape[0], 1, shape[2]
    raise OnnxFileError(f"the shapes of its tensor {shown(factors.places[0])} and of the weights differ")


def _gates(
    weight: Weight, direction: int, transposed: bool = False, half: int | None = None
) -> Weight | None:
    """Returns the weights of one direction of a recurrent layer in torch's order of gates.

    Args:
        weight: [direction, 4 * hidden, input], or the biases, [direction, 8 * hidden].
        direction: of the layer.
        transposed: the last two axes are exchanged.
        half: which half of the biases.
    """
    if len(weight.shape) != (3 if half is None else 2) or direction >= weight.shape[0]:
        return None
    shape = weight.shape[:0:-1] if transposed else weight.shape[1:]
    if half is not None:
        shape = (shape[0] // 2,)
    if shape[0] % 4:
        return None

    def read() -> torch.Tensor:
        values = weight.read()[direction]
        values = values.mT if transposed else values
        gates = (values if half is None else values.reshape(2, -1)[half]).chunk(4)
        return torch.cat([gates[gate] for gate in _GATES])

    return replace(weight, shape=shape, read=read)


def _normed(direction: Weight, magnitude: Weight) -> Weight:
    """Returns the weight that weight_norm makes."""

    def read() -> torch.Tensor:
        return torch._weight_norm(direction.read().float(), magnitude.read().float(), 0)

    return replace(direction, read=read, places=direction.places + magnitude.places)


_WEIGHTS_ONLY = (
    *("Conv", "ConvTranspose", "ConvInteger", "MatMul", "MatMulInteger", "Gemm"),
    *("LSTM", "DynamicQuantizeLSTM"),
)
_PARAMETERS: dict[str, Callable[[OnnxWeights, Node], _Found]] = {
    **dict.fromkeys(("Conv", "ConvTranspose", "FusedConv"), OnnxWeights._of_convolution),
    **dict.fromkeys(("MatMul", "Gemm", "FusedMatMul", "FusedGemm"), OnnxWeights._of_product),
    **dict.fromkeys(("LayerNormalization", "InstanceNormalization"), OnnxWeights._of_normalization),
    "ConvInteger": OnnxWeights._of_integer_convolution,
    **dict.fromkeys(
        ("MatMulInteger", "MatMulIntegerToFloat", "DynamicQuantizeMatMul"), OnnxWeights._of_integer_product
    ),
    **dict.fromkeys(("LSTM", "DynamicQuantizeLSTM"), OnnxWeights._of_lstm),
    "Gather": OnnxWeights._of_lookup,
}
