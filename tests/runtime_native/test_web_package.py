"""The JavaScript of a bundle for the web: streams, aborts, lexicons and downloads, in Node."""

from __future__ import annotations

import hashlib
import io
import json
import re
import wave
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from exporter.native.node import find_node
from exporter.native.web_module import SCRIPTS, scripts
from runtime_min import Bundle, __version__
from runtime_min.format.verify import read_manifest
from tests.support.native.library import NAMES
from tests.support.tiny.web import Scripts, answering, run_node
from tests.support.web_server import Faults, serving

pytestmark = pytest.mark.skipif(find_node() is None, reason="Node is not installed: apt install nodejs")

TEXT = "One sentence is here. Another one follows it, and it is longer. The third one ends it."
START = """
const { Bundle, KokoroError, encodeWav } = await import(`${process.argv[2]}/web/kokoro.mjs`);
const show = (value) => console.log(JSON.stringify(value));
"""
FETCH = """
const part = (name) => import(`${process.argv[2]}/web/${name}`);
const [{ Store }, { Speaker }] = [await part("store.mjs"), await part("speaker.mjs")];
try {
  let last = null;
  const store = new Store(address, { onProgress: (progress) => (last = progress) });
  const speaker = await Speaker.load(store, options);
  const { samples } = await speaker.synthesize({ phonemes: "həlˈO", voice: "af_heart" });
  console.log(JSON.stringify({ samples: Array.from(samples), last }));
} catch (error) {
  console.log(JSON.stringify({ error: error.name, message: error.message }));
}
"""


@pytest.fixture
def server(web_bundle: Path) -> Iterator[tuple[str, Faults]]:
    with serving({"/bundle/": web_bundle}) as found:
        yield found


@pytest.fixture(scope="module")
def node(web_bundle: Path) -> Iterator[Scripts]:
    with answering(web_bundle) as scripts:
        yield scripts


@pytest.fixture(scope="module")
def samples(node: Scripts) -> list[float]:
    said = 'return Array.from((await bundle.synthesize(null, { phonemes: "həlˈO" })).samples);'
    found: list[float] = node.run(said)
    return found


def test_a_stream_in_one_pass_has_the_samples_of_the_whole(node: Scripts, web_bundle: Path) -> None:
    script = """
    const whole = await bundle.synthesize(text);
    const pieces = [];
    for await (const piece of bundle.stream(text, { onePass: true, trim: false })) pieces.push(piece);
    const other = [];
    for await (const piece of bundle.stream(text)) other.push(piece);
    const flat = (name) => pieces.flatMap((piece) => Array.from(piece[name]));
    return {
      equal: String(flat("samples")) === String(Array.from(whole.samples)),
      words: JSON.stringify(flat("words")) === JSON.stringify(whole.words),
      pieces: pieces.length, other: other.length,
      facts: [bundle.voices, bundle.maxPhonemes, bundle.synthetic],
    };
    """
    found = node.run(script, text=TEXT)
    assert found["equal"] and found["words"]
    assert found["other"] >= found["pieces"] > 0
    manifest = read_manifest(web_bundle)
    assert found["facts"] == [[voice.name for voice in manifest.voices], 20, True]


def test_threads_change_no_bit(web_bundle: Path) -> None:
    script = """
    const found = [];
    for (const threads of [1, 2, 3, 7, undefined]) {
      const bundle = await Bundle.load(process.argv[2], { threads });
      // Threads join whenever they have started.
      for (let each = 0; each < 5; each++) {
        found.push(String((await bundle.synthesize(null, said)).samples));
        await new Promise((resolve) => setTimeout(resolve, 30));
      }
      if (bundle.threads !== (threads ?? Math.min(availableParallelism(), 8))) found.push(bundle.threads);
      bundle.close();
    }
    const refuse = (threads) => Bundle.load(process.argv[2], { threads }).catch((error) => error.name);
    show([found.length, new Set(found).size, await Promise.all([0, 65, 1.5, "2"].map(refuse))]);
    """
    start = 'import { availableParallelism } from "node:os";\n' + START
    said = {"phonemes": "abc abcabc. " * 2}
    assert run_node(start + script, web_bundle, said=said) == [25, 1, ["ThreadsError"] * 4]


def test_a_helper_computes_parts_of_kernels(web_bundle: Path) -> None:
    script = """
    const part = (name) => `${process.argv[2]}/web/${name}`;
    const [{ Store }, { Speaker }] = [await import(part("directory.mjs")), await import(part("speaker.mjs"))];
    const speaker = await Speaker.load(new Store(process.argv[2]));
    const speak = async () => String((await speaker.synthesize({ phonemes: "abc abc" })).samples);
    const alone = await speak();
    const helper = new Worker(part("helper.mjs"), { execArgv: [] });
    helper.postMessage(speaker.module.forHelper());
    const { kokoro_web_helped } = speaker.module.exports;
    const parts = [kokoro_web_helped()];
    const found = new Set([alone]);
    // It has to start first.
    for (let each = 0; each < 1000 && kokoro_web_helped() < 50; each++) {
      found.add(await speak());
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    parts.push(kokoro_web_helped() >= 50);
    // A helper that ends in the midst of a kernel tells it.
    await helper.terminate();
    speaker.module.exports.kokoro_web_lose();
    const before = kokoro_web_helped();
    found.add(await speak());
    show([...parts, kokoro_web_helped() === before, found.size]);
    """
    start = 'import { Worker } from "node:worker_threads";\n' + START
    assert run_node(start + script, web_bundle) == [0, True, True, 1]


def test_an_abort_rejects_at_once_and_leaves_the_bundle_usable(web_bundle: Path) -> None:
    script = """
    const bundle = await Bundle.load(process.argv[2]);
    const controller = new AbortController();
    const found = [];
    try {
      for await (const piece of bundle.stream(text.repeat(20), { signal: controller.signal })) {
        found.push(piece.start);
        controller.abort();
      }
    } catch (error) {
      found.push(error.name);
    }
    const early = await bundle.synthesize(text, { signal: AbortSignal.abort() }).catch((error) => error.name);
    const { samples } = await bundle.synthesize("Still here.");
    bundle.close();
    const closed = await bundle.synthesize("Gone.").catch((error) => error.name);
    show({ found, early, samples: samples.length, closed });
    """
    found = run_node(START + script, web_bundle, text=TEXT)
    assert found["found"] == [0, "AbortError"]
    assert found["early"] == "AbortError" and found["samples"] > 0
    assert found["closed"] == "ClosedBundleError"


def test_a_speech_that_is_stopped_ends_within_a_stage_and_no_other_does(web_bundle: Path) -> None:
    script = """
    const part = (name) => import(`${process.argv[2]}/web/${name}`);
    const [{ Store }, { Speaker }] = [await part("directory.mjs"), await part("speaker.mjs")];
    const speaker = await Speaker.load(new Store(process.argv[2]));
    const { module } = speaker;
    const request = { phonemes: "abc abc" };
    const whole = String((await speaker.synthesize(request)).samples);
    // As a page writes it while this thread computes.
    Atomics.store(module.speeches, 1, 7);
    const found = [];
    for (const number of [7, 8, 0]) {
      const speech = module.open({ ...request, onePass: true, trim: false }, number);
      try {
        found.push(String(speech.next().samples) === whole);
      } catch (error) {
        found.push(error.name);
      }
      speech.close();
    }
    show(found);
    """
    assert run_node(START + script, web_bundle) == ["CancelledError", True, True]


@pytest.mark.parametrize("options", [{"warmUp": False}, {}, {"threads": 1}], ids=str)
def test_stages_that_ran_unheard_change_no_sample(
    web_bundle: Path, samples: list[float], options: dict[str, object]
) -> None:
    script = """
    const bundle = await Bundle.load(process.argv[2], options);
    await new Promise((resolve) => setTimeout(resolve, 300));
    show(Array.from((await bundle.synthesize(null, { phonemes: "həlˈO" })).samples));
    """
    assert run_node(START + script, web_bundle, options=options) == samples


def test_a_stream_that_is_left_early_ends(node: Scripts) -> None:
    script = """
    for await (const piece of bundle.stream(text.repeat(20))) break;
    return (await bundle.synthesize("Still here.")).samples.length;
    """
    assert node.run(script, text=TEXT) > 0


def test_text_that_arrives_bit_by_bit_is_spoken(node: Scripts, reading_bundle: Path) -> None:
    script = """
    async function* tokens() {
      for (const token of text.match(/.{1,5}/g)) yield token;
    }
    const samples = [];
    for await (const piece of bundle.stream(tokens())) samples.push(...piece.samples);
    const halves = [];
    // Halves of characters too: an emoji has two.
    for await (const piece of bundle.stream(smiling.split(""))) halves.push(...piece.samples);
    const controller = new AbortController();
    async function* endless() {
      yield "Wait for more";
      setTimeout(() => controller.abort(), 50);
      await new Promise(() => {});
    }
    let error = null;
    try {
      for await (const piece of bundle.stream(endless(), { signal: controller.signal }));
    } catch (thrown) {
      error = thrown.name;
    }
    const wrong = bundle.stream([3]).next().catch((thrown) => thrown.name);
    const later = (await bundle.synthesize("Later.")).samples.length;
    return { samples, halves, error, wrong: await wrong, later };
    """
    smiling = "Fine 🙂 it is. Good. 🙂"
    found = node.run(script, text=TEXT, smiling=smiling)
    with Bundle.load(reading_bundle) as here:
        for name, text in (("samples", TEXT), ("halves", smiling)):
            with here.stream(iter([text])) as stream:
                expected = np.concatenate([piece.samples for piece in stream])
            np.testing.assert_array_equal(np.array(found[name], np.float32), expected)
    assert (found["error"], found["wrong"]) == ("AbortError", "ArgumentTypeError")
    assert found["later"] > 0


def test_errors_have_the_names_of_the_header(web_bundle: Path) -> None:
    codes = {code: name for code, name in NAMES.items() if code}
    script = """
    const { errorName } = await import(`${process.argv[2]}/web/errors.mjs`);
    console.log(JSON.stringify(codes.map(errorName)));
    """
    expected = ["CancelledError" if name == "Cancelled" else name for name in codes.values()]
    assert run_node(script, web_bundle, codes=list(codes)) == expected


def test_a_lexicon_gives_the_phonemes_of_words(node: Scripts) -> None:
    script = """
    const say = async (text, options) => (await bundle.synthesize(text, options)).phonemes;
    return [
      await say("Hello GIF, gif's gif.", { lexicon: { gif: "ʤˈɪf" } }),
      await say("Hello [GIF](/ʤˈɪf/), gif's [gif](/ʤˈɪf/)."),
    ];
    """
    own, markup = node.run(script)
    assert own == markup
    assert own.count("ʤˈɪf") == 2


@pytest.mark.parametrize(
    ("request_", "error"),
    [
        ("bundle.synthesize('a', { voices: 'b' })", "UsageError"),
        ("bundle.synthesize(3)", "ArgumentTypeError"),
        ("bundle.synthesize('a', { speed: '2' })", "ArgumentTypeError"),
        ("bundle.synthesize('a', { seed: -1 })", "UsageError"),
        ("bundle.synthesize('<speak>a</speak>', { ssml: true, lexicon: {} })", "UsageError"),
        ("bundle.synthesize(null, { phonemes: 'a', voice: 'x' })", "UnknownVoiceError"),
        ("Bundle.load('/nowhere')", "MissingFileError"),
    ],
)
def test_wrong_calls_are_refused_by_type(node: Scripts, request_: str, error: str) -> None:
    script = f"""
    const found = await Promise.resolve().then(() => {request_}).catch((error) => error);
    return [found instanceof KokoroError, found.name, found.message.length > 20];
    """
    assert node.run(script) == [True, error, True]


def test_a_wav_file_has_the_samples(web_bundle: Path) -> None:
    script = "show(Array.from(encodeWav(Float32Array.of(0, 0.5, -1, 2))));"
    with wave.open(io.BytesIO(bytes(run_node(START + script, web_bundle)))) as file:
        assert (file.getframerate(), file.getnchannels(), file.getsampwidth()) == (24000, 1, 2)
        np.testing.assert_array_equal(np.frombuffer(file.readframes(9), "<i2"), [0, 16384, -32767, 32767])


def test_the_word_of_a_time_is_found(web_bundle: Path) -> None:
    script = """
    const { wordAt } = await import(`${process.argv[2]}/web/player.mjs`);
    const words = [{ start: 0, end: 1 }, { start: 1, end: 2 }, { start: 3, end: 4 }];
    console.log(JSON.stringify([-1, 0, 0.9, 1, 2.5, 3, 9].map((time) => words.indexOf(wordAt(words, time)))));
    """
    assert run_node(script, web_bundle) == [-1, 0, 0, 1, -1, 2, -1]


@pytest.mark.parametrize("fault", ["none", "drops", "no ranges", "unavailable", "pinned"])
def test_a_download_is_whole_in_spite_of_faults(
    web_bundle: Path, server: tuple[str, Faults], samples: list[float], fault: str
) -> None:
    address, faults = server
    faults.ranges = fault != "no ranges"
    if fault in ("drops", "no ranges"):
        faults.drop_after, faults.drops = 1000, 3
    faults.unavailable = 2 if fault == "unavailable" else 0
    options = {"manifestSha256": _digest(web_bundle)} if fault == "pinned" else {}
    found = run_node(FETCH, web_bundle, address=f"{address}/bundle", options=options)
    assert found.get("samples") == samples, found
    assert found["last"]["loaded"] == found["last"]["total"]
    wanted = {"/bundle/voices/af_heart.bin", "/bundle/parameters.bin"}
    assert wanted <= set(faults.requests)
    # What this speech does not need is not fetched.
    assert not [path for path in faults.requests if "text/" in path or "am_adam" in path]


@pytest.mark.parametrize("fault", ["missing", "damaged", "another", "down"])
def test_a_download_that_cannot_be_trusted_is_refused(
    web_bundle: Path, server: tuple[str, Faults], fault: str
) -> None:
    address, faults = server
    faults.down = fault == "down"
    path, options = ("nothing", {}) if fault == "missing" else ("bundle", {})
    if fault == "another":
        options = {"manifestSha256": "0" * 64}
    if fault == "damaged":
        faults.drop_after, faults.drops = 100, -1
    found = run_node(FETCH, web_bundle, address=f"{address}/{path}", options=options)
    assert found["error"] == ("ManifestDigestError" if fault == "another" else "DownloadError"), found


CACHE = """
const kept = new Map();
const cache = {
  match: async (place) => (kept.has(String(place)) ? new Response(kept.get(String(place))) : undefined),
  put: async (place, response) => {
    if (fault === "full") throw new DOMException("no room", "QuotaExceededError");
    const bytes = new Uint8Array(await response.arrayBuffer());
    if (fault === "damaged" && bytes.length) bytes[bytes.length >> 1] ^= 1;
    kept.set(String(place), bytes);
  },
  delete: async (place) => kept.delete(String(place)),
};
globalThis.caches = { open: async () => cache };
const { Store: Kept } = await import(`${process.argv[2]}/web/store.mjs`);
const { Speaker: Talker } = await import(`${process.argv[2]}/web/speaker.mjs`);
await (await Talker.load(new Kept(address), options)).synthesize({ phonemes: "həlˈO", voice: "af_heart" });
"""


@pytest.mark.parametrize("fault", ["none", "full", "damaged"])
def test_a_cache_that_fails_costs_a_download(
    web_bundle: Path, server: tuple[str, Faults], samples: list[float], fault: str
) -> None:
    address, faults = server
    values = {"address": f"{address}/bundle", "options": {"manifestSha256": _digest(web_bundle)}}
    found = run_node(CACHE + FETCH, web_bundle, fault=fault, **values)
    assert found.get("samples") == samples, found
    fetched = faults.requests.count("/bundle/parameters.bin")
    assert fetched == (1 if fault == "none" else 2)


def test_any_bytes_of_a_manifest_are_read_or_refused(web_bundle: Path) -> None:
    script = """
    const { readFileSync } = await import("node:fs");
    const { Manifest } = await import(`${process.argv[2]}/web/manifest.mjs`);
    const { KokoroError } = await import(`${process.argv[2]}/web/errors.mjs`);
    const sound = new Uint8Array(readFileSync(`${process.argv[2]}/manifest.msgpack`));
    let state = 1;
    const random = (below) => ((state = (state * 48271) % 2147483647) % below);
    const others = [];
    let read = 0, refused = 0;
    for (let number = 0; number < 2000; number++) {
      const bytes = sound.slice(0, number % 4 ? sound.length : random(sound.length));
      for (let change = 0; change <= number % 5; change++) bytes[random(bytes.length)] = random(256);
      try {
        const manifest = await Manifest.read(bytes);
        for (const path of manifest.files.keys()) manifest.parts(path);
        read++;
      } catch (error) {
        if (error instanceof KokoroError && error.message) refused++;
        else others.push(`${number}: ${error.stack}`);
      }
    }
    console.log(JSON.stringify({ read, refused, others }));
    """
    found = run_node(script, web_bundle)
    assert not found["others"]
    assert found["read"] > 10 and found["refused"] > 10


def test_a_page_fetches_at_most_60_kb_of_scripts() -> None:
    shipped = {path: data for path, data in scripts().items() if path.endswith(".mjs")}
    assert {path.removeprefix("web/") for path in shipped} == {path.name for path in SCRIPTS.glob("*.mjs")}
    assert sum(map(len, shipped.values())) <= 60_000


def test_the_package_has_the_version_and_imports_nothing_else() -> None:
    assert json.loads((SCRIPTS / "package.json").read_text("utf-8"))["version"] == __version__
    for script in SCRIPTS.glob("*.mjs"):
        code = script.read_text("utf-8")
        imported = re.findall(r"""(?:from|import\()\s*["']([^"']+)""", code)
        assert all(name.startswith(("./", "node:")) for name in imported), script
        assert {name for name in imported if name.startswith("./")} <= {
            f"./{each.name}" for each in SCRIPTS.iterdir()
        }


def _digest(bundle: Path) -> str:
    return hashlib.sha256((bundle / "manifest.msgpack").read_bytes()).hexdigest()
