// The WebAssembly module of a bundle: kokoro.h as functions of JavaScript. Every call computes on the calling thread.
import { KokoroError, errorName } from "./errors.mjs";
import { ModuleEnd, System } from "./system.mjs";

const REQUEST_BYTES = 96, OPTIONS_BYTES = 20;
// Offsets in kokoro_request, which runtime_native/web/module.cpp checks.
const TEXTS = { text: 4, phonemes: 8, voice: 12, language: 48 };
const NUMBERS = { speed: 16, sentencePause: 56, clausePause: 64, endPause: 72, loudness: 80 };
const FLAGS = { ssml: 32, skipEmoji: 36, onePass: 92 };
const SEED = 24, TRIM = 40, NO_STRETCH = 88;
// Pages of the memory, as exporter/native/web_module.py links the module; a small system may lack addresses for the most.
const PAGES = 256, MOST_PAGES = [32768, 24576, 16384];
const HELPER_STACK = 1 << 18;

/** Returns memory that several threads may share. A page without special headers may make it, and not send it. */
function makeMemory() {
  for (const maximum of MOST_PAGES) {
    try {
      return new WebAssembly.Memory({ initial: PAGES, maximum, shared: true });
    } catch (error) {
      if (!(error instanceof RangeError)) throw error;
    }
  }
  throw new KokoroError("ResourceError", "There is no memory for the module: close other pages.");
}

/** A compiled module with the files of its bundle, which `System` describes. */
export class Module {
  /**
   * @param compiled a WebAssembly.Module
   * @param system the files of the bundle
   */
  constructor(compiled, system) {
    this.compiled = compiled;
    this.system = system;
    this.memory = system.memory = makeMemory();
    this.exports = new WebAssembly.Instance(compiled, { ...system.imports(), env: { memory: this.memory } }).exports;
    this.exports._initialize();
    this.bundle = 0;
    /** The speech that is computed, and the last one that was stopped, by their numbers; 0 is none. */
    this.speeches = new Int32Array(this.memory.buffer, this.exports.kokoro_web_speeches(), 2);
  }

  /** Compiles and starts a module. */
  static async start(bytes, system = new System()) {
    return new Module(await WebAssembly.compile(bytes), system);
  }

  allocate(bytes) {
    const address = this.exports.kokoro_web_allocate(bytes);
    if (!address) throw new KokoroError("ResourceError", `There is no memory for ${bytes} bytes: close other pages.`);
    return address;
  }

  bytes(address, length) {
    return new Uint8Array(this.memory.buffer, address, length);
  }

  /** Returns a text of the module's, or null. */
  text(address) {
    if (!address) return null;
    const memory = new Uint8Array(this.memory.buffer);
    // A copy: browsers decode no shared memory.
    return new TextDecoder().decode(memory.slice(address, memory.indexOf(0, address)));
  }

  /** Calls a function with memory for `size` bytes of zeros, and with texts that live as long. */
  with(size, use) {
    const owned = [];
    const take = (bytes) => {
      owned.push(this.allocate(bytes));
      this.bytes(owned.at(-1), bytes).fill(0);
      return owned.at(-1);
    };
    const write = (text) => {
      const encoded = new TextEncoder().encode(text);
      const address = take(encoded.length + 1);
      this.bytes(address, encoded.length).set(encoded);
      return address;
    };
    try {
      return use(take(size), write, take);
    } finally {
      for (const address of owned) this.exports.kokoro_web_release(address);
    }
  }

  get view() {
    return new DataView(this.memory.buffer);
  }

  /** Throws the error of a code of kokoro.h. */
  check(code) {
    if (code) throw new KokoroError(errorName(code), this.text(this.exports.kokoro_last_error()));
  }

  /** Loads the bundle, whose files have been compared: parameters lie in the module's memory. */
  load() {
    this.with(OPTIONS_BYTES, (options, write, take) => {
      const found = take(4);
      this.view.setUint32(options, OPTIONS_BYTES, true);
      this.view.setInt32(options + 4, 1, true);
      this.view.setInt32(options + 8, 1, true);
      this.check(this.exports.kokoro_load(write("/bundle"), options, found));
      this.bundle = this.view.getUint32(found, true);
    });
  }

  /** Returns what a thread needs that computes parts of kernels from then on: see `help`. */
  forHelper() {
    const { __tls_size, __tls_align } = this.exports;
    const stack = this.allocate(HELPER_STACK);
    const own = this.allocate(__tls_size.value + __tls_align.value);
    return { compiled: this.compiled, memory: this.memory, stack: stack + HELPER_STACK, own };
  }

  free() {
    this.exports.kokoro_free(this.bundle);
    this.bundle = 0;
  }

  /** Calls a function with the address of a kokoro_request. */
  request(options, use) {
    return this.with(REQUEST_BYTES, (request, write, take) => {
      this.view.setUint32(request, REQUEST_BYTES, true);
      for (const [name, offset] of Object.entries(TEXTS)) {
        if (options[name] === undefined) continue;
        // First the memory, whose growth takes views away.
        const address = write(options[name]);
        this.view.setUint32(request + offset, address, true);
      }
      for (const [name, offset] of Object.entries(NUMBERS)) {
        if (options[name] !== undefined) this.view.setFloat64(request + offset, options[name], true);
      }
      for (const [name, offset] of Object.entries(FLAGS)) {
        this.view.setInt32(request + offset, options[name] ? 1 : 0, true);
      }
      this.view.setBigUint64(request + SEED, BigInt(options.seed ?? 0), true);
      this.view.setInt32(request + TRIM, options.trim === undefined ? 0 : options.trim ? 1 : -1, true);
      this.view.setInt32(request + NO_STRETCH, options.stretch === false ? 1 : 0, true);
      return use(request, take);
    });
  }

  /** Returns the address that a function finds for a request. */
  find(open, options) {
    return this.request(options, (request, take) => {
      const found = take(4);
      this.check(open(this.bundle, request, found));
      return this.view.getUint32(found, true);
    });
  }

  /** Returns the next piece of a speech, or null. */
  piece(next, speech, number) {
    return this.with(4, (found) => {
      Atomics.store(this.speeches, 0, number);
      this.check(next(speech, found));
      return this.take(this.view.getUint32(found, true));
    });
  }

  /** Speaks all of a text or of phonemes. */
  synthesize(options) {
    Atomics.store(this.speeches, 0, 0);
    return this.take(this.find(this.exports.kokoro_synthesize, options));
  }

  /**
   * Opens a speech: `next()` returns a piece, computed then, or null after the last; `close()` frees it.
   *
   * @param options of the speech
   * @param number by which `speeches` stops it
   */
  open(options, number = 0) {
    const { exports } = this;
    const speech = this.find(exports.kokoro_pieces_open, options);
    const next = () => this.piece(exports.kokoro_pieces_next, speech, number);
    return { next, close: () => exports.kokoro_pieces_free(speech) };
  }

  /** Opens a speech whose text is pushed; `next()` returns a piece that is certain to be complete, or null. */
  live(options, number = 0) {
    const { exports } = this;
    const speech = this.find(exports.kokoro_live_open, options);
    return {
      push: (text) => this.with(1, (_, write) => this.check(exports.kokoro_live_push(speech, write(text)))),
      flush: () => this.check(exports.kokoro_live_flush(speech)),
      end: () => this.check(exports.kokoro_live_end(speech)),
      next: () => this.piece(exports.kokoro_web_live_next, speech, number),
      close: () => exports.kokoro_live_free(speech),
    };
  }

  /** Returns a kokoro_audio as an object, and frees it; null for a null pointer. */
  take(audio) {
    if (!audio) return null;
    const view = this.view;
    const pair = (offset) => [view.getUint32(audio + offset, true), view.getUint32(audio + offset + 4, true)];
    const [samples, count] = pair(0);
    const timings = (offset) => {
      const [address, length] = pair(offset);
      return Array.from({ length }, (_, index) => ({
        text: this.text(view.getUint32(address + 24 * index, true)),
        start: view.getFloat64(address + 24 * index + 8, true),
        end: view.getFloat64(address + 24 * index + 16, true),
      }));
    };
    const [durations, tokens] = pair(44);
    const found = {
      lead: view.getFloat64(audio + 56, true),
      samples: new Float32Array(this.memory.buffer, samples, count).slice(),
      sampleRate: view.getInt32(audio + 8, true),
      start: view.getFloat64(audio + 16, true),
      phonemes: this.text(view.getUint32(audio + 24, true)),
      tokens: timings(28),
      words: timings(36),
      durations: Array.from(new BigInt64Array(this.memory.buffer, durations, tokens), Number),
    };
    this.exports.kokoro_audio_free(audio);
    return found;
  }

  /**
   * Runs one stage on arrays of bytes, whose tokens the caller has checked.
   *
   * @returns the outputs as bytes
   */
  runStage(name, length, inputs, outputs) {
    return this.with(8 * Math.max(inputs.length, 1), (table, write, take) => {
      const places = inputs.map((input) => {
        const address = take(Math.max(input.length, 1));
        this.bytes(address, input.length).set(input);
        return [address, input.length];
      });
      const results = take(8 * outputs);
      const stage = write(name);
      places.flat().forEach((value, index) => this.view.setUint32(table + 4 * index, value, true));
      this.check(this.exports.kokoro_web_run_stage(this.bundle, stage, length, table, inputs.length, results));
      return Array.from({ length: outputs }, (_, index) => {
        const address = this.view.getUint32(results + 8 * index, true);
        return this.bytes(address, this.view.getUint32(results + 8 * index + 4, true)).slice();
      });
    });
  }
}

/** Computes parts of the kernels of another thread's module; never returns. */
export function help({ compiled, memory, stack, own }) {
  const none = new Proxy({}, { get: (_, name) => () => { throw new ModuleEnd(`A helper has no ${name}.`); } });
  const imports = { env: { memory }, wasi_snapshot_preview1: none, kokoro: none };
  const { exports } = new WebAssembly.Instance(compiled, imports);
  exports.__stack_pointer.value = stack;
  exports.__wasm_init_tls(own);
  try {
    exports.kokoro_web_help();
  } catch (error) {
    exports.kokoro_web_lose();
    throw error;
  }
}

export { ModuleEnd };
