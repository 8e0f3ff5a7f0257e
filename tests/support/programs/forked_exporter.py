"""Runs the exporter's command several times, each in a fork of a process that has imported what exports need.

    python forked_exporter.py COMMANDS

COMMANDS is JSON: by name, the arguments of a command. The printed JSON has by name its exit code, its
standard output and its standard error stream.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections.abc import Sequence
from importlib import import_module

from exporter.__main__ import main

_IMPORTED = ("exporter.cli.main", "exporter.export.assemble", "exporter.parity.publish", "kokoro.model")


def run(arguments: Sequence[str]) -> tuple[int, str, str]:
    """Runs the command in a fork."""
    with tempfile.TemporaryFile("w+") as output, tempfile.TemporaryFile("w+") as told:
        if (child := os.fork()) == 0:
            os.dup2(output.fileno(), 1)
            os.dup2(told.fileno(), 2)
            sys.argv = ["kokoro-export", *arguments]
            try:
                main()
            finally:
                # Whatever it raises must not reach the loop of the parent.
                sys.excepthook(*sys.exc_info())
                os._exit(70)
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        output.seek(0)
        told.seek(0)
        return code, output.read(), told.read()


if __name__ == "__main__":
    for module in _IMPORTED:
        import_module(module)
    print(json.dumps({name: run(arguments) for name, arguments in json.loads(sys.argv[1]).items()}))
