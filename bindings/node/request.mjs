// Checks what an app gives, and makes the structs of kokoro.h of it.
import koffi from "koffi";
import { KokoroError } from "./errors.mjs";
import "./header.mjs";
import { checkedSeed, notZero } from "./shared.mjs";

const SPEECH = {
  phonemes: "string", voice: "string", speed: "number", seed: "seed", ssml: "boolean", skipEmoji: "boolean",
  trim: "boolean", steady: "boolean", language: "string", sentencePause: "number", clausePause: "number",
  endPause: "number", loudness: "number", stretch: "boolean", onePass: "boolean", signal: "object",
};
const LOAD = { library: "string", threads: "number", verify: "boolean", level: "string", arithmetic: "string",
  manifestSha256: "string" };

/** Returns the options that are given, each of its type. */
function checked(options, types) {
  const given = Object.entries(options).filter(([, value]) => value !== undefined && value !== null);
  for (const [name, value] of given) {
    if (!Object.hasOwn(types, name)) {
      const known = Object.keys(types).join(", ");
      throw new KokoroError("UsageError", `There is no option ${name}: expected some of ${known}.`);
    }
    if (types[name] !== "seed") requireType(`The option ${name}`, value, types[name]);
  }
  return Object.fromEntries(given);
}

function requireType(what, value, type) {
  if (typeof value !== type) {
    throw new KokoroError("ArgumentTypeError", `${what} must be a ${type}, found ${typeof value}.`);
  }
  // It would end the string of C.
  if (type === "string" && value.includes("\0")) {
    throw new KokoroError("ArgumentTypeError", `${what} must not contain the character U+0000: take it out.`);
  }
}

/** Returns a checked part of a text. */
export function checkedText(text) {
  requireType("The text", text, "string");
  return text;
}

/** Returns the path of a library, if one is given, and a kokoro_options. */
export function makeOptions(options) {
  const { library, threads, verify = true, level, arithmetic, manifestSha256 } = checked(options, LOAD);
  if (threads !== undefined && !(Number.isInteger(threads) && threads > 0 && threads < 2 ** 31)) {
    throw new KokoroError("ThreadsError", `The number of threads must be a positive integer, found ${threads}.`);
  }
  if (manifestSha256 !== undefined && library === undefined) {
    throw new KokoroError("UsageError", "The option manifestSha256 needs the option library: the bundle's own " +
      "library would run before anything is compared, so ship another copy of it with the app, and name that.");
  }
  const made = { size: koffi.sizeof("kokoro_options"), threads: threads ?? 0, skip_verify: Number(!verify) };
  const texts = { level: level ?? null, manifest_sha256: manifestSha256 ?? null, arithmetic: arithmetic ?? null };
  return { library, options: { ...made, ...texts } };
}

/**
 * Returns a kokoro_request.
 *
 * @param text a string; null or undefined for phonemes, or for text that is pushed
 */
export function makeRequest(text, options) {
  const { endPause, ...given } = checked(options, SPEECH);
  return {
    size: koffi.sizeof("kokoro_request"),
    text: text === undefined || text === null ? null : checkedText(text),
    phonemes: given.phonemes ?? null,
    voice: given.voice ?? null,
    speed: notZero(given.speed ?? 1),
    seed: checkedSeed(given.seed ?? 0),
    ssml: Number(given.ssml ?? false),
    skip_emoji: Number(given.skipEmoji ?? false),
    trim: given.trim === undefined ? 0 : given.trim ? 1 : -1,
    steady: Number(given.steady ?? false),
    language: given.language ?? null,
    sentence_pause: given.sentencePause ?? 0,
    clause_pause: given.clausePause ?? 0,
    end_pause: endPause === 0 ? -1 : endPause ?? 0,
    loudness: given.loudness === undefined ? 0 : notZero(given.loudness),
    no_stretch: Number(!(given.stretch ?? true)),
    one_pass: Number(given.onePass ?? false),
  };
}
