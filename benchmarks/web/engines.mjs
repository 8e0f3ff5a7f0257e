// The engines of the comparison, in a page: each loads, and then speaks phonemes.

/** A bundle for the web. */
async function bundle({ threads }) {
  const { Bundle } = await import("/bundle/web/kokoro.mjs");
  const loaded = await Bundle.load("/bundle/", { threads, cache: false, warmUp: false });
  return {
    speak: async ({ phonemes, voice }) => (await loaded.synthesize(null, { phonemes, voice })).samples.length,
    begin: async ({ phonemes, voice }) => {
      for await (const piece of loaded.stream(null, { phonemes, voice })) return piece.samples.length;
    },
  };
}

/** An ONNX file in ONNX Runtime Web's WebAssembly, as kokoro-js runs one: kokoro's own export, or one of kokoro-onnx. */
async function onnxruntime({ threads, model }) {
  const ort = await import("/npm/ort.wasm.min.mjs");
  ort.env.wasm.numThreads = threads;
  ort.env.wasm.wasmPaths = "/npm/";
  const session = await ort.InferenceSession.create(`/models/${model}`, { executionProviders: ["wasm"] });
  const own = session.inputNames.includes("input_ids");
  const speak = async ({ tokens, style }) => {
    const found = await session.run({
      [own ? "input_ids" : "tokens"]: new ort.Tensor("int64", BigInt64Array.from(tokens, BigInt), [1, tokens.length]),
      style: new ort.Tensor("float32", Float32Array.from(style), [1, style.length]),
      speed: own ? new ort.Tensor("int32", Int32Array.of(1), [1]) : new ort.Tensor("float32", Float32Array.of(1), [1]),
    });
    return found[own ? "waveform" : "audio"].data.length;
  };
  return { speak };
}

/** kokoro-js, whose model and voice come from this server in place of Hugging Face's. It chooses its threads itself. */
async function kokorojs() {
  const { KokoroTTS, env } = await import("/kokoro-js/kokoro.web.js");
  const repository = "onnx-community/Kokoro-82M-v1.0-ONNX";
  const theirs = `https://huggingface.co/${repository}/resolve/main/`;
  const request = globalThis.fetch;
  globalThis.fetch = (address, options) => request(String(address?.url ?? address).replace(theirs, "/hub/"), options);
  env.wasmPaths = "/transformers-js/";
  const loaded = await KokoroTTS.from_pretrained(repository, { dtype: "fp32", device: "wasm" });
  const speak = async ({ phonemes, voice }) => {
    const { input_ids } = loaded.tokenizer(phonemes, { truncation: true });
    return (await loaded.generate_from_ids(input_ids, { voice })).audio.length;
  };
  return { speak };
}

/** Returns a function that ends the watch, and returns the longest time in which the page did nothing, in seconds. */
function watch() {
  let last = performance.now(), longest = 0;
  const timer = setInterval(look, TICK);
  function look() {
    const now = performance.now();
    longest = Math.max(longest, now - last - TICK);
    last = now;
  }
  return () => {
    look();
    clearInterval(timer);
    return longest / 1000;
  };
}

const TICK = 4; // ms, the shortest that browsers allow
let engine;

/** Loads an engine; returns the seconds that it took. */
globalThis.load = async (name, options) => {
  const begun = performance.now();
  engine = await { bundle, onnxruntime, kokorojs }[name](options);
  return (performance.now() - begun) / 1000;
};

/** Returns the seconds that an utterance took, its number of samples, and the longest stall of the page. */
globalThis.speak = async (utterance) => {
  const end = watch();
  const begun = performance.now();
  const samples = await engine.speak(utterance);
  return [(performance.now() - begun) / 1000, samples, end()];
};

/** Returns the seconds until a stream has its first samples. */
globalThis.begin = async (utterance) => {
  const begun = performance.now();
  await engine.begin(utterance);
  return (performance.now() - begun) / 1000;
};
