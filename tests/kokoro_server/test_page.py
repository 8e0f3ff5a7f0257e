"""The page at `/` speaks in a browser, and loads nothing from elsewhere."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmarks.web import chromium
from benchmarks.web.chromium import Page
from kokoro_server.app import Options
from tests.kokoro_server.test_clients import answered, wait_until
from tests.support.fakes.speech_server import FakeBundle, Running, serving

KEY = "a key"
CHROMIUM = shutil.which("chromium")
in_a_browser = [
    pytest.mark.machines,
    pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed: apt install chromium"),
]


@pytest.fixture(scope="module")
def guarded() -> Iterator[Running]:
    with serving(FakeBundle(), Options(api_key=KEY)) as running:
        yield running


def test_the_page_needs_no_key_and_nothing_from_elsewhere(guarded: Running) -> None:
    with answered(guarded.port, "/", "GET") as answer:
        policy, content = answer.headers["Content-Security-Policy"], answer.read().decode()
        assert answer.status == 200 and answer.headers["Content-Type"] == "text/html; charset=utf-8"
    assert len(content) < 30_000
    assert not re.search("https?://|//[a-z]", content.partition("<script>")[0])
    assert "unsafe" not in policy and "default-src 'none'" in policy
    for path in ("/v1/audio/voices", "/web"):
        with answered(guarded.port, path, "GET") as answer:
            assert answer.status == 401


def test_the_place_of_kokoro_fastapis_page_leads_to_it(server: Running) -> None:
    with answered(server.port, "/web", "GET") as answer:
        assert (answer.status, answer.headers["Location"]) == (307, "./")


@pytest.fixture
def page(guarded: Running, tmp_path: Path) -> Iterator[Page]:
    assert CHROMIUM is not None
    with chromium.opened(CHROMIUM, tmp_path) as opened:
        opened.open(f"http://127.0.0.1:{guarded.port}/")
        opened.wait_for("element('status').classList.contains('error')")
        assert not opened.run("element('key-row').hidden")
        opened.run(f"element('key').value = {KEY!r}; element('key').dispatchEvent(new Event('change'))")
        opened.wait_for("element('voice').options.length")
        opened.failures.clear()  # The browser reports the refusal without a key.
        yield opened
        assert opened.failures == []


LIT = """
window.lit = [];
const lights = ({ target }) => { if (target.className === "now") lit.push(target.textContent); };
new MutationObserver((changes) => changes.forEach(lights))
  .observe(element("words"), { subtree: true, attributeFilter: ["class"] });
"""
"""Records the words that light up."""


class TestInABrowser:
    pytestmark = in_a_browser

    def test_text_is_heard_and_its_words_light_up(self, page: Page) -> None:
        page.run(LIT)
        page.run("element('text').value = 'One, two.'; element('speak').click()")
        page.wait_for("element('stop').disabled")
        assert page.run("element('words').textContent") == "One, two."
        assert page.run("lit") == ["One,", "two."]
        assert re.fullmatch(
            r"First sound after .* s\. .* s of speech\..*", page.run("element('status').textContent")
        )

    def test_voices_are_blended_and_a_file_is_saved(
        self, page: Page, tmp_path: Path, guarded: Running
    ) -> None:
        page.run("element('other').value = 'am_adam'; element('other').dispatchEvent(new Event('change'))")
        page.run("element('format').value = 'wav'; element('download').click()")
        wait_until((tmp_path / "speech.wav").exists)
        assert page.run("request('wav').voice") == "af_heart*0.70+am_adam*0.30"
        assert page.run("[...element('voice').options].map((each) => each.value)") == [
            voice for voice in guarded.bundle.voices if guarded.bundle.speaks(voice.language or "")
        ]

    def test_a_refusal_is_shown(self, page: Page) -> None:
        page.run("element('text').value = ' '; element('speak').click()")
        page.wait_for("element('status').classList.contains('error')")
        assert "at least one phoneme" in page.run("element('status').textContent")
        assert page.run("element('stop').disabled")
        page.failures.clear()  # The browser reports the status 400.

    def test_what_is_stopped_is_computed_no_further(self, page: Page, guarded: Running) -> None:
        guarded.bundle.gate.clear()
        page.run("element('text').value = 'One two three. '.repeat(50); element('speak').click()")
        wait_until(lambda: not page.run("element('stop').disabled"))
        page.run("stop()")
        guarded.bundle.gate.set()
        assert page.run("speaking === null && element('stop').disabled")
