"""A connection over WebSocket whose client cannot fill the memory with what is no message for the app."""

from __future__ import annotations

import asyncio

from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol

from .limits import REQUEST_BYTES

_MOST_UNFINISHED = 4 * REQUEST_BYTES
"""Bytes between two messages: fragments have heads, and empty ones and pings are no part of a message."""
_AT_ONCE = 4 << 10
"""Bytes that are read at once: many small messages take more memory than their bytes."""


class MessageConnection(WebSocketsSansIOProtocol):
    """A connection that reads no further than the app has taken messages."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begins with nothing received."""
        self._received = bytearray()
        self._unfinished = 0
        super().connection_made(transport)

    def data_received(self, data: bytes) -> None:
        """Takes bytes of the client; too many of them without a message break the connection off."""
        self._received += data
        self._read()

    async def receive(self):  # type: ignore[no-untyped-def]
        """Returns the next message, and reads on if it was the last."""
        message = await super().receive()
        self._read()
        return message

    async def send(self, message):  # type: ignore[no-untyped-def]
        """Sends a message; after the last one, only the client's end is waited for."""
        await super().send(message)
        self._read()

    def send_receive_event_to_app(self) -> None:
        """Hands a message on; the app decodes it, and refuses what is no text."""
        self._unfinished = 0
        self.curr_msg_data_type = "bytes"
        super().send_receive_event_to_app()

    def handle_ping(self) -> None:
        """Answers a ping, but none of many that a client sends without reading the answers."""
        if self.transport.get_write_buffer_size():
            self.conn.data_to_send()
        else:
            super().handle_ping()

    def _read(self) -> None:
        while self._received and not self.read_paused and not self.transport.is_closing():
            part = bytes(self._received[:_AT_ONCE])
            del self._received[:_AT_ONCE]
            self._unfinished += len(part)
            super().data_received(part)
            if self._unfinished > _MOST_UNFINISHED:
                self.transport.abort()
