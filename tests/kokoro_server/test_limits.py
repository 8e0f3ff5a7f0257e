"""Limits on connections follow from the limit on descriptors."""

from __future__ import annotations

import subprocess
import sys

import pytest

from kokoro_server import limits
from tests.support.paths import ROOT

ASK = """
import resource, sys
from kokoro_server import limits
resource.setrlimit(resource.RLIMIT_NOFILE, (int(sys.argv[1]), int(sys.argv[2])))
http, descriptors = limits.connections(1_000)
print(http, descriptors, resource.getrlimit(resource.RLIMIT_NOFILE)[0])
"""
OTHERS = limits.FILES + limits.WYOMING_CONNECTIONS + limits.REFUSED_CONNECTIONS


def asked(soft: int, hard: int) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", ASK, str(soft), str(hard)], cwd=ROOT, capture_output=True, text=True
    )


@pytest.mark.parametrize(
    ("soft", "hard", "descriptors"),
    [(256, 256, 256), (256, 600, 600), (256, 4_096, 1_000 + OTHERS), (4_096, 4_096, 1_000 + OTHERS)],
)
def test_connections_leave_descriptors_for_the_rest(soft: int, hard: int, descriptors: int) -> None:
    http, most, raised = map(int, asked(soft, hard).stdout.split())
    assert (http + OTHERS, most, raised) == (descriptors, descriptors, max(soft, descriptors))


def test_too_few_descriptors_are_named() -> None:
    done = asked(100, 100)
    assert "expected at least 128 descriptors, `ulimit -n` allows 100" in done.stderr
