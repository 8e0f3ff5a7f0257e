"""Kokoro on the synthetic checkpoint, and what it computes for one utterance."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np
import pytest

from exporter.model import checkpoint
from exporter.model.checkpoint import Checkpoint
from exporter.model.voice_packs import synthetic_voice
from exporter.reference.process import Reference
from exporter.reference.traces import ModelInput, ReferenceTrace
from runtime_min.model.noise import gaussian_noise
from tests.support.forked_kokoro import forking
from tests.support.stored_reference import asking_kokoro

TOKENS = np.array([0, 50, 83, 54, 156, 31, 16, 65, 0])
STYLE = synthetic_voice("af_heart")[len(TOKENS) - 3][None]
NOISE = partial(gaussian_noise, 5)
REQUEST = ModelInput(TOKENS, STYLE, seed=5)


@pytest.fixture(scope="session")
def loaded() -> Checkpoint:
    return checkpoint.load("synthetic")


@pytest.fixture(scope="session")
def reference(loaded: Checkpoint) -> Iterator[Reference]:
    """Kokoro on one thread, whose answers are read from files where the same code has given them before."""
    with asking_kokoro((loaded.path, loaded.config_path), threads=1) as kokoro:
        yield kokoro.reference


@pytest.fixture(scope="session")
def live(loaded: Checkpoint) -> Iterator[Reference]:
    """The same kokoro, which computes every answer: for what one request may leave to the next."""
    with forking():
        live = Reference(loaded.path, loaded.config_path)
    with live:
        yield live


@pytest.fixture(scope="session")
def trace(reference: Reference) -> ReferenceTrace:
    return reference.speak(REQUEST)
