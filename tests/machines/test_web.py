"""A bundle for the web in headless Chromium, under a strict policy: Node's bits, the cache, a page."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from benchmarks.web import chromium
from benchmarks.web.chromium import Page
from tests.support.paths import ROOT
from tests.support.tiny.web import run_node
from tests.support.web_server import Faults, serving

CHROMIUM = shutil.which("chromium")
pytestmark = [
    pytest.mark.machines,
    pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed: apt install chromium"),
]

TEXT = "One sentence is here. Another one follows it, and it is longer. The third one ends it."
SPEAK = """
const digest = async (samples) =>
  Array.from(new Uint8Array(await crypto.subtle.digest("SHA-256", samples)), (byte) => byte.toString(16));
const { samples, words } = await bundle.synthesize(text, { voice: "af_heart", seed: 7 });
"""
REAL = "KOKORO_WEB_BUNDLE"
"""The variable that names a bundle with real weights."""


@pytest.fixture(params=["tiny", "real"])
def bundle(request: pytest.FixtureRequest, web_bundle: Path) -> Path:
    if request.param == "tiny":
        return web_bundle
    if REAL not in os.environ:
        pytest.skip(f"no bundle is named in {REAL}")
    return Path(os.environ[REAL])


@pytest.fixture
def server(bundle: Path) -> Iterator[tuple[str, Faults]]:
    with serving({"/bundle/": bundle, "/": ROOT / "examples" / "web"}) as found:
        yield found


@pytest.fixture
def page(server: tuple[str, Faults], tmp_path: Path) -> Iterator[Page]:
    assert CHROMIUM is not None
    with chromium.opened(CHROMIUM, tmp_path) as opened:
        opened.open(f"{server[0]}/index.html")
        opened.wait_for(f"{STATE} === 'Ready'")
        yield opened
        assert not [each for each in opened.failures if "favicon" not in each]


STATE = "document.getElementById('state').textContent"


def run(page: Page, script: str, **values: object) -> Any:
    given = "".join(f"const {name} = {json.dumps(value)};\n" for name, value in values.items())
    load = "const kokoro = await import('/bundle/web/kokoro.mjs');\n"
    return page.run(f"(async () => {{ {given}{load}{script} }})()")


@pytest.mark.parametrize("threads", [1, 3])
def test_samples_have_the_bits_of_node(
    page: Page, server: tuple[str, Faults], bundle: Path, threads: int
) -> None:
    server[1].isolated = threads > 1
    page.open(f"{server[0]}/index.html")
    loaded = "const bundle = await kokoro.Bundle.load('/bundle', { threads: 3 });\n"
    *found, used = run(
        page, f"{loaded}{SPEAK} return [await digest(samples), words, bundle.threads];", text=TEXT
    )
    assert used == threads
    node = "const kokoro = await import(`${process.argv[2]}/web/kokoro.mjs`);\n"
    node += "const bundle = await kokoro.Bundle.load(process.argv[2]);\n"
    shown = "console.log(JSON.stringify([await digest(samples), words]));"
    assert found == run_node(f"{node}{SPEAK}{shown}", bundle, text=TEXT)


def test_a_later_visit_fetches_no_file_again(page: Page, server: tuple[str, Faults], bundle: Path) -> None:
    speak = "await bundle.synthesize(text); bundle.close();"
    pinned = hashlib.sha256((bundle / "manifest.msgpack").read_bytes()).hexdigest()
    script = f"const bundle = await kokoro.Bundle.load('/bundle', options); {speak} return true;"
    assert run(page, script, text=TEXT, options={})
    faults = server[1]
    faults.requests.clear()
    files = ("lib", "parameters", "voices", "text", "manifest")
    faults.absent = tuple(f"/bundle/{name}" for name in files)
    assert run(page, script, text=TEXT, options={"manifestSha256": pinned})
    assert not [path for path in faults.requests if path.startswith(faults.absent)]


def test_two_bundles_of_one_page_load_at_once(page: Page) -> None:
    script = """
    const bundles = await Promise.all([1, 2].map(() => kokoro.Bundle.load("/bundle")));
    const said = await Promise.all(bundles.map((bundle) => bundle.synthesize(text)));
    return said.map(({ samples }) => samples.length);
    """
    one, other = run(page, script, text="Hello.")
    assert one == other > 0


def test_an_abort_rejects_at_once(page: Page) -> None:
    script = """
    const bundle = await kokoro.Bundle.load("/bundle");
    const controller = new AbortController();
    const found = [];
    try {
      for await (const piece of bundle.stream(text.repeat(20), { signal: controller.signal })) {
        found.push(piece.samples.length > 0);
        controller.abort();
      }
    } catch (error) {
      found.push(error.name);
    }
    return [...found, (await bundle.synthesize("Hi.")).samples.length > 0];
    """
    assert run(page, script, text=TEXT) == [True, "AbortError", True]


def test_a_page_that_lacks_a_file_says_so(page: Page, server: tuple[str, Faults]) -> None:
    server[1].absent = ("/bundle/parameters",)
    script = """
    return await kokoro.Bundle.load("/bundle", { cache: false }).catch((error) => [error.name, error.kind]);
    """
    assert run(page, script) == ["DownloadError", "DownloadError"]
    page.failures.clear()


def test_the_example_speaks_and_lights_words_up(page: Page) -> None:
    page.run("document.getElementById('text').value = 'Hello world, again.'")
    page.run(
        "window.heard = new Set(); new MutationObserver(() => {"
        "  const word = document.querySelector('.heard'); if (word) heard.add(word.textContent); })"
        ".observe(document.getElementById('spoken'), { subtree: true, attributes: true })"
    )
    page.run("document.getElementById('speak').click()")
    page.wait_for("!document.getElementById('download').hidden")
    assert page.run(STATE) == "Ready"
    assert page.run("document.getElementById('spoken').textContent.trim()") == "Hello world, again."
    assert set(page.run("[...heard]")) <= {"Hello", "world", ",", "again", "."}
    assert page.run("document.getElementById('download').href").startswith("blob:")
