// Bundles in files, for Node 20 and later.
import { closeSync, openSync, readSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { KokoroError } from "./errors.mjs";
import { MANIFEST, Manifest } from "./manifest.mjs";
import { Module } from "./module.mjs";
import { System, inMemory } from "./system.mjs";

const PIECE = 4 << 20;

/** Returns what a function returns that reads a file. */
async function reading(place, read) {
  try {
    return await read(place);
  } catch (error) {
    if (error instanceof KokoroError) throw error;
    const message = `${place} cannot be read (${error.code}): copy or export the bundle again.`;
    throw new KokoroError(error.code === "ENOENT" ? "MissingFileError" : "UnreadableFileError", message);
  }
}

/** Reads one file, and compares it with the manifest. */
async function checked(directory, manifest, path) {
  const bytes = await reading(join(directory, path), readFile);
  for (const part of manifest.parts(path)) {
    await manifest.check(path, part, bytes.subarray(part.start, part.start + part.bytes));
  }
  if (bytes.length !== manifest.files.get(path).bytes) {
    throw new KokoroError("DamagedFileError", `${path} should have ${manifest.files.get(path).bytes} bytes, has ${bytes.length}.`);
  }
  return bytes;
}

/** Reads the parameters into the module's memory, and compares them there. */
async function readParameters(directory, manifest, module) {
  const path = manifest.parameters;
  const { bytes } = manifest.files.get(path);
  const address = module.allocate(Math.max(bytes, 1));
  const file = await reading(join(directory, path), openSync);
  try {
    for (let at = 0; at < bytes; ) {
      const read = readSync(file, module.bytes(address + at, Math.min(PIECE, bytes - at)), 0, Math.min(PIECE, bytes - at), at);
      if (read === 0) throw new KokoroError("DamagedFileError", `${path} should have ${bytes} bytes and has ${at}: copy the bundle again.`);
      at += read;
    }
  } finally {
    closeSync(file);
  }
  for (const part of manifest.parts(path)) {
    await manifest.check(path, part, module.bytes(address + part.start, part.bytes));
  }
  return { size: bytes, address, read: (offset, length) => module.bytes(address + offset, length) };
}

/**
 * Loads a bundle from a directory.
 *
 * @param directory its path
 * @param options `manifestSha256`: the digest that its manifest must have
 * @returns `{manifest, module}`; the module speaks on this thread
 */
export async function loadDirectory(directory, { manifestSha256 } = {}) {
  const bytes = await reading(join(directory, MANIFEST), readFile);
  const manifest = await Manifest.read(bytes, manifestSha256);
  const system = new System();
  for (const { path, bytes: size } of manifest.files.values()) system.sizes.set(path, size);
  system.contents.set(MANIFEST, inMemory(bytes));
  const module = await Module.start(await checked(directory, manifest, manifest.module), system);
  system.contents.set(manifest.parameters, await readParameters(directory, manifest, module));
  module.load();
  return { manifest, module, fetch: async (path) => system.contents.set(path, inMemory(await checked(directory, manifest, path))) };
}

/** Calls a function of the module, and again as long as it lacks files, which are then read. */
export async function withFiles(loaded, use) {
  for (;;) {
    try {
      return use(loaded.module);
    } catch (error) {
      const wanted = [...loaded.module.system.wanted];
      if (wanted.length === 0) throw error;
      loaded.module.system.wanted.clear();
      for (const path of wanted) await loaded.fetch(path);
    }
  }
}
