"""Stages on another device than the CPU: a tiny bundle speaks through a device that the CPU plays."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from exporter.bundle.write import write_bundle
from runtime_min import Bundle
from runtime_min.engine.devices import load_devices
from runtime_min.errors import DeviceError, PlatformError
from runtime_min.format.manifest import Target
from runtime_min.format.verify import read_manifest
from tests.support.paths import ROOT
from tests.support.tiny.bundle import contents, dummy_contents_on, with_entries
from tests.support.tiny.runtime_alone import assert_speaks_as_the_format_specifies, run_alone


@pytest.fixture
def bundle(device_bundle: Path) -> Path:
    return device_bundle


def failing(bundle: Path, device_library: Path, place: Path) -> str:
    """The error of loading the bundle with another library for its device."""
    manifest = read_manifest(bundle)
    files = {stage.name: bundle / stage.libraries[0].file for stage in manifest.stages}
    devices = {stage.name: stage.device for stage in manifest.stages}
    made = contents(files, bundle / manifest.runtime_library, {"metal": device_library}, devices)
    message: str = run_alone(
        write_bundle(place / "bundle", made),
        """
        from runtime_min import Bundle
        from runtime_min.errors import DeviceError
        try:
            Bundle.load(sys.argv[1])
            result = "loaded"
        except DeviceError as error:
            result = str(error)
        """,
    )
    return message


def test_the_chain_computes_the_same_on_a_device(bundle: Path) -> None:
    assert_speaks_as_the_format_specifies(bundle)


def test_tensors_move_only_where_the_device_changes_and_parameters_once(bundle: Path) -> None:
    moves = run_alone(
        bundle,
        """
        from runtime_min import Bundle
        from runtime_min.engine import devices
        made = []
        move = devices.Device._move
        def counted(device, source, destination):
            made.append(sorted((str(source.device), str(destination.device))) + [list(source.shape)])
            move(device, source, destination)
        devices.Device._move = counted
        spoken = Bundle.load(sys.argv[1])
        loaded, made[:] = made[:], []
        trace = spoken.trace("abc")
        first, made[:] = made[:], []
        spoken.trace("abc")
        result = dict(
            loaded=loaded,
            first=first,
            second=made,
            shapes=[list(value.shape) for value in (
                trace.hidden, trace.style.prosody, trace.encoding, trace.predicted_durations,
                trace.token_ids, trace.text,
                trace.asr, trace.f0, trace.energy, trace.style.decoder, trace.spectrum, trace.audio,
            )],
        )
        """,
    )
    # The parameters of duration, text_encoder and decoder.
    assert [shape for _, _, shape in moves["loaded"]] == [[5, 4], [5], [5, 4], [1], [2, 1]]
    # Inputs and outputs of the same stages; bert, f0n and source move nothing.
    assert [shape for _, _, shape in moves["first"]] == moves["shapes"]
    assert moves["second"] == moves["first"]
    ends = {tuple(move[:2]) for phase in ("loaded", "first") for move in moves[phase]}
    assert ends == {("cpu:0", "metal:0")}


def test_every_bucket_and_number_of_threads_gives_the_same_bits_from_several_threads(bundle: Path) -> None:
    count = run_alone(
        bundle,
        """
        from concurrent.futures import ThreadPoolExecutor
        from runtime_min import Bundle
        sounds = []
        for threads in (1, 2):
            with Bundle.load(sys.argv[1], threads=threads) as bundle:
                for frames in (40, 100):
                    buckets = dict.fromkeys(("f0n", "source", "decoder"), frames)
                    sounds.append(bundle.trace("abc", speed=2.0, buckets=buckets).audio.tobytes())
                with ThreadPoolExecutor(4) as pool:
                    how = dict(speed=2.0, stretch=False)
                    spoken = pool.map(lambda _: bundle.synthesize(phonemes="abc", **how), range(8))
                    sounds.extend(audio.samples.tobytes() for audio in spoken)
        result = len(set(sounds))
        """,
    )
    assert count == 1


def test_replaced_parameters_are_moved_and_instruments_refused(bundle: Path) -> None:
    result = run_alone(
        bundle,
        """
        import numpy as np
        from runtime_min import Bundle
        from runtime_min.errors import DeviceError
        stage = Bundle.load(sys.argv[1]).stage("text_encoder")
        tokens = np.array([[0, 1, 2, 3, 0]])
        plain, = stage.run(dict(token_ids=tokens)).values()
        name, = stage.stage.parameters
        zero, = stage.run(dict(token_ids=tokens), parameters={name: np.zeros((5, 4), np.float32)}).values()
        try:
            stage.run(dict(token_ids=tokens), instrument=print)
            message = "instrumented"
        except DeviceError as error:
            message = str(error)
        result = dict(plain=float(abs(plain).max()), zero=float(abs(zero).max()), message=message)
        """,
    )
    assert result["plain"] > 0 == result["zero"]
    assert result["message"].startswith("The stage 'text_encoder' computes on metal, and instruments")


def test_a_device_whose_runtime_cannot_be_used_is_an_error_that_names_the_way_out(
    bundle: Path, runtime_library: Path, tmp_path: Path
) -> None:
    broken = tmp_path / "libtvm_runtime_metal.so"
    broken.write_bytes(b"not a library")
    message = failing(bundle, broken, tmp_path / "broken")
    assert message.startswith(
        "This bundle computes duration, text_encoder, decoder on metal, and its runtime could not be loaded ("
    )
    assert "expected a GPU that macOS uses by Metal" in message
    assert message.endswith("which computes on the CPU.")
    for name, content in {"another": bundle / "lib/baseline/bert-8.so", "second": runtime_library}.items():
        copied = tmp_path / f"{name}.so"
        copied.write_bytes(content.read_bytes() + b"\0")
        assert "is not the kind of library" in failing(bundle, copied, tmp_path / name)
    empty = tmp_path / "empty.so"
    subprocess.run(["cc", "-shared", "-xc", os.devnull, "-o", empty], check=True)
    message = failing(bundle, empty, tmp_path / "no runtime")
    assert "on metal, and TVM has no runtime for it: expected" in message


def test_cudas_own_library_is_found_in_its_package(tmp_path: Path) -> None:
    library = tmp_path / "nvidia" / "cu13" / "lib" / "libcudart.so.13"
    library.parent.mkdir(parents=True)
    subprocess.run(["cc", "-shared", "-xc", os.devnull, "-o", library], check=True)
    program = (
        "from runtime_min.engine import devices; devices._load_cudart();print(open('/proc/self/maps').read())"
    )
    environment = {**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{tmp_path}"}
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert str(library) in done.stdout


def test_where_libraries_are_copied_they_find_each_other_by_their_place(tmp_path: Path) -> None:
    first, second = tmp_path / "first.so", tmp_path / "second.so"
    compiler = ("cc", "-shared", "-nostdlib", "-Wl,-rpath,$ORIGIN", "-xc")
    subprocess.run([*compiler, "-", "-o", first], input=b"int seven(void) { return 7; }", check=True)
    calling = b"int seven(void); int eight(void) { return seven() + 1; }"
    # Without a name of its own, the first is known by its path alone.
    needing = (*compiler, "-", "-xnone", f"-L{tmp_path}", "-l:first.so", "-o")
    subprocess.run([*needing, second], input=calling, check=True)
    first, second = first.rename(tmp_path / "first"), second.rename(tmp_path / "second")
    program = f"""
import ctypes, os
from pathlib import Path
from runtime_min.engine import sealed_library
del os.memfd_create
paths = []
for name in ("first", "first", "second"):
    content = Path({str(tmp_path)!r}, name).read_bytes()
    with sealed_library.library_file(f"lib/{{name}}.so", [content], kept=True) as path:
        library = ctypes.CDLL(path)
        paths.append(path)
assert library.eight() == 8
print(Path(paths[0]).parent)
"""
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert not Path(done.stdout.strip()).exists()


def test_a_missing_device_is_an_error_that_says_what_is_expected(tmp_path: Path) -> None:
    manifest = read_manifest(write_bundle(tmp_path / "bundle", dummy_contents_on("cuda", tmp_path)))
    target = Target("cuda-linux", "x86_64-linux-gnu", "linux", "x86_64", "glibc 2.28", manifest.target.levels)
    asked: list[tuple[Any, ...]] = []

    def attribute(*arguments: Any) -> int:
        asked.append(arguments)
        return 0

    registered = {"device_api.cuda": object(), "runtime.GetDeviceAttr": attribute}
    tvm_ffi = SimpleNamespace(get_global_func=lambda name, allow_missing=False: registered.get(name))
    files: Any = None
    with pytest.raises(
        DeviceError,
        match=r"computes decoder on cuda, and no such device was found: expected a GPU with NVIDIA's driver "
        r".* export a bundle for linux-x86_64, which computes on the CPU",
    ):
        load_devices(tvm_ffi, files, manifest._replace(target=target))
    assert asked == [(2, 0, 0)]


def test_a_bundle_on_the_wrong_machine_says_whose_it_is(tmp_path: Path) -> None:
    made = dummy_contents_on("metal", tmp_path)
    target = Target(
        "metal-macos", "arm64-apple-macos13.0", "macos", "arm64", "macos 13.0", made.manifest.target.levels
    )
    bundle = write_bundle(tmp_path / "bundle", with_entries(made, target=target))
    with pytest.raises(PlatformError, match=r"metal-macos.*this machine") as caught:
        Bundle.load(bundle)
    assert str(caught.value).count(". ") == 0
