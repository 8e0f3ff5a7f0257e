"""The module of a bundle for the web speaks in Node with the bits of the other runtimes, or refuses."""

from __future__ import annotations

import re
import shutil
import subprocess
import textwrap
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from exporter.bundle.pack import pack_bundle
from exporter.bundle.sign import sign_bundle
from exporter.compiler.targets import find_target
from exporter.native.node import NodeMissingError, find_node, require_node
from exporter.native.web_module import link_module
from exporter.parity.web_bundle import WebBundle
from exporter.reference.utterances import Utterance
from runtime_min import Bundle
from runtime_min.bundle_command.unpack import unpack_archive
from runtime_min.errors import ExecutionError, PlatformError
from runtime_min.format.origin import origin_checks, read_key
from runtime_min.format.verify import read_manifest, verify_bundle
from tests.exporter.bundle.test_sign import make_key
from tests.support.tiny.web import FILE, Scripts, answering, run_node

pytestmark = pytest.mark.skipif(find_node() is None, reason="Node is not installed: apt install nodejs")

SAID = Utterance("abc", "af_heart", 1.0, seed=2**64 - 1)
SPEAK = """
const { text, ...rest } = request;
try {
  const audio = await bundle.synthesize(text, rest);
  return { ...audio, samples: Array.from(audio.samples) };
} catch (error) {
  return { error: error.name };
}
"""
REFUSE = """
const { Bundle } = await import(`${process.argv[2]}/web/kokoro.mjs`);
try {
  const bundle = await Bundle.load(process.argv[2], options);
  const audio = await bundle.synthesize(null, { phonemes: "abc" });
  console.log(JSON.stringify({ samples: audio.samples.length }));
} catch (error) {
  console.log(JSON.stringify({ error: error.name, kind: error.kind, message: error.message }));
}
"""


@pytest.fixture(scope="module")
def bundle(web_bundle: Path) -> Path:
    return web_bundle


@pytest.fixture(scope="module")
def node(bundle: Path) -> Iterator[Scripts]:
    with answering(bundle) as scripts:
        yield scripts


@pytest.fixture
def copy(bundle: Path, tmp_path: Path) -> Path:
    """The bundle, to be damaged."""
    return shutil.copytree(bundle, tmp_path / "copy")


def test_stages_and_chain_have_the_bits_of_other_systems(bundle: Path, reading_bundle: Path) -> None:
    with Bundle.load(reading_bundle) as here, WebBundle.open(bundle) as web:
        said = (SAID.phonemes, SAID.voice, SAID.speed, SAID.seed)
        np.testing.assert_array_equal(here.trace(*said).audio, web.trace(*said).audio)
        assert web.compare_chains(SAID).holds


def test_the_readmes_program_speaks(copy: Path) -> None:
    # The tiny model has other phonemes.
    readme = (copy / "README.txt").read_text(encoding="utf-8").replace("həlˈO wˈɜɹld.", "abc cab")
    program = textwrap.dedent(
        "".join(re.findall(r"^    .*\n", readme.partition("Every file")[0], re.MULTILINE))
    )
    (copy / "speak.mjs").write_text(f"{program}console.log(audio.samples.length);", encoding="utf-8")
    done = subprocess.run(
        [find_node() or "", "speak.mjs"], cwd=copy, capture_output=True, text=True, check=True
    )
    assert int(done.stdout) > 1_000


def test_a_failure_of_a_stage_names_it(bundle: Path) -> None:
    with WebBundle.open(bundle) as web, pytest.raises(ExecutionError, match="decoder"):
        web._worker.ask("decoder", {"stage": "decoder", "length": 3, "outputs": 1}, [np.zeros(1, np.float32)])


@pytest.mark.parametrize(
    "request_",
    [
        {"phonemes": "abcabc" * 20, "voice": "af_heart", "speed": 0.9},
        {"text": "In 2025 she read $4.50, and left.", "voice": "af_heart"},
        {"text": "<speak>a <break time='0.5s'/> b</speak>", "ssml": True},
        {"phonemes": "abc", "voice": "af_heart*0.7+am_adam*0.3", "sentence_pause": 0.5},
    ],
)
def test_speech_is_that_of_python(node: Scripts, reading_bundle: Path, request_: dict[str, object]) -> None:
    names = {"sentence_pause": "sentencePause"}
    given = {names.get(name, name): value for name, value in request_.items()}
    found = node.run(SPEAK, request=given)
    text = request_.pop("text", None)
    with Bundle.load(reading_bundle) as here:
        expected = here.synthesize(text, **request_)  # type: ignore[arg-type]
    assert found["phonemes"] == expected.phonemes
    np.testing.assert_array_equal(np.array(found["samples"], np.float32), expected.samples)
    words = [(word.text, word.start, word.end) for word in expected.words]
    assert [(word["text"], word["start"], word["end"]) for word in found["words"]] == words


@pytest.mark.parametrize("path", ["parameters.bin", FILE, "voices/af_heart.bin", "manifest.msgpack"])
@pytest.mark.parametrize("damage", ["flip", "cut", "remove"])
def test_damaged_files_are_refused(copy: Path, path: str, damage: str) -> None:
    file = copy / path
    content = bytearray(file.read_bytes())
    # In the middle, the manifest has texts that nothing decides on; whoever pins it has them compared.
    content[0 if path.endswith(".msgpack") else len(content) // 2] ^= 1
    if damage == "remove":
        file.unlink()
    else:
        file.write_bytes(content if damage == "flip" else content[: len(content) // 2])
    found = run_node(REFUSE, copy, options={})
    assert found.get("kind") == "BundleError", found
    assert found["message"]


@pytest.mark.parametrize(
    ("request_", "error"),
    [
        ({"phonemes": "abc", "voice": "nobody"}, "UnknownVoiceError"),
        ({"phonemes": "abc", "speed": 9}, "SpeedError"),
        ({"phonemes": "abc", "speed": 0}, "SpeedError"),
        ({"phonemes": ""}, "EmptyInputError"),
        ({"text": "<speak>", "ssml": True}, "MarkupError"),
        ({}, "UsageError"),
    ],
)
def test_wrong_requests_are_refused_by_type(node: Scripts, request_: dict[str, object], error: str) -> None:
    assert node.run(SPEAK, request=request_)["error"] == error


def test_another_manifest_than_the_pinned_one_is_refused(bundle: Path) -> None:
    found = run_node(REFUSE, bundle, options={"manifestSha256": "0" * 64})
    assert found["error"] == "ManifestDigestError"


def test_other_tools_know_the_bundle(bundle: Path, tmp_path: Path) -> None:
    assert read_manifest(bundle).target.system == "web"
    with pytest.raises(PlatformError, match="web"):
        Bundle.load(bundle)
    archive = tmp_path / "web.tar.gz"
    pack_bundle(bundle, archive)
    unpack_archive(archive, tmp_path / "unpacked")
    assert (tmp_path / "unpacked" / FILE).read_bytes() == (bundle / FILE).read_bytes()
    private, public = make_key(tmp_path, "maker")
    sign_bundle(bundle, private, tmp_path / "signature")
    checks = origin_checks(bundle, key=read_key(public), signature=tmp_path / "signature")
    assert verify_bundle(bundle, *checks).target.system == "web"


@pytest.mark.parametrize("version", ["v18.2.0", "nonsense", None])
def test_a_node_that_is_absent_or_too_old_is_named(
    version: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "node"
    if version:
        program.write_text(f"#!/bin/sh\necho {version}\n")
        program.chmod(0o700)
    monkeypatch.setenv("NODE", str(program))
    with pytest.raises(NodeMissingError, match="Node 20 or later"):
        require_node()


def test_the_module_is_the_same_wherever_it_is_linked(bundle: Path, tmp_path: Path) -> None:
    libraries = sorted((bundle.parent / "libraries").glob("*.a"))
    link_module(libraries, find_target("web"), tmp_path / "again.wasm")
    assert (tmp_path / "again.wasm").read_bytes() == (bundle / FILE).read_bytes()
