"""Serves a bundle on Ray Serve: the endpoints of kokoro-server, by as many replicas as the requests need.

python examples/serve_ray.py BUNDLE --max-replicas 2
cd examples; serve run --working-dir . serve_ray:app bundle=/models/kokoro max_replicas=8

The second line is for a cluster: each machine has this project's packages, and the bundle at that path.
Replicas on one machine share the pages of the parameters. ask_again.py is a client that outlives a replica.
Requests must carry the key of the variable KOKORO_API_KEY, if the replicas have one.
"""

import argparse
import os
import signal
import sys
import threading
from functools import partial
from pathlib import Path

import ray
from pydantic import BaseModel
from ray import serve
from starlette.applications import Starlette

from kokoro_server.app import Options, create_app
from runtime_min import Bundle
from runtime_min.errors import KokoroError

NAME = "kokoro"


class Arguments(BaseModel, extra="forbid"):
    """What is served, and by how many."""

    bundle: str
    level: str | None = None
    """CPU level. Replicas on different processors give the same bytes only if all take the same one."""
    threads: int = 1
    """Threads of each replica, and the cores that Ray keeps for it."""
    min_replicas: int = 1
    max_replicas: int = 4
    queue: int = 64
    """Requests that may wait in a proxy for a replica; the next one is refused with 503."""


class Replica:
    """A process with a loaded bundle; `serve.ingress` adds the server's application."""

    async def check_health(self) -> None:
        """Runs on the loop that answers requests, so Ray replaces a replica whose loop does not go on."""


def app(arguments: Arguments) -> serve.Application:
    """Returns what `serve run` runs."""

    def create() -> Starlette:
        load = partial(Bundle.load, arguments.bundle, level=arguments.level, threads=arguments.threads)
        return create_app(load, Options(api_key=os.environ.get("KOKORO_API_KEY") or None))

    deployment = serve.deployment(
        name=NAME,
        ray_actor_options={"num_cpus": arguments.threads},
        autoscaling_config={
            "min_replicas": arguments.min_replicas,
            "max_replicas": arguments.max_replicas,
            "target_ongoing_requests": 2,
            # By default Ray looks at half a minute, waits for as long, and all the while requests wait.
            "metrics_interval_s": 1,
            "look_back_period_s": 3,
            "upscale_delay_s": 3,
            "downscale_delay_s": 300,
        },
        # Those of a replica take turns, so that the short ones do not wait for the end of the long ones.
        max_ongoing_requests=8,
        max_queued_requests=arguments.queue,
        backpressure_config={"retry_after_s": 5},
        health_check_period_s=5,
        graceful_shutdown_timeout_s=60,
        max_constructor_retry_count=3,
    )
    return deployment(serve.ingress(create)(Replica)).bind()


def main() -> int:
    """Serves on this machine until SIGTERM or Ctrl-C, and finishes the answers that were begun."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("bundle", type=Path)
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=8000)
    parser.add_argument("--min-replicas", type=int, default=1)
    parser.add_argument("--max-replicas", type=int, default=4)
    parser.add_argument("--queue", type=int, default=64, help="requests that may wait (default: %(default)s)")
    options = parser.parse_args()
    try:
        # What every replica would meet is met here.
        Bundle.load(options.bundle).close()
    except KokoroError as error:
        print(f"error: {error}", file=sys.stderr)
        return error.exit_code
    served = Arguments(
        bundle=str(options.bundle.absolute()),
        min_replicas=options.min_replicas,
        max_replicas=options.max_replicas,
        queue=options.queue,
    )
    ended = threading.Event()
    ray.init("local", num_cpus=options.max_replicas, include_dashboard=False, log_to_driver=False)
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: ended.set())
    serve.start(http_options={"host": options.host, "port": options.port})
    serve.run(app(served), name=NAME)
    print(f"serving at http://{options.host}:{options.port}", flush=True)
    ended.wait()
    # It waits for the answers; the end of Ray alone does not.
    serve.delete(NAME)
    serve.shutdown()  # type: ignore[no-untyped-call]
    ray.shutdown()
    return 0


if __name__ == "__main__":
    sys.exit(main())
