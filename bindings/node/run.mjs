// A call that takes time, on another thread, which is kept for later calls.
import { Worker } from "node:worker_threads";
import { KokoroError } from "./errors.mjs";
import { Turns } from "./turns.mjs";

const MOST_IDLE = 4;

const idle = [];
const running = new Set();

/** A call of one of the functions of `worker.mjs`. */
export class Run {
  #worker = idle.pop() ?? startWorker();
  #turns = new Turns();
  #pieces = [];
  #over = false;
  #wake = () => {};
  #settle;

  constructor(message) {
    /** What the call returns. */
    this.result = new Promise((resolve, reject) => {
      this.#settle = { resolve, reject };
    });
    // Whoever takes pieces need not look at it.
    this.result.catch(() => {});
    running.add(this);
    this.#worker.run = this;
    // A program does not end while it waits for an answer.
    this.#worker.ref();
    this.#worker.postMessage({ ...message, shared: this.#turns.shared });
  }

  /** Returns the next piece as soon as it is there, and null after the last one. */
  async take() {
    while (!this.#pieces.length && !this.#over) await new Promise((resolve) => (this.#wake = resolve));
    if (!this.#pieces.length) return this.result.then(() => null);
    this.#turns.take();
    return this.#pieces.shift();
  }

  /** Ends the call for the app at once; the other thread stops at the next piece. */
  fail(error) {
    this.#pieces = [];
    this.#end("reject", error);
    this.stop();
  }

  /** Has the other thread stop at the next piece. */
  stop() {
    this.#turns.stop();
    this.#worker.unref();
  }

  /** Takes what the other thread tells. */
  receive({ piece, error, result }) {
    if (piece && this.#over) return;
    if (piece) {
      this.#pieces.push(piece);
      return this.#wake();
    }
    this.#leave();
    if (idle.length < MOST_IDLE) idle.push(this.#worker);
    else this.#worker.terminate();
    if (error) this.#end("reject", new KokoroError(error.name, error.message));
    else this.#end("resolve", result);
  }

  /** The other thread has ended. */
  lose(error) {
    this.#leave();
    this.#end("reject", new KokoroError("ResourceError", `The thread that computes ended: ${error.message}`));
  }

  #leave() {
    running.delete(this);
    this.#worker.run = null;
    this.#worker.unref();
  }

  #end(how, value) {
    this.#over = true;
    this.#settle[how](value);
    this.#wake();
  }
}

/** Stops all calls, as a process must before it ends: it waits for its threads. */
export function stopAll() {
  for (const run of running) run.stop();
}

function startWorker() {
  // Options of this process, such as that a script comes from its input, are not for the thread.
  const worker = new Worker(new URL("./worker.mjs", import.meta.url), { execArgv: [] });
  worker.unref();
  worker.on("message", (message) => worker.run?.receive(message));
  worker.on("error", (error) => worker.run?.lose(error));
  worker.on("exit", () => {
    if (idle.includes(worker)) idle.splice(idle.indexOf(worker), 1);
    worker.run?.lose(new Error("nobody asked it to"));
  });
  return worker;
}
