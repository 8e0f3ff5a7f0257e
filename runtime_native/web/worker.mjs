// The thread that computes: a Worker of a page, or of Node. It answers the messages of `kokoro.mjs`.
import { KokoroError } from "./errors.mjs";
import { Speaker } from "./speaker.mjs";

const isNode = typeof process !== "undefined" && Boolean(process.versions?.node);
const nodeThreads = isNode ? await import("node:worker_threads") : null;
const port = nodeThreads?.parentPort ?? globalThis;
const MOST_THREADS = 8;
const UNHEARD_PHONEMES = 10;
const speeches = new Map();
let speaker = null;

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

/**
 * Speaks what nobody hears: engines compile a kernel well after its first call alone. The page stops it as soon as it
 * asks for speech.
 */
async function speakUnheard(number) {
  const { vocabulary, voices } = speaker.manifest.entries;
  const letters = Object.keys(vocabulary).filter((phoneme) => /^\p{Ll}$/u.test(phoneme));
  const phonemes = letters.slice(0, UNHEARD_PHONEMES).join("");
  const pieces = speaker.pieces({ phonemes, voice: voices[0]?.name, onePass: true }, number);
  // Whatever fails here fails in the first speech too, which tells it.
  await pieces.next().catch(() => {});
  await pieces.return();
}

function find(speech) {
  const found = speeches.get(speech);
  if (!found) throw new KokoroError("CancelledError", "The speech was cancelled before its end.");
  return found;
}

const calls = {
  async load({ source, manifestSha256, cache, threads: wanted, unheard }) {
    const onProgress = (progress) => port.postMessage({ progress });
    const { Store } = await import(isNode ? "./directory.mjs" : "./store.mjs");
    speaker = await Speaker.load(new Store(source, { cache, onProgress }), { manifestSha256 });
    const threads = await chooseThreads(wanted);
    for (let each = 1; each < threads; each++) startHelper(speaker.module);
    if (shares() && unheard) setTimeout(speakUnheard, 0, unheard);
    return { facts: { ...speaker.facts(), threads }, speeches: shares() ? speaker.module.speeches : null };
  },
  open({ speech, request }) {
    speeches.set(speech, speaker.pieces(request, speech));
  },
  async openLive({ speech, request }) {
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
