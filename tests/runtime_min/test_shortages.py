"""Too little memory, too few files: an error with a type, and the bundle goes on."""

from __future__ import annotations

import shutil
from pathlib import Path

import msgpack

from runtime_min.errors import MachineError
from tests.support.tiny.runtime_alone import run_probed


def test_too_little_memory_is_an_error_and_the_bundle_goes_on(speaking_bundle: Path, tmp_path: Path) -> None:
    """48 MB of noise and 48 MB of samples: for some room numpy fails, for some TVM, for some neither."""
    copy = Path(shutil.copytree(speaking_bundle, tmp_path / "bundle"))
    # The tiny model's libraries have no bound of their own.
    manifest = msgpack.unpackb((copy / "manifest.msgpack").read_bytes())
    for stage in manifest["stages"][3:]:
        stage["libraries"][-1]["bucket"] = 1 << 16
    (copy / "manifest.msgpack").write_bytes(msgpack.packb(manifest))
    kinds = run_probed(
        copy,
        """
import ctypes, resource
import numpy as np
MMAP_THRESHOLD = -3
# Otherwise the heap may keep so much free memory that nothing is asked of the system.
assert ctypes.CDLL(None).mallopt(MMAP_THRESHOLD, 1 << 20)
bundle = Bundle.load(PATH)
before = bundle.synthesize(phonemes="abc").samples.tobytes()
limits = resource.getrlimit(resource.RLIMIT_AS)
quiet = np.zeros((1, 600 * 20_000), np.float32)
kinds = {}
for noise in (None, quiet):
    for room in (0, 16, 32, 64, 96, 1024):
        resource.setrlimit(resource.RLIMIT_AS, (status("VmSize") + (room << 20), limits[1]))
        try:
            bundle.trace("abc", durations=np.array([4_000] * 5), noise=noise)
            kind = "spoke"
        except (KokoroError, MemoryError) as error:
            kind = type(error).__name__
        finally:
            resource.setrlimit(resource.RLIMIT_AS, limits)
        kinds[kind] = kinds.get(kind, 0) + 1
        assert bundle.synthesize(phonemes="abc").samples.tobytes() == before
result = kinds
""",
    )
    assert {"MemoryError", "ExecutionError", "spoke"} <= kinds.keys()
    assert kinds.keys() <= {"MemoryError", "ExecutionError", "LibraryLoadError", "spoke"}


def test_threads_have_all_memory_of_their_own_once_a_bundle_is_loaded(
    speaking_bundle: Path, late_threads: Path
) -> None:
    """Libraries allocate it for a thread at its first use, and the process ends if that fails."""
    found = run_probed(
        speaking_bundle,
        """
import ctypes, time
from runtime_min.engine.vm import Worker
bundle = Bundle.load(PATH, threads=3)
worker = next(each for each in gc.get_objects() if isinstance(each, Worker))
refuse = ctypes.CDLL(None).refuse_the_loader
refuse(1)
time.sleep(0.25)
try:
    worker.call(worker.tvm_ffi.get_global_func("ffi.ArrayGetItem"), [], 0)
except IndexError as error:
    result = str(error)
refuse(0)
""",
        LD_PRELOAD=str(late_threads),
        LATE="libstdc++",
    )
    assert found == "Index 0 out of bounds 0"


def test_too_little_of_anything_while_loading_is_an_error_of_the_machine(speaking_bundle: Path) -> None:
    """Each load is in a process of its own without TVM, whose pool of threads would end the process."""
    kinds = run_probed(
        speaking_bundle,
        """
import resource
from runtime_min.engine.tvm_ffi_package import import_tvm_ffi
import_tvm_ffi()
def limited(name, most):
    if (child := os.fork()) == 0:
        resource.setrlimit(name, (most, most))
        try:
            Bundle.load(PATH, threads=4).synthesize(phonemes="abc")
            os._exit(0)
        except BaseException as error:
            os._exit(getattr(error, "exit_code", 99))
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
lowest = os.dup(0)
os.close(lowest)
result = [
    sorted({limited(resource.RLIMIT_NOFILE, lowest + room) for room in range(30)}),
    sorted({limited(resource.RLIMIT_AS, status("VmSize") + (room << 20)) for room in range(0, 400, 10)}),
]
""",
    )
    assert kinds == [[0, MachineError.exit_code]] * 2
