// Plays the pieces of a stream as they come, and tells which word is heard.

const SAMPLE_RATE = 24000;

/** Returns the word that is heard at a time in seconds, or null between words. */
export function wordAt(words, seconds) {
  let low = 0, high = words.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (words[middle].start <= seconds) low = middle + 1;
    else high = middle;
  }
  const word = words[low - 1];
  return word && seconds < word.end ? word : null;
}

/** Plays speech; make it in a handler of a click, because browsers begin no sound without one. */
export class Player {
  #node = null;
  #words = [];
  #word = null;
  #queued = 0;
  #finish = null;

  /**
   * @param options `onWord(word | null)`, `onUnderrun(seconds)`, `context`: an AudioContext
   */
  constructor({ onWord, onUnderrun, context } = {}) {
    this.context = context ?? new AudioContext({ sampleRate: SAMPLE_RATE });
    this.onWord = onWord;
    this.onUnderrun = onUnderrun;
    /** Number of times that the next piece came too late. */
    this.underruns = 0;
  }

  /**
   * Plays all pieces of a stream, from the first one on.
   *
   * @returns a promise of the end of the sound
   */
  async play(pieces) {
    await this.#start();
    const finished = new Promise((resolve) => (this.#finish = resolve));
    let offset = 0;
    for await (const piece of pieces) {
      offset = this.#queued / SAMPLE_RATE - piece.start;
      for (const word of piece.words) this.#words.push({ ...word, start: word.start + offset, end: word.end + offset });
      this.#queued += piece.samples.length;
      const samples = this.#fitted(piece.samples);
      this.#node.port.postMessage({ samples }, [samples.buffer]);
    }
    this.#node.port.postMessage({ end: true });
    await finished;
  }

  /** Falls silent at once, and forgets what was to be played. */
  stop() {
    this.#node?.port.postMessage({ clear: true });
    this.#node?.disconnect();
    this.#node = null;
    this.#words = [];
    this.#queued = 0;
    this.#tell(null);
    this.#finish?.();
  }

  async #start() {
    if (this.#node) return;
    await this.context.audioWorklet.addModule(new URL("./player_worklet.mjs", import.meta.url));
    this.#node = new AudioWorkletNode(this.context, "kokoro-player", { numberOfInputs: 0, outputChannelCount: [1] });
    this.#node.port.onmessage = ({ data }) => this.#hear(data);
    this.#node.connect(this.context.destination);
    await this.context.resume();
  }

  /** Returns samples at the rate of the context, of its own memory. */
  #fitted(samples) {
    const ratio = this.context.sampleRate / SAMPLE_RATE;
    if (ratio === 1) return samples.slice();
    return Float32Array.from({ length: Math.round(samples.length * ratio) }, (_, index) => {
      const place = index / ratio;
      const left = Math.min(Math.floor(place), samples.length - 1);
      const right = Math.min(left + 1, samples.length - 1);
      return samples[left] + (samples[right] - samples[left]) * (place - left);
    });
  }

  #hear({ played, underrun, ended }) {
    if (underrun) {
      this.underruns++;
      this.onUnderrun?.(played / this.context.sampleRate);
    }
    this.#tell(ended ? null : wordAt(this.#words, played / this.context.sampleRate - (this.context.outputLatency || 0)));
    if (ended) this.#finish?.();
  }

  #tell(word) {
    if (word === this.#word) return;
    this.#word = word;
    this.onWord?.(word);
  }
}
