"""Connections: each request has a time, and there are never more than the process has descriptors for."""

from __future__ import annotations

import asyncio
import errno
import socket
from contextlib import suppress
from multiprocessing import reduction
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from .ascii_json import JSONAnswer
from .errors import RequestError
from .limits import PATIENCE_SECONDS, REFUSED_CONNECTIONS, REQUEST_SECONDS, RETRY_SECONDS

REFUSAL_SECONDS = 2.0
"""Time in which a client without a place must have sent its request, to be told so."""
MOST_UNSENT = 64 << 10
"""Bytes of an answer that wait in the system before they are on their way to the client."""
SPARE_DESCRIPTORS = 8
"""Descriptors that no connection gets, not even to be refused."""
_EXHAUSTED = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM)
_full = RequestError(
    503,
    f"The server has as many clients as it can hold: try again in {RETRY_SECONDS} s.",
    code="overloaded",
    headers={"Retry-After": str(RETRY_SECONDS), "Connection": "close"},
)
_refuse = JSONAnswer(_full.content, _full.status, _full.headers)


class Connection(H11Protocol):
    """A connection over HTTP. Its answers can break it off."""

    _deadline: asyncio.TimerHandle | None = None
    _waiting_since = 0.0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begins to wait for a request, with an answer of 503 if there are too many connections."""
        super().connection_made(transport)  # type: ignore[arg-type]
        # So that an answer ends when the last of it is taken, and not while it waits in this process.
        self.transport.set_write_buffer_limits(0)
        self.app_state = {**self.app_state, "transport": self.transport}
        # uvicorn would answer without the time to come back.
        most, self.limit_concurrency = self.limit_concurrency, None
        if most is None or len(self.connections) <= most or self._makes_room():
            self._wait(REQUEST_SECONDS)
        elif len(self.connections) <= most + REFUSED_CONNECTIONS:
            self.app = _refuse
            self._wait(REFUSAL_SECONDS)
        else:
            self.transport.write(raw_refusal())
            self.transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forgets the time of the next request."""
        super().connection_lost(exc)
        if self._deadline is not None:
            self._deadline.cancel()

    def handle_websocket_upgrade(self, event: h11.Request) -> None:
        """Leaves the time of the next message to the endpoint."""
        if self._deadline is not None:
            self._deadline.cancel()
        super().handle_websocket_upgrade(event)

    def on_response_complete(self) -> None:
        """Begins to wait for the next request, which may be there already."""
        self._wait(REQUEST_SECONDS)
        super().on_response_complete()

    def _wait(self, seconds: float) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
        self._waiting_since = self.loop.time()
        self._deadline = self.loop.call_later(seconds, self._end_if_waiting)

    def _is_waiting(self) -> bool:
        return self.cycle is None or self.cycle.response_complete

    def _end_if_waiting(self) -> None:
        if self._is_waiting():
            self.transport.abort()

    def _makes_room(self) -> bool:
        """Ends the connection that has waited longest for a request, if it has waited long enough."""
        others = (each for each in self.connections if isinstance(each, Connection) and each is not self)
        waiting = [each for each in others if each._is_waiting() and not each.transport.is_closing()]
        longest = min(waiting, key=lambda each: each._waiting_since, default=None)
        if longest is None or self.loop.time() - longest._waiting_since < PATIENCE_SECONDS:
            return False
        longest.transport.abort()
        return True


def raw_refusal() -> bytes:
    """Returns the answer to a client whose request cannot even be read."""
    head = b"".join(b"%s: %s\r\n" % header for header in _refuse.raw_headers)
    return b"HTTP/1.1 503 Service Unavailable\r\n%s\r\n%s" % (head, _refuse.body)


class Listener(socket.socket):
    """A listening socket whose connections leave some descriptors to the rest of the process."""

    def __init__(self, bound: socket.socket, descriptors: int, refusal: bytes) -> None:
        """Takes a bound socket, the limit on descriptors, and the answer to clients beyond it."""
        # With the protocol's name asyncio sets TCP_NODELAY: what is small is sent at once.
        super().__init__(bound.family, bound.type, socket.IPPROTO_TCP, bound.detach())
        if hasattr(socket, "TCP_NOTSENT_LOWAT"):
            self.setsockopt(socket.IPPROTO_TCP, socket.TCP_NOTSENT_LOWAT, MOST_UNSENT)
        self._descriptors = descriptors
        self._refusal = refusal
        self._exhausted = False

    def accept(self) -> tuple[socket.socket, Any]:
        """Returns the next connection and its address.

        Raises:
            BlockingIOError: there is none that can be held.
        """
        try:
            connection, address = super().accept()
        except OSError as error:
            # asyncio repeats this thousands of times before it waits for a second, and logs each.
            self._exhausted = error.errno in _EXHAUSTED and not self._exhausted
            if error.errno in _EXHAUSTED and not self._exhausted:
                raise BlockingIOError(error.errno, str(error)) from error
            raise
        # The system gives the lowest free number, so as many descriptors are in use.
        if connection.fileno() < self._descriptors - SPARE_DESCRIPTORS:
            return connection, address
        with connection, suppress(OSError):
            connection.setblocking(False)
            connection.send(self._refusal)
            # Data that nobody reads would make the system drop the answer.
            connection.recv(MOST_UNSENT)
        raise BlockingIOError(errno.EAGAIN, "no descriptor is left for a connection")

    def __reduce__(self) -> tuple[Any, ...]:
        """Passes the socket to a worker process, as multiprocessing passes plain ones."""
        descriptor = reduction.DupFd(self.fileno())
        return _received, (descriptor, self.family, self.type, self._descriptors, self._refusal)


def _received(descriptor: Any, family: int, kind: int, descriptors: int, refusal: bytes) -> Listener:
    return Listener(socket.socket(family, kind, fileno=descriptor.detach()), descriptors, refusal)
