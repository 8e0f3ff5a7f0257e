"""The server's counters, in Prometheus' format, over all worker processes."""

from __future__ import annotations

import os

from prometheus_client import REGISTRY, CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.multiprocess import MultiProcessCollector

REQUESTS = Counter("kokoro_requests", "Requests for speech.", ["status"])
FIRST_BYTES = Histogram("kokoro_first_bytes_seconds", "Time from a request to the first bytes of its speech.")
AUDIO = Counter("kokoro_audio_seconds", "Speech that was made, in seconds.")
UNSPOKEN = Counter("kokoro_unspoken_words", "Words of texts that could not be spoken.")
WAITING = Gauge(
    "kokoro_waiting_pieces", "Pieces that wait or are being computed.", multiprocess_mode="livesum"
)
DIRECTORY = "PROMETHEUS_MULTIPROC_DIR"
"""The variable by which prometheus_client makes worker processes share their counts."""


def exposition() -> bytes:
    """Returns all figures as text."""
    if DIRECTORY not in os.environ:
        return generate_latest(REGISTRY)
    shared = CollectorRegistry()
    MultiProcessCollector(shared)  # type: ignore[no-untyped-call]
    return generate_latest(shared)
