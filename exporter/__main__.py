"""Runs the command ``kokoro-export``, which is also ``python -m exporter``."""

import sys

from runtime_min.process import run_command


def main() -> int:
    """Runs the command and returns the exit code."""
    return run_command("exporter.cli.main")


if __name__ == "__main__":
    sys.exit(main())
