"""Input that the runtime does not speak is refused by type, and the process goes on."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from exporter.bundle.write import write_bundle
from runtime_min.errors import (
    BlendError,
    BundlePickleError,
    ClosedBundleError,
    EmptyInputError,
    LibraryLoadError,
    MissingStagesError,
    PauseError,
    SeedError,
    SpeedError,
    SpokenTypeError,
    TensorInputError,
    ThreadsError,
    TooManyPhonemesError,
    TvmVersionError,
    UnknownPhonemesError,
    UnknownVoiceError,
    UtteranceTooLongError,
    VoiceArrayError,
)
from runtime_min.format.manifest import CpuLevel
from tests.support.tiny.bundle import contents, dummy_contents_on, with_entries, with_levels
from tests.support.tiny.runtime_alone import run_alone


@pytest.fixture(scope="module")
def bundle(speaking_bundle: Path) -> Path:
    return speaking_bundle


REFUSALS = [
    ("spoken.synthesize(phonemes='')", EmptyInputError),
    ("spoken.synthesize(phonemes='abX')", UnknownPhonemesError),
    ("spoken.trace('a' * 21)", TooManyPhonemesError),
    ("spoken.synthesize(phonemes='abc ' * 40 + 'X')", UnknownPhonemesError),
    ("spoken.synthesize(phonemes=[Word('Abc', 'abX')])", UnknownPhonemesError),
    ("spoken.synthesize('Text', g2p=lambda text: 'abX')", UnknownPhonemesError),
    ("spoken.synthesize('Text', g2p=lambda text: None)", SpokenTypeError),
    ("spoken.synthesize(phonemes=7)", SpokenTypeError),
    ("spoken.synthesize(phonemes=[])", EmptyInputError),
    ("spoken.synthesize(phonemes=[Segment('abc'), Segment('abc', speed=9)])", SpeedError),
    ("spoken.synthesize(phonemes=[Segment('abc'), Segment('abc', voice='af_hart')])", UnknownVoiceError),
    ("spoken.synthesize(phonemes='abc', voice='af_heart*-1')", BlendError),
    ("spoken.synthesize(phonemes='abc', voice=np.zeros((1, 5)))", VoiceArrayError),
    ("spoken.synthesize(phonemes='abc', sentence_pause=-1)", PauseError),
    ("spoken.synthesize(phonemes='abc', clause_pause=float('nan'))", PauseError),
    ("spoken.stream(phonemes='abc', seed=-1)", SeedError),
    ("spoken.stream(phonemes='abX')", UnknownPhonemesError),
    ("spoken.stream(phonemes='')", EmptyInputError),
    ("copy.deepcopy(spoken)", BundlePickleError),
    ("pickle.dumps(spoken)", BundlePickleError),
    ("spoken.synthesize(phonemes='abc', voice='af_hart')", UnknownVoiceError),
    ("spoken.synthesize(phonemes='abc', speed=float('nan'))", SpeedError),
    ("spoken.trace('abc' * 6, speed=0.25)", UtteranceTooLongError),
    ("spoken.trace('abc', durations=np.array([1, 2, 3, 4]))", TensorInputError),
    ("spoken.trace('abc', durations=np.array([1, 2, 3, 4, 0]))", TensorInputError),
    ("spoken.trace('abc', durations=[1, 2, 3, 4, 5])", TensorInputError),
    ("spoken.trace('abc', durations=np.array([2**62, 2**62, 1, 1, 1]))", UtteranceTooLongError),
    ("spoken.trace('abc', durations=np.array([2**62, 2**62, 2**62, 2**62, 1]))", UtteranceTooLongError),
    ("spoken.trace(7)", SpokenTypeError),
    ("spoken.trace('abc', noise=[0.0])", TensorInputError),
    ("spoken.trace('abc', noise=np.zeros((1, 600), np.float32))", TensorInputError),
    ("spoken.trace('abc', noise=np.zeros(600, np.float32))", TensorInputError),
    ("spoken.trace('abcabcabc', buckets={'bert': 8})", TensorInputError),
    ("spoken.trace('abc', buckets={'bert': 9})", TensorInputError),
    ("spoken.trace('abc', buckets={'bert': 10**5000})", TensorInputError),
    ("spoken.stage('bert').run({'token_ids': np.zeros((1, 2), np.int64)})", TensorInputError),
    ("spoken.stage('bert').run({'token_ids': np.zeros((1, 23), np.int64)})", TensorInputError),
    ("spoken.stage('bert').run({'token_ids': np.zeros((1, 5), np.int32)})", TensorInputError),
    ("spoken.stage('bert').run({'token_ids': np.zeros(5, np.int64)})", TensorInputError),
    ("spoken.stage('bert').run({'ids': np.zeros((1, 5), np.int64)})", TensorInputError),
    ("spoken.stage('bert').run({'token_ids': [[1, 2, 3]]})", TensorInputError),
    ("spoken.stage('bert').run({'token_ids': np.full((1, 5), 5)})", TensorInputError),
    ("spoken.stage('bert').run({'token_ids': np.full((1, 5), -(2**63))})", TensorInputError),
    ("spoken.synthesize(phonemes='abc', voice=np.full(4, 1e300))", VoiceArrayError),
    ("spoken.synthesize(phonemes='abc', speed=10**5000)", SpeedError),
    ("spoken.synthesize(phonemes='abc', seed=-(10**5000))", SeedError),
    ("spoken.synthesize(phonemes='abc', sentence_pause=10**5000)", PauseError),
    ("Bundle.load(sys.argv[1], threads=10**5000)", ThreadsError),
    ("spoken.stage('vocoder')", MissingStagesError),
    ("Bundle.load(sys.argv[1], threads=0)", ThreadsError),
    ("Bundle.load(sys.argv[1], threads=2.0)", ThreadsError),
    ("closed.synthesize(phonemes='abc')", ClosedBundleError),
    ("closed.stream(phonemes='abc')", ClosedBundleError),
    ("list(closing_stream)", ClosedBundleError),
]


@pytest.fixture(scope="module")
def refusals(bundle: Path) -> list[list[str]]:
    """Class and message of every refusal, all from one process that goes on after each."""
    found: list[list[str]] = run_alone(
        bundle,
        f"""
        import copy, pickle
        import numpy as np
        from runtime_min import Bundle, KokoroError, Segment, Word

        spoken = Bundle.load(sys.argv[1])
        with Bundle.load(sys.argv[1]) as closed:
            before = closed.synthesize(phonemes="abc").samples.tobytes()
            closing_stream = closed.stream(phonemes="abc " * 40)
            next(closing_stream)
        result = []
        for call in {[call for call, _ in REFUSALS]!r}:
            try:
                eval(call)
                result.append(["accepted", ""])
            except KokoroError as error:
                result.append([type(error).__name__, str(error)])
        assert spoken.synthesize(phonemes="abc").samples.tobytes() == before
        """,
    )
    return found


@pytest.mark.parametrize(("call", "error"), REFUSALS, ids=[call for call, _ in REFUSALS])
def test_wrong_input_is_refused_by_type_and_the_bundle_goes_on(
    refusals: list[list[str]], call: str, error: type[Exception]
) -> None:
    name, message = refusals[[known for known, _ in REFUSALS].index(call)]
    assert name == error.__name__, message
    assert len(message) > 10


@pytest.mark.parametrize("pool", ["multiprocessing.Pool(1)", "ProcessPoolExecutor(1)"])
def test_a_refusal_in_a_worker_of_a_pool_reaches_its_parent(bundle: Path, pool: str) -> None:
    assert run_alone(
        bundle,
        f"""
        import multiprocessing
        from concurrent.futures import ProcessPoolExecutor
        from runtime_min import Bundle, KokoroError

        def speak(phonemes):
            with Bundle.load(sys.argv[1]) as bundle:
                return len(bundle.synthesize(phonemes=phonemes).samples)

        multiprocessing.set_start_method("fork")
        result = []
        with {pool} as pool:
            for phonemes in ("abX", "abc"):
                try:
                    result.append(list(pool.map(speak, [phonemes]))[0] > 0)
                except KokoroError as error:
                    result.append([type(error).__name__, sorted(error.positions)])
        """,
    ) == [["UnknownPhonemesError", ["X"]], True]


@pytest.mark.parametrize(
    ("error", "advice"),
    [
        (UtteranceTooLongError, "the bundle holds 100 (2.5 s): raise the speed"),
        (UnknownVoiceError, "Did you mean af_heart"),
    ],
)
def test_the_message_says_what_to_do(refusals: list[list[str]], error: type[Exception], advice: str) -> None:
    assert advice in next(message for name, message in refusals if name == error.__name__)


def load_error(bundle: Path, **options: Any) -> list[str]:
    found: list[str] = run_alone(
        bundle,
        f"""
        from runtime_min import Bundle, KokoroError
        try:
            Bundle.load(sys.argv[1], **{options!r}).synthesize(phonemes="abc")
            result = ["spoke", ""]
        except KokoroError as error:
            result = [type(error).__name__, str(error)]
        """,
    )
    return found


def test_a_partial_bundle_runs_its_stage_and_says_what_it_lacks(
    libraries: dict[str, Path], runtime_library: Path, tmp_path: Path
) -> None:
    some = {name: path for name, path in libraries.items() if name in ("bert", "decoder")}
    bundle = write_bundle(tmp_path / "bundle", contents(some, runtime_library))
    name, message = load_error(bundle)
    assert name == MissingStagesError.__name__
    assert "the stages bert, decoder; it lacks duration, text_encoder, f0n" in message
    assert run_alone(
        bundle,
        """
        import numpy as np
        from runtime_min import Bundle
        bundle = Bundle.load(sys.argv[1])
        result = [bundle.max_phonemes, *bundle.stage("bert").run({"token_ids": np.zeros((1, 5), np.int64)})]
        """,
    ) == [20, "hidden"]


UNLOADABLE: dict[str, tuple[dict[str, str], type[Exception], str]] = {
    "a library that is none": ({"bert": "broken"}, LibraryLoadError, "bert-8.so"),
    "a runtime that is none": (
        {"runtime": "broken"},
        LibraryLoadError,
        "libtvm_runtime.so could not be loaded",
    ),
    **{
        f"tvm_ffi {version}": ({"tvm_ffi": version}, TvmVersionError, rf"{re.escape(version)}.*pip install")
        for version in ("0.2.0", "0.1.99", "1.0.0")
    },
}


@pytest.mark.parametrize("name", UNLOADABLE)
def test_what_cannot_be_loaded_is_a_typed_error(
    libraries: dict[str, Path], runtime_library: Path, tmp_path: Path, name: str
) -> None:
    change, error, expected = UNLOADABLE[name]
    broken = tmp_path / "libtvm_runtime.so"
    broken.write_bytes(b"not a library")
    made = contents(
        {**libraries, "bert": broken} if "bert" in change else libraries,
        broken if "runtime" in change else runtime_library,
    )
    if "tvm_ffi" in change:
        made = with_entries(made, versions=made.manifest.versions._replace(**change))
    found, message = load_error(write_bundle(tmp_path / "bundle", made))
    assert found == error.__name__
    assert re.search(expected, message)


@pytest.mark.parametrize(("runtimes_end", "expected"), [(b"\0", TvmVersionError.__name__), (b"", "loaded")])
def test_a_runtime_of_another_version_in_the_process_is_refused_unless_it_is_the_same_file(
    libraries: dict[str, Path], runtime_library: Path, tmp_path: Path, runtimes_end: bytes, expected: str
) -> None:
    """Otherwise a manifest that lies about its version would shut out every sound bundle after it."""
    liar, runtime = tmp_path / "liar", tmp_path / runtime_library.name
    runtime.write_bytes(runtime_library.read_bytes() + runtimes_end)
    made = contents(libraries, runtime_library)
    write_bundle(liar, with_entries(made, versions=made.manifest.versions._replace(tvm="0.28.0")))
    found = run_alone(
        write_bundle(tmp_path / "sound", contents(libraries, runtime)),
        f"""
        from runtime_min import Bundle, KokoroError
        first = Bundle.load({str(liar)!r})
        try:
            Bundle.load(sys.argv[1]).synthesize(phonemes="abc")
            result = "loaded"
        except KokoroError as error:
            result = type(error).__name__
        assert len(first.synthesize(phonemes="abc").samples)
        """,
    )
    assert found == expected


def test_a_stages_library_that_is_another_build_of_the_runtime_is_not_loaded(
    libraries: dict[str, Path], runtime_library: Path, tmp_path: Path
) -> None:
    """No digest shows that, and registering TVM's functions twice would end the process."""
    build = tmp_path / "bert.so"
    build.write_bytes(runtime_library.read_bytes() + b"\0")
    bundle = write_bundle(tmp_path / "bundle", contents({**libraries, "bert": build}, runtime_library))
    message = run_alone(
        bundle,
        """
        from runtime_min import Bundle
        from runtime_min.errors import LibraryLoadError
        try:
            Bundle.load(sys.argv[1]).synthesize(phonemes="abc")
        except LibraryLoadError as error:
            result = str(error)
        """,
    )
    assert "bert-8.so is not the kind of library that the manifest lists it as" in message


def test_a_bundle_without_a_runtime_in_a_process_without_one_says_who_brings_it(tmp_path: Path) -> None:
    made = with_entries(dummy_contents_on("cuda", tmp_path), runtime_library="", device_libraries={})
    message = run_alone(
        write_bundle(tmp_path / "bundle", made),
        """
        from runtime_min import Bundle
        from runtime_min.errors import InstallationError
        try:
            Bundle.load(sys.argv[1])
        except InstallationError as error:
            result = str(error)
        """,
    )
    assert "expected the app to load one of version" in message


def test_a_level_is_chosen_at_load(libraries: dict[str, Path], runtime_library: Path, tmp_path: Path) -> None:
    levels = (CpuLevel("future", ("telepathy",)), CpuLevel("today", ()), CpuLevel("old", ()))
    made = with_levels(contents(libraries, runtime_library), levels)
    bundle = write_bundle(tmp_path / "bundle", made)
    script = """
    from runtime_min import Bundle
    bundle = Bundle.load(sys.argv[1], level=LEVEL)
    bundle.synthesize(phonemes="abc")
    loaded = {line.split("/")[-2] for line in open("/proc/self/maps") if "bert-8" in line}
    result = [bundle.level.name, *loaded]
    """
    assert run_alone(bundle, script.replace("LEVEL", "None")) == ["today", "today"]
    assert run_alone(bundle, script.replace("LEVEL", "'old'")) == ["old", "old"]
    assert load_error(bundle, level="future")[0] == "CpuLevelError"
