// Runs single stages of a bundle for the web, and its whole chain, for another process: stages.mjs BUNDLE
//
// A message is the length of a JSON text as 4 bytes, the text, and the bytes of its arrays.
import { readSync, writeSync } from "node:fs";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";

const directory = resolve(process.argv[2]);
const part = (name) => import(pathToFileURL(join(directory, "web", name)));
const [{ Store }, { Speaker }] = await Promise.all([part("directory.mjs"), part("speaker.mjs")]);

function read(length) {
  const found = Buffer.alloc(length);
  for (let at = 0; at < length; ) {
    const count = readSync(0, found, at, length - at, null);
    if (count === 0) process.exit(0);
    at += count;
  }
  return found;
}

function write(bytes) {
  for (let at = 0; at < bytes.length; ) {
    try {
      at += writeSync(1, bytes, at);
    } catch (error) {
      if (error.code !== "EAGAIN") throw error;
    }
  }
}

function answer(message, arrays = []) {
  const text = Buffer.from(JSON.stringify({ ...message, sizes: arrays.map((array) => array.byteLength) }));
  const length = Buffer.alloc(4);
  length.writeUInt32LE(text.length);
  for (const part of [length, text, ...arrays]) write(new Uint8Array(part.buffer, part.byteOffset, part.byteLength));
}

async function run(speaker, asked) {
  if (asked.speak) return [(await speaker.synthesize(asked.speak)).samples];
  const inputs = asked.sizes.map(read);
  return speaker.module.runStage(asked.stage, asked.length, inputs, asked.outputs);
}

try {
  const speaker = await Speaker.load(new Store(directory));
  answer({ ready: true });
  for (;;) {
    const asked = JSON.parse(read(read(4).readUInt32LE()));
    try {
      answer({}, await run(speaker, asked));
    } catch (error) {
      answer({ error: error.name, message: String(error.message) });
    }
  }
} catch (error) {
  answer({ error: error.name, message: String(error.message) });
}
