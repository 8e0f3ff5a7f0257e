// The files of a bundle from a server: each part is compared before it is used, and kept in the browser's cache.
import { KokoroError } from "./errors.mjs";
import { Download } from "./download.mjs";
import { MANIFEST, Manifest } from "./manifest.mjs";

const CACHE = "kokoro-bundles";
const MOST_MANIFEST = (8 << 20) + 1;

/** Reports the bytes that are there of all that are needed. */
class Progress {
  constructor(report) {
    this.report = report ?? (() => {});
    this.loaded = 0;
    this.total = 0;
  }

  add(bytes) {
    this.loaded += bytes;
    this.report({ loaded: this.loaded, total: Math.max(this.total, this.loaded) });
  }
}

/** A bundle at an address. */
export class Store {
  /**
   * @param source address of the bundle's directory
   * @param options `cache`: false keeps nothing; `onProgress`
   */
  constructor(source, { cache = true, onProgress } = {}) {
    this.source = new URL(source);
    if (!this.source.pathname.endsWith("/")) this.source.pathname += "/";
    // There is none where the page has no secure origin.
    this.cache = cache && globalThis.caches ? caches.open(CACHE).catch(() => null) : Promise.resolve(null);
    this.progress = new Progress(onProgress);
  }

  /** Returns the manifest: the pinned one from the cache, or the server's, or without a network the last one. */
  async manifest(pinned) {
    const address = new URL(MANIFEST, this.source);
    const kept = await this.kept(address);
    const known = pinned !== undefined && kept ? await Manifest.read(kept, pinned).catch(() => null) : null;
    if (known) return (this.found = known);
    let bytes;
    const download = new Download(address, { cache: "no-cache" });
    try {
      bytes = await download.read(0, MOST_MANIFEST);
    } catch (error) {
      if (!kept) throw error;
      bytes = kept;
    } finally {
      download.close();
    }
    this.found = await Manifest.read(bytes, pinned);
    await this.keep(address, bytes);
    return this.found;
  }

  /** Calls `take(offset, bytes)` with every part of a file, compared and in order. */
  async each(path, take) {
    const address = new URL(path.split("/").map(encodeURIComponent).join("/"), this.source);
    const download = new Download(address);
    try {
      for (const part of this.found.parts(path)) {
        // The digest in the address keeps the parts of two bundles apart.
        const place = new URL(`?sha256=${part.sha256}`, address);
        let bytes = await this.keptPart(path, part, place);
        if (!bytes) {
          bytes = await download.read(part.start, part.bytes);
          await this.found.check(path, part, bytes);
          await this.keep(place, bytes);
        }
        take(part.start, bytes);
        this.progress.add(bytes.length);
      }
    } finally {
      download.close();
    }
  }

  /** Returns a whole file. */
  async read(path) {
    const bytes = new Uint8Array(this.found.files.get(path).bytes);
    await this.each(path, (offset, part) => bytes.set(part, offset));
    return bytes;
  }

  async keptPart(path, part, place) {
    const bytes = await this.kept(place);
    if (!bytes) return null;
    try {
      await this.found.check(path, part, bytes);
      return bytes;
    } catch (error) {
      if (!(error instanceof KokoroError)) throw error;
      // Damaged in the cache: fetched again.
      await (await this.cache)?.delete(place);
      return null;
    }
  }

  /** Returns what the cache has at an address, or null. */
  async kept(address) {
    try {
      const response = await (await this.cache)?.match(address);
      return response ? new Uint8Array(await response.arrayBuffer()) : null;
    } catch {
      return null;
    }
  }

  /** Keeps bytes for later visits; a browser without room for them keeps no more. */
  async keep(place, bytes) {
    try {
      await (await this.cache)?.put(place, new Response(bytes));
    } catch {
      this.cache = Promise.resolve(null);
    }
  }
}
