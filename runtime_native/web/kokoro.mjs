// Speech from a kokoro-bundle in a browser or in Node: the package's interface. `kokoro.d.mts` has its types.
import { KokoroError } from "./errors.mjs";
import { checkedSeed, join, notZero, wholeCharacters } from "./shared.mjs";
import { isNode } from "./system.mjs";

export { KokoroError } from "./errors.mjs";
export { Player } from "./player.mjs";
export { encodeWav } from "./wav.mjs";

const OPTIONS = new Set([
  "voice", "speed", "seed", "ssml", "skipEmoji", "trim", "language", "sentencePause", "clausePause", "endPause",
  "loudness", "stretch", "onePass", "phonemes", "lexicon", "signal",
]);
const TYPES = {
  voice: "string", speed: "number", ssml: "boolean", skipEmoji: "boolean", trim: "boolean", language: "string",
  sentencePause: "number", clausePause: "number", endPause: "number", loudness: "number", stretch: "boolean",
  onePass: "boolean", phonemes: "string",
};
const MOST_THREADS = 64;

/** Among the parts of a text that arrives bit by bit: speak what is there. */
export const FLUSH = Symbol("flush");

/** Returns what a promise gives, or throws a signal's reason before. */
function unlessAborted(promise, signal) {
  if (!signal) return promise;
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal.reason);
    if (signal.aborted) return abort();
    signal.addEventListener("abort", abort, { once: true });
    Promise.resolve(promise).then(resolve, reject).finally(() => signal.removeEventListener("abort", abort));
  });
}

/** Starts the thread that computes. */
async function startWorker() {
  const address = new URL("./worker.mjs", import.meta.url);
  if (!isNode) return new Worker(address, { type: "module" });
  const threads = await import("node:worker_threads");
  // Options of this process, such as that a script comes from its input, are not for the thread.
  const worker = new threads.Worker(address, { execArgv: [] });
  worker.on("message", (data) => worker.onmessage?.({ data }));
  worker.on("error", (error) => worker.onerror?.(error));
  // A program ends although a bundle is open, but not while it waits for an answer.
  worker.unref();
  return worker;
}

/** Returns a text in which words of a lexicon have phonemes, as `[word](/phonemes/)`. */
export function withLexicon(text, lexicon) {
  const found = new Map(Object.entries(lexicon));
  return text.replace(/\[[^\]]*\]\([^)]*\)|[\p{L}\p{M}\p{N}]+(?:['’-][\p{L}\p{M}\p{N}]+)*/gu, (word) => {
    const phonemes = found.get(word) ?? found.get(word.toLowerCase());
    return phonemes === undefined || word.startsWith("[") ? word : `[${word}](/${phonemes}/)`;
  });
}

/** Returns a checked request for the module. */
function makeRequest(text, options, lexiconAllowed = true) {
  for (const name of Object.keys(options)) {
    if (!OPTIONS.has(name)) throw new KokoroError("UsageError", `There is no option ${name}: expected some of ${[...OPTIONS].join(", ")}.`);
    const type = TYPES[name];
    if (type && options[name] !== undefined && typeof options[name] !== type) {
      throw new KokoroError("ArgumentTypeError", `The option ${name} must be a ${type}, found ${typeof options[name]}.`);
    }
  }
  const { signal, lexicon, seed = 0, ...request } = options;
  request.seed = String(checkedSeed(seed));
  if (text !== undefined && text !== null) {
    if (typeof text !== "string") throw new KokoroError("ArgumentTypeError", `The text must be a string, found ${typeof text}.`);
    if (lexicon && request.ssml) throw new KokoroError("UsageError", "The option lexicon is for plain text: use <phoneme> in SSML.");
    request.text = lexicon && lexiconAllowed ? withLexicon(text, lexicon) : text;
  }
  // The default of kokoro.h is a zero, which a pause of 0 would be too; other zeros are refused as what they are.
  if (request.endPause === 0) request.endPause = -1;
  for (const name of ["speed", "loudness"]) if (name in request) request[name] = notZero(request[name]);
  return request;
}

/** A bundle that speaks. Make one with `Bundle.load`. */
export class Bundle {
  #worker;
  #waiting = new Map();
  #number = 0;
  #closed = null;
  /** Of `Module.speeches`, if the memory is shared. */
  #speeches = null;

  constructor(worker) {
    this.#worker = worker;
    worker.onmessage = ({ data }) => this.#receive(data);
    worker.onerror = (error) => {
      error.preventDefault?.();
      this.#end(new KokoroError("MachineError", `The thread that computes ended: ${error.message ?? error}`));
    };
  }

  /**
   * Loads a bundle in a Worker: compares its files, and compiles its module.
   *
   * @param source address of the bundle's directory; in Node also a path
   * @param options `onProgress({loaded, total})`, `manifestSha256`, `cache`, `threads`, `warmUp`, `signal`
   */
  static async load(source, options = {}) {
    const { onProgress, manifestSha256, cache = true, threads, warmUp = true, signal } = options;
    signal?.throwIfAborted();
    if (threads !== undefined && !(Number.isInteger(threads) && threads >= 1 && threads <= MOST_THREADS)) {
      throw new KokoroError("ThreadsError", `The number of threads must be an integer from 1 to ${MOST_THREADS}, found ${String(threads)}.`);
    }
    const bundle = new Bundle(await startWorker());
    bundle.onProgress = onProgress;
    try {
      const address = isNode ? String(source) : new URL(source, globalThis.location?.href).href;
      const given = { source: address, manifestSha256, cache, threads, warmUp };
      const { facts, speeches } = await bundle.#call("load", given, signal);
      Object.assign(bundle, facts);
      bundle.#speeches = speeches;
    } catch (error) {
      bundle.close();
      throw error;
    }
    return bundle;
  }

  /** Speaks a text, or phonemes, of any length. */
  async synthesize(text, options = {}) {
    // In one pass, a stream has the samples of the whole; between its pieces the thread listens.
    const request = { ...makeRequest(text, options), onePass: true, trim: options.trim ?? false };
    const pieces = [];
    for await (const piece of this.#pieces(request, options.signal)) pieces.push(piece);
    return join(pieces);
  }

  /**
   * Speaks piece by piece; the next piece is computed meanwhile.
   *
   * @param text a string, or an iterable of parts of a text, which may arrive later
   */
  stream(text, options = {}) {
    if (text === null || typeof text !== "object") return this.#pieces(makeRequest(text, options), options.signal);
    return this.#live(text, options);
  }

  /** Ends the bundle's thread, and everything that it computes. */
  close() {
    this.#end(new KokoroError("ClosedBundleError", "The bundle was closed: load it again."));
    this.#worker.terminate();
  }

  async *#live(parts, options) {
    const { signal } = options;
    if (options.lexicon) throw new KokoroError("UsageError", "The option lexicon needs a whole text: leave it out.");
    const request = makeRequest(undefined, options);
    const speech = this.#begin();
    const iterator = parts[Symbol.asyncIterator]?.() ?? parts[Symbol.iterator]();
    let ended = false;
    // The first half of a character whose second half is in the next part.
    let half = "";
    const push = (part) => {
      const [text, rest] = wholeCharacters(half + part);
      half = rest;
      return this.#call("push", { speech, text }, signal);
    };
    const step = async () => {
      for (;;) {
        const piece = await this.#call("nextLive", { speech }, signal);
        if (piece || ended) return piece;
        const { done, value } = await unlessAborted(iterator.next(), signal);
        ended = done;
        if (done && half) await this.#call("push", { speech, text: half }, signal);
        if (done) await this.#call("end", { speech }, signal);
        else if (value === FLUSH) await this.#call("flush", { speech }, signal);
        else if (typeof value === "string") await push(value);
        else throw new KokoroError("ArgumentTypeError", `Each part of a text must be a string, found ${typeof value}.`);
      }
    };
    try {
      await this.#call("openLive", { speech, request }, signal);
      for (let ahead = step(); ; ) {
        const piece = await ahead;
        if (!piece) return;
        ahead = step();
        ahead.catch(() => {});
        yield piece;
      }
    } finally {
      this.#leave(speech);
      Promise.resolve(iterator.return?.()).catch(() => {});
    }
  }

  async *#pieces(request, signal) {
    signal?.throwIfAborted();
    const speech = this.#begin();
    await this.#call("open", { speech, request }, signal);
    try {
      let ahead = this.#call("next", { speech }, signal);
      ahead.catch(() => {});
      for (;;) {
        const piece = await ahead;
        if (piece === null) return;
        ahead = this.#call("next", { speech }, signal);
        ahead.catch(() => {});
        yield piece;
      }
    } finally {
      this.#leave(speech);
    }
  }

  /** Returns the number of a new speech. */
  #begin() {
    return ++this.#number;
  }

  /** Stops a speech in the midst of a piece, if the memory is shared. */
  #stop(speech) {
    if (this.#speeches) Atomics.store(this.#speeches, 1, speech);
  }

  #leave(speech) {
    this.#stop(speech);
    this.#call("close", { speech }).catch(() => {});
  }

  #call(call, given, signal) {
    if (this.#closed) return Promise.reject(this.#closed);
    const id = ++this.#number;
    return new Promise((resolve, reject) => {
      const abort = () => {
        this.#waiting.delete(id);
        this.#rest();
        reject(signal.reason);
      };
      if (signal?.aborted) return reject(signal.reason);
      signal?.addEventListener("abort", abort, { once: true });
      const settle = (done) => (value) => {
        signal?.removeEventListener("abort", abort);
        done(value);
      };
      this.#waiting.set(id, { resolve: settle(resolve), reject: settle(reject) });
      this.#worker.ref?.();
      this.#worker.postMessage({ id, call, ...given });
    });
  }

  #receive({ id, progress, result, error }) {
    if (progress) return this.onProgress?.(progress);
    const waiting = this.#waiting.get(id);
    this.#waiting.delete(id);
    this.#rest();
    if (error) waiting?.reject(new KokoroError(error.name, error.message));
    else waiting?.resolve(result);
  }

  #rest() {
    if (this.#waiting.size === 0) this.#worker.unref?.();
  }

  #end(error) {
    this.#closed ??= error;
    for (const { reject } of this.#waiting.values()) reject(this.#closed);
    this.#waiting.clear();
    this.#rest();
  }
}
