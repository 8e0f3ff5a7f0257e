"""The C library for macOS speaks under emulation, with a loader and a C library in the place of macOS's."""

from __future__ import annotations

import re
import shutil
import signal
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from exporter.bundle.write import BundleContents, write_bundle
from exporter.compiler.targets import Target, find_target
from exporter.export.runtime_wheel import runtime_libraries
from exporter.native.build import build_library, library_name
from exporter.parity.thresholds import ALLOWANCES
from exporter.text.files import text_files
from runtime_min.model.distances import relative_rms
from tests.support.emulation import bundle_server
from tests.support.emulation.machine import EmulatedMachine
from tests.support.emulation.macos import Mac, build_dylib, made_mac
from tests.support.emulation.speaking import PROGRAM, REFUSED, REQUESTS, Request, spoken_here
from tests.support.native.file_checks import check_mach_o
from tests.support.paths import ROOT
from tests.support.tiny.convolved import contents_with_arithmetic
from tests.support.tiny.model import contents_with_levels

pytestmark = pytest.mark.machines

MACOS, LINUX, ARM = map(find_target, ("macos-arm64", "linux-x86_64", "linux-aarch64"))
(HALVES,) = MACOS.arithmetic_levels
(FEATURE,) = HALVES.features
UNSTRETCHED = [
    Request("phonemes", voice, 1.0, seed, phonemes)
    for voice, seed, phonemes in (("af_heart", 3, "a"), ("am_adam", 5, "abca bacba abc"))
]
"""What another speed stretches is cut where it fits best, and the least difference may move a cut."""
UNPROVIDED = {
    *(
        "dyld_stub_binder",
        "_catclose",
        "_catgets",
        "_catopen",
        "_fputwc",
        "_getwc",
        "_mbrlen_l",
        "_mbrtowc_l",
    ),
    *("_mbsnrtowcs_l", "_mbsrtowcs_l", "_ungetwc", "_wcrtomb_l", "_wcsnrtombs_l"),
}
"""Functions that the library names and the stand-in lacks: whatever calls one ends the process. They are that
of late binding, and those of wide characters, which C++'s streams may call."""


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("native") / library_name(MACOS)
    build_library(MACOS, path)
    return path


@pytest.fixture(scope="module")
def mac(library: Path, aarch64: EmulatedMachine, tmp_path_factory: pytest.TempPathFactory) -> Mac:
    return made_mac(aarch64, library, tmp_path_factory.mktemp("mac"))


def tiny_bundle(
    place: Path, target: Target, contents: Callable[..., BundleContents] = contents_with_levels
) -> Path:
    place.mkdir()
    runtime = next(iter(runtime_libraries(target).values()))
    return write_bundle(place / "bundle", contents(place, target, runtime))


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_bundle(tmp_path_factory.mktemp("tiny") / "macos", MACOS)


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same bundle for this machine."""
    return tiny_bundle(tmp_path_factory.mktemp("tiny") / "here", LINUX)


@pytest.fixture(scope="module")
def expected(here: Path) -> list[bytes]:
    """Samples of `REQUESTS`, from Python on this machine."""
    return spoken_here(here, REQUESTS)


def test_it_needs_the_system_of_the_target_alone_and_is_the_same_again(library: Path, tmp_path: Path) -> None:
    check_mach_o(library, MACOS)
    build_library(MACOS, tmp_path / library.name)
    assert (tmp_path / library.name).read_bytes() == library.read_bytes()


def test_the_stand_in_does_as_the_headers_of_macos_say(mac: Mac) -> None:
    probe = mac.with_program(
        PROGRAM.with_name("darwin_probe.cpp"), mac.program.with_name(library_name(MACOS))
    )
    done = probe.run()
    assert done.returncode == 0 and not done.stderr, done.stderr.decode()


def test_all_that_it_names_has_a_stand_in_but_what_is_never_called(mac: Mac, bundle: Path) -> None:
    done = mac.start(bundle, REQUESTS[:1], UNPROVIDED="yes")
    assert done.returncode == 0
    assert set(re.findall("^not provided: (.*)$", done.stderr.decode(), re.MULTILINE)) == UNPROVIDED


@pytest.mark.parametrize("threads", [1, 3])
def test_samples_are_those_of_python_on_this_machine_to_the_bit(
    mac: Mac, bundle: Path, expected: list[bytes], threads: int
) -> None:
    assert mac.speak(bundle, REQUESTS, threads) == expected


def test_stages_find_the_library_where_a_program_hides_it(
    mac: Mac, bundle: Path, expected: list[bytes]
) -> None:
    """Python, Node and Java open it so (RTLD_LOCAL)."""
    assert mac.speak(bundle, REQUESTS, 1, LOCAL="yes") == expected


def test_another_c_plus_plus_library_of_the_process_is_not_asked(
    mac: Mac, bundle: Path, expected: list[bytes]
) -> None:
    """macOS gives all libraries the first of equal weak symbols, and its own C++ library has some of ours."""
    folder = mac.program.parent / "beside"
    folder.mkdir()
    other = build_dylib(PROGRAM.with_name("other_cxx.c"), folder)
    library = Path(shutil.copy(mac.program.with_name(library_name(MACOS)), folder))
    assert mac.with_program(PROGRAM, library, other).speak(bundle, REQUESTS) == expected


def test_an_app_may_take_subnormal_numbers_for_zeros(mac: Mac, bundle: Path, expected: list[bytes]) -> None:
    """The program ends with another status if its own mode is not there again after each call."""
    assert mac.speak(bundle, REQUESTS, 2, FLUSH_SUBNORMALS="yes") == expected


@pytest.mark.parametrize(("request_", "message"), REFUSED)
def test_errors_of_the_input_are_messages(mac: Mac, bundle: Path, request_: Request, message: str) -> None:
    done = mac.start(bundle, [request_])
    assert done.returncode == 1 and message in done.stderr.decode()


def test_a_changed_library_is_refused(mac: Mac, bundle: Path, tmp_path: Path) -> None:
    assert mac.refuses_a_changed_library(bundle, tmp_path / "copy")


@pytest.mark.parametrize("version", ["12.7.6", "10.16"])
def test_an_older_macos_is_refused(mac: Mac, bundle: Path, version: str) -> None:
    done = mac.start(bundle, REQUESTS, MACOS=version)
    assert done.returncode == 1
    expected = f"This bundle is for here with macos 13.0 or newer and this machine has macos {version}: "
    assert done.stderr.decode().startswith(expected)


@pytest.mark.parametrize("version", ["13.0.1", "26.1"])
def test_a_newer_macos_will_do(mac: Mac, bundle: Path, version: str) -> None:
    assert mac.start(bundle, REQUESTS[:1], MACOS=version).returncode == 0


def test_a_bundle_for_another_system_is_refused(mac: Mac, here: Path) -> None:
    done = mac.start(here, REQUESTS)
    assert done.returncode == 1
    assert "(linux on x86_64) and this machine is macos on arm64: export a bundle" in done.stderr.decode()


def test_a_place_without_a_bundle_is_refused(mac: Mac, tmp_path: Path) -> None:
    done = mac.start(tmp_path / "missing", REQUESTS)
    assert done.returncode == 1 and "missing" in done.stderr.decode()


@pytest.fixture(scope="module")
def rounding(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A bundle with a level of bfloat16."""
    return tiny_bundle(tmp_path_factory.mktemp("rounding") / "macos", MACOS, contents_with_arithmetic)


@pytest.fixture(scope="module")
def rounded_by_linux(
    aarch64: EmulatedMachine, tmp_path_factory: pytest.TempPathFactory
) -> Callable[[str], list[bytes]]:
    """Samples of `UNSTRETCHED` in an arithmetic from the same model for Linux, on the same processor."""
    bundle = tiny_bundle(tmp_path_factory.mktemp("rounding") / "linux", ARM, contents_with_arithmetic)
    (level,) = ARM.arithmetic_levels
    asked = [
        {"phonemes": each.input, "voice": each.voice, "speed": each.speed, "seed": each.seed}
        for each in UNSTRETCHED
    ]

    def spoken(arithmetic: str) -> list[bytes]:
        given = (bundle, arithmetic, *level.features)
        with aarch64.serving(Path(bundle_server.__file__), *given) as ask:
            expected = level if arithmetic == level.arithmetic else ARM.levels[0]
            assert ask((None, "level", (), {})) == expected.name
            return [ask((None, "synthesize", (), options)).samples.tobytes() for options in asked]

    return spoken


def level_of(mac: Mac, bundle: Path, **variables: str) -> str:
    """The name of the CPU level that the C library takes for bfloat16."""
    done = mac.start(bundle, [], ARITHMETIC="bfloat16", **variables)
    assert done.returncode == 0
    return done.stderr.decode().strip()


def test_products_of_bfloat16_have_the_bits_of_linux_on_the_same_processor(
    mac: Mac, rounding: Path, rounded_by_linux: Callable[[str], list[bytes]]
) -> None:
    variables = {"ARITHMETIC": "bfloat16", "FEATURE": FEATURE}
    assert level_of(mac, rounding, FEATURE=FEATURE) == HALVES.name
    found = mac.speak(rounding, UNSTRETCHED, **variables)
    assert found == mac.speak(rounding, UNSTRETCHED, 3, **variables) == rounded_by_linux("bfloat16")
    exact = mac.speak(rounding, UNSTRETCHED, FEATURE=FEATURE)
    assert exact == rounded_by_linux("float32")
    for one, other in zip(found, exact, strict=True):
        samples, expected = (np.frombuffer(each, np.float32) for each in (one, other))
        assert 0 < relative_rms(samples, expected) < ALLOWANCES[HALVES.arithmetic].rms


@pytest.mark.parametrize("variables", [{}, {"FEATURE": "FEAT_I8MM"}], ids=["an M1", "another feature"])
def test_a_mac_without_them_speaks_in_float32(mac: Mac, rounding: Path, variables: dict[str, str]) -> None:
    assert level_of(mac, rounding, **variables) == HALVES.base
    found = mac.speak(rounding, REQUESTS, ARITHMETIC="bfloat16", **variables)
    assert found == mac.speak(rounding, REQUESTS)


@pytest.fixture(scope="module")
def lifetimes(mac: Mac) -> Mac:
    library = mac.program.with_name(library_name(MACOS))
    return mac.with_program(ROOT / "tests" / "runtime_native" / "lifetimes.cpp", library)


@pytest.fixture(scope="module")
def reading(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A bundle with the data for text."""
    place = tmp_path_factory.mktemp("reading")
    runtime = next(iter(runtime_libraries(MACOS).values()))
    return write_bundle(
        place / "bundle", contents_with_levels(place, MACOS, runtime).extended(text_files(()))
    )


@pytest.mark.parametrize(
    "scenario",
    ["free", "wait", "callbacks", "each_other", "cancel", "exit", "exit_in_callback", "return"],
)
def test_bundles_and_processes_end_while_threads_speak(lifetimes: Mac, reading: Path, scenario: str) -> None:
    """The program's `fork` is left out: one child in some 4,000 hangs here, and the cause was not found."""
    done = lifetimes.run(scenario, reading)
    assert done.returncode == 0, done.stderr.decode()


def test_an_exception_of_a_callback_ends_the_process(lifetimes: Mac, reading: Path) -> None:
    done = lifetimes.run("throw", reading)
    assert done.returncode == -signal.SIGABRT and "uncaught exception" in done.stderr.decode()
