// The C library of a bundle, in the thread that imports this.
import { join, resolve } from "node:path";
import koffi from "koffi";
import { KokoroError, errorName } from "./errors.mjs";
import { FUNCTIONS } from "./header.mjs";

const opened = new Map();

/** Returns the path of the library that a bundle has. */
export function libraryOf(directory) {
  return join(directory, "native", process.platform === "darwin" ? "libkokoro.dylib" : "libkokoro.so");
}

/** Returns the functions of a library. */
export function openLibrary(path) {
  const place = resolve(path);
  if (!opened.has(place)) opened.set(place, load(place));
  return opened.get(place);
}

function load(path) {
  try {
    const library = koffi.load(path);
    return Object.fromEntries(Object.entries(FUNCTIONS).map(([name, declared]) => [name, library.func(declared)]));
  } catch (error) {
    throw new KokoroError("LibraryLoadError", `The C library ${path} cannot be loaded: ${error.message}. Export the ` +
      "bundle for this machine with --native, or name another library in the option library.");
  }
}

/** Throws the error of a function that was called in this thread just before. */
export function check(functions, code) {
  if (code) throw new KokoroError(errorName(code), functions.kokoro_last_error());
}
