"""Runs the application in uvicorn, in one process or several, until a signal ends it."""

from __future__ import annotations

import multiprocessing
import os
import signal
import socket
import tempfile
import threading
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import uvicorn
from starlette.applications import Starlette
from uvicorn.supervisors import Multiprocess

from runtime_min import Bundle

from . import metrics, wyoming
from .app import Options, create_app
from .connections import Connection, Listener, raw_refusal
from .limits import IDLE_SECONDS, REQUEST_BYTES, connections
from .messages import MessageConnection


@dataclass(frozen=True)
class Settings:
    """Settings of the processes that serve an application."""

    host: str = "127.0.0.1"
    port: int = 8880
    """0 for any that is free."""
    workers: int = 1
    """Processes; each loads the bundle, and they share its pages."""
    grace_seconds: int = 30
    """Seconds for running answers after the signal to end."""
    wyoming_port: int | None = None
    """None for HTTP alone."""


def serve(load: Callable[[], Bundle], options: Options, settings: Settings) -> None:
    """Serves until SIGTERM or Ctrl-C.

    Args:
        load: loads the bundle; can be pickled where there are several workers.
        options: of the application.
        settings: of the processes.

    Raises:
        KokoroError: the bundle cannot be loaded.
    """
    config = configured(load, options, settings)
    # uvicorn raises a signal again after it ended in good order, which would be the exit code.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: None)
    sockets = bound(config)
    # Clients that come before the bundle is loaded wait for it.
    sockets[0].listen(config.backlog)
    if settings.workers == 1:
        uvicorn.Server(config).run(sockets)
        return
    # Worker processes are started again when they end, so what they would all meet is met here.
    load().close()
    with tempfile.TemporaryDirectory(prefix="kokoro-server-") as directory:
        os.environ[metrics.DIRECTORY] = directory
        Multiprocess(config, sockets).run()


def configured(load: Callable[[], Bundle], options: Options, settings: Settings) -> uvicorn.Config:
    """Returns uvicorn's configuration; binds the port for Wyoming."""
    address = (settings.host, settings.wyoming_port)
    # A client may read its answer long after its last piece was computed.
    most = connections(100 + 4 * options.longest_queue)
    listener = None
    if settings.wyoming_port is not None:
        family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
        port = socket.create_server(address, family=family)
        listener = Listener(port, most.descriptors, wyoming.raw_refusal())
    return uvicorn.Config(
        partial(_application, load, options, listener),
        factory=True,
        host=settings.host,
        port=settings.port,
        workers=settings.workers,
        http=Connection,
        # Reading stops while a message waits, so text that nobody computes is not held. Without pings: their
        # answers would wait behind that text.
        ws=MessageConnection,
        ws_max_size=REQUEST_BYTES,
        ws_ping_interval=None,
        ws_per_message_deflate=False,
        loop="asyncio",
        timeout_graceful_shutdown=settings.grace_seconds,
        timeout_keep_alive=IDLE_SECONDS,
        limit_concurrency=most.http,
    )


def bound(config: uvicorn.Config) -> list[socket.socket]:
    """Returns the socket for HTTP."""
    most = connections(config.limit_concurrency or 0)
    return [Listener(config.bind_socket(), most.descriptors, raw_refusal())]


def _application(
    load: Callable[[], Bundle], options: Options, wyoming_socket: socket.socket | None
) -> Starlette:
    parent = multiprocessing.parent_process()
    if parent is not None:
        # A worker process that outlived the one that started it would keep the port.
        def end_with_parent() -> None:
            parent.join()
            os.kill(os.getpid(), signal.SIGTERM)

        threading.Thread(target=end_with_parent, daemon=True).start()
    return create_app(load, options, wyoming_socket)
