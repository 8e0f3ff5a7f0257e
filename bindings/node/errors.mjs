// Errors by type: each has the name of Python's and C's, and the message of the library.
import { ERRORS } from "./header.mjs";

const CODES = Object.fromEntries(Object.entries(ERRORS).map(([code, name]) => [name, Number(code)]));

const kindOf = (code) => ERRORS[Math.floor(code / 100) * 100] ?? "InternalError";

/** Returns the name of a code; that of its kind if a newer library has a code that this version does not know. */
export function errorName(code) {
  return ERRORS[code] ?? kindOf(code);
}

/** An error of a bundle, of its input or of this machine. */
export class KokoroError extends Error {
  /**
   * @param name its type, such as "UnknownVoiceError"
   * @param message what was expected, what was found, and what to do
   */
  constructor(name, message) {
    super(message);
    this.name = name;
    /** The number in kokoro.h. */
    this.code = CODES[name];
    /** The kind, which is enough for most apps: "UsageError", "InputError", "BundleError", "MachineError" … */
    this.kind = kindOf(this.code);
  }
}
