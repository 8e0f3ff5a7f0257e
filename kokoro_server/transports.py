"""The end of a connection that does not wait for its client."""

from __future__ import annotations

import asyncio
from contextlib import suppress

from starlette.types import Scope


def break_off(scope: Scope) -> bool:
    """Ends the connection of a request, and drops the bytes that wait to be sent.

    Returns:
        False if another server than `serve` has the connection: it ends it when it sees an exception.
    """
    transport: asyncio.Transport | None = scope.get("state", {}).get("transport")
    if transport is None:
        return False
    # asyncio's transport has no loop after the last byte of a connection that its client had ended.
    with suppress(AttributeError):
        transport.abort()
    return True
