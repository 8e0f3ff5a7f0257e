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

TOKENS = np.array([0, 50, 83, 54, 156, 31, 16, 65, 0])
STYLE = synthetic_voice("af_heart")[len(TOKENS) - 3][None]
NOISE = partial(gaussian_noise, 5)
REQUEST = ModelInput(TOKENS, STYLE, seed=5)


@pytest.fixture(scope="session")
def loaded() -> Checkpoint:
    return checkpoint.load("synthetic")


@pytest.fixture(scope="session")
def reference(loaded: Checkpoint) -> Iterator[Reference]:
    with Reference(loaded.path, loaded.config_path) as reference:
        yield reference


@pytest.fixture(scope="session")
def trace(reference: Reference) -> ReferenceTrace:
    return reference.speak(REQUEST)
