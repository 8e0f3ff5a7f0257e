"""Answers questions over a pipe, on a machine that has nothing of this project.

``python serve.py SCRIPT ARGUMENTS...`` calls the script's function ``answers`` with the arguments, and what
that returns with every question. It tells with each answer whether it is one, or the text of an error.
"""

from __future__ import annotations

import pickle
import runpy
import sys
import traceback
from typing import Any, BinaryIO


def send(stream: BinaryIO, message: Any) -> None:
    """Writes a message after its length."""
    data = pickle.dumps(message)
    stream.write(len(data).to_bytes(8, "little") + data)
    stream.flush()


def receive(stream: BinaryIO) -> Any:
    """Returns the next message.

    Raises:
        EOFError: there is none.
    """
    size = int.from_bytes(stream.read(8), "little")
    return pickle.loads(stream.read(size))


def main(script: str, *arguments: str) -> None:
    """Answers until there are no more questions."""
    answer = runpy.run_path(script)["answers"](*arguments)
    while True:
        try:
            question = receive(sys.stdin.buffer)
        except EOFError:
            return
        try:
            result = True, answer(question)
        except Exception:
            result = False, traceback.format_exc()
        send(sys.stdout.buffer, result)


if __name__ == "__main__":
    main(*sys.argv[1:])
