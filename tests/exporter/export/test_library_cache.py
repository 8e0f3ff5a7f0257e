"""The cache gives back what was stored or nothing, whatever happened in between; its key is the compiler."""

from __future__ import annotations

import ast
import importlib.metadata
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import exporter
from exporter.compiler.library import CompiledLibrary
from exporter.compiler.targets import TARGETS, find_target
from exporter.export.library_cache import LibraryCache, compiler_facts
from runtime_min.errors import OutputError
from runtime_min.format.signatures import signatures
from tests.support.fakes.builds import some_jobs

JOB = some_jobs()[0]
CONTENT = bytes(range(256))
COMPILER = Path(exporter.__file__).parent / "compiler"
# What the compiler may know of the runtime: what a job holds, the machine, whose linker is in the key, and
# how readers transform weights, which decides nothing.
FACTS = {
    "runtime_min.format.signatures": {"StageSignature", "TensorSignature", "offset_of"},
    "runtime_min.engine.machine": {"Machine", "levels_that_run", "this_machine"},
    "runtime_min.format.manifest": {"CpuLevel", "Target"},
    "runtime_min.format.transforms": {"transformed"},
}


def compiled(directory: Path, content: bytes = CONTENT) -> CompiledLibrary:
    directory.mkdir(exist_ok=True)
    path = directory / "decoder.so"
    path.write_bytes(content)
    return CompiledLibrary(JOB, path, (("weight", "row-major"), ("bias", "conv[co/8,ci,k,8]")), 1.5)


@pytest.fixture
def cache(tmp_path):
    return LibraryCache(tmp_path / "cache")


@pytest.fixture
def place(tmp_path):
    """Path to which a library from the cache is copied."""
    return tmp_path / "restored.so"


def test_what_was_stored_is_found_and_nothing_else(cache, tmp_path, place):
    stored = compiled(tmp_path / "work")
    assert cache.restore(JOB, place) is None
    cache.store(stored)
    shutil.rmtree(tmp_path / "work")
    assert cache.restore(JOB, place) == replace(stored, path=place)
    assert place.read_bytes() == CONTENT
    assert cache.restore(some_jobs()[1], place) is None


@given(st.integers(min_value=0), st.integers(min_value=1, max_value=255))
def test_a_changed_byte_never_passes_for_what_was_stored(tmp_path_factory, position, change):
    directory = tmp_path_factory.mktemp("cache")
    cache, stored = LibraryCache(directory / "cache"), compiled(directory / "work")
    cache.store(stored)
    content = bytearray(cache.entry(JOB).read_bytes())
    content[position % len(content)] ^= change
    cache.entry(JOB).write_bytes(content)
    assert cache.restore(JOB, directory / "restored.so") is None


@pytest.mark.parametrize("damage", ["cut", "removed"])
def test_a_damaged_entry_is_replaced_by_the_next_library(cache, tmp_path, place, damage):
    cache.store(compiled(tmp_path / "work", b"damaged later"))
    path = cache.entry(JOB)
    path.unlink() if damage == "removed" else path.write_bytes(path.read_bytes()[:-1])
    assert cache.restore(JOB, place) is None
    cache.store(compiled(tmp_path / "work"))
    assert cache.restore(JOB, place) is not None and place.read_bytes() == CONTENT


@pytest.mark.parametrize(
    ("error", "raised"),
    [(OSError(28, "No space left on device"), OutputError), (KeyboardInterrupt(), KeyboardInterrupt)],
)
def test_an_interrupted_store_leaves_nothing(cache, tmp_path, place, monkeypatch, error, raised):
    def interrupted(*_, **__):
        raise error

    library = compiled(tmp_path / "work")
    monkeypatch.setattr(Path, "replace", interrupted)
    with pytest.raises(raised):
        cache.store(library)
    assert list((tmp_path / "cache").iterdir()) == []
    assert cache.restore(JOB, place) is None


def test_one_of_two_libraries_of_a_job_stays(cache, tmp_path, place):
    cache.store(compiled(tmp_path / "first", b"from another process"))
    cache.store(compiled(tmp_path / "second"))
    assert cache.restore(JOB, place) is not None and place.read_bytes() == CONTENT
    assert list((tmp_path / "cache").iterdir()) == [cache.entry(JOB)]


def test_every_fact_of_a_job_and_of_the_compiler_counts(tmp_path):
    changes = {
        "config": '{"hidden_dim": 8}',
        "signature": signatures(8, 2)["decoder"],
        "bucket": JOB.bucket + 1,
        "target": find_target("linux-aarch64"),
        "level": JOB.target.levels[1],
        "device": "cuda",
        "precision": "float32",
    }
    assert changes.keys() == vars(JOB).keys()
    jobs = [JOB, *(replace(JOB, **{name: value}) for name, value in changes.items())]
    keys = {LibraryCache(tmp_path, facts).entry(job) for job in jobs for facts in ([], ["a"], ["b"])}
    assert len(keys) == 3 * len(jobs)
    assert LibraryCache(tmp_path, ["a"]).entry(JOB) == LibraryCache(tmp_path, ["a"]).entry(replace(JOB))


def test_every_file_of_the_compiler_counts_by_name_and_content(tmp_path):
    copy = tmp_path / "compiler"
    shutil.copytree(COMPILER, copy, ignore=shutil.ignore_patterns("__pycache__"))
    found = compiler_facts(JOB.target)
    assert compiler_facts(JOB.target, copy) == found
    (copy / "__pycache__").mkdir()
    (copy / "__pycache__" / "link.pyc").write_bytes(b"no source")
    assert compiler_facts(JOB.target, copy) == found
    for path in [*copy.rglob("*.py"), copy / "data" / "tuning.json"]:
        content = path.read_bytes()
        path.write_bytes(content + b"\n")
        assert compiler_facts(JOB.target, copy) != found, path
        path.write_bytes(content)
    (copy / "passes.py").rename(copy / "another.py")
    assert compiler_facts(JOB.target, copy) != found


def test_the_compiler_needs_no_other_module_than_its_own_and_facts():
    """So that no other file can change a library, and none that does is missing in the key."""
    for path in COMPILER.rglob("*"):
        assert path.suffix in ("", ".py", ".json", ".pyc"), f"{path} is not in the cache's key"
        for module, name in imports(path) if path.suffix == ".py" else ():
            if module.split(".")[0] in ("", "exporter", "runtime_min", "tests"):
                known = module == "exporter.errors" or f"{module}.".startswith("exporter.compiler.")
                # Constants of the signatures are in the key by their values.
                fact = name in FACTS.get(module, ()) or (module in FACTS and name.isupper())
                assert known or fact, f"{path} imports {name} from {module}"


def imports(path: Path) -> Iterator[tuple[str, str]]:
    """Yields module and name of everything that a source file imports."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from ((name.name, "") for name in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from (("." * node.level + (node.module or ""), name.name) for name in node.names)


def test_a_constant_of_the_model_counts(monkeypatch):
    before = compiler_facts(JOB.target)
    monkeypatch.setattr("runtime_min.format.signatures.SAMPLE_RATE", 48_000)
    assert compiler_facts(JOB.target) != before


@pytest.mark.parametrize("tool", ["torch", "kokoro", "apache-tvm", "apache-tvm-ffi", "nvidia-cuda-nvrtc"])
def test_another_release_of_a_tool_counts(monkeypatch, tool):
    before = compiler_facts(find_target("cuda-linux"))
    version = importlib.metadata.version
    monkeypatch.setattr(
        importlib.metadata, "version", lambda name: "13.0.99" if name == tool else version(name)
    )
    if tool.startswith("nvidia"):
        monkeypatch.setattr("exporter.compiler.cuda.versions", lambda device: {tool: "13.0.99"})
    assert compiler_facts(find_target("cuda-linux")) != before


@pytest.mark.parametrize("target", TARGETS, ids=lambda target: target.name)
def test_the_linker_counts_and_the_place_where_zig_is_installed_does_not(target, monkeypatch):
    facts = compiler_facts(target)
    monkeypatch.setattr("exporter.export.library_cache.linker_version", lambda command: "zig ld 0.18.0")
    assert compiler_facts(target) != facts
    assert not [fact for fact in facts if str(Path.home()) in fact or "site-packages" in fact]
