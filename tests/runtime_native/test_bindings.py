"""The packages for Node, Rust and Java have what kokoro.h declares, and the version of the library."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest
import tomllib

from exporter.native import bindings
from exporter.native.node import find_node
from runtime_min import Audio, __version__
from tests.support.native.library import NAMES, Options, Request
from tests.support.tiny.web import run_node

HEADER = bindings.HEADER.read_text(encoding="utf-8")
GLUE = bindings.ANDROID / "jni" / "kokoro_jni.c"


@pytest.mark.parametrize("path", bindings.files(), ids=lambda path: f"{path.parent.name}-{path.name}")
def test_the_packages_have_what_the_header_declares(path: Path) -> None:
    assert path.read_text(encoding="utf-8") == bindings.files()[path], (
        "run python -m exporter.native.bindings"
    )


def test_nothing_of_the_header_is_overlooked() -> None:
    header = bindings.read_header(HEADER)
    code = re.sub(r"/\*.*?\*/", "", HEADER, flags=re.DOTALL)
    assert {each.name for each in header.functions} == set(re.findall(r"\b(kokoro_\w+)\(", code))
    named = {*header.handles, *header.structs, *(each.name for each in header.callbacks), "kokoro_error"}
    assert named == set(re.findall(r"typedef (?:struct|enum|int) \(?\*?(kokoro_\w+)", code))
    assert header.errors.keys() == NAMES.keys()
    for struct, fields in (("kokoro_options", Options), ("kokoro_request", Request)):
        assert [each.name for each in header.structs[struct]] == [name for name, *_ in fields._fields_]


@pytest.mark.parametrize(
    "declared",
    [
        "KOKORO_API int kokoro_sum(int numbers[2]);",
        "KOKORO_API int (*kokoro_find(int number))(void);",
        "typedef struct kokoro_pair { char *first, *second; } kokoro_pair;",
        "typedef struct kokoro_flags { int first : 1; } kokoro_flags;",
    ],
)
def test_a_declaration_of_another_kind_is_refused(declared: str) -> None:
    with pytest.raises(bindings.HeaderError, match=r"found|declared as"):
        bindings.read_header(declared)


def test_a_new_error_comes_to_java() -> None:
    made = bindings.java_class(bindings.read_header(HEADER.replace("508,", "508, KOKORO_HEAT_ERROR = 509,")))
    assert "int HEAT_ERROR = 509;" in made and 'case HEAT_ERROR: return "HeatError";' in made


def test_java_calls_every_function() -> None:
    called = set(re.findall(r"\b(kokoro_\w+)\(", GLUE.read_text(encoding="utf-8")))
    # It copies samples into Java, and writes files there.
    assert {each.name for each in bindings.read_header(HEADER).functions} - called == {"kokoro_write_wav"}


def test_a_new_field_comes_to_both_packages() -> None:
    header = bindings.read_header(HEADER.replace("int one_pass;", "int one_pass; const int64_t *marks;"))
    assert '  one_pass: "int",\n  marks: "const int64_t *",\n' in bindings.node_module(header)
    assert "    pub one_pass: c_int,\n    pub marks: *const i64,\n" in bindings.rust_module(header)


@pytest.mark.parametrize(
    ("struct", "path"),
    [
        ("kokoro_options", bindings.NODE / "request.mjs"),
        ("kokoro_request", bindings.NODE / "request.mjs"),
        ("kokoro_audio", bindings.NODE / "worker.mjs"),
        ("kokoro_options", bindings.RUST / "src" / "bundle.rs"),
        ("kokoro_request", bindings.RUST / "src" / "request.rs"),
        ("kokoro_audio", bindings.RUST / "src" / "audio.rs"),
        ("kokoro_options", GLUE),
        ("kokoro_request", GLUE),
        ("kokoro_audio", GLUE),
    ],
    ids=lambda each: each if isinstance(each, str) else each.name,
)
def test_the_packages_use_every_field(struct: str, path: Path) -> None:
    fields = {each.name for each in bindings.read_header(HEADER).structs[struct]}
    used = re.findall(r"\b(\w+):|(?:\.|->)(\w+)|\b(\w+),$", path.read_text(encoding="utf-8"), re.MULTILINE)
    assert fields <= {name for names in used for name in names}


def test_the_packages_have_the_version_of_the_library() -> None:
    assert json.loads((bindings.NODE / "package.json").read_text("utf-8"))["version"] == __version__
    assert (
        tomllib.loads((bindings.RUST / "Cargo.toml").read_text("utf-8"))["package"]["version"] == __version__
    )


@pytest.mark.skipif(find_node() is None, reason="Node is not installed: apt install nodejs")
def test_javascript_rounds_samples_as_python_does() -> None:
    halves = (np.arange(-32768, 32768) + 0.5) / 32767
    near = np.nextafter(halves.astype(np.float32), np.float32(2))
    random = np.random.default_rng(1).uniform(-1.2, 1.2, 50_000)
    samples = np.concatenate([halves, near, random, [-0.0, 1e-40]]).astype(np.float32)
    script = """
    const { pcm16 } = await import(process.argv[2]);
    console.log(JSON.stringify(Array.from(pcm16(Float32Array.from(samples)))));
    """
    made = run_node(script, bindings.SOURCES / "web" / "wav.mjs", samples=samples.tolist())
    expected = np.frombuffer(Audio(samples, 24_000, np.zeros(0, np.int64)).pcm16(), "<i2")
    np.testing.assert_array_equal(made, expected)
