"""The runtime speaks from a compiled bundle, in processes that have the runtime alone."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.support.emulation.without_linux import PROGRAM
from tests.support.paths import ROOT
from tests.support.tiny.runtime_alone import assert_speaks_as_the_format_specifies, run_alone


@pytest.fixture(scope="module")
def bundle(speaking_bundle: Path) -> Path:
    return speaking_bundle


def test_the_chain_computes_what_the_format_specifies(bundle: Path) -> None:
    assert_speaks_as_the_format_specifies(bundle)


def test_only_the_runtime_is_imported_and_torch_still_can_be(bundle: Path) -> None:
    result = run_alone(
        bundle,
        """
        from runtime_min import Bundle
        Bundle.load(sys.argv[1]).synthesize(phonemes="abc")
        forbidden = ("torch", "tvm", "msgpack", "kokoro", "exporter")
        imported = [name for name in forbidden if name in sys.modules]
        import torch
        result = dict(imported=imported, sum=float(torch.ones(3).sum()))
        """,
    )
    assert result == {"imported": [], "sum": 3.0}


def test_importing_the_runtime_loads_no_tvm_nor_what_takes_long(bundle: Path) -> None:
    slow = ("tvm_ffi", "asyncio", "subprocess", "argparse", "unittest", "http", "email")
    script = f"import runtime_min; result = [name for name in {slow!r} if name in sys.modules]"
    assert run_alone(bundle, script) == []


PORTABLE = """
import hashlib, importlib, os, pkgutil
# tvm_ffi goes its own way on each system.
sys.modules["torch"] = None
import tvm_ffi
REMOVE
import runtime_min
modules = {found.name for found in pkgutil.walk_packages(runtime_min.__path__, "runtime_min.")}
# They are for apps that have kokoro or PyInstaller.
modules -= {"runtime_min.adapters.kokoro_model", "runtime_min.__pyinstaller.hook-runtime_min"}
for name in modules:
    importlib.import_module(name)
bundle = runtime_min.Bundle.load(sys.argv[1], threads=2)
audio = bundle.synthesize(phonemes="abc abc", voice="am_adam", seed=3)
from_memory = any("memfd:" in line for line in open("/proc/self/maps"))
result = [hashlib.sha256(audio.samples.tobytes()).hexdigest(), len(modules), from_memory]
"""


def test_a_bundle_speaks_where_nothing_is_that_only_linux_has(bundle: Path) -> None:
    """All modules of the archive are imported, all files verified, and the samples are the same."""
    usual, portable = (run_alone(bundle, PORTABLE.replace("REMOVE", remove)) for remove in ("", PROGRAM))
    assert portable[0] == usual[0]
    assert [usual[2], portable[2]] == [True, False]
    sources = list((ROOT / "runtime_min").rglob("*.py"))
    # Neither the package itself nor the two modules.
    assert portable[1] == len(sources) - 3


def test_a_warning_of_text_names_the_callers_line(bundle: Path) -> None:
    script = """
        import warnings
        from runtime_min import Bundle
        bundle = Bundle.load(sys.argv[1])
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always")
            bundle.synthesize(phonemes="abc abc abc")
            bundle.stream(phonemes="abc abc abc").close()
        result = [[each.category.__name__, each.filename] for each in found]
        """
    assert run_alone(bundle, script) == [["TextAsPhonemesWarning", "<string>"]] * 2


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
            sounds.append(bundle.synthesize(phonemes="abc", speed=2.0, stretch=False).samples.tobytes())
        result = len(set(sounds))
        """,
        )
        == 1
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


def test_all_cores_are_used_and_none_is_bound_unless_something_else_is_asked_for(bundle: Path) -> None:
    script = """
    import os
    from runtime_min import Bundle
    cores = os.sched_getaffinity(0)
    bundle = Bundle.load(sys.argv[1], threads=THREADS)
    bundle.synthesize(phonemes="abc")
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
        bundle.synthesize(phonemes="abc")
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
        text = "abc abca " * 12
        sounds, streams = set(), set()
        for threads in (1, 2, 3):
            bundle = Bundle.load(sys.argv[1], threads=threads)
            options = dict(voice="af_heart+am_adam", speed=2.0, seed=5)
            audio = bundle.synthesize(phonemes=text, **options)
            pieces = list(bundle.stream(phonemes=text, trim=False, **options))
            sounds |= {audio.samples.tobytes(), Audio.join(pieces).samples.tobytes()}
            streams.add(tuple(len(piece.samples) for piece in pieces))
        # At a quarter of the speed a piece exceeds the largest frame bucket and is divided.
        slow = bundle.synthesize(phonemes=text, speed=0.25, stretch=False)
        two = bundle.synthesize(phonemes=[Segment("abc", "am_adam", 2.0), Segment("abca")])
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
        exact = dict(speed=2.0, seed=3, stretch=False)
        spoken = [bundle.synthesize(phonemes="abc abc", voice=voice, **exact) for voice in voices]
        sounds = {audio.samples.tobytes() for audio in spoken}
        exact["g2p"] = lambda text: "abc abc"
        given = bundle.synthesize("Text", "am_adam", **exact).samples.tobytes()
        result = [sounds == {expected}, given == expected, [voice.sex for voice in bundle.voices]]
        """,
    ) == [True, True, ["female", "female", "male"]]


def test_pieces_are_those_of_a_stream_and_are_computed_when_they_are_taken(bundle: Path) -> None:
    computed, left, equal = run_alone(
        bundle,
        """
        import threading
        from runtime_min import Bundle
        spoken = Bundle.load(sys.argv[1])
        decode, calls = type(spoken._synthesiser()).decode, []
        def counted(*arguments):
            calls.append(threading.get_ident())
            return decode(*arguments)
        type(spoken._synthesiser()).decode = counted
        pieces = spoken.pieces(phonemes="abc abc abcab " * 9)
        before = len(calls)
        first = next(pieces)
        computed = [before, len(calls), calls == [threading.get_ident()]]
        rest = [first, *pieces]
        same = zip(rest, spoken.stream(phonemes="abc abc abcab " * 9), strict=True)
        result = computed, len(rest), [(a.samples == b.samples).all().item() for a, b in same]
        """,
    )
    assert computed == [0, 1, True] and left > 3 and equal == [True] * left


def test_a_program_that_leaves_a_stream_behind_ends(bundle: Path) -> None:
    assert run_alone(
        bundle,
        """
        from runtime_min import Bundle
        stream = Bundle.load(sys.argv[1]).stream(phonemes="abc abca " * 300)
        result = len(next(stream).samples) > 0
        """,
    )


def test_tvm_itself_may_be_in_the_process(bundle: Path) -> None:
    assert (
        run_alone(
            bundle,
            """
        import tvm
        from runtime_min import Bundle
        result = len(Bundle.load(sys.argv[1]).synthesize(phonemes="abc").samples) % 600
        """,
        )
        == 0
    )
