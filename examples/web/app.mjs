// A page that speaks: the bundle is in the directory "bundle" beside this page, or at ?bundle=ADDRESS.
const address = new URLSearchParams(location.search).get("bundle") ?? "bundle/";
const { Bundle, Player, encodeWav } = await import(new URL("web/kokoro.mjs", new URL(address, location.href)));
const part = (id) => document.getElementById(id);
const state = (text) => (part("state").textContent = text);
let running = null;

/** Shows the words of a piece, and adds the element of each word. */
function show(piece, elements) {
  for (const word of piece.words) {
    const element = document.createElement("span");
    element.textContent = word.text;
    // Punctuation is a word of its own.
    part("spoken").append(/^\p{P}/u.test(word.text) ? "" : " ", element);
    elements.push(element);
  }
}

async function speak(bundle) {
  const elements = [], pieces = [], words = [];
  const controller = new AbortController();
  const player = new Player({
    onWord: (word) => {
      document.querySelector(".heard")?.classList.remove("heard");
      const index = word ? words.findIndex((each) => each.start === word.start) : -1;
      elements[index]?.classList.add("heard");
    },
  });
  running = { controller, player };
  part("spoken").textContent = "";
  part("download").hidden = true;
  const options = { voice: part("voice").value, speed: Number(part("speed").value), signal: controller.signal };
  async function* heard() {
    for await (const piece of bundle.stream(part("text").value, options)) {
      show(piece, elements);
      words.push(...piece.words);
      pieces.push(piece.samples);
      state("Speaking");
      yield piece;
    }
  }
  await player.play(heard());
  const all = new Float32Array(pieces.reduce((total, samples) => total + samples.length, 0));
  pieces.reduce((at, samples) => (all.set(samples, at), at + samples.length), 0);
  part("download").href = URL.createObjectURL(new Blob([encodeWav(all)], { type: "audio/wav" }));
  part("download").hidden = false;
  state("Ready");
}

function stop() {
  running?.controller.abort();
  running?.player.stop();
  running = null;
}

try {
  const onProgress = ({ loaded, total }) => (part("progress").value = total ? loaded / total : 0);
  const bundle = await Bundle.load(new URL(address, location.href), { onProgress });
  for (const voice of bundle.voices) part("voice").add(new Option(voice));
  if (bundle.voices.includes("af_heart")) part("voice").value = "af_heart";
  part("progress").hidden = true;
  part("speak").disabled = part("stop").disabled = false;
  part("stop").onclick = () => (stop(), state("Ready"));
  part("form").onsubmit = (event) => {
    event.preventDefault();
    stop();
    state("Computing");
    speak(bundle).catch((error) => error.name === "AbortError" || state(`${error.name}: ${error.message}`));
  };
  state("Ready");
} catch (error) {
  state(`${error.name}: ${error.message}`);
}
