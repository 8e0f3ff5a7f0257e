// A loaded bundle on the thread that computes: in a page's Worker, or in Node.
import { Module } from "./module.mjs";
import { MANIFEST } from "./manifest.mjs";
import { System, inMemory } from "./system.mjs";

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
   */
  static async load(store, { manifestSha256 } = {}) {
    const manifest = await store.manifest(manifestSha256);
    const size = manifest.files.get(manifest.parameters).bytes;
    store.progress.total = size + manifest.files.get(manifest.module).bytes;
    const system = new System();
    for (const { path, bytes } of manifest.files.values()) system.sizes.set(path, bytes);
    system.contents.set(MANIFEST, inMemory(manifest.bytes));
    const module = await Module.start(await store.read(manifest.module), system);
    const address = module.allocate(Math.max(size, 1));
    await store.each(manifest.parameters, (offset, bytes) => module.bytes(address + offset, bytes.length).set(bytes));
    const read = (offset, length) => module.bytes(address + offset, length);
    system.contents.set(manifest.parameters, { size, address, read });
    module.load();
    return new Speaker(manifest, module, async (path) => system.contents.set(path, inMemory(await store.read(path))));
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
    for (const { name, file } of this.manifest.entries.voices) {
      if (said.includes(name) && !this.module.system.contents.has(file)) await this.fetch(file);
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
