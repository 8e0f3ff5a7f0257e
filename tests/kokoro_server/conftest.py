"""Servers of the fake bundle."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.fakes.speech_server import FakeBundle, Running, serving


@pytest.fixture(scope="module")
def server() -> Iterator[Running]:
    with serving(FakeBundle()) as running:
        yield running
