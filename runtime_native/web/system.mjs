// The system of the module: the functions of WASI that it imports, over files that lie in memory or that can be read at
// once. The module sees one directory, "/bundle", and can write nothing.

/** True in Node, false in a browser. */
export const isNode = typeof process !== "undefined" && Boolean(process.versions?.node);

const OK = 0, BAD_FILE = 8, MISSING = 44, NO_FUNCTION = 52, PIPE = 29, NO_LINK = 28;
const DIRECTORY = 3, REGULAR = 4;
const ROOT = 3;
const FIRST_FILE = 4;

/** Ends the module: its state is unknown from here on. */
export class ModuleEnd extends Error {}

/**
 * The files of a bundle as the module sees them.
 *
 * A content is `{size, read(offset, length)}`, and `address` where the file lies in the module's memory. A file
 * without content is missing; its path is then added to `wanted`.
 */
export class System {
  constructor(write = (line) => console.error(line)) {
    this.contents = new Map();
    this.sizes = new Map();
    this.wanted = new Set();
    this.memory = null;
    this.write = write;
    this.open = new Map();
    this.next = FIRST_FILE;
    this.line = "";
  }

  get view() {
    return new DataView(this.memory.buffer);
  }

  bytes(address, length) {
    return new Uint8Array(this.memory.buffer, address, length);
  }

  text(address, length) {
    // A copy: browsers decode no shared memory.
    return new TextDecoder().decode(this.bytes(address, length).slice());
  }

  /** Returns the path of a file in the bundle. */
  path(address, length) {
    return this.text(address, length).replace(/^(\.\/)+/, "").replace(/^bundle\/?/, "");
  }

  /** Writes a file's state: only its kind and its size are of interest. */
  state(address, kind, size) {
    this.bytes(address, 64).fill(0);
    this.view.setUint8(address + 16, kind);
    this.view.setBigUint64(address + 24, 1n, true);
    this.view.setBigUint64(address + 32, BigInt(size), true);
  }

  /** Returns the content of an open file. */
  content(descriptor) {
    return this.open.get(descriptor)?.content;
  }

  /** Reads into the buffers of a list of addresses and lengths, and returns the number of bytes. */
  fill(content, list, count, offset) {
    let total = 0;
    for (let index = 0; index < count; index++) {
      const address = this.view.getUint32(list + 8 * index, true);
      const length = this.view.getUint32(list + 8 * index + 4, true);
      const found = content.read(offset + total, Math.min(length, Math.max(content.size - offset - total, 0)));
      this.bytes(address, found.length).set(found);
      total += found.length;
      if (found.length < length) break;
    }
    return total;
  }

  print(text) {
    const lines = (this.line + text).split("\n");
    this.line = lines.pop();
    for (const line of lines) this.write(line);
  }

  /** Returns the imports of the module. */
  imports() {
    const own = {
      environ_get: () => OK,
      environ_sizes_get: (count, bytes) => {
        this.view.setUint32(count, 0, true);
        this.view.setUint32(bytes, 0, true);
        return OK;
      },
      clock_time_get: (clock, precision, address) => {
        const milliseconds = clock === 0 ? Date.now() : performance.now();
        this.view.setBigUint64(address, BigInt(Math.round(milliseconds * 1e6)), true);
        return OK;
      },
      random_get: (address, length) => {
        for (let at = 0; at < length; at += 65536) {
          const bytes = new Uint8Array(Math.min(65536, length - at));
          this.bytes(address + at, bytes.length).set(crypto.getRandomValues(bytes));
        }
        return OK;
      },
      sched_yield: () => OK,
      proc_exit: (code) => {
        throw new ModuleEnd(`The module ended with status ${code}.`);
      },
      fd_prestat_get: (descriptor, address) => {
        if (descriptor !== ROOT) return BAD_FILE;
        this.view.setUint32(address, 0, true);
        this.view.setUint32(address + 4, 1, true);
        return OK;
      },
      fd_prestat_dir_name: (descriptor, address) => {
        this.bytes(address, 1)[0] = 0x2f;
        return OK;
      },
      fd_fdstat_get: (descriptor, address) => {
        const kind = descriptor === ROOT || this.open.get(descriptor)?.directory ? DIRECTORY : REGULAR;
        this.bytes(address, 24).fill(0);
        this.view.setUint8(address, kind);
        // All rights: what cannot be done fails in its function.
        this.view.setBigUint64(address + 8, 0xffffffffn, true);
        this.view.setBigUint64(address + 16, 0xffffffffn, true);
        return OK;
      },
      fd_fdstat_set_flags: () => OK,
      fd_filestat_get: (descriptor, address) => {
        if (descriptor === ROOT || this.open.get(descriptor)?.directory) this.state(address, DIRECTORY, 0);
        else if (this.content(descriptor)) this.state(address, REGULAR, this.content(descriptor).size);
        else return BAD_FILE;
        return OK;
      },
      path_filestat_get: (descriptor, flags, path, length, address) => {
        const name = this.path(path, length);
        if (name === "") this.state(address, DIRECTORY, 0);
        else if (this.sizes.has(name)) this.state(address, REGULAR, this.sizes.get(name));
        else return MISSING;
        return OK;
      },
      path_readlink: () => NO_LINK,
      path_open: (descriptor, lookup, path, length, flags, rights, inherited, more, address) => {
        const name = this.path(path, length);
        const content = this.contents.get(name);
        if (!content && name !== "") {
          if (this.sizes.has(name)) this.wanted.add(name);
          return MISSING;
        }
        this.open.set(this.next, { content, name, offset: 0, directory: name === "" });
        this.view.setUint32(address, this.next++, true);
        return OK;
      },
      fd_close: (descriptor) => (this.open.delete(descriptor) ? OK : BAD_FILE),
      fd_read: (descriptor, list, count, address) => {
        const file = this.open.get(descriptor);
        if (!file?.content) return BAD_FILE;
        const read = this.fill(file.content, list, count, file.offset);
        file.offset += read;
        this.view.setUint32(address, read, true);
        return OK;
      },
      fd_pread: (descriptor, list, count, offset, address) => {
        const content = this.content(descriptor);
        if (!content) return BAD_FILE;
        this.view.setUint32(address, this.fill(content, list, count, Number(offset)), true);
        return OK;
      },
      fd_seek: () => PIPE,
      fd_write: (descriptor, list, count, address) => {
        if (descriptor !== 1 && descriptor !== 2) return BAD_FILE;
        let total = 0;
        for (let index = 0; index < count; index++) {
          const length = this.view.getUint32(list + 8 * index + 4, true);
          this.print(this.text(this.view.getUint32(list + 8 * index, true), length));
          total += length;
        }
        this.view.setUint32(address, total, true);
        return OK;
      },
    };
    // What nothing calls with these files may be imported all the same.
    const wasi = new Proxy(own, { get: (functions, name) => functions[name] ?? (() => NO_FUNCTION) });
    const kokoro = { map_file: (descriptor) => this.content(descriptor)?.address ?? 0 };
    return { wasi_snapshot_preview1: wasi, kokoro };
  }
}

/** Returns a file's content that lies in an array of bytes. */
export function inMemory(bytes) {
  return { size: bytes.length, read: (offset, length) => bytes.subarray(offset, offset + length) };
}
