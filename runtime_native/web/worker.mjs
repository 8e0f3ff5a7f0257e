// The thread that computes: a Worker of a page, or of Node. It answers the messages of `kokoro.mjs`.
import { KokoroError } from "./errors.mjs";
import { Speaker } from "./speaker.mjs";

const isNode = typeof process !== "undefined" && Boolean(process.versions?.node);
const port = isNode ? (await import("node:worker_threads")).parentPort : globalThis;
const speeches = new Map();
let speaker = null;

/** Lets messages arrive, such as that which ends a speech. */
const breath = () => new Promise((resolve) => setTimeout(resolve));

function find(speech) {
  const found = speeches.get(speech);
  if (!found) throw new KokoroError("CancelledError", "The speech was cancelled before its end.");
  return found;
}

const calls = {
  async load({ source, manifestSha256, cache }) {
    const onProgress = (progress) => port.postMessage({ progress });
    const { Store } = await import(isNode ? "./directory.mjs" : "./store.mjs");
    speaker = await Speaker.load(new Store(source, { cache, onProgress }), { manifestSha256 });
    return speaker.facts();
  },
  open({ speech, request }) {
    speeches.set(speech, speaker.pieces(request));
  },
  async openLive({ speech, request }) {
    speeches.set(speech, await speaker.live(request));
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
