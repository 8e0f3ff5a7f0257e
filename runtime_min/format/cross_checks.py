"""Checks that the parts of a manifest agree with each other and with the model's fixed structure."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

from ..errors import ManifestError
from .blocks import read_blocks
from .manifest import (
    ALIGNMENT,
    CPU,
    DEVICES,
    ITEM_SIZES,
    MANIFEST_NAME,
    PARAMETER_SIZES,
    PRECISION_REQUIRED,
    SCALED_LAYOUT,
    SCALES,
    TOKEN_IDS,
    AudioFormat,
    FileEntry,
    Manifest,
    Parameters,
    Stage,
    Tensor,
)
from .signatures import SOURCE, signatures, stage_names

_MOST_BYTES = 1 << 34
"""A reader hashes all files, and a bundle of this model has half a gigabyte."""
_PRODUCTS = 64
"""Most weights that share a scale."""
_ALWAYS_ON_CPU = ("f0n", SOURCE)
"""The phase is nearly chaotic in F0, so the stages that decide it must round as PyTorch does."""


def check_consistency(manifest: Manifest) -> None:
    """Refuses a manifest whose parts contradict each other.

    Raises:
        ManifestError: naming the place, the expected value and the one found.
    """
    _expect(manifest.audio == AudioFormat(), "audio", str(AudioFormat()), manifest.audio)
    _check_paths(manifest.files)
    sizes = {entry.path: entry.bytes for entry in manifest.files}
    most = f"at most {_MOST_BYTES} bytes in all"
    _expect(sum(sizes.values()) <= _MOST_BYTES, "files", most, sum(sizes.values()))
    _check_runtimes(manifest, sizes)
    _check_unique("target.levels", (level.name for level in manifest.target.levels))
    _check_precision(manifest)
    _check_parameters(manifest.parameters, sizes)
    _check_scales({tensor.name: tensor for tensor in manifest.parameters.tensors})
    _check_transforms(manifest)
    _check_stages(manifest, sizes)
    _check_devices(manifest)
    _check_voices(manifest, sizes)
    _check_uses(manifest)
    _check_module(manifest)
    read_blocks(manifest.extensions, {entry.path: entry for entry in manifest.files})
    _expect("" not in manifest.vocabulary, "vocabulary", "phonemes of at least one character", "")


def _expect(holds: bool, place: str, expected: str, found: object) -> None:
    if not holds:
        raise ManifestError(place, expected, found)


def _check_paths(files: Iterable[FileEntry]) -> None:
    """Checks that paths ascend, and can exist at once, with their directories, on every file system."""
    paths = [entry.path for entry in files]
    _expect(paths == sorted(set(paths)), "files", "every path once, in ascending order", paths)
    _expect(MANIFEST_NAME not in paths, "files", "every file but the manifest", MANIFEST_NAME)
    spellings: dict[str, str] = {MANIFEST_NAME: MANIFEST_NAME}
    expected = "paths that differ in more than upper and lower case, and no file that is a directory"
    for path in paths:
        parts = path.split("/")
        directories = ("/".join(parts[:end]) + "/" for end in range(1, len(parts)))
        for name in (*directories, path):
            _expect(spellings.setdefault(name.lower().rstrip("/"), name) == name, "files", expected, name)


def _check_runtimes(manifest: Manifest, sizes: Mapping[str, int]) -> None:
    """Checks the paths of TVM's runtime, which an app may bring in place of the bundle."""
    for device, path in manifest.device_libraries.items():
        _expect(device in DEVICES, "device_libraries", f"some of {', '.join(DEVICES)}", device)
        _check_listed(sizes, f"device_libraries[{device!r}]", path)
    if manifest.runtime_library:
        _check_listed(sizes, "runtime_library", manifest.runtime_library)
    else:
        expected = "a path beside those of device_libraries"
        _expect(not manifest.device_libraries, "runtime_library", expected, "")


def _check_devices(manifest: Manifest) -> None:
    """Checks that the bundle, or the app, has a runtime for every device."""
    for index, stage in enumerate(manifest.stages):
        brought = (CPU, *(manifest.device_libraries if manifest.runtime_library else DEVICES))
        expected = (CPU,) if stage.name in _ALWAYS_ON_CPU else brought
        place = f"stages[{index}].device"
        _expect(stage.device in expected, place, f"one of {', '.join(expected)}", stage.device)


def _check_stages(manifest: Manifest, sizes: Mapping[str, int]) -> None:
    names = [stage.name for stage in manifest.stages]
    known = stage_names(manifest.separate_source)
    expected = f"stages once each, in the order {', '.join(known)}"
    _expect(names == [name for name in known if name in names], "stages", expected, names)
    expected_signatures = signatures(manifest.model.hidden, manifest.model.style, manifest.separate_source)
    tensors = {tensor.name: tensor for tensor in manifest.parameters.tensors}
    levels = [level.name for level in manifest.target.levels]
    for index, stage in enumerate(manifest.stages):
        place, signature = f"stages[{index}]", expected_signatures[stage.name]
        _expect(stage.signature == signature, place, str(signature), stage.signature)
        for name in stage.parameters:
            _expect(name in tensors, f"{place}.parameters", "names of the parameter table", name)
        if TOKEN_IDS in {tensor.name for tensor in stage.inputs}:
            _check_token_table(f"{place}.parameters", stage, tensors, manifest.vocabulary)
        _check_libraries(f"{place}.libraries", stage, levels, sizes)


def _check_token_table(
    place: str, stage: Stage, tensors: Mapping[str, Tensor], vocabulary: Mapping[str, int]
) -> None:
    """Checks that the table has a row for each token; the library checks the table's shape alone."""
    shape = tensors[stage.parameters[0]].shape if stage.parameters else ()
    most = max(vocabulary.values(), default=0)
    expected = f"first a table of two dimensions with a row for each token up to {most}"
    _expect(len(shape) == 2 and shape[0] > most, place, expected, list(shape))


def _check_libraries(place: str, stage: Stage, levels: list[str], sizes: Mapping[str, int]) -> None:
    """Checks that all CPU levels have the same buckets, ascending, and none below the stage's minimum."""
    found = {level: [item.bucket for item in stage.libraries if item.level == level] for level in levels}
    buckets = found[levels[0]]
    complete = len(stage.libraries) == len(buckets) * len(levels)
    same = complete and all(other == buckets for other in found.values())
    _expect(same, place, f"the same buckets for each of the levels {', '.join(levels)}", found)
    ascending = buckets == sorted(set(buckets)) and buckets[0] >= stage.minimum
    _expect(ascending, place, f"ascending buckets from {stage.minimum} on", buckets)
    for library in stage.libraries:
        _check_listed(sizes, place, library.file)


def _check_parameters(parameters: Parameters, sizes: Mapping[str, int]) -> None:
    """Checks that tensors fill the file one after the other, aligned, and have the size of their shape."""
    _check_listed(sizes, "parameters.file", parameters.file)
    _check_unique("parameters.tensors", (tensor.name for tensor in parameters.tensors))
    end = 0
    for index, tensor in enumerate(parameters.tensors):
        place = f"parameters.tensors[{index}]"
        size = math.prod(tensor.shape) * PARAMETER_SIZES[tensor.dtype]
        _expect(
            tensor.bytes == size, f"{place}.bytes", f"{size} for {tensor.dtype} {tensor.shape}", tensor.bytes
        )
        start = end + -end % ALIGNMENT
        expected = (
            f"{start}, the first multiple of {ALIGNMENT} from {end} on, where the tensor before it ends"
        )
        _expect(tensor.offset == start, f"{place}.offset", expected, tensor.offset)
        end = tensor.offset + tensor.bytes
    expected = f"tensors that fill the {sizes[parameters.file]} bytes of {parameters.file}"
    _expect(end == sizes[parameters.file], "parameters.tensors", expected, f"a last one that ends at {end}")


def _check_precision(manifest: Manifest) -> None:
    """Checks that no parameter has a type that readers without `PRECISION_REQUIRED` do not know."""
    if PRECISION_REQUIRED in manifest.requires:
        return
    expected = f"one of {', '.join(ITEM_SIZES)} without the requirement {PRECISION_REQUIRED!r}"
    for index, tensor in enumerate(manifest.parameters.tensors):
        _expect(tensor.dtype in ITEM_SIZES, f"parameters.tensors[{index}].dtype", expected, tensor.dtype)


def _check_scales(tensors: Mapping[str, Tensor]) -> None:
    """Checks that every weight of int8 in a convolution's layout has the scales of its groups."""
    for name, weight in tensors.items():
        if weight.dtype != "int8" or not weight.layout.startswith(SCALED_LAYOUT):
            continue
        _expect(len(weight.shape) == 4, "parameters.tensors", f"{name} with four dimensions", weight.shape)
        blocks, channels, taps, lanes = weight.shape
        group = 1 << max(_PRODUCTS // taps, 1).bit_length() - 1
        expected = "float16", (blocks, -(-channels // group), lanes)
        scales = tensors.get(name + SCALES)
        found = scales and (scales.dtype, scales.shape)
        described = f"a tensor {name}{SCALES} of {expected[0]} {expected[1]}"
        _expect(found == expected, "parameters.tensors", described, found)


def _check_transforms(manifest: Manifest) -> None:
    """Checks that a matrix has rows of one length, and that of the weights which it transforms."""
    for layout, matrix in manifest.transforms.items():
        lengths = {len(row) for row in matrix}
        _expect(len(lengths) == 1, f"transforms[{layout!r}]", "rows of one length", sorted(lengths))
    for tensor in manifest.parameters.tensors:
        if transform := manifest.transforms.get(tensor.layout):
            taps = len(transform[0])
            fits = tensor.dtype == "float16" and len(tensor.shape) == 4 and tensor.shape[1] == taps
            expected = f"{tensor.name} of float16 with four dimensions, the second of {taps}"
            _expect(fits, "parameters.tensors", expected, f"{tensor.dtype} {tensor.shape}")


def _check_voices(manifest: Manifest, sizes: Mapping[str, int]) -> None:
    _check_unique("voices", (voice.name for voice in manifest.voices))
    rows, columns = manifest.max_phonemes, 2 * manifest.model.style
    names, ranks = {voice.name for voice in manifest.voices}, manifest.voice_ranks
    _expect(ranks.keys() <= names, "voice_ranks", "names of voices", sorted(ranks.keys() - names))
    for index, voice in enumerate(manifest.voices):
        place = f"voices[{index}]"
        shaped = (voice.rows, voice.columns) == (rows, columns)
        _expect(shaped, place, f"{rows} rows of {columns} columns", voice)
        _check_listed(sizes, f"{place}.file", voice.file)
        size = rows * columns * ITEM_SIZES["float32"]
        if rank := ranks.get(voice.name):
            most = min(rows, columns)
            _expect(rank <= most, f"voice_ranks[{voice.name!r}]", f"at most {most}", rank)
            size = rank * (rows + columns) * ITEM_SIZES["float32"]
        _expect(sizes[voice.file] == size, f"{place}.file", f"a file of {size} bytes", sizes[voice.file])


def _check_module(manifest: Manifest) -> None:
    """Checks that the module's folder has the libraries of all stages, and nothing that a reader reads."""
    module = manifest.module
    if module is None:
        return
    runtime = manifest.runtime_library
    _expect(runtime == "", "runtime_library", "'' beside a module, which has it", runtime)
    for stage in manifest.stages:
        for library in stage.libraries:
            expected = "the directory of all libraries of stages"
            _expect(module.holds(library.file), "module.folder", expected, module.folder)
    read = {"parameters.file": manifest.parameters.file}
    read |= {f"voices[{index}].file": voice.file for index, voice in enumerate(manifest.voices)}
    for place, path in read.items():
        _expect(not module.holds(path), place, "a file outside of the module's folder", path)


def _check_uses(manifest: Manifest) -> None:
    """Checks that no content has two uses: a stage's library that is TVM's runtime would end the process."""
    uses = [
        ("runtime_library", manifest.runtime_library),
        *((f"device_libraries[{device!r}]", path) for device, path in manifest.device_libraries.items()),
        *(("stages", library.file) for stage in manifest.stages for library in stage.libraries),
        ("parameters", manifest.parameters.file),
        *(("voices", voice.file) for voice in manifest.voices),
    ]
    digests = {entry.path: entry.sha256 for entry in manifest.files}
    users: dict[str, str] = {}
    # If the app brings the runtime, its path is empty.
    for use, path in filter(all, uses):
        other = users.setdefault(digests[path], use)
        _expect(use == other, use, f"files with another content than those of {other}", path)


def _check_listed(sizes: Mapping[str, int], place: str, path: str) -> None:
    _expect(path in sizes, place, "a file of the list 'files'", path)


def _check_unique(place: str, names: Iterable[str]) -> None:
    seen: set[str] = set()
    for name in names:
        _expect(name not in seen, place, "every name once", name)
        seen.add(name)
