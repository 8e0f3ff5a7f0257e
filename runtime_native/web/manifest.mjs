// The manifest of a bundle: which files there are, with their sizes and digests. bundles/FORMAT.md describes it.
import { KokoroError } from "./errors.mjs";

export const MANIFEST = "manifest.msgpack";
const MOST_BYTES = 8 << 20;
const DEEPEST = 16;

/** Returns the value of the part of msgpack that a manifest uses. The module checks it again, strictly. */
export function decode(bytes) {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const text = new TextDecoder("utf-8", { fatal: true });
  let at = 0;
  const fail = () => {
    throw new KokoroError("MsgpackError", `${MANIFEST} is damaged at byte ${at}: fetch the bundle again.`);
  };
  const take = (size) => {
    if (at + size > bytes.length) fail();
    at += size;
    return at - size;
  };
  const natural = (size) => view[`getUint${8 * size}`](take(size));
  const string = (size) => {
    const start = take(size);
    return text.decode(bytes.subarray(start, start + size));
  };
  const array = (size, depth) => {
    if (size > bytes.length) fail();
    return Array.from({ length: size }, () => value(depth + 1));
  };
  const map = (size, depth) => {
    const found = new Map();
    for (let index = 0; index < size; index++) found.set(value(depth + 1), value(depth + 1));
    return Object.assign(Object.create(null), Object.fromEntries(found));
  };
  const value = (depth) => {
    if (depth > DEEPEST) fail();
    const kind = natural(1);
    if (kind < 0x80) return kind;
    if (kind < 0x90) return map(kind & 15, depth);
    if (kind < 0xa0) return array(kind & 15, depth);
    if (kind < 0xc0) return string(kind & 31);
    if (kind >= 0xe0) return kind - 256;
    switch (kind) {
      case 0xc2: return false;
      case 0xc3: return true;
      case 0xcb: return view.getFloat64(take(8));
      case 0xcc: case 0xcd: case 0xce: return natural(1 << (kind - 0xcc));
      case 0xcf: return Number(view.getBigUint64(take(8)));
      case 0xd0: return view.getInt8(take(1));
      case 0xd1: return view.getInt16(take(2));
      case 0xd2: return view.getInt32(take(4));
      case 0xd3: return Number(view.getBigInt64(take(8)));
      case 0xd9: case 0xda: case 0xdb: return string(natural(1 << (kind - 0xd9)));
      case 0xdc: return array(natural(2), depth);
      case 0xdd: return array(natural(4), depth);
      case 0xde: return map(natural(2), depth);
      case 0xdf: return map(natural(4), depth);
      default: return fail();
    }
  };
  try {
    return value(0);
  } catch (error) {
    throw error instanceof KokoroError ? error : new KokoroError("MsgpackError", `${MANIFEST}: ${error.message}`);
  }
}

/** Returns the SHA-256 of bytes, in hexadecimal digits. */
export async function sha256(bytes) {
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
  return Array.from(digest, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

function expect(holds, what) {
  if (!holds) throw new KokoroError("ManifestError", `${MANIFEST}: expected ${what}; export the bundle again.`);
}

/** The files of a bundle for the web. The module checks all else of a manifest. */
export class Manifest {
  constructor(bytes) {
    this.bytes = bytes;
    const found = decode(bytes);
    try {
      this.#take(found);
    } catch (error) {
      // A value of another type than the format has.
      if (!(error instanceof KokoroError)) expect(false, `the format of kokoro-bundle (${error.message})`);
      throw error;
    }
  }

  #take(found) {
    expect(this.bytes.length <= MOST_BYTES && found.format === "kokoro-bundle", "a kokoro-bundle");
    if (found.target.system !== "web") {
      const name = found.target.name;
      throw new KokoroError("PlatformError", `This bundle is for ${name}: export one with --target web.`);
    }
    this.entries = found;
    this.files = new Map(found.files.map((entry) => [entry.path, entry]));
    for (const { path, bytes: size, sha256: digest } of this.files.values()) {
      const safe = !path.startsWith("/") && !path.split("/").some((part) => part === "" || part === "." || part === "..");
      expect(safe && Number.isSafeInteger(size) && size >= 0 && /^[0-9a-f]{64}$/.test(digest), `a file, found ${path}`);
    }
    this.parameters = found.parameters.file;
    this.module = found.stages[0].libraries[0].file;
    const one = found.stages.every(({ libraries }) => libraries.every(({ file }) => file === this.module));
    expect(one && this.files.has(this.module) && this.files.has(this.parameters), "one module and parameters");
    const listed = (file) => this.files.has(file);
    expect(found.voices.every(({ name, file }) => typeof name === "string" && listed(file)), "files of voices");
    this.statistics = found.extensions.statistics;
    expect(Object.values(this.statistics ?? {}).every(listed), "files of statistics");
    this.blocks = found.extensions.blocks;
  }

  /** Refuses another manifest than the pinned one. */
  static async read(bytes, pinned) {
    const found = await sha256(bytes);
    if (pinned !== undefined && pinned.toLowerCase() !== found) {
      throw new KokoroError(
        "ManifestDigestError",
        `${MANIFEST} has SHA-256 ${found}, pinned is ${pinned}: this is another bundle than the one you trust.`,
      );
    }
    return new Manifest(bytes);
  }

  get voices() {
    return this.entries.voices.map((voice) => voice.name);
  }

  /** Returns the parts of a file that have a digest each: `{start, bytes, sha256}`. */
  parts(path) {
    const { bytes, sha256: whole } = this.files.get(path);
    const digests = this.blocks?.digests?.[path];
    const size = this.blocks?.bytes;
    if (!digests || digests.length !== Math.ceil(bytes / size)) return [{ start: 0, bytes, sha256: whole }];
    return digests.map((digest, index) => ({ start: index * size, bytes: Math.min(size, bytes - index * size), sha256: digest }));
  }

  /** Refuses a part of a file with another content. */
  async check(path, part, content) {
    const found = content.length === part.bytes ? await sha256(content) : `no digest, but ${content.length} bytes`;
    if (found !== part.sha256) {
      throw new KokoroError(
        "DamagedFileError",
        `${path} at byte ${part.start} should have ${part.bytes} bytes with SHA-256 ${part.sha256}, has ${found}: ` +
          "fetch or export the bundle again.",
      );
    }
  }
}
