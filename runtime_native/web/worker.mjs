// The thread that computes: a Worker of a page, or of Node. It answers the messages of `kokoro.mjs`.
import { KokoroError } from "./errors.mjs";
import { breath, Speaker } from "./speaker.mjs";
import { isNode } from "./system.mjs";

const nodeThreads = isNode ? await import("node:worker_threads") : null;
const port = nodeThreads?.parentPort ?? globalThis;
const MOST_THREADS = 8;
const PATIENCE = 1000; // milliseconds for a helper to start; nobody misses it
const speeches = new Map();
let speaker = null;

/** The page may send shared memory. */
const shares = () => isNode || Boolean(globalThis.crossOriginIsolated);

/** Returns the number of threads that compute: without shared memory this one is alone. */
async function chooseThreads(wanted) {
  if (!shares()) return 1;
  const cores = isNode ? (await import("node:os")).availableParallelism() : navigator.hardwareConcurrency;
  return wanted ?? Math.min(cores ?? 1, MOST_THREADS);
}

/** Starts a thread that helps this one, which ends with it; waits for it a while. */
function startHelper(module) {
  const address = new URL("./helper.mjs", import.meta.url);
  // Options of this process, such as that a script comes from its input, are not for the thread.
  const helper = isNode ? new nodeThreads.Worker(address, { execArgv: [] }) : new Worker(address, { type: "module" });
  helper.unref?.();
  const ready = new Promise((resolve) => {
    setTimeout(resolve, PATIENCE);
    if (isNode) helper.on("error", resolve).once("message", resolve);
    else {
      helper.onmessage = resolve;
      helper.onerror = (event) => resolve(event.preventDefault());
    }
  });
  helper.postMessage(module.forHelper());
  return ready;
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
    const threads = await chooseThreads(wanted);
    // Before this thread computes: helpers do not start while it does.
    const onStart = (module) => Promise.all(Array.from({ length: threads - 1 }, () => startHelper(module)));
    const store = new Store(source, { cache, onProgress });
    speaker = await Speaker.load(store, { manifestSha256, warmUp, onStart });
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
