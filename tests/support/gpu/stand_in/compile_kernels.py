"""Compiles the kernels of a device module for this CPU, and prints the path of the library.

The stand-in's library starts it with the language ("metal" or "cuda"), whether fast math is wanted (0 or 1)
and a directory of sources. What was compiled once is kept, by what it was compiled from, in the directory
that the environment variable `STAND_IN_CACHE` names.
"""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

HEADERS = Path(__file__).parent / "kernels"
GAP = 128
"""Bytes after each array in threadgroup memory, as in engine.h."""
# -O3 unrolls and vectorises register tiles to half the speed of -O2.
_FLAGS = (
    "-std=c++17", "-O2", "-march=native", "-mprefer-vector-width=256", "-ffp-contract=fast",
    "-fno-math-errno", "-fno-trapping-math", "-fno-strict-aliasing", "-fno-exceptions", "-fno-rtti", "-fPIC",
    "-fvisibility=hidden", "-w", "-Werror=frame-larger-than=28000",
)  # fmt: skip
# Metal's fast math assumes that there are no NaN and no infinities; divisions get their errors by name.
_FAST_FLAGS = ("-fassociative-math", "-fno-signed-zeros", "-ffinite-math-only", "-freciprocal-math")
_WAITING = re.compile(r"\b(threadgroup_barrier|simdgroup_barrier|simd_\w+|__sync\w+|__shfl\w+)\b")


class KernelError(Exception):
    """A kernel that the stand-in cannot compile."""


@dataclass(frozen=True)
class Kernel:
    """A kernel as C++."""

    name: str
    preamble: str
    """Text before the kernel in its file."""
    source: str
    call: str
    """Runs the thread whose place in the group, and the group's in the grid, are `own` and `at`."""
    arrays: tuple[tuple[int, int], ...]
    """Offset and size of each array in threadgroup memory."""
    maximum_threads: int

    def text(self, fast_math: bool) -> str:
        """The file to compile, without the header."""
        # Threads that share memory without a barrier are run in both orders, so that it shows.
        waits = bool(_WAITING.search(self.source) or self.arrays)
        entry = _WAITING_ENTRY if waits else _LOOPING_ENTRY
        end = max((offset + size + GAP for offset, size in self.arrays), default=0)
        used = sum(-(-size // 16) * 16 for _, size in self.arrays)
        arrays = "".join(f"{{{offset}, {size}}}, " for offset, size in self.arrays)
        source = with_named_divisions(self.source) if fast_math else self.source
        return f'#line 1 "{self.name}"\n{self.preamble}{source}\n' + (
            f"static const Array stand_in_arrays[] = {{{arrays}{{0, 0}}}};\n"
            f"static void stand_in_run(const Group* group, unsigned index) {{\n"
            f"  const Extent size = group->size, at = group->position;\n"
            f"{entry.replace('CALL', self.call)}}}\n"
            f'extern "C" __attribute__((visibility("default"))) const Kernel stand_in_kernel_{self.name} = '
            f"{{{str(waits).lower()}, stand_in_run, {self.maximum_threads}, {used}, {end}, "
            f"stand_in_arrays, {len(self.arrays)}}};\n"
        )


_WAITING_ENTRY = """  const Extent own{index % size.x, index / size.x % size.y, index / size.x / size.y};
  CALL;
"""
_LOOPING_ENTRY = """  for (unsigned z = 0; z < size.z; ++z)
    for (unsigned y = 0; y < size.y; ++y)
      for (unsigned x = 0; x < size.x; ++x) {
        const Extent own{x, y, z};
        CALL;
      }
"""


class GroupMemory:
    """Lays out the arrays that a kernel declares in threadgroup memory."""

    def __init__(self) -> None:
        self.arrays: list[tuple[int, int]] = []
        self._end = 0

    def place(self, declaration: re.Match[str]) -> str:
        """Returns the replacement of a declaration with the groups type, name and count."""
        kind, name, count = declaration["type"], declaration["name"], int(declaration["count"])
        size = count * _size_of(kind)
        self.arrays.append((self._end, size))
        start, self._end = self._end, -(-(self._end + size + GAP) // 64) * 64
        return f"{kind} (&{name})[{count}] = *({kind} (*)[{count}])(stand_in_memory + {start});"


def _size_of(kind: str) -> int:
    scalar = re.fullmatch(r"(u?char|bool|u?short|half|u?int|float|u?long|u?int64_t)([234]?)", kind)
    if scalar is None:
        raise KernelError(f"an array of {kind} in threadgroup memory")
    base = scalar[1].removeprefix("u")
    size = {"char": 1, "bool": 1, "short": 2, "half": 2, "int": 4, "float": 4, "long": 8, "int64_t": 8}[base]
    lanes = int(scalar[2] or 1)
    return size * (4 if lanes == 3 else lanes)


_METAL_HEAD = re.compile(r"kernel void (?P<name>\w+)\((?P<parameters>.*?)\) \{", re.DOTALL)
_METAL_PARAMETER = re.compile(
    r"(?P<type>[^\[\]]*?[ *&])(?P<name>\w+) ?\[\[ ?(?P<attribute>\w+)(\((?P<index>\d+)\))? ?\]\]"
)
_METAL_ARRAY = re.compile(r"(?<=\s)threadgroup (?P<type>\w+) (?P<name>\w+)\[(?P<count>\d+)\];")
_METAL_PLACES = {"threadgroup_position_in_grid": "at", "thread_position_in_threadgroup": "own"}


def metal_kernels(source: str) -> list[Kernel]:
    """Returns the kernel of an MSL source as C++."""
    head = _METAL_HEAD.search(source)
    if head is None:
        raise KernelError(f"no kernel in this source:\n{source}")
    values = ["group->memory"]
    for parameter in _METAL_PARAMETER.finditer(head["parameters"]):
        kind = re.sub(r"\b(device|constant)\b", "", parameter["type"].lstrip(", \n")).strip()
        if parameter["attribute"] == "buffer":
            pointer = f"({kind.rstrip('&')}*)" if kind.endswith("&") else f"({kind})"
            value = f"{'*' if kind.endswith('&') else ''}{pointer}group->arguments[{parameter['index']}]"
        else:
            value = f"StandInPosition<{kind}>({_METAL_PLACES[parameter['attribute']]})"
        values.append(value)
    memory = GroupMemory()
    begin = head.start("parameters")
    text = source[head.start() : begin] + "char* stand_in_memory, " + source[begin:]
    text = _METAL_ARRAY.sub(memory.place, text)
    text = re.sub(r"\bthreadgroup\b", "", text)
    call = f"{head['name']}({', '.join(values)})"
    return [Kernel(head["name"], source[: head.start()], text, call, tuple(memory.arrays), 1024)]


_CUDA_HEAD = re.compile(
    r'extern "C" __global__ void (?:__launch_bounds__\((?P<threads>\d+)\) )?'
    r"(?P<name>\w+)\((?P<parameters>[^()]*)\)"
)
_ALIGNED = r"(?:alignas\(\d+\) |__align__\(\d+\) )*(?P<type>\w+) (?P<name>\w+)"
_CUDA_ARRAY = re.compile(rf"(?<=\s)__shared__ {_ALIGNED}\[(?P<count>\d+)\];")
_CUDA_DYNAMIC = re.compile(rf"extern __shared__ {_ALIGNED}\[\];")
_CUDA_PLACES = "char* stand_in_memory, const uint3 blockIdx, const uint3 threadIdx"


def cuda_kernels(source: str) -> list[Kernel]:
    """Returns the kernels of a CUDA source as C++."""
    heads = list(_CUDA_HEAD.finditer(source))
    if not heads:
        raise KernelError(f"no kernel in this source:\n{source}")
    preamble = source[: heads[0].start()]
    ends = [head.start() for head in heads[1:]] + [len(source)]
    pieces = ((head, source[head.start() : end]) for head, end in zip(heads, ends, strict=True))
    return [_cuda_kernel(preamble, head, piece) for head, piece in pieces if "{" in piece]


def _cuda_kernel(preamble: str, head: re.Match[str], source: str) -> Kernel:
    kinds = [parameter.rsplit(None, 1)[0] for parameter in head["parameters"].split(",") if parameter.strip()]
    values = ["group->memory", "uint3{at.x, at.y, at.z}", "uint3{own.x, own.y, own.z}"]
    for index, kind in enumerate(kinds):
        argument = f"group->arguments[{index}]"
        values.append(f"({kind}){argument}" if "*" in kind else f"*({kind}*){argument}")
    memory = GroupMemory()
    comma = ", " if kinds else ""
    text = source.replace(f"{head['name']}(", f"{head['name']}({_CUDA_PLACES}{comma}", 1)
    text = _CUDA_ARRAY.sub(memory.place, text)
    end = max((offset + size + GAP for offset, size in memory.arrays), default=0)
    text = _CUDA_DYNAMIC.sub(rf"\g<type>* \g<name> = (\g<type>*)(stand_in_memory + {end});", text)
    call = f"{head['name']}({', '.join(values)})"
    return Kernel(head["name"], preamble, text, call, tuple(memory.arrays), int(head["threads"] or 1024))


def with_named_divisions(source: str) -> str:
    """Returns C++ as TVM prints it, every operation in parentheses, with functions for its divisions."""
    while (slash := source.find(" / ")) >= 0:
        begin = _unmatched(source, slash, -1)
        end = _unmatched(source, slash, 1)
        left, right = source[begin + 1 : slash], source[slash + 3 : end]
        source = f"{source[:begin]}stand_in_divide({left}, {right}){source[end + 1 :]}"
    return source


def _unmatched(source: str, position: int, step: int) -> int:
    """Index of the parenthesis that encloses `position`, before it or after it."""
    opening, closing = "()" if step > 0 else ")("
    depth = 0
    while 0 <= (position := position + step) < len(source):
        depth += (source[position] == opening) - (source[position] == closing)
        if depth < 0:
            return position
    raise KernelError("a division without parentheses around it")


LANGUAGES = {"metal": (metal_kernels, "metal_stdlib"), "cuda": (cuda_kernels, "cuda.h")}


def compile_kernels(language: str, fast_math: bool, sources: list[str], cache: Path) -> Path:
    """Returns a library with the kernels of `sources`."""
    read, header = LANGUAGES[language]
    flags = (*_FLAGS, *(_FAST_FLAGS if fast_math else ()), f"-DSTAND_IN_FAST_MATH={int(fast_math)}")
    kernels = [kernel for source in sources for kernel in read(source)]
    texts = [f'#include "{header}"\n{kernel.text(fast_math)}' for kernel in kernels]
    texts.append(
        '#define STAND_IN_KERNEL\n#include "../engine.h"\n'
        'extern "C" __attribute__((visibility("default"))) Waiting stand_in_waiting{};\n'
    )
    cache.mkdir(parents=True, exist_ok=True)
    salt = _salt(flags)
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        objects = list(pool.map(lambda text: _object(text, flags, salt, cache), texts))
    name = hashlib.sha256("".join(path.name for path in objects).encode()).hexdigest()
    return _made(cache / f"{name}.so", ["-shared", *map(str, objects), "-lm"])


def _salt(flags: tuple[str, ...]) -> bytes:
    """Other inputs of an object: flags, headers and the processor that -march=native names."""
    headers = b"".join(
        path.read_bytes() for path in [HEADERS.parent / "engine.h", *sorted(HEADERS.iterdir())]
    )
    processor = re.search(r"^(flags|Features)\s*:.*$", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    return " ".join(flags).encode() + headers + (processor[0] if processor else "").encode()


def _object(text: str, flags: tuple[str, ...], salt: bytes, cache: Path) -> Path:
    name = hashlib.sha256(salt + text.encode()).hexdigest()
    return _made(cache / f"{name}.o", [*flags, f"-I{HEADERS}", "-xc++", "-c", "-"], text)


def _made(path: Path, arguments: list[str], text: str = "") -> Path:
    """Has g++ write `path` unless it is there; other processes see it only when it is whole."""
    if not path.exists():
        handle, unfinished = tempfile.mkstemp(dir=path.parent, suffix=path.suffix)
        os.close(handle)
        command = ["g++", *arguments, "-o", unfinished]
        done = subprocess.run(command, input=text, capture_output=True, text=True)
        if done.returncode:
            os.unlink(unfinished)
            raise KernelError(done.stderr)
        os.rename(unfinished, path)
    return path


def main(language: str, fast_math: str, place: str) -> None:
    """Prints the path of the library, or says on the standard error what is wrong."""
    sources = [path.read_text() for path in sorted(Path(place).iterdir())]
    try:
        print(compile_kernels(language, fast_math == "1", sources, Path(os.environ["STAND_IN_CACHE"])))
    except KernelError as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main(*sys.argv[1:])
