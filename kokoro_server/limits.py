"""Limits on connections, time and bytes that clients of one process hold, over HTTP and Wyoming.

Every connection takes a descriptor, and `ulimit -n` limits descriptors. So the limit on connections follows
from it: some descriptors are left for files, some for Wyoming, and some for clients that are refused.
"""

from __future__ import annotations

import sys
from typing import NamedTuple

from runtime_min.errors import ResourceError

REQUEST_SECONDS = 30.0
"""Time for the head of a request, from the connection or the last answer on, and again for its body."""
IDLE_SECONDS = 5
"""Time after an answer in which the next request must begin."""
PATIENCE_SECONDS = 1.0
"""Time after which a connection that waits for a request makes room for another client."""
REQUEST_BYTES = 128 << 10
"""Bytes of a request: chapters of most books are shorter."""
RETRY_SECONDS = 5
"""Time after which a client without a connection may come back."""
WYOMING_CONNECTIONS = 32
"""Most connections over Wyoming at a time."""
REFUSED_CONNECTIONS = 16
"""Connections over HTTP beyond the most, each held until its request is answered with 503."""
FILES = 48
"""Descriptors for everything else: the bundle, pipes, listening sockets and libraries. About 20 are used."""
FEWEST_DESCRIPTORS = 128


class Connections(NamedTuple):
    """Greatest numbers of connections of a process."""

    http: int
    """Connections over HTTP that are served."""
    descriptors: int
    """Descriptors of all kinds."""


def connections(wanted: int) -> Connections:
    """Returns how many connections this process may hold, and raises `ulimit -n` as far as they need it.

    Args:
        wanted: connections over HTTP, if there are descriptors for them.

    Raises:
        ResourceError: the process may have fewer than `FEWEST_DESCRIPTORS`.
    """
    others = FILES + WYOMING_CONNECTIONS + REFUSED_CONNECTIONS
    descriptors = _descriptors(wanted + others)
    if descriptors < FEWEST_DESCRIPTORS:
        reason = f"expected at least {FEWEST_DESCRIPTORS} descriptors, `ulimit -n` allows {descriptors}"
        raise ResourceError("Starting the server", reason)
    return Connections(descriptors - others, descriptors)


def _descriptors(wanted: int) -> int:
    """Returns how many of the wanted descriptors the process may have."""
    if sys.platform == "win32":
        return wanted
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY or soft >= wanted:
        return wanted
    most = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
    return most
