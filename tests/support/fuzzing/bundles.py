"""Damages manifests and bundles at random: a seed always gives the same damage.

As a program it damages a bundle that speaks, makes it consistent again, and speaks from what is accepted, all
in one process or each in a process of its own without TVM:
``python -m tests.support.fuzzing.bundles (together | apart) BUNDLE FIRST COUNT``.
"""

from __future__ import annotations

import copy
import gc
import hashlib
import json
import os
import signal
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from random import Random
from typing import Any

import msgpack
import numpy as np

from runtime_min.format.verify import read_manifest
from tests.support.files import bytes_of
from tests.support.tiny.bundle import MAX_PHONEMES, STYLE

MOST_MEMORY = 64 << 20
MOST_SECONDS = 1.0
MOST_SECONDS_OF_CHILD = 60
MANIFEST = "manifest.msgpack"
# Tags and lengths that have hurt readers.
TOKENS = (
    *(b"\xc0", b"\xc1", b"\xc4\xff", b"\xca\x00\x00\x00\x00", b"\xdc\xff\xff", b"\xdd\xff\xff\xff\xff"),
    *(b"\xde\xff\xff", b"\xdf\xff\xff\xff\xff", b"\xdb\xff\xff\xff\xff", b"\xda\x0f\xff", b"\xd9\xff"),
    *(
        b"\xcb\x7f\xf8\x00\x00\x00\x00\x00\x00",
        b"\xcf" + b"\xff" * 8,
        b"\xd3\x80" + bytes(7),
        b"\x80",
        b"\x90",
    ),
)
NUMBERS = (-1, 0, 1, 2, 3, 4, 7, 64, 255, 256, 65_535, 65_536, 1 << 31, (1 << 63) - 1, 1 << 63, (1 << 64) - 1)
TEXTS = ("", "x", "../x", "lib/x.so", "\x1b[2J", "tokens")
VALUES = (*NUMBERS, True, False, 1.5, -0.0, *TEXTS, [], {}, [1], {"a": 1})

VOICE = np.zeros((MAX_PHONEMES, 2 * STYLE), np.float32)
"""A voice for bundles without voices."""

Files = dict[str, bytes]


def damaged_bytes(random: Random, data: bytes, other: bytes = b"") -> bytes:
    """`data` after one to four small changes; `other` is something to splice in."""
    for _ in range(random.randint(1, 4)):
        start = random.randrange(len(data) + 1)
        end = min(len(data), start + random.choice((1, 1, 2, 4, 16, 200)))
        flipped = bytes(byte ^ (1 << random.randrange(8)) for byte in data[start:end])
        data = random.choice(
            (
                data[:start] + random.randbytes(1) + data[start + 1 :],
                data[:start] + flipped + data[end:],
                data[:start] + random.choice(TOKENS) + data[random.choice((start, end)) :],
                data[:start] + data[end:],
                data[:end] + data[start:],
                data[:start],
                data + random.choice((data[start:end], other[:start], bytes(1), bytes(64))),
                data[:start] + other[start:],
            )
        )
    return data


def places(value: Any) -> list[tuple[Any, ...]]:
    """The path of every value inside `value`."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [(key, *rest) for key, inner in items for rest in [(), *places(inner)]]


def damaged_document(random: Random, document: dict[str, Any]) -> dict[str, Any]:
    """A manifest after one to three changes of its values, keys and order."""
    document = copy.deepcopy(document)
    for _ in range(random.choice((1, 1, 1, 2, 3))):
        # Every part of the manifest gets its share, however many values it has.
        part = random.choice(list(document))
        path = random.choice([(part,), *((part, *rest) for rest in places(document[part]))])
        _change(random, document, path)
    return document


def _change(random: Random, document: Any, path: tuple[Any, ...]) -> None:
    *way, last = path
    holder = document
    for key in way:
        holder = holder[key]
    value = holder[last]
    kind = random.choice(("replace", "replace", "replace", "neighbour", "remove", "twice", "order", "number"))
    if kind == "number" and isinstance(value, int):
        number = random.choice((value * 2, *(value + step for step in (-64, -2, -1, 1, 2, 64))))
        holder[last] = min(max(number, -(1 << 63)), (1 << 64) - 1)
    elif kind == "neighbour":
        # Another value of the same kind, from anywhere in the manifest.
        found = [_at(document, other) for other in places(document)]
        holder[last] = copy.deepcopy(random.choice([other for other in found if type(other) is type(value)]))
    elif kind == "remove":
        del holder[last]
    elif kind == "twice" and isinstance(holder, list):
        holder.insert(random.randrange(len(holder) + 1), copy.deepcopy(value))
    elif kind == "twice":
        holder[f"{last}2"] = copy.deepcopy(value)
    elif kind == "order" and isinstance(value, list):
        random.shuffle(value)
    else:
        holder[last] = copy.deepcopy(random.choice(VALUES))


def crossed_document(random: Random, document: dict[str, Any]) -> dict[str, Any]:
    """A manifest in which one to three of the fields that name a file name another one's, or any file."""
    document = copy.deepcopy(document)
    listed = [entry["path"] for entry in document["files"]]
    # Every part of the manifest gets its share, however many files it names.
    fields: dict[str, list[tuple[Any, ...]]] = {}
    for path in places(document):
        if path[0] != "files" and _at(document, path) in listed:
            fields.setdefault(path[0], []).append(path)
    for _ in range(random.choice((1, 1, 2, 3))):
        one, other = (random.choice(fields[random.choice(list(fields))]) for _ in range(2))
        # All buckets of a stage at once, or the largest would hide the others.
        *way, last = one
        holders = _at(document, way[:-1]) if way and isinstance(way[-1], int) else [_at(document, way)]
        file = random.choice((_at(document, other), _at(document, other), random.choice(listed)))
        for holder in holders if random.random() < 0.5 else [_at(document, way)]:
            holder[last] = file
    return document


def _at(document: Any, path: tuple[Any, ...]) -> Any:
    for key in path:
        document = document[key]
    return document


def consistent(files: Files, document: dict[str, Any]) -> bytes:
    """The manifest `document` with the sizes and digests that the files have, packed."""
    entries = document.get("files")
    if isinstance(entries, list):
        for entry in entries:
            content = files.get(str(entry.get("path"))) if isinstance(entry, dict) else None
            if content is not None:
                entry.update(bytes=len(content), sha256=_digest(content))
    data: bytes = msgpack.packb(document)
    return data


@lru_cache(maxsize=64)
def _digest(content: bytes) -> str:
    """Returns the SHA-256; most files of a bundle are those of the one before."""
    return hashlib.sha256(content).hexdigest()


def damaged_bundle(random: Random, files: Files) -> Files:
    """Files that differ from `files`, as carelessness, a bad disk or an attacker would leave them."""
    changed = dict(files)
    names = sorted(files)
    while changed == files:
        one, other = random.sample(names, 2)
        kind = random.choice(("bytes", "bytes", "bytes", "swap", "copy", "remove", "move", "empty"))
        if kind == "bytes":
            changed[one] = damaged_bytes(random, files[one], files[other])
        elif kind == "swap":
            changed[one], changed[other] = files[other], files[one]
        elif kind == "copy":
            changed[one] = files[other]
        elif kind == "remove":
            del changed[one]
        elif kind == "move":
            changed[f"{one}.moved"] = changed.pop(one)
        else:
            changed[one] = b""
    return changed


def consistent_bundle(random: Random, files: Files) -> Files:
    """A damaged bundle whose manifest lists the sizes and digests that its files now have.

    Native code stays what its maker compiled, though perhaps under another name: who may write code may do
    anything, and no check of a reader can be against that.
    """
    changed = dict(files)
    document = msgpack.unpackb(files[MANIFEST])
    if random.random() < 0.7:
        document = random.choice((damaged_document, damaged_document, crossed_document))(random, document)
    else:
        data = [name for name in files if name.endswith((".bin", ".txt", "LICENSE"))]
        code = [name for name in files if name.startswith("lib/") and name.count("/") == 2]
        one, other = random.sample(random.choice((data, code)), 2)
        if one in code or random.random() < 0.2:
            changed[one], changed[other] = files[other], files[one]
        else:
            # The content has the same length, so that more than the size is looked at.
            noise = random.randbytes(len(files[one]))
            changed[one] = random.choice((noise, damaged_bytes(random, files[one], files[other])))
    changed[MANIFEST] = consistent(changed, document)
    return changed


def bundle_in_parts(random: Random, files: Files) -> Files:
    """A bundle with a file in parts: whole, damaged, without one, in another order, or beside a whole file.

    Often a part begins with a page of memory, and at times it is empty.
    """
    changed = dict(files)
    path = random.choice(("parameters.bin", random.choice(sorted(files.keys() - {MANIFEST}))))
    content = changed.pop(path)
    unit = random.choice((1, 4096, 1 << 16))
    cuts = sorted(random.randrange(len(content) + 1) // unit * unit for _ in range(random.randrange(4)))
    names = [f"{path}.part{number}" for number in range(1, len(cuts) + 2)]
    for name, start, end in zip(names, [0, *cuts], [*cuts, len(content)], strict=True):
        changed[name] = content[start:end]
    damage = random.choice(("none", "none", "bytes", "remove", "swap", "whole too"))
    one, other = random.choice(names), random.choice(names)
    if damage == "bytes":
        changed[one] = damaged_bytes(random, changed[one])
    elif damage == "remove":
        del changed[one]
    elif damage == "swap":
        changed[one], changed[other] = changed[other], changed[one]
    elif damage == "whole too":
        changed[path] = random.choice((content, content[1:]))
    return changed


def write(directory: Path, before: Files, after: Files) -> None:
    """Makes a directory with the files `before` one with the files `after`."""
    for name in before.keys() - after.keys():
        (directory / name).unlink()
    for name, content in after.items():
        if before.get(name) != content:
            (directory / name).write_bytes(content)


@contextmanager
def quick(what: object) -> Iterator[None]:
    """Asserts that its block takes less than a second of the processor; garbage of others does not count."""
    gc.disable()
    started = time.process_time()
    try:
        yield
    finally:
        gc.enable()
    seconds = time.process_time() - started
    assert seconds < MOST_SECONDS, f"{what}: {seconds:.2f} s"


@contextmanager
def small() -> Iterator[None]:
    """Asserts that its block lets the process grow by less than 64 MB."""
    # Forgets the peak of what came before.
    Path("/proc/self/clear_refs").write_text("5")
    before = _kilobytes("VmRSS")
    yield
    assert _kilobytes("VmHWM") - before < MOST_MEMORY >> 10


def _kilobytes(field: str) -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(f"{field}:"))


def speak_from_damaged(directory: Path, first: int, count: int) -> Counter[str]:
    """Loads and speaks from `count` damaged but consistent bundles, and counts the outcomes."""
    from runtime_min import Bundle, KokoroError

    outcomes: Counter[str] = Counter()
    sound = bytes_of(directory)
    with Bundle.load(directory, threads=1) as bundle:
        bundle.synthesize(phonemes="abc")
    with small():
        for seed in range(first, first + count):
            # If an input ends this process, its seed is known.
            (directory.parent / "seed").write_text(str(seed))
            damaged = consistent_bundle(Random(seed), sound)
            write(directory, sound, damaged)
            try:
                with quick(f"seed {seed}"), Bundle.load(directory, threads=1) as bundle:
                    for phonemes in ("a", "abc abc"):
                        bundle.synthesize(phonemes=phonemes, voice=next(iter(bundle.voices), VOICE))
            except KokoroError as error:
                outcomes[type(error).__name__] += 1
            else:
                outcomes["spoken"] += 1
            finally:
                write(directory, damaged, sound)
    return outcomes


def speak_apart(directory: Path, first: int, count: int) -> Counter[str]:
    """Does the same with manifests alone, each in a child of this process, which never loads TVM."""
    from runtime_min.engine.tvm_ffi_package import import_tvm_ffi

    # The import takes a tenth of a second and serves all children.
    import_tvm_ffi()
    read_manifest(directory)
    outcomes: Counter[str] = Counter()
    sound = (directory / MANIFEST).read_bytes()
    document = msgpack.unpackb(sound)
    for seed in range(first, first + count):
        random = Random(seed)
        damaged = document if random.random() < 0.3 else crossed_document(random, document)
        if damaged is document or random.random() < 0.2:
            damaged = damaged_document(random, damaged)
        (directory / MANIFEST).write_bytes(msgpack.packb(damaged))
        outcomes[_speak_in_child(directory, seed)] += 1
    (directory / MANIFEST).write_bytes(sound)
    return outcomes


def _speak_in_child(directory: Path, seed: int) -> str:
    """The outcome of loading, speaking and the self-test, in a child of this process."""
    from runtime_min import Bundle, KokoroError

    reader, writer = os.pipe()
    if (child := os.fork()) == 0:
        signal.alarm(MOST_SECONDS_OF_CHILD)
        try:
            with quick(f"seed {seed}"), Bundle.load(directory, threads=1) as bundle:
                for phonemes in ("a", "abc abc"):
                    bundle.synthesize(phonemes=phonemes, voice=next(iter(bundle.voices), VOICE))
                list(bundle.self_test())
            outcome = "spoken"
        except KokoroError as error:
            outcome = type(error).__name__
        except BaseException as error:
            outcome = f"seed {seed}: {error!r}"
        os.write(writer, outcome.encode())
        os._exit(0)
    os.close(writer)
    with open(reader, "rb") as answer:
        said = answer.read().decode()
    _, status = os.waitpid(child, 0)
    return said if status == 0 else f"seed {seed}: ended by signal {status}"


if __name__ == "__main__":
    run = {"together": speak_from_damaged, "apart": speak_apart}[sys.argv[1]]
    print(json.dumps(run(Path(sys.argv[2]), *map(int, sys.argv[3:]))))
