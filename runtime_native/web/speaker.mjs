// A loaded bundle on the thread that computes: in a page's Worker, or in Node.
import { Module } from "./module.mjs";
import { MANIFEST } from "./manifest.mjs";
import { System, inMemory } from "./system.mjs";

// Tokens and frames; long inputs take other parts of some kernels.
const UNHEARD = [8, 40];

/** Lets messages arrive, such as that which ends a speech. */
export const breath = () => new Promise((resolve) => setTimeout(resolve));

/** Returns zeros as an input of a stage: a size is a number, or `[times, axis]` and what is added. */
function zeros({ dtype, shape }, length) {
  const sizes = shape.map((size) => (Array.isArray(size) ? size[0] * length + (size[2] ?? 0) : size));
  return new Uint8Array(sizes.reduce((product, size) => product * size, dtype === "int64" ? 8 : 4));
}

/** Speaks with a module, and fetches the files that it lacks. */
export class Speaker {
  constructor(manifest, module, fetch) {
    this.manifest = manifest;
    this.module = module;
    this.fetch = fetch;
  }

  /**
   * Loads a bundle from a store: the module, and the parameters into its memory.
   *
   * @param store has `manifest(pinned)`, `read(path)`, `each(path, take)` and `progress`
   * @param options `manifestSha256`; `onStart(module)`, called before the parameters are read, and awaited; `warmUp`: run
   *   the stages unheard while they are
   */
  static async load(store, { manifestSha256, onStart = () => {}, warmUp } = {}) {
    const manifest = await store.manifest(manifestSha256);
    const size = manifest.files.get(manifest.parameters).bytes;
    store.progress.total = size + manifest.files.get(manifest.module).bytes;
    const system = new System();
    for (const { path, bytes } of manifest.files.values()) system.sizes.set(path, bytes);
    system.contents.set(MANIFEST, inMemory(manifest.bytes));
    const module = await Module.start(await store.read(manifest.module), system);
    const helping = onStart(module);
    const address = module.allocate(Math.max(size, 1));
    const read = (offset, length) => module.bytes(address + offset, length);
    system.contents.set(manifest.parameters, { size, address, read });
    const fetch = async (path) => system.contents.set(path, inMemory(await store.read(path)));
    const speaker = new Speaker(manifest, module, fetch);
    let arrived = false;
    const take = (offset, bytes) => module.bytes(address + offset, bytes.length).set(bytes);
    const arriving = store.each(manifest.parameters, take).finally(() => (arrived = true));
    const unheard = warmUp ? speaker.#runBeforeLoading(() => !arrived) : true;
    const [allRan] = await Promise.all([unheard, arriving, helping]);
    module.load();
    if (!allRan) await speaker.#runUnheard(() => true);
    return speaker;
  }

  /** Does what `#runUnheard` does, with zeros for what has not arrived. */
  async #runBeforeLoading(goesOn) {
    try {
      this.module.load();
    } catch {
      // It is loaded again, which tells why.
      return true;
    }
    try {
      return await this.#runUnheard(goesOn);
    } finally {
      this.module.free();
    }
  }

  /**
   * Runs each stage, and nobody hears it: engines compile a kernel well after its first call alone.
   *
   * @param goesOn asked before each stage
   * @returns true if all of them ran
   */
  async #runUnheard(goesOn) {
    for (const length of UNHEARD) {
      for (const { name, inputs, outputs } of this.manifest.entries.stages) {
        await breath();
        if (!goesOn()) return false;
        try {
          this.module.runStage(name, length, inputs.map((input) => zeros(input, length)), outputs.length);
        } catch {
          // Whatever fails here fails in the first speech too, which tells it.
        }
      }
    }
    return true;
  }

  /** Calls a function of the module, and again as long as it lacks files, which are then fetched. */
  async with(use) {
    const { wanted } = this.module.system;
    for (;;) {
      wanted.clear();
      try {
        return use(this.module);
      } catch (error) {
        if (wanted.size === 0) throw error;
        for (const path of [...wanted]) await this.fetch(path);
      }
    }
  }

  /** Returns what a page shows of the bundle. */
  facts() {
    const { entries, voices } = this.manifest;
    return {
      voices,
      model: entries.model.name,
      synthetic: entries.model.synthetic,
      maxPhonemes: this.module.exports.kokoro_max_phonemes(this.module.bundle),
    };
  }

  async synthesize(request) {
    await this.prepare(request);
    return this.with((module) => module.synthesize(request));
  }

  /** Fetches the voices of a request, and in SSML those that it names anywhere. */
  async prepare({ voice = "af_heart", ssml, text = "" }) {
    const said = ssml ? `${voice} ${text}` : voice;
    const { entries, statistics } = this.manifest;
    for (const { name, file } of entries.voices) {
      for (const path of said.includes(name) ? [file, statistics?.[name]] : []) {
        if (path && !this.module.system.contents.has(path)) await this.fetch(path);
      }
    }
  }

  /** Opens a speech whose text is pushed. */
  async live(request, number) {
    await this.prepare(request);
    return this.with((module) => module.live(request, number));
  }

  /** Yields the pieces of a speech; each is computed when it is taken. */
  async *pieces(request, number) {
    await this.prepare(request);
    let given = 0;
    for (;;) {
      const speech = await this.with((module) => module.open(request, number));
      const { wanted } = this.module.system;
      wanted.clear();
      try {
        for (let taken = 0; ; taken++) {
          const piece = speech.next();
          if (piece === null) return;
          if (taken < given) continue;
          given++;
          yield piece;
        }
      } catch (error) {
        // A later part of a text may be of another language or voice: it is spoken again up to there.
        if (wanted.size === 0) throw error;
        for (const path of [...wanted]) await this.fetch(path);
      } finally {
        speech.close();
      }
    }
  }
}
