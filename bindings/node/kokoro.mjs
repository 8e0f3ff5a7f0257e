// Speech from a kokoro-bundle in Node: the package's interface. `kokoro.d.mts` has its types.
import { fileURLToPath } from "node:url";
import { KokoroError } from "./errors.mjs";
import { libraryOf, openLibrary } from "./library.mjs";
import { Reading, isIterable } from "./reading.mjs";
import { checkedText, makeOptions, makeRequest } from "./request.mjs";
import { Run, stopAll } from "./run.mjs";
import { join } from "./shared.mjs";

export { KokoroError } from "./errors.mjs";
export { FLUSH } from "./reading.mjs";
export { encodeWav, pcm16, wavHeader } from "./wav.mjs";

/** Bundles that are not freed, each with the functions of its library. */
const loaded = new Set();

/** Frees a bundle; the call waits on another thread for what runs. */
function free(given) {
  if (loaded.delete(given)) given.functions.kokoro_free.async(given.bundle, () => {});
}

const forgotten = new FinalizationRegistry(free);

process.on("exit", () => {
  stopAll();
  for (const { functions, bundle } of loaded) functions.kokoro_cancel(bundle);
});

/** A bundle that speaks. Make one with `Bundle.load`. */
export class Bundle {
  #loaded;
  #library;
  #runs = new Set();
  #closed = null;

  constructor(library, { bundle, facts }) {
    this.#library = library;
    this.#loaded = { functions: openLibrary(library), bundle };
    loaded.add(this.#loaded);
    forgotten.register(this, this.#loaded, this.#loaded);
    Object.assign(this, facts);
  }

  /**
   * Verifies and loads the bundle in a directory.
   *
   * @param source its path, or a URL of a file
   * @param options `library`, `threads`, `verify`, `level`, `arithmetic`, `manifestSha256`
   */
  static async load(source, options = {}) {
    const directory = source instanceof URL ? fileURLToPath(source) : checkedText(source);
    const { library = libraryOf(directory), options: made } = makeOptions(options);
    return new Bundle(library, await new Run({ call: "load", library, directory, options: made }).result);
  }

  /** Rejects with the error that `synthesize` would throw before it computes. */
  async check(text, options = {}) {
    const request = makeRequest(text, options);
    options.signal?.throwIfAborted();
    // It gives no pieces.
    for await (const none of this.#taken(this.#start("check", { request }), options.signal)) void none;
  }

  /** Speaks a text, or phonemes, of any length. */
  async synthesize(text, options = {}) {
    const request = makeRequest(text, options);
    // In one pass, a stream has the samples of the whole; between its pieces it can be stopped.
    const whole = { ...request, one_pass: 1, steady: 0, trim: options.trim ? 1 : -1 };
    const pieces = [];
    for await (const piece of this.#pieces(whole, options.signal, true)) pieces.push(piece);
    return { ...join(pieces), lead: 0 };
  }

  /**
   * Speaks piece by piece; the next piece is computed meanwhile.
   *
   * @param text a string, or an iterable of parts of a text, which may arrive later
   */
  stream(text, options = {}) {
    if (isIterable(text)) return this.#live(text, makeRequest(null, options), options.signal);
    return this.#pieces(makeRequest(text, options), options.signal);
  }

  /** Ends everything that the bundle computes, and frees it. */
  close() {
    this.#closed ??= new KokoroError("ClosedBundleError", "The bundle was closed: load it again.");
    for (const run of this.#runs) run.fail(this.#closed);
    forgotten.unregister(this.#loaded);
    free(this.#loaded);
  }

  [Symbol.dispose]() {
    this.close();
  }

  async *#pieces(request, signal, whole = false) {
    signal?.throwIfAborted();
    yield* this.#taken(this.#start("stream", { request, whole }), signal);
  }

  async *#live(parts, request, signal) {
    signal?.throwIfAborted();
    const live = await this.#start("openLive", { request }).result;
    const { functions } = this.#loaded;
    const reading = new Reading(parts, functions, live);
    try {
      const run = this.#start("streamLive", { live });
      reading.read().catch((error) => run.fail(error));
      yield* this.#taken(run, signal);
    } finally {
      // The app does not wait for its iterable, which may wait for a text that never comes.
      reading.stop().catch(() => {});
      // It waits, on another thread, until the call that takes the pieces has ended.
      functions.kokoro_live_free.async(live, () => {});
    }
  }

  async *#taken(run, signal) {
    const abort = () => run.fail(signal.reason);
    signal?.addEventListener("abort", abort, { once: true });
    try {
      if (signal?.aborted) abort();
      for (let piece = await run.take(); piece; piece = await run.take()) yield piece;
    } finally {
      signal?.removeEventListener("abort", abort);
      run.stop();
    }
  }

  #start(call, given) {
    if (this.#closed) throw this.#closed;
    const run = new Run({ call, library: this.#library, bundle: this.#loaded.bundle, ...given });
    this.#runs.add(run);
    run.result.catch(() => {}).finally(() => this.#runs.delete(run));
    return run;
  }
}
