"""Runs the command: ``python -m runtime_min``, ``kokoro-speak``, and the ``runtime_min.pyz`` of a bundle."""

import sys

from runtime_min.process import run_command


def main() -> int:
    """Speaks and returns the exit code."""
    return run_command("runtime_min.speak_arguments")


if __name__ == "__main__":
    sys.exit(main())
