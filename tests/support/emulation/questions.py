"""Answers questions over a pipe, on a machine that has nothing of this project.

``python questions.py SCRIPT ARGUMENTS...`` calls the script's function ``answers`` with the arguments, and
what that returns with every question. Each answer says whether it is one, or the text of an error.
"""

from __future__ import annotations

import pickle
import runpy
import subprocess
import sys
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
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


@contextmanager
def asking(python: Sequence[str], *arguments: object, **options: Any) -> Iterator[Callable[[Any], Any]]:
    """Starts a process that answers, and yields a function that asks it.

    Args:
        python: starts the process's Python.
        arguments: the script and its arguments.
        options: of `subprocess.Popen`.

    Raises:
        RuntimeError: with an error of the process as its text, where a question led to one.
    """
    command = [*python, __file__, *map(str, arguments)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, **options) as process:
        assert process.stdin is not None and process.stdout is not None
        questions, answers = process.stdin, process.stdout

        def ask(question: Any) -> Any:
            send(questions, question)
            succeeded, answer = receive(answers)
            if not succeeded:
                raise RuntimeError(answer)
            return answer

        yield ask
        questions.close()


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
