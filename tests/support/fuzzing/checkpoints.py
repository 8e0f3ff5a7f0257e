"""Damages checkpoints, voices and configurations at random: a seed always gives the same damage.

As a program it loads damaged files and counts what came of them:
``python -m tests.support.fuzzing.checkpoints KINDS FIRST COUNT DIRECTORY``, KINDS of `KINDS`, with commas.
"""

from __future__ import annotations

import io
import json
import os
import resource
import struct
import sys
import time
import warnings
import zipfile
from collections import Counter, OrderedDict
from collections.abc import Callable
from copy import deepcopy
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import torch

from exporter.compiler import kokoro_model
from exporter.errors import ExportError
from exporter.model import checkpoint
from exporter.model.config import OFFICIAL_CONFIG, PARTS, read_config
from exporter.model.voice_packs import COLUMNS, ROWS, read_packs
from tests.support.fuzzing.bundles import damaged_bytes, damaged_document
from tests.support.tiny import onnx_models

MOST_SECONDS = 5.0
MOST_MEMORY = 1 << 30
"""Bytes by which a case may let the process grow."""
LARGE = 1 << 33
Outcomes = Counter[str]


class TinyKokoro(torch.nn.Module):
    """Five parts with the names of kokoro's, an instance norm and a weight norm: 400 numbers."""

    def __init__(self) -> None:
        super().__init__()
        self.bert = torch.nn.Linear(4, 4)
        self.bert_encoder = torch.nn.Linear(4, 6)
        self.predictor = torch.nn.LSTM(4, 3)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            conv = torch.nn.utils.weight_norm(torch.nn.Conv1d(2, 4, 3))
        conv.weight = conv.weight.detach()  # Or it cannot be copied.
        self.decoder = torch.nn.Sequential(conv, torch.nn.InstanceNorm1d(4, affine=True))
        self.text_encoder = torch.nn.Embedding(7, 6)
        self.eval().requires_grad_(False)


def sound_states(model: torch.nn.Module) -> dict[str, Any]:
    """State dicts of the official layout."""
    return {
        part: {f"module.{name}": value for name, value in getattr(model, part).state_dict().items()}
        for part in PARTS
    }


class Called:
    """Is pickled as the call of a function."""

    def __init__(self, function: Callable[..., Any], *arguments: Any) -> None:
        self.function, self.arguments = function, arguments

    def __reduce__(self) -> tuple[Any, ...]:
        return self.function, self.arguments


def hostile_value(random: Random) -> Any:
    """Something that a state dict should not have, or a tensor that fits badly."""
    shape = random.choice([(), (1,), (4,), (4, 4), (0,), (2, 3, 4), (1,) * 12])
    dense = torch.zeros(shape)
    dtype = random.choice(
        [torch.complex64, torch.int8, torch.bool, torch.float64, torch.bfloat16, torch.int64]
    )
    utils = torch._utils  # type: ignore[attr-defined]
    storage = torch.zeros(4).untyped_storage()
    typed = torch.storage.TypedStorage(wrap_storage=storage, dtype=torch.float32, _internal=True)
    numbers = [-1, 0, 1, 3, 4, 1 << 20, LARGE, 1 << 62, 1 << 70]
    return random.choice(
        [
            lambda: dense.to(dtype),
            lambda: torch.nn.Parameter(dense),
            lambda: dense.to_sparse(),
            lambda: torch.nested.nested_tensor([torch.zeros(4)]),
            lambda: torch.empty(shape, device="meta"),
            lambda: torch.zeros(1).expand(random.choice([4, 1 << 20, LARGE])),
            lambda: torch.zeros(1).expand(4, 4),
            lambda: torch.full((4, 4), random.choice([float("nan"), float("inf"), 1e30])),
            lambda: torch.full((4, 4), 1e300, dtype=torch.float64),
            lambda: torch.quantize_per_tensor(torch.zeros(4, 4), 0.1, 0, torch.qint8),
            lambda: torch.sparse_csr_tensor([0, 1], [0], [1.0], (1, 4)),
            lambda: Called(
                utils._rebuild_tensor_v2,
                typed,
                random.choice(numbers),
                tuple(random.choices(numbers, k=random.randrange(3))),
                tuple(random.choices(numbers, k=random.randrange(3))),
                random.choice([False, 0, None, "x"]),
                random.choice([OrderedDict(), None]),
            ),
            lambda: Called(bytearray, LARGE),
            lambda: Called(torch.Size, (1, 2)),
            lambda: Called(torch.device, "cuda"),
            lambda: Called(print, "code ran"),
            lambda: {"a": dense},
            lambda: [dense, 1, None],
            lambda: random.choice([None, True, 1, 1.5, "text", b"bytes", 1 << 2000, -1]),
        ]
    )()


def hostile_name(random: Random) -> Any:
    names = ["", "weight", "module.weight", "module.module.weight", "bias", "\x1b[2J", "\ud800"]
    return random.choice([*names, "x" * 100_000, 1, (1,)])


def hostile_states(random: Random, states: dict[str, Any]) -> Any:
    """State dicts after one to three changes of their names and values."""
    changed: Any = {part: dict(state) for part, state in states.items()}
    for _ in range(random.choice((1, 1, 2, 3))):
        part = random.choice(PARTS)
        state = changed.get(part)
        kind = random.choice(("value", "value", "value", "name", "both", "remove", "part", "norms", "all"))
        if kind == "all":
            return hostile_value(random)
        if kind == "part" or not isinstance(state, dict) or not state:
            changed[random.choice([part, "net", 3])] = hostile_value(random)
        elif kind == "name":
            state[hostile_name(random)] = state.pop(random.choice(list(state)))
        elif kind == "both":
            name = random.choice(list(state))
            state[str(name).removeprefix("module.")] = state[name]
        elif kind == "remove":
            del state[random.choice(list(state))]
        elif kind == "norms":
            changed["decoder"] = {
                name: value for name, value in states["decoder"].items() if "1." not in name
            }
        else:
            state[random.choice(list(state))] = hostile_value(random)
    return changed


def saved(content: Any) -> bytes:
    """A file of torch.save."""
    file = io.BytesIO()
    torch.save(content, file)
    return file.getvalue()


def entries_of(data: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return {info.filename: archive.read(info) for info in archive.infolist()}


# Opcodes and arguments that have hurt readers of pickles.
FRAGMENTS = (
    *b"( ) } ] t u s e a R b Q 0 2 . \x85 \x81".split(),
    *(b"r\xff\xff\xff\xff", b"j\xff\xff\xff\xff", b"q\x00", b"h\x00", b"h\xff", b"N", b"\x88", b"P1\n"),
    *(b"\x8e", b"X\xff\xff\xff\xff", b"X\x03\x00\x00\x00\xed\xa0\x80", b"\x8a\xff" + b"\xff" * 255),
    *(b"I99\n", b"L9L\n"),
    b"\x96" + struct.pack("<Q", LARGE),
    b"\x95" + struct.pack("<Q", LARGE),
    b")" + b"\x85" * 200_000,
    b"(" * 100_000,
    b"cbuiltins\nbytearray\nK\x0a\x85R",
    b"ccollections\nOrderedDict\n)R",
    b"ctorch\nFloatStorage\n",
    b"ctorch._utils\n_rebuild_tensor_v2\n",
    b"cos\nsystem\n",
    b"}" + b")" + b"\x85" * 200_000 + b"K\x01s",
)


def damaged_pickle(random: Random, data: bytes) -> bytes:
    for _ in range(random.choice((1, 1, 2, 4))):
        start = random.randrange(len(data))
        end = start + random.choice((0, 0, 1, 2, 20))
        data = data[:start] + random.choice(FRAGMENTS) + data[end:]
    return data


def damaged_archive(random: Random, data: bytes) -> bytes:
    """An archive with other entries than torch.save writes."""
    entries = entries_of(data)
    names = list(entries)
    folder = names[0].partition("/")[0]
    file = io.BytesIO()
    method = random.choice(
        [zipfile.ZIP_STORED] * 6 + [zipfile.ZIP_DEFLATED, zipfile.ZIP_LZMA, zipfile.ZIP_BZIP2]
    )
    kind = random.choice(("pickle", "pickle", "pickle", "remove", "swap", "add", "cut", "order", "twice"))
    if kind == "pickle":
        pickled = f"{folder}/data.pkl"
        entries[pickled] = damaged_pickle(random, entries[pickled])
    elif kind == "remove":
        del entries[random.choice(names)]
    elif kind == "swap":
        one, other = random.sample(names, 2)
        entries[one], entries[other] = entries[other], entries[one]
    elif kind == "add":
        added = ["constants.pkl", "other/data.pkl", "../x", "/etc/x", f"{folder}/DATA.PKL"]
        added += [f"{folder}/\x1b", "é"]
        entries = dict(random.sample([*entries.items(), (random.choice(added), b"x")], len(entries) + 1))
    elif kind == "order":
        entries[f"{folder}/byteorder"] = random.choice([b"big", b"", b"x" * 5000, b"\xff"])
    else:
        name = random.choice(names)
        entries[name] = entries[name][: random.randrange(len(entries[name]) + 1)]
    with warnings.catch_warnings(), zipfile.ZipFile(file, "w") as archive:
        warnings.simplefilter("ignore")
        for name, content in entries.items():
            archive.writestr(zipfile.ZipInfo(name), content, method)
        if kind == "twice":
            archive.writestr(zipfile.ZipInfo(random.choice(names)), b"other")
    return file.getvalue()


def damaged_file(random: Random, sound: bytes, hostile: Callable[[Random], Any]) -> bytes:
    """A file of torch.save with hostile contents, entries or bytes, or several of these."""
    data = sound
    if random.random() < 0.5:
        try:
            data = saved(hostile(random))
        except (RuntimeError, UnicodeEncodeError, NotImplementedError):
            data = sound  # torch.save refuses it.
    if random.random() < 0.4:
        data = damaged_archive(random, data)
    return damaged_bytes(random, data, sound) if data is sound or random.random() < 0.3 else data


def load_checkpoints(directory: Path, first: int, count: int) -> Outcomes:
    """Loads `count` damaged checkpoints of a tiny model."""
    model = TinyKokoro()
    states = sound_states(model)
    sound, path = saved(states), directory / "model.pth"
    checkpoint.build_model = lambda config: deepcopy(model)  # type: ignore[assignment]
    checkpoint.model_without_weights = lambda config: model  # type: ignore[assignment]

    def case(random: Random) -> None:
        path.write_bytes(damaged_file(random, sound, lambda random: hostile_states(random, states)))

    path.write_bytes(sound)
    checkpoint.load(str(path), OFFICIAL_CONFIG)
    return outcomes(
        directory, case, lambda: checkpoint.load(str(path), OFFICIAL_CONFIG), range(first, first + count)
    )


def load_voices(directory: Path, first: int, count: int) -> Outcomes:
    """Reads `count` damaged voices."""
    rows = np.random.default_rng(0).standard_normal((ROWS, 1, COLUMNS)).astype(np.float32)
    tensor = torch.from_numpy(rows)
    sound = {".pt": saved(tensor), ".bin": rows.tobytes()}

    def hostile(random: Random) -> Any:
        wrong = tensor.clone()
        wrong[random.randrange(ROWS)] = random.choice([1e30, -1e30, float("nan"), float("inf"), 99.0])
        return random.choice(
            [wrong, torch.nn.Parameter(tensor), tensor[:, 0], tensor.double(), tensor.to_sparse()]
        )

    def case(random: Random) -> None:
        suffix = random.choice((".pt", ".pt", ".bin"))
        for path in directory.iterdir():
            path.unlink()
        any_value = random.choice((hostile, hostile_value))
        data = (
            damaged_bytes(random, sound[".bin"])
            if suffix == ".bin"
            else damaged_file(random, sound[".pt"], any_value)
        )
        (directory / f"voice{suffix}").write_bytes(data)

    return outcomes(directory, case, lambda: read_packs([directory]), range(first, first + count))


def load_configs(directory: Path, first: int, count: int) -> Outcomes:
    """Reads `count` damaged configurations, and builds the model of every eighth one that is accepted."""
    document = json.loads(OFFICIAL_CONFIG.read_text(encoding="utf-8"))
    path = directory / "config.json"
    surprises = ['{"a":' * 50_000, "[" * 100_000, "9" * 5000, '"\\ud800"', "NaN", "1e999", '{"a":1,"a":2}']
    entries = [
        "_attn_implementation",
        "torch_dtype",
        "quantization_config",
        "vocab_size",
        "hidden_act",
        "\ud800",
    ]
    built = 0
    # The imports of kokoro take seconds, and are the same for all.
    kokoro_model.model_without_weights(json.dumps(document))

    def case(random: Random) -> None:
        changed = dict(document)
        if random.random() < 0.3:
            part = random.choice(("plbert", "istftnet", "vocab"))
            changed[part] = changed[part] | {random.choice(entries): random.choice(["eager", 1, None, {}])}
        if random.random() < 0.7:
            changed = damaged_document(random, changed)
        data = json.dumps(changed, ensure_ascii=random.random() < 0.5).encode(errors="surrogatepass")
        if random.random() < 0.2:
            place = random.randrange(len(data))
            data = data[:place] + random.choice(surprises).encode() + data[place:]
        path.write_bytes(damaged_bytes(random, data) if random.random() < 0.3 else data)

    def load() -> None:
        nonlocal built
        config = read_config(path)
        built += 1
        if built % 8 == 0:
            kokoro_model.model_without_weights(json.dumps(config))

    return outcomes(directory, case, load, range(first, first + count))


def outcomes(
    directory: Path, case: Callable[[Random], None], load: Callable[[], object], seeds: range
) -> Outcomes:
    """Counts errors by type; one that is not the project's counts as ``untyped``, with the seed."""
    found: Outcomes = Counter()
    for seed in seeds:
        case(Random(seed))
        # If an input ends this process, its seed is known.
        directory.with_suffix(".seed").write_text(str(seed))
        started = time.process_time()
        try:
            load()
        except ExportError as error:
            str(error).encode()
            found[type(error).__name__ if len(str(error)) < 2000 else f"untyped long {seed}"] += 1
        except Exception as error:
            found[f"untyped {type(error).__name__} {seed}"] += 1
        else:
            found["accepted"] += 1
        seconds = time.process_time() - started
        if seconds > MOST_SECONDS:
            found[f"untyped slow {seed}: {seconds:.1f} s"] += 1
    return found


def damaged_graph(random: Random, graph: Any) -> None:
    """Changes one thing in an ONNX graph: a name, a shape, a type, numbers, an input, or a whole entry."""
    tensor, node = random.choice(graph.initializer), random.choice(graph.node)
    sizes = [-1, 0, 1, 3, 8, 1 << 20, LARGE, (1 << 63) - 1]
    names = ["", "x" * 100_000, "\x1b[2J", "/" * 1000, "/bert/" * 500, node.name, *node.output]
    names += [random.choice(graph.initializer).name, *random.choice(graph.node).output]
    match random.choice(("name", "shape", "type", "data", "node", "input", "operator", "remove", "add")):
        case "name":
            tensor.name = random.choice(names)
        case "shape":
            tensor.dims[:] = random.choices(sizes, k=random.randrange(10))
        case "type":
            tensor.data_type = random.randrange(30)
        case "data":
            tensor.raw_data = random.randbytes(random.choice((0, len(tensor.raw_data), 1000)))
        case "node":
            node.name = random.choice([*names, random.choice(graph.node).name])
        case "input" if node.input:
            node.input[random.randrange(len(node.input))] = random.choice(names)
        case "operator":
            node.op_type = random.choice([random.choice(graph.node).op_type, "Identity", "If"])
        case "remove":
            found = random.choice((graph.initializer, graph.node))
            del found[random.randrange(len(found))]
        case _:
            graph.node.add(op_type="Transpose", input=random.sample(names, 1), output=random.sample(names, 1))


def load_onnx(directory: Path, first: int, count: int) -> Outcomes:
    """Loads `count` damaged ONNX files of a tiny model, in float32 and in 8 bits."""
    import onnx

    model = onnx_models.TinyKokoro()
    exported = onnx_models.export(model, directory / "sound.onnx")
    sound = [exported.read_bytes(), onnx_models.quantised(exported).read_bytes()]
    path = directory / "model.onnx"
    checkpoint.build_model = lambda config: deepcopy(model)  # type: ignore[assignment]
    checkpoint.model_without_weights = lambda config: model  # type: ignore[assignment]

    def case(random: Random) -> None:
        data = random.choice(sound)
        if random.random() < 0.7:
            changed = onnx.load_from_string(data)
            for _ in range(random.choice((1, 1, 2, 5))):
                damaged_graph(random, changed.graph)
            data = changed.SerializeToString()
        if random.random() < 0.5:
            data = damaged_bytes(random, data, random.choice(sound))
        path.write_bytes(data)

    path.write_bytes(sound[1])
    checkpoint.load(str(path), OFFICIAL_CONFIG)
    return outcomes(
        directory, case, lambda: checkpoint.load(str(path), OFFICIAL_CONFIG), range(first, first + count)
    )


KINDS = {
    "checkpoints": load_checkpoints,
    "onnx": load_onnx,
    "voices": load_voices,
    "configurations": load_configs,
}


def main(kinds: str, first: str, count: str, directory: str) -> None:
    """Loads damaged files in `directory`, where ``KIND.seed`` has the number of the last one.

    Each kind has a fork of this process, because imports take longer than the files, and a line of output.
    """
    for kind in kinds.split(","):
        child = os.fork()
        if child == 0:
            load(kind, int(first), int(count), Path(directory) / kind)
            # The interpreter would take down all modules, one by one.
            sys.stdout.flush()
            os._exit(0)
        os.waitpid(child, 0)


def load(kind: str, first: int, count: int, place: Path) -> None:
    """Loads damaged files of a kind in the directory `place`, with a limit of memory; prints the outcomes."""
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    most = pages * resource.getpagesize() + MOST_MEMORY
    resource.setrlimit(resource.RLIMIT_AS, (most, most))
    place.mkdir(exist_ok=True)
    print(json.dumps([kind, KINDS[kind](place, first, count)]))


if __name__ == "__main__":
    main(*sys.argv[1:])
