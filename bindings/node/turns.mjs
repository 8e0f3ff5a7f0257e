// What the app's thread tells a thread of the library: how many pieces it took, and whether it wants no more.
const TAKEN = 0, STOPPED = 1;

/** Two numbers that both threads see. */
export class Turns {
  #numbers;

  constructor(shared = new SharedArrayBuffer(8)) {
    this.shared = shared;
    this.#numbers = new Int32Array(shared);
  }

  /** The app took a piece. */
  take() {
    Atomics.add(this.#numbers, TAKEN, 1);
    Atomics.notify(this.#numbers, TAKEN);
  }

  /** The app wants no more pieces. */
  stop() {
    Atomics.store(this.#numbers, STOPPED, 1);
    // The other thread waits for another number.
    this.take();
  }

  /** Waits until the app has taken so many pieces; returns false if it wants no more. */
  wait(count) {
    for (;;) {
      if (Atomics.load(this.#numbers, STOPPED)) return false;
      const taken = Atomics.load(this.#numbers, TAKEN);
      if (taken >= count) return true;
      Atomics.wait(this.#numbers, TAKEN, taken);
    }
  }
}
