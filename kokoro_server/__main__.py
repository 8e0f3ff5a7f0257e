"""The command `kokoro-server`."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from functools import partial
from ipaddress import IPv4Network, IPv6Network, ip_network

from runtime_min import Bundle, __version__
from runtime_min.errors import KokoroError

try:
    from .app import Options
    from .serve import Settings, serve
except ImportError as missing:
    print(
        f"error: kokoro-server needs packages that are not installed ({missing}): "
        "pip install 'kokoro-export-runtime[server]'",
        file=sys.stderr,
    )
    sys.exit(5)


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command and returns its exit code."""
    parser = _parser()
    options = parser.parse_args(arguments)
    api_key = options.api_key or os.environ.get("KOKORO_API_KEY") or None
    if api_key and options.wyoming_port is not None and not options.wyoming_allow:
        parser.error(
            "Wyoming has no key: with --api-key and --wyoming-port, name those who may connect without it, "
            "such as --wyoming-allow 127.0.0.1 or --wyoming-allow 192.168.1.0/24"
        )
    threads = options.threads
    if threads is None and options.workers > 1:
        threads = max(1, (os.cpu_count() or 1) // options.workers)
    try:
        serve(
            partial(Bundle.load, options.bundle, threads=threads, arithmetic=options.arithmetic),
            Options(
                options.slots,
                options.queue,
                options.send_timeout,
                api_key,
                options.cors_origin,
                options.wyoming_allow,
                options.loudness,
            ),
            Settings(options.host, options.port, options.workers, options.grace, options.wyoming_port),
        )
    except (KokoroError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return error.exit_code if isinstance(error, KokoroError) else 1
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="kokoro-server",
        description="Serve a bundle as OpenAI's speech API; docs/server.md has the details.",
    )
    parser.add_argument("--version", action="version", version=__version__)
    parser.add_argument("bundle", help="the bundle's directory")
    parser.add_argument("--host", default="127.0.0.1", help="address to listen at (default: %(default)s)")
    parser.add_argument("--port", type=int, default=8880, help="port for HTTP (default: %(default)s)")
    parser.add_argument(
        "--wyoming-port", type=int,
        help="port for Home Assistant's protocol, usually 10200; it has no key: see --wyoming-allow",
    )  # fmt: skip
    parser.add_argument(
        "--wyoming-allow", action="append", type=_network, default=[], metavar="NETWORK",
        help="address, or network such as 192.168.1.0/24, from which clients may connect to --wyoming-port; "
        "may be repeated (default: all; with --api-key there is no default)",
    )  # fmt: skip
    parser.add_argument(
        "--workers", type=_positive, default=1, help="number of processes (default: %(default)s)"
    )
    parser.add_argument(
        "--threads", type=_positive, help="threads of each process (default: the cores, divided)"
    )
    parser.add_argument(
        "--arithmetic", metavar="A",
        help="arithmetic of the decoder, such as bfloat16, if the bundle has it (default: float32)",
    )  # fmt: skip
    parser.add_argument(
        "--slots", type=_positive, default=2, help="pieces computed at a time (default: %(default)s)"
    )
    parser.add_argument(
        "--queue", type=_positive, default=256, help="requests that may wait (default: %(default)s)"
    )
    parser.add_argument(
        "--send-timeout", type=float, default=30.0, metavar="SECONDS",
        help="drop a client that takes less than 64 KiB in this time (default: %(default)g)",
    )  # fmt: skip
    parser.add_argument(
        "--grace", type=int, default=30, metavar="SECONDS",
        help="time for running answers after SIGTERM (default: %(default)s)",
    )  # fmt: skip
    parser.add_argument(
        "--loudness", type=float, metavar="LUFS", help="of every voice, such as -18 (default: its own)"
    )
    parser.add_argument(
        "--api-key", help="key that requests must carry; better in the variable KOKORO_API_KEY"
    )
    parser.add_argument(
        "--cors-origin", action="append", default=[], metavar="ORIGIN",
        help="web site whose scripts may use the server, or *; may be repeated",
    )  # fmt: skip
    return parser


def _network(text: str) -> IPv4Network | IPv6Network:
    try:
        return ip_network(text)
    except ValueError as error:
        expected = f"expected an address or a network such as 192.168.1.0/24: {error}"
        raise argparse.ArgumentTypeError(expected) from error


def _positive(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"expected a whole number of at least 1, found {text!r}")
    return int(text)


if __name__ == "__main__":
    sys.exit(main())
