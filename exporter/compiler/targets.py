"""The table of targets: every system that a bundle can be exported for, and the CPU levels it carries.

A new target is a new row of `TARGETS`. WebGPU has none: there is no GPU here on which a bundle could be
proved.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from difflib import get_close_matches

from exporter.errors import ExportError
from runtime_min.engine.machine import Machine, this_machine

# The x86-64 microarchitecture levels (x86-64 psABI, table 3.1), in the names of Linux's /proc/cpuinfo.
# pni is SSE3 and abm is LZCNT; the operating system's own part, OSXSAVE, shows in avx being listed at all.
_X86_64_V3 = (
    *("cx16", "lahf_lm", "popcnt", "pni", "sse4_1", "sse4_2", "ssse3"),
    *("abm", "avx", "avx2", "bmi1", "bmi2", "f16c", "fma", "movbe", "xsave"),
)
_X86_64_V4 = (*_X86_64_V3, "avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl")
# Linux on aarch64 promises NEON, so there is nothing to ask for. Dot products are of bytes, and the kernels
# compute in float32; SVE would need vectors of unknown length, which TVM does not make of them.
_ARMV8_A: tuple[str, ...] = ()


FLOAT32 = "float32"
ARITHMETICS = ("bfloat16",)
"""What the decoder's convolutions may be computed with beside float32."""


class UnknownTargetError(ExportError):
    """No row of the table has this name, or none fits this machine."""

    exit_code = 3


@dataclass(frozen=True)
class CpuLevel:
    """One set of instructions that libraries are compiled for; its name is a directory under ``lib``."""

    name: str
    features: tuple[str, ...]
    """Names of processor features in /proc/cpuinfo; on Apple's systems those of ``sysctl hw.optional``."""
    mcpu: str
    """LLVM's name of the level."""
    lanes: int
    """Float32 numbers in one vector register."""
    attributes: tuple[str, ...] = ()
    """LLVM's names of instructions that the level has besides those of `mcpu`."""
    arithmetic: str = FLOAT32
    """Arithmetic of the decoder's convolutions: ``float32`` or one of `ARITHMETICS`."""
    base: str = ""
    """With another arithmetic than float32: the level that computes the other stages."""

    @property
    def has_matrix_unit(self) -> bool:
        """True if the generator's convolutions are direct, on Intel's AMX, and not by Winograd's method."""
        return "+amx-bf16" in self.attributes


@dataclass(frozen=True)
class RuntimeFile:
    """A library of TVM's runtime, as the wheel of the apache-tvm release that the exporter needs has it."""

    name: str
    """Name of the file in the wheel's directory tvm/lib and in the bundle."""
    sha256: str


@dataclass(frozen=True, kw_only=True)
class Target:
    """One system that a bundle can be exported for, with the fields of the manifest's `Target`."""

    name: str
    triple: str
    system: str
    machine: str
    minimum_os: str
    """Oldest system of the wheels."""
    levels: tuple[CpuLevel, ...]
    arithmetic_levels: tuple[CpuLevel, ...] = ()
    """Levels with another arithmetic than float32, best first; a bundle has them beside `levels` if asked."""
    wheel_platform: str = ""
    """Platform tag of the wheels; empty where there are none."""
    device: str
    """Device of the decoder: ``cpu``, ``metal`` or ``cuda``."""
    runtime: RuntimeFile | None = None
    """TVM's runtime; None where no wheel has one."""
    device_runtime: RuntimeFile | None = None
    """TVM's runtime of the device, in the same wheel; None where the device is the CPU or no wheel has it."""
    library_suffix: str
    zig_target: str
    """The system's name for ``zig cc -target``."""
    verified: str
    """The proof that the target works: runs and checks."""
    needs: str = ""
    """Requirements of the machine besides numpy and apache-tvm-ffi."""
    module: str = ""
    """If all stages of a CPU level and the C library are one file: its path in a bundle, with ``{level}``."""

    @property
    def one_module(self) -> bool:
        """True if all stages of a CPU level and the C library are one file, which is linked last."""
        return bool(self.module)

    @property
    def runs(self) -> bool:
        """True if `runtime_min` runs there; otherwise an app calls the libraries itself."""
        return self.runtime is not None

    @property
    def runtime_files(self) -> tuple[RuntimeFile, ...]:
        """The libraries of TVM's runtime that a bundle carries."""
        return tuple(file for file in (self.runtime, self.device_runtime) if file is not None)

    @property
    def separate_source(self) -> bool:
        """True if the harmonic source is a stage of its own, on the CPU, whose phase rounds as PyTorch's."""
        return self.device != "cpu"

    def level(self, name: str) -> CpuLevel:
        """Returns the CPU level of this name, of any arithmetic."""
        return next(level for level in (*self.levels, *self.arithmetic_levels) if level.name == name)

    @property
    def precision(self) -> str:
        """The default of `precision.PRECISIONS`: float16, where the device's kernels can read it."""
        return "float32" if self.device == "cuda" else "float16"

    def device_of(self, stage: str, lstm_device: str = "cpu") -> str:
        """Returns the device of a stage.

        Args:
            stage: its name.
            lstm_device: the device of the encoders' LSTMs, ``cpu`` or the target's device.
        """
        moved = stage == "decoder" or (stage in LSTM_STAGES and lstm_device == self.device)
        return self.device if moved else "cpu"

    def fits(self, machine: Machine) -> bool:
        """Returns whether `machine` is such a system."""
        return (self.system, self.machine) == (machine.system, machine.machine)


WASM_FEATURES = ("simd128", "bulk-memory", "sign-ext", "nontrapping-fptoint", "mutable-globals", "atomics")
"""Instructions of a WebAssembly module, in LLVM's words."""
LSTM_STAGES = ("duration", "text_encoder")
"""Stages with the encoders' LSTMs; ``--lstm-device`` names their device."""

_X86_64_LEVELS = (
    CpuLevel("x86-64-v4", _X86_64_V4, mcpu="x86-64-v4", lanes=16),
    CpuLevel("x86-64-v3", _X86_64_V3, mcpu="x86-64-v3", lanes=8),
)


def _in_bfloat16(base: CpuLevel, name: str, feature: str, attribute: str) -> CpuLevel:
    """Returns a level with products of bfloat16, for processors of another level that have the feature."""
    return replace(
        base,
        name=name,
        features=(*base.features, feature),
        attributes=(attribute,),
        arithmetic="bfloat16",
        base=base.name,
    )


_BFLOAT16 = _in_bfloat16(_X86_64_LEVELS[0], "x86-64-v4-bf16", "avx512_bf16", "+avx512bf16")
# Every processor with AMX also rounds to bfloat16 with AVX-512.
_AMX = replace(
    _BFLOAT16,
    name="x86-64-v4-amx",
    features=(*_BFLOAT16.features, "amx_tile", "amx_bf16"),
    attributes=(*_BFLOAT16.attributes, "+amx-tile", "+amx-bf16"),
)
_ARMV8_A_LEVEL = CpuLevel("armv8-a", _ARMV8_A, mcpu="generic", lanes=4)
_ARM_BFLOAT16 = _in_bfloat16(_ARMV8_A_LEVEL, "armv8-a-bf16", "bf16", "+bf16")
_APPLE_M1 = CpuLevel("apple-m1", _ARMV8_A, mcpu="apple-m1", lanes=4)
_APPLE_BFLOAT16 = _in_bfloat16(_APPLE_M1, "apple-m2-bf16", "FEAT_BF16", "+bf16")
# The oldest processor that iOS 15 runs on.
_APPLE_A8 = CpuLevel("apple-a8", _ARMV8_A, mcpu="apple-a8", lanes=4)

_LINUX_X86_64 = Target(
    name="linux-x86_64",
    triple="x86_64-linux-gnu",
    system="linux",
    machine="x86_64",
    minimum_os="glibc 2.28",
    wheel_platform="manylinux_2_28_x86_64",
    device="cpu",
    levels=_X86_64_LEVELS,
    arithmetic_levels=(_AMX, _BFLOAT16),
    runtime=RuntimeFile(
        "libtvm_runtime.so", "43544bbeaea3cd3ffa919f7eac77244753aff28d1440c42f1ba8df03fa6e3948"
    ),
    library_suffix=".so",
    zig_target="x86_64-linux-gnu.2.28",
    verified="run: every CPU level speaks within the thresholds of kokoro, and x86-64-v3 on an emulated "
    "Haswell",
)
_LINUX_AARCH64 = Target(
    name="linux-aarch64",
    triple="aarch64-linux-gnu",
    system="linux",
    machine="aarch64",
    minimum_os="glibc 2.28",
    wheel_platform="manylinux_2_28_aarch64",
    device="cpu",
    levels=(_ARMV8_A_LEVEL,),
    arithmetic_levels=(_ARM_BFLOAT16,),
    runtime=RuntimeFile(
        "libtvm_runtime.so", "ba06950fac134b8d71549111fad2c6605cd6f738061fe0482f217c37ccbdff05"
    ),
    library_suffix=".so",
    zig_target="aarch64-linux-gnu.2.28",
    verified="run: exported on x86-64, speaks under qemu-user within the thresholds of kokoro",
)
_MACOS_ARM64 = Target(
    name="macos-arm64",
    triple="arm64-apple-macos13.0",
    system="macos",
    machine="arm64",
    minimum_os="macos 13.0",
    wheel_platform="macosx_11_0_arm64",
    device="cpu",
    levels=(_APPLE_M1,),
    arithmetic_levels=(_APPLE_BFLOAT16,),
    runtime=RuntimeFile(
        "libtvm_runtime.dylib", "e99d2e4d2ab1861794b3e1fd1e4423d1ee5c97b308274bce227a65114dd5221d"
    ),
    library_suffix=".dylib",
    zig_target="aarch64-macos.13.0",
    verified="run: kokoro and a small model, under qemu-user with a loader and a C library in place of "
    "macOS's, speak from the C library with the bits of x86-64-v3; checked, not run: headers, signature and "
    "symbols against the macOS wheels",
)
_METAL_MACOS = replace(
    _MACOS_ARM64,
    name="metal-macos",
    device="metal",
    arithmetic_levels=(),
    device_runtime=RuntimeFile(
        "libtvm_runtime_metal.dylib", "4631a88cb2243219c1f5e12dcefb7c56a4899366a96733d197adebdd1b7d2be0"
    ),
    verified="run: its kernels, on a stand-in for Metal, speak within the thresholds of kokoro; checked, not "
    "run: headers, signature and symbols against the macOS wheels",
    needs="Metal and Foundation, which macOS has",
)
_IOS_ARM64 = Target(
    name="ios-arm64",
    triple="arm64-apple-ios15.0",
    system="ios",
    machine="arm64",
    minimum_os="ios 15.0",
    device="cpu",
    levels=(_APPLE_A8,),
    library_suffix=".a",
    zig_target="aarch64-ios.15.0",
    module="native/Kokoro.framework/Kokoro",
    verified="run: kokoro and a small model, under qemu-user with a loader and a C library in place of "
    "iOS's, speak from the framework with the bits of x86-64-v3; checked, not run: platform, exports, and "
    "every function against iOS 14.5's and 15.6's",
    needs="an app with the bundle's framework, and the other files among its resources",
)
_METAL_IOS = replace(
    _IOS_ARM64,
    name="metal-ios",
    device="metal",
    library_suffix=".dylib",
    module="",
    verified="checked, not run: headers and symbols against the macOS wheels",
    needs="an app with TVM's runtime and its Metal part built for iOS, and a reader of FORMAT.md",
)
_CUDA_LINUX = replace(
    _LINUX_X86_64,
    name="cuda-linux",
    device="cuda",
    arithmetic_levels=(),
    verified="run: its kernels' source, on a stand-in for CUDA, speaks within the thresholds of kokoro; "
    "checked, not run: machine code for each architecture, loaded by TVM's runtime of CUDA",
    needs="an NVIDIA GPU from Ampere on with a driver for CUDA 13 (580 or newer), and libcudart.so.13, which "
    "pip install nvidia-cuda-runtime brings",
    device_runtime=RuntimeFile(
        "libtvm_runtime_cuda.so", "38782fe727adf51a82fa93de2a003044e16cd421564864a340dbd7f341215ffe"
    ),
)
_WINDOWS_X86_64 = Target(
    name="windows-x86_64",
    triple="x86_64-pc-windows-gnu",
    system="windows",
    machine="x86_64",
    minimum_os="windows 10.0",
    wheel_platform="win_amd64",
    device="cpu",
    levels=_X86_64_LEVELS,
    runtime=RuntimeFile(
        "tvm_runtime.dll", "6eb136b908d5e7a279c21ea2735ea5ca23f30852fdc2b8db4a31a7bf5826b711"
    ),
    library_suffix=".dll",
    zig_target="x86_64-windows-gnu",
    verified="run: the libraries compute in Wine, with the Windows wheels' runtime, within the thresholds of "
    "kokoro; the Python part has not been run on Windows",
)

_ANDROID_ARM64 = Target(
    name="android-arm64",
    triple="aarch64-linux-android29",
    system="android",
    machine="aarch64",
    minimum_os="android 29",
    device="cpu",
    levels=_LINUX_AARCH64.levels,
    arithmetic_levels=_LINUX_AARCH64.arithmetic_levels,
    library_suffix=".so",
    zig_target="aarch64-linux-android.29",
    verified="run: kokoro and a small model, under qemu-user with musl in place of bionic, speak from the C "
    "library with the bits of linux-aarch64; checked, not run: headers and symbols, against Android 10's",
    needs="an app that loads the bundle's C library",
)

_WEB = Target(
    name="web",
    triple="wasm32-unknown-wasi",
    system="web",
    machine="wasm32",
    minimum_os="webassembly 2",
    device="cpu",
    levels=(
        CpuLevel(
            "simd128", (), mcpu="generic", lanes=4, attributes=tuple(f"+{name}" for name in WASM_FEATURES)
        ),
    ),
    library_suffix=".a",
    zig_target="wasm32-wasi",
    module="lib/{level}/kokoro.wasm",
    verified="run: Node compares it with kokoro before it is published; it speaks in Node 20 and in headless "
    "Chromium. Firefox, Safari and phones have not been tried",
    needs="a browser or Node with WebAssembly's SIMD and exceptions: Chrome 95, Firefox 100, Safari 16.4 or "
    "Node 20",
)

TARGETS: tuple[Target, ...] = (
    _LINUX_X86_64, _LINUX_AARCH64, _MACOS_ARM64, _METAL_MACOS, _METAL_IOS, _CUDA_LINUX, _WINDOWS_X86_64,
    _ANDROID_ARM64, _IOS_ARM64, _WEB,
)  # fmt: skip


def find_target(name: str, machine: Machine | None = None) -> Target:
    """Returns the row called `name`; ``host`` stands for `machine`, by default this one, and its CPU.

    Raises:
        UnknownTargetError: no row has this name, or none is for this machine.
    """
    names = [target.name for target in TARGETS]
    if name == "host":
        machine = machine or this_machine()
        for target in TARGETS:
            if target.fits(machine) and target.device == "cpu":
                return target
        raise UnknownTargetError(
            f"This machine is {machine.system}-{machine.machine}, and there is no target for it: "
            f"name one of {', '.join(names)} with --target."
        )
    for target in TARGETS:
        if target.name == name:
            return target
    near = get_close_matches(name, names, n=1, cutoff=0.4)
    hint = f" Did you mean {near[0]}?" if near else ""
    raise UnknownTargetError(
        f"Unknown target {name!r}.{hint} There are {', '.join(names)}, and 'host' for this machine."
    )
