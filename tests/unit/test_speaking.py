"""The runtime speaks from a compiled bundle, in processes that have the runtime alone."""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import subprocess
import sys
import textwrap
import wave
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from exporter.bundle import write_bundle
from runtime_min.errors import (
    BlendError,
    BundleError,
    ClosedBundleError,
    EmptyInputError,
    ForkError,
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
from runtime_min.manifest import CpuLevel
from runtime_min.noise import gaussian_noise
from tests.unit.tiny_bundle import VOCABULARY, contents, voices, with_levels
from tests.unit.tiny_model import reference

ROOT = Path(__file__).parents[2]
SUFFIX = ".so"


def compiled_libraries(directory: Path) -> dict[str, Path]:
    subprocess.run([sys.executable, "-m", "tests.unit.tiny_model", str(directory)], check=True, cwd=ROOT)
    return {path.stem: path for path in directory.glob(f"*{SUFFIX}")}


@pytest.fixture(scope="module")
def libraries(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    return compiled_libraries(tmp_path_factory.mktemp("libraries"))


@pytest.fixture(scope="module")
def runtime_library() -> Path:
    spec = importlib.util.find_spec("tvm")
    assert spec is not None and spec.origin is not None
    return Path(spec.origin).parent / "lib" / "libtvm_runtime.so"


@pytest.fixture(scope="module")
def bundle(
    libraries: dict[str, Path], runtime_library: Path, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    place = tmp_path_factory.mktemp("speaking") / "bundle"
    return write_bundle(place, contents(libraries, runtime_library))


def environment(**changes: str | None) -> dict[str, str]:
    """This process's environment without what decides about threads."""
    base = {key: value for key, value in os.environ.items() if not key.startswith(("TVM_", "OMP_"))}
    return {**base, **{key: value for key, value in changes.items() if value is not None}}


def run_alone(bundle: Path, script: str, **changes: str) -> Any:
    """Runs `script` on the bundle's own copy of the runtime and returns its variable `result`."""
    program = textwrap.dedent(script) + "\nimport json; print('RESULT' + json.dumps(result))\n"
    done = subprocess.run(
        [
            sys.executable,
            "-c",
            f"import sys; sys.path[0] = sys.argv[1] + '/runtime_min.pyz'\n{program}",
            bundle,
        ],
        env=environment(**changes),
        cwd=bundle.parent,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.rpartition("RESULT")[2])


def expected(phonemes: str, voice: str, speed: float, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Durations and samples as numpy computes them."""
    tokens = np.array([0, *(VOCABULARY[phoneme] for phoneme in phonemes), 0])
    row = voices()[voice][len(phonemes) - 1]
    return reference(tokens, row, speed, lambda count: gaussian_noise(seed, count))


UTTERANCES = [
    ("a", "af_heart", 1.0, 0),
    ("abc abc", "am_adam", 0.5, 1),
    ("abc abccba", "af_bella", 2.0, (1 << 64) - 1),
    ("abca bacba abc", "af_heart", 4.0, 7),
]


@pytest.fixture(scope="module")
def spoken(bundle: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = run_alone(
        bundle,
        f"""
        from runtime_min import Bundle
        spoken = Bundle.load(sys.argv[1])
        result = []
        for utterance in {UTTERANCES!r}:
            audio = spoken.synthesize(*utterance)
            assert audio.samples.dtype == "float32" and audio.durations.dtype == "int64"
            result.append(dict(
                samples=audio.samples.tolist(), rate=audio.sample_rate, durations=audio.durations.tolist()
            ))
        """,
    )
    return found


@pytest.mark.parametrize("index", range(len(UTTERANCES)))
def test_the_chain_computes_what_the_format_specifies(spoken: list[dict[str, Any]], index: int) -> None:
    durations, samples = expected(*UTTERANCES[index])
    assert spoken[index]["durations"] == durations.tolist()
    assert spoken[index]["rate"] == 24_000
    np.testing.assert_allclose(spoken[index]["samples"], samples, rtol=1e-5, atol=1e-5)


def test_only_the_runtime_is_imported_and_torch_still_can_be(bundle: Path) -> None:
    result = run_alone(
        bundle,
        """
        from runtime_min import Bundle
        Bundle.load(sys.argv[1]).synthesize("abc")
        forbidden = ("torch", "tvm", "msgpack", "kokoro", "exporter")
        imported = [name for name in forbidden if name in sys.modules]
        import torch
        result = dict(imported=imported, sum=float(torch.ones(3).sum()))
        """,
    )
    assert result == {"imported": [], "sum": 3.0}


def test_importing_the_runtime_is_quick_and_loads_no_tvm(bundle: Path) -> None:
    result = run_alone(
        bundle,
        """
        import time
        import numpy
        times = []
        started = time.process_time()
        import runtime_min
        result = dict(seconds=time.process_time() - started, tvm="tvm_ffi" in sys.modules)
        """,
    )
    assert result["seconds"] < 0.2
    assert not result["tvm"]


def test_any_bucket_and_any_number_of_threads_give_the_same_bits(bundle: Path) -> None:
    assert (
        run_alone(
            bundle,
            """
        import numpy as np
        from runtime_min import Bundle
        sounds = []
        for threads in (1, 2, 3):
            bundle = Bundle.load(sys.argv[1], threads=threads)
            for tokens in (8, 22):
                for frames in (40, 100):
                    buckets = dict.fromkeys(("bert", "duration", "text_encoder"), tokens)
                    buckets.update(f0n=frames, decoder=frames)
                    sounds.append(bundle.trace("abc", speed=2.0, buckets=buckets).audio.tobytes())
            sounds.append(bundle.synthesize("abc", speed=2.0).samples.tobytes())
        result = len(set(sounds))
        """,
        )
        == 1
    )


def test_many_threads_may_use_one_bundle(bundle: Path) -> None:
    assert run_alone(
        bundle,
        """
        from concurrent.futures import ThreadPoolExecutor
        from runtime_min import Bundle
        bundle = Bundle.load(sys.argv[1])
        alone = [bundle.synthesize("abc"[: 1 + i % 3], seed=i).samples.tobytes() for i in range(12)]
        with ThreadPoolExecutor(6) as pool:
            together = list(pool.map(
                lambda i: bundle.synthesize("abc"[: 1 + i % 3], seed=i).samples.tobytes(), range(12)
            ))
        result = alone == together
        """,
    )


def test_memory_stays_bounded_over_many_lengths(bundle: Path) -> None:
    """TVM's allocator keeps a block of every size that it has seen, so outputs have one size."""
    grown, outputs = run_alone(
        bundle,
        """
        import resource
        import numpy as np
        from runtime_min import Bundle
        bundle = Bundle.load(sys.argv[1])
        def speak(frames):
            bundle.trace("abcabc", durations=np.array([frames - 7] + [1] * 7))
        speak(100)
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        for frames in range(8, 101):
            speak(frames)
        after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        result = [(after - before) * 1024, sum(2400 * frames for frames in range(8, 101))]
        """,
    )
    assert grown < outputs / 2


def test_two_bundles_in_one_process_speak_on_their_own_threads(bundle: Path) -> None:
    assert run_alone(
        bundle,
        """
        from runtime_min import Bundle
        one, two = Bundle.load(sys.argv[1], threads=1), Bundle.load(sys.argv[1], threads=2)
        same = one.synthesize("abc").samples.tobytes() == two.synthesize("abc").samples.tobytes()
        one.close()
        result = [one.threads, two.threads, same, len(two.synthesize("abc").samples) > 0]
        """,
    ) == [1, 2, True, True]


def test_all_cores_are_used_and_none_is_bound_unless_something_else_is_asked_for(bundle: Path) -> None:
    script = """
    import os
    from runtime_min import Bundle
    cores = os.sched_getaffinity(0)
    bundle = Bundle.load(sys.argv[1], threads=THREADS)
    bundle.synthesize("abc")
    import tvm_ffi
    pool = bundle._worker.call(tvm_ffi.get_global_func("runtime.NumThreads"))
    free = os.sched_getaffinity(0) == bundle._worker.call(os.sched_getaffinity, 0) == cores
    result = [bundle.threads, pool, free]
    """
    cores = len(os.sched_getaffinity(0))
    any_number = script.replace("THREADS", "None")
    assert run_alone(bundle, any_number) == [cores, cores, True]
    assert run_alone(bundle, any_number, OMP_NUM_THREADS="1") == [cores, cores, True]
    assert run_alone(bundle, any_number, TVM_NUM_THREADS="3") == [3, 3, True]
    assert run_alone(bundle, script.replace("THREADS", "1"), TVM_NUM_THREADS="3") == [1, 1, True]
    assert run_alone(bundle, script.replace("THREADS", "5"), TVM_NUM_THREADS="2") == [5, 5, True]


def test_the_parameters_stay_in_the_page_cache(bundle: Path) -> None:
    """Nothing writes to the mapping, so all processes share it."""
    dirty = run_alone(
        bundle,
        """
        from runtime_min import Bundle
        bundle = Bundle.load(sys.argv[1])
        bundle.synthesize("abc")
        result, inside = None, False
        for line in open("/proc/self/smaps"):
            inside = line.rstrip().endswith("parameters.bin") if "-" in line.split()[0] else inside
            if inside and line.startswith("Private_Dirty:"):
                result = int(line.split()[1])
        """,
    )
    assert dirty == 0


def test_a_single_stage_runs_on_arrays_of_ones_own(bundle: Path) -> None:
    assert run_alone(
        bundle,
        """
        import numpy as np
        from runtime_min import Bundle
        stage = Bundle.load(sys.argv[1]).stage("text_encoder")
        ids = np.array([[0, 1, 2, 0, 9]], np.int64)[:, :4]
        outputs = [stage.run({"token_ids": ids}, bucket=bucket)["text"] for bucket in (None, 8, 22)]
        different = {output.tobytes() for output in outputs}
        result = [list(stage.buckets), list(outputs[0].shape), len(different)]
        """,
    ) == [[8, 22], [1, 4, 4], 1]


def test_durations_and_noise_can_be_injected(bundle: Path) -> None:
    assert run_alone(
        bundle,
        """
        import numpy as np
        from runtime_min import Bundle
        bundle = Bundle.load(sys.argv[1])
        durations = np.array([3, 1, 4, 1, 5])
        quiet, plain = np.zeros((1, 600 * 14), np.float32), bundle.trace("abc", durations=durations)
        silent = bundle.trace("abc", durations=durations, noise=quiet)
        result = [
            silent.durations.tolist(),
            silent.audio.shape == (1, 8400),
            bool(np.abs(plain.audio - silent.audio - 0.125 * plain.noise).max() < 1e-5),
            bool((silent.noise == 0).all()),
        ]
        """,
    ) == [[3, 1, 4, 1, 5], True, True, True]


def test_long_input_is_spoken_in_pieces_to_the_bit_on_any_number_of_threads(bundle: Path) -> None:
    assert run_alone(
        bundle,
        """
        from runtime_min import Audio, Bundle, Segment
        text = "abc abca " * 30
        sounds, streams = set(), set()
        for threads in (1, 2, 3):
            bundle = Bundle.load(sys.argv[1], threads=threads)
            options = dict(voice="af_heart+am_adam", speed=2.0, seed=5)
            audio = bundle.synthesize(text, **options)
            pieces = list(bundle.stream(text, **options))
            sounds |= {audio.samples.tobytes(), Audio.join(pieces).samples.tobytes()}
            streams.add(tuple(len(piece.samples) for piece in pieces))
        # At a quarter of the speed a piece exceeds the largest frame bucket and is divided.
        slow = bundle.synthesize(text, speed=0.25)
        two = bundle.synthesize([Segment("abc", "am_adam", 2.0), Segment("abca")])
        result = [len(sounds), len(streams), len(pieces) > 9,
            *("".join(token.text for token in each.tokens) == text for each in (audio, slow)),
            two.phonemes, len(two.durations)]
        """,
    ) == [1, 1, True, True, True, "abcabca", 11]


def test_a_single_piece_is_the_utterance_that_trace_computes(bundle: Path) -> None:
    assert run_alone(
        bundle,
        """
        import numpy as np
        from runtime_min import Bundle
        bundle = Bundle.load(sys.argv[1])
        table = bundle.voice_tables["am_adam"]
        expected = bundle.trace("abc abc", "am_adam", 2.0, 3).audio[0].tobytes()
        voices = ["am_adam", "am_adam*2", ["am_adam"], table, table[:, None], table[6]]
        sounds = {bundle.synthesize("abc abc", voice, 2.0, 3).samples.tobytes() for voice in voices}
        given = bundle.synthesize("Text", "am_adam", 2.0, 3, g2p=lambda text: "abc abc").samples.tobytes()
        result = [sounds == {expected}, given == expected, [voice.sex for voice in bundle.voices]]
        """,
    ) == [True, True, ["female", "female", "male"]]


def test_a_program_that_leaves_a_stream_behind_ends(bundle: Path) -> None:
    assert run_alone(
        bundle,
        """
        from runtime_min import Bundle
        stream = Bundle.load(sys.argv[1]).stream("abc abca " * 300)
        result = len(next(stream).samples) > 0
        """,
    )


REFUSALS = [
    ("spoken.synthesize('')", EmptyInputError),
    ("spoken.synthesize('abX')", UnknownPhonemesError),
    ("spoken.trace('a' * 21)", TooManyPhonemesError),
    ("spoken.synthesize('abc ' * 40 + 'X')", UnknownPhonemesError),
    ("spoken.synthesize([Word('Abc', 'abX')])", UnknownPhonemesError),
    ("spoken.synthesize('Text', g2p=lambda text: 'abX')", UnknownPhonemesError),
    ("spoken.synthesize('Text', g2p=lambda text: None)", SpokenTypeError),
    ("spoken.synthesize(7)", SpokenTypeError),
    ("spoken.synthesize([])", EmptyInputError),
    ("spoken.synthesize([Segment('abc'), Segment('abc', speed=9)])", SpeedError),
    ("spoken.synthesize([Segment('abc'), Segment('abc', voice='af_hart')])", UnknownVoiceError),
    ("spoken.synthesize('abc', voice='af_heart*-1')", BlendError),
    ("spoken.synthesize('abc', voice=np.zeros((1, 5)))", VoiceArrayError),
    ("spoken.synthesize('abc', sentence_pause=-1)", PauseError),
    ("spoken.synthesize('abc', clause_pause=float('nan'))", PauseError),
    ("spoken.stream('abc', seed=-1)", SeedError),
    ("spoken.stream('abX')", UnknownPhonemesError),
    ("spoken.stream('')", EmptyInputError),
    ("spoken.synthesize('abc', voice='af_hart')", UnknownVoiceError),
    ("spoken.synthesize('abc', speed=float('nan'))", SpeedError),
    ("spoken.trace('abc' * 6, speed=0.25)", UtteranceTooLongError),
    ("spoken.trace('abc', durations=np.array([1, 2, 3, 4]))", TensorInputError),
    ("spoken.trace('abc', durations=np.array([1, 2, 3, 4, 0]))", TensorInputError),
    ("spoken.trace('abc', noise=np.zeros((1, 600), np.float32))", TensorInputError),
    ("spoken.trace('abc', noise=np.zeros(600, np.float32))", TensorInputError),
    ("spoken.trace('abcabcabc', buckets={'bert': 8})", TensorInputError),
    ("spoken.trace('abc', buckets={'bert': 9})", TensorInputError),
    ("spoken.stage('bert').run({'token_ids': np.zeros((1, 2), np.int64)})", TensorInputError),
    ("spoken.stage('bert').run({'token_ids': np.zeros((1, 23), np.int64)})", TensorInputError),
    ("spoken.stage('bert').run({'token_ids': np.zeros((1, 5), np.int32)})", TensorInputError),
    ("spoken.stage('bert').run({'token_ids': np.zeros(5, np.int64)})", TensorInputError),
    ("spoken.stage('bert').run({'ids': np.zeros((1, 5), np.int64)})", TensorInputError),
    ("spoken.stage('vocoder')", MissingStagesError),
    ("Bundle.load(sys.argv[1], threads=0)", ThreadsError),
    ("Bundle.load(sys.argv[1], threads=2.0)", ThreadsError),
    ("closed.synthesize('abc')", ClosedBundleError),
    ("closed.stream('abc')", ClosedBundleError),
    ("list(closing_stream)", ClosedBundleError),
    ("in_a_child(spoken)", ForkError),
]


@pytest.fixture(scope="module")
def refusals(bundle: Path) -> list[list[str]]:
    """Class and message of every refusal, all from one process that goes on after each."""
    found: list[list[str]] = run_alone(
        bundle,
        f"""
        import os
        import numpy as np
        from runtime_min import Bundle, KokoroError, Segment, Word

        def in_a_child(bundle):
            reader, writer = os.pipe()
            if os.fork() == 0:
                try:
                    bundle.synthesize("abc")
                except KokoroError as error:
                    os.write(writer, type(error).__name__.encode())
                os._exit(0)
            name = os.read(reader, 100).decode()
            os.wait()
            raise type(name, (KokoroError,), {{}})("told by the child")

        spoken = Bundle.load(sys.argv[1])
        with Bundle.load(sys.argv[1]) as closed:
            before = closed.synthesize("abc").samples.tobytes()
            closing_stream = closed.stream("abc " * 40)
            next(closing_stream)
        result = []
        for call in {[call for call, _ in REFUSALS]!r}:
            try:
                eval(call)
                result.append(["accepted", ""])
            except KokoroError as error:
                result.append([type(error).__name__, str(error)])
        assert spoken.synthesize("abc").samples.tobytes() == before
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


def test_too_long_an_utterance_says_what_it_needs_and_what_to_do(refusals: list[list[str]]) -> None:
    _, message = next(found for found in refusals if found[0] == "UtteranceTooLongError")
    assert "the bundle holds 100 (2.5 s): raise the speed" in message


def test_near_names_are_suggested_for_an_unknown_voice(refusals: list[list[str]]) -> None:
    _, message = next(found for found in refusals if found[0] == "UnknownVoiceError")
    assert "Did you mean af_heart" in message


def load_error(bundle: Path, **options: Any) -> list[str]:
    found: list[str] = run_alone(
        bundle,
        f"""
        from runtime_min import Bundle, KokoroError
        try:
            Bundle.load(sys.argv[1], **{options!r}).synthesize("abc")
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


def test_a_library_that_cannot_be_loaded_is_a_typed_error(
    libraries: dict[str, Path], runtime_library: Path, tmp_path: Path
) -> None:
    broken = tmp_path / "broken.so"
    broken.write_bytes(b"not a library either")
    made = contents({**libraries, "bert": broken}, runtime_library)
    name, message = load_error(write_bundle(tmp_path / "bundle", made))
    assert name == LibraryLoadError.__name__
    assert "bert-8.so" in message


def test_a_runtime_that_cannot_be_loaded_is_a_typed_error(libraries: dict[str, Path], tmp_path: Path) -> None:
    broken = tmp_path / "libtvm_runtime.so"
    broken.write_bytes(b"not a library")
    name, message = load_error(write_bundle(tmp_path / "bundle", contents(libraries, broken)))
    assert name == LibraryLoadError.__name__
    assert "libtvm_runtime.so could not be loaded" in message


@pytest.mark.parametrize(
    "change",
    [{"tvm_ffi": "0.2.0"}, {"tvm_ffi": "0.1.99"}, {"tvm_ffi": "1.0.0"}],
    ids=lambda change: next(iter(change.values())),
)
def test_a_bundle_for_another_tvm_ffi_is_refused(
    libraries: dict[str, Path], runtime_library: Path, tmp_path: Path, change: dict[str, str]
) -> None:
    made = contents(libraries, runtime_library)
    other = replace(made, versions=replace(made.versions, **change))
    name, message = load_error(write_bundle(tmp_path / "bundle", other))
    assert name == TvmVersionError.__name__
    assert change["tvm_ffi"] in message and "pip install" in message


def test_a_runtime_of_another_version_in_the_process_is_refused(
    bundle: Path, libraries: dict[str, Path], runtime_library: Path, tmp_path: Path
) -> None:
    other = tmp_path / "other"
    made = contents(libraries, runtime_library)
    write_bundle(other, replace(made, versions=replace(made.versions, tvm="0.28.0")))
    assert (
        run_alone(
            bundle,
            f"""
        from runtime_min import Bundle, KokoroError
        first = Bundle.load(sys.argv[1])
        try:
            Bundle.load({str(other)!r})
            result = "loaded"
        except KokoroError as error:
            result = type(error).__name__
        assert len(first.synthesize("abc").samples)
        """,
        )
        == TvmVersionError.__name__
    )


def test_a_level_is_chosen_at_load(libraries: dict[str, Path], runtime_library: Path, tmp_path: Path) -> None:
    levels = (CpuLevel("future", ("telepathy",)), CpuLevel("today", ()), CpuLevel("old", ()))
    made = with_levels(contents(libraries, runtime_library), levels)
    bundle = write_bundle(tmp_path / "bundle", made)
    script = """
    from runtime_min import Bundle
    bundle = Bundle.load(sys.argv[1], level=LEVEL)
    bundle.synthesize("abc")
    loaded = {line.split("/")[-2] for line in open("/proc/self/maps") if "bert-8" in line}
    result = [bundle.level.name, *loaded]
    """
    assert run_alone(bundle, script.replace("LEVEL", "None")) == ["today", "today"]
    assert run_alone(bundle, script.replace("LEVEL", "'old'")) == ["old", "old"]
    assert load_error(bundle, level="future")[0] == "CpuLevelError"


def test_tvm_itself_may_be_in_the_process(bundle: Path) -> None:
    assert (
        run_alone(
            bundle,
            """
        import tvm
        from runtime_min import Bundle
        result = len(Bundle.load(sys.argv[1]).synthesize("abc").samples) % 600
        """,
        )
        == 0
    )


def test_running_leaves_the_bundle_as_it_was(bundle: Path, tmp_path: Path) -> None:
    def state() -> dict[str, tuple[int, int]]:
        return {
            str(path): (path.stat().st_mtime_ns, path.stat().st_size) for path in sorted(bundle.rglob("*"))
        }

    before = state()
    done = speak(bundle / "runtime_min.pyz", "--phonemes", "abc", "-o", str(tmp_path / "x.wav"))
    assert done.returncode == 0, done.stderr
    assert state() == before


def speak(*arguments: str | Path, stdin: str | None = None, module: bool = False) -> Any:
    command = [sys.executable, *(["-m", "runtime_min"] if module else []), *map(str, arguments)]
    return subprocess.run(command, input=stdin, capture_output=True, text=True, env=environment(), cwd=ROOT)


def test_the_command_writes_what_the_api_computes(bundle: Path, tmp_path: Path) -> None:
    path = tmp_path / "hello.wav"
    arguments = ["--phonemes", "-", "--voice", "am_adam", "--speed", "2", "--seed", "3", "-o", path]
    done = speak(bundle, *arguments, "--format", "pcm16", "--threads", "2", stdin="abc ab\n", module=True)
    assert done.returncode == 0, done.stderr
    assert "on 2 threads" in done.stderr
    with wave.open(str(path)) as file:
        found = np.frombuffer(file.readframes(file.getnframes()), "<i2")
    _, samples = expected("abc ab", "am_adam", 2.0, 3)
    np.testing.assert_allclose(found, np.clip(samples, -1, 1) * 32767, atol=1.0)


def test_a_synthetic_bundle_says_that_it_babbles(bundle: Path, tmp_path: Path) -> None:
    done = speak(bundle / "runtime_min.pyz", "--phonemes", "abc", "-o", tmp_path / "x.wav")
    assert "THIS BUNDLE BABBLES" in done.stderr


def test_input_that_is_no_utf8_is_refused_by_name(bundle: Path) -> None:
    command = [sys.executable, bundle / "runtime_min.pyz", "--phonemes", "-"]
    done = subprocess.run(command, input=b"ab\xff\n", capture_output=True, env=environment(), cwd=ROOT)
    assert done.returncode == 3
    assert b"is no UTF-8: see its byte 2" in done.stderr


def copied(bundle: Path, place: Path) -> Path:
    return Path(shutil.copytree(bundle, place / "copy"))


COMMANDS = {
    "unknown phonemes": (["--phonemes", "abX"], 3, "'X' (U+0058) at 2"),
    "empty": (["--phonemes", ""], 3, "no phonemes"),
    "voice": (["--phonemes", "a", "--voice", "af_hart"], 3, "Did you mean af_heart"),
    "speed": (["--phonemes", "a", "--speed", "nan"], 3, "from 0.25 to 4"),
    "seed": (["--phonemes", "a", "--seed", "-1"], 3, "from 0 to 2**64 - 1"),
    "threads": (["--phonemes", "a", "--threads", "0"], 3, "from 1 to 1024"),
    "level": (["--phonemes", "a", "--level", "v9"], 5, "no CPU level 'v9'"),
    "digest": (["--phonemes", "a", "--manifest-sha256", "0" * 64], 4, "pinned is 0000"),
    "output": (["--phonemes", "a", "-o", "/nowhere/x.wav"], 6, "cannot be written"),
    "no phonemes given": ([], 2, "one of --phonemes"),
    "speed is no number": (["--phonemes", "a", "--speed", "fast"], 2, "invalid float value"),
}


@pytest.mark.parametrize("name", COMMANDS)
def test_the_command_ends_with_one_line_and_the_documented_code(bundle: Path, name: str) -> None:
    arguments, code, message = COMMANDS[name]
    done = speak(bundle / "runtime_min.pyz", bundle, *arguments)
    assert done.returncode == code
    assert message in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == ""


def test_the_command_refuses_a_damaged_bundle(bundle: Path, tmp_path: Path) -> None:
    damaged = copied(bundle, tmp_path)
    (damaged / "NOTICE").unlink()
    done = speak(damaged, "--phonemes", "a", module=True)
    assert (done.returncode, BundleError.exit_code) == (4, 4)
    assert "lacks NOTICE" in done.stderr
    assert speak(tmp_path / "nothing", "--phonemes", "a", module=True).returncode == 4
