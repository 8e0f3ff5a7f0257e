"""A warning that repeats is logged once and counted."""

from __future__ import annotations

import asyncio
import logging

import pytest

from kokoro_server.logs import counting_repetitions


def test_a_warning_that_repeats_is_logged_once_with_a_count(caplog: pytest.LogCaptureFixture) -> None:
    log = logging.getLogger("uvicorn.error")

    async def main() -> None:
        async with counting_repetitions():
            for number in range(1_000):
                log.warning("Client %d sends nonsense.\nline of client %d", number, number)
                log.info("Request %d.", number)
            log.warning("Another warning.")
            try:
                raise OSError("none left")
            except OSError:
                log.exception("Client %d sends nonsense.", 5)
        log.warning("Client %d sends nonsense.", 2_000)

    with caplog.at_level(logging.INFO, "uvicorn.error"):
        asyncio.run(main())
    found = [record.getMessage() for record in caplog.records if record.levelno > logging.INFO]
    assert found == [
        "Client 0 sends nonsense.\nline of client 0",
        "Another warning.",
        "Client 5 sends nonsense.",
        "999 times more, the last time with: Client 999 sends nonsense.",
        "Client 2000 sends nonsense.",
    ]
    assert len(caplog.records) == 1_005
