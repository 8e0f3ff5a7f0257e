"""What the tests of several languages count."""

from __future__ import annotations

import sys
from collections.abc import Callable

import pytest


@pytest.fixture
def calls() -> Callable[..., int]:
    """Returns what counts the calls of functions."""

    def count(run: Callable[[], object]) -> int:
        found = 0

        def counted(*_: object) -> None:
            nonlocal found
            found += 1

        sys.setprofile(counted)
        try:
            run()
        finally:
            sys.setprofile(None)
        return found

    return count
