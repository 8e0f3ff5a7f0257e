// Speaks text into a WAV file, piece by piece, with koffi (npm install koffi). The event loop goes on meanwhile:
//
//     node speak.mjs BUNDLE/native/libkokoro.so BUNDLE "Hello, world!" hello.wav
import { closeSync, openSync, writeSync } from "node:fs";
import koffi from "koffi";

const [path, directory, text, output] = process.argv.slice(2);
const library = koffi.load(path);
koffi.opaque("kokoro_bundle");
koffi.struct("kokoro_request", {
  size: "size_t", text: "str", phonemes: "str", voice: "str", speed: "double", seed: "uint64_t", ssml: "int",
  skip_emoji: "int", trim: "int", steady: "int", language: "str", sentence_pause: "double", clause_pause: "double",
  end_pause: "double", loudness: "double", no_stretch: "int", one_pass: "int",
});
// Timings and durations follow.
koffi.struct("kokoro_audio", {
  samples: "const float *", sample_count: "size_t", sample_rate: "int", start: "double", phonemes: "str",
});
koffi.proto("int kokoro_callback(const kokoro_audio *piece, void *user)");
const load = library.func("int kokoro_load(const char *directory, const void *options, _Out_ kokoro_bundle **bundle)");
const stream = library.func(
  "int kokoro_stream(kokoro_bundle *bundle, const kokoro_request *request, kokoro_callback *callback, void *user)");
const checkRequest = library.func("int kokoro_check(kokoro_bundle *bundle, const kokoro_request *request)");
const free = library.func("void kokoro_free(kokoro_bundle *bundle)");
const lastError = library.func("const char *kokoro_last_error()");

const check = (error) => {
  if (error) throw new Error(lastError());
};

const header = (bytes) => {
  const made = Buffer.from("RIFF....WAVEfmt ....................data....", "latin1");
  [[4, 36 + bytes], [16, 16], [24, 24_000], [28, 48_000], [40, bytes]].forEach(([at, value]) => made.writeUInt32LE(value, at));
  [[20, 1], [22, 1], [32, 2], [34, 16]].forEach(([at, value]) => made.writeUInt16LE(value, at));
  return made;
};

// As the library and the other examples round: a half to the even number, in 32 bits.
const round = (sample) => {
  const scaled = Math.fround(Math.max(-1, Math.min(1, sample)) * 32767);
  const up = Math.round(scaled);
  return up - scaled === 0.5 && up % 2 ? up - 1 : up;
};

const bundle = [null];
check(load(directory, null, bundle));
const request = { size: koffi.sizeof("kokoro_request"), text };
check(checkRequest(bundle[0], request));
const file = openSync(output, "w");
let position = 44;
const writePiece = (pointer) => {
  const piece = koffi.decode(pointer, "kokoro_audio");
  const samples = koffi.decode(piece.samples, "float", Number(piece.sample_count));
  const bytes = Int16Array.from(samples, round);
  position += writeSync(file, new Uint8Array(bytes.buffer), 0, bytes.byteLength, position);
  console.log(`from ${piece.start.toFixed(2)} s on: ${piece.phonemes}`);
  return 0;
};
// The library computes on a thread of koffi's, and the pieces come in the event loop.
const callback = koffi.register(writePiece, "kokoro_callback *");
const error = await new Promise((resolve, reject) => {
  stream.async(bundle[0], request, callback, null, (failure, code) => (failure ? reject(failure) : resolve(code)));
});
koffi.unregister(callback);
// The message stays on that thread.
if (error) throw new Error(`kokoro_stream: error ${error}`);
writeSync(file, header(position - 44), 0, 44, 0);
closeSync(file);
free(bundle[0]);
