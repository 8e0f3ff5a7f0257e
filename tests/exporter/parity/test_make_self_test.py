"""The utterance of a bundle's self-test, and its way into the bundle."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from exporter.bundle.write import write_bundle
from exporter.compiler.library import ORIGINAL
from exporter.parity import make_self_test as exporting
from exporter.reference.traces import ModelInput
from runtime_min.format.verify import read_manifest, verify_files
from runtime_min.model.self_test import EXTENSION, read_self_test
from tests.support.tiny.bundle import dummy_contents, with_entries
from tests.support.tiny.self_test import extension, made_up, stored

FRAMES = [2, 1, 3, 4, 2, 5, 1]
VOCABULARY = {letter: token for token, letter in enumerate("ˈO kA.həlwɜɹd!", start=1)}


def plan(vocabulary: dict[str, int], text_bucket: int = 64, frame_bucket: int = 64, **changes: Any) -> Any:
    """The part of a plan that a self-test is made from."""
    made = {
        "is_whole": True,
        "voices": {"own": np.zeros((510, 256), np.float32)},
        "checkpoint": SimpleNamespace(
            vocabulary=vocabulary, path=Path("weights"), config_path=Path("config")
        ),
        "options": SimpleNamespace(text_buckets=(8, text_bucket), answers=None),
        "frame_buckets": (frame_bucket,),
        "stored": ORIGINAL,
        "target": SimpleNamespace(separate_source=False),
    }
    return SimpleNamespace(**made | changes)


class SpokenFor:
    """Stands for kokoro: every token lasts three frames; remembers how many phonemes it was given."""

    def __init__(self, unrounded: Callable[[int], float] = lambda tokens: 3.2) -> None:
        self.said: list[int] = []
        self._unrounded = unrounded

    def expected(self, request: ModelInput) -> Any:
        tokens = request.token_ids.size
        self.said.append(tokens - 2)
        exact = np.full((1, tokens), self._unrounded(tokens), np.float32)
        return SimpleNamespace(durations=exact, frames=np.full(tokens, 3))


@pytest.fixture
def spoken(monkeypatch: pytest.MonkeyPatch) -> Callable[..., tuple[str | None, list[str]]]:
    """Returns the phonemes that were chosen, and the warnings."""

    def choose(made: Any, kokoro: SpokenFor | None = None) -> tuple[str | None, list[str]]:
        warnings: list[str] = []
        progress: Any = SimpleNamespace(step=lambda text: None, warning=warnings.append)
        monkeypatch.setattr(exporting, "_self_test", lambda plan, utterance, *rest: utterance)
        asked: Any = kokoro or SpokenFor()
        found: Any = exporting.make_self_test(made, progress, asked)
        return (found and found.phonemes), warnings

    return choose


Spoken = Callable[..., tuple[str | None, list[str]]]


@pytest.mark.parametrize(
    ("made", "phonemes"),
    [
        (plan(VOCABULARY), "həlˈO wˈɜɹld!"),
        (plan(VOCABULARY, text_bucket=10), "ˈOkA."),
        (plan(VOCABULARY, frame_bucket=12), "ə"),
        (plan({"β": 2, "α": 1, "long": 3, "\n": 4}), "αβ"),
    ],
    ids=["a sentence", "few tokens", "few frames", "a vocabulary of one's own"],
)
def test_what_is_spoken_fits_the_vocabulary_and_the_buckets(spoken: Spoken, made: Any, phonemes: str) -> None:
    assert spoken(made) == (phonemes, [])


def test_one_whose_durations_may_be_rounded_either_way_is_passed_over(spoken: Spoken) -> None:
    def near_a_half(tokens: int) -> float:
        return 2.50001 if tokens > 10 else 3.2

    assert spoken(plan(VOCABULARY), SpokenFor(near_a_half)) == ("ˈOkA.", [])


def test_a_bundle_that_holds_none_is_warned_about(spoken: Spoken) -> None:
    found, warnings = spoken(plan(VOCABULARY, frame_bucket=3))
    assert found is None and "no self-test" in warnings[0]


@pytest.mark.parametrize("changes", [{"is_whole": False}, {"voices": {}}])
def test_a_bundle_that_cannot_speak_needs_no_kokoro(spoken: Spoken, changes: dict[str, Any]) -> None:
    kokoro = SpokenFor()
    assert spoken(plan(VOCABULARY, **changes), kokoro) == (None, [])
    assert kokoro.said == []


def test_what_an_extension_names_is_in_the_bundle(tmp_path: Path) -> None:
    tensors = made_up(FRAMES)
    made = with_entries(dummy_contents(tmp_path), extensions={EXTENSION: extension(tensors, FRAMES)})
    made = replace(made, extension_files={"self_test.bin": stored(tensors)})
    bundle = write_bundle(tmp_path / "bundle", made)
    manifest = read_manifest(bundle)
    verify_files(bundle, manifest)
    assert (bundle / read_self_test(manifest).file).read_bytes() == stored(tensors)
