// The files of a bundle in a directory, for Node 20 and later.
import { open } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { KokoroError } from "./errors.mjs";
import { MANIFEST, Manifest } from "./manifest.mjs";

const MOST_MANIFEST = (8 << 20) + 1;

/** A bundle's directory: its path, or a URL of a file. */
export class Store {
  constructor(source, { onProgress } = {}) {
    this.directory = String(source).startsWith("file:") ? fileURLToPath(source) : String(source);
    this.report = onProgress ?? (() => {});
    this.progress = { loaded: 0, total: 0 };
  }

  async manifest(pinned) {
    const bytes = await this.reading(MANIFEST, async (file) => {
      const buffer = new Uint8Array(Math.min((await file.stat()).size, MOST_MANIFEST));
      return buffer.subarray(0, (await file.read(buffer, 0, buffer.length, 0)).bytesRead);
    });
    return (this.found = await Manifest.read(bytes, pinned));
  }

  /** Calls `take(offset, bytes)` with every part of a file, compared and in order. */
  async each(path, take) {
    await this.reading(path, async (file) => {
      const entry = this.found.files.get(path);
      const { size } = await file.stat();
      if (size !== entry.bytes) {
        throw new KokoroError("DamagedFileError", `${path} should have ${entry.bytes} bytes and has ${size}: copy or export the bundle again.`);
      }
      for (const part of this.found.parts(path)) {
        const bytes = new Uint8Array(part.bytes);
        const { bytesRead } = part.bytes ? await file.read(bytes, 0, part.bytes, part.start) : { bytesRead: 0 };
        await this.found.check(path, part, bytes.subarray(0, bytesRead));
        take(part.start, bytes);
        this.progress.loaded += part.bytes;
        this.report({ ...this.progress });
      }
    });
  }

  /** Returns a whole file. */
  async read(path) {
    const bytes = new Uint8Array(this.found.files.get(path).bytes);
    await this.each(path, (offset, part) => bytes.set(part, offset));
    return bytes;
  }

  /** Returns what a function returns that reads an open file. */
  async reading(path, read) {
    const place = join(this.directory, path);
    let file;
    try {
      file = await open(place);
      return await read(file);
    } catch (error) {
      if (error instanceof KokoroError) throw error;
      const name = error.code === "ENOENT" || error.code === "ENOTDIR" ? "MissingFileError" : "UnreadableFileError";
      throw new KokoroError(name, `${place} cannot be read (${error.code ?? error.message}): copy or export the bundle again.`);
    } finally {
      await file?.close();
    }
  }
}
