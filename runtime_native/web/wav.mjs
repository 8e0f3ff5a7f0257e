// WAV files of 16 bits.

/** Returns the bytes of a WAV file; samples beyond full scale are clipped. */
export function encodeWav(samples, sampleRate = 24000) {
  const bytes = new Uint8Array(44 + 2 * samples.length);
  const view = new DataView(bytes.buffer);
  const text = (offset, value) => bytes.set(new TextEncoder().encode(value), offset);
  text(0, "RIFF");
  view.setUint32(4, 36 + 2 * samples.length, true);
  text(8, "WAVEfmt ");
  view.setUint32(16, 16, true);
  view.setUint16(20, 1, true);
  view.setUint16(22, 1, true);
  view.setUint32(24, sampleRate, true);
  view.setUint32(28, 2 * sampleRate, true);
  view.setUint16(32, 2, true);
  view.setUint16(34, 16, true);
  text(36, "data");
  view.setUint32(40, 2 * samples.length, true);
  samples.forEach((sample, index) => {
    view.setInt16(44 + 2 * index, Math.round(Math.min(Math.max(sample, -1), 1) * 32767), true);
  });
  return bytes;
}
