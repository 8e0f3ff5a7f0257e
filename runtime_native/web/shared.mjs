// What the packages for the web and for Node do alike; `python -m exporter.native.bindings` copies it into bindings/node.
import { KokoroError } from "./errors.mjs";

const MOST_SEED = (1n << 64n) - 1n;

/** Returns a seed that a caller gave as a number, a bigint or a string. */
export function checkedSeed(seed) {
  if (!/^\d+$/.test(String(seed)) || BigInt(seed) > MOST_SEED) {
    throw new KokoroError("UsageError", `The seed must be an integer from 0 to 2**64 - 1, found ${String(seed)}.`);
  }
  return BigInt(seed);
}

/** Returns a number for a field whose zero means its default: a zero that is given is refused as what it is. */
export const notZero = (number) => (number === 0 ? Number.MIN_VALUE : number);

/** Returns a text without the first half of a character at its end, and that half. */
export function wholeCharacters(text) {
  const half = /[\uD800-\uDBFF]$/.test(text) ? text.at(-1) : "";
  return [text.slice(0, text.length - half.length), half];
}

/** Joins the pieces of a speech, of which there is at least one. */
export function join(pieces) {
  const samples = new Float32Array(pieces.reduce((total, piece) => total + piece.samples.length, 0));
  let at = 0;
  for (const piece of pieces) {
    samples.set(piece.samples, at);
    at += piece.samples.length;
  }
  const all = (name) => pieces.flatMap((piece) => piece[name]);
  return {
    samples,
    sampleRate: pieces[0].sampleRate,
    start: 0,
    phonemes: pieces.map((piece) => piece.phonemes).join(""),
    tokens: all("tokens"),
    words: all("words"),
    durations: all("durations"),
  };
}
