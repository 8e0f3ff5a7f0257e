// Text that arrives bit by bit.
import { setImmediate as othersRun } from "node:timers/promises";
import { check } from "./library.mjs";
import { checkedText } from "./request.mjs";
import { wholeCharacters } from "./shared.mjs";

/** Among the parts of a text that arrives bit by bit: speak what is there. */
export const FLUSH = Symbol("flush");

/** Errors that tell that the speech is over. */
const OVER = ["UsageError", "ClosedBundleError", "StreamClosedError"];

/** Returns true for an iterable of parts of a text. */
export function isIterable(text) {
  return text !== null && typeof text === "object" && (Symbol.asyncIterator in text || Symbol.iterator in text);
}

/** Reads the parts of a text, and pushes them to a speech. */
export class Reading {
  #iterator;
  #functions;
  #live;
  #stopped = false;

  constructor(parts, functions, live) {
    this.#iterator = parts[Symbol.asyncIterator]?.() ?? parts[Symbol.iterator]();
    this.#functions = functions;
    this.#live = live;
  }

  /** Reads to the end, or until the speech has ended. Rejects with what the iterable throws. */
  async read() {
    const functions = this.#functions;
    // The first half of a character whose second half is in the next part.
    let half = "";
    for (;;) {
      const { value, done } = await this.#iterator.next();
      if (this.#stopped) return;
      if (done) {
        this.#tell(functions.kokoro_live_push(this.#live, half));
        return this.#tell(functions.kokoro_live_end(this.#live));
      }
      if (value === FLUSH) this.#tell(functions.kokoro_live_flush(this.#live));
      else {
        const [text, rest] = wholeCharacters(half + checkedText(value));
        half = rest;
        this.#tell(functions.kokoro_live_push(this.#live, text));
      }
      // An iterable that has all its parts must not keep timers and sockets from their turn.
      await othersRun();
    }
  }

  /** Reads no more, and tells the iterable so. */
  async stop() {
    this.#stopped = true;
    await this.#iterator.return?.();
  }

  #tell(code) {
    try {
      check(this.#functions, code);
    } catch (error) {
      // The call that takes the pieces ends with the error that ended the speech.
      if (!OVER.includes(error.name)) throw error;
      this.#stopped = true;
    }
  }
}
