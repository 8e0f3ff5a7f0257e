"""On the web the statistics of a voice come with it, and hostile entries are refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from exporter.native.node import find_node
from runtime_min import Bundle
from tests.support.tiny.statistics import FILE, VOICE, with_statistics
from tests.support.tiny.web import run_node

pytestmark = pytest.mark.skipif(find_node() is None, reason="Node is not installed: apt install nodejs")

TEXT = "One sentence is here. Another one follows it, and it is longer. The third one ends it."
SPEAK = """
const part = (name) => import(`${process.argv[2]}/web/${name}`);
const [{ Store }, { Speaker }] = [await part("directory.mjs"), await part("speaker.mjs")];
const show = (value) => console.log(JSON.stringify(value));
try {
  const store = new Store(process.argv[2]);
  const speaker = await Speaker.load(store);
  const fetched = [];
  const { fetch } = speaker;
  speaker.fetch = (path) => fetch(fetched.at(fetched.push(path) - 1));
  await speaker.prepare(request);
  const before = [...fetched];
  const samples = [];
  for await (const piece of speaker.pieces(request)) samples.push(...piece.samples);
  show({ before, samples });
} catch (error) {
  show({ error: error.name, message: error.message });
}
"""


@pytest.fixture(scope="module")
def bundle(web_bundle: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return with_statistics(web_bundle, tmp_path_factory.mktemp("web") / "bundle")


def spoken(bundle: Path, **request: Any) -> Any:
    return run_node(SPEAK, bundle, request={"text": TEXT, **request})


@pytest.mark.parametrize(
    ("voice", "files"),
    [
        (VOICE, [f"voices/{VOICE}.bin", FILE]),
        ("am_adam", ["voices/am_adam.bin"]),
        (f"am_adam+{VOICE}", [f"voices/{VOICE}.bin", FILE, "voices/am_adam.bin"]),
    ],
)
def test_they_are_fetched_with_their_voice(
    bundle: Path, reading_bundle: Path, voice: str, files: list[str]
) -> None:
    found = spoken(bundle, voice=voice)
    assert [path for path in found["before"] if path.startswith(("voices/", "statistics/"))] == files
    with Bundle.load(reading_bundle) as here:
        expected = [piece.samples for piece in here.stream(TEXT, voice=voice)]
    np.testing.assert_array_equal(np.array(found["samples"], np.float32), np.concatenate(expected))


@pytest.mark.parametrize(
    "entry", [[], 3, "", "x", {VOICE: 1}, {VOICE: "other.bin"}, {VOICE: "../x"}, {"am_adam": []}], ids=str
)
def test_a_hostile_entry_is_refused(web_bundle: Path, tmp_path: Path, entry: object) -> None:
    found = spoken(with_statistics(web_bundle, tmp_path / "bundle", entry=entry))
    assert found.get("error") == "ManifestError", found
