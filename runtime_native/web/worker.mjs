// The thread that computes: a Worker of a page, or of Node. It answers the messages of `kokoro.mjs`.
import { KokoroError } from "./errors.mjs";
import { Speaker } from "./speaker.mjs";

const isNode = typeof process !== "undefined" && Boolean(process.versions?.node);
const nodeThreads = isNode ? await import("node:worker_threads") : null;
const port = nodeThreads?.parentPort ?? globalThis;
const MOST_THREADS = 8;
const UNHEARD_STEPS = 8; // tokens and frames
const speeches = new Map();
let speaker = null;
let unheard = 0; // the number under which `runUnheard` runs

/** Lets messages arrive, such as that which ends a speech. */
const breath = () => new Promise((resolve) => setTimeout(resolve));

/** The page may send shared memory. */
const shares = () => isNode || Boolean(globalThis.crossOriginIsolated);

/** Returns the number of threads that compute: without shared memory this one is alone. */
async function chooseThreads(wanted) {
  if (!shares()) return 1;
  const cores = isNode ? (await import("node:os")).availableParallelism() : navigator.hardwareConcurrency;
  return wanted ?? Math.min(cores ?? 1, MOST_THREADS);
}

/** Starts a thread that helps this one, which ends with it. */
function startHelper(module) {
  const address = new URL("./helper.mjs", import.meta.url);
  // Options of this process, such as that a script comes from its input, are not for the thread.
  const helper = isNode ? new nodeThreads.Worker(address, { execArgv: [] }) : new Worker(address, { type: "module" });
  helper.unref?.();
  // One that does not start is missed by nobody.
  if (isNode) helper.on("error", () => {});
  else helper.onerror = (event) => event.preventDefault();
  helper.postMessage(module.forHelper());
}

/** Returns zeros as an input of a stage: a size is a number, or `[times, axis]` and what is added. */
function zeros({ dtype, shape }) {
  const sizes = shape.map((size) => (Array.isArray(size) ? size[0] * UNHEARD_STEPS + (size[2] ?? 0) : size));
  return new Uint8Array(sizes.reduce((product, size) => product * size, dtype === "int64" ? 8 : 4));
}

/**
 * Runs each stage, and nobody hears it: engines compile a kernel well after its first call alone. It ends as soon as
 * speech is asked for, with shared memory in the midst of a stage.
 */
async function runUnheard(number) {
  const { manifest, module } = speaker;
  unheard = number;
  for (const { name, inputs, outputs } of manifest.entries.stages) {
    await breath();
    if (!unheard) return;
    Atomics.store(module.speeches, 0, number);
    try {
      module.runStage(name, UNHEARD_STEPS, inputs.map(zeros), outputs.length);
    } catch {
      // Whatever fails here fails in the first speech too, which tells it.
    }
  }
}

function find(speech) {
  const found = speeches.get(speech);
  if (!found) throw new KokoroError("CancelledError", "The speech was cancelled before its end.");
  return found;
}

const calls = {
  async load({ source, manifestSha256, cache, threads: wanted, warmUp }) {
    const onProgress = (progress) => port.postMessage({ progress });
    const { Store } = await import(isNode ? "./directory.mjs" : "./store.mjs");
    speaker = await Speaker.load(new Store(source, { cache, onProgress }), { manifestSha256 });
    const threads = await chooseThreads(wanted);
    for (let each = 1; each < threads; each++) startHelper(speaker.module);
    if (warmUp) setTimeout(runUnheard, 0, warmUp);
    return { facts: { ...speaker.facts(), threads }, speeches: shares() ? speaker.module.speeches : null };
  },
  open({ speech, request }) {
    unheard = 0;
    speeches.set(speech, speaker.pieces(request, speech));
  },
  async openLive({ speech, request }) {
    unheard = 0;
    speeches.set(speech, await speaker.live(request, speech));
  },
  push({ speech, text }) {
    find(speech).push(text);
  },
  flush({ speech }) {
    find(speech).flush();
  },
  end({ speech }) {
    find(speech).end();
  },
  async nextLive({ speech }) {
    await breath();
    return find(speech).next();
  },
  async next({ speech }) {
    await breath();
    const { done, value } = await find(speech).next();
    return done ? null : value;
  },
  async close({ speech }) {
    const pieces = speeches.get(speech);
    speeches.delete(speech);
    if (pieces?.close) pieces.close();
    else await pieces?.return();
  },
};

async function answer({ id, call, ...given }) {
  try {
    const result = await calls[call](given);
    const transfer = result?.samples ? [result.samples.buffer] : [];
    port.postMessage({ id, result }, transfer);
  } catch (error) {
    const name = error instanceof KokoroError ? error.name : error instanceof RangeError ? "ResourceError" : "InternalError";
    port.postMessage({ id, error: { name, message: String(error?.message ?? error) } });
  }
}

if (isNode) port.on("message", answer);
else port.onmessage = ({ data }) => answer(data);
