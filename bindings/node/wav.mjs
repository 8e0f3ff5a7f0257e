// WAV files of 16 bits, with the samples that the C library writes.
import { KokoroError } from "./errors.mjs";

const HEADER = 44;
const LARGEST = 0xffffffff;

/** Returns samples of 16 bits: clipped, scaled in 32 bits, and rounded, a half to the even number. */
export function pcm16(samples) {
  return Int16Array.from(samples, (sample) => {
    const scaled = Math.fround(Math.min(Math.max(sample, -1), 1) * 32767);
    const up = Math.round(scaled);
    return up - scaled === 0.5 && up % 2 ? up - 1 : up;
  });
}

/** Returns the beginning of a WAV file, before so many samples. */
export function wavHeader(sampleCount, sampleRate = 24000) {
  const size = 2 * sampleCount;
  if (size > LARGEST - HEADER) {
    throw new KokoroError("OutputError", `The file would have ${sampleCount} samples of 16 bits, and a WAV file holds ` +
      "4 GiB: write several files.");
  }
  const bytes = new Uint8Array(HEADER);
  const view = new DataView(bytes.buffer);
  const text = (offset, value) => bytes.set(new TextEncoder().encode(value), offset);
  text(0, "RIFF");
  view.setUint32(4, HEADER - 8 + size, true);
  text(8, "WAVEfmt ");
  view.setUint32(16, 16, true);
  view.setUint16(20, 1, true);
  view.setUint16(22, 1, true);
  view.setUint32(24, sampleRate, true);
  view.setUint32(28, 2 * sampleRate, true);
  view.setUint16(32, 2, true);
  view.setUint16(34, 16, true);
  text(36, "data");
  view.setUint32(40, size, true);
  return bytes;
}

/** Returns the bytes of a WAV file; samples beyond full scale are clipped. */
export function encodeWav(samples, sampleRate = 24000) {
  const bytes = new Uint8Array(HEADER + 2 * samples.length);
  bytes.set(wavHeader(samples.length, sampleRate));
  const view = new DataView(bytes.buffer, HEADER);
  pcm16(samples).forEach((sample, index) => view.setInt16(2 * index, sample, true));
  return bytes;
}
