"""Runs the command ``kokoro-bundle``, which is also ``python -m runtime_min.bundle_command``."""

import sys

from runtime_min.process import run_command


def main() -> int:
    """Runs the command and returns the exit code."""
    return run_command("runtime_min.bundle_command.arguments")


if __name__ == "__main__":
    sys.exit(main())
