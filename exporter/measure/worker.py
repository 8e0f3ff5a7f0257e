"""The other end of a `FreshProcess`: ``python -m exporter.measure.worker DESCRIPTOR``.

It imports only what the called functions import, because that is a part of what is measured.
"""

from __future__ import annotations

import sys
import traceback
from multiprocessing.connection import Connection


def main(descriptor: int) -> None:
    """Calls functions and answers ``(result, error, exit code)`` until the other end closes.

    Of the project's own errors, which have an exit code, it answers the message; of others the traceback.
    """
    connection = Connection(descriptor)
    while connection.poll(None):
        try:
            function, arguments, options = connection.recv()
        except EOFError:
            return
        try:
            connection.send((function(*arguments, **options), None, None))
        except Exception as error:
            code = getattr(error, "exit_code", None)
            connection.send((None, str(error) if code else traceback.format_exc(), code))


if __name__ == "__main__":
    main(int(sys.argv[1]))
