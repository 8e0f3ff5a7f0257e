"""Processes with kokoro as forks of one that has imported it, which is most of their start."""

from __future__ import annotations

import multiprocessing
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from multiprocessing.context import ForkServerContext
from types import SimpleNamespace

import pytest

from exporter import processes


@cache
def _context() -> ForkServerContext:
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["tests.support.programs.imports_of_kokoro"])
    return context


@contextmanager
def forking() -> Iterator[None]:
    """Has every `exporter.processes.Process` that is started inside the context be such a fork.

    The imported process has computed nothing, so its forks are as a fresh Python with the same imports.
    """
    with pytest.MonkeyPatch.context() as patch:
        started = SimpleNamespace(get_context=lambda method: _context())
        patch.setattr(processes, "multiprocessing", started)
        yield
