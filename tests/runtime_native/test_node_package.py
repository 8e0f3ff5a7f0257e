"""The package for Node, installed as its users install it."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from exporter.native.bindings import NODE
from exporter.native.node import find_node
from runtime_min import Audio, Bundle
from runtime_min.format.verify import read_manifest
from tests.support.native.examples import run, speak
from tests.support.tiny.web import run_node

pytestmark = [
    pytest.mark.machines,
    pytest.mark.skipif(find_node() is None, reason="Node is not installed: apt install nodejs"),
]

TYPESCRIPT = "typescript@7.0.2"
NPM = ["npm", "--no-audit", "--no-fund", "--loglevel=error"]
TEXT = "One sentence is here. Another one follows it, and it is longer. The third one ends it."
START = """
const { Bundle, FLUSH, KokoroError, encodeWav, wavHeader } = await import("@kokoro-export/node");
const bundle = await Bundle.load(process.argv[2]);
const show = (value) => console.log(JSON.stringify(value));
const all = async (pieces) => {
  const samples = [];
  for await (const piece of pieces) samples.push(...piece.samples);
  return samples;
};
"""


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with nothing but the installed package."""
    place = tmp_path_factory.mktemp("app")
    (packed,) = run([*NPM, "pack", NODE], place).split()
    run([*NPM, "install", f"./{packed}"], place)
    return place


def node(app: Path, bundle: Path, script: str, **values: object) -> Any:
    """Runs a script with a loaded bundle, and returns what it shows."""
    return run_node(START + script, bundle, directory=app, text=TEXT, **values)


def test_the_example_writes_the_file_that_python_writes(
    app: Path, complete_bundle: Path, expected: Audio, tmp_path: Path
) -> None:
    shutil.copytree(app, tmp_path, dirs_exist_ok=True)
    shutil.copy(NODE / "examples" / "speak.mjs", tmp_path)
    speak(["node", "speak.mjs", complete_bundle], tmp_path, expected)


def test_speech_has_the_bits_and_times_of_python(app: Path, complete_bundle: Path) -> None:
    script = """
    const options = { speed: 1.2, seed: 2n ** 64n - 1n, voice, sentencePause: 0.1 };
    const { samples, ...whole } = await bundle.synthesize(text, options);
    const streamed = await all(bundle.stream(text, { ...options, onePass: true, trim: false, steady: true }));
    const trimmed = await all(bundle.stream(text, { endPause: 0 }));
    const { voices, maxPhonemes, synthetic } = bundle;
    show({ samples: Array.from(samples), whole, streamed, trimmed, facts: [voices, maxPhonemes, synthetic] });
    """
    voice = "af_heart*0.7+am_adam*0.3"
    found = node(app, complete_bundle, script, voice=voice)
    with Bundle.load(complete_bundle) as here:
        spoken = here.synthesize(TEXT, voice, speed=1.2, seed=2**64 - 1, sentence_pause=0.1)
        with here.stream(TEXT, end_pause=0) as stream:
            trimmed = np.concatenate([piece.samples for piece in stream])
    for name, samples in (("samples", spoken.samples), ("streamed", spoken.samples), ("trimmed", trimmed)):
        np.testing.assert_array_equal(np.array(found[name], np.float32), samples)
    whole = found["whole"]
    assert whole["phonemes"] == spoken.phonemes and whole["sampleRate"] == spoken.sample_rate
    for name in ("words", "tokens"):
        assert [each["text"] for each in whole[name]] == [each.text for each in getattr(spoken, name)]
        times = [(each.start, each.end) for each in getattr(spoken, name)]
        np.testing.assert_allclose([(each["start"], each["end"]) for each in whole[name]], times)
    assert whole["durations"] == list(spoken.durations)
    assert found["facts"] == [[voice.name for voice in read_manifest(complete_bundle).voices], 20, True]


def test_the_event_loop_runs_while_the_library_computes(app: Path, complete_bundle: Path) -> None:
    script = """
    let ticks = 0;
    setInterval(() => ticks++, 1).unref();
    const during = async (work) => {
      ticks = 0;
      await work();
      return ticks;
    };
    show([
      await during(() => Bundle.load(process.argv[2])),
      await during(() => bundle.check(text.repeat(500))),
      await during(() => bundle.synthesize(text.repeat(10))),
      await during(async () => all(bundle.stream(text.repeat(10)))),
      await during(async () => all(bundle.stream(Array.from(text.repeat(3))))),
    ]);
    """
    assert all(ticks > 1 for ticks in node(app, complete_bundle, script))


def test_the_library_computes_no_more_than_is_taken(app: Path, complete_bundle: Path) -> None:
    script = """
    const microseconds = () => Object.values(process.cpuUsage()).reduce((sum, each) => sum + each);
    for await (const piece of bundle.stream(text.repeat(100_000))) {
      // A library that did not wait would compute for hours.
      for (let used = Infinity; used > 20_000; ) {
        const before = microseconds();
        await new Promise((resolve) => setTimeout(resolve, 100));
        used = microseconds() - before;
      }
      break;
    }
    const pieces = [];
    for await (const { start, lead } of bundle.stream(text.repeat(4))) pieces.push({ start, lead });
    show(pieces);
    """
    pieces = node(app, complete_bundle, script)
    starts = [piece["start"] for piece in pieces]
    assert len(pieces) > 2 and starts == sorted(starts)
    assert pieces[0]["lead"] == 0 and all(piece["lead"] for piece in pieces[1:])


def test_calls_share_a_bundle(app: Path, complete_bundle: Path) -> None:
    script = """
    const alone = String((await bundle.synthesize(text)).samples);
    const together = await Promise.all(Array.from({ length: 6 }, () => bundle.synthesize(text)));
    show(together.map(({ samples }) => String(samples) === alone));
    """
    assert node(app, complete_bundle, script) == [True] * 6


def test_an_abort_rejects_at_once_and_leaves_the_bundle_usable(app: Path, complete_bundle: Path) -> None:
    script = """
    const long = text.repeat(200);
    const controller = new AbortController();
    const found = [];
    try {
      for await (const piece of bundle.stream(long, { signal: controller.signal })) {
        found.push(piece.start);
        controller.abort();
      }
    } catch (error) {
      found.push(error.name);
    }
    const late = new AbortController();
    setTimeout(() => late.abort(new Error("enough")), 20);
    found.push(await bundle.synthesize(long, { signal: late.signal }).catch((error) => error.message));
    found.push(await bundle.synthesize(text, { signal: AbortSignal.abort() }).catch((error) => error.name));
    for await (const piece of bundle.stream(long)) break;
    show({ found, samples: (await bundle.synthesize("Still here.")).samples.length });
    """
    found = node(app, complete_bundle, script)
    assert found["found"] == [0, "AbortError", "enough", "AbortError"]
    assert found["samples"] > 0


def test_a_bundle_that_is_closed_speaks_no_more(app: Path, complete_bundle: Path) -> None:
    script = """
    const { readFileSync } = await import("node:fs");
    const mapped = () => readFileSync("/proc/self/maps", "utf8").includes("parameters.bin");
    const speech = bundle.stream(text.repeat(200));
    await speech.next();
    const running = bundle.synthesize(text.repeat(200)).catch((error) => error.name);
    const before = mapped();
    bundle.close();
    bundle[Symbol.dispose]();
    const rest = await all(speech).catch((error) => error.name);
    const later = await bundle.synthesize("Gone.").catch((error) => error.name);
    while (mapped()) await new Promise((resolve) => setTimeout(resolve, 5));
    show([before, await running, rest, later]);
    """
    closed = "ClosedBundleError"
    assert node(app, complete_bundle, script) == [True, closed, closed, closed]


def test_a_bundle_that_is_forgotten_is_freed(app: Path, complete_bundle: Path, tmp_path: Path) -> None:
    script = """
    import { readFileSync } from "node:fs";
    import { Bundle } from "@kokoro-export/node";
    const mapped = () => readFileSync("/proc/self/maps", "utf8").includes("parameters.bin");
    await (await Bundle.load(process.argv[2])).synthesize("Hello.");
    console.log(mapped());
    while (mapped()) {
      gc();
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    """
    (app / "forgotten.mjs").write_text(script)
    assert run(["node", "--expose-gc", "forgotten.mjs", complete_bundle], app) == "true\n"


@pytest.mark.parametrize("end", ["process.exit(3)", "throw new Error('of the app')", "break"])
def test_a_process_ends_in_the_middle_of_a_stream(app: Path, complete_bundle: Path, end: str) -> None:
    # A thread that went on to the end of this text would need hours.
    script = f"for await (const piece of bundle.stream(text.repeat(100_000))) {end};"
    command = ["node", "--input-type=module", "-", str(complete_bundle)]
    done = subprocess.run(
        command,
        cwd=app,
        input=f"const text = {TEXT!r};{START}{script}",
        text=True,
        capture_output=True,
        timeout=120,
    )
    assert done.returncode == {"process.exit(3)": 3, "break": 0}.get(end, 1), done.stderr
    assert ("of the app" in done.stderr) == end.startswith("throw")


def test_text_that_arrives_bit_by_bit_is_spoken(app: Path, complete_bundle: Path) -> None:
    script = """
    async function* tokens() {
      for (const token of text.match(/.{1,5}/g)) {
        await new Promise((resolve) => setTimeout(resolve, 1));
        yield token;
      }
    }
    // The halves of a character come apart.
    const [first, second] = "😀".split("");
    show({
      late: await all(bundle.stream(tokens())),
      cut: await all(bundle.stream(["It ", first, second, "."])),
      flushed: await all(bundle.stream(["Wait for", FLUSH, " it."])),
    });
    """
    found = node(app, complete_bundle, script)
    with Bundle.load(complete_bundle) as here:
        for name, parts in (("late", [TEXT]), ("cut", ["It 😀."])):
            with here.stream(iter(parts)) as stream:
                samples = np.concatenate([piece.samples for piece in stream])
            np.testing.assert_array_equal(np.array(found[name], np.float32), samples)
    assert found["flushed"]


def test_a_text_that_never_ends_is_left(app: Path, complete_bundle: Path) -> None:
    script = """
    const controller = new AbortController();
    let returned = 0;
    const endless = {
      [Symbol.asyncIterator]: () => ({
        calls: 0,
        next() {
          if (this.calls++ === 0) return Promise.resolve({ value: "Wait for more", done: false });
          setTimeout(() => controller.abort(), 20);
          return new Promise(() => {});
        },
        return: async () => ({ done: (returned++, true) }),
      }),
    };
    const name = (pieces) => all(pieces).catch((error) => error.name + ": " + error.message);
    const aborted = await name(bundle.stream(endless, { signal: controller.signal }));
    async function* failing() {
      yield "One sentence is here. ";
      throw new RangeError("of the app");
    }
    show({
      aborted, returned,
      failed: await name(bundle.stream(failing())),
      wrong: await name(bundle.stream([3])),
      unspeakable: await name(bundle.stream(["[Hello](/ж/) and", " more words. And", ...text])),
      whole: await name(bundle.stream(["a"], { ssml: true })),
      later: (await bundle.synthesize("Later.")).samples.length,
    });
    """
    found = node(app, complete_bundle, script)
    assert found["aborted"].startswith("AbortError") and found["returned"] == 1
    assert found["failed"] == "RangeError: of the app"
    assert found["wrong"] == "ArgumentTypeError: The text must be a string, found number."
    assert found["unspeakable"].startswith("UnknownPhonemesError") and "ж" in found["unspeakable"]
    assert found["whole"].startswith("UsageError: The option ssml needs a whole text")
    assert found["later"] > 0


@pytest.mark.parametrize(
    ("call", "error"),
    [
        ("bundle.synthesize('a', { voices: 'b' })", "UsageError"),
        ("bundle.synthesize(3)", "ArgumentTypeError"),
        ("bundle.synthesize('a\\0b')", "ArgumentTypeError"),
        ("bundle.stream('a', { speed: '2' })", "ArgumentTypeError"),
        ("bundle.synthesize('a', { seed: -1 })", "UsageError"),
        ("bundle.synthesize('a', { speed: 0 })", "SpeedError"),
        ("bundle.synthesize('a', { loudness: 0 })", "LoudnessError"),
        ("bundle.check('a', { sentencePause: 61 })", "PauseError"),
        ("bundle.synthesize(null)", "UsageError"),
        ("bundle.synthesize('a', { phonemes: 'a' })", "UsageError"),
        ("bundle.synthesize(null, { phonemes: 'a', voice: 'x' })", "UnknownVoiceError"),
        ("bundle.stream('[Hello](/ж/)').next()", "UnknownPhonemesError"),
        ("bundle.check('[Hello](/ж/)')", "UnknownPhonemesError"),
        ("Bundle.load('/nowhere')", "LibraryLoadError"),
        ("Bundle.load('/nowhere', { library })", "MissingFileError"),
        ("Bundle.load(process.argv[2], { library, manifestSha256: '0'.repeat(64) })", "ManifestDigestError"),
        ("Bundle.load(process.argv[2], { manifestSha256: '0'.repeat(64) })", "UsageError"),
        ("Bundle.load(process.argv[2], { threads: 1.5 })", "ThreadsError"),
        ("Bundle.load(process.argv[2], { cache: false })", "UsageError"),
        ("Promise.resolve().then(() => wavHeader(2 ** 31))", "OutputError"),
    ],
)
def test_wrong_calls_are_refused_by_type(app: Path, complete_bundle: Path, call: str, error: str) -> None:
    script = f"""
    const library = `${{process.argv[2]}}/native/libkokoro.so`;
    const found = await Promise.resolve().then(() => {call}).catch((error) => error);
    show([found instanceof KokoroError, found.name, found.message.length > 20, found.code, found.kind]);
    """
    is_ours, name, has_message, code, kind = node(app, complete_bundle, script)
    assert (is_ours, name, has_message) == (True, error, True)
    kinds = {2: "UsageError", 3: "InputError", 4: "BundleError", 5: "MachineError", 6: "OutputError"}
    assert kind == kinds[code // 100]


TYPED = """
import { Audio, Bundle, FLUSH, KokoroError, SpeechOptions, Timing } from "@kokoro-export/node";
import { encodeWav, pcm16 } from "@kokoro-export/node";

const { signal } = new AbortController();
const options: SpeechOptions = { voice: "af_heart", speed: 1.1, seed: 2n, signal };
async function* tokens() {
  yield "Hello";
  yield FLUSH;
}
export async function main(): Promise<Uint8Array> {
  using bundle: Bundle = await Bundle.load(new URL("file:///bundle"), { threads: 2, manifestSha256: "0" });
  const audio: Audio = await bundle.synthesize("Hello", options);
  const first: Timing | undefined = audio.words[0];
  for await (const piece of bundle.stream(tokens(), options)) pcm16(piece.samples);
  for await (const piece of bundle.stream(["Hello"])) console.log(piece.lead, first?.text);
  await bundle.check(null, { phonemes: "a" });
  return encodeWav(audio.samples);
}
export const describe = (error: unknown): string => (error instanceof KokoroError ? error.kind : "");

export async function refused(bundle: Bundle): Promise<void> {
  // @ts-expect-error there is no such option
  await bundle.synthesize("Hello", { voices: "af_heart" });
  // @ts-expect-error a speed is a number
  bundle.stream("Hello", { speed: "1" });
  // @ts-expect-error parts are strings
  bundle.stream([3]);
  // @ts-expect-error `Bundle.load` makes one
  new Bundle();
  // @ts-expect-error nobody sets it
  bundle.voices = [];
}
"""


@pytest.mark.parametrize("module", ["nodenext", "esnext"])
def test_the_types_are_those_of_the_package(app: Path, tmp_path: Path, module: str) -> None:
    shutil.copytree(app, tmp_path, dirs_exist_ok=True)
    run([*NPM, "install", TYPESCRIPT], tmp_path)
    (tmp_path / "app.mts").write_text(TYPED)
    resolved = "nodenext" if module == "nodenext" else "bundler"
    flags = ["--strict", "--noEmit", "--target", "es2022", "--lib", "es2022,dom", "--types", ""]
    run(["npx", "tsc", *flags, "--module", module, "--moduleResolution", resolved, "app.mts"], tmp_path)


def test_the_types_name_what_the_package_has(app: Path, complete_bundle: Path) -> None:
    script = """
    const found = await import("@kokoro-export/node");
    const audio = await bundle.synthesize("Hello.");
    const members = [...Object.getOwnPropertyNames(Bundle.prototype), ...Object.keys(bundle)];
    show([...Object.keys(found), ...members, ...Object.keys(audio)]);
    """
    types = (NODE / "kokoro.d.mts").read_text("utf-8")
    missing = [name for name in node(app, complete_bundle, script) if not re.search(rf"\b{name}\b", types)]
    assert not missing
