// A file of a server, read from its beginning to its end in one request; an interrupted one goes on where it stopped.
import { KokoroError } from "./errors.mjs";

const ATTEMPTS = 4;
const WAIT = 500; // milliseconds before the second attempt; then twice as long each time
const PROGRESS = 1 << 18; // bytes after which a connection counts as one that works

/** Reads one file. */
export class Download {
  #reader = null;
  #place = 0; // offset of the next byte that the reader gives
  #rest = new Uint8Array(0); // bytes that were received before their part was asked for

  constructor(address, { signal, ...options } = {}) {
    this.address = address;
    this.signal = signal;
    this.options = options;
  }

  /** Returns `length` bytes from `start` on; fewer if the file ends before. */
  async read(start, length) {
    const found = [];
    let count = 0, attempts = 0, received = 0;
    while (count < length) {
      this.signal?.throwIfAborted();
      try {
        const piece = await this.#next(start + count);
        if (piece === null) break;
        received += piece.length;
        if (received >= PROGRESS) attempts = 0;
        const taken = piece.subarray(0, length - count);
        this.#rest = piece.subarray(taken.length);
        found.push(taken);
        count += taken.length;
      } catch (error) {
        this.#forget();
        received = 0;
        this.signal?.throwIfAborted();
        if (error.final || ++attempts >= ATTEMPTS) {
          const reason = `${this.address} could not be fetched (${error.message})`;
          throw new KokoroError("DownloadError", `${reason}: check the network and the address, and try again.`);
        }
        await new Promise((resolve) => setTimeout(resolve, WAIT * 2 ** (attempts - 1)));
      }
    }
    const bytes = new Uint8Array(count);
    let at = 0;
    for (const piece of found) {
      bytes.set(piece, at);
      at += piece.length;
    }
    return bytes;
  }

  /** Ends the request. */
  close() {
    this.#forget();
  }

  #forget() {
    this.#reader?.cancel().catch(() => {});
    this.#reader = null;
    this.#rest = new Uint8Array(0);
  }

  /** Returns bytes from an offset on, or null at the end of the file. */
  async #next(offset) {
    if (this.#rest.length && this.#place - this.#rest.length === offset) return this.#rest;
    if (!this.#reader || this.#place !== offset) await this.#open(offset);
    for (;;) {
      const { done, value } = await this.#reader.read();
      if (done) return null;
      this.#place += value.length;
      // A server without ranges sends the file from its beginning.
      if (this.#place > offset) return value.subarray(Math.max(value.length - (this.#place - offset), 0));
    }
  }

  async #open(offset) {
    this.#forget();
    const headers = offset ? { Range: `bytes=${offset}-` } : {};
    const response = await fetch(this.address, { ...this.options, headers, signal: this.signal });
    if (!response.ok) {
      await response.body?.cancel();
      throw Object.assign(new Error(`status ${response.status}`), { final: response.status < 500 });
    }
    this.#place = response.status === 206 ? offset : 0;
    this.#reader = response.body.getReader();
  }
}
