"""The cache gives back what was stored or nothing, whatever happened in between."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporter.export import library_cache as cache_module
from exporter.export.library_cache import (
    CompiledLibrary,
    LibraryCache,
    compiler_digest,
    entry_key,
)
from tests.support.paths import ROOT

KEY = "0123abcd"
CONTENT = bytes(range(256))
PACKAGES = ROOT
facts = st.dictionaries(st.text(), st.one_of(st.text(), st.integers(), st.lists(st.text())))


def compiled(directory: Path, content: bytes = CONTENT) -> CompiledLibrary:
    directory.mkdir(exist_ok=True)
    path = directory / "bert.so"
    path.write_bytes(content)
    return CompiledLibrary(path, "bert", (("weight", "row-major"), ("bias", "conv[co/8,ci,k,8]")), 1.5)


def same(found: CompiledLibrary | None, stored: CompiledLibrary) -> bool:
    return found is not None and (
        found.function,
        found.parameters,
        found.seconds,
        found.library.read_bytes(),
    ) == (
        stored.function,
        stored.parameters,
        stored.seconds,
        stored.library.read_bytes(),
    )


@pytest.fixture
def cache(tmp_path):
    return LibraryCache(tmp_path / "cache")


@pytest.fixture
def place(tmp_path):
    """Where a library from the cache goes."""
    return tmp_path / "restored.so"


def test_what_was_stored_is_found_and_nothing_else(cache, tmp_path, place):
    stored = compiled(tmp_path / "work")
    assert cache.restore(KEY, place) is None
    cache.store(KEY, stored)
    assert same(cache.restore(KEY, place), stored)
    assert cache.restore("another", place) is None


def test_it_outlives_the_place_where_the_library_was_compiled(cache, tmp_path, place):
    cache.store(KEY, compiled(tmp_path / "work"))
    shutil.rmtree(tmp_path / "work")
    found = cache.restore(KEY, place)
    assert found is not None and found.library.read_bytes() == CONTENT


@given(
    st.integers(min_value=0),
    st.integers(min_value=1, max_value=255),
    st.sampled_from(["library", "description"]),
)
def test_a_changed_byte_never_passes_for_what_was_stored(tmp_path_factory, position, change, name):
    directory = tmp_path_factory.mktemp("cache")
    cache, stored = LibraryCache(directory / "cache"), compiled(directory / "work")
    place = directory / "restored.so"
    cache.store(KEY, stored)
    path = directory / "cache" / KEY / name
    content = bytearray(path.read_bytes())
    content[position % len(content)] ^= change
    path.write_bytes(content)
    assert cache.restore(KEY, place) is None


@pytest.mark.parametrize("name", ["library", "description"])
@pytest.mark.parametrize("damage", ["cut", "removed"])
def test_a_damaged_entry_is_replaced_by_the_next_library(cache, tmp_path, place, name, damage):
    cache.store(KEY, compiled(tmp_path / "work", b"damaged later"))
    path = tmp_path / "cache" / KEY / name
    path.unlink() if damage == "removed" else path.write_bytes(path.read_bytes()[:-1])
    assert cache.restore(KEY, place) is None
    better = compiled(tmp_path / "work")
    cache.store(KEY, better)
    assert same(cache.restore(KEY, place), better)


@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), KeyboardInterrupt()])
def test_an_interrupted_store_leaves_nothing(cache, tmp_path, place, monkeypatch, error):
    def interrupted(*_, **__):
        raise error

    library = compiled(tmp_path / "work")
    monkeypatch.setattr(Path, "write_text", interrupted)
    with pytest.raises(type(error)):
        cache.store(KEY, library)
    assert list((tmp_path / "cache").iterdir()) == []
    assert cache.restore(KEY, place) is None


def test_the_first_of_two_exports_that_store_the_same_stays(cache, tmp_path, place):
    first = compiled(tmp_path / "first")
    cache.store(KEY, first)
    cache.store(KEY, compiled(tmp_path / "second", b"from another process"))
    assert same(cache.restore(KEY, place), first)
    assert [path.name for path in (tmp_path / "cache").iterdir()] == [KEY]


@given(facts, facts)
def test_only_equal_facts_have_equal_keys(one, other):
    assert (entry_key(one) == entry_key(other)) == (one == other)


@given(facts)
def test_the_order_of_facts_does_not_matter(one):
    assert entry_key(dict(reversed(one.items()))) == entry_key(one)


@pytest.mark.parametrize(
    ("file", "matters"),
    [
        ("exporter/compiler/kernels/conv1d.py", True),
        ("exporter/compiler/passes.py", True),
        ("exporter/compiler/a_new_file.py", True),
        ("exporter/compiler/data/tuning.json", True),
        ("runtime_min/format/signatures.py", True),
        ("exporter/cli/main.py", False),
        ("exporter/tune.py", False),
        ("exporter/cli/bench.py", False),
        ("exporter/cli/validate.py", False),
        ("runtime_min/output/wav.py", False),
    ],
)
def test_a_changed_source_counts_where_it_can_change_a_library(tmp_path, file, matters):
    for package in ("exporter", "runtime_min"):
        shutil.copytree(PACKAGES / package, tmp_path / package, ignore=shutil.ignore_patterns("__pycache__"))
    before = compiler_digest(tmp_path)
    assert before == compiler_digest(tmp_path)
    with (tmp_path / file).open("a") as source:
        source.write("\n# changed\n")
    assert (compiler_digest(tmp_path) != before) == matters


def test_another_compiler_release_counts(monkeypatch):
    before = compiler_digest()
    monkeypatch.setattr(cache_module.importlib.metadata, "version", lambda name: "0.28.0")
    assert compiler_digest() != before
