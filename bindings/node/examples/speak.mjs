// Speaks text into a WAV file, piece by piece. The event loop goes on meanwhile:
//
//     node speak.mjs BUNDLE "Hello, world!" hello.wav
import { open } from "node:fs/promises";
import { Bundle, pcm16, wavHeader } from "@kokoro-export/node";

const [directory, text, output] = process.argv.slice(2);
const bundle = await Bundle.load(directory);
await bundle.check(text);
const file = await open(output, "w");
let count = 0;
for await (const piece of bundle.stream(text)) {
  console.log(`from ${piece.start.toFixed(2)} s on: ${piece.phonemes}`);
  const samples = pcm16(piece.samples);
  await file.write(new Uint8Array(samples.buffer), 0, samples.byteLength, 44 + 2 * count);
  count += samples.length;
}
await file.write(wavHeader(count), 0, 44, 0);
await file.close();
bundle.close();
