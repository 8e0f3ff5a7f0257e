// A thread that makes the calls that take time, one after the other.
import { parentPort } from "node:worker_threads";
import koffi from "koffi";
import { KokoroError } from "./errors.mjs";
import { check, openLibrary } from "./library.mjs";
import { Turns } from "./turns.mjs";

const CALLS = {
  load(functions, { directory, options }) {
    const handle = [null];
    check(functions, functions.kokoro_load(directory, options, handle));
    const [bundle] = handle;
    const voices = Array.from({ length: Number(functions.kokoro_voice_count(bundle)) }, (_, index) =>
      functions.kokoro_voice_name(bundle, index));
    return {
      bundle,
      facts: {
        voices,
        model: functions.kokoro_model_name(bundle),
        synthetic: functions.kokoro_is_synthetic(bundle) === 1,
        level: functions.kokoro_level(bundle),
        maxPhonemes: Number(functions.kokoro_max_phonemes(bundle)),
      },
    };
  },
  check(functions, { bundle, request }) {
    check(functions, functions.kokoro_check(bundle, request));
  },
  stream(functions, { bundle, request, shared, whole }) {
    // Nothing is computed of a whole that cannot be spoken.
    if (whole) check(functions, functions.kokoro_check(bundle, request));
    handOn(functions, shared, (callback) => functions.kokoro_stream(bundle, request, callback, null));
  },
  openLive(functions, { bundle, request }) {
    const handle = [null];
    check(functions, functions.kokoro_live_open(bundle, request, handle));
    return handle[0];
  },
  streamLive(functions, { live, shared }) {
    handOn(functions, shared, (callback) => functions.kokoro_live_stream(live, 1, callback, null));
  },
};

/** Makes a call that hands on each piece when the app has taken the one before. The library computes meanwhile. */
function handOn(functions, shared, call) {
  const turns = new Turns(shared);
  let sent = 0;
  let failure = null;
  const code = call((pointer) => {
    try {
      const piece = copied(pointer);
      parentPort.postMessage({ piece }, [piece.samples.buffer]);
      sent++;
      return turns.wait(sent) ? 0 : 1;
    } catch (error) {
      failure = error;
      return 1;
    }
  });
  if (failure) throw failure;
  check(functions, code);
}

/** Returns a copy of a kokoro_audio. */
function copied(pointer) {
  const audio = koffi.decode(pointer, "kokoro_audio");
  const all = (first, type, count) => (count ? koffi.decode(first, type, Number(count)) : []);
  return {
    samples: Float32Array.from(all(audio.samples, "float", audio.sample_count)),
    sampleRate: audio.sample_rate,
    start: audio.start,
    phonemes: audio.phonemes,
    tokens: all(audio.tokens, "kokoro_timing", audio.token_count),
    words: all(audio.words, "kokoro_timing", audio.word_count),
    durations: Array.from(all(audio.durations, "int64_t", audio.duration_count), Number),
    lead: audio.lead,
  };
}

parentPort.on("message", ({ call, library, ...given }) => {
  try {
    parentPort.postMessage({ result: CALLS[call](openLibrary(library), given) });
  } catch (error) {
    // An error of a class does not survive the way to another thread.
    const name = error instanceof KokoroError ? error.name : "InternalError";
    parentPort.postMessage({ error: { name, message: error.message } });
  }
});
