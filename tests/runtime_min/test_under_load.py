"""The runtime under load: after many calls, bundles and faults it works, and holds no more than before."""

from __future__ import annotations

import os
import shutil
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import cycle, islice
from pathlib import Path

import pytest

from exporter.bundle.write import ExtensionFiles, write_bundle
from runtime_min.errors import ChangedFileError, InstallationError
from runtime_min.format.manifest import CpuLevel
from tests.support.tiny.bundle import contents, with_levels
from tests.support.tiny.runtime_alone import run_probed
from tests.support.tiny.self_test import extension, give, made_up, stored

FRAMES = [2, 1, 3, 4, 2, 5, 1]

SOAK = """
bundle = Bundle.load(PATH)
texts = ["abc"[: 1 + i % 3] + " abcab"[: i % 6] for i in range(18)]
expected = [bundle.synthesize(phonemes=text, seed=1).samples.tobytes() for text in texts]
def speak(count):
    for i in range(count):
        k = i % len(texts)
        assert bundle.synthesize(phonemes=texts[k], seed=1).samples.tobytes() == expected[k]
        if i % 10 == 0:
            for wrong in (dict(phonemes=""), dict(phonemes="abX"), dict(phonemes="a", voice="?")):
                try:
                    bundle.synthesize(**wrong)
                except KokoroError:
                    pass
speak(COUNT // 10)
gc.collect()
before = status("VmRSS"), handles(), status("Threads") >> 10
speak(COUNT)
gc.collect()
after = status("VmRSS"), handles(), status("Threads") >> 10
result = [after[0] - before[0], *(after[i] - before[i] for i in (1, 2))]
"""


@pytest.mark.parametrize("count", [1_000, pytest.param(10_000, marks=pytest.mark.slow)])
def test_memory_handles_and_threads_stay_as_they_are_over_many_calls(
    speaking_bundle: Path, count: int
) -> None:
    """A leak of a kilobyte a call would show; for a real model there is `kokoro-export measure --memory`."""
    grown, handles, threads = run_probed(speaking_bundle, SOAK.replace("COUNT", str(count)))
    print(f"\n{count} calls: {grown} bytes, {handles} handles, {threads} threads more")
    assert (handles, threads) == (0, 0)
    assert grown < 1_000_000


LOADING = """
def cycle():
    with Bundle.load(PATH, threads=2) as bundle:
        bundle.synthesize(phonemes="abc")
        bundle.synthesize(phonemes="abcabcabcabc")
for _ in range(5):
    cycle()
gc.collect()
before = status("VmRSS"), handles(), status("Threads") >> 10, mapped("bert-8.so"), mapped("parameters.bin")
for _ in range(60):
    cycle()
gc.collect()
after = status("VmRSS"), handles(), status("Threads") >> 10, mapped("bert-8.so"), mapped("parameters.bin")
result = [after[0] - before[0], after[1:] == before[1:], list(after[3:])]
"""


def test_closing_frees_memory_handles_threads_libraries_and_maps(speaking_bundle: Path) -> None:
    # With an arena for each thread, the allocator keeps megabytes, and how many is chance.
    grown, same, left = run_probed(speaking_bundle, LOADING, MALLOC_ARENA_MAX="1")
    assert same and left == [0, 0]
    # Each holds 180 KB of mapped libraries and as much of TVM's blocks.
    assert grown < 4_000_000


def test_a_bundle_that_is_forgotten_is_freed_too(speaking_bundle: Path) -> None:
    assert run_probed(
        speaking_bundle,
        """
Bundle.load(PATH).close()
before = handles(), status("Threads"), mapped("parameters.bin")
for _ in range(5):
    Bundle.load(PATH).synthesize(phonemes="abc")
gc.collect()
result = (handles(), status("Threads"), mapped("parameters.bin")) == before
""",
    )


def test_a_load_that_fails_holds_nothing(speaking_bundle: Path) -> None:
    assert run_probed(
        speaking_bundle,
        """
before = handles(), status("Threads")
for options in (dict(manifest_sha256="0" * 64), dict(level="v9")) * 20:
    try:
        Bundle.load(PATH, **options)
    except KokoroError:
        pass
result = (handles(), status("Threads")) == before
""",
    )


def test_without_tvms_interface_it_says_what_to_install(speaking_bundle: Path) -> None:
    assert run_probed(
        speaking_bundle,
        """
sys.modules["tvm_ffi"] = None
try:
    Bundle.load(PATH)
except KokoroError as error:
    result = [type(error).__name__, "pip install numpy apache-tvm-ffi" in str(error)]
""",
    ) == [InstallationError.__name__, True]


def test_many_bundles_speak_at_once_from_many_threads(speaking_bundle: Path) -> None:
    """Several threads share each bundle, and bundles have pools of different sizes."""
    assert run_probed(
        speaking_bundle,
        """
from concurrent.futures import ThreadPoolExecutor
bundles = [Bundle.load(PATH, threads=1 + i % 2) for i in range(12)]
texts = ["a", "ab", "abc abc"]
expected = {text: bundles[0].synthesize(phonemes=text).samples.tobytes() for text in texts}
def speak(i):
    text = texts[i % 3]
    return bundles[i % 12].synthesize(phonemes=text).samples.tobytes() == expected[text]
with ThreadPoolExecutor(16) as pool:
    together = all(pool.map(speak, range(240)))
for bundle in bundles[::2]:
    bundle.close()
with ThreadPoolExecutor(16) as pool:
    rest = all(pool.map(speak, [i for i in range(240) if i % 2]))
result = [together, rest]
""",
    ) == [True, True]


@pytest.mark.parametrize("rounds", [10, pytest.param(1_000, marks=pytest.mark.slow)])
def test_a_bundle_is_closed_while_others_use_it(speaking_bundle: Path, tmp_path: Path, rounds: int) -> None:
    """Whoever is late gets an error that says so, whatever was asked, and nobody hangs or crashes."""
    copy = Path(shutil.copytree(speaking_bundle, tmp_path / "bundle"))
    give(copy, extension(made_up(FRAMES), FRAMES), stored(made_up(FRAMES)))
    outcomes = run_probed(
        copy,
        f"""
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from random import Random
import numpy as np
row = np.zeros(4, np.float32)
calls = [
    lambda bundle: bundle.synthesize(phonemes="abc").samples,
    lambda bundle: bundle.synthesize(phonemes="abc", voice="am_adam*0.5+af_bella").samples,
    lambda bundle: bundle.synthesize(phonemes="abc", voice=row).samples,
    lambda bundle: bundle.trace("abc").audio,
    lambda bundle: list(bundle.stream(phonemes="abc abc abc abc abc")),
    lambda bundle: list(bundle.self_test()),
    lambda bundle: bundle.stage("bert").run(dict(token_ids=np.array([[0, 1, 0]]))),
    lambda bundle: [bundle.voice_tables[name] for name in bundle.voices],
    lambda bundle: [bundle.max_phonemes, bundle.threads],
    lambda bundle: bundle.close() or [None],
]
outcomes = Counter()
for seed in range({rounds}):
    random, bundle = Random(seed), Bundle.load(PATH, threads=1)
    def use(index):
        try:
            return len(calls[index](bundle)) > 0
        except Exception as error:
            return type(error).__name__
    with ThreadPoolExecutor(8) as pool:
        # One in forty calls closes the bundle, some time.
        asked = [pool.submit(use, random.choice([random.randrange(9)] * 39 + [9])) for i in range(40)]
        asked[random.randrange(40)].result()
        bundle.close()
        outcomes.update(str(future.result()) for future in asked)
result = outcomes
""",
    )
    print(f"\n{rounds} bundles closed: {outcomes}")
    assert outcomes.keys() == {"True", "ClosedBundleError"}


@pytest.mark.parametrize("count", [10, pytest.param(500, marks=pytest.mark.slow)])
def test_a_bundle_that_is_replaced_while_others_load_it_is_loaded_old_or_new(
    speaking_bundle: Path,
    libraries: dict[str, Path],
    runtime_library: Path,
    tmp_path: Path,
    count: int,
) -> None:
    """The two have files of different names, and each is whole whenever it has the name."""
    place, stop = tmp_path / "bundle", tmp_path / "stop"
    old = contents(libraries, runtime_library)
    new = with_levels(old, (CpuLevel("new", ()),))
    write_bundle(place, old)
    script = f"""
from collections import Counter
from pathlib import Path
outcomes = Counter()
while not Path({str(stop)!r}).exists() or not outcomes:
    try:
        with Bundle.load({str(place)!r}, threads=1) as bundle:
            outcomes[f"{{len(bundle.synthesize(phonemes='abc').samples) > 0}} {{bundle.level.name}}"] += 1
    except Exception as error:
        outcomes[repr(error)] += 1
result = outcomes
"""
    with ThreadPoolExecutor(2) as pool:
        loading = [pool.submit(run_probed, speaking_bundle, script) for _ in range(2)]
        try:
            for made in islice(cycle((new, old)), count):
                write_bundle(place, made)
        finally:
            stop.touch()
        outcomes = sum((Counter(each.result()) for each in loading), Counter[str]())
    print(f"\n{count} replacements: {dict(outcomes)}")
    assert outcomes.keys() <= {"True baseline", "True new"}


def test_a_child_process_says_what_to_do_and_may_load_its_own(speaking_bundle: Path) -> None:
    assert run_probed(
        speaking_bundle,
        """
import json
bundle = Bundle.load(PATH)
before = bundle.synthesize(phonemes="abc").samples.tobytes()
reader, writer = os.pipe()
if (child := os.fork()) == 0:
    try:
        bundle.synthesize(phonemes="abc")
    except KokoroError as error:
        refused = [type(error).__name__, "start the child with multiprocessing's 'spawn'" in str(error)]
    bundle.close()
    with Bundle.load(PATH) as own:
        refused.append(own.synthesize(phonemes="abc").samples.tobytes() == before)
    os.write(writer, json.dumps(refused).encode())
    sys.exit(0)
_, code = os.waitpid(child, 0)
same = bundle.synthesize(phonemes="abc").samples.tobytes() == before
result = [json.loads(os.read(reader, 1000)), code, same]
""",
    ) == [["ForkError", True, True], 0, True]


@pytest.mark.parametrize("how", ["exchanged", "emptied", "removed"])
def test_a_bundle_that_is_replaced_on_disk_speaks_on(speaking_bundle: Path, tmp_path: Path, how: str) -> None:
    """With what it has used before, and with the same files at the same place."""
    copy = Path(shutil.copytree(speaking_bundle, tmp_path / "bundle"))
    assert run_probed(
        copy,
        f"""
import shutil
reference = Bundle.load({str(speaking_bundle)!r})
bundle = Bundle.load(PATH)
bundle.synthesize(phonemes="abc")
shutil.copytree(PATH, PATH + ".later")
os.rename(PATH, PATH + ".earlier")
if {how!r} == "exchanged":
    os.rename(PATH + ".later", PATH)
elif {how!r} == "emptied":
    os.mkdir(PATH)
shutil.rmtree(PATH + ".earlier")
result = []
for phonemes, voice in [
    ("abc", "af_heart"), ("cba", "af_heart"), ("abcabcabcabc", "af_heart"), ("a", "af_bella")
]:
    try:
        found = bundle.synthesize(phonemes=phonemes, voice=voice).samples.tobytes()
        expected = reference.synthesize(phonemes=phonemes, voice=voice)
        result.append(found == expected.samples.tobytes())
    except KokoroError as error:
        result.append(type(error).__name__)
""",
    ) == [True, True, True, how == "exchanged" or ChangedFileError.__name__]


def test_a_loaded_bundle_keeps_one_file_open(
    libraries: dict[str, Path], runtime_library: Path, tmp_path: Path
) -> None:
    """50 are open at once where a process may have 64 files."""
    text = ExtensionFiles({}, {f"text/{name}.bin": name.encode() for name in ("lexicon", "tagger")})
    bundle = write_bundle(tmp_path / "bundle", contents(libraries, runtime_library).extended(text))
    assert run_probed(
        bundle,
        """
import resource
Bundle.load(PATH, threads=1).close()
before = handles()
bundle = Bundle.load(PATH, threads=1)
result = [handles() - before]
for voice in bundle.voices:
    bundle.synthesize(phonemes="abcabcabcabc", voice=voice)
result.append(handles() - before)
resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
bundles = [bundle, *(Bundle.load(PATH, threads=1) for _ in range(49))]
result += [handles() - before, len({each.synthesize(phonemes="abc").samples.tobytes() for each in bundles})]
""",
    ) == [1, 1, 50, 1]


SPEAK = "result = Bundle.load(PATH).synthesize(phonemes='abc').samples.tolist()"


@pytest.fixture(scope="module")
def usual_samples(speaking_bundle: Path) -> list[float]:
    """What a bundle of plain files speaks."""
    found: list[float] = run_probed(speaking_bundle, SPEAK)
    return found


@pytest.mark.parametrize("link", [os.link, os.symlink], ids=["hard links", "symbolic links"])
def test_a_bundle_of_links_among_other_files_speaks(
    speaking_bundle: Path, usual_samples: list[float], tmp_path: Path, link: Callable[[str, str], None]
) -> None:
    """As uv installs a wheel that holds a bundle, and as a hub's cache keeps one."""
    shutil.copytree(speaking_bundle, tmp_path / "store")
    place = Path(shutil.copytree(tmp_path / "store", tmp_path / "place" / "bundle", copy_function=link))
    (place / "voices" / ".DS_Store").write_bytes(b"of the system")
    (place / "__pycache__").mkdir()
    os.mkfifo(place / "pipe")
    assert run_probed(place, SPEAK) == usual_samples
    (tmp_path / "store" / "voices" / "af_heart.bin").write_bytes(b"through the other name")
    with pytest.raises(AssertionError, match=r"DamagedFileError.*af_heart\.bin should have"):
        run_probed(place, SPEAK)


def test_cancelled_speech_leaves_the_bundle_usable(speaking_bundle: Path) -> None:
    assert run_probed(
        speaking_bundle,
        """
import signal, time
bundle = Bundle.load(PATH)
before = bundle.synthesize(phonemes="abc").samples.tobytes()
cancelled = 0
for i in range(200):
    signal.signal(signal.SIGALRM, lambda *_: signal.raise_signal(signal.SIGINT))
    try:
        # Again after a second: Python drops an interrupt that comes in the middle of a finalizer.
        signal.setitimer(signal.ITIMER_REAL, 0.0002 * (1 + i % 20), 1)
        while True:
            bundle.synthesize(phonemes="abc abc abc")
    except KeyboardInterrupt:
        signal.signal(signal.SIGALRM, signal.SIG_IGN)
        cancelled += 1
result = [cancelled, bundle.synthesize(phonemes="abc").samples.tobytes() == before]
bundle.close()
""",
    ) == [200, True]
