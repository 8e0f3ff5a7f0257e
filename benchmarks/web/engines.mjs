// The engines of the comparison, in a page: each loads, and then speaks phonemes.

/** A bundle for the web. */
async function bundle({ threads }) {
  const { Bundle } = await import("/bundle/web/kokoro.mjs");
  const loaded = await Bundle.load("/bundle/", { threads, cache: false, warmUp: false });
  return async ({ phonemes, voice }) => (await loaded.synthesize(null, { phonemes, voice })).samples.length;
}

/** An ONNX file in ONNX Runtime Web's WebAssembly, as kokoro-js runs one: kokoro's own export, or one of kokoro-onnx. */
async function onnxruntime({ threads, model }) {
  const ort = await import("/npm/ort.wasm.min.mjs");
  ort.env.wasm.numThreads = threads;
  ort.env.wasm.wasmPaths = "/npm/";
  const session = await ort.InferenceSession.create(`/models/${model}`, { executionProviders: ["wasm"] });
  const own = session.inputNames.includes("input_ids");
  return async ({ tokens, style }) => {
    const found = await session.run({
      [own ? "input_ids" : "tokens"]: new ort.Tensor("int64", BigInt64Array.from(tokens, BigInt), [1, tokens.length]),
      style: new ort.Tensor("float32", Float32Array.from(style), [1, style.length]),
      speed: own ? new ort.Tensor("int32", Int32Array.of(1), [1]) : new ort.Tensor("float32", Float32Array.of(1), [1]),
    });
    return found[own ? "waveform" : "audio"].data.length;
  };
}

let speak;

/** Loads an engine; returns the seconds that it took. */
globalThis.load = async (engine, options) => {
  const begun = performance.now();
  speak = await { bundle, onnxruntime }[engine](options);
  return (performance.now() - begun) / 1000;
};

/** Returns the seconds that an utterance took, and its number of samples. */
globalThis.speak = async (utterance) => {
  const begun = performance.now();
  const samples = await speak(utterance);
  return [(performance.now() - begun) / 1000, samples];
};
