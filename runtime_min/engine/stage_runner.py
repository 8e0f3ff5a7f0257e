"""Runs one stage on numpy arrays, having checked everything that the compiled library does not check."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import DeviceError, ExecutionError, TensorInputError
from ..format.bundle_files import BundleFiles
from ..format.manifest import TOKEN_IDS, Library, Stage
from ..format.signatures import offset_of
from .devices import Device
from .vm import Instrument, Worker, load_function, to_tvm


class StageRunner:
    """A stage of a loaded bundle."""

    def __init__(
        self,
        stage: Stage,
        libraries: Mapping[int, Library],
        files: BundleFiles,
        parameters: Mapping[str, Any],
        worker: Worker,
        device: Device,
    ) -> None:
        """Loads the stage's libraries, which are given by ascending bucket.

        Raises:
            DeviceError: the device has no room for the parameters.
            LibraryLoadError: a library cannot be loaded.
            BundleError: a library is not the one that was checked.
        """
        self.stage = stage
        self.buckets = tuple(libraries)
        """Largest length of each library, ascending."""
        self._libraries = libraries
        self._files = files
        self._worker = worker
        self._device = device
        own_parameters = [parameters[name] for name in stage.parameters]
        self._parameters = worker.call(self._place_parameters, own_parameters)
        # All are loaded now: later, another bundle may be in the place of this one.
        self._functions = {bucket: worker.call(self._load, bucket) for bucket in libraries}

    def run(
        self,
        inputs: Mapping[str, NDArray[Any]],
        bucket: int | None = None,
        *,
        instrument: Instrument | None = None,
        parameters: Mapping[str, NDArray[np.float32]] | None = None,
    ) -> dict[str, NDArray[Any]]:
        """Computes the stage.

        Args:
            inputs: an array for each input of the stage's signature, by name.
            bucket: bucket of the library to use; by default the smallest that holds the length.
            instrument: called before and after each kernel; for tools that examine kernels.
            parameters: arrays in place of the bundle's, by the names in the manifest.

        Returns:
            An array for each output, by name.

        Raises:
            TensorInputError: a name, type, shape or length does not fit.
            DeviceError: the stage computes on a device whose memory no instrument can read.
            ExecutionError: the library failed.
        """
        if instrument is not None and not self._device.is_cpu:
            raise DeviceError(
                f"The stage {self.stage.name!r} computes on {self._device.name}, and instruments look into "
                "stages on the CPU only: use a bundle that was exported for the CPU."
            )
        length = self._check(inputs)
        chosen = self.choose_bucket(length, bucket)
        arrays = [inputs[tensor.name] for tensor in self.stage.inputs]
        outputs = self._worker.call(self._call, chosen, arrays, instrument, parameters or {})
        for tensor, array in zip(self.stage.outputs, outputs, strict=True):
            if array.shape != tensor.concrete(length):
                raise ExecutionError(
                    self.stage.name, f"expected {tensor.name} {tensor.concrete(length)}, found {array.shape}"
                )
        return {tensor.name: array for tensor, array in zip(self.stage.outputs, outputs, strict=True)}

    def choose_bucket(self, length: int, bucket: int | None = None) -> int:
        """Returns `bucket`, or the smallest that holds `length`.

        Raises:
            TensorInputError: the length is too short or too long, or there is no such bucket.
        """
        fitting = [size for size in self.buckets if size >= length and bucket in (None, size)]
        if length < self.stage.minimum or not fitting:
            most = bucket if bucket in self.buckets else self.buckets[-1]
            raise TensorInputError(
                f"The stage {self.stage.name!r} takes {self.stage.minimum} to {most} "
                f"{self.stage.axis} in its buckets {', '.join(map(str, self.buckets))}, found {length}: "
                "give an input of such a length, or export the bundle with other buckets."
            )
        return fitting[0]

    def _check(self, inputs: Mapping[str, NDArray[Any]]) -> int:
        """Returns the length of `inputs`, having compared them with the signature."""
        expected = [tensor.name for tensor in self.stage.inputs]
        if set(inputs) != set(expected):
            raise TensorInputError(
                f"The stage {self.stage.name!r} expects {', '.join(expected)}, found {', '.join(inputs)}."
            )
        for name, value in inputs.items():
            if not isinstance(value, np.ndarray):
                raise TensorInputError(
                    f"The stage {self.stage.name!r} expects {name} as an array, found {type(value).__name__}."
                )
        length = self._length(inputs)
        for tensor in self.stage.inputs:
            array = inputs[tensor.name]
            if array.dtype != tensor.dtype or array.shape != tensor.concrete(length):
                raise TensorInputError(
                    f"The stage {self.stage.name!r} expects {tensor.name} as {tensor.dtype} "
                    f"{list(tensor.concrete(length))}, found {array.dtype} {list(array.shape)}."
                )
            if tensor.name == TOKEN_IDS:
                self._check_tokens(array)
        return length

    def _check_tokens(self, token_ids: NDArray[Any]) -> None:
        """Refuses tokens without a row of the table: the library would read beyond the table."""
        rows = int(self._parameters[0].shape[0])
        if token_ids.size and not 0 <= token_ids.min() <= token_ids.max() < rows:
            raise TensorInputError(
                f"The stage {self.stage.name!r} takes the tokens 0 to {rows - 1}, "
                f"found {token_ids.min()} to {token_ids.max()}."
            )

    def _length(self, inputs: Mapping[str, NDArray[Any]]) -> int:
        """Returns the length of the first input whose shape fits the signature, 0 if none does."""
        for tensor in self.stage.inputs:
            for size, dim in zip(inputs[tensor.name].shape, tensor.shape, strict=False):
                if not isinstance(dim, int):
                    return int(size - offset_of(dim)) // dim[0]
        return 0

    def _call(
        self,
        bucket: int,
        arrays: list[NDArray[Any]],
        instrument: Instrument | None,
        replaced: Mapping[str, NDArray[np.float32]],
    ) -> list[NDArray[Any]]:
        """Runs on the worker's thread."""
        self._files.check_unchanged()
        tvm_ffi, place = self._worker.tvm_ffi, self._device.place
        function = self._functions[bucket] if instrument is None else self._load(bucket, instrument)
        parameters = self._parameters
        if replaced:
            parameters = [
                place(to_tvm(tvm_ffi, replaced[name])) if name in replaced else parameter
                for name, parameter in zip(self.stage.parameters, self._parameters, strict=True)
            ]
        try:
            result = function(*(place(to_tvm(tvm_ffi, array)) for array in arrays), *parameters)
            tensors = [result] if len(self.stage.outputs) == 1 else list(result)
            return [self._device.fetch(tensor) for tensor in tensors]
        except Exception as failure:
            raise ExecutionError(self.stage.name, str(failure)) from failure

    def _place_parameters(self, parameters: list[Any]) -> list[Any]:
        """Moves the parameters to the stage's device, once, on the worker's thread."""
        try:
            return [self._device.place(parameter) for parameter in parameters]
        except Exception as failure:
            raise DeviceError(
                f"The parameters of the stage {self.stage.name!r} could not be moved to {self._device.name}: "
                f"{failure}. Free memory there, or use a bundle that was exported for the CPU."
            ) from failure

    def _load(self, bucket: int, instrument: Instrument | None = None) -> Callable[..., Any]:
        library = self._libraries[bucket]
        return load_function(
            self._worker.tvm_ffi, self._files, library.file, library.function, self._device.types, instrument
        )
